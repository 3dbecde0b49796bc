//! `tenure up` and `tenure serve`

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args as _;
use serde_json::json;
use tenure_core::access::{EVERY_PROJECT, Role};
use tenure_core::{Error, Kind, Result, Stage};
use tenure_kernel::access::Secret;
use tenure_kernel::op::{login_offer, member_set};
use tenure_kernel::{Call, Kernel, Op};
use tenure_server::http::Limits;
use tenure_server::log::Log;
use tenure_server::reach::place as sockets;
use tenure_server::serve::{Settings, serve};
use tenure_store::{Clock as _, Location, OsEntropy, SystemClock};

use super::{Group, Spec, read};
use crate::context::Context;

/// Where a server of one person listens.
const USUAL: &str = "127.0.0.1:7133";

pub(super) const UP: Spec = Spec {
    name: "up",
    aliases: &[],
    group: Group::People,
    about: "Serve the store of this project to this machine: quicker commands, HTTP, live events; people only",
    examples: &["tenure up", "tenure up --listen 127.0.0.1:8000", "tenure up --no-http"],
    args: UpArgs::augment_args,
    run: |context, matches| {
        let args: UpArgs = read(matches)?;
        let person = context.people_only("`up`")?;
        let listen = if args.no_http { None } else { Some(address(&args.listen)?) };
        if let Some(far) = listen.filter(|listen| !listen.ip().is_loopback()) {
            return Err(Error::usage("not_this_machine", format!("{far} is open to other machines"))
                .hint("`up` is for one person on one machine: listen at 127.0.0.1, or use `serve` behind a proxy."));
        }
        let kernel = context.own_kernel("`up`")?;
        let link = listen.map(|_| sign_in(&kernel, &person.name)).transpose()?;
        // A person at a terminal is not told of every request, unless it asks for it.
        let told = if context.env.says_yes("TENURE_LOG") { Told::All } else { Told::Errors };
        run(context, kernel, listen, Limits::default(), (link, told))
    },
};

pub(super) const SERVE: Spec = Spec {
    name: "serve",
    aliases: &[],
    group: Group::People,
    about: "Serve a store to a team: HTTP for those who have a token, behind a proxy that does TLS",
    examples: &["tenure serve --store postgres://db/tenure", "tenure serve --listen 0.0.0.0:7133 --per-second 500"],
    args: ServeArgs::augment_args,
    run: |context, matches| {
        let args: ServeArgs = read(matches)?;
        let usual = Limits::default();
        let limits = Limits {
            body: args.body_mib.map_or(usual.body, |mib| mib.saturating_mul(1024 * 1024)),
            time: args.seconds.map_or(usual.time, Duration::from_secs),
            at_once: args.at_once.unwrap_or(usual.at_once),
            listeners: args.listeners.unwrap_or(usual.listeners),
            per_second: args.per_second.unwrap_or(usual.per_second),
        };
        let most = Limits {
            body: 1 << 30,
            time: Duration::from_secs(3_600),
            at_once: 1_000_000,
            listeners: 1_000_000,
            per_second: 1_000_000,
        };
        if limits.body > most.body
            || limits.time > most.time
            || limits.at_once > most.at_once
            || limits.listeners > most.listeners
            || limits.per_second > most.per_second
        {
            return Err(Error::usage("bad_limit", "a limit of the server is too large")
                .hint("At most 1024 MiB, 3600 seconds, and a million of anything else."));
        }
        if limits.body == 0 || limits.time.is_zero() || limits.at_once == 0 || limits.per_second == 0 {
            return Err(Error::usage("bad_limit", "a server with a limit of 0 answers nobody").hint("Give 1 or more."));
        }
        let listen = address(&args.listen)?;
        let told = if context.out.is_quiet() { Told::Errors } else { Told::All };
        run(context, context.own_kernel("`serve`")?, Some(listen), limits, (None, told))
    },
};

#[derive(clap::Args)]
struct UpArgs {
    /// Where to listen for HTTP on this machine
    #[arg(long, value_name = "ADDRESS", default_value = USUAL)]
    listen: String,
    /// Serve commands of this machine only, no HTTP
    #[arg(long)]
    no_http: bool,
}

#[derive(clap::Args)]
struct ServeArgs {
    /// Where to listen for HTTP
    #[arg(long, value_name = "ADDRESS", default_value = USUAL)]
    listen: String,
    /// Longest body of a request, in MiB [default: 8]
    #[arg(long, value_name = "MIB")]
    body_mib: Option<usize>,
    /// How long a request may take [default: 30]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Requests at once [default: 1024]
    #[arg(long, value_name = "N")]
    at_once: Option<usize>,
    /// Listeners to events at once [default: 4096]
    #[arg(long, value_name = "N")]
    listeners: Option<usize>,
    /// Requests a second for one principal [default: 2000]
    #[arg(long, value_name = "N")]
    per_second: Option<u32>,
}

fn address(typed: &str) -> Result<SocketAddr> {
    typed.parse().map_err(|_| {
        Error::usage("bad_address", format!("`{}` is not an address to listen at", tenure_core::text::excerpt(typed)))
            .hint("Give an IP address and a port, such as 127.0.0.1:7133; port 0 takes a free one.")
    })
}

/// What is told on standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    Errors,
}

fn run(
    context: &Context<'_>,
    kernel: Kernel,
    listen: Option<SocketAddr>,
    limits: Limits,
    (link, told): (Option<Secret>, Told),
) -> Result<u8> {
    let store = context.place()?.store.display();
    let socket = socket(context, &kernel)?;
    if socket.is_none() && listen.is_none() {
        return Err(Error::usage("no_socket", "there is no place for a socket, and HTTP is switched off")
            .hint("The path of the store is too long for a socket: set XDG_RUNTIME_DIR, or leave --no-http out."));
    }
    let shown = socket.clone();
    let sink = |line: &str| drop(writeln!(std::io::stderr(), "{line}"));
    let log = Log::new(Arc::new(sink), Arc::new(|| SystemClock.now().to_string()));
    let log = if told == Told::Errors { log.errors_only() } else { log };
    serve(kernel, Settings { socket, listen, limits, log }, |address| {
        let address = address.map(|address| format!("http://{address}"));
        let page = link.map(|link| format!("{}/login/{}", address.as_deref().unwrap_or_default(), link.expose()));
        if context.out.is_json() {
            let socket = shown.as_ref().map(|path| path.display().to_string());
            context.out.data(&json!({ "store": store, "socket": socket, "url": address, "sign_in": page }));
            return;
        }
        let socket = shown.map(|path| path.display().to_string());
        let rows = [("store", Some(store)), ("socket", socket), ("http", address), ("sign in", page)];
        let rows = rows.into_iter().filter_map(|(name, value)| Some(format!("\n  {name:<9}{}", value?)));
        context.out.text(&format!("Serving; Ctrl-C ends it.\n{}\n", rows.collect::<String>()));
    })?;
    Ok(0)
}

/// Where commands of this machine find the server, beside an embedded store.
fn socket(context: &Context<'_>, kernel: &Kernel) -> Result<Option<PathBuf>> {
    let Location::File(database) = kernel.store().location() else { return Ok(None) };
    kernel.store().create()?;
    let runtime = context.env.directory("XDG_RUNTIME_DIR");
    let socket = sockets::socket_path(database, runtime.as_deref());
    if let Some(dir) = socket.as_ref().and_then(|socket| socket.parent()).filter(|dir| !dir.exists()) {
        std::fs::DirBuilder::new().mode(0o700).create(dir).map_err(|error| {
            Error::new(Kind::Storage, "no_socket", Stage::Open, "there is no place for a socket")
                .entity(dir.display().to_string())
                .cause(error)
        })?;
    }
    Ok(socket)
}

/// A one-time link for the person at the keyboard: whoever may open the store may do everything with it already.
fn sign_in(kernel: &Kernel, person: &str) -> Result<Secret> {
    let call = || Call::of_store(person, &OsEntropy);
    let role = member_set::Request {
        principal: person.to_owned(),
        project: EVERY_PROJECT.to_owned(),
        role: Some(Role::Admin),
    };
    kernel.run(&call(), &Op::MemberSet(role))?;
    let secret = Secret::draw(&OsEntropy);
    let offer =
        login_offer::Request { principal: person.to_owned(), hash: secret.hash(), ..login_offer::Request::default() };
    kernel.run(&call(), &Op::LoginOffer(offer))?;
    Ok(secret)
}
