//! The effects of a tool call, and when a hook writes nothing.

use serde_json::{Value, json};
use tenure_core::session::{Context, Start};
use tenure_core::{Span, tool};
use tenure_kernel::op::tool_used;
use tenure_kernel::query;
use tenure_kernel::query::standing::{Depth, Mine, Standing};
use tenure_kernel::{Call, Checkout, Op, Trust, WorkingTree};

use super::Case;
use super::sessions::{hook, presence, start};
use super::shorthand::{claiming, words};
use crate::fixture::{World, code_of};
use crate::raw::{differing, dump};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("a_failure_and_what_then_worked_are_told_and_nothing_else", failures),
    Case::everywhere("inv_m5_output_of_a_failure_is_redacted_and_cut", redacted),
    Case::everywhere("inv_m5_no_request_can_carry_a_command_line", no_command_line),
    Case::everywhere("files_are_remembered_by_task_and_checkout", touched),
    Case::everywhere("a_hook_with_nothing_new_has_nothing_to_write", settled),
    Case::everywhere("inv_l5_a_hold_that_runs_low_is_something_to_write", renewal),
    Case::everywhere("a_task_that_another_has_is_found_lost", lost),
    Case::everywhere("a_session_whose_context_was_made_shorter_is_known_until_it_was_shown", shortened),
    Case::everywhere("hooks_that_ran_are_remembered_once_a_minute", fired),
];

fn used(change: impl Fn(&mut tool_used::ToolUsed)) -> tool_used::ToolUsed {
    let mut request = tool_used::ToolUsed {
        event: "PostToolUse".into(),
        tool_name: "Bash".into(),
        kind: tool::ToolKind::Shell,
        program: Some("cargo test".into()),
        ..presence("a")
    };
    change(&mut request);
    request
}

fn send(world: &World, request: tool_used::ToolUsed) -> Value {
    world.run_call(&call(world), &Op::new(request)).unwrap()
}

fn call(world: &World) -> Call {
    Call { checkout: Some(checkout()), ..hook(world, "claude-a", 1) }
}

fn checkout() -> Checkout {
    Checkout { host: "h".into(), path: "/repo".into(), common: None, trust: Trust::Any, tree: WorkingTree::default() }
}

fn mine(world: &World, says: &tool_used::ToolUsed) -> Mine {
    world
        .kernel
        .ask(&call(world), &Standing { says: says.clone(), given: None, depth: Depth::Loss })
        .unwrap()
        .unwrap()
        .mine
        .unwrap()
}

fn begin(world: &World) -> String {
    let task = world.add("worked on");
    start(world, &world.kernel, 1, "a", Start::Startup, &[]);
    world.run_call(&call(world), &claiming(&task)).unwrap();
    task
}

fn failures(world: &World) {
    let task = begin(world);
    let before = world.last_event();
    send(world, used(|_| ()));
    assert_eq!(world.last_event(), before, "what works is not worth an event");
    let failing = |request: &mut tool_used::ToolUsed| {
        (request.failed, request.exit_status, request.duration_ms) = (true, Some(101), Some(1_500));
        request.sub_agent = Some("explorer".into());
    };
    send(world, used(failing));
    send(world, used(failing));
    send(world, used(|request| request.program = Some("git push".into())));
    send(world, used(|_| ()));
    send(world, used(|_| ()));
    assert_eq!(world.kinds_after(before), ["tool.failed", "tool.failed", "tool.worked"]);
    let events = world.events();
    let failed = events.iter().find(|event| event.kind == "tool.failed").unwrap();
    assert_eq!(failed.subject, task);
    assert_eq!(
        failed.data,
        json!({
            "tool": "Bash", "kind": "shell", "program": "cargo test", "exit_status": 101, "duration_ms": 1500,
            "sub_agent": "explorer",
        })
    );
    assert_eq!(failed.sentence(), "claude-a: Bash (cargo test) failed with exit status 101");
    for _ in 0..20 {
        send(world, used(failing));
    }
    assert_eq!(world.count("tool.failed"), 12, "a failure that repeats itself without end is not told without end");
    world.sound();
}

fn redacted(world: &World) {
    begin(world);
    let secret = format!("ghp{}{}", "_", "a1B2".repeat(10));
    let output = format!("{}\ntoken {secret}\nDB_PASSWORD=hunter2 {}", "x".repeat(300), "y".repeat(10_000));
    send(
        world,
        used(|request| {
            request.failed = true;
            request.output = Some(output.clone());
        }),
    );
    let rows = format!("{:?}", dump(&world.kernel));
    assert!(!rows.contains(&secret[..12]) && !rows.contains("hunter2"));
    let event = world.events().pop().unwrap();
    let kept = event.data["output"].as_str().unwrap();
    assert!(kept.len() <= tool_used::OUTPUT_MAX && kept.contains("[redacted]"), "{kept}");
}

fn no_command_line(world: &World) {
    begin(world);
    let before = dump(&world.kernel);
    for (change, code) in [
        (used(|request| request.program = Some("cargo test --secret".into())), "bad_program"),
        (used(|request| request.program = Some("TOKEN=x curl".into())), "bad_program"),
        (used(|request| request.paths = words(&["/etc/passwd"])), "bad_tool_path"),
        (used(|request| request.paths = words(&["../x"])), "bad_tool_path"),
        (used(|request| request.paths = vec!["x".into(); 201]), "too_many_paths"),
        (used(|request| request.tool_name = "a\nb".into()), "bad_word"),
        (used(|request| request.session = "a\0b".into()), "bad_session"),
        (used(|request| request.sub_agent = Some("x".repeat(200))), "bad_word"),
    ] {
        assert_eq!(code_of(world.run_call(&call(world), &Op::new(change))), code);
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), Vec::<&str>::new());
}

fn touched(world: &World) {
    let task = begin(world);
    let edit = |paths: &[&str]| {
        used(|request| {
            (request.tool_name, request.kind, request.program) = ("Edit".into(), tool::ToolKind::Edit, None);
            request.paths = words(paths);
        })
    };
    let before = world.last_event();
    send(world, edit(&["a.rs", "dir/ü [x].rs"]));
    send(world, edit(&["a.rs"]));
    assert_eq!(world.last_event(), before, "no event for an edit");
    let rows = &dump(&world.kernel)["touched"];
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows.iter().all(|row| row.contains(&task) && row.contains("claude-a") && row.contains("c-")), "{rows:?}");
    // An agent that continues in another checkout is told where those files are.
    let brief = |at: &str| {
        let here = Checkout { path: at.into(), ..checkout() };
        let asks = Call { checkout: Some(here), ..call(world) };
        let brief = world
            .kernel
            .ask(&asks, &query::peek::Peek(tenure_kernel::op::resume::Resume::default()))
            .unwrap()
            .brief
            .text;
        brief.lines().find(|line| line.contains("Files changed")).unwrap().to_owned()
    };
    assert_eq!(brief("/repo"), "- Files changed for it so far: “a.rs”, “dir/ü [x].rs”");
    assert_eq!(brief("/other"), "- Files changed for it in another checkout, “/repo”: “a.rs”, “dir/ü [x].rs”");
    world.run_call(&call(world), &Op::new(tenure_kernel::op::done::Done::default())).unwrap();
    send(world, edit(&["a.rs"]));
    assert_eq!(dump(&world.kernel)["touched"].len(), 3, "without a focus it is nobody's task");
}

fn settled(world: &World) {
    begin(world);
    let edit = used(|request| request.paths = words(&["a.rs"]));
    assert!(!mine(world, &edit).settled, "the file and the hook are new");
    send(world, edit.clone());
    assert!(mine(world, &edit).settled && mine(world, &presence("a")).settled);
    for new in [
        used(|request| request.paths = words(&["a.rs", "b.rs"])),
        used(|request| request.failed = true),
        used(|request| request.event = "PreCompact".into()),
    ] {
        assert!(!mine(world, &new).settled, "{new:?}");
    }
    world.advance(Span::seconds(29));
    assert!(mine(world, &edit).settled);
    world.advance(Span::seconds(1));
    assert!(!mine(world, &edit).settled, "not seen for half a minute");
    send(world, presence("a"));
    world.advance(Span::seconds(29));
    assert!(mine(world, &presence("a")).settled);
    send(world, presence("a"));
    world.advance(Span::seconds(5));
    assert!(!mine(world, &edit).settled, "the file was last remembered more than a minute ago");
    // Standing is a query.
    let before = dump(&world.kernel);
    mine(world, &edit);
    assert_eq!(differing(&before, &dump(&world.kernel)), Vec::<&str>::new());
}

fn renewal(world: &World) {
    let task = world.add("short");
    start(world, &world.kernel, 1, "a", Start::Startup, &[]);
    let claim =
        tenure_kernel::op::claim::Claim { task: Some(task.clone().into()), ttl_s: Some(20), ..Default::default() };
    world.run_call(&call(world), &Op::new(claim)).unwrap();
    for _ in 0..20 {
        world.advance(Span::seconds(6));
        if !mine(world, &presence("a")).settled {
            send(world, presence("a"));
        }
    }
    assert_eq!(world.show(&task)["holder"]["agent"], "claude-a");
}

fn lost(world: &World) {
    let task = begin(world);
    assert_eq!(mine(world, &presence("a")).lost, None);
    world.advance(Span::hours(2));
    assert_eq!(mine(world, &presence("a")).lost, None, "lapsed, and nobody took it");
    world.claim("b", &task).unwrap();
    let lost = mine(world, &presence("a")).lost.unwrap();
    assert_eq!((lost.task.as_str(), lost.by.as_str(), lost.closed), (task.as_str(), "b", false));
    assert_eq!(mine(world, &presence("a")).told_at.0, 0);
    send(world, tool_used::ToolUsed { told: true, ..presence("a") });
    assert!(mine(world, &presence("a")).told_at.0 > 0);
    world.done("b", &task).unwrap();
    let lost = mine(world, &presence("a")).lost.unwrap();
    assert_eq!((lost.by.as_str(), lost.closed), ("b", true));
}

fn shortened(world: &World) {
    begin(world);
    let is = || mine(world, &presence("a")).is_shortened;
    let becomes = |context| drop(send(world, tool_used::ToolUsed { context, ..presence("a") }));
    assert!(!is());
    becomes(Context::Shortened);
    assert!(is());
    becomes(Context::Kept);
    assert!(is(), "whatever else happens");
    becomes(Context::Shown);
    assert!(!is());
    // A session that starts anew is shown everything; another session of the same process is not this one.
    becomes(Context::Shortened);
    start(world, &world.kernel, 1, "b", Start::Clear, &[]);
    assert!(is() && !mine(world, &presence("b")).is_shortened);
    start(world, &world.kernel, 1, "a", Start::Compact, &[]);
    assert!(!is());
}

fn fired(world: &World) {
    begin(world);
    let at = || world.kernel.ask(&call(world), &query::fired::Fired {}).unwrap();
    let first = at();
    assert_eq!(
        first.iter().map(|fired| (fired.tool.as_str(), fired.event.as_str())).collect::<Vec<_>>(),
        [("claude", "SessionStart")]
    );
    world.advance(Span::seconds(59));
    start(world, &world.kernel, 1, "a", Start::Compact, &[]);
    assert_eq!(at()[0].at, first[0].at);
    world.advance(Span::seconds(1));
    start(world, &world.kernel, 1, "a", Start::Compact, &[]);
    assert_ne!(at()[0].at, first[0].at);
    assert_eq!(at()[0].ago_s, 0);
}
