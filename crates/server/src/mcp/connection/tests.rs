//! A connection on a scripted host.

use std::sync::atomic::AtomicU8;
use std::sync::mpsc::{Receiver, Sender, channel};

use rmcp::ServiceExt;
use serde_json::json;
use tenure_kernel::answer::Resumed;
use tenure_kernel::op::confirm::Confirm;
use tenure_kernel::op::note::Artifact;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use tenure_core::Code;

use super::*;
use crate::mcp::host::{Ask, HostDefaults, OnPaths};

/// Records its requests, and answers an op only when the test lets it through.
struct Clerk {
    done: Mutex<Vec<String>>,
    begun: Sender<String>,
    let_through: Mutex<Receiver<()>>,
    drawn: AtomicU8,
}

impl Clerk {
    fn new() -> (Arc<Clerk>, Receiver<String>, Sender<()>) {
        let ((begun, begins), (let_through, gate)) = (channel(), channel());
        let let_in = Mutex::new(gate);
        let clerk = Clerk { done: Mutex::default(), begun, let_through: let_in, drawn: AtomicU8::new(7) };
        (Arc::new(clerk), begins, let_through)
    }
}

impl Host for Clerk {
    fn caller(&self, thread: Option<&Thread>) -> Result<Option<ToolCaller>> {
        let name = |thread: &Thread| match &thread.tool {
            Some(tool) => format!("{tool}-{}", thread.id),
            None => thread.id.clone(),
        };
        Ok(thread.map(|thread| ToolCaller { name: name(thread), tool: String::new(), is_connection: false }))
    }

    fn run(&self, who: &ToolCaller, _: Option<&str>, op: &Op) -> Result<String> {
        let what = match op.get::<Confirm>() {
            Some(shown) => format!("{} confirms {}", who.name, shown.events.unwrap_or_default()),
            None => format!("{} {}", who.name, op.name()),
        };
        self.begun.send(what.clone()).unwrap();
        self.let_through.lock().unwrap().recv().unwrap();
        self.done.lock().unwrap().push(what);
        if op.name() == "block" {
            return Err(Error::new(Code::TaskHeld, "t-1 is held by b").entity("t-1"));
        }
        Ok(match op.name() {
            "resume" => json!({
                "focus": null, "task": null, "hold": null, "rule": "none", "reason": "", "lost": null,
                "brief": { "text": "brief", "tokens": 1, "budget": 1, "left_out": 0, "events": 7, "mail": null },
                "mail": { "items": [], "total": 0, "more": false, "next": null, "offered": null, "acked": [] },
                "events": { "more": true, "items": [], "offered": 7 },
            })
            .to_string(),
            _ => "{}".to_owned(),
        })
    }

    fn run_on_paths(&self, _: &ToolCaller, _: Option<&str>, _: &[String], _: &OnPaths<'_>) -> Result<String> {
        Err(Error::bug("not asked for"))
    }

    fn run_in_store(&self, _: &ToolCaller, _: Option<&str>, _: &Op) -> Result<String> {
        Err(Error::bug("not asked for"))
    }

    fn ask(&self, _: &ToolCaller, _: &Ask<'_>) -> Result<()> {
        Err(Error::bug("not asked for"))
    }

    fn peek(&self, _: &ToolCaller, _: &resume::Resume) -> Result<Resumed> {
        Err(Error::bug("not asked for"))
    }

    fn artifact(&self, _: &str) -> Result<Artifact> {
        Err(Error::bug("not asked for"))
    }

    fn defaults(&self) -> Result<HostDefaults> {
        Ok(HostDefaults::default())
    }

    fn draw(&self, bytes: &mut [u8]) {
        bytes.fill(self.drawn.fetch_add(1, Ordering::Relaxed));
    }

    fn log(&self, _: &str) {}
}

struct Client {
    clerk: Arc<Clerk>,
    begun: Receiver<String>,
    let_through: Sender<()>,
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
}

impl Client {
    async fn new() -> Client {
        let (clerk, begun, let_through) = Clerk::new();
        Client::of(clerk, begun, let_through).await
    }

    async fn of(clerk: Arc<Clerk>, begun: Receiver<String>, let_through: Sender<()>) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let connection = Connection::new(clerk.clone());
        tokio::spawn(async move { connection.serve(theirs).await.unwrap().waiting().await });
        let (output, input) = tokio::io::split(ours);
        let mut client = Client { clerk, begun, let_through, lines: BufReader::new(output).lines(), input };
        let client_info = json!({ "name": "Test!", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info });
        client.send(0, "initialize", hello).await;
        assert_eq!(client.answer().await["id"], 0);
        client
    }

    async fn line(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn send(&mut self, id: i64, method: &str, params: Value) {
        self.line(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    async fn call(&mut self, id: i64, tool: &str, arguments: Value) {
        self.send(id, "tools/call", json!({ "name": tool, "arguments": arguments, "_meta": { "threadId": "a" } }))
            .await;
    }

    async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Lets the runtime work until the host has begun a request.
    async fn begun(&mut self) -> String {
        loop {
            if let Ok(what) = self.begun.try_recv() {
                return what;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn finish(&mut self, id: i64) -> Value {
        self.let_through.send(()).unwrap();
        let answer = self.answer().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    fn done(&self) -> Vec<String> {
        self.clerk.done.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_slow_store_does_not_stop_the_protocol() {
    let mut client = Client::new().await;
    client.call(1, "note", json!({ "text": "x" })).await;
    client.begun().await;
    client.send(2, "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 2, "while the call is still running");
    assert_eq!(client.finish(1).await["isError"], false);
}

#[tokio::test]
async fn inv_m1_the_next_call_confirms_what_was_offered_once() {
    let mut client = Client::new().await;
    client.call(1, "resume", json!({})).await;
    assert_eq!(client.finish(1).await["content"][0]["text"], "brief");
    client.let_through.send(()).unwrap();
    client.call(2, "note", json!({ "text": "x" })).await;
    client.finish(2).await;
    client.call(3, "note", json!({ "text": "y" })).await;
    client.finish(3).await;
    assert_eq!(client.done(), ["a resume", "a confirms 7", "a note", "a note"]);
}

#[tokio::test]
async fn inv_m1_a_cancelled_call_and_one_that_was_already_sent_confirm_nothing() {
    let mut client = Client::new().await;
    client.call(1, "resume", json!({})).await;
    client.begun().await;
    client.line(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    // The answer to the ping shows that the cancellation before it was read.
    client.send(2, "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 2);
    client.let_through.send(()).unwrap();
    client.call(3, "resume", json!({})).await;
    client.begun().await;
    client.call(4, "note", json!({ "text": "sent before the answer to 3" })).await;
    client.send(5, "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 5);
    client.finish(3).await;
    client.finish(4).await;
    assert_eq!(client.done(), ["a resume", "a resume", "a note"]);
}

// OpenCode 1.18.33 sends `notifications/cancelled` after every call, once it has the answer (seen 2026-11-16).
#[tokio::test]
async fn inv_m6_a_cancellation_that_comes_after_the_answer_does_not_undo_the_delivery() {
    let mut client = Client::new().await;
    client.call(1, "resume", json!({})).await;
    client.finish(1).await;
    client.line(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    client.let_through.send(()).unwrap();
    client.call(2, "note", json!({ "text": "x" })).await;
    client.finish(2).await;
    assert_eq!(client.done(), ["a resume", "a confirms 7", "a note"]);
}

#[tokio::test]
async fn inv_i1_a_session_in_the_arguments_names_the_agent_and_goes_no_further() {
    let mut client = Client::new().await;
    let session = |id: &str| json!({ "text": "x", "tenure/session": { "tool": "opencode", "id": id } });
    for (id, name) in [(1, "s1"), (2, "s2")] {
        client.send(id, "tools/call", json!({ "name": "note", "arguments": session(name) })).await;
        assert_eq!(client.finish(id).await["isError"], false);
    }
    // It takes precedence over the protocol's thread id.
    client.call(3, "note", session("s3")).await;
    client.finish(3).await;
    assert_eq!(client.done(), ["opencode-s1 note", "opencode-s2 note", "opencode-s3 note"]);
    for bad in [
        json!("s1"),
        json!({ "tool": "opencode" }),
        json!({ "tool": 1, "id": "s" }),
        json!({ "tool": "person:ann", "id": "s" }),
        json!({ "tool": "opencode", "id": "a\nb" }),
        json!({ "tool": "opencode", "id": "s", "x": 1 }),
    ] {
        client.call(4, "note", json!({ "text": "x", "tenure/session": bad })).await;
        let refused = client.answer().await["result"].take();
        assert_eq!(refused["structuredContent"]["code"], "bad_arguments", "{refused}");
        assert_eq!(refused["structuredContent"]["details"]["entity"], "tenure/session");
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_its_turn_is_not_carried_out() {
    let mut client = Client::new().await;
    client.call(1, "note", json!({ "text": "x" })).await;
    client.begun().await;
    client.call(2, "done", json!({})).await;
    client.line(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } })).await;
    client.send(3, "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 3);
    client.finish(1).await;
    client.call(4, "note", json!({ "text": "y" })).await;
    client.finish(4).await;
    assert_eq!(client.done(), ["a note", "a note"]);
}

#[test]
fn a_connection_is_named_after_its_client() {
    let clerk = Clerk::new().0;
    for (client, name) in [
        ("Claude Code!", "mcp-claude-code-777777"),
        ("", "mcp-client-888888"),
        ("Ä", "mcp-client-999999"),
        ("person:x", "mcp-person-x-aaaaaa"),
    ] {
        assert_eq!(anonymous_agent::named(client, &*clerk).name, name);
    }
    let long = anonymous_agent::named(&"é".repeat(90).replace('é', "a/"), &*clerk).name;
    assert!(tenure_core::name::check(&long).is_ok() && long.len() == 64, "{long}");
}

#[tokio::test]
async fn inv_i1_each_connection_and_each_thread_is_an_agent_of_its_own() {
    let (clerk, begun, let_through) = Clerk::new();
    let mut one = Client::of(clerk.clone(), begun, let_through.clone()).await;
    let mut two = Client::of(clerk, channel().1, let_through).await;
    let note = json!({ "name": "note", "arguments": { "text": "x" } });
    for (client, id) in [(&mut one, 1), (&mut two, 1)] {
        client.send(id, "tools/call", note.clone()).await;
        client.finish(id).await;
    }
    one.call(2, "note", json!({ "text": "x" })).await;
    one.finish(2).await;
    one.send(3, "tools/call", note).await;
    one.finish(3).await;
    assert_eq!(one.done(), ["mcp-test-777777 note", "mcp-test-888888 note", "a note", "mcp-test-777777 note"]);
}

#[tokio::test]
async fn inv_t8_a_refusal_is_a_result_with_all_its_fields() {
    let mut client = Client::new().await;
    client.call(1, "block", json!({ "reason": "x" })).await;
    let refused = client.finish(1).await;
    assert_eq!(refused["isError"], true);
    let error = &refused["structuredContent"];
    let fields: Vec<&String> = error.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["code", "details", "hint", "kind", "message", "retryable"]);
    assert_eq!((&error["code"], &error["details"]["entity"]), (&json!("task_held"), &json!("t-1")));
    assert_eq!(refused["content"][0]["text"], error.to_string());
}
