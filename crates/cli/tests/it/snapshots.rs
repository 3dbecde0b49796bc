//! The output for people, word for word, with ids, times and paths normalised.

use std::collections::HashMap;

use crate::home::{Engine, Home, Output, text};

/// Replaces varying values by others of the same length, so that columns stay aligned.
pub(crate) struct Normaliser {
    seen: HashMap<String, String>,
    places: Vec<(String, &'static str)>,
}

impl Normaliser {
    pub(crate) fn new(home: &Home) -> Normaliser {
        Normaliser { seen: HashMap::new(), places: vec![(home.path("").display().to_string(), "/tmp/")] }
    }

    pub(crate) fn apply(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, stands_for) in &self.places {
            text = text.replace(place.as_str(), stands_for);
        }
        let mut out = String::new();
        let mut word = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || "-_:.".contains(c) {
                word.push(c);
            } else {
                out.push_str(&self.word(&word));
                word.clear();
                out.push(c);
            }
        }
        out.push_str(&self.word(&word));
        out
    }

    fn word(&mut self, word: &str) -> String {
        let digits: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        match digits.as_str() {
            "0000-00-00" => return "YYYY-MM-DD".to_owned(),
            "00:00:00Z" => return "hh:mm:ssZ".to_owned(),
            "00:00:00" => return "hh:mm:ss".to_owned(),
            "0000-00-00T00:00:00.000000Z" => return "YYYY-MM-DDThh:mm:ss.ssssssZ".to_owned(),
            "0s" => return "0s".to_owned(),
            _ if word.len() == 71 && word.starts_with("tenure_") => return "tenure_SECRET".to_owned(),
            _ => {}
        }
        let bare = word.trim_end_matches([':', '.']);
        let is_id = bare.len() >= 7
            && ["t-", "h-", "n-", "s-", "k-", "t_", "id:"].iter().any(|head| {
                bare.strip_prefix(head)
                    .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
            })
            && (bare.len() == 7 || bare.len() > 20);
        if !is_id {
            return word.to_owned();
        }
        // In a graph, the dash of a task id is an underscore.
        let key = bare.replace('_', "-");
        let (head, rest) = key.split_at(if key.starts_with("id:") { 3 } else { 2 });
        let (head, width) = (head.to_owned(), rest.len());
        let count = 1 + self.seen.keys().filter(|known| known.starts_with(&head)).count();
        let stands_for = self.seen.entry(key).or_insert_with(|| format!("{head}{count:0width$}")).clone();
        let stands_for = if bare.starts_with("t_") { stands_for.replace('-', "_") } else { stands_for };
        format!("{stands_for}{}", &word[bare.len()..])
    }
}

/// A world with some activity of every kind.
struct World {
    home: Home,
    normaliser: Normaliser,
    first: String,
    second: String,
}

impl World {
    fn new() -> World {
        World::in_home(Home::new(Engine::File))
    }

    /// For output about the store or access to it.
    fn direct() -> World {
        World::in_home(Home::direct(Engine::File))
    }

    fn in_home(home: Home) -> World {
        let mut normaliser = Normaliser::new(&home);
        let first = text(
            &home.ok(&[
                "add",
                "Fix the login",
                "-p",
                "1",
                "-l",
                "backend",
                "-d",
                "Two lines\nof words",
                "--acceptance",
                "tests pass",
            ])["id"],
        );
        let second = text(&home.ok(&["add", "Release", "--after", &first])["id"]);
        // Ids are numbered in the order of their tasks.
        normaliser.apply(&format!("{first} {second}"));
        World { home, normaliser, first, second }
    }

    fn run_as(&mut self, agent: &str, args: &[&str]) -> String {
        let output = self.home.call(args).agent(agent).run();
        self.told(&output)
    }

    fn run(&mut self, args: &[&str]) -> String {
        let output = self.home.run(args);
        self.told(&output)
    }

    fn told(&mut self, output: &Output) -> String {
        let error = if output.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", output.stderr) };
        let whole = self.normaliser.apply(&format!("{}{error}", output.stdout));
        // Trailing blanks are invisible.
        let lines: Vec<&str> = whole.lines().map(str::trim_end).collect();
        format!("{}\n--- exit {}", lines.join("\n"), output.code)
    }
}

#[test]
fn overview() {
    let mut world = World::new();
    insta::assert_snapshot!(world.run(&["--help"]));
}

#[test]
fn bare() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    let third = text(&world.home.ok(&["add", "Ask for the key", "-p", "0"])["id"]);
    world.run(&["block", &third, "--reason", "needs the staging key"]);
    insta::assert_snapshot!(world.run(&[]));
}

#[test]
fn bare_where_there_is_no_project() {
    let unused = Home::direct(Engine::File);
    let outside = Home::direct_without_git(Engine::File);
    insta::assert_snapshot!([unused, outside].map(|home| home.run(&[] as &[&str]).stdout).join("---\n"));
}

#[test]
fn status_of_all_projects() {
    let mut world = World::direct();
    world.home.git_init("other");
    let other = world.home.path("other");
    world.home.call(&["add", "Elsewhere"]).cwd(other).run();
    insta::assert_snapshot!(world.run(&["status", "--all"]));
}

#[test]
fn help_of_a_command() {
    let home = Home::new(Engine::File);
    insta::assert_snapshot!(home.run(&["claim", "--help"]).stdout);
}

#[test]
fn add() {
    let mut world = World::new();
    insta::assert_snapshot!(world.run(&["add", "Write the docs", "-l", "docs"]));
}

#[test]
fn list() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    let third = text(&world.home.ok(&["add", "Ask for the key", "-p", "0"])["id"]);
    world.run(&["block", &third, "--reason", "needs the staging key"]);
    insta::assert_snapshot!(world.run(&["list"]));
}

#[test]
fn list_of_nothing() {
    let home = Home::new(Engine::File);
    insta::assert_snapshot!(home.run(&["list"]).stdout);
}

#[test]
fn claim() {
    let mut world = World::new();
    insta::assert_snapshot!(world.run_as("claude-1", &["claim"]));
}

#[test]
fn claim_with_nothing_to_take() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    insta::assert_snapshot!(world.run_as("codex-2", &["claim"]));
}

#[test]
fn claim_refused_in_four_parts() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    let first = world.first.clone();
    insta::assert_snapshot!(world.run_as("codex-2", &["claim", &first]));
}

#[test]
fn claim_refused_for_a_dependency() {
    let mut world = World::new();
    let second = world.second.clone();
    insta::assert_snapshot!(world.run_as("codex-2", &["claim", &second]));
}

#[test]
fn show() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    world.run_as("claude-1", &["note", "parser done, tests next"]);
    let first = world.first.clone();
    insta::assert_snapshot!(world.run(&["show", &first]));
}

#[test]
fn show_graph() {
    let mut world = World::new();
    let second = world.second.clone();
    insta::assert_snapshot!(world.run(&["show", &second, "--graph"]));
}

#[test]
fn done() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    insta::assert_snapshot!(world.run_as("claude-1", &["done"]));
}

#[test]
fn status() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    let third = text(&world.home.ok(&["add", "Ask for the key"])["id"]);
    world.run(&["block", &third, "--reason", "needs the staging key"]);
    insta::assert_snapshot!(world.run(&["status"]));
}

#[test]
fn why() {
    let mut world = World::new();
    let first = world.first.clone();
    world.run_as("claude-1", &["claim"]);
    world.run_as("claude-1", &["note", "parser done, tests next"]);
    world.run_as("claude-1", &["release", "--reason", "not my area"]);
    world.run(&["done", &first]);
    insta::assert_snapshot!(world.run(&["why", &first]));
}

#[test]
fn log() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    world.run_as("claude-1", &["done"]);
    insta::assert_snapshot!(world.run(&["log"]));
}

#[test]
fn holds() {
    let mut world = World::new();
    world.run_as("claude-1", &["claim"]);
    insta::assert_snapshot!(world.run(&["holds"]));
}

#[test]
fn doctor() {
    let mut world = World::direct();
    // How processes are ended depends on the machine.
    let shown = world.run(&["doctor"]);
    let lines = shown.lines().map(|line| match line.split_once(" are ended ") {
        Some((before, _)) if line.starts_with("processes ") => format!("{before} are ended …"),
        _ => line.to_owned(),
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn backup_and_restore() {
    let mut world = World::direct();
    world.run_as("claude-1", &["claim"]);
    let path = world.home.path("tmp/b.db").display().to_string();
    let size_and_hash = |text: String| -> String {
        let hide = |line: &str| match line.split_once("sha256    ") {
            Some((head, _)) => format!("{head}sha256    …\n"),
            None => format!("{line}\n"),
        };
        text.lines().map(hide).collect()
    };
    insta::assert_snapshot!("backup", size_and_hash(world.run(&["backup", &path])));
    insta::assert_snapshot!("backup_refused", world.run(&["backup", &path]));
    insta::assert_snapshot!("restore_refused", world.run(&["restore", &path]));
    let safety = world.home.path("tmp/s.db").display().to_string();
    insta::assert_snapshot!("restore", world.run(&["restore", &path, "--replace", "--safety", &safety]));
}

#[test]
fn whoami() {
    let mut world = World::direct();
    insta::assert_snapshot!(world.run_as("claude-1", &["whoami"]));
}

#[test]
fn config() {
    let home = Home::direct(Engine::File);
    let mut normal = Normaliser::new(&home);
    let all = normal.apply(&home.run(&["config"]).stdout);
    let one = normal.apply(&home.run(&["config", "hold.task_ttl"]).stdout);
    let unknown = normal.apply(&home.run(&["config", "hold.ttl"]).stderr);
    insta::assert_snapshot!(format!("{all}---\n{one}---\n{unknown}"));
}

#[test]
fn refused_guesses() {
    let home = Home::direct(Engine::File);
    let lines = [&["rm", "-f", "t-7k3fq"][..], &["search"], &["update", "t-7k3fq", "--status", "done"]];
    let said: Vec<String> = lines.iter().map(|line| home.run(line).stderr).collect();
    insta::assert_snapshot!(said.join("---\n"));
}

#[test]
fn refused_for_another_store() {
    let mut world = World::direct();
    let other = world.home.path("tmp/other.db").display().to_string();
    insta::assert_snapshot!(world.run(&["list", "--store", &other]));
}

#[test]
fn unknown_command() {
    let mut world = World::new();
    insta::assert_snapshot!(world.run(&["clam"]));
}

#[test]
fn export_and_import() {
    let mut world = World::new();
    let mut told = world.run(&["export", "x.jsonl", "--log"]);
    for args in [&["import", "x.jsonl"][..], &["export", "x.jsonl"], &["import", "none.jsonl"]] {
        told.push_str(&format!("\n{}", world.run(args)));
    }
    world.home.ok(&["edit", &world.first.clone(), "--title", "Mend the login"]);
    told.push_str(&format!("\n{}", world.run(&["import", "x.jsonl", "--dry-run"])));
    insta::assert_snapshot!(told);
}

#[test]
fn lines_of_an_export() {
    let mut world = World::new();
    insta::assert_snapshot!(world.run(&["export"]));
}

#[test]
fn help_of_export_and_import() {
    let home = Home::new(Engine::File);
    insta::assert_snapshot!(["export", "import"].map(|name| home.run(&[name, "--help"]).stdout).join("\n"));
}

#[test]
fn token() {
    let mut world = World::direct();
    let mut told = vec![world.run(&["token", "list"])];
    told.push(world.run(&[
        "token",
        "add",
        "--for",
        "service:ci",
        "--role",
        "worker",
        "--in",
        "name:web",
        "--label",
        "nightly",
    ]));
    world.run(&["member", "set", "person:ann", "--role", "admin", "--everywhere"]);
    told.push(world.run(&["token", "add", "--for", "person:ann", "--expires", "2h"]));
    let page = world.home.ok(&["token", "list", "--for", "person:ann"]);
    told.push(world.run(&["token", "revoke", &text(&page["items"][0]["id"])]));
    // Ids are random and lists are sorted by id, so the order differs from run to run.
    told.push(world.run(&["token", "list", "--for", "service:ci"]));
    told.push(world.run(&["token", "list", "--for", "person:ann"]));
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn member() {
    let mut world = World::direct();
    let mut told = vec![world.run(&["member", "list"])];
    for args in [
        &["member", "set", "person:ann", "--role", "admin", "--everywhere"][..],
        &["member", "set", "service:ci", "--role", "worker", "--in", "name:web"],
        &["member", "set", "person:bob", "--role", "viewer", "--in", "name:web"],
        &["member", "set", "person:bob", "--role", "none", "--in", "name:web"],
        &["member", "list"],
        &["member", "disable", "person:bob"],
        &["member", "enable", "person:bob"],
        &["log", "--whole-store"],
    ] {
        told.push(world.run(args));
    }
    insta::assert_snapshot!(told.join("\n\n"));
}
