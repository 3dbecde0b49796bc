//! Access control: every route, called by every caller that must not have access.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use futures_core::Stream;
use serde_json::Value;
use tenure_core::access::Role;
use tenure_kernel::access::Secret;
use tenure_kernel::op::{member_set, principal_set, token_add, token_revoke};
use tenure_kernel::{Call, Kernel, Op};
use tenure_store::{Location, Options, OsEntropy};
use tokio::runtime::Runtime;
use tower_service::Service as _;

use super::routes::ROUTES;
use super::{Limits, PUBLIC, Proxies, Server, openapi, router};
use crate::log::ServerLog;
use crate::serve::ServerConfig;

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// A server on a store, and a runtime to call it in.
struct World {
    runtime: Runtime,
    kernel: Arc<Kernel>,
    app: Router,
}

impl World {
    fn on(location: Location) -> World {
        // The rate limit is out of the way: these tests are about access.
        World::with(location, Limits { per_second: 1_000_000, ..Limits::default() })
    }

    fn with(location: Location, limits: Limits) -> World {
        let options =
            Options { patience: Duration::from_millis(50), answer: Duration::from_millis(50), ..Options::default() };
        let kernel = Arc::new(Kernel::new(location, options, tenure_client::phrasing::of).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let log = ServerLog::new(Arc::new(|_| {}), Arc::new(String::new)).errors_only();
        let inside = runtime.enter();
        let snapshot = ServerConfig { limits, proxies: Proxies::default(), revision: String::new() };
        let app = router(Arc::new(Server::new(kernel.clone(), &snapshot, log).unwrap()));
        drop(inside);
        World { runtime, kernel, app }
    }

    fn run(&self, op: &Op) -> Value {
        let reply = self.kernel.run(&Call::of_store("person:root", &OsEntropy), op).unwrap();
        serde_json::from_str(&reply.body).unwrap()
    }

    fn member(&self, principal: &str, role: Option<Role>, project: &str) {
        let (principal, project) = (principal.to_owned(), project.to_owned());
        self.run(&Op::new(member_set::MemberSet { principal: principal.into(), project: project.into(), role }));
    }

    /// A token's id and its secret.
    fn token(&self, principal: &str) -> (String, String) {
        let secret = Secret::draw(&OsEntropy);
        let request = token_add::TokenAdd { principal: principal.into(), hash: secret.hash(), ..Default::default() };
        let made = self.run(&Op::new(request));
        (made["id"].as_str().unwrap().to_owned(), secret.expose().to_owned())
    }

    /// The status and the document of an answer.
    fn ask(&self, method: &Method, path: &str, header: Option<(&str, &str)>) -> (StatusCode, Value) {
        let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(Body::from("{}")).unwrap();
        self.runtime.block_on(async {
            let response = self.app.clone().call(request).await.unwrap();
            let status = response.status();
            let stays = response.headers().get("content-type").is_some_and(|media| media == "text/event-stream");
            let bytes = if stays {
                Default::default()
            } else {
                axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap()
            };
            (status, serde_json::from_slice(&bytes).unwrap_or_default())
        })
    }
}

/// A URL for a route.
fn address(route: &str) -> String {
    let filled = route
        .replace("{link}", &"a".repeat(32))
        .replace("{name}", "add")
        .replace("{project}", "p")
        .replace("{resource}", "tasks")
        .replace("{id}", "t-xxxxx")
        .replace("{part}", "story");
    assert!(!filled.contains('{'), "{route}");
    format!("{filled}?project=p")
}

fn guarded() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|route| route.path).filter(|path| !PUBLIC.contains(path))
}

#[test]
fn inv_s1_no_route_but_the_public_ones_lets_anybody_in_who_has_not_shown_who_it_is() {
    let world = World::on(Location::Memory);
    for principal in ["person:ann", "person:bob", "person:eve"] {
        world.member(principal, Some(Role::Admin), "*");
    }
    let (_, good) = world.token("person:ann");
    let (revoked, of_revoked) = world.token("person:bob");
    world.run(&Op::new(token_revoke::TokenRevoke { token: revoked.into() }));
    let (_, of_disabled) = world.token("person:eve");
    world.run(&Op::new(principal_set::PrincipalSet { principal: "person:eve".into(), disabled: true }));
    let unknown = Secret::draw(&OsEntropy);
    let bearer = |secret: &str| format!("Bearer {secret}");
    let strangers: Vec<Option<(&str, String)>> = vec![
        None,
        Some(("authorization", bearer(unknown.expose()))),
        Some(("authorization", bearer(""))),
        Some(("authorization", good.clone())),
        Some(("authorization", format!("Basic {good}"))),
        Some(("authorization", bearer(&of_revoked))),
        Some(("authorization", bearer(&of_disabled))),
        Some(("cookie", format!("__Host-tenure={}", unknown.expose()))),
        Some(("cookie", format!("__Host-tenure={good}"))),
    ];
    let mut words = None;
    for path in guarded() {
        for method in &METHODS {
            for stranger in &strangers {
                let header = stranger.as_ref().map(|(name, value)| (*name, value.as_str()));
                let (status, said) = world.ask(method, &address(path), header);
                assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path} {stranger:?}");
                // The answer does not say which of the reasons it was.
                let mut said = said;
                said.as_object_mut().and_then(|fields| fields.remove("instance"));
                if *method != Method::HEAD {
                    assert_eq!(said["code"], "not_signed_in");
                    assert_eq!(said, *words.get_or_insert_with(|| said.clone()), "{method} {path} {stranger:?}");
                }
            }
        }
        let (status, _) = world.ask(&Method::GET, &address(path), Some(("authorization", &bearer(&good))));
        assert_ne!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
    // A route added here is open to every caller: look twice.
    let described = ["/api/v1/openapi.json", "/openapi.json"];
    assert_eq!(PUBLIC[..7], ["/", "/style.css", "/livez", "/readyz", "/login/{link}", "/login", "/api/v1/hello"]);
    assert_eq!(PUBLIC[7..], described);
    for path in PUBLIC {
        assert!(ROUTES.iter().any(|route| route.path == path), "{path} is no route");
        let (status, _) = world.ask(&Method::GET, &address(path), None);
        assert_ne!(status, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[test]
fn inv_s1_whoever_has_no_role_is_shown_nothing() {
    let world = World::on(Location::Memory);
    world.member("person:ann", Some(Role::Admin), "*");
    world.member("person:bob", Some(Role::Admin), "name:p");
    world.member("person:bob", None, "name:p");
    let (_, secret) = world.token("person:bob");
    let bearer = format!("Bearer {secret}");
    for path in guarded() {
        for method in &METHODS {
            let (status, said) = world.ask(method, &address(path), Some(("authorization", &bearer)));
            match path {
                // The caller's own identity.
                "/api/v1/whoami" => assert!(said.is_null() || said.get("items").is_none(), "{said}"),
                // An empty list.
                "/api/v1/projects" => assert!(said["items"].as_array().is_none_or(Vec::is_empty), "{said}"),
                _ => assert!(status.is_client_error(), "{method} {path}: {status} {said}"),
            }
        }
    }
    let (_, listed) = world.ask(&Method::GET, "/api/v1/projects", Some(("authorization", &bearer)));
    assert_eq!(listed["items"], serde_json::json!([]));
}

#[test]
fn inv_s1_a_store_that_cannot_be_asked_lets_nobody_in() {
    let world = World::on(Location::Postgres("postgres://nobody@127.0.0.1:1/none".into()));
    let bearer = format!("Bearer {}", Secret::draw(&OsEntropy).expose());
    let cookie = format!("__Host-tenure={}", Secret::draw(&OsEntropy).expose());
    for path in guarded() {
        for (name, value) in [("authorization", &bearer), ("cookie", &cookie)] {
            let (status, said) = world.ask(&Method::GET, &address(path), Some((name, value)));
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{path} {said}");
        }
    }
}

#[test]
fn where_there_is_nothing_nothing_is_told() {
    let world = World::on(Location::Memory);
    for path in ["/nothing", "/api/v1/nothing", "/api/v1/ops", "/api/v1/projects/p/tasks/a/b/c", "/login/a/b"] {
        for method in METHODS.iter().filter(|method| **method != Method::HEAD) {
            let (status, said) = world.ask(method, path, None);
            assert_eq!((status, said["code"].as_str()), (StatusCode::NOT_FOUND, Some("unknown_address")), "{path}");
        }
    }
}

#[test]
fn inv_s1_the_description_says_which_routes_anybody_may_ask() {
    let document = openapi::document();
    let everywhere = document["security"].as_array().unwrap();
    assert!(!everywhere.is_empty(), "a route that says nothing needs a token");
    for (path, methods) in document["paths"].as_object().unwrap() {
        let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let fits = |route: &&super::routes::Route| {
            let (of_route, asked) = (segments(route.path), segments(path));
            let same = |(one, other): (&String, &String)| one == other || one.starts_with('{');
            of_route.len() == asked.len() && of_route.iter().zip(&asked).all(same)
        };
        let exact = ROUTES.iter().find(|route| route.path == path);
        let route = exact.or_else(|| ROUTES.iter().find(fits)).unwrap_or_else(|| panic!("nothing serves {path}"));
        for (method, about) in methods.as_object().unwrap() {
            let open = about.get("security").is_some_and(|needed| *needed == serde_json::json!([]));
            assert_eq!(open, PUBLIC.contains(&route.path), "{method} {path}");
        }
    }
}

/// A body that never arrives; it counts the requests that wait for it.
struct Awaited {
    waiting: Arc<AtomicUsize>,
    seen: bool,
}

impl Stream for Awaited {
    type Item = Result<Vec<u8>, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !std::mem::replace(&mut self.seen, true) {
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
        Poll::Pending
    }
}

#[test]
fn inv_s1_no_body_that_is_waited_for_keeps_anybody_else_out() {
    const PLACES: usize = 3;
    let limits = Limits { at_once: PLACES, per_second: 1_000_000, ..Limits::default() };
    let world = World::with(Location::Memory, limits);
    world.member("person:ann", Some(Role::Admin), "*");
    let good = format!("Bearer {}", world.token("person:ann").1);
    let unknown = Secret::draw(&OsEntropy);
    let shown = [
        None,
        Some(("authorization", format!("Bearer {}", unknown.expose()))),
        Some(("cookie", format!("__Host-tenure={}", unknown.expose()))),
        Some(("authorization", good.clone())),
    ];
    for route in ROUTES {
        for (method, shown) in
            [Method::GET, Method::POST, Method::DELETE].iter().flat_map(|m| shown.iter().map(move |s| (m, s)))
        {
            let waiting = Arc::new(AtomicUsize::new(0));
            let ask = |_| {
                let mut request = Request::builder().method(method).uri(address(route.path));
                request = request.header("content-type", "application/json").header("content-length", "100");
                if let Some((name, value)) = shown {
                    request = request.header(*name, value);
                }
                let body = Body::from_stream(Awaited { waiting: waiting.clone(), seen: false });
                world.runtime.spawn(world.app.clone().call(request.body(body).unwrap()))
            };
            let asking: Vec<_> = (0..PLACES * 2).map(ask).collect();
            // Each request is answered, refused, or waits for its body.
            while waiting.load(Ordering::SeqCst) + asking.iter().filter(|one| one.is_finished()).count() < asking.len()
            {
                std::thread::yield_now();
            }
            let (status, said) = world.ask(&Method::GET, "/api/v1/whoami", Some(("authorization", &good)));
            assert_eq!(status, StatusCode::OK, "{method} {} {shown:?}: {said}", route.path);
            asking.iter().for_each(tokio::task::JoinHandle::abort);
        }
    }
}

#[test]
fn inv_s1_the_oldest_stranger_whose_body_is_waited_for_gives_way() {
    let strangers = super::admission::Strangers::default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let forever = || strangers.wait("192.0.2.1", std::future::pending::<tenure_core::Result<()>>());
        let mut first = Box::pin(forever());
        assert!(polled(&mut first).await.is_none());
        // Another address has its own share.
        let mut other = Box::pin(strangers.wait("192.0.2.2", std::future::pending::<tenure_core::Result<()>>()));
        assert!(polled(&mut other).await.is_none());
        let mut rest: Vec<_> = (0..32).map(|_| Box::pin(forever())).collect();
        for one in &mut rest {
            assert!(polled(one).await.is_none());
        }
        assert_eq!(polled(&mut first).await.unwrap().unwrap_err().code(), "overloaded");
        assert!(polled(&mut other).await.is_none() && polled(&mut rest[31]).await.is_none());
        // A body that has already arrived is taken, however many requests wait.
        assert_eq!(strangers.wait("192.0.2.1", async { Ok(7) }).await.unwrap(), 7);
    });
}

/// The output of a future if it is ready, without waiting.
async fn polled<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}
