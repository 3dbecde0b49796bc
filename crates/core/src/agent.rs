//! Agents: who acts, and whether they are still there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hold::TASK_TTL;
use crate::time::{Span, Time};

/// An agent that did something within this time is alive.
pub const ALIVE: Span = Span::minutes(2);

/// Whether an agent is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// An op within two minutes.
    Alive,
    /// An op within half its time to live.
    Idle,
    /// Nothing for longer, but its time is not over.
    Stale,
    /// Proven dead, session ended, or its time is over.
    Gone,
}

impl Liveness {
    /// The word shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Liveness::Alive => "alive",
            Liveness::Idle => "idle",
            Liveness::Stale => "stale",
            Liveness::Gone => "gone",
        }
    }
}

/// The process of an agent's tool, as far as it can be told from others: start time and boot make a pid unique, the
/// namespace says where it counts.
///
/// Without a host it is unknown, which is what its default says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// The machine.
    pub host: String,
    /// Its boot.
    pub boot: String,
    /// The pid namespace.
    pub pidns: String,
    /// The pid in that namespace.
    pub pid: i64,
    /// Its start time in clock ticks since boot.
    pub started: i64,
}

impl Process {
    /// Whether an observer can judge this process at all: same host, same namespace. A process of an earlier boot of
    /// the same host is dead without looking.
    pub fn judged_by(&self, observer: &Process) -> Judgement {
        if self.host.is_empty() || self.host != observer.host {
            Judgement::Unknown
        } else if self.boot != observer.boot {
            // Both boots belong to one machine, so the earlier one is over. An unknown boot proves nothing.
            if self.boot.is_empty() || observer.boot.is_empty() { Judgement::Unknown } else { Judgement::Dead }
        } else if self.pidns != observer.pidns || self.pidns.is_empty() {
            Judgement::Unknown
        } else {
            Judgement::Look
        }
    }
}

/// What an observer can say about another process before looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It belongs to another machine or namespace: its pid says nothing here.
    Unknown,
    /// It belongs to an earlier boot.
    Dead,
    /// Its pid may be looked up.
    Look,
}

/// What is known about an agent when its liveness is asked.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// Its last op.
    pub last_seen: Time,
    /// Whether its session said good-bye.
    pub ended: bool,
    /// Whether its process is proven dead. Evidence can only shorten.
    pub proven_dead: bool,
    /// The time to live that counts for it: that of its hold, else that of a task hold.
    pub ttl: Span,
}

impl Sign {
    /// The sign of an agent that is seen apart from any hold.
    pub fn of(last_seen: Time, ended: bool) -> Sign {
        Sign { last_seen, ended, proven_dead: false, ttl: TASK_TTL }
    }
}

/// The one function that says whether an agent is there.
pub fn liveness(now: Time, sign: &Sign) -> Liveness {
    let quiet = sign.last_seen.age(now);
    if sign.ended || sign.proven_dead {
        Liveness::Gone
    } else if quiet <= ALIVE {
        Liveness::Alive
    } else if quiet <= Span(sign.ttl.0 / 2) {
        Liveness::Idle
    } else if quiet < sign.ttl {
        Liveness::Stale
    } else {
        Liveness::Gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(host: &str, boot: &str, pidns: &str) -> Process {
        Process { host: host.into(), boot: boot.into(), pidns: pidns.into(), pid: 7, started: 1 }
    }

    #[test]
    fn inv_i4_evidence_counts_only_from_the_same_host_boot_and_namespace() {
        let here = process("h", "b", "n");
        assert_eq!(process("h", "b", "n").judged_by(&here), Judgement::Look);
        assert_eq!(process("other", "b", "n").judged_by(&here), Judgement::Unknown);
        assert_eq!(process("h", "b", "other").judged_by(&here), Judgement::Unknown);
        assert_eq!(process("h", "b", "").judged_by(&process("h", "b", "")), Judgement::Unknown);
        assert_eq!(process("", "b", "n").judged_by(&process("", "b", "n")), Judgement::Unknown);
        assert_eq!(process("h", "earlier", "n").judged_by(&here), Judgement::Dead);
        assert_eq!(process("h", "", "n").judged_by(&here), Judgement::Unknown);
    }

    #[test]
    fn inv_i4_evidence_shortens_and_never_extends() {
        let now = Time(10 * 3_600_000_000);
        let sign = |ago: Span, proven_dead| Sign { last_seen: now - ago, ended: false, proven_dead, ttl: TASK_TTL };
        assert_eq!(liveness(now, &sign(Span::seconds(1), false)), Liveness::Alive);
        assert_eq!(liveness(now, &sign(Span::seconds(1), true)), Liveness::Gone);
        assert_eq!(liveness(now, &sign(Span::minutes(20), false)), Liveness::Idle);
        assert_eq!(liveness(now, &sign(Span::minutes(40), false)), Liveness::Stale);
        // Not proven dead is not proof of life.
        assert_eq!(liveness(now, &sign(Span::minutes(60), false)), Liveness::Gone);
        assert_eq!(liveness(now, &Sign { ended: true, ..sign(Span(0), false) }), Liveness::Gone);
    }
}
