//! Under Landlock, which neither permissions nor mounts reveal: reads work, and writes fail with advice.

use std::process::{Child, Command, Stdio};

use crate::bad_files::answers;
use crate::home::{Engine, Home, Output, TENURE, text};
use crate::sandbox::{HOME_READ_ONLY, sandboxed, says_sandbox, stores};

/// The users that run the commands of a test: the current user and, if that is root, also an unprivileged one.
fn users() -> Vec<Option<u32>> {
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if root { vec![None, Some(65_534)] } else { vec![None] }
}

struct Sandbox {
    home: Home,
    user: Option<u32>,
}

impl Sandbox {
    fn new(user: Option<u32>) -> Sandbox {
        let home = Home::direct(Engine::File);
        if let Some(user) = user {
            let owned = Command::new("chown").args(["-R", &format!("{user}:{user}")]).arg(home.path("")).status();
            assert!(owned.unwrap().success());
        }
        Sandbox { home, user }
    }

    /// A program run as the user, within a sandbox.
    fn command(&self, sandbox: &[&str], program: &str) -> Command {
        let user = self.user.map(|user| format!("setpriv --reuid={user} --regid={user} --clear-groups"));
        let words = sandbox.iter().copied().chain(user.iter().flat_map(|user| user.split(' '))).chain([program]);
        let words: Vec<&str> = words.collect();
        let mut command = self.home.clean(words[0].as_ref());
        command.args(&words[1..]).env("T", TENURE).env("TENURE_FORMAT", "json");
        command
    }

    fn outside(&self, args: &[&str]) -> serde_json::Value {
        Output::of(&self.command(&[], TENURE).args(args).output().unwrap()).data()
    }

    /// Runs a script that may write only the workspace; in a read-only mount if the kernel has no Landlock.
    fn inside(&self, script: &str) -> Output {
        let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/landlock.py");
        let writable = format!("{}:{}:/dev", self.home.repo().display(), self.home.path("tmp").display());
        let mut command = self.command(&["python3", rules, &writable], "sh");
        let output = Output::of(&command.args(["-euc", script]).output().expect("python3 is there"));
        if output.code == 98 {
            eprintln!("this kernel has no Landlock: a read-only mount stands in for it");
            return sandboxed(&self.home, HOME_READ_ONLY, script);
        }
        output
    }

    /// Keeps the log and its index beside the file until it is killed.
    fn follower(&self) -> Child {
        let mut command = self.command(&[], TENURE);
        let mut follower =
            command.args(["log", "--follow"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(follower.stdout.as_mut().unwrap()));
        lines.next().unwrap().unwrap();
        follower
    }
}

#[test]
fn inv_t10_reads_answer_and_writes_say_what_to_do_under_landlock() {
    for user in users() {
        let place = Sandbox::new(user);
        let task = text(&place.outside(&["add", "one"])["id"]);
        let before = (stores(&place.home), std::fs::read(place.home.database()).unwrap());
        let script = format!(
            r#"
            "$T" add two || echo $?
            "$T" claim --agent a || echo $?
            "$T" list; echo $?
            "$T" show {task}; echo $?
            "$T" log; echo $?
            "$T" status; echo $?
            "$T" next; echo $?
            "$T" resume --peek; echo $?"#
        );
        let output = place.inside(&script);
        let answers = answers(&output);
        for (document, exit) in &answers[..2] {
            says_sandbox(document, *exit, &place.home);
            assert!(!document.to_string().contains("os error 1)"), "the kernel said EACCES: {document}");
        }
        for (document, exit) in &answers[2..] {
            assert_eq!((*exit, &document["ok"]), (0, &true.into()), "as {user:?}: {document}");
        }
        assert_eq!(answers[2].0["data"]["total"], 1);
        assert_eq!((stores(&place.home), std::fs::read(place.home.database()).unwrap()), before);
    }
}

#[test]
fn inv_t10_what_stands_in_the_log_is_read_or_refused_under_landlock() {
    for user in users() {
        let place = Sandbox::new(user);
        place.outside(&["add", "one"]);
        let mut follower = place.follower();
        place.outside(&["add", "two"]);
        let list = || answers(&place.inside("\"$T\" list && echo 0 || echo $?")).remove(0);
        assert_eq!(list().0["data"]["total"], 2, "beside a process that has the store open, as {user:?}");
        follower.kill().unwrap();
        follower.wait().unwrap();
        let beside = |suffix: &str| place.home.database().with_file_name(format!("tenure.db{suffix}"));
        assert!(beside("-wal").metadata().unwrap().len() > 0 && beside("-shm").exists());
        assert_eq!(list().0["data"]["total"], 2, "left behind by a process that was killed, as {user:?}");
        std::fs::remove_file(beside("-shm")).unwrap();
        let (document, exit) = list();
        assert_eq!(
            (exit, text(&document["error"]["code"])),
            (4, "wal_without_shm".to_owned()),
            "as {user:?}: {document}"
        );
        assert_eq!(place.outside(&["list"])["total"], 2);
        assert_eq!(list().0["data"]["total"], 2, "folded back by the call outside, as {user:?}");
    }
}
