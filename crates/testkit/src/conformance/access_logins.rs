//! One-time login links and the browser sessions they create.

use serde_json::Value;
use tenure_client::phrasing::Commands;
use tenure_core::access::Role;
use tenure_core::{Result, Span};
use tenure_kernel::access::{hash, is_secret_of};
use tenure_kernel::op::{login_close, login_offer, login_take};
use tenure_kernel::{Call, Op};
use tenure_store::table::project;

use super::Case;
use super::access::{ANN, member};
use crate::fixture::{World, code_of, refusal};
use crate::raw::number;

pub(super) const CASES: &[Case] = &[
    Case::shared("inv_s4_of_twenty_who_take_one_link_one_has_it", twenty_takes),
    Case::everywhere("inv_s4_a_link_is_good_once_and_for_its_time", links),
    Case::everywhere("inv_s3_sessions_end_at_once", sessions),
];

pub(super) fn offer(world: &World, principal: &str, link: &str) {
    let request = login_offer::LoginOffer { principal: principal.into(), hash: hash(link), expires_in_s: None };
    world.in_store(ANN, Op::new(request)).unwrap();
}

fn taking(link: &str, cookie: &str) -> Op {
    let (link, session, csrf) = (hash(link), hash(cookie), hash("form"));
    Op::new(login_take::LoginTake { link, session, csrf, expires_in_s: Some(3_600), from: String::new() })
}

pub(super) fn take(world: &World, link: &str, cookie: &str) -> Result<Value> {
    world.in_store("service:tenure", taking(link, cookie))
}

pub(super) fn sign_in(world: &World, principal: &str, link: &str, cookie: &str) {
    offer(world, principal, link);
    take(world, link, cookie).unwrap();
}

pub(super) fn signed_in(world: &World, cookie: &str) -> bool {
    world.kernel.who_is_session(&hash(cookie)).unwrap().is_some()
}

fn twenty_takes(world: &World) {
    offer(world, ANN, "link");
    let answers = world.race(20, |n, kernel| {
        let call = Call { project: project::whole_store(), ..world.call("service:tenure") };
        kernel.run(&call, &taking("link", &format!("cookie {n}"))).map(drop)
    });
    let codes: Vec<_> = answers.into_iter().filter_map(Result::err).map(|error| error.code().as_str()).collect();
    assert_eq!(codes, ["login_refused"; 19]);
    assert_eq!((0..20).filter(|n| signed_in(world, &format!("cookie {n}"))).count(), 1);
    // Twenty concurrent retries of one request create one session, and all get its answer.
    offer(world, ANN, "second");
    let call = Call { project: project::whole_store(), ..world.call("service:tenure") };
    let bodies = world.race(20, |_, kernel| kernel.run(&call, &taking("second", "same")).unwrap().body);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(number(&world.kernel, "SELECT COUNT(*) FROM web_session", &[]), 2);
}

fn links(world: &World) {
    offer(world, ANN, "link");
    world.advance(Span::minutes(10));
    let over = refusal(take(world, "link", "a"));
    let never = refusal(take(world, "no such", "a"));
    offer(world, ANN, "second");
    take(world, "second", "b").unwrap();
    let used = refusal(take(world, "second", "c"));
    for error in [&over, &used] {
        assert_eq!(error.to_json(&Commands), never.to_json(&Commands), "nobody learns which");
    }
    assert_eq!(never.code(), "login_refused");
    assert!(!signed_in(world, "a") && signed_in(world, "b") && !signed_in(world, "c"));
    // A cookie that belongs to one principal cannot be used by another.
    offer(world, "person:bob", "third");
    assert_eq!(code_of(take(world, "third", "b")), "login_refused");
    let service = login_offer::LoginOffer { principal: "service:ci".into(), hash: hash("x"), expires_in_s: None };
    assert_eq!(code_of(world.in_store(ANN, Op::new(service))), "not_a_person");
    // A link that expired long ago is pruned, and is still refused the same way.
    world.advance(Span::days(8));
    offer(world, ANN, "fourth");
    assert_eq!(number(&world.kernel, "SELECT COUNT(*) FROM login", &[]), 1);
    assert_eq!(refusal(take(world, "second", "d")).to_json(&Commands), never.to_json(&Commands));
}

fn sessions(world: &World) {
    member(world, ANN, "name:p", Some(Role::Operator));
    for (link, cookie) in [("1", "one"), ("2", "two"), ("3", "three")] {
        sign_in(world, ANN, link, cookie);
    }
    sign_in(world, "person:bob", "4", "bob's");
    let found = world.kernel.who_is_session(&hash("one")).unwrap().unwrap();
    assert_eq!((found.grants.principal.as_str(), found.grants.role("name:p")), (ANN, Some(Role::Operator)));
    assert!(is_secret_of("form", &found.csrf));
    assert!(!is_secret_of("another form", &found.csrf));
    let close = |actor: &str, session: Option<&str>, principal: Option<&str>| {
        let (session, principal) = (session.map(hash), principal.map(str::to_owned));
        world.in_store(actor, Op::new(login_close::LoginClose { session, principal: principal.map(Into::into) }))
    };
    assert_eq!(close(ANN, Some("one"), None).unwrap()["closed"], 1);
    assert_eq!(close(ANN, Some("one"), None).unwrap()["closed"], 0);
    assert_eq!(close(ANN, Some("no such"), None).unwrap()["closed"], 0);
    assert!(!signed_in(world, "one") && signed_in(world, "two"));
    assert_eq!(close(ANN, None, Some(ANN)).unwrap()["closed"], 2);
    assert!(!signed_in(world, "two") && !signed_in(world, "three") && signed_in(world, "bob's"));
    assert_eq!(code_of(close(ANN, None, None)), "bad_login_close");
    assert_eq!(code_of(close(ANN, None, Some("person:eve"))), "unknown_principal");
    world.advance(Span(Span::seconds(3_600).0 - 1));
    assert!(signed_in(world, "bob's"));
    world.advance(Span(1));
    assert!(!signed_in(world, "bob's"), "its time is over");
}
