//! Locations: where a store has seen a project, and the store that a project is pinned to.

use serde_json::json;
use tenure_core::Stage;
use tenure_kernel::op::{add, reserve};
use tenure_kernel::query;
use tenure_kernel::{Call, Checkout, Condition, Op, Reply, Repository, Trust, WorkingTree};

use tenure_store::table::project;

use super::Case;
use crate::fixture::{World, code_of, refusal};
use crate::raw::{differing, dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_i5_worktrees_and_subdirectories_of_one_repository_are_one_project", one_repository),
    Case::everywhere("inv_i5_another_repository_with_the_same_project_is_refused_naming_both", a_copy),
    Case::everywhere("inv_i5_a_repository_that_moved_keeps_its_project", moved),
    Case::everywhere("inv_r2_what_is_held_in_a_repository_stays_held_where_it_moves", held_on),
    Case::everywhere("inv_i5_a_copy_that_a_person_joined_stays_joined", joined),
    Case::everywhere("inv_i5_a_project_shared_by_name_may_be_anywhere", anywhere),
    Case::everywhere("inv_i5_places_are_kept_apart_by_host_and_project", apart),
    Case::everywhere("inv_i5_a_project_that_only_a_repository_names_is_used_only_where_it_was_before", named),
    Case::everywhere("inv_i5_a_store_that_only_a_repository_brings_is_used_only_where_it_was_before", brought),
    Case::everywhere("inv_i5_a_project_pinned_to_another_store_is_neither_read_nor_written", pinned),
];

fn at(host: &str, path: &str, common: (&str, i64, i64), trust: Trust) -> Checkout {
    let common = Some((common.0.to_owned(), common.1, common.2));
    Checkout { host: host.into(), path: path.into(), common, trust, tree: WorkingTree::default() }
}

const HERE: (&str, i64, i64) = ("/repo/.git", 1, 100);
const COPY: (&str, i64, i64) = ("/copy/.git", 1, 200);
const OTHER: (&str, i64, i64) = ("/other/.git", 1, 300);

fn from(world: &World, checkout: Checkout) -> Call {
    Call { checkout: Some(checkout), ..world.call("a") }
}

fn write(world: &World, checkout: Checkout) -> tenure_core::Result<Reply> {
    world.kernel.run(&from(world, checkout), &Op::new(add::Add::titled("x")))
}

fn checkouts(world: &World) -> i64 {
    number(&world.kernel, "SELECT COUNT(*) FROM checkout", &[])
}

fn one_repository(world: &World) {
    write(world, at("h", "/repo", HERE, Trust::Known)).unwrap();
    // A linked worktree has its own path and the same common directory.
    write(world, at("h", "/worktree", HERE, Trust::Known)).unwrap();
    assert_eq!(checkouts(world), 2);
    let before = dump(&world.kernel);
    write(world, at("h", "/repo", HERE, Trust::Known)).unwrap();
    assert!(!differing(&before, &dump(&world.kernel)).contains(&"checkout"), "seen before, nothing to write");
    // A query from a new location is answered and records nothing.
    world.kernel.ask(&from(world, at("h", "/third", HERE, Trust::Known)), &query::status::Status {}).unwrap();
    assert_eq!(checkouts(world), 2);
}

fn a_copy(world: &World) {
    write(world, at("h", "/repo", HERE, Trust::Known)).unwrap();
    let before = dump(&world.kernel);
    let copy = at("h", "/copy", COPY, Trust::Known);
    for error in [
        refusal(write(world, copy.clone())),
        refusal(world.kernel.ask(&from(world, copy.clone()), &query::status::Status {})),
        refusal(world.kernel.ask(&from(world, copy), &query::log::Log { limit: 1, ..Default::default() })),
    ] {
        assert_eq!(
            (error.kind().as_str(), error.code().as_str(), error.stage()),
            ("conflict", "place_differs", Stage::Resolve)
        );
        let places = error.get("places").unwrap();
        assert_eq!(*places, json!([{ "path": "/repo/.git", "device": 1, "inode": 100 }]));
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    // A replacement at the old path: the path is the same and the directory is not.
    let replaced = ("/repo/.git", 1, 300);
    assert_eq!(code_of(write(world, at("h", "/repo", replaced, Trust::Known))), "place_differs");
}

fn moved(world: &World) {
    for path in ["/repo", "/worktree"] {
        write(world, at("h", path, HERE, Trust::Known)).unwrap();
    }
    let new = ("/elsewhere/.git", 1, 100);
    let trust = Trust::Moved(vec![HERE.0.to_owned()]);
    write(world, at("h", "/elsewhere", new, trust)).unwrap();
    // The worktree belongs to the new location, which is known from now on.
    assert_eq!(checkouts(world), 2);
    write(world, at("h", "/elsewhere", new, Trust::Known)).unwrap();
    write(world, at("h", "/worktree", new, Trust::Known)).unwrap();
    assert_eq!(code_of(write(world, at("h", "/repo", HERE, Trust::Known))), "place_differs");
    assert_eq!(
        world.kernel.ask(&world.call("a"), &query::status::Status {}).unwrap().ready,
        5,
        "one project all the time"
    );
}

fn held_on(world: &World) {
    let reserve = |agent: &str, checkout: &Checkout, path: &str| {
        let request = reserve::Reserve { paths: vec![path.to_owned()], ..reserve::Reserve::default() };
        let call = Call { checkout: Some(checkout.clone()), ..world.call(agent) };
        world.kernel.run(&call, &Op::new(request))
    };
    let places =
        [("/repo", "/new"), ("/repo/trees/w", "/new/trees/w"), ("/linked", "/linked"), ("/repository", "/repository")];
    let [old, new] = [HERE, ("/new/.git", 1, 100)];
    // Whichever calls first after the move, all of them keep their identity.
    for first in 0..places.len() {
        for (n, (path, _)) in places.iter().enumerate() {
            let known = Trust::Moved(vec![new.0.to_owned()]);
            reserve("a", &at("h", path, old, known), &format!("f{first}-{n}")).unwrap();
        }
        assert_eq!(checkouts(world), 4);
        let order = (0..places.len()).map(|n| (n + first) % places.len());
        for (nth, n) in order.enumerate() {
            let trust = if nth == 0 { Trust::Moved(vec![old.0.to_owned()]) } else { Trust::Known };
            let here = at("h", places[n].1, new, trust);
            let file = format!("f{first}-{n}");
            assert_eq!(code_of(reserve("b", &here, &file)), "path_held", "{} after {first}", places[n].1);
            let held = world.kernel.run(
                &Call { checkout: Some(here), ..world.call("a") },
                &Op::new(reserve::Reserve { paths: vec![file], ..reserve::Reserve::default() }),
            );
            held.unwrap();
        }
        assert_eq!(checkouts(world), 4, "none is new");
    }
}

fn joined(world: &World) {
    write(world, at("h", "/repo", HERE, Trust::Known)).unwrap();
    write(world, at("h", "/copy", COPY, Trust::Joined)).unwrap();
    for (path, common) in [("/repo", HERE), ("/copy", COPY), ("/copy-worktree", COPY), ("/worktree", HERE)] {
        write(world, at("h", path, common, Trust::Known)).unwrap();
    }
    let third = at("h", "/third", ("/third/.git", 1, 9), Trust::Known);
    let error = refusal(write(world, third));
    assert_eq!(error.get("places").unwrap().as_array().unwrap().len(), 4, "all places are named");
}

fn anywhere(world: &World) {
    for (path, common) in [("/repo", HERE), ("/copy", COPY)] {
        write(world, at("h", path, common, Trust::Any)).unwrap();
    }
    let bare = Checkout {
        host: "h".into(),
        path: "/plain".into(),
        common: None,
        trust: Trust::Any,
        tree: WorkingTree::default(),
    };
    write(world, bare).unwrap();
    assert_eq!(checkouts(world), 3);
}

fn apart(world: &World) {
    write(world, at("h1", "/repo", HERE, Trust::Known)).unwrap();
    // The same path on another host is another directory, with other numbers.
    write(world, at("h2", "/repo", ("/repo/.git", 7, 700), Trust::Known)).unwrap();
    assert_eq!(code_of(write(world, at("h2", "/repo", HERE, Trust::Known))), "place_differs");
    let other = project::NamedProject { key: "name:q".into(), label: "q".into() };
    let call = Call { project: other, ..from(world, at("h1", "/copy", COPY, Trust::Known)) };
    world.kernel.run(&call, &Op::new(add::Add::titled("x"))).unwrap();
    assert_eq!(checkouts(world), 3);
    // A refused op records no location.
    let fresh = from(world, at("h1", "/worktree", HERE, Trust::Known));
    world.kernel.run(&fresh, &super::shorthand::claiming("t-00000")).unwrap_err();
    assert_eq!(checkouts(world), 3);
}

fn pinned(world: &World) {
    world.add("first");
    let own = world.kernel.store().identity().unwrap().unwrap().id;
    let pin = |store: &str| Call { pinned_store: Some(store.into()), ..world.call("a") };
    world.kernel.run(&pin(&own), &Op::new(add::Add::titled("x"))).unwrap();
    world.kernel.ask(&pin(&own), &query::status::Status {}).unwrap();
    let before = dump(&world.kernel);
    let add = Op::new(add::Add::titled("y"));
    for error in [
        refusal(world.kernel.run(&pin("s-other"), &add)),
        refusal(world.kernel.ask(&pin("s-other"), &query::status::Status {})),
        refusal(world.kernel.ask(&pin("s-other"), &query::task_id::ResolveTask { typed: "t".into() })),
    ] {
        assert_eq!(
            (error.kind().as_str(), error.code().as_str(), error.stage()),
            ("conflict", "other_store", Stage::Resolve)
        );
        assert_eq!((error.get("pinned").unwrap(), error.get("found").unwrap()), (&json!("s-other"), &json!(own)));
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    // A replay is an answer from the store, so it is refused too.
    let call = pin(&own);
    world.kernel.run(&call, &add).unwrap();
    let elsewhere = Call { pinned_store: Some("s-other".into()), ..call };
    assert_eq!(code_of(world.kernel.run(&elsewhere, &add)), "other_store");
}

fn repository(common: (&str, i64, i64)) -> Repository {
    Repository { host: "h".into(), path: common.0.into(), device: common.1, inode: common.2 }
}

/// A call from a repository with a condition.
fn only_if(world: &World, common: (&str, i64, i64), condition: Condition) -> Call {
    let top = common.0.trim_end_matches("/.git");
    Call { condition, ..from(world, at("h", top, common, Trust::Any)) }
}

/// Neither an op nor a query is answered, and nothing is written.
fn nothing_for(world: &World, call: &Call, code: &str) {
    let before = dump(&world.kernel);
    for error in [
        refusal(world.kernel.run(call, &Op::new(add::Add::titled("x")))),
        refusal(world.kernel.ask(call, &query::status::Status {})),
    ] {
        assert_eq!((error.kind().as_str(), error.code().as_str(), error.stage()), ("conflict", code, Stage::Resolve));
        assert!(error.advice().is_some());
    }
    assert!(differing(&before, &dump(&world.kernel)).is_empty());
}

fn named(world: &World) {
    let write = |call: &Call| world.kernel.run(call, &Op::new(add::Add::titled("x")));
    let known = |common| only_if(world, common, Condition::KnownProject(repository(common)));
    // The project is new: the first write creates it.
    world.kernel.ask(&only_if(world, HERE, Condition::NewProject), &query::status::Status {}).unwrap();
    write(&only_if(world, HERE, Condition::NewProject)).unwrap();
    // It is known where it was used, also after a move or a renumbering of devices.
    let moved = ("/moved/.git", HERE.1, HERE.2);
    for common in [HERE, moved, (HERE.0, 7, HERE.2)] {
        write(&known(common)).unwrap();
        world.kernel.ask(&known(common), &query::status::Status {}).unwrap();
    }
    nothing_for(world, &only_if(world, HERE, Condition::NewProject), "unconfirmed_project");
    // A copy, another directory at the same path, another machine.
    for common in [COPY, (HERE.0, HERE.1, 300), ("/x/.git", 9, HERE.2)] {
        nothing_for(world, &known(common), "unconfirmed_project");
    }
    let condition = Condition::KnownProject(Repository { host: "other".into(), ..repository(HERE) });
    nothing_for(world, &only_if(world, HERE, condition), "unconfirmed_project");
    // A directory without git is known by its path.
    let plain = Repository { host: "h".into(), path: "/plain".into(), device: 0, inode: 0 };
    let here = Checkout {
        host: "h".into(),
        path: "/plain".into(),
        common: None,
        trust: Trust::Any,
        tree: WorkingTree::default(),
    };
    let from_plain = Call { condition: Condition::KnownProject(plain), ..from(world, here) };
    nothing_for(world, &from_plain, "unconfirmed_project");
    write(&Call { condition: Condition::None, ..from_plain.clone() }).unwrap();
    write(&from_plain).unwrap();
}

fn brought(world: &World) {
    let write = |call: &Call| world.kernel.run(call, &Op::new(add::Add::titled("x")));
    let known = |common| only_if(world, common, Condition::KnownStore(repository(common)));
    // An empty store accepts any repository.
    world.kernel.ask(&known(HERE), &query::status::Status {}).unwrap();
    write(&known(HERE)).unwrap();
    write(&known(HERE)).unwrap();
    nothing_for(world, &known(COPY), "unconfirmed_store");
    // For any project, and for calls about the whole store.
    let other = project::NamedProject { key: "name:q".into(), label: "q".into() };
    nothing_for(world, &Call { project: other.clone(), ..known(COPY) }, "unconfirmed_store");
    let whole = Call { project: project::whole_store(), checkout: None, ..known(COPY) };
    assert_eq!(code_of(world.kernel.ask(&whole, &query::status::Status {})), "unconfirmed_store");
    write(&Call { project: other.clone(), ..known(HERE) }).unwrap();
    // If the repository also names the project, both must be known, or the project must be new.
    let both = |common, project: &project::NamedProject| Call {
        project: project.clone(),
        ..only_if(world, common, Condition::KnownBoth(repository(common)))
    };
    let elsewhere = project::NamedProject { key: "name:elsewhere".into(), label: "elsewhere".into() };
    write(&Call { project: elsewhere.clone(), ..only_if(world, OTHER, Condition::None) }).unwrap();
    nothing_for(world, &both(HERE, &elsewhere), "unconfirmed_project");
    nothing_for(world, &both(COPY, &elsewhere), "unconfirmed_store");
    write(&both(HERE, &other)).unwrap();
    let new = project::NamedProject { key: "name:new".into(), label: "new".into() };
    write(&both(HERE, &new)).unwrap();
    write(&both(HERE, &new)).unwrap();
    // A repository that a person confirmed is known from then on.
    write(&only_if(world, COPY, Condition::None)).unwrap();
    write(&known(COPY)).unwrap();
}
