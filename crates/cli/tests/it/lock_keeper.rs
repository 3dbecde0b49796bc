//! Misbehaving commands under a lock: whatever they do, and whichever of runner, keeper and command is stopped or
//! killed, no process of a command runs once another agent has the lock.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;
use tenure_testkit::evidence::amount;

use crate::home::{Engine, Home, wait_until};
use crate::lock_contest::{Contest, SHAPES, WAYS, cgroups, children, each_lasting, each_of, each_shape, signal, stat};

fn code_of(said: &Value) -> Option<&str> {
    said["error"]["code"].as_str()
}

#[test]
fn inv_r14_no_descendant_survives_sigterm_to_the_runner() {
    let heeding: Vec<_> = SHAPES.into_iter().filter(|(_, script)| !script.contains("trap")).collect();
    each_of(&heeding, |contest| {
        signal(contest.runner(), "-TERM");
        contest.next_holder_is_alone();
        let (code, said) = contest.end();
        assert!(code == Some(143) || code == Some(124), "{code:?} {said}");
        assert_eq!(said["data"]["released"], true, "{said}");
    });
}

#[test]
fn inv_r14_a_descendant_that_ignores_sigterm_is_killed_once_the_command_has_ended() {
    let script =
        "setsid bash -c 'trap \"\" TERM; touch ../ready; sleep 600; sleep 600' & trap 'exit 6' TERM; wait; wait";
    each_of(&[("a stubborn child", script)], |contest| {
        signal(contest.runner(), "-TERM");
        contest.next_holder_is_alone();
        let (code, said) = contest.end();
        assert_eq!((code, &said["data"]["leftovers"]), (Some(6), &Value::Array(Vec::new())), "{said}");
    });
}

#[test]
fn inv_r14_a_command_that_ignores_sigterm_keeps_its_lock() {
    let mut contest =
        Contest::start("trap '' TERM; touch ../ready; while [ ! -e ../go ]; do sleep 0.05; done; exit 5", "");
    signal(contest.runner(), "-TERM");
    contest.renewed();
    assert!(contest.lives());
    std::fs::write(contest.home.path("go"), "").unwrap();
    let (code, said) = contest.end();
    assert_eq!((code, &said["data"]["released"]), (Some(5), &Value::Bool(true)), "{said}");
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
        contest.stop_runner();
        contest.next_holder_is_alone();
        signal(contest.runner(), "-CONT");
        let (code, said) = contest.end();
        assert_eq!((code, code_of(&said)), (Some(123), Some("lock_lost")), "{said}");
    });
}

#[test]
fn inv_r14_exit_123_means_that_every_descendant_is_gone() {
    each_shape(|contest| {
        contest.home.ok(&["lock", "deploy", "--force"]);
        wait_until("the runner has ended", || stat(contest.runner()).is_none_or(|stat| stat.starts_with('Z')));
        assert!(!contest.lives(), "123 says that it was ended");
        let (code, said) = contest.end();
        assert_eq!((code, code_of(&said)), (Some(123), Some("lock_lost")), "{said}");
    });
}

#[test]
fn inv_r14_no_descendant_outlives_a_killed_keeper() {
    each_shape(|contest| {
        signal(contest.keeper(), "-KILL");
        contest.next_holder_is_alone();
        let (code, said) = contest.end();
        assert_eq!((code, code_of(&said)), (Some(123), Some("keeper_lost")), "{said}");
    });
}

#[test]
fn inv_r14_no_descendant_outlives_a_stopped_keeper() {
    each_shape(|contest| {
        signal(contest.keeper(), "-STOP");
        contest.next_holder_is_alone();
        let (code, said) = contest.end();
        assert_eq!((code, code_of(&said)), (Some(123), Some("keeper_lost")), "{said}");
    });
}

#[test]
fn inv_r14_a_stopped_keeper_is_replaced_before_a_lost_lock_can_end() {
    // This one judges by the clock, with at least 2 s between the kill and the end of the lock. Fork loops take the
    // processors that all others need to be in time, so they are judged by order below.
    let quiet: Vec<_> = SHAPES.into_iter().filter(|(name, _)| !name.contains("fork loop")).collect();
    each_lasting(16, &quiet, replaced_in_time);
}

#[test]
fn inv_r14_a_command_starts_only_after_the_last_process_of_one_that_lost_the_lock_has_ended() {
    each_shape(|contest| {
        // Renewals fail until the lock has ended, and the keeper hears nothing of it.
        let turn = contest.hold_turn();
        let ends = contest.ends();
        signal(contest.keeper(), "-STOP");
        wait_until("the lock has ended", || now() >= ends);
        drop(turn);
        contest.next_command_is_alone();
        let (code, said) = contest.end();
        assert_eq!(code, Some(123), "{said}");
        assert_eq!(contest.records(), 0);
    });
}

/// The time as the store writes it.
fn now() -> String {
    let now = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.%6NZ"]).output().unwrap();
    String::from_utf8(now.stdout).unwrap().trim().to_owned()
}

fn replaced_in_time(contest: &mut Contest) {
    // Renewals fail from now on, and the keeper is not told.
    let turn = contest.hold_turn();
    // Queries take no turn.
    let ends = contest.ends();
    signal(contest.keeper(), "-STOP");
    wait_until("everything is gone", || !contest.lives());
    let now = now();
    assert!(now < ends, "gone at {now}, when the lock ended at {ends}");
    drop(turn);
    let (code, said) = contest.end();
    assert_eq!(code, Some(123), "{said}");
}

#[test]
fn inv_r14_a_lock_that_was_renewed_too_late_is_kept_until_all_of_the_command_is_gone() {
    // A frozen process dies only when it is thawed. Only version 1 of cgroups can freeze it that way.
    let freezer = std::path::Path::new("/sys/fs/cgroup/freezer");
    let frozen = freezer.join(format!("tenure-test-{}", std::process::id()));
    if std::fs::create_dir(&frozen).is_err() {
        return;
    }
    let set = |name: &str, value: &str| std::fs::write(frozen.join(name), value).unwrap();
    {
        let mut contest = Contest::lasting(8, "sleep 600 & echo $! > ../pid; touch ../ready; wait", "off");
        let pid: u32 = contest.read("pid").trim().parse().unwrap();
        set("cgroup.procs", &pid.to_string());
        set("freezer.state", "FROZEN");
        let turn = contest.hold_turn();
        // Between SIGKILL and the expiry of the lock: the runner has given the command up.
        wait_until("the frozen process was killed", || has_pending_kill(pid));
        drop(turn);
        let seen = contest.ends();
        wait_until("the lock is renewed though the command is lost", || contest.ends() > seen);
        set("freezer.state", "THAWED");
        contest.next_holder_is_alone();
        let (code, said) = contest.end();
        assert_eq!((code, code_of(&said)), (Some(123), Some("lock_lost")), "{said}");
    }
    std::fs::remove_dir(&frozen).unwrap();
}

fn has_pending_kill(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().filter_map(|line| line.strip_prefix("ShdPnd:").or(line.strip_prefix("SigPnd:")));
    pending.filter_map(|mask| u64::from_str_radix(mask.trim(), 16).ok()).any(|mask| mask >> 8 & 1 == 1)
}

#[test]
fn inv_r14_a_lock_within_a_lock_is_ended_with_it_and_leaves_no_cgroup() {
    let end = |party: fn(&Contest) -> u32| {
        let tenure = crate::home::TENURE;
        let script =
            format!("{tenure} lock inner -- bash -c 'setsid bash -c \"touch ../ready; sleep 600\" & wait' & wait");
        let contest = Contest::start(&script, "");
        let dir = contest.cgroup_dir();
        signal(party(&contest), "-KILL");
        contest.next_holder_is_alone();
        wait_until("its cgroup is gone", || dir.as_ref().is_none_or(|dir| !dir.exists()));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| end(Contest::runner));
        scope.spawn(|| end(Contest::keeper));
    });
}

#[test]
fn inv_r14_runner_and_keeper_killed_at_once_take_the_command_with_them() {
    let contest = Contest::start("touch ../ready; exec sleep 600", "");
    let (runner, keeper) = (contest.runner().to_string(), contest.keeper().to_string());
    assert!(Command::new("kill").args(["-KILL", &runner, &keeper]).status().unwrap().success());
    wait_until("the command is gone", || !contest.lives());
}

#[test]
fn inv_r14_what_outlives_runner_and_keeper_is_ended_before_the_next_command_starts() {
    each_shape(|contest| {
        let dir = contest.cgroup_dir();
        let (runner, keeper) = (contest.runner().to_string(), contest.keeper().to_string());
        assert!(Command::new("kill").args(["-KILL", &keeper, &runner]).status().unwrap().success());
        contest.next_command_is_alone();
        assert!(!dir.is_some_and(|dir| dir.exists()));
        assert_eq!(contest.records(), 0);
    });
}

#[test]
fn inv_r14_what_runs_under_a_stopped_runner_and_keeper_is_ended_before_the_next_command_starts() {
    each_shape(|contest| {
        // The keeper first: under a stopped runner it would end everything when the lock is over.
        signal(contest.keeper(), "-STOP");
        contest.stop_runner();
        contest.next_command_is_alone();
        signal(contest.runner(), "-CONT");
        assert_eq!(contest.end().0, Some(123));
        assert!(!contest.lives());
    });
}

#[test]
fn inv_r14_a_stopped_command_can_be_ended() {
    let script = "setsid bash -c 'touch ../ready; sleep 600' & wait";
    each_of(&[("stopped", script)], |contest| {
        signal(contest.command().unwrap(), "-STOP");
        signal(contest.runner(), "-TERM");
        contest.next_holder_is_alone();
        assert_eq!(contest.end().0, Some(143));
    });
}

#[test]
fn inv_r14_no_descendant_outlives_a_killed_command() {
    each_shape(|contest| {
        // A killed command has not ended normally, and has not left processes on purpose.
        let Some(command) = contest.command() else { return };
        signal(command, "-KILL");
        contest.next_holder_is_alone();
        let (code, said) = contest.end();
        assert_eq!((code, &said["data"]["signal"]), (Some(137), &Value::from(9)), "{said}");
        assert_eq!(said["data"]["leftovers"], Value::Array(Vec::new()), "{said}");
    });
}

#[test]
fn inv_u2_a_stopped_keeper_does_not_change_the_exit_status() {
    let script = "touch ../ready; while [ ! -e ../go ]; do sleep 0.05; done; exit 7";
    each_of(&[("ends by itself", script)], |contest| {
        let (keeper, command) = (contest.keeper(), contest.command().unwrap());
        signal(keeper, "-STOP");
        std::fs::write(contest.home.path("go"), "").unwrap();
        wait_until("the command has ended", || stat(command).is_some_and(|stat| stat.starts_with('Z')));
        let (code, said) = contest.end();
        assert_eq!((code, &said["data"]["exit"]), (Some(7), &Value::from(7)), "{said}");
    });
}

#[test]
fn a_hangup_that_the_runner_was_started_to_ignore_ends_nothing() {
    let home = Home::new(Engine::File);
    let script = "touch ../ready; until [ -e ../go ]; do sleep 0.05; done; sleep 600 & exit 7";
    let runner = home.call(&["lock", "deploy", "--json", "--", "bash", "-c", script]).agent("a").into_command();
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(runner.get_program()).args(runner.get_args());
    nohup.env_clear().envs(runner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    nohup.current_dir(home.repo()).stdin(Stdio::null()).stdout(std::fs::File::create(home.path("out")).unwrap());
    let mut runner = nohup.spawn().unwrap();
    wait_until("the command runs", || home.path("ready").exists());
    signal(runner.id(), "-HUP");
    std::fs::write(home.path("go"), "").unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(7));
    let said: Value = serde_json::from_str(&std::fs::read_to_string(home.path("out")).unwrap()).unwrap();
    let left = said["data"]["leftovers"][0]["pid"].as_u64().unwrap_or_else(|| panic!("it was ended: {said}"));
    signal(u32::try_from(left).unwrap(), "-KILL");
}

#[test]
fn inv_r14_leftovers_are_named_whatever_they_are_called_and_left_alone() {
    let script = "cp /bin/sleep $'../a\\e[2Jb'; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do setsid $'../a\\e[2Jb' 600 & done; \
                  while [ $(pgrep -cx $'a.*b' -P $$) -lt 12 ]; do sleep 0.05; done; touch ../ready; exit 4";
    each_of(&[("leaves a dozen", script)], |contest| {
        let (code, said) = contest.end();
        assert_eq!((code, &said["data"]["exit"]), (Some(4), &Value::from(4)), "{said}");
        assert_eq!(said["data"]["leftovers"].as_array().unwrap().len(), 10, "{said}");
        assert!(contest.lives());
        let told = contest.read("err");
        assert!(told.contains("12 processes of the command still run, without the lock deploy: "), "{told}");
        assert!(told.contains("(a\\u{1b}[2Jb)") && told.contains("and 2 more"), "{told}");
        assert!(!told.contains('\u{1b}'), "{told}");
    });
}

#[test]
fn inv_r14_no_cgroup_is_left_behind() {
    if !cgroups() {
        return;
    }
    let script = "setsid bash -c 'touch ../ready; exec sleep 600' & while [ ! -e ../go ]; do sleep 0.05; done";
    let mut contest = Contest::start(script, "");
    let dir = contest.cgroup_dir().unwrap();
    assert!(dir.exists(), "{}", dir.display());
    std::fs::write(contest.home.path("go"), "").unwrap();
    assert_eq!(contest.end().0, Some(0));
    assert!(contest.lives() && !dir.exists(), "what goes on does so outside");
    for party in [Contest::runner, Contest::keeper] {
        let contest = Contest::start(SHAPES[2].1, "");
        let dir = contest.cgroup_dir().unwrap();
        assert!(dir.exists());
        signal(party(&contest), "-KILL");
        wait_until("its cgroup is gone", || !dir.exists());
    }
}

#[test]
fn inv_r14_children_that_a_runner_had_before_are_not_touched() {
    for (_, cgroup) in WAYS {
        let home = Home::new(Engine::File);
        // The shell becomes the runner, and its child the runner's.
        let tenure = crate::home::TENURE;
        let inner = "exec 9>> ../alive; flock -s 9; setsid bash -c 'touch ../ready; sleep 600' & wait";
        let outer = "sleep 600 & echo $! > ../mine; exec \"$0\" lock deploy --ttl 2s --json -- bash -c \"$1\"";
        let mut shell = home.clean("bash".as_ref());
        shell.args(["-c", outer, tenure, inner]).env("TENURE_AGENT", "a").env("TENURE_CGROUP", cgroup);
        let file = |name: &str| std::fs::File::create(home.path(name)).unwrap();
        shell.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
        let mut contest = Contest { first: shell.spawn().unwrap(), home };
        wait_until("the command runs", || contest.home.path("ready").exists());
        signal(contest.keeper(), "-KILL");
        contest.next_holder_is_alone();
        let mine = contest.read("mine").trim().parse().unwrap();
        assert!(stat(mine).is_some_and(|stat| !stat.starts_with('Z')), "not of the command");
        signal(mine, "-KILL");
        let (code, said) = contest.end();
        assert_eq!((code, code_of(&said)), (Some(123), Some("keeper_lost")), "{said}");
    }
}

#[test]
fn an_empty_program_name_is_named_as_such() {
    let home = Home::new(Engine::File);
    let refused = home.call(&["lock", "deploy", "--", ""]).agent("a").run();
    assert_eq!(refused.code, 125);
    assert!(refused.stderr.contains("an empty program name"), "{}", refused.stderr);
}

#[test]
fn inv_u1_commands_that_exit_at_once_keep_their_exit_codes_and_leave_nothing() {
    let home = Home::new(Engine::File);
    for run in 0..amount(10, 1_000) {
        let expected = i32::try_from(run % 100).unwrap();
        let way = WAYS[run % 2].1;
        let script = format!("exec 9>> ../alive; flock -s 9; exit {expected}");
        let done = home.call(&["lock", "deploy", "--", "sh", "-c", &script]).env("TENURE_CGROUP", way).agent("a").run();
        assert_eq!(done.code, expected, "{}", done.stderr);
    }
    assert!(home.ok(&["holds"])["items"].as_array().unwrap().is_empty());
    let alone = Command::new("flock").args(["-n", "-x", "alive", "true"]).current_dir(home.path("")).status().unwrap();
    assert!(alone.success());
}

#[test]
fn inv_r14_output_passes_without_being_held() {
    let home = Home::new(Engine::File);
    let size = amount(64, 1_024) << 20;
    let script = format!("head -c {size} /dev/zero");
    let mut command = home.call(&["lock", "deploy", "--", "bash", "-c", &script]).agent("a").into_command();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let (mut read, mut peak, mut part) = (0, 0, vec![0; 1 << 20]);
    loop {
        let count = out.read(&mut part).unwrap();
        if count == 0 {
            break;
        }
        read += count;
        let resident = |pid| memory(pid).unwrap_or(0);
        let keeper = children(child.id()).first().copied();
        peak = peak.max(resident(child.id())).max(keeper.map_or(0, resident));
    }
    assert_eq!((child.wait().unwrap().code(), read), (Some(0), size));
    assert!(peak < 64 << 10, "{peak} KiB");
}

/// The resident memory of a process in KiB, without the program file.
fn memory(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn inv_r14_closed_output_ends_nothing_but_what_writes_to_it() {
    let home = Home::new(Engine::File);
    // A command that closes its descriptors, and one whose reader goes away.
    let closes =
        home.call(&["lock", "deploy", "--json", "--", "bash", "-c", "exec >&- 2>&- <&-; exit 9"]).agent("a").run();
    assert_eq!((closes.code, &closes.json.unwrap()["data"]["released"]), (9, &Value::Bool(true)));
    let args = ["lock", "deploy", "--", "bash", "-c", "yes; echo ${PIPESTATUS[0]} > ../ended; exit 3"];
    let mut command = home.call(&args).agent("a").into_command();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 2];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    assert_eq!((child.wait().unwrap().code(), &first), (Some(3), b"y\n"));
    assert_eq!(std::fs::read_to_string(home.path("ended")).unwrap().trim(), "141", "by SIGPIPE");
    assert!(home.ok(&["holds"])["items"].as_array().unwrap().is_empty());
}

#[test]
fn inv_r14_a_background_process_with_the_callers_pipe_does_not_hold_the_runner() {
    let mut contest = Contest::start("sleep 600 & touch ../ready; exit 0", "");
    assert_eq!(contest.end().0, Some(0));
    assert!(contest.lives());
    // It was left on purpose, so the next runner leaves it as well.
    assert_eq!(contest.records(), 0);
    let next = contest.home.call(&["lock", "deploy", "--", "true"]).agent("b").run();
    assert_eq!(next.code, 0, "{}", next.stderr);
    assert!(contest.lives());
}

#[test]
fn inv_r14_a_command_reads_from_the_terminal_and_its_keyboard_ends_all_of_it() {
    let home = Home::new(Engine::File);
    let inner =
        "exec 9>> ../alive; flock -s 9; read line; echo got $line; setsid bash -c 'touch ../ready; sleep 600' & wait";
    std::fs::write(home.path("inner"), inner).unwrap();
    let tenure = crate::home::TENURE;
    let line = format!("{tenure} lock deploy --ttl 2s -- bash ../inner; echo $? > ../code");
    let mut script = home.clean("script".as_ref());
    script.args(["-qefc", &line, "/dev/null"]).env("TENURE_AGENT", "a").env("SHELL", "/bin/bash");
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut contest = Contest { first: script.spawn().unwrap(), home };
    let mut keyboard = contest.first.stdin.take().unwrap();
    std::io::Write::write_all(&mut keyboard, b"word\n").unwrap();
    wait_until("the command has read", || contest.home.path("ready").exists());
    std::io::Write::write_all(&mut keyboard, b"\x03").unwrap();
    wait_until("the runner has ended", || contest.home.path("code").exists());
    assert!(!contest.lives(), "Ctrl-C ends what has left the group, too");
    contest.next_holder_is_alone();
    drop(keyboard);
    let mut said = String::new();
    contest.first.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("got word"), "{said}");
    assert_eq!(contest.read("code").trim(), "130");
}
