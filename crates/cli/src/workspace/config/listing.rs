//! The settings that apply, as `tenure config` lists them.

use tenure_core::Span;
use tenure_core::hold::TASK_TTL;
use tenure_core::waiting::{CALL, OFFER_TTL, PLACE_TTL};

use super::Config;

impl Config {
    /// Each setting that has one value, by its key in the file; empty where it has none.
    pub(crate) fn listed(&self) -> Vec<(&'static str, String)> {
        let time = |set: Option<Span>, usual: Span| set.unwrap_or(usual).to_string();
        let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        vec![
            ("project", self.project.clone().unwrap_or_default()),
            ("labels", self.labels.join(", ")),
            ("durability", word(&self.durability)),
            ("hold.task_ttl", time(self.task_ttl, TASK_TTL)),
            ("retention.events", self.keep_events.map_or_else(|| "forever".to_owned(), |span| span.to_string())),
            ("capture", word(&self.capture)),
            ("guard.fail", word(&self.guard_fail)),
            ("guard.people", word(&self.guard_people)),
            ("wait.place", time(self.wait.place, PLACE_TTL)),
            ("wait.offer", time(self.wait.offer, OFFER_TTL)),
            ("wait.call", time(self.wait.call, CALL)),
        ]
    }
}
