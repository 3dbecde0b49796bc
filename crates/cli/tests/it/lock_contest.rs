//! A contest for a lock: one agent's command misbehaves, and the next holder must be alone.
//!
//! Each command opens a file and keeps a shared `flock` on it, which all its descendants inherit. The next holder of
//! the lock tries the exclusive one, which is refused while any of them is alive.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::{Engine, Home, text, wait_until};

/// Commands that leave the process group of the runner's child, or do not end on request. Each touches `../ready` from
/// the process that is hardest to reach.
pub(crate) const SHAPES: [(&str, &str); 8] = [
    ("own group", "timeout 600 bash -c 'touch ../ready; sleep 600'"),
    ("own group, killed later", "timeout -k 600 600 bash -c 'trap \"\" TERM; touch ../ready; sleep 600'"),
    ("setsid", "setsid bash -c 'touch ../ready; sleep 600' & wait"),
    ("double fork", "(setsid bash -c '(touch ../ready; exec sleep 600) &' &); exec sleep 600"),
    ("nohup", "nohup setsid bash -c 'touch ../ready; sleep 600' > /dev/null 2>&1 < /dev/null & disown; sleep 600"),
    (
        "asked in vain",
        "trap '' TERM HUP INT; setsid bash -c 'touch ../ready; sleep 600; sleep 600' & wait; wait; sleep 600",
    ),
    // Processes that start the next one and exit, so none is visible for long. The number of forks is limited in any
    // case.
    (
        "fast fork loop",
        "perl -MPOSIX -e '$SIG{TERM} = q(IGNORE); for (1..50000) { exit 0 if fork; POSIX::setsid(); if ($_ == 50) { open F, q(>../ready) } } sleep 600' & sleep 600",
    ),
    (
        "fork loop",
        "trap '' TERM; export n=0; cat > ../loop <<'END'\ntrap '' TERM\nn=$((n+1)); [ $n -gt 2000 ] && exec sleep 600\n[ $n = 5 ] && touch ../ready\nsetsid bash ../loop &\nexit 0\nEND\nbash ../loop; exec sleep 600",
    ),
];

/// How the processes of a command are found and ended.
pub(crate) const WAYS: [(&str, &str); 2] = [("where a cgroup can be had", ""), ("without a cgroup", "off")];

/// The time to live of the locks, in seconds.
const TTL: u64 = 3;
/// No machine that runs these tests needs a longer one.
const LONGEST_TTL: u64 = 96;

pub(crate) struct Contest {
    pub(crate) home: Home,
    pub(crate) first: Child,
}

impl Contest {
    pub(crate) fn start(script: &str, cgroup: &str) -> Contest {
        Contest::lasting(TTL, script, cgroup)
    }

    /// Starts a command under a lock with this time to live in seconds, or a longer one: a machine that takes more than
    /// half of it to start the command is too busy for it. On such a machine the runner refuses to start the command,
    /// or loses its lock before the test begins, and both are correct.
    pub(crate) fn lasting(ttl: u64, script: &str, cgroup: &str) -> Contest {
        Contest::attempt(ttl, script, cgroup).unwrap_or_else(|| {
            assert!(ttl < LONGEST_TTL, "the machine is too slow for a time to live of {ttl} s");
            Contest::lasting(ttl * 2, script, cgroup)
        })
    }

    /// The contest, or `None` if the command did not start in time.
    fn attempt(ttl: u64, script: &str, cgroup: &str) -> Option<Contest> {
        let home = Home::new(Engine::File);
        let script = format!("exec 9>> ../alive; flock -s 9; {script}");
        let mut command = home
            .call(&["lock", "deploy", "--ttl", &format!("{ttl}s"), "--json", "--", "bash", "-c", &script])
            .env("TENURE_CGROUP", cgroup)
            .agent("a")
            .into_command();
        let file = |name: &str| std::fs::File::create(home.path(name)).unwrap();
        command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
        let begin = Instant::now();
        let mut contest = Contest { first: command.spawn().unwrap(), home };
        let ready = contest.home.path("ready");
        wait_until("the command runs", || ready.exists() || contest.first.try_wait().unwrap().is_some());
        if ready.exists() {
            return (begin.elapsed() <= Duration::from_secs(ttl) / 2).then_some(contest);
        }
        let (code, said) = contest.end();
        let error = said["error"]["code"].as_str().unwrap_or_default();
        let is_late = matches!(
            (code, error),
            (Some(125), "lock_lost" | "command_not_started") | (Some(123), "lock_lost" | "keeper_lost")
        );
        assert!(is_late, "the command does not run: {code:?} {said} {}", contest.read("err"));
        None
    }

    pub(crate) fn runner(&self) -> u32 {
        self.first.id()
    }

    pub(crate) fn keeper(&self) -> u32 {
        self.find_keeper().expect("a keeper")
    }

    pub(crate) fn find_keeper(&self) -> Option<u32> {
        children(self.runner()).into_iter().find(|pid| words_of(*pid).contains(" keeper "))
    }

    /// The process that the keeper started.
    pub(crate) fn command(&self) -> Option<u32> {
        let keeper = self.find_keeper()?;
        children(keeper).into_iter().find(|pid| words_of(*pid).contains("flock -s 9"))
    }

    /// The directory of the command's cgroup, if it has one.
    pub(crate) fn cgroup_dir(&self) -> Option<std::path::PathBuf> {
        let seen = children(self.keeper()).into_iter().map(cgroup_of).find(|seen| seen.contains("/tenure-"))?;
        let own = seen.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")).unwrap();
        Some(format!("{}{own}", mount.split(' ').nth(1).unwrap()).into())
    }

    /// When the lock expires without a renewal.
    pub(crate) fn ends(&self) -> String {
        text(&self.home.ok(&["holds", "--kind", "name"])["items"][0]["expires_at"])
    }

    /// Prevents all writes to the store until the file is dropped.
    pub(crate) fn hold_turn(&self) -> std::fs::File {
        let turn = format!("{}-turn-a", self.home.database().display());
        let turn = std::fs::File::options().write(true).open(turn).unwrap();
        turn.lock().unwrap();
        turn
    }

    /// Waits until the runner has renewed its lock.
    pub(crate) fn renewed(&self) {
        let first = self.ends();
        wait_until("the lock was renewed", || self.ends() > first);
    }

    /// Stops the runner while it does not hold the turn: with the turn it would block every writer.
    pub(crate) fn stop_runner(&self) {
        let free = |end: &str| {
            let file =
                std::fs::File::options().write(true).open(format!("{}-turn-{end}", self.home.database().display()));
            file.unwrap().try_lock().is_ok()
        };
        wait_until("the runner is stopped between two renewals", || {
            signal(self.runner(), "-STOP");
            wait_until("it is stopped", || stat(self.runner()).is_some_and(|stat| stat.starts_with('T')));
            let is_free = free("a") && free("b");
            if !is_free {
                signal(self.runner(), "-CONT");
            }
            is_free
        });
    }

    /// Whether any process of the command is alive.
    pub(crate) fn lives(&self) -> bool {
        let alive = std::fs::File::options().write(true).open(self.home.path("alive")).unwrap();
        let is_free = alive.try_lock().is_ok();
        // Unlocked explicitly, not by closing the descriptor, which a program started by another test may have
        // inherited.
        alive.unlock().unwrap();
        !is_free
    }

    /// Takes the lock for another agent as soon as it can be had, and looks then. There is no command: the runner of one
    /// ends what is left of the command before, and this is about what the runner and keeper of that one did themselves.
    pub(crate) fn next_holder_is_alone(&self) {
        let next = self.home.call(&["lock", "deploy", "--wait=80s"]).agent("b").run();
        assert_eq!(next.code, 0, "{} {}", next.stdout, next.stderr);
        assert!(!self.lives(), "the next holder was not alone");
        self.home.ok_as("b", &["release", "deploy"]);
    }

    /// Runs the next command under the lock as soon as it can be had. It looks whether it is alone.
    pub(crate) fn next_command_is_alone(&self) {
        let next = ["lock", "deploy", "--wait=80s", "--", "flock", "-n", "-x", "../alive", "true"];
        let next = self.home.call(&next).agent("b").run();
        assert_eq!(next.code, 0, "the next command was not alone: {} {}", next.stdout, next.stderr);
    }

    /// The records of runs that are not over.
    pub(crate) fn records(&self) -> usize {
        std::fs::read_dir(self.home.path("home/.local/state/tenure/runs")).map_or(0, Iterator::count)
    }

    /// The end of the runner: its exit code and the last line of its output.
    pub(crate) fn end(&mut self) -> (Option<i32>, Value) {
        wait_until("the runner has ended", || self.first.try_wait().unwrap().is_some());
        let said = self.read("out");
        let last = serde_json::from_str(said.lines().last().unwrap_or("null")).unwrap_or(Value::Null);
        (self.first.wait().unwrap().code(), last)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path(name)).unwrap()
    }
}

impl Drop for Contest {
    // A failing test must not leave processes behind.
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = Command::new("fuser")
            .args(["-k", "-KILL", "-s"])
            .arg(self.home.path("alive"))
            .stderr(Stdio::null())
            .status();
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success(), "{name} {pid}");
}

pub(crate) fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

pub(crate) fn children(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| stat(*pid).is_some_and(|stat| stat.split(' ').nth(1) == Some(&parent.to_string())))
        .collect()
}

pub(crate) fn words_of(pid: u32) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Runs a contest for each shape in each way, concurrently.
pub(crate) fn each_shape(blow: fn(&mut Contest)) {
    each_of(&SHAPES, blow);
}

pub(crate) fn each_of(shapes: &[(&str, &str)], blow: fn(&mut Contest)) {
    each_lasting(TTL, shapes, blow);
}

/// The same with another time to live.
pub(crate) fn each_lasting(ttl: u64, shapes: &[(&str, &str)], blow: fn(&mut Contest)) {
    std::thread::scope(|scope| {
        let all: Vec<_> = WAYS
            .iter()
            .flat_map(|way| shapes.iter().map(move |shape| (way, shape)))
            .map(|((way, cgroup), (name, script))| {
                ((way, name), scope.spawn(move || blow(&mut Contest::lasting(ttl, script, cgroup))))
            })
            .collect();
        let failed: Vec<_> =
            all.into_iter().filter_map(|(what, thread)| thread.join().is_err().then_some(what)).collect();
        assert!(failed.is_empty(), "not for {failed:?}");
    });
}

/// Whether commands can have their own cgroup here.
pub(crate) fn cgroups() -> bool {
    static ASKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ASKED.get_or_init(|| {
        let home = Home::direct(Engine::File);
        home.add("one");
        home.run(&["doctor"]).stdout.contains("by a cgroup")
    })
}

pub(crate) fn cgroup_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default()
}
