//! Errors: each names its kind, its stage, its subject and the next step in fields, not in prose.

use std::path::Path;

use tenure_client::phrasing::Commands;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Kind, Result};
use tenure_kernel::op::{add, block, claim, done, edit, note, transfer};
use tenure_kernel::query;
use tenure_kernel::query::{list, log};
use tenure_kernel::{Call, Op, RequestId};

use super::Case;
use super::shorthand::{claiming, words};
use crate::fixture::{Engine, World, code_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t8_every_refusal_carries_code_kind_stage_entity_and_advice", refusals),
    Case::everywhere("an_id_of_any_characters_names_nothing_on_every_engine", any_characters),
    Case::only(&[Engine::Memory], "inv_t8_no_code_matches_the_text_of_an_error", no_text_is_matched),
];

/// PostgreSQL cannot accept a NUL even in a query, so no engine is asked.
fn any_characters(world: &World) {
    let task = world.add("one");
    let call = world.call("a");
    for odd in ["t-\0", "\0", "t-abcde\0", "ü", "h-\0", "t-'; DROP TABLE task; --"] {
        let named = Some(odd.to_owned());
        let on = block::Block {
            task: Some(task.clone().into()),
            reason: "x".into(),
            on: named.clone().map(Into::into),
            ..block::Block::default()
        };
        for op in [
            claiming(odd),
            Op::new(add::Add { after: words(&[odd]), ..add::Add::titled("x") }),
            Op::new(edit::Edit { task: odd.into(), priority: Some(1), ..edit::Edit::default() }),
            Op::new(edit::Edit { task: task.clone().into(), after: Some(words(&[odd])), ..edit::Edit::default() }),
            Op::new(note::Note { task: named.clone().map(Into::into), text: "x".into(), ..note::Note::default() }),
            Op::new(done::Done { task: named.map(Into::into), ..done::Done::default() }),
            Op::new(on),
        ] {
            let name = op.name();
            assert_eq!(code_of(world.unchanged(&task, || world.run("person:ann", op))), "not_found", "{name} {odd:?}");
        }
        let answers = [
            world.kernel.ask(&call, &query::show::Show { id: odd.into() }).map(drop),
            world.kernel.ask(&call, &query::show_hold::ShowHold { id: odd.into() }).map(drop),
            world.kernel.ask(&call, &query::why::Why { id: odd.into() }).map(drop),
            world.kernel.ask(&call, &query::graph::Graph { id: odd.into() }).map(drop),
            world.kernel.ask(&call, &query::task_id::ResolveTask { typed: odd.into() }).map(drop),
        ];
        answers.into_iter().for_each(|answer| assert_eq!(code_of(answer), "not_found", "{odd:?}"));
        let cursor = Some(format!("1.1.{odd}"));
        let filter = list::List { cursor: cursor.clone(), ..list::List::default() };
        assert_eq!(code_of(world.kernel.ask(&call, &filter)), "bad_cursor");
        assert_eq!(
            code_of(
                world
                    .kernel
                    .ask(&call, &query::holds::Holds { cursor: cursor.clone(), ..query::holds::Holds::of(None, 5) })
            ),
            "bad_cursor"
        );
        assert_eq!(
            code_of(
                world.kernel.ask(&call, &query::agents::Agents { within_us: None, limit: 5, cursor: cursor.clone() })
            ),
            "bad_cursor"
        );
        let filter = list::List { holder: Some(odd.into()), ..list::List::default() };
        assert_eq!(code_of(world.kernel.ask(&call, &filter)), "bad_name");
    }
}

/// Every refusal that the kernel gives without damage to the store.
fn gather(world: &World) -> Vec<Error> {
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    let (held, done_task) = (world.add("held"), world.add("done"));
    world.claim("a", &held).unwrap();
    world.done("a", &done_task).unwrap();
    let run = |agent: &str, op: Op| world.run(agent, op).map(drop);
    let edit = |task: &str, change: &dyn Fn(&mut edit::Edit)| {
        let mut request = edit::Edit { task: task.into(), ..edit::Edit::default() };
        change(&mut request);
        Op::new(request)
    };
    let repeated = world.call("a");
    world.kernel.run(&repeated, &Op::new(add::Add::titled("one"))).unwrap();
    let call = world.call("a");
    let page = |since| world.kernel.ask(&call, &log::Log { since: Some(since), limit: 5, ..log::Log::default() });
    let results: Vec<Result<()>> = vec![
        run("a", claiming("t-00000")),
        run("b", claiming(&held)),
        run("b", claiming(&second)),
        run("a", claiming(&done_task)),
        run("b", Op::new(done::Done { task: Some(held.clone().into()), ..done::Done::default() })),
        run(
            "a",
            Op::new(done::Done { task: Some(held.clone().into()), fence: Some(1.into()), ..done::Done::default() }),
        ),
        run("a", Op::new(done::Done { task: Some(held.clone().into()), force: true, ..done::Done::default() })),
        run("b", Op::new(done::Done::default())),
        run("a", Op::new(transfer::Transfer { to: "nobody".into(), ..transfer::Transfer::default() })),
        run("a", Op::new(transfer::Transfer { to: "a".into(), ..transfer::Transfer::default() })),
        run(
            "a",
            Op::new(block::Block {
                task: Some(done_task.clone().into()),
                reason: "x".into(),
                ..block::Block::default()
            }),
        ),
        run("a", edit(&first, &|request| request.after = Some(words(&[&second])))),
        run("person:ann", edit(&first, &|request| request.after = Some(words(&[&second])))),
        run("a", edit(&first, &|request| (request.title, request.expect_version) = (Some("x".into()), Some(9)))),
        run("a", edit(&first, &|_| {})),
        run("a", Op::new(claim::Claim { ttl_s: Some(0), ..claim::Claim::default() })),
        run("a", Op::new(add::Add::titled(""))),
        run("a", Op::new(add::Add::titled("two\nlines"))),
        run("a", Op::new(add::Add { priority: 9, ..add::Add::titled("x") })),
        run("a", Op::new(add::Add { labels: vec!["x".repeat(65)], ..add::Add::titled("x") })),
        run(
            "a",
            Op::new(note::Note { task: Some(first.clone().into()), text: "x".repeat(70_000), ..note::Note::default() }),
        ),
        run("No Name", Op::new(add::Add::titled("x"))),
        world.kernel.run(&repeated, &Op::new(add::Add::titled("two"))).map(drop),
        world.kernel.ask(&call, &query::show::Show { id: "t-00000".into() }).map(drop),
        world.kernel.ask(&call, &query::show_hold::ShowHold { id: "h-00000".into() }).map(drop),
        world.kernel.ask(&call, &query::task_id::ResolveTask { typed: "t-".into() }).map(drop),
        world.kernel.ask(&call, &list::List { limit: 0, ..list::List::default() }).map(drop),
        world.kernel.ask(&call, &list::List { cursor: Some("x".into()), ..list::List::default() }).map(drop),
        world
            .kernel
            .ask(&call, &query::holds::Holds { cursor: Some("x".into()), ..query::holds::Holds::of(None, 5) })
            .map(drop),
        page(log::Since::Number(EventNumber::new(999))).map(drop),
        page(log::Since::Cursor("x".into())).map(drop),
        world.kernel.ask(&call, &log::Log { kind: Some("x".into()), limit: 5, ..log::Log::default() }).map(drop),
        world
            .kernel
            .ask(&Call { pinned_store: Some("s-other".into()), ..world.call("a") }, &query::status::Status {})
            .map(drop),
        RequestId::given("").map(drop),
    ];
    results.into_iter().enumerate().map(|(n, result)| result.expect_err(&format!("refusal {n}"))).collect()
}

fn refusals(world: &World) {
    let errors = gather(world);
    let mut codes: Vec<&str> = errors.iter().map(|error| error.code().as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    assert!(codes.len() > 22, "{codes:?}");
    for error in errors {
        let json = error.to_json(&Commands);
        let code = error.code().as_str();
        assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
        assert_eq!((json["code"].as_str(), json["kind"].as_str()), (Some(code), Some(error.kind().as_str())));
        assert_eq!(json["retryable"], error.kind() == Kind::Busy, "{code}: none of these gets better by itself");
        assert!(json["details"]["stage"].is_string(), "{code}");
        assert!(json["details"].get("entity").is_some(), "{code}");
        let message = json["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains('\n'), "{code}: {message}");
        assert!(json["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{code} says nothing that helps: {json}");
        if matches!(error.kind(), Kind::NotFound | Kind::Mismatch) {
            assert!(error.about().is_some(), "{code} is about something");
        }
        assert!(error.attempts(&Commands).iter().all(|command| !command.contains("--force")), "{code}");
    }
}

/// Scans the sources: code identifies an error by its code and kind. Tests may match texts.
fn no_text_is_matched(_: &World) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut looked_at = 0;
    for name in ["core", "store", "kernel", "cli"] {
        let mut dirs = vec![crates.join(name).join("src")];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
                    let source = std::fs::read_to_string(&path).unwrap();
                    let shipped = source.split("#[cfg(test)]").next().unwrap();
                    looked_at += 1;
                    for text in ["message()", "error.to_string()", "err.to_string()", "e.to_string()"] {
                        for how in ["contains", "starts_with", "ends_with", "eq_ignore_ascii_case", "find"] {
                            let matched = format!("{text}.{how}(");
                            assert!(!shipped.contains(&matched), "{}: {matched}", path.display());
                        }
                        let compared = format!("{text} ==");
                        assert!(!shipped.contains(&compared), "{}: {compared}", path.display());
                    }
                }
            }
        }
    }
    assert!(looked_at > 50, "{looked_at}");
}
