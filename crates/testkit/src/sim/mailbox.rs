//! Checks queries of paths and mail against the model, and that each letter is new exactly once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenure_kernel::Call;
use tenure_kernel::query;
use tenure_kernel::query::check::Check;
use tenure_kernel::query::holds;

use super::model::files::PATTERNS;
use super::property::{Broken, Property};
use super::run::{Scene, place};
use super::seen::compare;
use crate::known::Known;

/// Queries paths in turn as each agent and from each checkout.
pub(super) fn paths(scene: &Scene<'_>) -> Result<(), Broken> {
    if scene.model.paths.is_empty() {
        return Ok(());
    }
    let step = scene.step;
    let agent = ["a", "b", "c", "d", "person:ann", "nobody"][step % 6];
    let name = ["main", "other", "main", "unseen"][step % 4];
    let typed: Vec<String> =
        (0..=step % 2).map(|more| PATTERNS[(step * 5 + more * 7) % PATTERNS.len()].0.to_owned()).collect();
    let (shared, all_checkouts) = (step.is_multiple_of(3), step.is_multiple_of(7));
    let call = Call { checkout: place(name), ..scene.world.call(agent) };
    let question = Check { paths: typed.clone(), shared, all_checkouts, fold_case: false };
    let found = json!(scene.world.kernel.ask(&call, &question).unwrap());
    let expected = scene.model.check_paths(agent, name, (&typed, shared, all_checkouts), scene.now);
    compare("inv_r2_check_as_seen", &expected, &found)?;
    let filter = holds::Filter { paths: vec![typed[0].clone()], ..holds::Filter::default() };
    let found =
        scene.world.kernel.ask(&call, &holds::Holds { filter: filter.clone(), limit: 1_000, cursor: None }).unwrap();
    let found: Vec<String> = found.items.into_iter().map(|hold| hold.id).map(String::from).collect();
    compare("inv_r2_holds_as_seen", &json!(scene.model.met(name, &typed[0], scene.now)), &json!(found))
}

/// Queries the mail of each agent in turn, without offering it.
pub(super) fn seen(scene: &Scene<'_>) -> Result<(), Broken> {
    let agent = ["a", "b", "c", "d", "person:ann", "person:bob"][scene.step % 6];
    let limit = if scene.step.is_multiple_of(4) { 1 } else { 20 };
    let found = scene.world.kernel.ask(&scene.world.call(agent), &query::mail::Mail { limit: Some(limit) }).unwrap();
    compare("inv_m6_mail_as_seen", &scene.model.letters(agent, limit), &json!(found))
}

/// M6: a letter is new in one answer only, letters arrive in order, and confirmed letters have no gap and are never
/// delivered again.
#[derive(Default)]
pub(super) struct NewOnce(BTreeMap<String, Reader>);

#[derive(Default)]
struct Reader {
    /// Letters that were new in an answer, delivered or lost.
    new: BTreeSet<i64>,
    /// Letters in an answer that arrived.
    told: BTreeSet<i64>,
    heard: i64,
    confirmed: i64,
}

impl Property for NewOnce {
    fn check(&mut self, scene: &Scene<'_>) -> Result<(), Broken> {
        let Some(happened) = &scene.happened else { return Ok(()) };
        let broken = |what: String| Err(Broken::new("inv_m6_new_exactly_once", what));
        let me = &happened.call.agent;
        let reader = self.0.entry(me.clone()).or_default();
        let arrived = happened.answer.as_ref().ok().filter(|_| happened.struck.is_none());
        match (Known::of(happened.op), arrived) {
            (Known::Inbox(_) | Known::Resume(_), Some(reply)) => {
                let answer: Value = serde_json::from_str(&reply.body).unwrap();
                let mail = if answer.get("mail").is_some() { &answer["mail"] } else { &answer };
                let items = mail["items"].as_array().unwrap();
                let number = |item: &Value| item["number"].as_i64().unwrap();
                let numbers: Vec<i64> = items.iter().map(number).collect();
                reader.heard = mail["offered"].as_i64().unwrap_or(reader.heard);
                reader.told.extend(&numbers);
                if reply.replayed {
                    return Ok(());
                }
                let beyond = numbers.first().is_some_and(|number| *number <= reader.confirmed);
                if beyond || !numbers.is_sorted_by(|a, b| a < b) {
                    return broken(format!("{me} had confirmed {} and is shown {numbers:?}", reader.confirmed));
                }
                for item in items.iter().filter(|item| item["again"] == false) {
                    if !reader.new.insert(number(item)) {
                        return broken(format!("{} is new to {me} for a second time", number(item)));
                    }
                }
            }
            (Known::Confirm(request), _) if happened.expected.is_some_and(|expected| expected.answer.is_ok()) => {
                let up_to = happened.expected.unwrap().answer.as_ref().unwrap()["mail"].as_i64().unwrap();
                let honest = request.mail.unwrap_or_default().get() <= reader.heard;
                let mine = scene.model.mail.iter().filter(|letter| letter.to == *me && letter.number <= up_to);
                let skipped = mine.map(|letter| letter.number).find(|number| !reader.told.contains(number));
                if let Some(skipped) = skipped.filter(|_| honest && up_to > reader.confirmed) {
                    return broken(format!("{me} confirmed {up_to} and was never shown {skipped}"));
                }
                reader.confirmed = reader.confirmed.max(up_to);
            }
            _ => {}
        }
        Ok(())
    }
}
