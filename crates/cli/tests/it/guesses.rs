//! What people and models type out of habit, and what must happen: it does what was meant, or the first command that the
//! refusal names is the right one.

use std::collections::BTreeMap;

use crate::home::{Engine, Home};

/// What must happen.
enum Outcome {
    /// It succeeds, and this is in the answer.
    Does(&'static str),
    /// It is refused, and this is the first command that is named.
    Names(&'static str),
}

use Outcome::{Does, Names};

/// The lines, in the order in which they are typed. `$A` and `$B` are ready, `$C` is done, `$D` is cancelled and `$E` is
/// blocked; lines that change a task use one of the others.
const LINES: &[(&str, Outcome)] = &[
    // The program.
    ("help", Does("Usage: tenure")),
    ("help list", Does("tenure list")),
    ("help search", Names("tenure list WORDS")),
    ("version", Does("tenure 0.")),
    ("-v", Does("tenure 0.")),
    ("--list", Does("Usage: tenure")),
    ("-l", Does("Usage: tenure")),
    ("usage", Does("Usage: tenure")),
    ("commands", Does("Usage: tenure")),
    ("docs", Does("Usage: tenure")),
    ("quickstart", Does("Usage: tenure")),
    ("config", Does("hold.task_ttl")),
    ("config list", Does("hold.task_ttl")),
    ("config get hold.task_ttl", Does("1h")),
    ("config show", Does("tenure.toml")),
    ("config set hold.task_ttl 2h", Names("tenure config")),
    ("settings", Does("hold.task_ttl")),
    // bd.
    ("ready", Does("Fix the login")),
    ("ready -n 1", Does("Fix the login")),
    ("ready --json", Does("\"ok\":true")),
    ("blocked", Does("Needs a key")),
    ("list --status open", Does("Fix the login")),
    ("list --status in_progress", Does("No tasks")),
    ("list --status closed", Does("Old work")),
    ("stats", Does("ready")),
    ("dep tree $B", Does("Write the docs")),
    ("dep add $A $B", Names("tenure edit $A --after $B")),
    ("label add $A backend", Names("tenure edit $A --label backend")),
    ("update $A --status in_progress", Names("tenure claim $A")),
    ("update $A --status closed", Names("tenure done $A")),
    ("update $A --claim", Names("tenure claim $A")),
    ("update $A -p 1", Does("Edited")),
    ("create \"By bd\" -t bug -p 1", Does("By bd")),
    ("create \"Sooner\" --priority high", Does("Sooner")),
    ("create \"P three\" -p P3", Does("P three")),
    ("q \"A quick one\"", Does("A quick one")),
    ("close $F", Does("Done $F")),
    ("comments $A", Does("Fix the login")),
    ("comments add $A \"seen by bd\"", Does("on $A")),
    ("stale", Does("ready")),
    ("sync", Names("tenure status")),
    ("onboard", Names("tenure setup")),
    // gh.
    ("issue list", Does("Fix the login")),
    ("issue list --limit 5", Does("Fix the login")),
    ("issue create --title \"By gh\" --body \"The text\"", Does("By gh")),
    ("issue view $A", Does("Fix the login")),
    ("issue comment $A -m \"By gh\"", Does("on $A")),
    ("issue comment $A --body \"By gh\"", Does("on $A")),
    ("issue close $G", Does("Done $G")),
    ("issue reopen $G", Does("Reopened $G")),
    ("issue delete $A", Names("tenure cancel $A")),
    ("issue edit $A --add-label ui", Does("Edited")),
    ("issue edit $A --remove-label ui", Does("Edited")),
    ("issue status", Does("ready")),
    ("auth status", Does("person:ann")),
    ("auth login", Names("tenure token add")),
    ("list --assignee bob", Does("No tasks")),
    ("add \"For ann\" --assignee person:ann", Does("For ann")),
    // git.
    ("log -n 2", Does("  ")),
    ("log --oneline", Does("  ")),
    ("log -n 1 --no-pager", Does("  ")),
    ("log $A", Does("$A")),
    ("log --since yesterday", Does("$A")),
    ("log --since 1h", Does("$A")),
    ("log --author person:ann -n 3", Does("person:ann")),
    ("reflog", Does("$A")),
    ("st", Does("ready")),
    ("rm $A", Names("tenure cancel $A")),
    ("rm -f $A", Names("tenure cancel $A")),
    ("mv $A \"Another title\"", Names("tenure edit $A --title 'Another title'")),
    ("checkout $A", Names("tenure claim $A")),
    ("commit -m \"parser done\"", Names("tenure note 'parser done'")),
    ("push", Names("tenure status")),
    ("pull", Names("tenure status")),
    ("revert $C", Names("tenure reopen $C")),
    ("reset $C", Names("tenure reopen $C")),
    ("stash", Names("tenure release ID")),
    ("tag $A urgent", Names("tenure edit $A --label urgent")),
    ("clone", Names("tenure --help")),
    ("grep login", Does("Fix the login")),
    ("blame $A", Does("$A")),
    ("status -q", Does("")),
    // kubectl.
    ("get tasks", Does("Fix the login")),
    ("get tasks -o json", Does("\"ok\":true")),
    ("get $A", Does("Fix the login")),
    ("get all", Does("Fix the login")),
    ("get agents", Does("person:ann")),
    ("describe $A", Does("Fix the login")),
    ("describe task $A", Does("Fix the login")),
    ("delete $A", Names("tenure cancel $A")),
    ("delete task $A", Names("tenure cancel $A")),
    ("logs", Does("$A")),
    ("logs --tail 3", Does("  ")),
    ("top", Does("ready")),
    ("apply -f tasks.jsonl", Names("tenure import tasks.jsonl")),
    ("exec deploy -- make", Names("tenure lock deploy -- COMMAND")),
    ("patch $A --priority 2", Does("Edited")),
    ("label $A backend", Names("tenure edit $A --label backend")),
    // docker.
    ("ps", Does("ready")),
    ("ps -a", Does("ready")),
    ("inspect $A", Does("Fix the login")),
    ("stop $A", Names("tenure release $A")),
    ("kill $A", Names("tenure cancel $A")),
    ("run deploy", Names("tenure lock deploy -- COMMAND")),
    ("events -n 2", Does("  ")),
    ("info", Does("ready")),
    ("login", Names("tenure token add")),
    // Taskwarrior and other lists.
    ("add Fix the other login", Does("Fix the other login")),
    ("add \"Two words\" \"And a text\"", Names("tenure add 'Two words' --description 'And a text'")),
    ("add task \"With a noun\"", Does("With a noun")),
    ("task add \"Noun first\"", Does("Noun first")),
    ("task \"No verb\"", Names("tenure add 'No verb'")),
    ("task $A", Does("Fix the login")),
    ("tasks", Does("Fix the login")),
    ("todos", Does("Fix the login")),
    ("annotate $A \"by taskwarrior\"", Does("on $A")),
    ("modify $A --priority 2", Does("Unchanged")),
    ("active", Does("No tasks")),
    ("completed", Does("Old work")),
    ("all", Does("Dropped idea")),
    ("undo $C", Names("tenure reopen $C")),
    ("delete", Names("tenure cancel ID")),
    ("prioritize $A 0", Names("tenure edit $A --priority 0")),
    ("rename $A \"Another title\"", Names("tenure edit $A --title 'Another title'")),
    // What models type.
    ("search login", Does("Fix the login")),
    ("search fix login", Does("Fix the login")),
    ("find login", Does("Fix the login")),
    ("list ready", Does("Fix the login")),
    ("list --ready", Does("Fix the login")),
    ("list --blocked", Does("Needs a key")),
    ("list blocked", Does("Needs a key")),
    ("list --done", Does("Old work")),
    ("list --closed", Does("Old work")),
    ("list --open", Does("Fix the login")),
    ("list all", Does("Dropped idea")),
    ("list tasks", Does("Fix the login")),
    ("list --sort updated", Does("Fix the login")),
    ("list --sort title -n 1", Does("TASK")),
    ("list agents", Does("person:ann")),
    ("agents", Does("person:ann")),
    ("agents list", Does("person:ann")),
    ("who", Does("person:ann")),
    ("projects", Does("repo")),
    ("memories", Does("othing")),
    ("memory add \"the importer needs a locale\"", Does("m-")),
    ("memory search importer", Does("importer")),
    ("forget m-1", Names("tenure memory forget m-1")),
    ("me", Does("No tasks")),
    ("mine", Does("No tasks")),
    ("my tasks", Does("No tasks")),
    ("current", Does("No tasks")),
    ("context", Does("## Do next")),
    ("describe", Names("tenure show --help")),
    ("show", Names("tenure show --help")),
    ("assign $A codex-1", Names("tenure edit $A --for codex-1")),
    ("unassign $A", Names("tenure edit $A --for \"\"")),
    ("delegate $A codex-1", Names("tenure transfer $A --to codex-1")),
    ("fail $A", Names("tenure block $A --reason \"…\"")),
    ("archive $C", Names("tenure cancel $C")),
    ("remove task $A", Names("tenure cancel $A")),
    ("graph $A", Does("Fix the login")),
    ("graph", Names("tenure show ID --graph")),
    ("tree", Does("")),
    ("report", Does("ready")),
    ("summary", Does("ready")),
    ("dashboard", Does("ready")),
    ("watch", Does("ready")),
    ("monitor", Does("ready")),
    ("tail", Does("$A")),
    ("history", Does("$A")),
    ("history $A", Does("$A")),
    ("activity", Does("$A")),
    ("audit", Does("$A")),
    ("explain $A", Does("$A")),
    ("health", Does("store")),
    ("open", Names("tenure up")),
    ("down", Does("No server")),
    ("shutdown", Names("tenure down")),
    ("server", Names("tenure up")),
    ("heartbeat", Names("tenure note \"…\"")),
    ("lsit", Names("tenure list --help")),
    ("stauts", Names("tenure status --help")),
    ("claim --next", Does("yours")),
    ("note -m \"half way\"", Does("Noted")),
    ("release -m \"not my area\"", Does("Released")),
    ("grab $H", Does("$H")),
    ("resolve $H", Does("Done $H")),
    ("mark done $I", Does("Done $I")),
    ("done $J $K", Does("$K")),
    ("reopen $J $K -m \"too early\"", Does("$K")),
    ("cancel $J $K -m \"not wanted\"", Does("$K")),
    ("block $L -m \"needs a key\"", Does("Blocked $L")),
    ("unblock $L $E", Does("$E")),
    ("edit $L $E --label late", Does("$E")),
    ("later $L 1h", Does("Snoozed $L")),
    ("reserve src/*.rs", Does("glob:src/*.rs")),
    ("who-has src/", Does("src/*.rs")),
    ("locks", Does("src/*.rs")),
    ("unreserve src/*.rs", Does("src/*.rs")),
    ("xyzzy", Names("tenure --help")),
];

/// The words of a line, with quotes as in a shell.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, part) in line.split('"').enumerate() {
        match n % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn nine_of_ten_guesses_do_what_was_meant_or_name_the_right_command_first() {
    assert!(LINES.len() >= 100);
    let home = Home::new(Engine::File);
    let titles = ["Fix the login", "Write the docs", "Old work", "Dropped idea", "Needs a key"];
    let titles = titles.into_iter().chain(["Spare"; 7]);
    let lines: String = titles.map(|title| format!("{{\"title\":\"{title}\"}}\n")).collect();
    let added = home.call(&["add", "--stdin", "--json"]).input(lines.as_bytes()).run().data();
    let ids: BTreeMap<String, String> = ('A'..='L')
        .zip(added["ids"].as_array().unwrap())
        .map(|(letter, id)| (format!("${letter}"), id.as_str().unwrap().to_owned()))
        .collect();
    let filled = |text: &str| ids.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id));
    home.ok(&["done", &ids["$C"]]);
    home.ok(&["cancel", &ids["$D"]]);
    home.ok(&["block", &ids["$E"], "--reason", "the key"]);
    let mut missed = Vec::new();
    for (typed, outcome) in LINES {
        let said = home.run(&words(&filled(typed)));
        let named = said.stderr.split("Try:\n").nth(1).and_then(|list| list.lines().next()).unwrap_or_default().trim();
        let is_met = match outcome {
            Does(what) => said.code == 0 && said.stdout.contains(&filled(what)),
            Names(command) => said.code != 0 && named == filled(command),
        };
        if !is_met {
            missed.push(format!("{typed}: {} {}{}", said.code, said.stdout, said.stderr));
        }
    }
    missed.iter().for_each(|missed| println!("missed: {missed}"));
    assert!(missed.len() * 10 <= LINES.len(), "{} of {} guesses were missed", missed.len(), LINES.len());
    println!("{} of {} guesses were met", LINES.len() - missed.len(), LINES.len());
}

#[test]
fn several_tasks_are_each_attempted_and_the_first_refusal_is_the_exit_code() {
    let home = Home::new(Engine::File);
    let ids = home.add_many(3);
    let (one, two, three) = (ids[0].as_str(), ids[1].as_str(), ids[2].as_str());
    home.ok(&["done", one]);
    let said = home.run(&["done", one, two, "t-zzzzz", three]);
    assert_eq!(said.code, home.run(&["done", one]).code);
    assert!(said.stdout.contains(&format!("Done {two}")) && said.stdout.contains(&format!("Done {three}")), "{said:?}");
    assert!(said.stderr.contains(one) && said.stderr.contains("t-zzzzz"), "{said:?}");
    let said = home.run(&["reopen", one, "t-zzzzz", three, "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let oks: Vec<bool> = answer["results"].as_array().unwrap().iter().map(|one| one["ok"] == true).collect();
    assert_eq!((oks.as_slice(), &answer["ok"]), (&[true, false, true][..], &serde_json::json!(false)));
    assert_eq!(answer["error"]["code"], answer["results"][1]["error"]["code"]);
    home.refused(&["edit", one, three, "-p", "1", "--request-id", "r-1"]).is("usage", "bad_arguments");
    home.refused(&["done", one, three, "--fence", "1"]).is("usage", "bad_arguments");
    let edited = home.ok(&["edit", one, three, "-p", "1"]);
    assert_eq!(edited["results"][1]["data"]["priority"], 1);
}
