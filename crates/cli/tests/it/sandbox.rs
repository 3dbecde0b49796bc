//! In a sandbox: reads work, writes fail with advice, and no other store is created.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::bad_files::answers;
use crate::home::{Engine, Home, Output, TENURE, text};

/// Runs a script in its own mount namespace, after mounts that make it a sandbox. `$T` is tenure.
pub(crate) fn sandboxed(home: &Home, mounts: &str, script: &str) -> Output {
    let mut seen = Vec::new();
    // As root, and as another user if the system allows user namespaces. The network is kept, unless requested
    // otherwise.
    let network = if mounts == NO_NETWORK { "n" } else { "" };
    for flags in [format!("-m{network}"), format!("-Urm{network}")] {
        let mut unshare = home.clean("unshare".as_ref());
        unshare
            .arg(flags)
            .args(["sh", "-euc", &format!("{{ {mounts}\n}} && echo mounted >&2 || exit 99\n{script}")])
            .env("T", TENURE)
            .env("REPO", home.repo())
            .env("TENURE_FORMAT", "json");
        let output = unshare.output().expect("unshare of util-linux is there");
        if output.stderr.starts_with(b"mounted") {
            return Output::of(&output);
        }
        seen.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    panic!("this test mounts file systems, as root or in a user namespace, and may not: {seen:?}");
}

/// The user's home, including the store, is read-only.
pub(crate) const HOME_READ_ONLY: &str = r#"mount --bind "$HOME" "$HOME" && mount -o remount,bind,ro "$HOME""#;

/// No network, and no mounts.
const NO_NETWORK: &str = ":";

#[track_caller]
pub(crate) fn says_sandbox(document: &Value, exit: i32, home: &Home) {
    let error = &document["error"];
    assert_eq!((exit, &error["kind"], &error["code"]), (4, &"storage".into(), &"not_writable".into()), "{document}");
    assert_eq!(error["details"]["sandbox"], true, "{document}");
    assert!(text(&error["message"]).contains("because of a sandbox"), "{document}");
    let hint = text(&error["hint"]);
    for word in ["MCP", "tenure setup", home.path("home/.local").to_str().unwrap()] {
        assert!(hint.contains(word), "{hint} does not name {word}");
    }
}

/// All store files in the home.
pub(crate) fn stores(home: &Home) -> Vec<std::path::PathBuf> {
    let is_store = |path: &std::path::PathBuf| path.to_str().unwrap().contains("tenure.db");
    home.files("").into_iter().filter(is_store).collect()
}

#[test]
fn reads_answer_and_writes_say_what_to_do() {
    let home = Home::direct(Engine::File);
    let task = home.add("one");
    let before = (stores(&home), std::fs::read(home.database()).unwrap());
    let script = format!(
        r#"
        "$T" add two || echo $?
        "$T" claim --agent a || echo $?
        "$T" note {task} text --agent a || echo $?
        "$T" list; echo $?
        "$T" show {task}; echo $?
        "$T" log; echo $?
        "$T" status; echo $?
        "$T" next; echo $?
        "$T" whoami; echo $?"#
    );
    let output = sandboxed(&home, HOME_READ_ONLY, &script);
    let answers = answers(&output);
    for (document, exit) in &answers[..3] {
        says_sandbox(document, *exit, &home);
    }
    for (document, exit) in &answers[3..] {
        assert_eq!((*exit, &document["ok"]), (0, &true.into()), "{document}");
    }
    assert_eq!(answers[3].0["data"]["total"], 1);
    assert_eq!(answers[8].0["data"]["switched_on"], true);
    assert_eq!((stores(&home), std::fs::read(home.database()).unwrap()), before, "and no other store is made");
}

#[test]
fn what_a_writer_outside_has_not_folded_back_is_read() {
    let home = Home::direct(Engine::File);
    home.add("one");
    // A follower keeps the log and its index beside the file.
    let mut follower = home.call(&["log", "--follow"]).into_command();
    let mut follower = follower.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(follower.stdout.take().unwrap()));
    lines.next().unwrap().unwrap();
    home.add("two");
    assert!(home.database().with_file_name("tenure.db-wal").exists());
    let output = sandboxed(&home, HOME_READ_ONLY, "\"$T\" list; echo $?\n\"$T\" add three || echo $?");
    let answers = answers(&output);
    assert_eq!(answers[0].0["data"]["total"], 2, "{output:?}");
    says_sandbox(&answers[1].0, answers[1].1, &home);
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn where_there_is_no_store_yet_none_is_made() {
    let home = Home::direct(Engine::File);
    let output = sandboxed(&home, HOME_READ_ONLY, "\"$T\" add one || echo $?\n\"$T\" list; echo $?");
    let answers = answers(&output);
    says_sandbox(&answers[0].0, answers[0].1, &home);
    assert_eq!(answers[1].0["data"]["total"], 0);
    assert_eq!(stores(&home), Vec::<std::path::PathBuf>::new());
    assert!(!home.path("repo/.git/tenure").exists());
}

/// Codex lets a shell write the workspace but not `.git`: the first write needs it, later ones do not.
#[test]
fn a_repository_whose_git_directory_is_read_only_needs_one_call_outside() {
    let home = Home::direct(Engine::File);
    let git = r#"mount --bind "$REPO/.git" "$REPO/.git" && mount -o remount,bind,ro "$REPO/.git""#;
    let output = sandboxed(&home, git, "\"$T\" add one || echo $?");
    let (document, exit) = &answers(&output)[0];
    assert_eq!((*exit, &document["error"]["code"]), (4, &"git_read_only".into()), "{document}");
    let hint = text(&document["error"]["hint"]);
    assert!(hint.contains("tenure setup") && hint.contains("MCP"), "{hint}");
    home.call(&["setup", "claude", "--yes"]).json().run().data();
    let output = sandboxed(&home, git, "\"$T\" add one; echo $?");
    assert_eq!(answers(&output)[0].1, 0, "{output:?}");
}

#[test]
fn setup_in_a_sandbox_writes_nothing_and_says_so() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let output = sandboxed(&home, HOME_READ_ONLY, "\"$T\" setup claude --yes || echo $?");
    let (document, exit) = &answers(&output)[0];
    assert_eq!((*exit, &document["error"]["code"]), (4, &"tool_config_unwritable".into()), "{document}");
    assert!(!home.path("home/.claude").exists());
}

/// A sandbox may forbid what the permissions allow: the index beside the file cannot be created. A file system without
/// free inodes has the same effect.
#[test]
fn reads_answer_where_no_file_can_be_made_beside_the_store() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir_all(home.path("home/.local")).unwrap();
    let mounts = r#"mount -t tmpfs -o size=4m,nr_inodes=32,mode=700 none "$HOME/.local""#;
    let script = r#"
        "$T" add one; echo $?
        n=0
        while touch "$HOME/.local/filler-$n" 2>/dev/null; do n=$((n + 1)); done
        "$T" list; echo $?
        "$T" log; echo $?"#;
    let output = sandboxed(&home, mounts, script);
    let answers = answers(&output);
    assert_eq!(answers[1].0["data"]["total"], 1, "{output:?}");
    assert_eq!(answers[2].1, 0, "{output:?}");
}

#[test]
fn missing_permissions_are_not_called_a_sandbox() {
    let home = Home::direct_without_git(Engine::File);
    home.add("one");
    let dir = home.database().parent().unwrap().to_owned();
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let open = |path: &std::path::Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for path in dir.ancestors().take_while(|path| path.starts_with(home.path(""))) {
        open(path, 0o755);
    }
    open(&home.path(""), 0o755);
    open(&dir, 0o555);
    for path in home.files("home/.local/share/tenure") {
        open(&path, 0o444);
    }
    // Root may write anyway, so another user tries.
    let mut command = home.clean(if root { "setpriv" } else { "env" }.as_ref());
    if root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.env("HOME", home.path("home"));
    }
    command.args([TENURE, "add", "two"]).env("TENURE_FORMAT", "json").env("TENURE_PROJECT", "p");
    command.current_dir(home.path("repo"));
    let output = Output::of(&command.output().unwrap());
    let error = output.json.clone().unwrap()["error"].take();
    assert_eq!((output.code, &error["code"]), (4, &"not_writable".into()), "{output:?}");
    assert_eq!(error["details"]["sandbox"], false, "{output:?}");
    assert!(text(&error["message"]).contains("permissions are missing"), "{output:?}");
    open(&dir, 0o755);
}

#[test]
fn a_database_out_of_reach_of_the_sandbox_is_said_to_be() {
    let home = Home::direct(Engine::File);
    // An unused address: without a network it is not even tried.
    let script = "TENURE_STORE=postgres://ann@192.0.2.1/tenure \"$T\" add two || echo $?";
    let output = sandboxed(&home, NO_NETWORK, script);
    let (document, exit) = &answers(&output)[0];
    assert_eq!((*exit, &document["error"]["code"]), (3, &"unreachable".into()), "{document}");
    let hint = text(&document["error"]["hint"]);
    assert!(hint.contains("sandbox without network") && hint.contains("MCP"), "{hint}");
}
