//! The checkouts of a project by their ids: where each is, and what it is called where somebody reads about it.

use std::collections::HashMap;

use tenure_core::Result;
use tenure_core::checkout::{KnownCheckout, names, place};
use tenure_core::id::CheckoutId;
use tenure_core::site::{Site, Top};
use tenure_store::Tx;
use tenure_store::table::checkout;

use crate::answer;
use crate::unit_of_work::UnitOfWork;

/// What one whose repository is no longer where it was is called.
const GONE: &str = "a checkout that is gone";

/// All checkouts of a project, seen from one machine.
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

    /// Those of the project that an op is about; read once.
    pub(crate) fn of(work: &mut UnitOfWork<'_>) -> Result<Checkouts> {
        if let Some(known) = &work.checkouts {
            return Ok(known.clone());
        }
        let host = work.call.checkout.as_ref().map_or("", |here| here.host.as_str());
        let known = Checkouts::load(work.tx, &work.project.id, host)?;
        work.checkouts = Some(known.clone());
        Ok(known)
    }

    /// Whether there is another one than one's own.
    pub(crate) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &CheckoutId> {
        self.all.iter().map(|known| &known.id)
    }

    /// Where one of them is; without one, where they all are.
    pub(crate) fn site(&self, project: &str, checkout: Option<&CheckoutId>) -> Site {
        let meant = self.all.iter().filter(|known| checkout.is_none_or(|id| known.id == id));
        let tops = meant.map(|known| Top { host: known.host.clone(), path: known.path.clone() }).collect();
        Site { project: project.into(), checkout: checkout.cloned(), tops }
    }

    /// Those whose holds meet a request in one of them, or without one in all of them. None stands for the holds that are
    /// about all checkouts.
    pub(crate) fn scope(&self, here: Option<&CheckoutId>) -> Vec<Option<CheckoutId>> {
        let meant = self.ids().filter(|id| here.is_none_or(|here| *id == here));
        std::iter::once(None).chain(meant.cloned().map(Some)).collect()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&KnownCheckout> {
        self.all.iter().find(|known| known.id == id)
    }

    /// The top of a checkout, with its machine where that is another; its id where nothing is known of it any more.
    pub(crate) fn place(&self, id: &str) -> String {
        self.get(id).map_or_else(|| id.to_owned(), |known| place(known, &self.host))
    }

    /// What a checkout is called.
    pub(crate) fn name(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| GONE.to_owned())
    }

    /// Says of a hold where it is.
    pub(crate) fn show(&self, hold: &mut answer::Hold) {
        if let Some(id) = hold.checkout.take() {
            hold.checkout = Some(self.place(&id));
            hold.checkout_name = Some(self.name(&id));
            hold.checkout_id = Some(id.into());
        }
    }

    /// The same of a place in the line.
    pub(crate) fn show_place(&self, shown: &mut answer::Place) {
        if let Some(id) = shown.checkout.take() {
            shown.checkout = Some(self.place(&id));
            shown.checkout_name = Some(self.name(&id));
            shown.checkout_id = Some(id.into());
        }
    }
}
