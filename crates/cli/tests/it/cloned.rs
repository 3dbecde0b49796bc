//! A freshly cloned repository can name stores, servers and projects. None of them is opened, shown or sent anything
//! before a person confirms it for this clone. Endless files do no harm.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::json;

use crate::home::{Call, Engine, Home, Output, text};
use crate::mcp_client::Client;

const SECRET: &str = "the-password-of-the-environment";

/// Commits everything in a repository and clones it.
fn cloned(home: &Home, from: &str, to: &str) {
    home.git(from, &["add", "-A", "-f"]);
    home.git(from, &["commit", "-q", "-m", "what a repository brings along"]);
    home.git(".", &["clone", "-q", from, to]);
}

fn at(home: &Home, dir: &str, args: &[&str]) -> Call {
    home.call(args).json().cwd(home.path(dir))
}

/// Runs a hook in a directory.
fn hook(home: &Home, dir: &str, event: &str) -> Output {
    let payload = json!({
        "session_id": "s-1",
        "cwd": home.path(dir),
        "hook_event_name": event,
        "source": "startup",
        "prompt": "what is there?",
        "tool_name": "Write",
        "tool_input": { "file_path": home.path(dir).join("file"), "content": "x" },
    });
    let output = home.call(&["hook", "claude", event]).cwd(home.path(dir)).env("PGPASSWORD", SECRET);
    output.input(payload.to_string().as_bytes()).run()
}

/// Without a confirmation, all of these are refused: queries, ops, hooks, MCP.
fn refused_everywhere(home: &Home, dir: &str, code: &str) {
    for args in
        [&["status"][..], &["list"], &["resume"], &["add", "x"], &["claim"], &["log"], &["recall", "x"], &["holds"]]
    {
        let refusal = at(home, dir, args).env("PGPASSWORD", SECRET).agent("a").run().refusal();
        refusal.is("conflict", code);
        let said = refusal.error.to_string();
        assert!(said.contains("project pin"), "{said}");
    }
    for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionEnd"] {
        let output = hook(home, dir, event);
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""), "{event}");
    }
    let commit = home.call(&["hook", "git", "pre-commit"]).cwd(home.path(dir)).env("PGPASSWORD", SECRET).run();
    assert_eq!((commit.code, commit.stdout.as_str(), commit.stderr.as_str()), (0, "", ""));
    let mut client = Client::of(home.call(&["mcp"]).cwd(home.path(dir)).env("PGPASSWORD", SECRET).agent("a"), "test");
    for (tool, arguments) in [("list", json!({})), ("add", json!({ "title": "x" }))] {
        assert_eq!(client.refused(tool, arguments)["code"], code);
    }
    drop(client);
    // The commands that explain the state name the pending confirmation, and contact no other store or server.
    for args in [&["whoami"][..], &["project", "show"]] {
        let said = at(home, dir, args).env("PGPASSWORD", SECRET).run().data();
        assert!(said["problem"].is_string(), "{said}");
    }
    let doctor = home.call(&["doctor"]).cwd(home.path(dir)).env("PGPASSWORD", SECRET).run();
    assert!(doctor.code == 1 && doctor.stdout.contains("FAULT"), "{}", doctor.stdout);
}

/// A fake PostgreSQL server that requests a password and records every connection and every password.
fn listener() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (say, hear) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            if say.send("a connection".to_owned()).is_err() {
                return;
            }
            let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
            let message = |stream: &mut std::net::TcpStream, skip: usize| -> Option<Vec<u8>> {
                let mut head = vec![0; skip + 4];
                stream.read_exact(&mut head).ok()?;
                let size = u32::from_be_bytes(head[skip..].try_into().ok()?) as usize;
                let mut body = vec![0; size.checked_sub(4)?];
                stream.read_exact(&mut body).ok()?;
                Some(body)
            };
            let Some(mut first) = message(&mut stream, 0) else { continue };
            if first == [0x04, 0xd2, 0x16, 0x2f] {
                let _ = stream.write_all(b"N");
                first = message(&mut stream, 0).unwrap_or_default();
            }
            let _ = say.send(String::from_utf8_lossy(&first).into_owned());
            // Requests the password in clear text.
            let _ = stream.write_all(b"R\0\0\0\x08\0\0\0\x03");
            let _ = say.send(String::from_utf8_lossy(&message(&mut stream, 1).unwrap_or_default()).into_owned());
        }
    });
    (port, hear)
}

#[test]
fn inv_i5_no_byte_goes_to_a_database_that_only_a_repository_names() {
    let home = Home::direct(Engine::File);
    let (port, heard) = listener();
    let url = format!("postgres://127.0.0.1:{port}/tasks");
    std::fs::write(home.path("repo/tenure.toml"), format!("store = \"{url}\"\n")).unwrap();
    cloned(&home, "repo", "clone");
    refused_everywhere(&home, "clone", "unconfirmed_store");
    assert_eq!(heard.try_recv().ok(), None, "nobody was spoken to");

    // The question to the person names the target; without a confirmation nothing happens.
    let asked = at(&home, "clone", &["project", "pin"]).env("PGPASSWORD", SECRET).run().refusal();
    asked.is("usage", "confirmation_needed");
    let asks = asked.detail("asks").to_string();
    for part in [format!("127.0.0.1:{port}").as_str(), "tasks", "TLS", "PGPASSWORD"] {
        assert!(asks.contains(part), "{asks}");
    }
    at(&home, "clone", &["project", "pin", "--yes"]).agent("a").run().refusal().is("denied", "people_only");
    // A session of an agent tool is not looked up in the store that is not confirmed.
    let session =
        at(&home, "clone", &["project", "pin", "--yes"]).env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "abc");
    session.env("PGPASSWORD", SECRET).run().refusal().is("denied", "people_only");
    assert_eq!(heard.try_recv().ok(), None);

    // After the confirmation the connection is the person's own choice. That the target is not a database is another
    // matter.
    let _ = at(&home, "clone", &["project", "pin", "--yes"]).env("PGPASSWORD", SECRET).run();
    let sent: Vec<String> = std::iter::from_fn(|| heard.recv_timeout(Duration::from_secs(20)).ok()).take(3).collect();
    assert!(sent.len() == 3 && sent[2].contains(SECRET), "{sent:?}");
}

#[test]
fn inv_i5_a_yes_is_for_one_store_and_one_clone() {
    let home = Home::direct(Engine::File);
    let shared = Home::direct(Engine::Postgres);
    let url = shared.environment().into_iter().find(|(key, _)| *key == "TENURE_STORE").unwrap().1;
    let url = url.to_str().unwrap();
    std::fs::write(home.path("repo/tenure.toml"), format!("store = \"{url}\"\n")).unwrap();
    cloned(&home, "repo", "clone");
    at(&home, "clone", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    at(&home, "clone", &["project", "pin", "--yes"]).run().data();
    at(&home, "clone", &["add", "one"]).run().data();
    assert_eq!(at(&home, "clone", &["list"]).run().data()["total"], 1);
    // Worktrees of the clone count as the clone.
    home.git("clone", &["worktree", "add", "-q", "../tree"]);
    assert_eq!(at(&home, "tree", &["list"]).run().data()["total"], 1);

    // A commit that names another target needs another confirmation.
    std::fs::write(home.path("clone/tenure.toml"), format!("store = \"{url}&application_name=x\"\n")).unwrap();
    at(&home, "clone", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    std::fs::write(home.path("clone/tenure.toml"), format!("store = \"{url}\"\n")).unwrap();
    assert_eq!(at(&home, "clone", &["list"]).run().data()["total"], 1);

    // An archive of it, including the git directory, is another clone; so is a new clone at the same path.
    copy(&home, "clone", "archive");
    at(&home, "archive", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    std::fs::rename(home.path("clone"), home.path("aside")).unwrap();
    home.git(".", &["clone", "-q", "repo", "clone"]);
    at(&home, "clone", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    // Another home has confirmed nothing.
    std::fs::remove_dir_all(home.path("clone")).unwrap();
    std::fs::rename(home.path("aside"), home.path("clone")).unwrap();
    assert_eq!(at(&home, "clone", &["list"]).run().data()["total"], 1);
    at(&home, "clone", &["list"]).env("HOME", home.path("tmp")).run().refusal().is("conflict", "unconfirmed_store");
}

fn copy(home: &Home, from: &str, to: &str) {
    assert!(Command::new("cp").arg("-a").arg(home.path(from)).arg(home.path(to)).status().unwrap().success());
}

#[test]
fn inv_i5_no_byte_goes_to_a_server_that_only_a_repository_names() {
    let home = Home::direct(Engine::File);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::fs::write(home.path("repo/tenure.toml"), format!("server = \"{url}\"\n")).unwrap();
    let config = home.path("home/.config/tenure");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("token"), format!("{url} tn_bound\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(config.join("token"), mode).unwrap();
    cloned(&home, "repo", "clone");
    refused_everywhere(&home, "clone", "unconfirmed_store");
    assert!(listener.accept().is_err(), "nobody was spoken to");
}

#[test]
fn inv_i5_a_committed_store_is_neither_opened_nor_shown() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir(home.path("repo/.tenure")).unwrap();
    std::fs::write(home.path("repo/tenure.toml"), "project = \"shop\"\n").unwrap();
    home.add("a directive of somebody else");
    cloned(&home, "repo", "clone");
    let before = std::fs::read(home.path("clone/.tenure/tenure.db")).unwrap();
    refused_everywhere(&home, "clone", "unconfirmed_store");
    let refusal = at(&home, "clone", &["status"]).run().refusal();
    refusal.names(&[".tenure/tenure.db", "git tracks"]);
    assert!(!refusal.error.to_string().contains("directive"));
    at(&home, "clone", &["project", "pin", "--yes"]).run().refusal().is("conflict", "tracked_store");

    // Removed from the index, it is still another person's store.
    home.git("clone", &["rm", "-q", "-r", "--cached", ".tenure"]);
    refused_everywhere(&home, "clone", "unconfirmed_store");
    assert_eq!(std::fs::read(home.path("clone/.tenure/tenure.db")).unwrap(), before);
    // Unless a person confirms it.
    at(&home, "clone", &["project", "pin", "--yes"]).run().data();
    assert_eq!(at(&home, "clone", &["list"]).run().data()["total"], 1);
    // The same in an archive without git.
    std::fs::create_dir(home.path("plain")).unwrap();
    copy(&home, "clone/.tenure", "plain/.tenure");
    std::fs::write(home.path("plain/tenure.toml"), "project = \"shop\"\n").unwrap();
    at(&home, "plain", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    at(&home, "plain", &["project", "pin", "--yes"]).run().data();
    assert_eq!(at(&home, "plain", &["list"]).run().data()["total"], 1);
}

#[test]
fn inv_i5_a_committed_link_to_another_store_is_not_followed() {
    let home = Home::direct(Engine::File);
    home.git_init("victim");
    std::fs::create_dir(home.path("victim/.tenure")).unwrap();
    at(&home, "victim", &["add", "mine", "--project", "shop"]).run().data();
    symlink(home.path("victim/.tenure"), home.path("repo/.tenure")).unwrap();
    std::fs::write(home.path("repo/tenure.toml"), "project = \"shop\"\n").unwrap();
    cloned(&home, "repo", "clone");
    at(&home, "clone", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    home.git("clone", &["rm", "-q", "--cached", ".tenure"]);
    at(&home, "clone", &["list"]).run().refusal().is("conflict", "unconfirmed_store");
    // A path is treated like a link, also if its target does not exist yet.
    std::fs::remove_file(home.path("clone/.tenure")).unwrap();
    for store in ["../victim/.tenure/tenure.db", "~/new/place.db", "/dev/shm/new.db"] {
        std::fs::write(home.path("clone/tenure.toml"), format!("store = \"{store}\"\nproject = \"shop\"\n")).unwrap();
        for args in [&["list"][..], &["add", "x"]] {
            at(&home, "clone", args).run().refusal().is("conflict", "unconfirmed_store");
        }
    }
    assert!(!home.path("home/new").exists());
    assert_eq!(at(&home, "victim", &["list", "--project", "shop"]).run().data()["total"], 1);
}

#[test]
fn inv_i5_an_untracked_link_leads_no_write_out_of_the_directory_before_a_person_said_yes() {
    let home = Home::direct(Engine::File);
    home.git_init("unpacked");
    for dir in ["v", "plain", "plain/below"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    let is_empty = || std::fs::read_dir(home.path("v")).unwrap().next().is_none();
    for dir in ["unpacked", "plain"] {
        symlink("../v", home.path(dir).join(".tenure")).unwrap();
        refused_everywhere(&home, dir, "unconfirmed_store");
        at(&home, dir, &["up"]).run().refusal().is("conflict", "unconfirmed_store");
        assert!(is_empty(), "{dir}");
        // A dangling link is not a store directory, and no directory is created for it.
        std::fs::remove_file(home.path(dir).join(".tenure")).unwrap();
        symlink("../gone", home.path(dir).join(".tenure")).unwrap();
        assert_eq!(at(&home, dir, &["whoami"]).run().data()["store_from"], "the user's store");
        assert!(!home.path("gone").exists());
        std::fs::remove_file(home.path(dir).join(".tenure")).unwrap();
        symlink("../v", home.path(dir).join(".tenure")).unwrap();
    }
    at(&home, "plain/below", &["add", "x"]).run().refusal().is("conflict", "unconfirmed_store");
    assert!(is_empty());

    // A person's own link is confirmed once, and is followed after that.
    for dir in ["unpacked", "plain"] {
        let asked = at(&home, dir, &["project", "pin"]).run().refusal();
        asked.is("usage", "confirmation_needed");
        let really = home.path("v/tenure.db").canonicalize().unwrap_or_else(|_| home.path("v/tenure.db"));
        assert!(asked.detail("asks").to_string().contains(really.to_str().unwrap()), "{}", asked.error);
        at(&home, dir, &["project", "pin", "--yes"]).run().data();
        at(&home, dir, &["add", "mine"]).run().data();
        assert_eq!(at(&home, dir, &["list"]).run().data()["total"], 1);
    }
    assert!(home.path("v/tenure.db").is_file());
}

#[test]
fn inv_i5_a_link_below_a_store_directory_is_followed_only_inside_the_checkout() {
    let home = Home::direct(Engine::File);
    std::fs::create_dir(home.path("v")).unwrap();
    let is_empty = || std::fs::read_dir(home.path("v")).unwrap().next().is_none();
    // A link to a directory of the same checkout leads nowhere that the repository could not name directly.
    home.git_init("within");
    std::fs::create_dir(home.path("within/data")).unwrap();
    symlink("data", home.path("within/.tenure")).unwrap();
    at(&home, "within", &["add", "x"]).run().data();
    assert!(home.path("within/data/tenure.db").is_file());

    for file in ["tenure.db", "tenure.db-wal", "tenure.db-shm", "tenure.db-turn-a", "tenure.db-bell"] {
        let dir = format!("links-{file}");
        std::fs::create_dir_all(home.path(&dir).join(".tenure")).unwrap();
        symlink(home.path("v/out"), home.path(&dir).join(".tenure").join(file)).unwrap();
        let _ = at(&home, &dir, &["add", "x"]).run();
        assert!(is_empty(), "{file}");
        // Nor after a confirmation.
        let _ = at(&home, &dir, &["project", "pin", "--yes"]).run();
        let _ = at(&home, &dir, &["add", "x"]).run();
        assert!(is_empty(), "{file}");
    }
    // A link to an existing file.
    std::fs::create_dir_all(home.path("there/.tenure")).unwrap();
    std::fs::write(home.path("v/out"), "").unwrap();
    symlink(home.path("v/out"), home.path("there/.tenure/tenure.db")).unwrap();
    at(&home, "there", &["add", "x"]).run().refusal().is("conflict", "unconfirmed_store");
    at(&home, "there", &["project", "pin", "--yes"]).run().refusal().is("storage", "symlinked_store");
    assert_eq!(std::fs::metadata(home.path("v/out")).unwrap().len(), 0);
}

#[test]
fn a_store_that_was_made_here_for_no_project_is_used_without_a_yes() {
    let home = Home::new(Engine::File);
    home.git(".", &["init", "-q", "own"]);
    std::fs::create_dir(home.path("own/.tenure")).unwrap();
    at(&home, "own", &["token", "add"]).run().data();
    assert!(home.path("own/.tenure/tenure.db").exists());
    copy(&home, "own", "copied");
    at(&home, "own", &["add", "x"]).run().data();
    // The confirmation is for this directory and the file created in it.
    at(&home, "copied", &["add", "x"]).run().refusal().is("conflict", "unconfirmed_store");
}

#[test]
fn inv_i5_the_name_of_an_existing_project_shows_nothing_of_it_before_a_person_said_yes() {
    for engine in Engine::ALL {
        let home = Home::direct(engine);
        std::fs::write(home.path("repo/tenure.toml"), "project = \"shop\"\n").unwrap();
        home.add("a task of the shop");
        home.ok(&["remember", "the shop's secret"]);
        home.git_init("hostile");
        std::fs::write(home.path("hostile/tenure.toml"), "project = \"shop\"\n").unwrap();
        cloned(&home, "hostile", "clone");
        refused_everywhere(&home, "clone", "unconfirmed_project");
        assert!(!home.path("clone/.git/tenure").exists(), "{engine:?}: a refused call leaves nothing");
        // The same holds for a directory without git, and for an archive of the project's own repository.
        std::fs::create_dir(home.path("plain")).unwrap();
        std::fs::write(home.path("plain/tenure.toml"), "project = \"shop\"\n").unwrap();
        refused_everywhere(&home, "plain", "unconfirmed_project");
        copy(&home, "repo", "archive");
        refused_everywhere(&home, "archive", "unconfirmed_project");

        // A person may name it with a flag, or confirm it.
        let named = at(&home, "clone", &["list", "--project", "shop"]).run().data();
        assert_eq!(named["total"], 1);
        at(&home, "clone", &["project", "pin"]).run().refusal().is("usage", "confirmation_needed");
        at(&home, "clone", &["project", "pin", "--yes"]).run().data();
        assert_eq!(at(&home, "clone", &["list"]).run().data()["total"], 1, "{engine:?}");
        at(&home, "clone", &["add", "two"]).run().data();
        // From now on the store knows the clone, from any home.
        let elsewhere = |args: &[&str]| at(&home, "clone", args).env("XDG_STATE_HOME", home.path("tmp")).run().data();
        assert_eq!(elsewhere(&["list"])["total"], 2);
        // Another clone at the same path is not known.
        std::fs::remove_dir_all(home.path("clone")).unwrap();
        home.git(".", &["clone", "-q", "hostile", "clone"]);
        at(&home, "clone", &["list"]).run().refusal().is("conflict", "unconfirmed_project");
        // The project's own repository was never asked anything.
        assert_eq!(home.ok(&["list"])["total"], 2);
        std::fs::rename(home.repo(), home.path("moved")).unwrap();
        assert_eq!(at(&home, "moved", &["list"]).run().data()["total"], 2, "{engine:?}: a moved repository is known");
    }
}

#[test]
fn inv_i5_a_store_that_is_known_lets_a_commit_name_no_other_project_of_it() {
    let home = Home::direct(Engine::File);
    let settings = |project: &str| {
        let text = format!("store = \"kept/shared.db\"\nproject = \"{project}\"\n");
        std::fs::write(home.path("repo/tenure.toml"), text).unwrap();
    };
    std::fs::create_dir(home.path("repo/kept")).unwrap();
    settings("app");
    home.add("a task of the app");
    home.git_init("other");
    let store = home.path("repo/kept/shared.db").display().to_string();
    let secret = ["add", "a secret", "--store", store.as_str(), "--project", "secret"];
    at(&home, "other", &secret).run().data();
    // A pulled commit names the other project.
    settings("secret");
    refused_everywhere(&home, "repo", "unconfirmed_project");
    // A person may name it, a new project needs no confirmation, and the project used before continues.
    assert_eq!(at(&home, "repo", &["list", "--project", "secret"]).run().data()["total"], 1);
    settings("new");
    home.add("one");
    settings("app");
    assert_eq!(home.ok(&["list"])["total"], 1);
    settings("secret");
    at(&home, "repo", &["project", "pin", "--yes"]).run().data();
    assert_eq!(home.ok(&["list"])["total"], 1);
}

#[test]
fn inv_r11_a_clone_that_is_not_believed_keeps_no_guard_of_another_project_from_refusing() {
    let home = Home::direct(Engine::File);
    std::fs::write(home.path("repo/tenure.toml"), "project = \"shop\"\n").unwrap();
    home.add("one");
    home.ok_as("a", &["reserve", "held"]);
    home.git_init("clone");
    std::fs::write(home.path("clone/tenure.toml"), "project = \"shop\"\n").unwrap();
    let edit = |cwd: &str, file: &str| {
        let payload = json!({
            "session_id": "s-1",
            "cwd": home.path(cwd),
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": { "file_path": home.path(file), "content": "x" },
        });
        let call = home.call(&["hook", "claude", "PreToolUse"]).cwd(home.path(cwd));
        call.input(payload.to_string().as_bytes()).run().stdout
    };
    assert!(edit("clone", "repo/held").contains("deny"));
    assert!(edit("repo", "repo/held").contains("deny"));
    assert_eq!(edit("repo", "clone/held"), "", "nothing is said of the clone");
    assert_eq!(edit("clone", "clone/held"), "");
}

#[test]
fn inv_i5_a_name_that_is_new_needs_no_yes_and_stays_known() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        // First without a name: the pin is for another key.
        home.add("one");
        std::fs::write(home.path("repo/tenure.toml"), "project = \"shop\"\n").unwrap();
        std::thread::scope(|scope| {
            for agent in ["a", "b", "c", "d"] {
                let home = &home;
                scope.spawn(move || home.ok_as(agent, &["add", agent]));
            }
        });
        assert_eq!(home.ok(&["list"])["total"], 4, "{engine:?}");
        // The same in a clone whose first writes these are.
        home.git_init("other");
        std::fs::write(home.path("other/tenure.toml"), "project = \"other\"\n").unwrap();
        std::thread::scope(|scope| {
            for agent in ["a", "b", "c", "d"] {
                let home = &home;
                scope.spawn(move || at(home, "other", &["add", agent]).agent(agent).run().data());
            }
        });
        assert_eq!(at(&home, "other", &["list"]).run().data()["total"], 4, "{engine:?}");
    }
}

#[test]
fn a_file_of_settings_without_an_end_is_refused_by_name_and_costs_nothing() {
    let home = Home::direct(Engine::File);
    home.add("one");
    let file = home.path("repo/tenure.toml");
    let kinds: [(&str, &dyn Fn()); 4] = [
        ("a link to a device", &|| symlink("/dev/zero", &file).unwrap()),
        ("a pipe", &|| assert!(Command::new("mkfifo").arg(&file).status().unwrap().success())),
        ("a sparse file", &|| std::fs::File::create(&file).unwrap().set_len(1 << 30).unwrap()),
        ("a directory", &|| std::fs::create_dir(&file).unwrap()),
    ];
    for (what, make) in kinds {
        make();
        for args in [&["status"][..], &["add", "x"], &["doctor"]] {
            // With limited memory and a timeout.
            let words: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
            let line = format!(
                "ulimit -v 2000000; exec timeout 20 {} {} --json",
                env!("CARGO_BIN_EXE_tenure"),
                words.join(" ")
            );
            let output = home.clean("sh".as_ref()).arg("-c").arg(line).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(matches!(output.status.code(), Some(1 | 4)), "{what}, {args:?}: {said} {output:?}");
            assert!(said.contains("tenure.toml"), "{what}: {said}");
        }
        if file.is_dir() { std::fs::remove_dir(&file) } else { std::fs::remove_file(&file) }.unwrap();
    }
    // The files of git are read the same way.
    home.git_init("odd");
    for name in ["odd/.git/config", "odd/.git/tenure/pin", "odd/.git/tenure/id"] {
        let path = home.path(name);
        let kept = std::fs::read(&path).ok();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        symlink("/dev/zero", &path).unwrap();
        let output =
            home.call(&["project", "show"]).cwd(home.path("odd")).env("TENURE_STORE", "postgres://h/d").json().run();
        assert_ne!(output.code, 0, "{name}");
        let refusal = output.refusal();
        assert!(refusal.message().contains(name.rsplit('/').next().unwrap()), "{}", refusal.message());
        std::fs::remove_file(&path).unwrap();
        if let Some(kept) = kept {
            std::fs::write(&path, kept).unwrap();
        }
    }
    assert_eq!(text(&home.ok(&["list"])["items"][0]["title"]), "one");
}
