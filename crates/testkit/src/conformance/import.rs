//! Import: all or nothing, ids are kept, and existing tasks are never changed.

use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_core::Span;
use tenure_core::event::kind;
use tenure_core::task::TaskStatus;
use tenure_kernel::Op;
use tenure_kernel::answer::export::{ExportedNote, ExportedTask};
use tenure_kernel::op::import::Import;
use tenure_kernel::query;
use tenure_store::Clock;

use super::Case;
use super::export::{exported, furnish};
use super::shorthand::{taken, words};
use crate::fixture::{World, code_of, kind_of, refusal};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l11_one_bad_line_of_an_import_leaves_nothing", one_bad_line),
    Case::everywhere("inv_l8_an_import_with_a_cycle_is_refused_at_any_size", cycles),
    Case::everywhere("what_is_here_already_stays_and_is_counted", unchanged),
    Case::everywhere("what_is_here_with_other_content_is_refused_by_name", differs),
    Case::everywhere("inv_l11_an_import_is_replayed_as_one_record", replayed),
    Case::everywhere("a_dry_run_says_what_would_happen_and_changes_nothing", dry_run),
    Case::everywhere("an_import_into_a_living_project_joins_it", joins),
    Case::everywhere("an_imported_task_is_not_offered_before_its_time", not_before),
    Case::everywhere("an_imported_task_is_for_its_assignee_until_that_one_is_gone", assignees),
    Case::everywhere("inv_l4_no_fence_of_another_log_counts_after_an_import", fences),
];

const AT: &str = "2033-01-01T00:00:00.000000Z";

/// An open task with a title.
fn task(id: &str) -> ExportedTask {
    let text = json!({ "id": id, "title": id, "created_by": "a", "created_at": AT, "updated_at": AT });
    serde_json::from_value(text).unwrap()
}

fn note(id: &str, task: &str) -> ExportedNote {
    serde_json::from_str(&json!({ "id": id, "task": task, "agent": "a", "at": AT, "text": id }).to_string()).unwrap()
}

fn not_before(world: &World) {
    let later = (world.clock.now() + Span::hours(1)).to_string();
    let snoozed = ExportedTask { not_before: Some(later.clone()), ..task("t-00001") };
    let closed = ExportedTask {
        status: TaskStatus::Cancelled,
        finished_by: Some("a".into()),
        finished_at: Some(AT.to_owned()),
        ..snoozed.clone()
    };
    assert_eq!(code_of(import(world, vec![closed], Vec::new())), "bad_task");
    import(world, vec![snoozed], Vec::new()).unwrap();
    assert_eq!(
        (&world.show("t-00001")["state"], &world.show("t-00001")["not_before"]),
        (&json!("waiting"), &json!(later))
    );
    let line = String::from_utf8(exported(world, false)).unwrap();
    assert!(line.contains(&format!("\"not_before\":\"{later}\"")), "{line}");
    assert!(world.claim_any("b").unwrap()["task"].is_null());
    world.advance(Span::hours(1));
    assert_eq!(taken(&world.claim_any("b").unwrap()), "t-00001");
    world.sound();
}

/// A request whose lines are numbered as in a file.
fn request(tasks: Vec<ExportedTask>, notes: Vec<ExportedNote>) -> Import {
    let mut request = Import { tasks, notes, events: 0 };
    let lines =
        request.tasks.iter_mut().map(|task| &mut task.line).chain(request.notes.iter_mut().map(|note| &mut note.line));
    lines.enumerate().for_each(|(n, line)| *line = n + 2);
    request
}

fn import(world: &World, tasks: Vec<ExportedTask>, notes: Vec<ExportedNote>) -> tenure_core::Result<Value> {
    world.run("z", Op::new(request(tasks, notes)))
}

fn id(n: usize) -> String {
    format!("t-{n:05}")
}

type Spoil = fn(&mut ExportedTask);

fn one_bad_line(world: &World) {
    let exists = world.add("exists");
    let bad: [(&str, Spoil); 30] = [
        ("bad_id", |task| task.id = "t-1".into()),
        ("bad_id", |task| task.id = "n-00000".into()),
        ("bad_id", |task| task.id = "t-0000\0".into()),
        ("bad_id", |task| task.id = "t-'; DROP".into()),
        ("duplicate_id", |task| task.id = "t-00010".into()),
        ("title_empty", |task| task.title = " ".into()),
        ("title_too_long", |task| task.title = "x".repeat(501)),
        ("control_character", |task| task.title = "a\u{202e}b".into()),
        ("control_character", |task| task.description = "a\0b".into()),
        ("text_too_long", |task| task.acceptance = "x".repeat(65_537)),
        ("bad_priority", |task| task.priority = 5),
        ("bad_label", |task| task.labels = words(&[""])),
        ("too_many_labels", |task| task.labels = (0..21).map(|n| n.to_string()).collect()),
        ("not_found", |task| task.after = words(&["t-zzzz0"])),
        ("not_found", |task| task.after = words(&["no id\0"])),
        ("cycle", |task| task.after = vec![task.id.clone()]),
        ("bad_name", |task| task.assignee = Some("A B".into())),
        ("bad_name", |task| task.created_by = "".into()),
        ("bad_name", |task| task.was_held_by = Some("\u{7}".into())),
        ("bad_task", |task| task.status = TaskStatus::Started),
        ("bad_task", |task| task.status = TaskStatus::Done),
        ("bad_task", |task| task.finished_by = Some("a".into())),
        ("bad_task", |task| task.status = TaskStatus::Blocked),
        ("bad_task", |task| task.blocked_on = Some("t-00010".into())),
        ("bad_count", |task| task.attempt = -1),
        ("bad_count", |task| task.attempt = i64::MAX),
        ("bad_count", |task| task.version = 0),
        ("bad_time", |task| task.created_at = "yesterday".into()),
        ("bad_time", |task| task.updated_at = "1969-12-31T23:59:59Z".into()),
        ("not_found", |task| {
            (task.status, task.reason) = (TaskStatus::Blocked, Some("x".into()));
            task.blocked_on = Some("t-zzzz0".into());
        }),
    ];
    for at in [0, 19] {
        for (code, spoil) in &bad {
            let mut tasks: Vec<ExportedTask> = (0..20).map(|n| task(&id(n))).collect();
            spoil(&mut tasks[at]);
            let error = refusal(world.unchanged(&exists, || import(world, tasks, vec![note("n-00000", "t-00005")])));
            assert_eq!(error.code(), *code, "{}", error.message());
            // Of two equal ids, the second is the error.
            let line = if *code == "duplicate_id" { at.max(10) + 2 } else { at + 2 };
            assert_eq!(error.get("line"), Some(&json!(line)), "{code}");
            assert!(error.advice().unwrap().say(&Commands).contains("Nothing was imported"), "{code}");
        }
    }
    bad_notes(world, &exists);
    assert_eq!(world.kernel.ask(&world.call("z"), &query::status::Status {}).unwrap().ready, 1);
    world.sound();
}

fn bad_notes(world: &World, exists: &str) {
    let bad: [(&str, fn(&mut ExportedNote)); 9] = [
        ("bad_id", |note| note.id = "t-00000".into()),
        ("not_found", |note| note.task = "x".into()),
        ("not_found", |note| note.task = "t-zzzz0".into()),
        ("duplicate_id", |note| note.id = "n-00001".into()),
        ("bad_name", |note| note.agent = "é".into()),
        ("bad_time", |note| note.at = "1970-01-01T00:00:00Z".into()),
        ("text_empty", |note| note.text = "\n".into()),
        ("control_character", |note| note.data = Some(raw("[\"\\u0000\"]"))),
        ("data_too_long", |note| note.data = Some(raw(&format!("\"{}\"", "x".repeat(65_536))))),
    ];
    for (code, spoil) in bad {
        let mut notes: Vec<ExportedNote> = (0..3).map(|n| note(&format!("n-{n:05}"), "t-00000")).collect();
        spoil(&mut notes[2]);
        let error = refusal(world.unchanged(exists, || import(world, vec![task("t-00000")], notes)));
        assert_eq!((error.code().as_str(), error.get("line")), (code, Some(&json!(5))), "{}", error.message());
    }
}

fn raw(json: &str) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(json.to_owned()).unwrap()
}

fn cycles(world: &World) {
    let exists = world.add("exists");
    for count in [2, 3, 5_000] {
        let ring: Vec<ExportedTask> =
            (0..count).map(|n| ExportedTask { after: vec![id((n + 1) % count).into()], ..task(&id(n)) }).collect();
        let error = refusal(world.unchanged(&exists, || import(world, ring, Vec::new())));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "cycle"));
        assert!(error.get("cycle").unwrap().as_array().unwrap().len() > count.min(8));
    }
    let chain: Vec<ExportedTask> = (0..5_000)
        .map(|n| ExportedTask { after: if n == 0 { Vec::new() } else { vec![id(n - 1).into()] }, ..task(&id(n)) })
        .rev()
        .collect();
    assert_eq!(import(world, chain, Vec::new()).unwrap()["tasks"], 5_000);
    world.sound();
}

fn unchanged(world: &World) {
    furnish(world);
    let export = exported(world, false);
    let request = Import::parse(&export).unwrap();
    let (tasks, notes) = (request.tasks.len(), request.notes.len());
    let again = world.run("a", Op::new(request.clone())).unwrap();
    let counts = ["tasks", "notes", "unchanged", "unchanged_notes"].map(|field| again[field].as_u64().unwrap());
    assert_eq!(counts, [0, 0, tasks as u64, notes as u64]);
    assert_eq!(world.count(kind::TASK_ADDED), tasks);
    assert_eq!(exported(world, false).len(), export.len());
    // One new task among unchanged ones.
    let mut more = request;
    more.tasks.push(ExportedTask { after: vec![more.tasks[0].id.clone()], ..task("t-zzzzz") });
    let again = world.run("a", Op::new(more)).unwrap();
    assert_eq!((&again["tasks"], &again["unchanged"]), (&json!(1), &json!(tasks)));
    assert_eq!(world.show("t-zzzzz")["state"], "waiting");
    world.sound();
}

fn differs(world: &World) {
    let count = 25;
    import(world, (0..count).map(|n| task(&id(n))).collect(), vec![note("n-00000", &id(0))]).unwrap();
    world.edit("person:ann", &id(3), |edit| (edit.title, edit.priority) = (Some("other".into()), Some(0))).unwrap();
    let before = dump(&world.kernel);
    let mut tasks: Vec<ExportedTask> = (0..count).map(|n| task(&id(n))).collect();
    tasks.push(task("t-zzzzz"));
    let error = refusal(import(world, tasks.clone(), vec![note("n-00000", &id(0))]));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "import_differs"));
    let named = json!([{ "id": id(3), "line": 5, "fields": ["priority", "title", "updated_at", "version"] }]);
    assert_eq!((error.get("differing"), error.get("total")), (Some(&named), Some(&json!(1))));
    assert!(error.message().contains("t-00003 (priority, title, updated_at, version)"), "{}", error.message());
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    // All conflicts are counted, at most twenty are named, including notes.
    tasks.iter_mut().for_each(|task| task.acceptance = "more".into());
    let other = ExportedNote { text: "other".into(), ..note("n-00000", &id(0)) };
    let error = refusal(import(world, tasks, vec![other]));
    assert_eq!(error.get("total"), Some(&json!(26)));
    assert_eq!(error.get("differing").unwrap().as_array().unwrap().len(), 20);
    assert!(error.message().starts_with("26 ids are in this project with other content: t-00000 (acceptance)"));
    assert!(error.message().ends_with("and 6 more"));
    let changed = ExportedNote { late: true, ..note("n-00000", &id(0)) };
    assert!(refusal(import(world, Vec::new(), vec![changed])).message().contains("n-00000 (late)"));
    assert_eq!(
        kind_of(world.kernel.ask(&world.call("z"), &query::show::Show { id: "t-zzzzz".into() }).map(|_| ())),
        "not_found"
    );
    world.sound();
}

fn replayed(world: &World) {
    let call = world.call("z");
    let op = Op::new(request(vec![task("t-00000")], vec![note("n-00000", "t-00000")]));
    let first = world.kernel.run(&call, &op).unwrap();
    let before = world.last_event();
    let again = world.kernel.run(&call, &op).unwrap();
    assert!(again.replayed && again.body == first.body);
    assert_eq!(world.last_event(), before);
    let other = Op::new(request(vec![task("t-00001")], Vec::new()));
    assert_eq!(kind_of(world.kernel.run(&call, &other)), "mismatch");
    // One event per task and per note, all of one request.
    let events: Vec<_> = world.events().into_iter().filter(|event| event.op == "import").collect();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, [kind::PROJECT_CREATED, kind::AGENT_REGISTERED, kind::TASK_ADDED, kind::TASK_NOTED]);
    assert!(events.iter().all(|event| event.request_id == call.request_id.as_str()));
}

fn dry_run(world: &World) {
    furnish(world);
    let before = dump(&world.kernel);
    let mut wanted = Import::parse(&exported(world, true)).unwrap();
    wanted.tasks.push(ExportedTask { assignee: Some("unseen".into()), ..task("t-zzzzz") });
    let plan =
        world.kernel.ask(&world.call("nobody-knows-me"), &query::import_plan::ImportPlan(wanted.clone())).unwrap();
    assert_eq!((plan.tasks, plan.notes, plan.agents, plan.dry_run), (1, 0, 1, true));
    assert_eq!(plan.events_left_out, wanted.events);
    assert_eq!(plan.unchanged + 1, wanted.tasks.len());
    wanted.tasks[0].title = "other".into();
    assert_eq!(
        code_of(world.kernel.ask(&world.call("a"), &query::import_plan::ImportPlan(wanted.clone()))),
        "import_differs"
    );
    wanted.tasks[0].title = String::new();
    assert_eq!(
        code_of(world.kernel.ask(&world.call("a"), &query::import_plan::ImportPlan(wanted.clone()))),
        "title_empty"
    );
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
}

fn joins(world: &World) {
    let (done, open) = (world.add("done"), world.add("open"));
    world.done("a", &done).unwrap();
    let finished = |id: &str| ExportedTask {
        status: TaskStatus::Done,
        finished_by: Some("a".into()),
        finished_at: Some(AT.into()),
        ..task(id)
    };
    let tasks = vec![
        ExportedTask { after: vec![done.clone().into(), "t-00003".into()], priority: 0, ..task("t-00001") },
        ExportedTask { after: vec![open.clone().into(), "t-00001".into()], ..task("t-00002") },
        finished("t-00003"),
    ];
    import(world, tasks, vec![note("n-00000", &open)]).unwrap();
    assert_eq!(world.show("t-00001")["state"], "ready");
    assert_eq!(world.show("t-00002")["unmet"], json!([open, "t-00001"]));
    assert_eq!(world.show("t-00001")["number"], 3);
    assert_eq!(world.show(&open)["notes"][0]["id"], "n-00000");
    assert_eq!(taken(&world.claim_any("a").unwrap()), "t-00001");
    assert_eq!(world.done("a", "t-00001").unwrap()["unlocked"], json!([]));
    assert_eq!(world.done("a", &open).unwrap()["unlocked"], json!(["t-00002"]));
    // A task imported as done can be reopened, and its dependents then wait.
    world.reopen("person:ann", "t-00003").unwrap();
    assert_eq!(
        world.add("next"),
        world.show(&world.list(&Default::default()).last().unwrap().id)["id"].as_str().unwrap()
    );
    world.sound();
}

fn assignees(world: &World) {
    let mine = ExportedTask { assignee: Some("b".into()), ..task("t-00000") };
    let persons = ExportedTask { assignee: Some("person:eve".into()), ..task("t-00001") };
    let imported = import(world, vec![mine, persons], Vec::new()).unwrap();
    assert_eq!(imported["agents"], 2);
    assert_eq!(world.claim_any("c").unwrap()["task"], json!(null));
    world.advance(Span::minutes(59));
    assert_eq!(world.claim_any("c").unwrap()["task"], json!(null));
    world.advance(Span::minutes(2));
    assert_eq!(taken(&world.claim_any("c").unwrap()), "t-00000");
    assert_eq!(world.count(kind::TASK_UNASSIGNED), 1);
    assert_eq!(taken(&world.claim_any("person:eve").unwrap()), "t-00001");
    world.sound();
}

fn fences(world: &World) {
    let held = ExportedTask { was_held_by: Some("a".into()), attempt: 3, ..task("t-00000") };
    import(world, vec![held], Vec::new()).unwrap();
    assert_eq!(world.show("t-00000")["lapsed_from"], "a");
    let done = |fence| {
        let task = Some("t-00000".into());
        Op::new(tenure_kernel::op::done::Done { task, fence, ..tenure_kernel::op::done::Done::default() })
    };
    for fence in [1, 3, 57] {
        assert_eq!(code_of(world.unchanged("t-00000", || world.run("a", done(Some(fence.into()))))), "stale_fence");
    }
    let claimed = world.claim_any("b").unwrap();
    assert_eq!((&claimed["rule"], &claimed["task"]["attempt"]), (&json!("lapsed"), &json!(4)));
    assert_eq!(kind_of(world.run("a", done(None))), "conflict");
    world.sound();
}
