//! `tenure whoami`

use serde_json::json;
use tenure_core::name;

use super::status::ServedAt;
use super::{Group, Run, Spec};
use crate::guard;
use crate::identity::ResolvedCaller;
use crate::session::{Sight, StoreUse, caller};
use crate::workspace::StoreLocation;
use tenure_kernel::query::guards::Guards;
use tenure_kernel::query::switched_on::SwitchedOn;

pub(super) const SPEC: Spec = Spec {
    name: "whoami",
    aliases: &[],
    group: Group::People,
    about: "Show your identity, project, checkout and store",
    examples: &["tenure whoami", "tenure whoami --json"],
    args: |command| command,
    run: Run::InProject(StoreUse::Read, |session, _| {
        let place = &session.workspace;
        // This is what one asks when something is wrong, so it answers then too.
        let asked = session.ask_with(Sight::Store, |client, call| {
            Ok((client.ask(call, &SwitchedOn {})?, client.ask(call, &Guards {})?))
        });
        let switched_on = asked.as_ref().ok().map(|(switched_on, _)| *switched_on);
        let stored = asked.as_ref().map(|(_, guards)| guards.clone()).unwrap_or_default();
        let guards = guard::here(session.settings.env, stored);
        let problem = asked.as_ref().err().map(|error| error.message().to_owned());
        let (agent, source) = match caller::resolved(session)? {
            ResolvedCaller::Known(identity) | ResolvedCaller::Pretender(identity) => {
                (Some(identity.name), identity.source.as_str().to_owned())
            }
            ResolvedCaller::Several(tool) => (None, format!("{tool}, with a session that several agents use")),
            ResolvedCaller::Unnamed(variables) => (None, format!("{} without a session", variables.join(", "))),
        };
        // Far away a person is whom the token makes it, whatever this machine calls its user.
        let is_far = matches!(place.store, StoreLocation::Server(_));
        let (agent, source, problem) = match agent.clone().filter(|name| is_far && name::is_person(name)) {
            Some(name) if problem.is_none() => match caller::principal(session) {
                Ok(Some(principal)) => (Some(principal), "token".to_owned(), None),
                Ok(None) => (Some(name), source, None),
                Err(error) => (None, "token".to_owned(), Some(error.message().to_owned())),
            },
            Some(_) => (None, "token".to_owned(), problem),
            None => (agent, source, problem),
        };
        let checkout = place.checkout.as_ref().map_or(&place.dir, |checkout| &checkout.top).display().to_string();
        let store = place.store.display();
        let server = ServedAt::of(session);
        if session.out.is_json() {
            let mut shown = json!({
                "agent": agent,
                "source": source,
                "project": place.project.key,
                "label": place.project.label,
                "checkout": checkout,
                "store": store,
                "store_from": place.store_from.as_str(),
                "switched_on": switched_on,
                "problem": problem,
                "guards": guards,
            });
            if let Some(server) = &server {
                shown["server"] = json!(server);
            }
            session.out.data(&shown);
            return Ok(0);
        }
        let key = place.project.key.clone().unwrap_or_else(|| "no id yet: the first write creates it".to_owned());
        let served = server.map_or_else(String::new, |server| format!("\nserver    {}", server.line(session.out)));
        let off = guard::sentence(&guards).map_or_else(String::new, |off| format!("\nguards    {off}"));
        session.out.text(&format!(
            "agent     {} (from {source})\nproject   {} ({key})\ncheckout  {checkout}\nstore     {store} (from {})\nstate     {}{served}{off}",
            agent.as_deref().unwrap_or(match is_far && source == "token" {
                true => "unknown: the token identifies the caller on the server",
                false => "unknown: pass --agent NAME or set TENURE_AGENT",
            }),
            place.project.label,
            place.store_from.as_str(),
            match (&problem, switched_on) {
                (Some(problem), _) => problem.as_str(),
                (None, Some(true)) => "switched on",
                (None, _) => "no event yet",
            }
        ));
        Ok(0)
    }),
};
