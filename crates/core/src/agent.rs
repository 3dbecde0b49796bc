//! Agents: process identity and liveness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hold::TASK_TTL;
use crate::time::{Span, Time};

/// An agent whose last op is at most this old is alive.
pub const ALIVE: Span = Span::minutes(2);

/// Whether an agent is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// An op within two minutes.
    Alive,
    /// An op within half its time to live.
    Idle,
    /// No op for longer, but not expired.
    Stale,
    /// Proven dead, session ended, or expired.
    Gone,
}

impl Liveness {
    /// The word shown to people.
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
    /// Says whether an observer can check this process: only on the same host and in the same pid namespace. A process
    /// from an earlier boot of the same host is dead without a check.
    pub fn judged_by(&self, observer: &Process) -> Judgement {
        if self.host.is_empty() || self.host != observer.host {
            Judgement::Unknown
        } else if self.boot != observer.boot {
            // Both boots are of one host, so the other boot is over. An unknown boot proves nothing.
            if self.boot.is_empty() || observer.boot.is_empty() { Judgement::Unknown } else { Judgement::Dead }
        } else if self.pidns != observer.pidns || self.pidns.is_empty() {
            Judgement::Unknown
        } else {
            Judgement::Look
        }
    }
}

/// What an observer can conclude about a process before it looks up the pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The process is on another host or in another namespace: its pid has no meaning here.
    Unknown,
    /// The process belongs to an earlier boot.
    Dead,
    /// The pid can be looked up.
    Look,
}

/// The evidence from which the liveness of an agent is derived.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// The time of its last op.
    pub last_seen: Time,
    /// Whether its session has ended.
    pub ended: bool,
    /// Whether its process is proven dead. Evidence can only shorten a hold.
    pub proven_dead: bool,
    /// The time to live that applies: that of the agent's hold, else that of a task hold.
    pub ttl: Span,
}

impl Sign {
    /// The evidence about an agent considered apart from any hold.
    pub fn of(last_seen: Time, ended: bool) -> Sign {
        Sign { last_seen, ended, proven_dead: false, ttl: TASK_TTL }
    }
}

/// Derives the liveness of an agent. No other code does.
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
        // A process that is not proven dead is not proven alive either.
        assert_eq!(liveness(now, &sign(Span::minutes(60), false)), Liveness::Gone);
        assert_eq!(liveness(now, &Sign { ended: true, ..sign(Span(0), false) }), Liveness::Gone);
    }
}
