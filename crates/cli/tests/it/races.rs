//! Races of operating-system processes, on a SQLite file and on PostgreSQL.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tenure_testkit::evidence::amount;

use crate::home::{Engine, Home, Output, text};
use crate::race::{Dice, Line};

/// The number of processes that race for one task.
const RACERS: usize = 32;

fn agent(number: usize) -> String {
    format!("racer-{number}")
}

fn claim_race(home: &Home, task: &str) -> Line {
    let call = |number| home.call(&["claim", task]).json().agent(&agent(number));
    Line::of_calls((0..RACERS).map(call).collect())
}

/// The loser of a race: exit 1, JSON, with the winner's name.
fn lost_to(output: Output) -> String {
    let refusal = output.refusal();
    refusal.is("conflict", "task_held");
    let blocker = &refusal.detail("blockers")[0];
    assert_eq!(blocker["state"], "held");
    let holder = text(&blocker["holder"]);
    refusal.names(&[&holder]);
    holder
}

fn one_winner(engine: Engine, rounds: usize) {
    let home = Home::new(engine);
    for task in home.add_many(rounds) {
        let outputs = claim_race(&home, &task).go().finish();
        let winners: Vec<usize> = (0..RACERS).filter(|number| outputs[*number].code == 0).collect();
        assert_eq!(winners.len(), 1, "{task}: {winners:?}");
        let winner = agent(winners[0]);
        for (number, output) in outputs.into_iter().enumerate() {
            if agent(number) == winner {
                let claimed = output.data();
                assert_eq!(claimed["task"]["id"], task.as_str());
                assert_eq!(claimed["hold"]["holder"], winner.as_str());
            } else {
                assert_eq!(lost_to(output), winner);
            }
        }
    }
    let claims = home.events().iter().filter(|event| event.kind == "task.claimed").count();
    assert_eq!(claims, rounds);
    home.replayed();
}

#[test]
fn inv_l1_one_of_32_processes_wins_a_task_on_sqlite() {
    one_winner(Engine::File, amount(10, 80));
}

#[test]
fn inv_l1_one_of_32_processes_wins_a_task_on_postgres() {
    one_winner(Engine::Postgres, amount(10, 50));
}

/// Half of the racers are killed at random moments. A killed winner may have won without reporting it.
fn one_winner_among_the_dying(engine: Engine, rounds: usize) {
    let home = Home::new(engine);
    let mut dice = Dice::new();
    let (mut killed, mut silent_winners) = (0, 0);
    for task in home.add_many(rounds) {
        let mut field = claim_race(&home, &task).go();
        let mut victims: Vec<usize> = (0..RACERS).collect();
        for _ in 0..RACERS / 2 {
            victims.swap_remove(usize::try_from(dice.below(victims.len() as u64)).unwrap());
        }
        for victim in &victims {
            // The random pauses between the kills are the random moments.
            std::thread::sleep(Duration::from_micros(dice.below(5_000)));
            field.children[*victim].kill().unwrap();
        }
        let outputs = field.finish();
        let held_by = text(&home.ok(&["show", &task])["holder"]["agent"]);
        killed += outputs.iter().filter(|output| output.code == -1).count();
        for (number, output) in outputs.into_iter().enumerate() {
            match output.code {
                0 => assert_eq!(agent(number), held_by, "{task}: an acknowledged winner is not the holder"),
                -1 => silent_winners += usize::from(agent(number) == held_by),
                _ => assert_eq!(lost_to(output), held_by),
            }
        }
        home.add("the store is still usable");
    }
    eprintln!("{killed} killed, {silent_winners} of them after they had won");
    assert!(killed > rounds, "hardly anyone was killed: the blows come too late to mean anything");
    home.replayed();
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
}

#[test]
fn inv_t4_killed_racers_leave_one_winner_on_sqlite() {
    one_winner_among_the_dying(Engine::File, amount(10, 60));
}

#[test]
fn inv_t4_killed_racers_leave_one_winner_on_postgres() {
    one_winner_among_the_dying(Engine::Postgres, amount(10, 30));
}

/// Five ops, ROUNDS times: add, claim, note, done, add.
const FIVE_OPS: &str = r#"
    export TENURE_AGENT=racer-$N
    i=0
    while [ $i -lt ROUNDS ]; do
        out=$("$T" add "task $N.$i") || exit $?
        set -- $out
        "$T" claim "$2" >/dev/null || exit $?
        "$T" note "half way" >/dev/null || exit $?
        "$T" done >/dev/null || exit $?
        echo "done $2"
        out=$("$T" add "more $N.$i") || exit $?
        set -- $out
        echo "open $2"
        i=$((i + 1))
    done"#;

fn five_ops_each(engine: Engine) {
    let home = Home::new(engine);
    let rounds = amount(2, 10);
    let script = FIVE_OPS.replace("ROUNDS", &rounds.to_string());
    let outputs = Line::of_scripts(&home, RACERS, &script).go().finish();
    let mut acknowledged = BTreeSet::new();
    for output in &outputs {
        assert_eq!(output.code, 0, "an op failed with this exit code");
        acknowledged.extend(output.stdout.lines().map(str::to_owned));
    }
    assert_eq!(acknowledged.len(), RACERS * 2 * rounds, "an id was given out twice");

    let events = home.events();
    assert!(events.iter().zip(1..).all(|(event, number)| event.number == number), "there is a gap");
    // One event per op, one for each agent's first op, one for the project's.
    assert_eq!(events.len(), RACERS * 5 * rounds + RACERS + 1);
    home.replayed();

    let mut stored = BTreeSet::new();
    let mut page = home.ok(&["list", "--all", "--limit", "1000"]);
    loop {
        for task in page["items"].as_array().unwrap() {
            stored.insert(format!("{} {}", text(&task["status"]), text(&task["id"])));
        }
        let Some(next) = page["next"].as_str() else { break };
        page = home.ok(&["list", "--all", "--limit", "1000", "--cursor", next]);
    }
    assert_eq!(stored, acknowledged);
}

#[test]
fn inv_t2_32_processes_at_once_lose_nothing_on_sqlite() {
    five_ops_each(Engine::File);
}

#[test]
fn inv_t2_32_processes_at_once_lose_nothing_on_postgres() {
    five_ops_each(Engine::Postgres);
}

#[test]
fn inv_l9_one_of_four_contenders_for_a_version_succeeds() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("contended");
        for version in 1..=10 {
            let expected = version.to_string();
            let calls = (0..4).map(|number| {
                let title = format!("title {version} by {number}");
                home.call(&["edit", &task, "--title", &title, "--expect-version", &expected])
                    .json()
                    .agent(&agent(number))
            });
            let outputs = Line::of_calls(calls.collect()).go().finish();
            let (won, lost): (Vec<Output>, Vec<Output>) = outputs.into_iter().partition(|output| output.code == 0);
            assert_eq!((won.len(), lost.len()), (1, 3), "{engine:?} version {version}");
            for output in lost {
                output.refusal().is("stale", "stale_version");
            }
            let task = won.into_iter().next().unwrap().data();
            assert_eq!(task["version"], version + 1);
            assert_eq!(home.ok(&["show", &text(&task["id"])])["title"], task["title"]);
        }
    }
}

#[test]
fn inv_t11_twenty_first_opens_make_one_store_and_one_project() {
    for engine in Engine::ALL {
        // On PostgreSQL a snapshot may be older than the tables it meets. That is rare, so it is tried more often.
        for _ in 0..if engine == Engine::Postgres { amount(10, 20) } else { 5 } {
            let home = Home::new(engine);
            let call = |number: usize| home.call(&["add", &format!("task {number}")]).json().agent(&agent(number));
            let outputs = Line::of_calls((0..20).map(call).collect()).go().finish();
            let ids: BTreeSet<String> = outputs.into_iter().map(|output| text(&output.data()["id"])).collect();
            assert_eq!(ids.len(), 20);
            let listed = home.ok(&["list"]);
            assert_eq!(listed["total"], 20, "{engine:?}");
            let events = home.events();
            assert_eq!(events.iter().filter(|event| event.kind == "project.created").count(), 1);
            assert_eq!(home.replayed(), 20 + 20 + 1);
            assert_eq!(home.ok(&["doctor"])["healthy"], true);
        }
    }
}

#[test]
fn sixty_four_writers_at_once_all_get_through() {
    let each = amount(2, 5);
    let script = r#"
        export TENURE_AGENT=racer-$N
        for i in $(seq EACH); do "$T" add "task $N.$i" --quiet || exit $?; done"#;
    let script = script.replace("EACH", &each.to_string());
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let outputs = Line::of_scripts(&home, 64, &script).go().finish();
        assert!(outputs.iter().all(|output| output.code == 0), "{engine:?}: {outputs:?}");
        assert_eq!(home.ok(&["status"])["ready"], 64 * each);
        assert_eq!(home.replayed(), 64 * each + 64 + 1);
    }
}

#[test]
fn inv_l6_fifty_agents_share_all_tasks_and_each_once() {
    let script = r#"
        while out=$("$T" claim --json --agent racer-$N); do
            echo "$out"
            case $out in *'"task":null'*) exit 0 ;; esac
        done
        exit 1"#;
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let count = amount(60, 200);
        let tasks: BTreeSet<String> = home.add_many(count).into_iter().collect();
        let mut taken = Vec::new();
        for output in Line::of_scripts(&home, 50, script).go().finish() {
            assert_eq!(output.code, 0, "{output:?}");
            for line in output.stdout.lines() {
                let answer: Value = serde_json::from_str(line).unwrap();
                taken.extend(answer["data"]["task"]["id"].as_str().map(str::to_owned));
            }
        }
        assert_eq!(taken.len(), count, "a task was handed out twice or forgotten");
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), tasks);
        home.replayed();
    }
}
