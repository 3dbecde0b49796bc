//! `tenure up` and `tenure serve`

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as _;
use serde_json::json;
use tenure_client::socket_path as sockets;
use tenure_core::access::{EVERY_PROJECT, Role};
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::access::Secret;
use tenure_kernel::op::{login_offer, member_set};
use tenure_kernel::{Call, Kernel, Op};
use tenure_server::log::ServerLog;
use tenure_server::serve::{Reloaded, ServerConfig, ServerSettings, serve};
use tenure_store::{Clock as _, Location, OsEntropy, SystemClock};

use super::{Group, Run, Spec, read};
use crate::session::{Session, StoreUse, caller, connection};
use crate::workspace::config::{Config, Serve};
use crate::workspace::server_record::ServerRecord;

/// The address at which a server of one person listens.
const USUAL: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7133));

pub(super) const UP: Spec = Spec {
    name: "up",
    aliases: &[],
    group: Group::People,
    about: "Serve the store to this machine (people only)",
    examples: &["tenure up", "tenure up --listen 127.0.0.1:8000", "tenure up --no-http"],
    args: UpArgs::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let args: UpArgs = read(matches)?;
        let person = caller::person(session, "`up`")?;
        let flags = Serve::given(args.listen.as_deref(), &[], [None; 5])?;
        let listen = if args.no_http { None } else { Some(listens(session, &flags)?) };
        if let Some(far) = listen.filter(|listen| !listen.ip().is_loopback()) {
            return Err(Error::usage(Code::NotThisMachine, format!("{far} is reachable from other machines"))
                .hint("`up` is for one person on one machine: listen on 127.0.0.1, or use `serve` behind a proxy."));
        }
        let kernel = connection::serving_kernel(session, "`up`")?;
        let link = listen.map(|_| sign_in(&kernel, &person.name)).transpose()?;
        // At a terminal not every request is logged, unless the person asks for it.
        let told = if session.settings.env.says_yes("TENURE_LOG") { Verbosity::All } else { Verbosity::Errors };
        run(session, kernel, listen, &flags, (link, told))
    }),
};

pub(super) const SERVE: Spec = Spec {
    name: "serve",
    aliases: &[],
    group: Group::People,
    about: "Serve a store to a team over HTTP, behind a TLS proxy",
    examples: &["tenure serve --store postgres://db/tenure", "tenure serve --listen 0.0.0.0:7133 --per-second 500"],
    args: ServeArgs::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: ServeArgs = read(matches)?;
        let numbers = [args.body_mib, args.seconds, args.at_once, args.listeners, args.per_second];
        let flags = Serve::given(args.listen.as_deref(), &args.proxies, numbers)?;
        let session = &Session::open(settings, out, StoreUse::Read)?;
        let listen = listens(session, &flags)?;
        let told = if session.out.is_told_quiet() { Verbosity::Errors } else { Verbosity::All };
        run(session, connection::serving_kernel(session, "`serve`")?, Some(listen), &flags, (None, told))
    }),
};

#[derive(clap::Args)]
struct UpArgs {
    /// The address for HTTP on this machine [default: 127.0.0.1:7133]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Serve only commands on this machine, without HTTP
    #[arg(long)]
    no_http: bool,
}

#[derive(clap::Args)]
struct ServeArgs {
    /// The address for HTTP [default: 127.0.0.1:7133]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// A trusted proxy that reports client addresses, as ADDRESS or ADDRESS/BITS; may be repeated
    #[arg(long = "proxy", value_name = "ADDRESS")]
    proxies: Vec<String>,
    /// The maximum size of a request body in MiB [default: 8]
    #[arg(long, value_name = "MIB")]
    body_mib: Option<u64>,
    /// The timeout of a request in seconds [default: 30]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// The maximum number of concurrent requests [default: 1024]
    #[arg(long, value_name = "N")]
    at_once: Option<u64>,
    /// The maximum number of concurrent event listeners [default: 4096]
    #[arg(long, value_name = "N")]
    listeners: Option<u64>,
    /// The maximum number of requests per second of one principal [default: 2000]
    #[arg(long, value_name = "N")]
    per_second: Option<u64>,
}

/// Where it listens: by flag, by configuration, or as usual.
fn listens(session: &Session<'_>, flags: &Serve) -> Result<SocketAddr> {
    Ok(flags.clone().over(&session.workspace.config.serve).listen.unwrap_or(USUAL))
}

/// What is told on standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verbosity {
    All,
    Errors,
}

fn run(
    session: &Session<'_>,
    kernel: Kernel,
    listen: Option<SocketAddr>,
    flags: &Serve,
    (link, told): (Option<Secret>, Verbosity),
) -> Result<u8> {
    let store = session.workspace.store.display();
    let socket = socket(session, &kernel)?;
    if socket.is_none() && listen.is_none() {
        return Err(Error::usage(Code::NoSocket, "there is no directory for a socket, and HTTP is switched off")
            .with_kind(Kind::Usage)
            .hint("The path of the store is too long for a socket: set XDG_RUNTIME_DIR, or omit --no-http."));
    }
    let shown = socket.clone();
    let sink = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    let log = ServerLog::new(Arc::new(sink), Arc::new(|| SystemClock.now().to_string()));
    let log = if told == Verbosity::Errors { log.errors_only() } else { log };
    let config = &session.workspace.config;
    let settings = ServerSettings { socket, listen, snapshot: snapshot(flags, config), log };
    let at_terminal = has_terminal();
    let reload = || match at_terminal && !has_terminal() {
        true => Ok(Reloaded::HungUp),
        false => reload(session, flags, listen),
    };
    let (env, location) = (session.settings.env, &session.workspace.store);
    let mut published = None;
    serve(kernel, settings, reload, |address| {
        let address = address.map(|address| format!("http://{address}"));
        let since = SystemClock.now().to_string();
        published = ServerRecord::of_self(env, location, address.clone(), since).publish(env);
        let page = link.map(|link| login_url(address.as_deref().unwrap_or_default(), &link));
        if session.out.is_json() {
            let socket = shown.as_ref().map(|path| path.display().to_string());
            session.out.data(&json!({ "store": store, "socket": socket, "url": address, "sign_in": page }));
            return;
        }
        let socket = shown.map(|path| path.display().to_string());
        let rows = [("store", Some(store)), ("socket", socket), ("http", address), ("sign in", page)];
        let rows = rows.into_iter().filter_map(|(name, value)| Some(format!("\n  {name:<9}{}", value?)));
        session.out.text(&format!("Serving; Ctrl-C or `tenure down` ends it.\n{}\n", rows.collect::<String>()));
    })?;
    drop(published);
    Ok(0)
}

/// What the server follows: the flags over the configuration.
fn snapshot(flags: &Serve, config: &Config) -> ServerConfig {
    let serve = flags.clone().over(&config.serve);
    ServerConfig { limits: serve.limits(), proxies: serve.proxies(), revision: config.revision.clone() }
}

/// Reads the configuration again, and names the settings that take effect only after a restart.
fn reload(session: &Session<'_>, flags: &Serve, listen: Option<SocketAddr>) -> Result<Reloaded> {
    let before = &session.workspace.config;
    let config = before.again(session.settings.env)?;
    let listens = flags.clone().over(&config.serve).listen.unwrap_or(USUAL);
    let waiting = [
        ("serve.listen", listen.is_some_and(|now| now != listens)),
        ("store", config.store != before.store || config.server != before.server),
        ("durability", config.durability != before.durability),
    ];
    let waiting = waiting.into_iter().filter_map(|(key, is_other)| is_other.then_some(key)).collect();
    Ok(Reloaded::Snapshot { snapshot: snapshot(flags, &config), waiting })
}

/// Whether there is a terminal that this process belongs to. One that is closed sends the signal that asks a server to
/// read its configuration.
#[expect(clippy::disallowed_methods, reason = "a device, opened to see whether it is there")]
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// Where commands of this machine find the server, beside an embedded store.
fn socket(session: &Session<'_>, kernel: &Kernel) -> Result<Option<PathBuf>> {
    let Location::File(database) = kernel.store().location() else { return Ok(None) };
    kernel.store().create()?;
    let runtime = session.settings.env.directory("XDG_RUNTIME_DIR");
    let socket = sockets::socket_path(database, runtime.as_deref());
    if let Some(dir) = socket.as_ref().and_then(|socket| socket.parent()).filter(|dir| !dir.exists()) {
        std::fs::DirBuilder::new().mode(0o700).create(dir).map_err(|error| {
            Error::new(Code::NoSocket, "there is no place for a socket")
                .at(Stage::Open)
                .entity(dir.display().to_string())
                .cause(error)
        })?;
    }
    Ok(socket)
}

/// A one-time link for the person at the keyboard. It gives no new rights: a person who can open the store can already do
/// everything with it.
fn sign_in(kernel: &Kernel, person: &str) -> Result<Secret> {
    let (secret, ops) = offer(person);
    for op in ops {
        kernel.run(&Call::of_store(person, &OsEntropy), &op)?;
    }
    Ok(secret)
}

/// The ops that offer a person a link, and the secret of it.
pub(super) fn offer(person: &str) -> (Secret, [Op; 2]) {
    let role =
        member_set::MemberSet { principal: person.into(), project: EVERY_PROJECT.into(), role: Some(Role::Admin) };
    let secret = Secret::draw(&OsEntropy);
    let offer =
        login_offer::LoginOffer { principal: person.into(), hash: secret.hash(), ..login_offer::LoginOffer::default() };
    (secret, [Op::new(role), Op::new(offer)])
}

/// The address of a link.
pub(super) fn login_url(server: &str, secret: &Secret) -> String {
    format!("{server}/login/{}", secret.expose())
}
