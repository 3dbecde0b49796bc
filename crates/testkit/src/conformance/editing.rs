//! Editing: compare-and-set by version, and exactly the requested changes.

use serde_json::json;
use tenure_core::Span;
use tenure_kernel::Op;
use tenure_kernel::op::{add, edit};

use super::Case;
use super::shorthand::words;
use crate::fixture::{World, code_of, kind_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l9_four_contenders_one_success", contenders),
    Case::everywhere("inv_l9_every_visible_change_raises_the_version", versions),
    Case::everywhere("an_edit_changes_what_it_names_and_tells_old_and_new", changes),
    Case::everywhere("an_edit_that_changes_nothing_is_silent", silent),
    Case::everywhere("limits_on_words_hold_at_every_entry", limits),
];

fn contenders(world: &World) {
    let task = world.add("contended");
    let version = world.show(&task)["version"].as_i64().unwrap();
    let outcomes = world.race(4, |n, kernel| {
        let request = edit::Edit {
            task: task.clone().into(),
            title: Some(format!("by {n}")),
            expect_version: Some(version),
            ..edit::Edit::default()
        };
        match kernel.run(&world.call(&format!("a{n}")), &Op::new(request)) {
            Ok(_) => format!("by {n}"),
            Err(error) => {
                assert_eq!((error.kind().as_str(), error.code().as_str()), ("stale", "stale_version"));
                assert_eq!(error.get("version"), Some(&json!(version + 1)));
                String::new()
            }
        }
    });
    let winners: Vec<&String> = outcomes.iter().filter(|title| !title.is_empty()).collect();
    assert_eq!(winners.len(), 1);
    let shown = world.show(&task);
    assert_eq!((&shown["title"], &shown["version"]), (&json!(winners[0]), &json!(version + 1)));
    assert_eq!(world.count("task.edited"), 1);
    for wrong in [version, version + 2, 0, -1] {
        let refused = world.unchanged(&task, || {
            world.edit("person:ann", &task, |request| {
                request.priority = Some(0);
                request.expect_version = Some(wrong);
            })
        });
        assert_eq!(kind_of(refused), "stale", "{wrong}");
    }
    world
        .edit("person:ann", &task, |request| {
            request.priority = Some(0);
            request.expect_version = Some(version + 1);
        })
        .unwrap();
}

/// An edit based on an old version must not overwrite a newer change.
fn versions(world: &World) {
    let task = world.add("watched");
    let mut last = 1;
    let mut rises = |what: &str| {
        let version = world.show(&task)["version"].as_i64().unwrap();
        assert_eq!(version, last + 1, "{what}");
        last = version;
    };
    world.claim("a", &task).unwrap();
    rises("claim");
    world.note("b", &task, "hello").unwrap();
    world.advance(Span::minutes(50));
    world.note("a", &task, "renews").unwrap();
    world.transfer("a", &task, "b").unwrap();
    rises("transfer, and neither note nor renewal");
    world.claim("b", &task).unwrap();
    world.release("b", &task).unwrap();
    rises("release");
    world.block("b", &task, "x").unwrap();
    rises("block");
    world.unblock("b", &task).unwrap();
    rises("unblock");
    world.done("b", &task).unwrap();
    rises("done");
    world.reopen("b", &task).unwrap();
    rises("reopen");
    world.edit("b", &task, |request| request.priority = Some(4)).unwrap();
    rises("edit");
    world.cancel("b", &task).unwrap();
    rises("cancel");
}

fn changes(world: &World) {
    world.add("so that a is known");
    world.claim_any("a").unwrap();
    let before = world.add_with(add::Add {
        description: "old".into(),
        labels: words(&["keep", "drop"]),
        ..add::Add::titled("old title")
    });
    world.advance(Span::seconds(5));
    let edited = world
        .edit("b", &before, |request| {
            request.title = Some("  new title ".into());
            request.description = Some("new\r\nlines".into());
            request.acceptance = Some("green".into());
            request.priority = Some(0);
            request.add_labels = words(&["fresh", "keep"]);
            request.remove_labels = words(&["drop", "never had"]);
            request.assignee = Some("a".into());
        })
        .unwrap();
    assert_eq!(edited["title"], "new title");
    assert_eq!(edited["description"], "new\nlines");
    assert_eq!(edited["labels"], json!(["fresh", "keep"]));
    assert_eq!((&edited["priority"], &edited["assignee"]), (&json!(0), &json!("a")));
    assert_ne!(edited["updated_at"], edited["created_at"]);
    let event = world.events().pop().unwrap();
    assert_eq!(
        event.data["changes"],
        json!({
            "title": ["old title", "new title"],
            "description": ["old", "new\nlines"],
            "acceptance": ["", "green"],
            "priority": [2, 0],
            "labels": [["drop", "keep"], ["fresh", "keep"]],
            "assignee": ["", "a"],
        })
    );
    let shown = world.show(&before);
    for field in ["title", "description", "acceptance", "labels", "priority", "assignee", "version"] {
        assert_eq!(shown[field], edited[field], "the answer is what was stored: {field}");
    }
    let unlabelled = world.edit("b", &before, |request| request.remove_labels = words(&["fresh", "keep"])).unwrap();
    assert_eq!(unlabelled["labels"], json!([]));
    assert!(world.next("a", &["keep"]).task.is_none());
}

fn silent(world: &World) {
    let task = world.add("same");
    world.unchanged(&task, || {
        world
            .edit("person:ann", &task, |request| {
                request.title = Some("same".into());
                request.priority = Some(2);
                request.remove_labels = words(&["none"]);
                request.after = Some(Vec::new());
            })
            .unwrap();
    });
    assert_eq!(code_of(world.edit("person:ann", &task, |_| {})), "nothing_to_change");
}

fn limits(world: &World) {
    let task = world.add("limited");
    let long = "x".repeat(501);
    let many: Vec<String> = (0..21).map(|n| format!("l{n}")).collect();
    let bad: [(&str, fn(&mut add::Add, &str, &[String])); 11] = [
        ("title_empty", |request, _, _| request.title = "  ".into()),
        ("title_too_long", |request, long, _| request.title = long.into()),
        ("control_character", |request, _, _| request.title = "two\nlines".into()),
        ("control_character", |request, _, _| request.description = "a\0b".into()),
        ("control_character", |request, _, _| request.title = "a\u{e0041}b".into()),
        ("control_character", |request, _, _| request.description = "a\u{200b}b".into()),
        ("control_character", |request, _, _| request.labels = vec!["a\u{2066}b".into()]),
        ("text_too_long", |request, long, _| request.acceptance = long.repeat(200)),
        ("bad_priority", |request, _, _| request.priority = 5),
        ("bad_priority", |request, _, _| request.priority = -1),
        ("too_many_labels", |request, _, many| request.labels = many.to_vec()),
    ];
    for (code, spoil) in bad {
        let mut request = add::Add::titled("fine");
        spoil(&mut request, &long, &many);
        assert_eq!(code_of(world.unchanged(&task, || world.run("a", Op::new(request.clone())))), code);
        let plain = add::Add::titled("fine");
        let refused = world.unchanged(&task, || {
            world.edit("a", &task, |edit| {
                edit.title = Some(request.title.clone());
                edit.description = Some(request.description.clone()).filter(|text| *text != plain.description);
                edit.acceptance = Some(request.acceptance.clone()).filter(|text| *text != plain.acceptance);
                edit.priority = Some(request.priority).filter(|priority| *priority != plain.priority);
                edit.add_labels = request.labels.clone();
            })
        });
        assert_eq!(code_of(refused), code);
    }
    // The limit applies to the resulting labels, not to those that one call adds.
    world.edit("a", &task, |request| request.add_labels = many[..20].to_vec()).unwrap();
    let refused =
        world.unchanged(&task, || world.edit("a", &task, |request| request.add_labels = words(&["one more"])));
    assert_eq!(code_of(refused), "too_many_labels");
    assert!(world.agent("a").is_some());
}
