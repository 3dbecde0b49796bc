//! Commands that misbehave under a lock: whatever they do, and whichever of runner, keeper and command is stopped or
//! killed, nothing of a command runs once another agent has the lock.
//!
//! Each command opens a file and keeps a shared `flock` on it, which all of its descendants inherit. The next holder of
//! the lock tries the exclusive one: it is refused while any of them lives.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::home::{Engine, Home, wait_until};

/// Shapes of commands that leave the process group of the runner's child, or do not end when they are asked to. Each
/// touches `../ready` from the process that is hardest to reach.
const SHAPES: [(&str, &str); 7] = [
    ("own group", "timeout 600 bash -c 'touch ../ready; sleep 600'"),
    ("own group, killed later", "timeout -k 600 600 bash -c 'trap \"\" TERM; touch ../ready; sleep 600'"),
    ("setsid", "setsid bash -c 'touch ../ready; sleep 600' & wait"),
    ("double fork", "(setsid bash -c '(touch ../ready; exec sleep 600) &' &); exec sleep 600"),
    ("nohup", "nohup setsid bash -c 'touch ../ready; sleep 600' > /dev/null 2>&1 < /dev/null & disown; sleep 600"),
    ("asked in vain", "trap '' TERM HUP INT; setsid bash -c 'touch ../ready; sleep 600; sleep 600' & wait; wait; sleep 600"),
    // Two processes that start each other anew: none is to be seen for long. 2,000 forks are the end of it in any case.
    ("fork loop", "trap '' TERM; export n=0; cat > ../loop <<'END'\ntrap '' TERM\nn=$((n+1)); [ $n -gt 2000 ] && exec sleep 600\n[ $n = 5 ] && touch ../ready\nsetsid bash ../loop &\nexit 0\nEND\nbash ../loop; exec sleep 600"),
];

/// How the processes of a command are found and ended.
const WAYS: [(&str, &str); 2] = [("where a cgroup can be had", ""), ("without a cgroup", "off")];

/// A command under a lock with a time to live of two seconds, and another agent that waits for the lock.
struct Contest {
    home: Home,
    first: Child,
}

impl Contest {
    fn start(script: &str, cgroup: &str) -> Contest {
        let home = Home::new(Engine::File);
        let script = format!("exec 9>> ../alive; flock -s 9; {script}");
        let mut command = home
            .call(&["lock", "deploy", "--ttl", "2s", "--json", "--", "bash", "-c", &script])
            .env("TENURE_CGROUP", cgroup)
            .agent("a")
            .into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let first = command.spawn().unwrap();
        wait_until("the command runs", || home.path("ready").exists());
        Contest { home, first }
    }

    fn runner(&self) -> u32 {
        self.first.id()
    }

    fn keeper(&self) -> u32 {
        children(self.runner()).into_iter().find(|pid| words_of(*pid).contains(" keeper ")).expect("a keeper")
    }

    /// The process that the keeper started.
    fn command(&self) -> u32 {
        children(self.keeper()).into_iter().find(|pid| words_of(*pid).contains("flock -s 9")).expect("a command")
    }

    /// Whether anything of the command lives.
    fn lives(&self) -> bool {
        let tried = Command::new("flock").args(["-n", "-x", "alive", "true"]).current_dir(self.home.path("")).status();
        !tried.unwrap().success()
    }

    /// Takes the lock for another agent as soon as it can be had, and looks then.
    fn next_holder_is_alone(&self) {
        let next = ["lock", "deploy", "--wait=80s", "--", "flock", "-n", "-x", "../alive", "true"];
        let next = self.home.call(&next).agent("b").run();
        assert_eq!(next.code, 0, "the next holder was not alone: {} {}", next.stdout, next.stderr);
    }

    /// The end of the runner: its exit code, its answer and what it wrote on standard error.
    fn end(mut self) -> (Option<i32>, Value, String) {
        let (mut said, mut told) = (String::new(), String::new());
        self.first.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.first.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        let last = serde_json::from_str(said.lines().last().unwrap_or("null")).unwrap_or(Value::Null);
        (self.first.wait().unwrap().code(), last, told)
    }
}

impl Drop for Contest {
    // A test that fails must not leave anything running.
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = Command::new("fuser").args(["-k", "-KILL", "-s"]).arg(self.home.path("alive")).status();
    }
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success(), "{name} {pid}");
}

fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

fn children(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|stat| stat.split(' ').nth(1) == Some(&parent.to_string())))
        .collect()
}

fn words_of(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Plays a contest for each shape in each way, at the same time.
fn each_shape(blow: fn(Contest)) {
    std::thread::scope(|scope| {
        let all: Vec<_> = WAYS
            .iter()
            .flat_map(|way| SHAPES.iter().map(move |shape| (way, shape)))
            .map(|((way, cgroup), (name, script))| {
                ((way, name), scope.spawn(move || blow(Contest::start(script, cgroup))))
            })
            .collect();
        let failed: Vec<_> =
            all.into_iter().filter_map(|(what, thread)| thread.join().is_err().then_some(what)).collect();
        assert!(failed.is_empty(), "not for {failed:?}");
    });
}

#[test]
fn inv_r14_no_descendant_survives_sigterm_to_the_runner() {
    each_shape(|contest| {
        signal(contest.runner(), "-TERM");
        contest.next_holder_is_alone();
        let (code, _, _) = contest.end();
        assert!(code.is_some(), "the runner ended by itself");
    });
}

#[test]
fn inv_r14_no_descendant_outlives_a_killed_runner() {
    each_shape(|contest| {
        signal(contest.runner(), "-KILL");
        contest.next_holder_is_alone();
    });
}

#[test]
fn inv_r14_no_descendant_outlives_the_lock_of_a_stopped_runner() {
    each_shape(|contest| {
        signal(contest.runner(), "-STOP");
        contest.next_holder_is_alone();
        signal(contest.runner(), "-CONT");
        let (code, said, _) = contest.end();
        assert_eq!((code, said["error"]["code"].as_str()), (Some(123), Some("lock_lost")), "{said}");
    });
}

#[test]
fn inv_r14_exit_123_means_that_every_descendant_is_gone() {
    each_shape(|contest| {
        contest.home.ok(&["lock", "deploy", "--force"]);
        wait_until("the runner has ended", || stat(contest.runner()).is_none_or(|stat| stat.starts_with('Z')));
        assert!(!contest.lives(), "123 says that it was ended");
        let (code, said, _) = contest.end();
        assert_eq!((code, said["error"]["code"].as_str()), (Some(123), Some("lock_lost")), "{said}");
    });
}
