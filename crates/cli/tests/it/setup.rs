//! `tenure setup`: foreign content is kept, a removal leaves no trace, and files are never partial.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::{Call, Engine, Home, Output, TENURE, copy_program, text};

const TOOLS: [&str; 5] = ["claude", "codex", "gemini", "cursor", "opencode"];

/// A call without any tool on PATH, independent of the machine.
pub(crate) fn setup(home: &Home, args: &[&str]) -> Call {
    let words: Vec<&str> = std::iter::once("setup").chain(args.iter().copied()).collect();
    home.call(&words).env("PATH", "/usr/bin:/bin")
}

/// Copies the files of all tools below a directory, changed by `layout`.
pub(crate) fn lay(below: &Path, layout: fn(&str) -> String) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/setup");
    let mut open = vec![fixtures.clone()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let target = below.join(path.strip_prefix(&fixtures).unwrap());
            if path.is_dir() {
                std::fs::create_dir_all(&target).unwrap();
                open.push(path);
            } else if !path.ends_with("README.md") {
                std::fs::create_dir_all(target.parent().unwrap()).unwrap();
                std::fs::write(&target, layout(&std::fs::read_to_string(&path).unwrap())).unwrap();
                std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
            }
        }
    }
}

/// Every file below a directory with its mode, without Tenure's own.
fn tree(home: &Home, name: &str) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let own = |path: &PathBuf| ["/.local", "/.git"].iter().any(|dir| path.to_str().unwrap().contains(dir));
    let files = home.files(name).into_iter().filter(|path| !own(path));
    files
        .map(|path| {
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let bytes = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            (path, (bytes, meta.permissions().mode()))
        })
        .collect()
}

fn content(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.path(path)).unwrap()
}

/// Whether a text is still contained, in its order.
fn is_within(text: &[u8], whole: &[u8]) -> bool {
    let mut left = whole.iter();
    text.iter().all(|byte| left.any(|found| found == byte))
}

pub(crate) fn plain(text: &str) -> String {
    text.to_owned()
}

fn windows(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn marked(text: &str) -> String {
    // Codex's TOML begins with a comment, JSON with a bracket; only the latter is known to have a byte order mark.
    if text.starts_with('{') { format!("\u{feff}{text}") } else { text.to_owned() }
}

fn unended(text: &str) -> String {
    text.trim_end().to_owned()
}

#[test]
fn foreign_entries_stay_and_a_removal_leaves_no_trace() {
    for layout in [plain as fn(&str) -> String, windows, marked, unended] {
        let home = Home::direct(Engine::File);
        lay(&home.path("home"), layout);
        let before = tree(&home, "home");
        let done = setup(&home, &["--yes"]).json().run().data();
        let tools: Vec<String> = done["files"].as_array().unwrap().iter().map(|file| text(&file["tool"])).collect();
        for tool in TOOLS {
            assert!(tools.contains(&tool.to_owned()), "{tool} was found: {done}");
        }
        let after = tree(&home, "home");
        for (path, (bytes, mode)) in &before {
            let (now, mode_now) = &after[path];
            assert!(is_within(bytes, now), "{} lost something", path.display());
            assert_eq!(mode, mode_now, "{}", path.display());
        }
        let settings = content(&home, "home/.claude/settings.json");
        assert_eq!(settings.matches("tenure hook claude ").count(), 7, "{settings}");
        assert!(settings.contains("/home/.local/share/tenure\"]"), "{settings}");
        assert_eq!(content(&home, "home/.codex/hooks.json").matches("tenure hook codex ").count(), 6);
        let toml: toml::Table = content(&home, "home/.codex/config.toml").parse().unwrap();
        assert_eq!(toml["mcp_servers"]["tenure"]["args"][0].as_str(), Some("mcp"));
        assert_eq!(toml["sandbox_workspace_write"]["writable_roots"].as_array().unwrap().len(), 2);
        let gemini = content(&home, "home/.gemini/settings.json");
        assert_eq!(
            (gemini.matches("tenure hook gemini").count(), gemini.matches("\"timeout\": 5000 }] }").count()),
            (6, 5)
        );
        assert_eq!(content(&home, "home/.cursor/hooks.json").matches("tenure hook cursor ").count(), 6);

        let again = setup(&home, &["--yes"]).run();
        assert!(again.stdout.starts_with("Already set up: claude, codex, gemini, cursor, opencode, git."), "{again:?}");
        assert_eq!(tree(&home, "home"), after, "a second time writes nothing");

        setup(&home, &["--remove", "--yes"]).json().run().data();
        let left = tree(&home, "home");
        for (path, state) in &before {
            assert_eq!(left.get(path), Some(state), "{}", path.display());
        }
        assert_eq!(left, before, "nothing else is left");
    }
}

#[test]
fn what_was_made_for_it_goes_with_it() {
    let home = Home::direct(Engine::File);
    let (empty_home, empty_repo) = (tree(&home, "home"), tree(&home, "repo"));
    let args: Vec<&str> = TOOLS.into_iter().chain(["aider", "agents", "--yes"]).collect();
    let done = setup(&home, &args).json().run().data();
    assert_eq!(done["files"].as_array().unwrap().len(), 10, "{done}");
    for path in
        [".claude/settings.json", ".claude.json", ".gemini/settings.json", ".cursor/hooks.json", ".cursor/mcp.json"]
    {
        let file = content(&home, &format!("home/{path}"));
        serde_json::from_str::<Value>(&file).unwrap_or_else(|error| panic!("{path}: {error}: {file}"));
        let mode = std::fs::metadata(home.path("home").join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
    assert!(content(&home, "home/.config/opencode/plugins/tenure.js").contains(TENURE));
    assert!(content(&home, "repo/AGENTS.md").contains("tenure resume"));
    setup(&home, &["--remove", "--yes"]).json().run().data();
    assert_eq!((tree(&home, "home"), tree(&home, "repo")), (empty_home, empty_repo));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    let before = tree(&home, "home");
    let refused = setup(&home, &["claude"]).run();
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stdout.contains("+++ ~/.claude/settings.json") && refused.stdout.contains("\n+    \"SessionStart\"")
    );
    assert!(!refused.stdout.contains('\u{1b}'), "colour is for terminals");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    let json = setup(&home, &["claude"]).json().run().refusal();
    assert!(text(json.is("usage", "confirmation_needed").detail("diff")).contains("tenure hook claude"));
    assert_eq!(tree(&home, "home"), before);
    assert!(!home.path("home/.local").exists(), "not even a store");
}

#[test]
fn a_person_is_asked_at_a_terminal() {
    for (answer, written) in [("y\n", true), ("n\n", false), ("\n", false)] {
        let home = Home::direct(Engine::File);
        let mut script = home.clean("script".as_ref());
        script.args(["-qec", &format!("{TENURE} setup claude"), "/dev/null"]).env("TERM", "xterm");
        use std::io::Write;
        script.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = script.spawn().expect("script of util-linux is there");
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("Write this? [y/N]") && shown.contains("\u{1b}[32m+"), "{shown}");
        assert_eq!(home.path("home/.claude/settings.json").exists(), written, "{shown}");
    }
}

#[test]
fn ten_at_once_leave_one_set_of_entries() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    let before = tree(&home, "home");
    let alone = Home::direct(Engine::File);
    lay(&alone.path("home"), plain);
    setup(&alone, &["--yes"]).json().run().data();
    let race = |args: &[&str]| {
        let start = |_| {
            let mut command = setup(&home, args).json().into_command();
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..10).map(start).collect();
        for child in children {
            Output::of(&child.wait_with_output().unwrap()).data();
        }
    };
    race(&["--yes"]);
    let here = home.path("home").display().to_string();
    let there = alone.path("home").display().to_string();
    for (path, (bytes, _)) in tree(&alone, "home") {
        let same = home.path("home").join(path.strip_prefix(alone.path("home")).unwrap());
        let wanted = String::from_utf8_lossy(&bytes).replace(&there, &here);
        if path.is_file() {
            assert_eq!(std::fs::read_to_string(&same).unwrap(), wanted, "{}", same.display());
        }
    }
    race(&["--remove", "--yes"]);
    assert_eq!(tree(&home, "home"), before);
}

/// Killed after the first visible change, and before.
#[test]
fn whoever_is_killed_leaves_whole_files() {
    for seen in 0..6 {
        let home = Home::direct(Engine::File);
        lay(&home.path("home"), plain);
        let before = tree(&home, "home");
        let mut command = setup(&home, &["--yes"]).into_command();
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        let desk = home.path("home/.local/state/tenure/setup");
        let reached = || match seen {
            0 => true,
            1 => desk.join("lock").exists(),
            5 => desk.join("record.json").exists(),
            count => std::fs::read_dir(desk.join("backups")).is_ok_and(|files| files.count() >= 2 * count - 3),
        };
        while !reached() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // In any case the next call understands every file, finishes, and leaves no trace.
        setup(&home, &["--yes"]).json().run().data();
        setup(&home, &["--remove", "--yes"]).json().run().data();
        assert_eq!(tree(&home, "home"), before);
    }
}

#[test]
fn what_a_killed_setup_left_goes_with_the_next_call() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    lay(&home.path("tmp/dotfiles"), plain);
    let link = home.path("home/.claude/settings.json");
    std::fs::remove_file(&link).unwrap();
    symlink(home.path("tmp/dotfiles/.claude/settings.json"), &link).unwrap();
    let drafts = ["home", "home/.claude", "home/.codex", "tmp/dotfiles/.claude"]
        .map(|dir| home.path(dir).join(".tenure-setup-0123456789abcdef.tmp"));
    // The temporary file of a command that may be running now.
    let others = home.path("home/.tenure-0123456789abcdef.tmp");
    std::fs::write(&others, "").unwrap();
    let sweeps = |args: &[&str]| {
        for draft in &drafts {
            std::fs::write(draft, "{\"secret\": 1}").unwrap();
        }
        setup(&home, args).json().run().data();
        for draft in &drafts {
            assert!(!draft.exists(), "{args:?}: {}", draft.display());
        }
        assert!(others.exists());
    };
    // With changes to write, without, and both for the removal.
    for args in [&["--yes"][..], &["--yes"], &["--remove", "--yes"], &["--remove", "--yes"]] {
        sweeps(args);
    }
}

#[test]
fn what_others_wrote_among_our_entries_survives_both_ways() {
    let home = Home::direct(Engine::File);
    let config = home.path("home/.codex/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "model = \"o\"\n").unwrap();
    setup(&home, &["codex", "--yes"]).json().run().data();
    let fresh = std::fs::read_to_string(&config).unwrap();
    let end = "# tenure setup: end";
    let project = "[projects.\"/work\"]\ntrust_level = \"trusted\"\n";
    let edited = fresh
        .replace(end, &format!("\n{project}{end}"))
        .replace("[sandbox_workspace_write]", "[sandbox_workspace_write]\nnetwork_access = true");
    std::fs::write(&config, &edited).unwrap();
    setup(&home, &["codex", "--yes"]).json().run().data();
    assert_eq!(std::fs::read_to_string(&config).unwrap(), edited);
    setup(&home, &["--remove", "--yes"]).json().run().data();
    let left = std::fs::read_to_string(&config).unwrap();
    let sandbox = "[sandbox_workspace_write]\nnetwork_access = true\n";
    assert_eq!(left, format!("model = \"o\"\n\n{sandbox}\n{project}"));

    std::fs::write(home.path("repo/AGENTS.md"), "mine\n<!-- tenure setup: begin -->\nmine too\n").unwrap();
    for args in [&["agents", "--yes"][..], &["agents", "--remove", "--yes"]] {
        let refusal = setup(&home, args).json().run().refusal();
        refusal.is("usage", "tool_config_invalid").names(&["line 2", "no end"]);
    }
}

#[test]
fn a_program_of_another_name_knows_its_own_entries() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    let before = tree(&home, "home");
    let program = home.path("tmp/tenure-nightly");
    copy_program(&program);
    let run = |args: &[&str]| {
        let mut command = home.clean(program.as_os_str());
        let output = command.arg("setup").args(args).env("PATH", "/usr/bin:/bin").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["--yes"]);
    let after = tree(&home, "home");
    assert!(content(&home, "home/.claude/settings.json").contains("tenure-nightly hook claude SessionStart"));
    assert!(run(&["--yes"]).starts_with("Already set up"));
    assert_eq!(tree(&home, "home"), after);
    run(&["--remove", "--yes"]);
    assert_eq!(tree(&home, "home"), before);
}

#[test]
fn what_cannot_be_understood_is_refused_by_name() {
    let home = Home::direct(Engine::File);
    let broken = home.path("home/.gemini/settings.json");
    let refused = |kind: &str, code: &str, words: &[&str]| {
        let before = tree(&home, "home");
        let refusal = setup(&home, &["gemini", "--yes"]).json().run().refusal();
        refusal.is(kind, code).names(&[broken.to_str().unwrap()]).names(words);
        assert_eq!(tree(&home, "home"), before);
    };
    std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
    for (bytes, words) in [
        (b"{\n  \"a\": 1\n  \"b\": 2\n}".as_slice(), ["line 3", "comma"]),
        (b"{\n\n\"a\": [", ["line 3", "not closed"]),
        (b"{\"a\": \"\xff\"}", ["line 1", "UTF-8"]),
        (b"", ["line 1", "empty"]),
        (b"[]", ["object", ""]),
        (b"{\"hooks\": {\"BeforeTool\": 7}}", ["hooks.BeforeTool", "type"]),
        (b"{\"hooks\": true}", ["`hooks`", ""]),
    ] {
        std::fs::write(&broken, bytes).unwrap();
        refused("usage", "tool_config_invalid", &words);
    }
    std::fs::write(&broken, "[".repeat(1_000_000)).unwrap();
    refused("usage", "tool_config_invalid", &["deep"]);
    std::fs::File::create(&broken).unwrap().set_len(33 << 20).unwrap();
    refused("storage", "tool_config_unusable", &["32 MiB"]);
    std::fs::remove_file(&broken).unwrap();
    symlink("settings.json", &broken).unwrap();
    refused("storage", "tool_config_unusable", &[]);
    std::fs::remove_file(&broken).unwrap();
    symlink("/nowhere/at/all", &broken).unwrap();
    refused("storage", "tool_config_unusable", &["dangling"]);
    std::fs::remove_file(&broken).unwrap();
    std::fs::create_dir(&broken).unwrap();
    refused("storage", "tool_config_unusable", &["not a regular file"]);
    std::fs::remove_dir(&broken).unwrap();
    std::fs::remove_dir(broken.parent().unwrap()).unwrap();
    std::fs::write(broken.parent().unwrap(), "").unwrap();
    refused("storage", "tool_config_unusable", &["not a directory"]);
    setup(&home, &["emacs", "--yes"]).json().run().refusal().is("usage", "unknown_tool");
}

#[test]
fn links_are_followed_and_kept() {
    let home = Home::direct(Engine::File);
    let dotfiles = home.path("tmp/dotfiles");
    lay(&dotfiles, plain);
    std::fs::create_dir_all(home.path("home/.claude")).unwrap();
    let link = home.path("home/.claude/settings.json");
    symlink(dotfiles.join(".claude/settings.json"), &link).unwrap();
    let before = std::fs::read(&link).unwrap();
    setup(&home, &["claude", "--yes"]).json().run().data();
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(dotfiles.join(".claude/settings.json")).unwrap().contains("tenure hook claude"));
    setup(&home, &["--remove", "--yes"]).json().run().data();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&link).unwrap(), before);
}

#[test]
fn what_stays_is_named() {
    let home = Home::direct(Engine::File);
    setup(&home, &["claude", "--yes"]).json().run().data();
    std::fs::remove_dir_all(home.path("home/.local/state")).unwrap();
    let done = setup(&home, &["--remove", "--yes"]).json().run().data();
    assert!(text(&done["notes"][0]).contains("is kept: setup has no record"), "{done}");
    let left = content(&home, "home/.claude/settings.json");
    assert!(left.contains("allowWrite") && !left.contains("tenure hook"), "{left}");
}

#[test]
fn an_entry_of_another_version_is_replaced() {
    let home = Home::direct(Engine::File);
    lay(&home.path("home"), plain);
    setup(&home, &["--yes"]).json().run().data();
    let new = tree(&home, "home");
    for path in ["home/.claude/settings.json", "home/.cursor/mcp.json", "home/.codex/config.toml"] {
        let old = content(&home, path).replace(TENURE, "/opt/old/tenure").replace("\"timeout\": 5", "\"timeout\": 60");
        std::fs::write(home.path(path), old).unwrap();
    }
    setup(&home, &["--yes"]).json().run().data();
    assert_eq!(tree(&home, "home"), new);
}

#[test]
fn a_project_is_switched_on_and_a_directory_is_not() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        assert_eq!(home.ok(&["whoami"])["switched_on"], false);
        let done = setup(&home, &["claude", "--yes"]).json().run().data();
        assert_eq!(done["switched_on"], true);
        assert_eq!(home.ok(&["whoami"])["switched_on"], true);
        let kinds: Vec<String> = home.events().iter().map(|event| event.kind.clone()).collect();
        assert_eq!(kinds, ["project.created", "agent.registered"]);
        let settings = content(&home, "home/.claude/settings.json");
        let embedded = engine == Engine::File && !home.is_far();
        assert_eq!(settings.contains("allowWrite"), embedded, "only an embedded store needs its directory");
        // A second repository of the same person: the files are up to date, the project is not switched on.
        home.git_init("other");
        let other = setup(&home, &["claude", "--yes"]).json().cwd(home.path("other")).run().data();
        assert_eq!((&other["switched_on"], &other["files"][0]["action"]), (&true.into(), &"as it is".into()));
    }
    let home = Home::direct_without_git(Engine::File);
    let done = setup(&home, &["claude", "--yes"]).json().run().data();
    assert_eq!(done["switched_on"], false);
    assert!(!home.database().exists());
    setup(&home, &["claude", "--scope", "project", "--yes"]).json().run().refusal().is("usage", "no_repository");
}

#[test]
fn agents_md_gets_a_section_between_marks() {
    let home = Home::direct(Engine::File);
    for before in ["# Rules\n\nBe kind.\n", "# Rules", "", "# Rules\r\n"] {
        std::fs::write(home.path("repo/AGENTS.md"), before).unwrap();
        setup(&home, &["aider", "--yes"]).json().run().data();
        let after = content(&home, "repo/AGENTS.md");
        assert!(after.starts_with(before) && after.contains("<!-- tenure setup: begin -->"), "{after}");
        setup(&home, &["windsurf", "--remove", "--yes"]).json().run().data();
        assert_eq!(content(&home, "repo/AGENTS.md"), before);
    }
}

/// The output for people, with the program under a fixed name.
#[test]
fn the_output_is_calm() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir(home.path("bin")).unwrap();
    symlink(TENURE, home.path("bin/tenure")).unwrap();
    let run = |args: &[&str]| {
        let call = setup(&home, args).env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
        let output = call.run();
        let place = home.path("").display().to_string();
        format!("exit {}\n{}{}", output.code, output.stdout, output.stderr).replace(&place, "/tmp/")
    };
    insta::assert_snapshot!("setup_asks", run(&["codex"]));
    insta::assert_snapshot!("setup_writes", run(&["claude", "aider", "--yes"]));
    insta::assert_snapshot!("setup_again", run(&["claude", "--yes"]));
    insta::assert_snapshot!("setup_twice", run(&["claude", "--scope", "project", "--yes"]));
    insta::assert_snapshot!("setup_removes", run(&["--remove", "--yes"]));
    insta::assert_snapshot!("setup_nothing_left", run(&["--remove", "--yes"]));
    insta::assert_snapshot!("setup_finds_nothing", run(&[]));
}
