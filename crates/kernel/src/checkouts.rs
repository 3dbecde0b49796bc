//! The checkouts of a project by id: where each is, and its name in texts.

use std::collections::HashMap;

use tenure_core::Result;
use tenure_core::checkout::{KnownCheckout, names, place};
use tenure_core::id::CheckoutId;
use tenure_core::site::{Site, Top};
use tenure_store::Tx;
use tenure_store::table::checkout;

use crate::answer;
use crate::unit_of_work::UnitOfWork;

/// The name of a checkout whose repository is no longer there.
const GONE: &str = "a removed checkout";

/// All checkouts of a project, as seen from one machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkouts {
    all: Vec<KnownCheckout>,
    names: HashMap<CheckoutId, String>,
    host: String,
}

impl Checkouts {
    pub(crate) fn load(tx: &mut dyn Tx, project: &str, host: &str) -> Result<Checkouts> {
        Ok(Checkouts::new(tx.fetch(checkout::all(project))?, host))
    }

    pub(crate) fn new(all: Vec<KnownCheckout>, host: &str) -> Checkouts {
        let names = names(&all, host);
        Checkouts { all, names, host: host.to_owned() }
    }

    /// The checkouts of the project of an op. They are read once.
    pub(crate) fn of(work: &mut UnitOfWork<'_>) -> Result<Checkouts> {
        if let Some(known) = &work.checkouts {
            return Ok(known.clone());
        }
        let host = work.call.checkout.as_ref().map_or("", |here| here.host.as_str());
        let known = Checkouts::load(work.tx, &work.project.id, host)?;
        work.checkouts = Some(known.clone());
        Ok(known)
    }

    /// Whether the project has more than one checkout.
    pub(crate) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &CheckoutId> {
        self.all.iter().map(|known| &known.id)
    }

    /// The location of a checkout; without an id, the locations of all of them.
    pub(crate) fn site(&self, project: &str, checkout: Option<&CheckoutId>) -> Site {
        let meant = self.all.iter().filter(|known| checkout.is_none_or(|id| known.id == id));
        let tops = meant.map(|known| Top { host: known.host.clone(), path: known.path.clone() }).collect();
        Site { project: project.into(), checkout: checkout.cloned(), tops }
    }

    /// The checkouts whose holds can conflict with a request in a checkout, or in all of them if there is none. `None`
    /// stands for holds on all checkouts.
    pub(crate) fn scope(&self, here: Option<&CheckoutId>) -> Vec<Option<CheckoutId>> {
        let meant = self.ids().filter(|id| here.is_none_or(|here| *id == here));
        std::iter::once(None).chain(meant.cloned().map(Some)).collect()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&KnownCheckout> {
        self.all.iter().find(|known| known.id == id)
    }

    /// The root of a checkout, with its machine if that is another one. The id, if nothing is known of it any more.
    pub(crate) fn place(&self, id: &str) -> String {
        self.get(id).map_or_else(|| id.to_owned(), |known| place(known, &self.host))
    }

    /// The name of a checkout.
    pub(crate) fn name(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| GONE.to_owned())
    }

    /// Adds the location of its checkout to a hold.
    pub(crate) fn show(&self, hold: &mut answer::Hold) {
        if let Some(id) = hold.checkout.take() {
            hold.checkout = Some(self.place(&id));
            hold.checkout_name = Some(self.name(&id));
            hold.checkout_id = Some(id.into());
        }
    }

    /// Adds the location of its checkout to a place in the waiting line.
    pub(crate) fn show_place(&self, shown: &mut answer::Place) {
        if let Some(id) = shown.checkout.take() {
            shown.checkout = Some(self.place(&id));
            shown.checkout_name = Some(self.name(&id));
            shown.checkout_id = Some(id.into());
        }
    }
}
