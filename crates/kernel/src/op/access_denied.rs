//! Records a denial for the audit. The door runs it in its own name after a refusal. The denied caller cannot request
//! it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_core::event::Event;
use tenure_core::event::access::DenialRecorded;
use tenure_core::name::{AgentName, ProjectKey};
use tenure_core::text::cut;

use super::operation::{Access, Domain, Door, Operation};
use crate::access::in_store;
use crate::answer;
use crate::unit_of_work::{About, UnitOfWork};

/// The maximum length of each stored text: the denied caller chooses them.
const KEPT: usize = 200;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessDenied {
    /// The principal, empty for an unauthenticated caller.
    #[serde(default)]
    pub principal: AgentName,
    /// The agent that the caller named, empty for itself.
    #[serde(default)]
    pub agent: AgentName,
    /// The op, the query or the page.
    pub what: String,
    /// The project's key, empty for none.
    #[serde(default)]
    pub project: ProjectKey,
    /// The code of the refusal.
    pub code: String,
    /// The client's address as the server saw it; empty if unknown.
    #[serde(default)]
    pub from: String,
    /// The number of similar refusals since the last recorded one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: i64,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Operation for AccessDenied {
    const NAME: &'static str = "access_denied";
    const ABOUT: &'static str = "Record a denied request; called by servers";
    const DOORS: &'static [Door] = &[];
    // Only the door runs it; no principal may request it.
    const ACCESS: Access = Access::NONE;
    const DOMAIN: Domain = Domain::Store;
    type Answer = answer::Denied;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Denied> {
        in_store(work, "the audit")?;
        let subject = match self.principal.as_str() {
            "" => "nobody".to_owned(),
            principal => cut(principal, KEPT),
        };
        let said = |word: &str| Some(word).filter(|word| !word.is_empty()).map(|word| cut(word, KEPT));
        let denied = DenialRecorded {
            what: cut(&self.what, KEPT),
            code: cut(&self.code, KEPT),
            agent: said(&self.agent),
            project: said(&self.project),
            from: said(&self.from),
            left_out: Some(self.left_out).filter(|more| *more > 0),
        };
        let number = work.append(About::of(&subject), Event::AccessDenied(denied))?;
        Ok(answer::Denied { number })
    }
}
