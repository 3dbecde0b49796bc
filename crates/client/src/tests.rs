//! A kernel with a server beside it: the server's answers and its failure modes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use tenure_kernel::op::{add, add_many, note};
use tenure_kernel::query::list::List;
use tenure_kernel::query::show::Show;
use tenure_kernel::query::status::Status;
use tenure_kernel::{Actor, Condition, RequestId};
use tenure_store::table::project;
use tenure_store::{Location, Options, migrate};

use tenure_core::{Code, Kind};

use super::*;
use crate::phrasing::{self, Commands};
use crate::wire::{self, Asked, VERSION};

/// How a server treats the requests of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Executes and answers.
    Proper,
    /// Sends nothing, not even the first line.
    Silent,
    /// Executes and never answers.
    Mute,
    /// Executes and hangs up instead of answering.
    Dies,
    /// Takes longer than half of the patience, then answers.
    Slow,
    /// Reads requests and does nothing.
    Deaf,
    /// Answers that it did not run the request.
    Declines,
    /// Sends an answer that cannot be parsed.
    Babbles,
}

struct Area {
    dir: tempfile::TempDir,
}

/// What a server saw: an executed request, or a peer that hung up.
#[derive(Debug, PartialEq, Eq)]
enum Saw {
    Request(String),
    HangUp,
}

impl Area {
    fn new() -> Area {
        let area = Area { dir: tempfile::tempdir().unwrap() };
        area.kernel().store().create().unwrap();
        area
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("tenure.db")
    }

    fn kernel(&self) -> Kernel {
        Kernel::new(Location::File(self.database()), Options::default(), phrasing::of).unwrap()
    }

    fn hello(&self) -> Hello {
        let identity = self.kernel().store().identity().unwrap().unwrap();
        Hello {
            tenure: VERSION.to_owned(),
            schema: migrate::VERSION,
            store: identity.id.into(),
            incarnation: identity.incarnation.into(),
            file: socket_path::file_identity(&self.database()),
        }
    }

    /// A server beside the store.
    fn serve(&self, hello: Hello, manner: Manner) -> Receiver<Saw> {
        let path = socket_path::socket_path(&self.database(), None).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let (saw, seen) = channel();
        let kernel = self.kernel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve_one(&kernel, &stream.unwrap(), &hello, manner, &saw);
            }
        });
        seen
    }

    fn client(&self, patience: Duration, asks: bool) -> Client {
        let options = Options { patience, may_create: false, ..Options::default() };
        let path = socket_path::socket_path(&self.database(), None).unwrap();
        Client::Sidecar(Box::new(Sidecar::new(self.database(), options, path, None, asks).unwrap()))
    }
}

fn serve_one(kernel: &Kernel, stream: &UnixStream, hello: &Hello, manner: Manner, saw: &Sender<Saw>) {
    let mut lines = BufReader::new(stream).lines();
    if manner != Manner::Silent {
        writeln!(&*stream, "{}", hello.to_line()).unwrap();
    }
    while let Some(Ok(line)) = lines.next() {
        let request = WireRequest::read(line.as_bytes()).unwrap();
        let call = &request.call.call;
        let run = || match request.asked().unwrap() {
            Asked::Op(op) => kernel.run(call, &op),
            Asked::Query(query) => query.ask(kernel, call).map(|body| Reply { body, replayed: false }),
        };
        let name = request.op.clone().or(request.query.clone()).unwrap();
        let answer = match manner {
            Manner::Proper => wire::answer(run()),
            Manner::Slow => {
                let answer = wire::answer(run());
                take(Duration::from_millis(request.call.deadline_ms.unwrap() * 3));
                answer
            }
            Manner::Declines => wire::answer(Err(Error::new(Code::NotRun, "about to stop").at(Stage::Lock))),
            Manner::Babbles => "<html>".to_owned(),
            Manner::Silent => return,
            Manner::Deaf => continue,
            Manner::Mute | Manner::Dies => {
                run().unwrap();
                String::new()
            }
        };
        saw.send(Saw::Request(name)).unwrap();
        match manner {
            Manner::Dies => return,
            Manner::Mute => {}
            _ => writeln!(&*stream, "{answer}").unwrap(),
        }
    }
    saw.send(Saw::HangUp).unwrap();
}

fn call(request_id: &str) -> Call {
    Call {
        project: project::NamedProject { key: "name:p".into(), label: "p".into() },
        actor: Actor::named("person:ann"),
        request_id: RequestId::given(request_id).unwrap(),
        checkout: None,
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    }
}

fn adding() -> Op {
    Op::new(add::Add::titled("first"))
}

fn titles(area: &Area) -> Vec<String> {
    let page = area.kernel().ask(&call("q"), &List::default()).unwrap();
    page.items.into_iter().map(|task| task.title).collect()
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(400);

#[test]
fn ops_go_through_the_server_and_queries_too_where_one_writes() {
    let area = Area::new();
    let seen = area.serve(area.hello(), Manner::Proper);
    let client = area.client(LONG, true);
    client.run_any(&call("r1"), &adding()).unwrap();
    assert!(client.run_any(&call("r1"), &adding()).unwrap().replayed);
    let listed = client.ask(&call("q"), &List::default()).unwrap();
    assert_eq!(listed.items.len(), 1);
    let none = Show { id: "t-00000".into() };
    let error = client.ask(&call("q"), &none).unwrap_err();
    assert_eq!(error.to_json(&Commands), area.kernel().ask(&call("q"), &none).unwrap_err().to_json(&Commands));
    drop(client);
    let names: Vec<Saw> = seen.iter().take(5).collect();
    let request = |name: &str| Saw::Request(name.to_owned());
    assert_eq!(names, [request("add"), request("add"), request("list"), request("show"), Saw::HangUp]);
    // A client that only reads needs no server.
    let client = area.client(LONG, false);
    client.ask(&call("q"), &List::default()).unwrap();
    assert!(seen.try_recv().is_err());
}

#[test]
fn inv_t3_what_a_server_did_and_did_not_answer_happens_once() {
    for manner in [Manner::Mute, Manner::Dies] {
        let area = Area::new();
        let seen = area.serve(area.hello(), manner);
        let reply = area.client(SHORT, false).run_any(&call("r1"), &adding()).unwrap();
        assert!(reply.replayed, "the server has carried it out: the record answers");
        assert_eq!(seen.recv().unwrap(), Saw::Request("add".to_owned()));
        assert_eq!(titles(&area), ["first"]);
        if manner == Manner::Mute {
            assert_eq!(seen.recv().unwrap(), Saw::HangUp, "the client closed its end");
        }
    }
}

#[test]
fn inv_s11_whoever_is_refused_beside_a_stopped_server_knows_what_became_of_its_op() {
    // The server has committed the op, takes the next turn and stops before it answers.
    let area = Area::new();
    let seen = area.serve(area.hello(), Manner::Mute);
    let turn = |area: &Area| {
        let file = std::fs::File::create(area.dir.path().join("tenure.db-turn-b")).unwrap();
        file.lock().unwrap();
        file
    };
    let client = area.client(SHORT, false);
    let kept = std::thread::scope(|scope| {
        let area = &area;
        let turned = scope.spawn(move || {
            seen.recv().unwrap();
            turn(area)
        });
        let reply = client.run_any(&call("r1"), &adding()).unwrap();
        drop(turned.join().unwrap());
        reply
    });
    assert!(kept.replayed);
    // The server has done nothing yet. Either it never will, or, in the middle of a commit, the outcome is unknown.
    for (deciding, code) in [(false, "turnstile"), (true, "undecided")] {
        for manner in [Manner::Deaf, Manner::Silent] {
            let area = Area::new();
            let _seen = area.serve(area.hello(), manner);
            let _turn = turn(&area);
            let lock = std::fs::File::create(area.dir.path().join("tenure.db-deciding")).unwrap();
            if deciding {
                lock.lock().unwrap();
            }
            let error = area.client(SHORT, false).run_any(&call("r1"), &adding()).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Busy, code));
        }
    }
}

#[test]
fn a_server_that_does_not_carry_it_out_is_left_alone_from_then_on() {
    for manner in [Manner::Declines, Manner::Babbles] {
        let area = Area::new();
        let seen = area.serve(area.hello(), manner);
        let client = area.client(LONG, true);
        assert!(!client.run_any(&call("r1"), &adding()).unwrap().replayed);
        assert_eq!(seen.recv().unwrap(), Saw::Request("add".to_owned()));
        // The connection is closed before the op runs in this process, and no other is made.
        assert_eq!(seen.recv().unwrap(), Saw::HangUp);
        let noting = Op::new(note::Note {
            task: Some(area.kernel().ask(&call("q"), &List::default()).unwrap().items[0].id.clone()),
            text: "n".into(),
            ..note::Note::default()
        });
        client.run_any(&call("r2"), &noting).unwrap();
        client.ask(&call("q"), &List::default()).unwrap();
        assert!(seen.try_recv().is_err());
        assert_eq!(titles(&area), ["first"]);
    }
}

#[test]
fn a_server_that_says_nothing_is_waited_for_only_so_long() {
    let area = Area::new();
    let _seen = area.serve(area.hello(), Manner::Silent);
    assert!(!area.client(SHORT, false).run_any(&call("r1"), &adding()).unwrap().replayed);
    assert_eq!(titles(&area), ["first"]);
}

#[test]
fn a_server_at_work_on_many_rows_is_waited_for_as_their_number_says() {
    let area = Area::new();
    let seen = area.serve(area.hello(), Manner::Slow);
    let client = area.client(Duration::from_millis(200), false);
    let lines = "{\"title\":\"one of many\"}\n".repeat(4_000);
    let op = Op::new(add_many::AddMany::parse(lines.as_bytes()).unwrap());
    let reply = client.run_any(&call("r-many"), &op).unwrap();
    assert!(!reply.replayed, "the server's own answer, and not its record");
    assert_eq!(seen.recv().unwrap(), Saw::Request("add_many".into()));
    // The client kept its connection open until the answer came.
    drop(client);
    assert_eq!(seen.recv().unwrap(), Saw::HangUp);
    assert!(seen.try_recv().is_err());
}

#[test]
fn a_server_of_another_version_schema_store_or_file_is_not_spoken_to() {
    let fit = |area: &Area| area.hello();
    let others: [fn(Hello) -> Hello; 4] = [
        |hello| Hello { tenure: "0.0.0".into(), ..hello },
        |hello| Hello { schema: 99, ..hello },
        |hello| Hello { file: Some((1, 2)), ..hello },
        |hello| Hello { file: None, ..hello },
    ];
    for other in others {
        let area = Area::new();
        let seen = area.serve(other(fit(&area)), Manner::Proper);
        area.client(LONG, true).run_any(&call("r1"), &adding()).unwrap();
        assert_eq!(seen.recv().unwrap(), Saw::HangUp, "nothing was asked");
        assert_eq!(titles(&area), ["first"]);
    }
    let area = Area::new();
    let seen = area.serve(area.hello(), Manner::Proper);
    let path = socket_path::socket_path(&area.database(), None).unwrap();
    let expected = |store: &str| Expected { store: Some(store.to_owned()), file: None };
    assert!(Socket::connect(&path, &expected("another"), LONG).is_none());
    assert_eq!(seen.recv().unwrap(), Saw::HangUp);
    let socket = Socket::connect(&path, &expected(&area.hello().store), LONG).unwrap();
    assert_eq!(socket.hello().unwrap(), area.hello());
    let far = Client::Remote(Box::new(socket));
    assert_eq!(far.create().unwrap().id, area.hello().store);
    assert_eq!(far.kernel("`backup`").err().unwrap().code(), "needs_store");
    far.run_any(&call("r1"), &adding()).unwrap();
    assert_eq!(far.ask(&call("q"), &Status {}).unwrap().ready, 1);
    let mut lines = Vec::new();
    let end = far.export(&call("q"), true, &mut lines).unwrap();
    let mut direct = Vec::new();
    assert_eq!(end, area.kernel().export(&call("q"), true, &mut direct).unwrap());
    let last = |lines: &[u8]| String::from_utf8(lines.to_vec()).unwrap().lines().last().map(str::to_owned);
    assert_eq!((last(&lines), lines.len()), (last(&direct), direct.len()));
}

#[test]
fn a_socket_that_nobody_listens_at_costs_nothing() {
    let area = Area::new();
    let path = socket_path::socket_path(&area.database(), None).unwrap();
    drop(UnixListener::bind(&path).unwrap());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    area.client(LONG, true).run_any(&call("r1"), &adding()).unwrap();
    assert_eq!(titles(&area), ["first"]);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server is slow: the time it takes is what the client is tested with"
)]
fn take(time: Duration) {
    std::thread::sleep(time);
}
