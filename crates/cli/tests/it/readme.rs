//! The transcripts of README.md are one story: every command runs, in order, and prints what the page shows.
//!
//! A transcript is a block of language `console`. Commands in HTML comments run too, unseen. `# exit code 1` after a
//! command is its expected exit code, and a line `…` stands for output that is not shown. `INSTA_UPDATE=always`
//! rewrites the output on the page, like a snapshot.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::home::{Engine, Home};

/// The ids on the page, in the order in which their tasks are added.
const TASKS: [&str; 4] = ["t-mvh8z", "t-8jwfh", "t-yxy2a", "t-k3fq7"];
/// The ids on the page of everything else, by the first letter.
const OTHERS: [&str; 6] = ["n-xz966", "n-4d0pa", "h-9c2mt", "h-3wq8k", "m-7wq1e", "m-2bn5r"];
/// Omitted output.
const OMITTED: &str = "…";
/// The time of day on the page when the story begins, in seconds.
const NINE: i64 = 9 * 3_600;
const DAY: i64 = 24 * 3_600;

fn page() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// Where a line of the page stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Transcript,
    /// A comment, whose commands run unseen.
    Hidden,
    /// Commands without output, which do not run.
    Listing,
}

#[test]
fn the_transcripts_of_the_readme_are_what_the_program_prints() {
    let shown = std::fs::read_to_string(page()).unwrap();
    let mut story = Story::new();
    let mut place = Place::Text;
    let mut written = String::new();
    let mut lines = shown.lines().peekable();
    while let Some(line) = lines.next() {
        place = match (place, line) {
            (Place::Text, "```console") => Place::Transcript,
            (Place::Text, "<!--") => Place::Hidden,
            (Place::Text, line) if line.starts_with("```") => Place::Listing,
            (Place::Hidden, "-->") | (Place::Transcript | Place::Listing, "```") => Place::Text,
            (same, _) => same,
        };
        written.extend([line, "\n"]);
        let Some(command) = line.strip_prefix("$ ").filter(|_| place != Place::Text) else { continue };
        assert!(place != Place::Listing, "a transcript is a block of language `console`: {line}");
        let printed = story.run(command);
        if place == Place::Transcript {
            let mut before = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
                before.push(line);
            }
            written.push_str(&story.fixed(&abridged(&printed, &before)));
        }
    }
    assert!(story.commands > 15, "{} commands", story.commands);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(page(), written).unwrap();
    } else if written != shown {
        let diff = similar::TextDiff::from_lines(&shown, &written);
        panic!(
            "README.md differs from what the program prints; INSTA_UPDATE=always rewrites it:\n{}",
            diff.unified_diff()
        );
    }
}

#[test]
fn the_options_that_the_readme_lists_exist() {
    let home = Home::direct_without_git(Engine::File);
    let shown = std::fs::read_to_string(page()).unwrap();
    let mut checked = 0;
    for line in shown.lines().filter_map(|line| line.trim_start_matches("$ ").strip_prefix("tenure ")) {
        let line = line.split(" #").next().unwrap();
        let Some(verb) = line.split_whitespace().next().filter(|word| !word.starts_with('-')) else { continue };
        let help = home.run(&[verb, "--help"]);
        assert_eq!(help.code, 0, "tenure {verb} --help");
        for option in line.split_whitespace().filter(|word| word.starts_with("--") && *word != "--") {
            assert!(help.stdout.contains(option) || option == "--help", "tenure {verb} has no {option}");
        }
        checked += 1;
    }
    assert!(checked > 10, "{checked} lines");
}

/// The output as the page shows it: where it omits lines, as many are shown before and after as now.
fn abridged(printed: &str, shown: &[&str]) -> String {
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let kept: Vec<&str> = match shown.iter().position(|line| *line == OMITTED) {
        Some(before) if lines.len() >= shown.len() => {
            let after = shown.len() - before - 1;
            [&lines[..before], &[OMITTED], &lines[lines.len() - after..]].concat()
        }
        _ => lines,
    };
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// The history that the commands share, and what stands for its ids and times.
struct Story {
    home: Home,
    start: i64,
    /// Ids of the run and of the page.
    ids: Vec<(String, &'static str)>,
    commands: usize,
}

impl Story {
    fn new() -> Story {
        let home = Home::direct_without_git(Engine::File);
        std::fs::write(home.path("session.sh"), include_str!("readme_session.sh")).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        Story { home, start: i64::try_from(now).unwrap() % DAY, ids: Vec::new(), commands: 0 }
    }

    fn run(&mut self, typed: &str) -> String {
        let (command, comment) = typed.split_once(" # ").unwrap_or((typed, ""));
        let expected = comment.trim().strip_prefix("exit code ").map_or(0, |code| code.parse().unwrap());
        let mut shell = self.home.clean("sh".as_ref());
        // The commit has the same id in every run.
        for name in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{name}_NAME"), "Ann").env(format!("GIT_{name}_EMAIL"), "ann@example.com");
            shell.env(format!("GIT_{name}_DATE"), "2030-01-31T08:00:00Z");
        }
        let script = format!("exec 2>&1\n{}\n", self.actual(command));
        let output = shell.args(["-c", &script]).env("TZ", "UTC").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(expected), "{typed}\n{printed}");
        self.commands += 1;
        printed
    }

    /// The command with the ids of this run: whole ids, and beginnings of them.
    fn actual(&self, command: &str) -> String {
        let word = |word: &str| match self.ids.iter().find(|(_, shown)| word.len() > 3 && shown.starts_with(word)) {
            Some((real, _)) => real[..word.len()].to_owned(),
            None => word.to_owned(),
        };
        by_words(command, word)
    }

    /// The output with the ids and times of the page.
    fn fixed(&mut self, printed: &str) -> String {
        let home = self.home.path("").display().to_string();
        let printed = printed.replace(&home, "/home/ann/").replace("/home/ann/repo", "/home/ann/importer");
        // How often the workers of the demo look for a task is up to the scheduler.
        if let Some((count, rest)) = printed.split_once(" events, numbered")
            && let Some((before, _)) = count.rsplit_once('\n')
        {
            return format!("{before}\n806 events, numbered{rest}");
        }
        by_words(&printed, |word| self.word(word))
    }

    fn word(&mut self, word: &str) -> String {
        let pattern: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let (bare, end) = word.split_at(word.trim_end_matches(['.', ':']).len());
        match pattern.as_str() {
            "0000-00-00" => "2030-01-31".to_owned(),
            "0s" | "00s" => "0s".to_owned(),
            _ if pattern.starts_with("0000-00-00T00:00:00") => {
                let end = word[19..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
                format!("2030-01-31T{}{end}", self.time(&word[11..19]))
            }
            _ if pattern.starts_with("00:00:00") => format!("{}{}", self.time(&word[..8]), &word[8..]),
            "00:00" => self.time(word)[..5].to_owned(),
            _ if is_id(bare) => format!("{}{end}", self.shown(bare)),
            _ => word.to_owned(),
        }
    }

    fn shown(&mut self, id: &str) -> &'static str {
        if let Some((_, shown)) = self.ids.iter().find(|(real, _)| real == id) {
            return shown;
        }
        let is_free = |new: &&str| new[..2] == id[..2] && self.ids.iter().all(|(_, taken)| taken != new);
        let shown = TASKS.into_iter().chain(OTHERS).find(is_free).expect("an id for the page");
        self.ids.push((id.to_owned(), shown));
        shown
    }

    /// A time of day, as far from nine o'clock as it is from the start of the story, in steps of ten minutes: a story
    /// takes less than that, and its holds end later.
    fn time(&self, word: &str) -> String {
        let part = |at: usize| word.get(at..at + 2).map_or(0, |digits| digits.parse::<i64>().unwrap());
        let seconds = part(0) * 3_600 + part(3) * 60 + part(6);
        // A time without seconds is up to a minute before the start.
        let since = (seconds - self.start + 60).rem_euclid(DAY) / 600 * 600;
        let shown = (NINE + since) % DAY;
        format!("{:02}:{:02}:{:02}", shown / 3_600, shown / 60 % 60, shown % 60)
    }
}

fn is_id(word: &str) -> bool {
    word.len() == 7
        && ["t-", "n-", "h-", "m-"].iter().any(|head| word.starts_with(head))
        && word[2..].chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// Replaces each word of a text.
fn by_words(text: &str, mut replace: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_:.".contains(c);
        let end = rest.find(|c| is_part(c) != is_part(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(&if is_part(first) { replace(word) } else { word.to_owned() });
        rest = after;
    }
    out
}
