//! A minimal server in the test's own process: a kernel behind a unix socket or HTTP.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tenure_client::socket_path;
use tenure_client::wire::{self, Asked, Hello, VERSION, WireRequest};
use tenure_kernel::{Kernel, Reply};
use tenure_store::{Location, Options, migrate};

/// The accepted token.
pub(crate) const TOKEN: &str = "tn_of_the_tests";

/// The transport to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    Http,
    Socket,
}

/// A running server. It ends with the process; its store is discarded with the test.
pub(crate) struct Serving {
    url: Option<String>,
    shared: Arc<Shared>,
}

struct Shared {
    database: PathBuf,
    /// The names of all received ops and queries.
    seen: Mutex<Vec<String>>,
    /// Whether answers are withheld: requests run, and the connection is closed.
    mute: AtomicBool,
}

impl Serving {
    pub(crate) fn start(database: &Path, through: Through) -> Serving {
        let shared =
            Arc::new(Shared { database: database.to_owned(), seen: Mutex::default(), mute: AtomicBool::new(false) });
        shared.kernel().store().create().unwrap();
        let url = match through {
            Through::Http => Some(serve_http(&shared)),
            Through::Socket => {
                serve_socket(&shared);
                None
            }
        };
        Serving { url, shared }
    }

    /// The environment that a client needs.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        match &self.url {
            Some(url) => vec![("TENURE_URL", url.into()), ("TENURE_TOKEN", TOKEN.into())],
            None => Vec::new(),
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.url.as_deref().unwrap()
    }

    /// The requests since the last call.
    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.seen.lock().unwrap())
    }

    /// From now on requests run and are not answered.
    pub(crate) fn mute(&self) {
        self.shared.mute.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn kernel(&self) -> Kernel {
        Kernel::new(Location::File(self.database.clone()), Options::default(), tenure_client::phrasing::of).unwrap()
    }

    fn hello(&self) -> Hello {
        let kernel = self.kernel();
        let identity = kernel.store().identity().unwrap().unwrap();
        Hello {
            tenure: VERSION.to_owned(),
            schema: migrate::VERSION,
            store: identity.id.into(),
            incarnation: identity.incarnation.into(),
            file: socket_path::file_identity(&self.database),
        }
    }

    fn answer(&self, kernel: &Kernel, document: &[u8]) -> Option<String> {
        let answered = WireRequest::read(document).and_then(|request| {
            let asked = request.asked()?;
            let name = request.op.or(request.query).unwrap_or_default();
            self.seen.lock().unwrap().push(name);
            match asked {
                Asked::Op(op) => kernel.run(&request.call.call, &op),
                Asked::Query(query) => {
                    query.ask(kernel, &request.call.call).map(|body| Reply { body, replayed: false })
                }
            }
        });
        (!self.mute.load(Ordering::SeqCst)).then(|| wire::answer(answered))
    }
}

fn serve_socket(shared: &Arc<Shared>) {
    let path = socket_path::socket_path(&shared.database, None).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let shared = shared.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, shared) = (stream.unwrap(), shared.clone());
            std::thread::spawn(move || over_socket(&shared, &stream));
        }
    });
}

fn over_socket(shared: &Shared, stream: &UnixStream) {
    let kernel = shared.kernel();
    if writeln!(&*stream, "{}", shared.hello().to_line()).is_err() {
        return;
    }
    for line in BufReader::new(stream).split(b'\n') {
        let Some(answer) = line.ok().and_then(|line| shared.answer(&kernel, &line)) else { return };
        if writeln!(&*stream, "{answer}").is_err() {
            return;
        }
    }
}

fn serve_http(shared: &Arc<Shared>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shared = shared.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, shared) = (stream.unwrap(), shared.clone());
            std::thread::spawn(move || over_http(&shared, &stream));
        }
    });
    url
}

fn over_http(shared: &Shared, stream: &TcpStream) -> Option<()> {
    let kernel = shared.kernel();
    let mut reader = BufReader::new(stream);
    loop {
        let (head, body) = read_http(&mut reader)?;
        let answer = if !head.contains(&format!("authorization: bearer {TOKEN}")) {
            Some((401, String::new()))
        } else if head.starts_with("get /api/v1/hello ") {
            Some((200, shared.hello().to_line()))
        } else if head.starts_with("post /api/v1/call ") {
            shared.answer(&kernel, &body).map(|answer| (200, answer))
        } else {
            Some((404, String::new()))
        };
        let (status, answer) = answer?;
        let length = answer.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{answer}"
        );
        (&*stream).write_all(answer.as_bytes()).ok()?;
    }
}

/// The head of a request in lower case, and its body.
fn read_http(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}
