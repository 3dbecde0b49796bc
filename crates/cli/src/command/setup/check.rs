//! `tenure setup --check`: what is installed, whether it works, and when it last fired.

use serde_json::{Value, json};
use tenure_core::Result;
use tenure_kernel::answer::HookRun;
use tenure_kernel::query::fired;

use super::SetupJob;
use crate::output::progress::Progress;
use crate::output::table::report;
use crate::output::time::span;
use crate::output::{Ink, Printer};
use crate::setup::check::{HookFinding, HookState, Installed, replay};
use crate::setup::diagnosis::{Diagnosis, DiagnosisLevel, diagnose, survey};
use crate::setup::target::SetupTarget;

impl SetupJob<'_> {
    pub(super) fn check(&self) -> Result<u8> {
        let out = self.session.out;
        let mut findings: Vec<HookFinding> = Vec::new();
        let mut others: Vec<Vec<String>> = Vec::new();
        let found = survey(&self.targets, &self.scopes, &self.ground);
        for one in &found {
            let target = one.target;
            let Some(installed) = one.installed.as_ref().ok().filter(|installed| installed.is_any()) else { continue };
            match target {
                SetupTarget::Agents => others.push(vec!["agents".into(), "AGENTS.md".into(), "installed".into()]),
                _ => findings.extend(self.tried(target, one.scope.as_str(), installed)?),
            }
            if target.tool().is_some() {
                let server = if installed.server { "installed" } else { "MISSING" };
                others.push(vec![target.name().into(), "MCP server".into(), server.into()]);
            }
        }
        let diagnoses = diagnose(&found, &self.ground, self.session.settings.env);
        let fired = self.session.ask(&fired::Fired {}).unwrap_or_default();
        let is_any = !findings.is_empty() || !others.is_empty();
        let has_place = self.targets != [SetupTarget::Git] || !self.has_no_hooks();
        let healthy = is_any
            && has_place
            && findings.iter().all(|finding| finding.state == HookState::Works)
            && others.iter().all(|row| row[2] == "installed")
            && diagnoses.iter().all(|diagnosis| diagnosis.level != DiagnosisLevel::Fault);
        // What is about single hooks stands in the table.
        let notes: Vec<String> = diagnoses
            .iter()
            .filter(|diagnosis| diagnosis.level == DiagnosisLevel::Remark || is_of_file(diagnosis, &findings))
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
                "Nothing is set up. Run `tenure setup`."
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
            text.push_str(&report(out, &["TOOL", "PART", "FOUND"], &rows));
        }
        for note in &notes {
            text.push_str(&format!("{} {note}\n", out.ink(Ink::Caution, "note:")));
        }
        if is_any {
            let is_left = |finding: &HookFinding| [HookState::Works, HookState::Untrusted].contains(&finding.state);
            text.push_str(match (healthy, findings.iter().all(is_left)) {
                (true, _) if notes.is_empty() => "\nEverything works.\n",
                (true, _) => "\nEverything works; see the notes above.\n",
                (false, true) => "\nSome steps remain; see above.\n",
                (false, false) => "\nProblems found: `tenure setup` repairs them.\n",
            });
        }
        out.text(&text);
        Ok(u8::from(!healthy))
    }

    fn tried(&self, target: SetupTarget, scope: &'static str, installed: &Installed) -> Result<Vec<HookFinding>> {
        let _progress = Progress::begin(self.session.out, &format!("Running the hooks of {}", target.name()));
        replay(target, scope, installed, self.session.settings.env)
    }
}

/// Whether a fault is none of single hooks: a file that cannot be read.
fn is_of_file(diagnosis: &Diagnosis, findings: &[HookFinding]) -> bool {
    !findings.iter().any(|finding| Some(finding.tool) == diagnosis.tool)
}

fn last<'a>(fired: &'a [HookRun], finding: &HookFinding) -> Option<&'a HookRun> {
    fired.iter().find(|fired| fired.tool == finding.tool && fired.event == finding.event)
}

fn when(last: Option<&HookRun>, finding: &HookFinding) -> String {
    match last {
        Some(fired) => format!("last fired {} ago", span(fired.ago_s)),
        // A guard of git that lets a commit through writes nothing.
        None if finding.tool == SetupTarget::Git.name() && finding.event.starts_with("pre-") => {
            "has refused nothing here".to_owned()
        }
        None => "never fired here".to_owned(),
    }
}

fn mark(out: &Printer, finding: &HookFinding) -> String {
    match (finding.state, &finding.problem) {
        (HookState::Works, _) => format!("installed, {}", out.ink(Ink::Good, "works")),
        (HookState::Missing, _) => out.ink(Ink::Bad, "MISSING"),
        (HookState::Changed, _) => format!("{}, not run", out.ink(Ink::Bad, "changed by hand")),
        (HookState::Untrusted, Some(problem)) => format!("installed, {}", out.ink(Ink::Bad, problem)),
        (HookState::Fails, Some(problem)) => format!("installed, {}: {problem}", out.ink(Ink::Bad, "FAILS")),
        (HookState::Fails | HookState::Untrusted, None) => format!("installed, {}", out.ink(Ink::Bad, "FAILS")),
    }
}
