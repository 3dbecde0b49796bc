//! A full or failing disk: a failed call reports the error and changes nothing, queries still answer, and the same
//! request succeeds once the disk works again.

use std::sync::Arc;

use tenure_core::{Kind, Result};
use tenure_kernel::{Kernel, Reply};

use super::shim::{Shim, Syncs};
use super::tape::{Stay, Trouble};
use super::work::call;
use crate::fixture::{Engine, Seeded, World};
use crate::raw::{Dump, differing, dump};
use crate::wander::{AGENTS, Dice, added, any_op};

/// Returns the number of faults injected; panics at the first one that does damage.
pub(super) fn fails_at_every_call(seed: u64, ops: usize, trouble: Trouble, stay: Stay) -> usize {
    let shim = Shim::register(Syncs::Kept);
    let world = World::with(Engine::File, |options| {
        options.vfs = Some(shim.name.clone());
        options.entropy = Arc::new(Seeded::new(seed));
    });
    let broken = Broken { world: &world, shim: &shim, trouble, stay };
    let mut met = broken.creates();
    assert!(met > 0, "no fault was met while the store was made");
    // A reader is connected the whole time.
    let watcher = world.another();
    let dice = Dice::new(seed);
    let mut tasks = Vec::new();
    for n in 0..ops {
        let op = any_op(&dice, &tasks);
        let agent = *dice.one(&AGENTS);
        let call = call(agent, &format!("request-{n}"), &op);
        let (faults, answer) = broken.until_it_works(&watcher, || world.kernel.run(&call, &op));
        met += faults;
        if let Some(Reply { body, .. }) = answer {
            assert_eq!(world.kernel.run(&call, &op).unwrap(), Reply { body: body.clone(), replayed: true });
            tasks.extend(added(&op, &body));
        }
    }
    let last = dump(&watcher);
    drop(watcher);
    // A close is the last one only if no other connection is open.
    let mut world = world;
    world.kernel = Kernel::new(world.location.clone(), world.options.clone(), tenure_client::phrasing::of).unwrap();
    // Bytes 18 and 19 of the file are the format versions; 2 means WAL.
    assert_eq!(std::fs::read(crate::raw::file(&world)).unwrap()[18..20], [2, 2], "the store is not in WAL mode");
    let broken = Broken { world: &world, shim: &shim, trouble, stay };
    let at_close = broken.closes(&last);
    assert!(at_close > 0, "no fault was met at the last close");
    met += at_close;
    assert!(differing(&last, &dump(&world.another())).iter().all(|table| *table == "project"));
    crate::replay::replay(&world.events());
    // This recording is not used.
    shim.tape.take();
    met
}

struct Broken<'a> {
    world: &'a World,
    shim: &'a Shim,
    trouble: Trouble,
    stay: Stay,
}

impl Broken<'_> {
    /// Creates the store on a disk that fails at the first call, then at the second, and so on.
    fn creates(&self) -> usize {
        let nothing = dump(&self.world.another());
        for nth in 1.. {
            self.shim.tape.set_fault(nth, self.trouble, self.stay);
            let made = self.world.kernel.store().create();
            let Err(error) = made else {
                self.shim.tape.clear_fault();
                return nth - 1;
            };
            assert!(matches!(error.kind(), Kind::Storage | Kind::Busy), "{error:?}");
            assert_eq!(differing(&nothing, &dump(&self.world.another())), [""; 0], "a query while the disk fails");
            assert!(self.shim.tape.clear_fault(), "{error:?} without a fault");
            assert_eq!(differing(&nothing, &dump(&self.world.another())), [""; 0], "half a store at call {nth}");
        }
        unreachable!()
    }

    /// Sends a request until it meets no fault. `None` is a refusal.
    fn until_it_works(&self, watcher: &Kernel, send: impl Fn() -> Result<Reply>) -> (usize, Option<Reply>) {
        let before: Dump = dump(watcher);
        for nth in 1.. {
            self.shim.tape.set_fault(nth, self.trouble, self.stay);
            let error = match send() {
                Ok(reply) => {
                    self.shim.tape.clear_fault();
                    assert!(!reply.replayed, "what failed before was carried out all the same");
                    return (nth - 1, Some(reply));
                }
                Err(error) if error.is_refusal() => {
                    self.shim.tape.clear_fault();
                    return (nth - 1, None);
                }
                Err(error) => error,
            };
            assert!(matches!(error.kind(), Kind::Storage | Kind::Busy), "{error:?}");
            for kernel in [watcher, &self.world.kernel] {
                assert_eq!(
                    differing(&before, &dump(kernel)),
                    [""; 0],
                    "at call {nth}, while the disk fails: {error:?}"
                );
            }
            assert!(self.shim.tape.clear_fault(), "{error:?} without a fault");
        }
        unreachable!()
    }

    /// The last connection, which checkpoints the log, meets a fault at the first call, then at the second, and so on.
    /// The next connection completes what it could not do.
    fn closes(&self, last: &Dump) -> usize {
        for nth in 1.. {
            let kernel = self.world.another();
            kernel.store().create().unwrap();
            let op = tenure_kernel::Op::new(tenure_kernel::op::unblock::Unblock { task: "t-0000".into() });
            // A refused op of a new agent leaves the compared state unchanged but writes to the log, so the close has
            // work to do.
            let refused = kernel.run(&call("stranger", &format!("close-{nth}"), &op), &op);
            assert!(refused.unwrap_err().is_refusal());
            self.shim.tape.set_fault(nth, self.trouble, self.stay);
            drop(kernel);
            let met = self.shim.tape.clear_fault();
            let after = dump(&self.world.another());
            let differing = differing(last, &after);
            assert!(differing.iter().all(|table| *table == "project"), "lost at call {nth} of a close: {differing:?}");
            if !met {
                return nth - 1;
            }
        }
        unreachable!()
    }
}
