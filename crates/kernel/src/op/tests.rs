use std::collections::BTreeSet;

use tenure_core::Kind;
use tenure_core::action::Plain;

use super::*;

#[test]
fn every_op_is_read_by_its_name() {
    for entry in OPS {
        match Op::read(entry.name, "{}") {
            Ok(op) => assert_eq!(op.name(), entry.name),
            // Its request has required fields, so the op was found.
            Err(error) => assert_eq!((entry.name, error.code().as_str()), (entry.name, "bad_arguments")),
        }
    }
}

#[test]
fn every_op_has_its_file_and_every_file_its_op() {
    let names: Vec<&str> = OPS.iter().map(|entry| entry.name).collect();
    let mut expected: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(expected.len(), names.len(), "names are unique: {names:?}");
    expected.extend(["mod", "operation", "tests"].map(str::to_owned));
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/op")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some());
    let found: BTreeSet<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_op_describes_its_request_and_its_answer() {
    for entry in OPS {
        assert!(!entry.about.is_empty() && !entry.about.ends_with('.'), "{}", entry.name);
        for schema in [(entry.request)(), (entry.answer)()] {
            let schema = schema.as_value();
            let is_typed =
                ["properties", "oneOf", "anyOf"].iter().any(|key| schema[key].is_object() || schema[key].is_array());
            assert!(is_typed || schema["additionalProperties"] == false, "{}: {schema}", entry.name);
        }
    }
}

#[test]
fn an_op_that_only_other_doors_have_is_unknown() {
    for entry in OPS {
        let read = Op::read_at(Door::Http, entry.name, "{}");
        let is_unknown = read.as_ref().is_err_and(|error| error.code() == "unknown_op");
        assert_eq!(is_unknown, !entry.doors.contains(&Door::Http), "{}", entry.name);
        if let Err(error) = read.as_ref() {
            let itself = format!("`{}`", entry.name);
            assert!(!is_unknown || !error.advice().unwrap().say(&Plain).contains(&itself), "{}", entry.name);
        }
    }
}

#[test]
fn unknown_ops_and_unknown_fields_are_refused_by_name() {
    let error = Op::read("claim", r#"{"tusk":"t-1"}"#).unwrap_err();
    assert_eq!((error.kind(), error.about()), (Kind::Usage, Some("tusk")));
    let error = Op::read("clam", "{}").unwrap_err();
    assert_eq!((error.kind(), error.code().as_str(), error.about()), (Kind::NotFound, "unknown_op", Some("clam")));
    assert!(error.advice().unwrap().say(&Plain).contains("claim"));
    for bad in ["", "[", "null", "[]", "1", "{} {}"] {
        assert_eq!(Op::read("claim", bad).unwrap_err().kind(), Kind::Usage, "{bad}");
    }
}

#[test]
fn a_shared_op_gets_lines_of_its_own() {
    let mut op = Op::new(add_many::AddMany::parse(b"{\"title\":\"a\"}\n\n{\"title\":\"b\"}\n").unwrap());
    let shared = op.clone();
    op.set_lines(&[7, 8]);
    assert_eq!((op.lines(), shared.lines()), (vec![7, 8], vec![1, 3]));
    assert_eq!((op.items(), Op::new(claim::Claim::default()).items()), (2, 1));
    assert_eq!(op.canonical().unwrap(), shared.canonical().unwrap(), "lines are not part of the request");
}

#[test]
fn an_op_is_only_what_it_is() {
    let op = Op::new(claim::Claim { task: Some("t-1".into()), ..claim::Claim::default() });
    assert_eq!(op.get::<claim::Claim>().and_then(|claim| claim.task.as_deref()), Some("t-1"));
    assert!(op.get::<done::Done>().is_none());
}

#[test]
fn the_answers_that_were_values_keep_their_bytes() {
    let joined = crate::answer::Joined { checkout: "/w".into(), project: "name:p".into() };
    assert_eq!(
        operation::json(&joined).unwrap(),
        serde_json::json!({ "project": "name:p", "checkout": "/w" }).to_string()
    );
    let on = crate::answer::ProjectSwitchedOn { project: "name:p".into(), switched_on: true };
    assert_eq!(
        operation::json(&on).unwrap(),
        serde_json::json!({ "project": "name:p", "switched_on": true }).to_string()
    );
    let forgotten = crate::answer::Forgotten {
        events: 3,
        key: "name:p".into(),
        label: "p".into(),
        overrode: vec!["a".into()],
        tasks: 2,
    };
    let before = serde_json::json!({ "key": "name:p", "label": "p", "tasks": 2, "events": 3, "overrode": ["a"] });
    assert_eq!(operation::json(&forgotten).unwrap(), before.to_string());
}
