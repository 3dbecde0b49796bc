use std::path::Path;
use std::time::Duration;

use tenure_core::Code;
use tenure_kernel::op::add::Add;
use tenure_kernel::query::switched_on::SwitchedOn;
use tenure_store::Deadline;

use super::*;
use crate::env::Env;
use crate::settings::Globals;
use crate::workspace::fixture::Area;
use crate::workspace::path_args;

fn env(area: &Area, cwd: &Path) -> Env {
    Env::of(cwd, []).with("HOME", area.path("home")).with("USER", "ann").with("XDG_STATE_HOME", area.path("state"))
}

fn hook(writes: bool) -> StoreUse {
    let time = HookTime { patience: Duration::from_millis(250), deadline: Deadline::after(Duration::from_secs(2)) };
    StoreUse::Hook { time, writes }
}

fn is_touched(area: &Area) -> bool {
    ["home", "state", "repo/.git/tenure", "repo/.tenure"].iter().any(|path| area.path(path).exists())
}

#[test]
fn inv_t5_opening_and_asking_make_nothing_whatever_the_use() {
    let area = Area::new();
    let env = env(&area, &area.repo("repo"));
    let (out, settings) =
        (Printer::new(false, true, crate::output::ColourChoice::Auto, &env), Settings::new(Globals::default(), &env));
    let uses = [StoreUse::Read, StoreUse::Follow, StoreUse::Write, StoreUse::Restore, StoreUse::Choose];
    for store_use in uses.into_iter().chain([hook(false), hook(true)]) {
        let session = Session::open(&settings, &out, store_use).unwrap();
        assert!(!is_touched(&area), "{store_use:?} opened");
        // Without a store the answer is that nothing has happened, or that there is none.
        let _ = session.ask(&SwitchedOn {});
        assert!(!is_touched(&area), "{store_use:?} asked");
    }
}

#[test]
fn a_malformed_op_makes_nothing_and_a_good_one_makes_store_id_and_pin() {
    let area = Area::new();
    let env = env(&area, &area.repo("repo"));
    let (out, settings) =
        (Printer::new(false, true, crate::output::ColourChoice::Auto, &env), Settings::new(Globals::default(), &env));
    let session = Session::open(&settings, &out, StoreUse::Write).unwrap();
    assert_eq!(session.run(Add::titled(""), RunOptions::default()).unwrap_err().code(), Code::TitleEmpty);
    assert!(!is_touched(&area));
    session.run(Add::titled("one"), RunOptions::default()).unwrap();
    assert!(area.path("repo/.git/tenure/id").is_file() && area.path("repo/.git/tenure/pin").is_file());
    // A hook makes no store, even where the pinned one is gone.
    std::fs::remove_dir_all(area.path("home")).unwrap();
    let session = Session::open(&settings, &out, hook(true)).unwrap();
    assert!(session.run(Add::titled("two"), RunOptions::default()).is_err());
    assert!(!area.path("home").exists());
}

#[test]
fn a_refused_connection_is_reported_after_a_malformed_request() {
    let area = Area::new();
    let repo = area.repo("repo");
    std::fs::write(repo.join("tenure.toml"), "store = \"postgres://db.example/tenure\"\n").unwrap();
    let env = env(&area, &repo);
    let (out, settings) =
        (Printer::new(false, true, crate::output::ColourChoice::Auto, &env), Settings::new(Globals::default(), &env));
    let session = Session::open(&settings, &out, StoreUse::Write).unwrap();
    assert_eq!(session.run(Add::titled(""), RunOptions::default()).unwrap_err().code(), Code::TitleEmpty);
    assert_eq!(session.run(Add::titled("one"), RunOptions::default()).unwrap_err().code(), Code::UnconfirmedStore);
    assert_eq!(session.ask(&SwitchedOn {}).unwrap_err().code(), Code::UnconfirmedStore);
}

#[test]
fn inv_i5_paths_decide_the_workspace_and_stay_in_one_checkout() {
    let area = Area::new();
    let (here, there) = (area.repo("repo"), area.repo("other"));
    let env = env(&area, &here);
    let settings = Settings::new(Globals::default(), &env);
    let located = |paths: &[&str]| {
        let typed: Vec<_> = paths.iter().map(Into::into).collect();
        path_args::locate(&settings, &typed).map(|(workspace, typed)| (workspace.dir, typed.paths))
    };
    assert_eq!(located(&[]).unwrap(), (here.clone(), Vec::new()));
    assert_eq!(located(&["a.rs"]).unwrap(), (here, vec!["./a.rs".to_owned()]));
    assert_eq!(located(&["../other/b.rs"]).unwrap(), (there, vec!["./b.rs".to_owned()]));
    assert_eq!(located(&["a.rs", "../other/b.rs"]).unwrap_err().code(), Code::SeveralCheckouts);
    assert_eq!(located(&["../other/b.rs", "a.rs"]).unwrap_err().code(), Code::SeveralCheckouts);
}
