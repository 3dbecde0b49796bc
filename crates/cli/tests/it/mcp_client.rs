//! A client of `tenure mcp` that implements the protocol by hand.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use serde_json::{Value, json};

use crate::home::{Call, Home, text};

/// A running server, and the client's ends of its pipes.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i64,
}

impl Client {
    /// Starts a server and initialises the connection.
    pub(crate) fn new(home: &Home, name: &str) -> Client {
        Client::of(home.call(&["mcp"]), name)
    }

    /// The same with a modified call.
    pub(crate) fn of(call: Call, name: &str) -> Client {
        let mut client = Client::mute(call);
        let hello = client.request(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": name, "version": "1" } }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "tenure", "{hello}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Starts a server and sends nothing.
    pub(crate) fn mute(call: Call) -> Client {
        let mut command = call.into_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Client { child, input, output, last: 0 }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// Sends a request without waiting for the answer.
    #[expect(clippy::needless_pass_by_value, reason = "calls read best with the literal in place")]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message of the server. Standard output contains nothing else.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let message = self.next();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// Calls a tool and returns its result, error or not.
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        self.result_with(tool, arguments, json!({}))
    }

    #[expect(clippy::needless_pass_by_value, reason = "calls read best with the literal in place")]
    pub(crate) fn result_with(&mut self, tool: &str, arguments: Value, meta: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let mut answer = self.request("tools/call", params);
        assert!(answer["result"]["isError"].is_boolean(), "{tool}: {answer}");
        answer["result"].take()
    }

    /// Calls a tool, which must succeed, and returns its structured answer.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.call_with(tool, arguments, json!({}))
    }

    #[track_caller]
    pub(crate) fn call_with(&mut self, tool: &str, arguments: Value, meta: Value) -> Value {
        let mut result = self.result_with(tool, arguments, meta);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        assert!(!text(&result["content"][0]["text"]).is_empty());
        result["structuredContent"].take()
    }

    /// Calls a tool, which must be refused, and returns the error, with all its fields.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let error = result["structuredContent"].take();
        for key in ["code", "kind", "message", "hint", "retryable", "details"] {
            assert!(error.get(key).is_some(), "no {key} in {error}");
        }
        for key in ["stage", "entity"] {
            assert!(error["details"].get(key).is_some(), "no {key} in {error}");
        }
        let said: Value = serde_json::from_str(&text(&result["content"][0]["text"])).unwrap();
        assert_eq!(said, error, "the text says the same");
        error
    }

    /// Closes the input and waits for the end.
    pub(crate) fn close(mut self) -> ExitStatus {
        drop(self.input.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        assert_eq!(rest, "", "nothing is said after the end");
        self.child.wait().unwrap()
    }

    /// Sends a signal and waits for the end, with the pipes still open.
    pub(crate) fn signal(mut self, name: &str) -> ExitStatus {
        let sent = std::process::Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
        crate::home::wait_until("it has ended", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap()
    }

    /// Its standard error, after its end.
    pub(crate) fn complaint(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }
}
