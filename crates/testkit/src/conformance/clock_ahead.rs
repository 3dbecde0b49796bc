//! A clock that was ahead and is correct again: nothing stays frozen, and no hold outlasts its time to live.

use tenure_core::{Span, Time};
use tenure_kernel::access::hash;
use tenure_kernel::op::token_add;
use tenure_kernel::query;
use tenure_kernel::{Call, Op};
use tenure_store::table::project;

use super::Case;
use super::access::ANN;
use super::access_logins::{offer, sign_in, signed_in, take};
use super::shorthand::id;
use crate::fixture::{Engine, World, code_of};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t9_a_last_time_that_lies_ahead_freezes_no_hold", no_hold_is_frozen),
    Case::everywhere("inv_t9_a_last_time_that_lies_ahead_refuses_no_token", no_token_is_refused),
    Case::everywhere("inv_t9_a_last_time_that_lies_ahead_freezes_no_waiting_line", no_line_is_frozen),
    Case::everywhere("inv_t9_access_given_under_a_clock_ahead_lasts_its_time_and_no_longer", access_lasts_its_time),
    Case::everywhere("inv_t9_an_answer_kept_under_a_clock_ahead_is_kept_a_week_at_most", answers_are_kept_a_week),
    Case::everywhere("inv_t9_a_project_without_events_has_no_last_time", no_events_no_time),
    Case::everywhere("inv_t9_settling_meets_a_clock_set_back_by_itself", settling_steps_too),
];

const TEN_YEARS: i64 = 10 * 365 * 86_400 * 1_000_000;

/// A world on the real clock of its engine: on PostgreSQL the database's.
fn on_its_own_clock(world: &World) -> World {
    World::with(world.engine, |options| options.own_clock = world.engine != Engine::Postgres)
}

fn clock(world: &World) -> Time {
    world.kernel.store().read("", |_, entered| Ok(entered.clock)).unwrap()
}

/// Shifts all rows, as if everything so far had happened under a clock ten years ahead.
fn all_was_ahead(world: &World) {
    let ahead = |columns: &[&str], table: &str| {
        let set: Vec<String> = columns.iter().map(|column| format!("{column} = {column} + {TEN_YEARS}")).collect();
        raw::both(&world.kernel, &format!("UPDATE {table} SET {}", set.join(", ")));
    };
    ahead(&["last_time"], "project");
    ahead(&["granted_at", "expires_at"], "hold");
    ahead(&["queued_at", "expires_at"], "place");
    ahead(&["last_seen"], "agent");
    ahead(&["expires_at"], "request");
    ahead(&["created_at", "expires_at"], "token");
    ahead(&["created_at", "expires_at"], "login");
    ahead(&["created_at", "expires_at"], "web_session");
}

fn no_hold_is_frozen(world: &World) {
    let world = on_its_own_clock(world);
    let task = world.add("first");
    world.claim_for("a", &task, 3_600).unwrap();
    all_was_ahead(&world);
    let last = world.last_event();
    assert_eq!(code_of(world.claim("b", &task)), "task_held", "the hold is still a hold");
    assert_eq!(world.kinds_after(last), ["clock.stepped"]);
    let stepped = world.events().pop().unwrap();
    assert!(stepped.data["seconds"].as_i64().unwrap() > 9 * 365 * 86_400, "{}", stepped.data);
    let used = world.kernel.ask(&world.call("b"), &query::last_time::LastTime {}).unwrap();
    assert!(used <= clock(&world), "{used} is the clock's");
    let hold = &world.kernel.ask(&world.call("b"), &query::holds::Holds::of(Some("a"), 10)).unwrap().items[0];
    assert!(hold.expires_in_s <= 3_600, "{} s", hold.expires_in_s);
    // Makes its hour pass.
    raw::both(
        &world.kernel,
        "UPDATE hold SET granted_at = granted_at - 3600000000, expires_at = expires_at - 3600000000",
    );
    assert_eq!(world.show(&task)["state"], "ready", "queries use the same time");
    assert_eq!(id(&world.claim("b", &task).unwrap()["task"]), task);
    assert_eq!(world.count("clock.stepped"), 1);
}

fn no_token_is_refused(world: &World) {
    let world = on_its_own_clock(world);
    let request = token_add::TokenAdd { principal: ANN.into(), hash: hash("secret"), ..Default::default() };
    world.in_store(ANN, Op::new(request)).unwrap();
    sign_in(&world, ANN, "link", "cookie");
    offer(&world, ANN, "second");
    // One op of another caller under the wrong clock, in the project that all tokens belong to.
    raw::both(&world.kernel, &format!("UPDATE project SET last_time = last_time + {TEN_YEARS}"));
    assert!(world.kernel.who_is(&hash("secret")).unwrap().is_some(), "a token");
    assert!(signed_in(&world, "cookie"), "a session");
    take(&world, "second", "another cookie").unwrap();
    assert!(signed_in(&world, "another cookie"), "a link");
    let whole = Call { project: project::whole_store(), ..world.call(ANN) };
    assert!(world.kernel.ask(&whole, &query::last_time::LastTime {}).unwrap() <= clock(&world));
    let page = world
        .kernel
        .ask(&world.call(ANN), &query::tokens::Tokens { principal: None, limit: 10, cursor: None })
        .unwrap();
    assert_eq!(page.items.len(), 1);
}

fn no_line_is_frozen(world: &World) {
    let world = on_its_own_clock(world);
    world.reserve("a", &["src/x"]).unwrap();
    world.waits("b", &["src/x"], 1);
    all_was_ahead(&world);
    world.note("person:ann", &world.add("second"), "the clock is right again").unwrap();
    let late = "SELECT COUNT(*) FROM place WHERE ended_at = 0 AND expires_at > $1";
    let minutes = clock(&world) + Span::minutes(5);
    assert_eq!(raw::number(&world.kernel, late, &[minutes.into()]), 0, "a place lives two minutes");
    assert_eq!(raw::number(&world.kernel, "SELECT COUNT(*) FROM place WHERE ended_at = 0", &[]), 1);
}

fn access_lasts_its_time(world: &World) {
    let world = on_its_own_clock(world);
    let lasting = |secret: &str, expires_in_s| {
        let request =
            token_add::TokenAdd { principal: ANN.into(), hash: hash(secret), expires_in_s, ..Default::default() };
        world.in_store(ANN, Op::new(request)).unwrap();
    };
    lasting("secret", Some(86_400));
    sign_in(&world, ANN, "link", "cookie");
    offer(&world, ANN, "second");
    all_was_ahead(&world);
    lasting("later", Some(86_400));
    let expires = |table: &str| raw::number(&world.kernel, &format!("SELECT MAX(expires_at) FROM {table}"), &[]);
    let day = clock(&world) + Span::days(1);
    for table in ["token", "login", "web_session"] {
        assert!(expires(table) <= day.0, "{table}: {}", Time(expires(table)));
    }
    assert!(world.kernel.who_is(&hash("secret")).unwrap().is_some());
    assert!(signed_in(&world, "cookie"));
    take(&world, "second", "another cookie").unwrap();
}

fn answers_are_kept_a_week(world: &World) {
    let world = on_its_own_clock(world);
    let task = world.add("first");
    all_was_ahead(&world);
    world.note("a", &task, "x").unwrap();
    let newest = raw::number(&world.kernel, "SELECT MAX(expires_at) FROM request", &[]);
    assert!(newest <= (clock(&world) + Span::days(7)).0, "{}", Time(newest));
}

fn no_events_no_time(world: &World) {
    let world = on_its_own_clock(world);
    // Refused: only the row that was locked for it stays.
    assert_eq!(code_of(world.claim("a", "t-00000")), "not_found");
    raw::both(&world.kernel, &format!("UPDATE project SET last_time = last_time + {TEN_YEARS}"));
    world.add("first");
    assert!(world.kernel.ask(&world.call("a"), &query::last_time::LastTime {}).unwrap() <= clock(&world));
    assert_eq!(world.count("clock.stepped"), 0);
}

fn settling_steps_too(world: &World) {
    let world = on_its_own_clock(world);
    let (due, held) = (world.add("due"), world.add("held"));
    world.claim_for("a", &due, 3_600).unwrap();
    world.claim_for("b", &held, 3_600).unwrap();
    raw::both(&world.kernel, &format!("UPDATE project SET last_time = last_time + {TEN_YEARS}"));
    let (a, b) = ("granted_at = granted_at - 20, expires_at = granted_at - 10", "expires_at = expires_at + ");
    raw::both(&world.kernel, &format!("UPDATE hold SET {a} WHERE holder = 'a'"));
    raw::both(&world.kernel, &format!("UPDATE hold SET {b} {TEN_YEARS} WHERE holder = 'b'"));
    let last = world.last_event();
    assert_eq!(world.kernel.settle_due().unwrap(), 1);
    assert_eq!(world.kinds_after(last), ["clock.stepped", "hold.expired"]);
    assert_eq!(world.kernel.settle_due().unwrap(), 0, "nothing is due any more");
    let holds = world.kernel.ask(&world.call("c"), &query::holds::Holds::of(None, 10)).unwrap().items;
    assert!(holds.len() == 1 && holds[0].expires_in_s <= 3_600);
}
