//! `tenure doctor`: reports faults and what to do about them.

mod files;

use serde::Serialize;
use tenure_client::Remote;
use tenure_client::phrasing::Commands;
use tenure_client::wire::VERSION;
use tenure_core::{Error, Result, Span};
use tenure_kernel::query::fired::Fired;
use tenure_kernel::query::health::Health;
use tenure_kernel::query::health::HealthReport;
use tenure_kernel::query::read_through::ReadThrough;
use tenure_kernel::query::switched_on::SwitchedOn;
use tenure_store::{Store, migrate};

use super::setup::HookSummary;
use super::status::ServedAt;
use super::{Group, Run, Spec};
use crate::guard;
use crate::output::table::report;
use crate::output::time::{short, span};
use crate::output::{Ink, Printer};
use crate::runner;
use crate::session::{Session, StoreUse, connection};
use crate::setup::diagnosis::DiagnosisLevel;
use crate::workspace::StoreLocation;

pub(super) const SPEC: Spec = Spec {
    name: "doctor",
    aliases: &["check-health"],
    group: Group::People,
    about: "Check the store and this project; exit 1 on a problem",
    examples: &["tenure doctor", "tenure doctor --json"],
    args: |command| command,
    run: Run::Plain(|settings, out, _| {
        let checks = match Session::open(settings, out, StoreUse::Read) {
            Ok(session) => examine(&session),
            Err(error) => vec![fault("place", &error)],
        };
        let healthy = checks.iter().all(|check| check.result != DoctorFinding::Fault);
        if out.is_json() {
            out.data(&DoctorReport { healthy, checks });
        } else {
            out.text(&page(out, &checks, healthy));
        }
        Ok(u8::from(!healthy))
    }),
};

/// Clocks that differ by more than this are reported.
const CLOCKS_APART_S: i64 = 5;

#[derive(Serialize)]
struct DoctorReport {
    healthy: bool,
    checks: Vec<DoctorCheck>,
}

/// The result of one check.
#[derive(Serialize)]
struct DoctorCheck {
    name: &'static str,
    result: DoctorFinding,
    text: String,
    /// What to do, if anything.
    step: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DoctorFinding {
    Ok,
    /// A remark: not a fault.
    Remark,
    Fault,
}

fn ok(name: &'static str, text: impl Into<String>) -> DoctorCheck {
    DoctorCheck { name, result: DoctorFinding::Ok, text: text.into(), step: None }
}

fn remark(name: &'static str, text: impl Into<String>, step: Option<&str>) -> DoctorCheck {
    DoctorCheck { name, result: DoctorFinding::Remark, text: text.into(), step: step.map(str::to_owned) }
}

fn fault(name: &'static str, error: &Error) -> DoctorCheck {
    let advice = error.advice().map(|advice| advice.say(&Commands));
    let step = advice.or_else(|| error.attempts(&Commands).into_iter().next());
    DoctorCheck { name, result: DoctorFinding::Fault, text: error.message().to_owned(), step }
}

fn wrong(name: &'static str, text: impl Into<String>, step: &str) -> DoctorCheck {
    DoctorCheck { name, result: DoctorFinding::Fault, text: text.into(), step: Some(step.to_owned()) }
}

/// Runs all checks in order. A check that cannot be made is itself a finding.
fn examine(session: &Session<'_>) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let place = &session.workspace;
    checks.push(ok(
        "project",
        format!("{} ({})", place.project.label, place.project.key.as_deref().unwrap_or("no id yet")),
    ));
    if let StoreLocation::Server(_) = &place.store {
        checks.extend(server(session));
        return checks;
    }
    let kernel = match connection::kernel(session, "`doctor`") {
        Ok(kernel) => kernel,
        Err(error) => {
            checks.push(fault("store", &error));
            return checks;
        }
    };
    checks.extend(ServedAt::of(session).map(|server| ok("server", server.told())));
    let store = kernel.store();
    let identity = match store.identity() {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            checks.push(match place.check_no_pin() {
                Ok(()) => remark(
                    "store",
                    format!("{} does not exist yet: the first write creates it", place.store.display()),
                    None,
                ),
                Err(error) => fault("pin", &error),
            });
            return checks;
        }
        Err(error) => {
            checks.push(fault("store", &error));
            return checks;
        }
    };
    checks.push(ok("store", format!("{} ({})", place.store.display(), identity.id)));
    checks.push(match place.check_pin(&identity.id) {
        Ok(()) => ok("pin", "this project is used with this store"),
        Err(error) => fault("pin", &error),
    });
    checks.push(schema(store.schema_version()));
    checks.push(match store.integrity() {
        Ok(found) if found.is_empty() => ok("integrity", "no damage found"),
        Ok(found) => {
            wrong("integrity", found.join("; "), "Move the file away and restore a backup. This check changed nothing.")
        }
        Err(error) => fault("integrity", &error),
    });
    if let StoreLocation::Sqlite(path) = &place.store {
        checks.extend(files::examine(store, path));
        checks.extend(files::git(session.settings.env, path));
    }
    checks.extend(files::size(store));
    checks.extend(rows(session, store));
    checks.extend(hooks(session));
    checks.push(guards(session));
    checks.push(processes(session));
    checks
}

/// How the command of `lock NAME -- COMMAND` is ended with all its descendants.
fn processes(session: &Session<'_>) -> DoctorCheck {
    let how = if !cfg!(target_os = "linux") {
        "by their process group, which misses processes that leave it"
    } else if !runner::wants_cgroup(session.settings.env) {
        "by finding their descendants, because TENURE_CGROUP is off"
    } else if tenure_engine::process::cgroup_holds() {
        "by a cgroup of their own"
    } else {
        "by finding their descendants, because no cgroup is writable here"
    };
    ok("processes", format!("commands under a lock are ended {how}"))
}

/// The checks of a server that can be made from here.
fn server(session: &Session<'_>) -> Vec<DoctorCheck> {
    let place = &session.workspace;
    let hello = match connection::of(session).and_then(|found| found.client.remote().map(Remote::hello).transpose()) {
        Ok(Some(hello)) => hello,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![fault("server", &error)],
    };
    let mut checks = vec![ok("server", format!("{} ({})", place.store.display(), hello.store))];
    checks.push(match hello.tenure == VERSION {
        true => ok("version", format!("{VERSION}, as the server's")),
        false => remark("version", format!("{VERSION} here, {} on the server", hello.tenure), None),
    });
    checks.push(match place.check_pin(&hello.store) {
        Ok(()) => ok("pin", "this project is used with this store"),
        Err(error) => fault("pin", &error),
    });
    checks.push(match session.ask(&SwitchedOn {}) {
        Ok(true) => ok("access", "the token is accepted, and the project has events"),
        Ok(false) => remark("access", "the token is accepted; the project has no event yet", None),
        Err(error) => fault("access", &error),
    });
    checks.extend(hooks(session));
    checks.push(guards(session));
    checks.push(processes(session));
    checks.push(remark("store", "run `tenure doctor` on the machine of the server to check it", None));
    checks
}

/// Whether the guards are on, and what they do when they cannot check.
fn guards(session: &Session<'_>) -> DoctorCheck {
    match guard::state(session) {
        Ok(guards) => match guard::sentence(&guards) {
            Some(off) => remark("guards", off, None),
            None => ok("guards", "on"),
        },
        Err(error) => fault("guards", &error),
    }
}

fn schema(version: Result<i64>) -> DoctorCheck {
    match version {
        Ok(found) if found == migrate::VERSION => ok("schema", format!("version {found}")),
        Ok(found) if found > migrate::VERSION => wrong(
            "schema",
            format!("version {found}, but this program knows only versions up to {}", migrate::VERSION),
            "Install the newer version of Tenure on this machine.",
        ),
        Ok(found) => remark("schema", format!("version {found}: the next write migrates it"), None),
        Err(error) => fault("schema", &error),
    }
}

/// The tools that are set up here, when one of their hooks last ran in this project, and the findings of `setup
/// --check`.
fn hooks(session: &Session<'_>) -> Vec<DoctorCheck> {
    let HookSummary { hooks: tools, diagnoses } = match super::setup::summary(session) {
        Ok(found) => found,
        Err(error) => {
            let advice = error.advice().map(|advice| advice.say(&Commands));
            return vec![remark("hooks", error.message(), advice.as_deref())];
        }
    };
    let fired = session.ask(&Fired {}).unwrap_or_default();
    let last = fired.iter().min_by_key(|fired| fired.ago_s);
    let last = last.map(|fired| format!("{} {} fired {} ago", fired.tool, fired.event, span(fired.ago_s)));
    let mut checks = vec![match (tools.is_empty(), last) {
        (true, None) => ok("hooks", "none: `tenure setup` installs them"),
        (true, Some(last)) => remark("hooks", format!("none, although {last}"), Some("`tenure setup` installs them.")),
        (false, last) => {
            let tools: Vec<String> = tools.iter().map(|(tool, hooks)| format!("{tool} ({hooks})")).collect();
            let last = last.unwrap_or_else(|| "none has fired in this project".to_owned());
            ok("hooks", format!("{}; {last}", tools.join(", ")))
        }
    }];
    checks.extend(diagnoses.into_iter().map(|diagnosis| {
        let tool = diagnosis.tool.map(|tool| format!("{tool}: ")).unwrap_or_default();
        let result = match diagnosis.level {
            DiagnosisLevel::Remark => DoctorFinding::Remark,
            DiagnosisLevel::Fault => DoctorFinding::Fault,
        };
        DoctorCheck { name: "setup", result, text: format!("{tool}{}", diagnosis.text), step: Some(diagnosis.step) }
    }));
    checks
}

fn rows(session: &Session<'_>, store: &Store) -> Vec<DoctorCheck> {
    let health = match session.ask(&Health {}) {
        Ok(health) => health,
        Err(error) => return vec![fault("rows", &error)],
    };
    if !health.switched_on {
        return vec![clock(&health, store), remark("rows", "this project has no event yet", None)];
    }
    let keep = session.workspace.config.keep_events;
    let mut checks = vec![clock(&health, store), retention(&health, keep)];
    checks.push(match session.ask(&ReadThrough {}) {
        Ok(()) => ok("rows", "all can be read"),
        Err(error) => wrong("rows", error.message(), "Restore a backup, and please report this."),
    });
    checks.push(if health.wrong_counters.is_empty() {
        ok("counters", "as counted")
    } else {
        wrong(
            "counters",
            format!("{} counters differ from what they count", health.wrong_counters.len()),
            "Please report this. Restoring a backup recomputes the counters.",
        )
    });
    if health.lapsed > 0 {
        checks.push(remark("holds", format!("{} holds have expired: the next write ends them", health.lapsed), None));
    }
    checks
}

/// How much of the log is kept, and whether that agrees with the project's row.
fn retention(health: &HealthReport, keep: Option<Span>) -> DoctorCheck {
    if !health.events_fit {
        return wrong(
            "retention",
            "the events do not match the project's row",
            "Restore a backup, and please report this.",
        );
    }
    let (number, at) = health.oldest;
    ok(
        "retention",
        format!(
            "{} events are kept, the oldest is {number} of {}; {}",
            health.events,
            short(&at.to_string()),
            keep.map_or("none is removed".to_owned(), |keep| format!("those older than {keep} are removed"))
        ),
    )
}

fn clock(health: &HealthReport, store: &Store) -> DoctorCheck {
    if health.clock_behind_s > 60 {
        return remark(
            "clock",
            format!("the clock is {} s behind the last event", health.clock_behind_s),
            Some("Check the date of this machine."),
        );
    }
    match store.clock_ahead() {
        Ok(Some(ahead)) if ahead.as_seconds().abs() > CLOCKS_APART_S => remark(
            "clock",
            format!(
                "the clocks of this machine and the database differ by {} s; Tenure uses the database's",
                ahead.as_seconds().abs()
            ),
            Some("Check the date of this machine and of the database server."),
        ),
        Ok(_) => ok("clock", "not behind the last event"),
        Err(error) => fault("clock", &error),
    }
}

fn page(out: &Printer, checks: &[DoctorCheck], healthy: bool) -> String {
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            let mark = match check.result {
                DoctorFinding::Ok => out.ink(Ink::Good, "ok"),
                DoctorFinding::Remark => out.ink(Ink::Caution, "remark"),
                DoctorFinding::Fault => out.ink(Ink::Bad, "FAULT"),
            };
            let step = check.step.as_ref().map_or(String::new(), |step| format!(" → {step}"));
            vec![check.name.to_owned(), mark, format!("{}{step}", check.text)]
        })
        .collect();
    // The advice must not be truncated.
    let mut text = report(out, &["CHECK", "", "FOUND"], &rows);
    text.push_str(if healthy { "\nNo problems found.\n" } else { "\nProblems found.\n" });
    text
}
