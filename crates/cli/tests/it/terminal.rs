//! What a person sees on a terminal: layout at three widths and without a terminal, colours, times, and the live views.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::home::{Engine, Home, text, wait_until};
use crate::snapshots::Normaliser;

/// A terminal with a program on it.
struct Terminal {
    master: OwnedFd,
    child: Child,
    /// How the terminal treated keys before the program.
    keys: LocalModes,
}

impl Terminal {
    fn start(mut command: Command, columns: u16, rows: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        resize(&master, columns, rows);
        let side = || Stdio::from(slave.try_clone().unwrap());
        let keys = tcgetattr(&slave).unwrap().local_modes;
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        Terminal { master, child, keys }
    }

    /// Everything that is shown until the program ends.
    fn finish(mut self) -> String {
        let mut shown = Vec::new();
        // Reading fails when the last descriptor of the other side is closed.
        let _ = File::from(self.master).read_to_end(&mut shown);
        self.child.wait().unwrap();
        String::from_utf8(shown).unwrap().replace("\r\n", "\n")
    }

    fn keyboard(&self) -> File {
        File::from(self.master.try_clone().unwrap())
    }
}

fn resize(master: &OwnedFd, columns: u16, rows: u16) {
    tcsetwinsize(master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

fn on_terminal(home: &Home, args: &[&str], columns: u16, vars: &[(&str, &str)]) -> String {
    let call = vars.iter().fold(home.call(args), |call, (name, value)| call.env(name, value));
    Terminal::start(call.into_command(), columns, 24).finish()
}

const AGENTS: [&str; 12] = [
    "claude-5f0c2b7e-8b1d-4c9f-9d2e-7f1a6c3b9e01",
    "claude-5f0c91d4-2a6e-4b0d-8c55-0e9b3d7a1c02",
    "claude-a17d3e90-6c42-4f8b-b1a7-55d0c8e2f403",
    "claude-d94b06f2-1e7a-4d3c-a6f9-2b8c7e1d0a04",
    "claude-e3c58a1b-7f90-4a2d-9e64-c1d2b3a4f505",
    "codex-019a2b3c-4d5e-7f01-8a2b-3c4d5e6f7a06",
    "codex-019a2b3c-4d5e-7f02-9b3c-4d5e6f7a8b07",
    "codex-019a2b3d-0a1b-7c2d-8e3f-4a5b6c7d8e08",
    "opencode-ses_5f21c3a8b07d9e64a1c2",
    "gemini-7c1e5a92-3b4d-4e6f-8a7b-9c0d1e2f3a10",
    "cursor-1b2c3d4e-5f60-4718-9a2b-3c4d5e6f7011",
    "docs-writer",
];

/// Titles of about 90 characters, with some wide characters among them.
const TITLES: [&str; 15] = [
    "Rewrite the parser so that it reports every error it finds instead of only the first one",
    "Move the session store from the file system to the database and migrate existing sessions",
    "Make the import of large archives resumable after a lost connection, with a progress report",
    "Replace the hand-written date arithmetic in the billing module by the calendar library now",
    "Document how the retry policy of the client interacts with the deadlines that servers set",
    "Find out why the nightly end-to-end tests on the staging cluster fail every second Tuesday",
    "Remove the deprecated configuration keys and tell users of old files which keys replace them",
    "日本語のエラーメッセージを見直し、用語を統一して翻訳ファイルを更新する（第二段階の作業）",
    "Cache the results of permission checks per request, and drop the cache when a role changes",
    "Split the notification worker from the web process so that a slow mailer blocks no request",
    "Add pagination to the audit log endpoint and to its page, with stable cursors in both ways",
    "Measure the memory of the indexer on the large repository and halve it where that is cheap",
    "Upgrade the TLS library to the next major version and replace the certificate test fixtures",
    "Ask the platform team for a second staging key, since the first one expires in three weeks",
    "Release version 2.4 with the notes, the migration guide and the announcement for customers",
];

/// A project in which twelve agents are at work.
fn fleet() -> (Home, Vec<String>) {
    let home = Home::direct(Engine::File);
    let tasks: Vec<String> = TITLES
        .iter()
        .enumerate()
        .map(|(at, title)| {
            let label = ["backend", "frontend,urgent", "docs"][at % 3];
            let priority = (at / 5).to_string();
            text(&home.ok(&["add", title, "-p", &priority, "-l", label.split(',').next().unwrap()])["id"])
        })
        .collect();
    home.ok(&["edit", &tasks[14], "--after", &tasks[0]]);
    for (agent, task) in AGENTS.iter().zip(&tasks) {
        home.ok_as(agent, &["claim", task]);
    }
    home.ok_as(
        AGENTS[5],
        &["block", &tasks[5], "--reason", "needs access to the staging cluster, which operations grants on request"],
    );
    home.ok_as(AGENTS[0], &["note", "the grammar is done; error recovery and the tests of the lexer are next"]);
    home.ok_as(AGENTS[8], &["release", &tasks[8], "--reason", "this is better done after the roles have moved"]);
    home.ok_as(AGENTS[5], &["reserve", "docs/guide/", "--reason", "rewriting the guide to the client"]);
    home.ok(&["edit", &tasks[12], "--priority", "1", "--title", "Upgrade the TLS library to the next major version"]);
    (home, tasks)
}

/// What a command shows at three widths and without a terminal.
fn shown(home: &Home, normaliser: &mut Normaliser, args: &[&str]) -> String {
    let plain = [("NO_COLOR", "1"), ("TZ", "UTC0")];
    let mut shown = String::new();
    let cursor = text(&home.ok(&["log", "-n", "1"])["cursor"]);
    let store = cursor.split('.').next().unwrap();
    for columns in [80, 120, 40] {
        let text = on_terminal(home, args, columns, &plain);
        // A word that is wider than the window stands alone: names are whole where they are asked for.
        let lines = text.lines().filter(|line| line.trim().contains(' '));
        let widest = lines.map(columns_of).max().unwrap_or(0);
        assert!(widest <= usize::from(columns), "{args:?} is {widest} wide in {columns} columns:\n{text}");
        shown.push_str(&format!("--- {columns} columns\n{}\n", normaliser.apply(&text)));
    }
    let piped = home.run(args).stdout;
    assert!(!piped.contains('\u{1b}'));
    shown.push_str(&format!("--- piped\n{}", normaliser.apply(&piped)));
    let shown = shown.replace(store, &format!("s-{}", "0".repeat(store.len() - 2)));
    shown.lines().map(|line| format!("{}\n", cut_id(line.trim_end()))).collect()
}

/// A line without the part of an id that is left where the line was cut in it.
fn cut_id(line: &str) -> String {
    match line.strip_suffix('…').and_then(|rest| rest.rsplit_once(" t-")) {
        Some((before, part)) if !part.contains(' ') => format!("{before} t-{}…", "0".repeat(part.len())),
        _ => line.to_owned(),
    }
}

/// How many columns a line takes, by a rule of its own: ideographs and kana take two.
fn columns_of(line: &str) -> usize {
    line.chars().map(|c| if matches!(c, '\u{2e80}'..='\u{ffef}') { 2 } else { 1 }).sum()
}

#[test]
fn long_titles_and_names_fit_every_window() {
    let (home, tasks) = fleet();
    let mut normaliser = Normaliser::new(&home);
    normaliser.apply(&tasks.join(" "));
    for (name, args) in [
        ("terminal_bare", &[][..]),
        ("terminal_list", &["list"]),
        ("terminal_status", &["status"]),
        ("terminal_log", &["log", "-n", "12"]),
        ("terminal_holds", &["holds"]),
        ("terminal_why_held", &["why", &tasks[0]]),
        ("terminal_why_waiting", &["why", &tasks[14]]),
        ("terminal_why_blocked", &["why", &tasks[5]]),
        ("terminal_show", &["show", &tasks[0]]),
        ("terminal_next", &["next"]),
        ("terminal_agents", &["agent", "list"]),
    ] {
        insta::assert_snapshot!(name, shown(&home, &mut normaliser, args));
    }
}

#[test]
fn the_page_of_a_busy_project_fits_24_lines() {
    let (home, _) = fleet();
    let shown = on_terminal(&home, &[], 80, &[]);
    assert!(shown.lines().count() <= 24, "{shown}");
}

#[test]
fn colours_mean_the_same_everywhere_and_follow_the_switches() {
    let (home, _) = fleet();
    let list = |vars: &[(&str, &str)]| on_terminal(&home, &["list"], 120, vars);
    let coloured = list(&[]);
    for (state, code) in [("ready", 32), ("held", 36), ("waiting", 33), ("blocked", 31)] {
        assert!(coloured.contains(&format!("\u{1b}[{code}m{state}\u{1b}[0m")), "{state}: {coloured}");
    }
    assert!(coloured.starts_with("\u{1b}[2mID"), "heads are dim");
    for none in [&[("NO_COLOR", "1")][..], &[("TERM", "dumb")]] {
        assert!(!list(none).contains('\u{1b}'));
    }
    let colour = |args: &[&str], vars: &[(&str, &str)]| {
        let call = vars.iter().fold(home.call(args), |call, (name, value)| call.env(name, value));
        call.run().stdout.contains('\u{1b}')
    };
    assert!(!colour(&["list"], &[]), "a pipe has no colours");
    assert!(colour(&["list", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(colour(&["list"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colour(&["list", "--color=never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colour(&["list", "--json", "--color=always"], &[]));
    home.refused(&["list", "--color", "sometimes"]).is("usage", "bad_arguments");
    let refused = on_terminal(&home, &["show", "t-zzzzz"], 80, &[]);
    assert!(refused.starts_with("\u{1b}[31mtenure:\u{1b}[0m "), "{refused}");
}

#[test]
fn times_are_local_on_a_terminal_and_utc_elsewhere() {
    let home = Home::direct(Engine::File);
    let task = home.add("Fix the login");
    let log = home.ok(&["log"]);
    let at = text(&log["items"].as_array().unwrap().last().unwrap()["at"]);
    let local = |zone: &str| on_terminal(&home, &["why", &task], 120, &[("NO_COLOR", "1"), ("TZ", zone)]);
    // The same minute in a zone that is half an hour off.
    let (hour, minute): (u32, u32) = (at[11..13].parse().unwrap(), at[14..16].parse().unwrap());
    let (hour, minute) = (((hour * 60 + minute + 330) / 60) % 24, (minute + 30) % 60);
    assert!(
        local("IST-5:30").contains(&format!(" {hour:02}:{minute:02}:{}", &at[17..19])),
        "{at}: {}",
        local("IST-5:30")
    );
    assert!(local("No/Such").contains(&format!("{}Z", &at[11..19])), "no zone is UTC");
    let piped = home.call(&["why", &task]).env("TZ", "IST-5:30").run().stdout;
    assert!(piped.contains(&format!("{}Z", &at[11..19])), "{piped}");
}

#[test]
fn watching_draws_in_place_follows_the_window_and_gives_it_back() {
    for (key, signal) in [(Some(b'q'), None), (None, Some(rustix::process::Signal::INT))] {
        let (home, _) = fleet();
        let terminal = Terminal::start(home.call(&["status", "--watch"]).into_command(), 60, 10);
        let (mut keyboard, mut screen_of) = (terminal.keyboard(), terminal.keyboard());
        let mut screen = Vec::new();
        let mut see = |what: &str| {
            let mut seen = String::new();
            wait_until(what, || {
                let mut bytes = [0; 4096];
                let count = screen_of.read(&mut bytes).unwrap();
                screen.extend_from_slice(&bytes[..count]);
                seen = String::from_utf8_lossy(&screen).into_owned();
                seen.contains(what)
            });
            screen.clear();
            seen
        };
        let first = see("more lines");
        assert!(first.starts_with("\u{1b}[?1049h\u{1b}[?25l\u{1b}[H"), "{first:?}");
        assert!(first.matches("\r\n").count() < 10, "no line scrolls: {first:?}");
        resize(&terminal.master, 60, 16);
        let second = see("more lines");
        assert!((10..16).contains(&second.matches("\r\n").count()), "{second:?}");
        if let Some(key) = key {
            keyboard.write_all(&[key]).unwrap();
        }
        if let Some(signal) = signal {
            let pid = rustix::process::Pid::from_child(&terminal.child);
            rustix::process::kill_process(pid, signal).unwrap();
        }
        let end = see("\u{1b}[?1049l");
        assert!(end.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{end:?}");
        wait_until("keys as before", || tcgetattr(&terminal.master).unwrap().local_modes == terminal.keys);
        let mut child = terminal.child;
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn what_lasts_is_told_on_one_line_and_nowhere_but_on_a_terminal() {
    let home = Home::direct(Engine::File);
    home.ok_as("codex-1", &["lock", "deploy"]);
    let waits = ["lock", "deploy", "--wait=2s"];
    let shown = on_terminal(&home, &waits, 60, &[("TENURE_AGENT", "codex-2")]);
    assert!(shown.contains("\rWaiting"), "{shown:?}");
    assert!(shown.contains("\r\u{1b}[K"), "the line is cleared: {shown:?}");
    let piped = home.call(&waits).agent("codex-3").run();
    assert!(!piped.stderr.contains("Waiting"), "{}", piped.stderr);
}

#[test]
fn words_are_completed_from_the_store_and_errors_say_nothing() {
    let home = Home::direct(Engine::File);
    let task = text(&home.ok(&["add", "Fix the login", "-l", "backend"])["id"]);
    home.ok_as("codex-1", &["claim", &task]);
    let complete = |shell: &str, words: &[&str]| home.run(&[&["complete-words", shell, "--"], words].concat());
    assert_eq!(complete("fish", &["show", ""]).stdout, format!("{task}\tFix the login\n"));
    assert_eq!(complete("zsh", &["show", "t-"]).stdout, format!("{task}:Fix the login\n"));
    assert_eq!(complete("bash", &["list", "--label", "ba"]).stdout, "backend\n");
    assert!(complete("bash", &["list", "--holder", "co"]).stdout.starts_with("codex-1\t"));
    assert!(complete("bash", &["--project", ""]).stdout.starts_with("repo\t"));
    assert!(complete("bash", &["cla"]).stdout.starts_with("claim\t"));
    for nothing in [&["show", "x"][..], &["--store", "/no/such/place", "show", ""], &["backup", ""]] {
        let answer = complete("bash", nothing);
        assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (0, "", ""), "{nothing:?}");
    }
    let broken =
        home.call(&["complete-words", "bash", "--", "show", ""]).env("TENURE_STORE", "/no/such/dir/x.db").run();
    assert_eq!((broken.code, broken.stdout.as_str(), broken.stderr.as_str()), (0, "", ""));
}
