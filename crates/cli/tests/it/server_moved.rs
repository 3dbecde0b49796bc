//! A store file that is moved away or replaced under a running server.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Reply, Up, bearer, home, token};
use crate::home::{Engine, Home};

struct Scene {
    home: Home,
    up: Up,
    secret: String,
    /// The database as it was before the server ran.
    before: PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let home = home(Engine::File);
        let secret = bearer(&token(&home, "person:bob", "worker", "web"));
        let before = home.path("before.db");
        fs::copy(home.whole_database(), &before).unwrap();
        let up = Up::start(&home, &["up"]);
        Scene { home, up, secret, before }
    }

    fn add(&self, title: &str) -> Reply {
        let headers = [("Authorization", self.secret.as_str())];
        self.up.ask("POST", "/api/v1/ops/add", &headers, Some(&json!({ "title": title })))
    }

    fn titles(&self) -> Vec<String> {
        let reply = self.up.ask("GET", "/api/v1/projects/web/tasks", &[("Authorization", &self.secret)], None);
        assert_eq!(reply.status, 200, "{reply:?}");
        let items = reply.body["items"].as_array().unwrap();
        items.iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect()
    }

    fn is_refused(&self) {
        let refused = self.add("to nobody");
        assert_eq!((&refused.body["code"], &refused.body["kind"]), (&json!("store_moved"), &json!("storage")));
        let read = self.up.ask("GET", "/api/v1/projects/web/tasks", &[("Authorization", &self.secret)], None);
        assert_eq!(read.body["code"], "store_moved", "{read:?}");
        let ready = self.up.ask("GET", "/readyz", &[], None);
        assert_eq!((ready.status, &ready.body["code"]), (503, &json!("store_moved")));
        assert_eq!(self.up.ask("GET", "/livez", &[], None).status, 200);
    }

    /// The number of tasks in a file, read separately: outside the repository, which is pinned to the store's own path.
    fn tasks_in(&self, file: &Path) -> Value {
        let outside = self.home.path("outside");
        fs::create_dir_all(&outside).unwrap();
        let words = ["list", "--store", file.to_str().unwrap(), "--project", "web"];
        self.home.call(&words).cwd(outside).json().run().data()["total"].clone()
    }

    fn is_served(&self) {
        assert_eq!(self.up.ask("GET", "/readyz", &[], None).status, 200);
    }
}

#[test]
fn inv_t5_a_store_that_was_moved_away_is_not_written_and_goes_on_when_it_is_back() {
    let scene = Scene::new();
    assert_eq!(scene.add("second").status, 200);
    let (database, away) = (scene.home.database(), scene.home.path("away.db"));
    fs::rename(&database, &away).unwrap();
    scene.is_refused();
    scene.is_refused();
    assert!(!database.exists(), "no other is made in its place");
    // The file alone contains everything that was acknowledged.
    let alone = scene.home.path("alone.db");
    fs::copy(&away, &alone).unwrap();
    assert_eq!(scene.tasks_in(&alone), 2);
    fs::rename(&away, &database).unwrap();
    scene.is_served();
    assert_eq!(scene.add("third").status, 200);
    assert_eq!(scene.titles(), ["first", "second", "third"]);
    assert_eq!(scene.home.ok(&["list"])["total"], 3);
}

#[test]
fn inv_t5_an_older_file_of_the_same_store_in_its_place_is_served_from_then_on() {
    let scene = Scene::new();
    assert_eq!(scene.add("second").status, 200);
    let (database, away) = (scene.home.database(), scene.home.path("away.db"));
    fs::rename(&database, &away).unwrap();
    fs::rename(&scene.before, &database).unwrap();
    assert_eq!(scene.add("after").status, 200);
    scene.is_served();
    assert_eq!(scene.titles(), ["first", "after"]);
    // Commands see the same, through the server and without it.
    assert_eq!(scene.home.ok(&["list"])["total"], 2);
    scene.home.add("by a command");
    assert_eq!(scene.home.call(&["list"]).env("TENURE_SOCKET", "off").json().run().data()["total"], 3);
    assert_eq!(scene.titles().len(), 3);
    assert_eq!(scene.tasks_in(&away), 2, "what was acknowledged before is in the file that was moved");
}

#[test]
fn inv_t5_another_store_in_its_place_is_neither_read_nor_written() {
    let scene = Scene::new();
    assert_eq!(scene.add("second").status, 200);
    let other = home(Engine::File);
    let (database, away) = (scene.home.database(), scene.home.path("away.db"));
    fs::rename(&database, &away).unwrap();
    fs::copy(other.whole_database(), &database).unwrap();
    let bytes = fs::read(&database).unwrap();
    scene.is_refused();
    assert_eq!(fs::read(&database).unwrap(), bytes, "it is as it was");
    fs::remove_file(&database).unwrap();
    fs::write(&database, b"no store at all").unwrap();
    let refused = scene.add("to nobody");
    assert_eq!(refused.body["kind"], "storage", "{refused:?}");
    fs::rename(&away, &database).unwrap();
    scene.is_served();
    assert_eq!(scene.titles(), ["first", "second"]);
}

impl Scene {
    /// A companion file of the database, by its suffix.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.home.database().into_os_string();
        name.push(suffix);
        name.into()
    }

    /// Kills the server, as a crash would, and returns the number of tasks afterwards.
    fn crash(self) -> Value {
        self.up.signal(rustix::process::Signal::KILL);
        drop(self.up);
        self.home.ok(&["list"])["total"].clone()
    }
}

#[test]
fn inv_t10_a_log_that_was_removed_loses_nothing_that_was_acknowledged() {
    let scene = Scene::new();
    assert_eq!(scene.add("before").status, 200);
    fs::remove_file(scene.beside("-wal")).unwrap();
    for title in ["one", "two", "three"] {
        let added = scene.add(title);
        assert_eq!(added.status, 200, "{added:?}");
    }
    assert!(scene.beside("-wal").exists(), "the log has its name again");
    assert_eq!(scene.titles().len(), 5);
    assert_eq!(scene.crash(), 5, "what was acknowledged is there");
}

#[test]
fn inv_t10_a_query_is_enough_to_save_what_a_removed_log_had() {
    let scene = Scene::new();
    assert_eq!(scene.add("acknowledged").status, 200);
    fs::remove_file(scene.beside("-wal")).unwrap();
    assert_eq!(scene.titles().len(), 2);
    assert_eq!(scene.crash(), 2);
}

#[test]
fn inv_t10_a_log_removed_with_its_index_stops_writes_and_an_orderly_end_saves_it() {
    let scene = Scene::new();
    assert_eq!(scene.add("acknowledged").status, 200);
    fs::remove_file(scene.beside("-wal")).unwrap();
    fs::remove_file(scene.beside("-shm")).unwrap();
    scene.is_refused();
    scene.is_refused();
    let Scene { home, mut up, .. } = scene;
    up.end();
    drop(up);
    assert_eq!(home.ok(&["list"])["total"], 2);
}

#[test]
fn inv_t10_a_log_that_others_went_on_with_is_left_alone() {
    let scene = Scene::new();
    assert_eq!(scene.add("acknowledged").status, 200);
    fs::remove_file(scene.beside("-wal")).unwrap();
    fs::write(scene.beside("-wal"), b"the log of another program").unwrap();
    scene.is_refused();
    assert_eq!(fs::read(scene.beside("-wal")).unwrap(), b"the log of another program");
}
