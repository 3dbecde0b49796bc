//! `tenure setup --check`: what is installed, whether it works, and when it last fired.

use serde_json::{Value, json};
use tenure_core::Result;
use tenure_kernel::query::fired;
use tenure_kernel::shape::Fired;

use super::Job;
use crate::output::table::table;
use crate::output::time::span;
use crate::output::{Ink, Printer};
use crate::setup::check::{Finding, Installed, State, replay};
use crate::setup::diagnosis::{Diagnosis, Level, diagnose, survey};
use crate::setup::target::Target;

impl Job<'_> {
    pub(super) fn check(&self) -> Result<u8> {
        let out = self.context.out;
        let mut findings: Vec<Finding> = Vec::new();
        let mut others: Vec<Vec<String>> = Vec::new();
        let found = survey(&self.targets, &self.scopes, &self.ground);
        for one in &found {
            let target = one.target;
            let Some(installed) = one.installed.as_ref().ok().filter(|installed| installed.is_any()) else { continue };
            match target {
                Target::Agents => others.push(vec!["agents".into(), "AGENTS.md".into(), "installed".into()]),
                _ => findings.extend(self.tried(target, one.scope.as_str(), installed)?),
            }
            if target.tool().is_some() {
                let server = if installed.server { "installed" } else { "MISSING" };
                others.push(vec![target.name().into(), "MCP server".into(), server.into()]);
            }
        }
        let diagnoses = diagnose(&found, &self.ground, self.context.env);
        let fired = self.context.ask(&fired::Fired {}).unwrap_or_default();
        let is_any = !findings.is_empty() || !others.is_empty();
        let has_place = self.targets != [Target::Git] || !self.has_no_hooks();
        let healthy = is_any
            && has_place
            && findings.iter().all(|finding| finding.state == State::Works)
            && others.iter().all(|row| row[2] == "installed")
            && diagnoses.iter().all(|diagnosis| diagnosis.level != Level::Fault);
        // What is about single hooks stands in the table.
        let notes: Vec<String> = diagnoses
            .iter()
            .filter(|diagnosis| diagnosis.level == Level::Remark || is_of_file(diagnosis, &findings))
            .map(Diagnosis::sentence)
            .collect();
        if out.is_json() {
            let hooks: Vec<Value> = findings
                .iter()
                .map(|finding| {
                    let last = last(&fired, finding);
                    let mut value = json!(finding);
                    value["last_fired"] = json!(last.map(|fired| &fired.at));
                    value["last_fired_s"] = json!(last.map(|fired| fired.ago_s));
                    value
                })
                .collect();
            let others: Vec<Value> = others
                .iter()
                .map(|row| json!({ "tool": row[0], "part": row[1], "installed": row[2] == "installed" }))
                .collect();
            out.data(&json!({
                "healthy": healthy, "hooks": hooks, "others": others, "findings": diagnoses, "notes": notes,
            }));
            return Ok(u8::from(!healthy));
        }
        let mut text = String::new();
        if !is_any {
            text.push_str(if notes.is_empty() {
                "Nothing is set up. `tenure setup` does it."
            } else {
                "Nothing is set up.\n"
            });
        } else {
            let mut rows: Vec<Vec<String>> = findings
                .iter()
                .map(|finding| {
                    let state = format!("{}, {}", mark(out, finding), when(last(&fired, finding), finding));
                    vec![finding.tool.to_owned(), finding.event.clone(), state]
                })
                .collect();
            rows.extend(others.clone());
            text.push_str(&table(&["TOOL", "PART", "FOUND"], &rows, usize::MAX));
        }
        for note in &notes {
            text.push_str(&format!("{} {note}\n", out.ink(Ink::Yellow, "note:")));
        }
        if is_any {
            let is_left = |finding: &Finding| [State::Works, State::Untrusted].contains(&finding.state);
            text.push_str(match (healthy, findings.iter().all(is_left)) {
                (true, _) if notes.is_empty() => "\nEverything works.\n",
                (true, _) => "\nEverything works; the notes above say what to look at.\n",
                (false, true) => "\nSomething is left to do.\n",
                (false, false) => "\nSomething is wrong: `tenure setup` puts it right.\n",
            });
        }
        out.text(&text);
        Ok(u8::from(!healthy))
    }

    fn tried(&self, target: Target, scope: &'static str, installed: &Installed) -> Result<Vec<Finding>> {
        self.context.out.progress(&format!("running the hooks of {}", target.name()));
        replay(target, scope, installed, self.context.env)
    }
}

/// Whether a fault is none of single hooks: a file that cannot be read.
fn is_of_file(diagnosis: &Diagnosis, findings: &[Finding]) -> bool {
    !findings.iter().any(|finding| Some(finding.tool) == diagnosis.tool)
}

fn last<'a>(fired: &'a [Fired], finding: &Finding) -> Option<&'a Fired> {
    fired.iter().find(|fired| fired.tool == finding.tool && fired.event == finding.event)
}

fn when(last: Option<&Fired>, finding: &Finding) -> String {
    match last {
        Some(fired) => format!("last fired {} ago", span(fired.ago_s)),
        // A guard of git that lets a commit through writes nothing.
        None if finding.tool == Target::Git.name() && finding.event.starts_with("pre-") => {
            "has refused nothing here".to_owned()
        }
        None => "never fired here".to_owned(),
    }
}

fn mark(out: &Printer, finding: &Finding) -> String {
    match (finding.state, &finding.problem) {
        (State::Works, _) => format!("installed, {}", out.ink(Ink::Green, "works")),
        (State::Missing, _) => out.ink(Ink::Red, "MISSING"),
        (State::Changed, _) => format!("{}, not run", out.ink(Ink::Red, "changed by hand")),
        (State::Untrusted, Some(problem)) => format!("installed, {}", out.ink(Ink::Red, problem)),
        (State::Fails, Some(problem)) => format!("installed, {}: {problem}", out.ink(Ink::Red, "FAILS")),
        (State::Fails | State::Untrusted, None) => format!("installed, {}", out.ink(Ink::Red, "FAILS")),
    }
}
