use std::fs::{File, Permissions};
use std::os::unix::fs::symlink;
use std::sync::Barrier;

use tenure_client::phrasing::Commands;
use tenure_core::Kind;

use super::*;
use crate::workspace::fixture::Area;

fn pin(store: &str) -> Pin {
    Pin { store: store.into(), location: "/data/tenure.db".into(), key: "name:shop".into() }
}

// Counts up from a seed: different seeds give different ids.
fn from(seed: u8) -> impl FnMut(&mut [u8]) {
    move |bytes| bytes.iter_mut().enumerate().for_each(|(n, byte)| *byte = seed.wrapping_mul(31).wrapping_add(n as u8))
}

fn no_links(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(rustix::io::Errno::PERM.raw_os_error()))
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn inv_i5_twenty_at_once_agree_on_one_id_and_one_pin() {
    let area = Area::new();
    let common = &area.path(".");
    let start = &Barrier::new(20);
    let results: Vec<(String, Pin)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20u8)
            .map(|n| {
                scope.spawn(move || {
                    start.wait();
                    let id = make_id(common, &mut from(n)).unwrap();
                    (id, make_pin(common, &pin(&format!("s-{n}"))).unwrap())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    assert_eq!(read_id(common).unwrap().as_ref(), Some(&results[0].0));
    assert_eq!(names(&common.join("tenure")), ["id", "pin"], "no private file is left");
}

#[test]
fn inv_i5_without_hard_links_one_still_wins() {
    let area = Area::new();
    let path = &id_file(&area.path("."));
    let start = &Barrier::new(20);
    std::thread::scope(|scope| {
        for n in 0..20u8 {
            scope.spawn(move || {
                start.wait();
                create(path, format!("{}\n", draw(&mut from(n))).as_bytes(), no_links).unwrap();
                let first = fs::read_to_string(path).unwrap();
                assert_eq!(first.len(), ID_LENGTH + 1);
                create(path, b"late\n", no_links).unwrap();
                assert_eq!(fs::read_to_string(path).unwrap(), first);
            });
        }
    });
    assert_eq!(names(parent(path)), ["id", "id.lock"]);
}

#[test]
fn inv_i5_without_hard_links_nobody_renames_past_the_lock() {
    let area = Area::new();
    let path = id_file(&area.path("."));
    fs::create_dir(parent(&path)).unwrap();
    let lock = File::create(path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| create(&path, b"other\n", no_links));
        // Long enough for the other to have looked and renamed, if nothing held it back.
        for _ in 0..20_000 {
            std::thread::yield_now();
        }
        assert!(!other.is_finished() && !path.exists());
        fs::write(&path, "mine\n").unwrap();
        lock.unlock().unwrap();
        other.join().unwrap().unwrap();
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
}

#[test]
fn inv_c4_files_are_private_and_directories_that_exist_are_left_as_they_are() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let area = Area::new();
    let common = area.path(".");
    make_id(&common, &mut from(1)).unwrap();
    make_pin(&common, &pin("s-1")).unwrap();
    assert_eq!(
        [mode(&common.join("tenure")), mode(&id_file(&common)), mode(&pin_file(&common))],
        [0o700, 0o600, 0o600]
    );

    let other = area.path("other");
    fs::create_dir_all(other.join("tenure")).unwrap();
    fs::set_permissions(other.join("tenure"), Permissions::from_mode(0o755)).unwrap();
    make_id(&other, &mut from(2)).unwrap();
    assert_eq!(mode(&other.join("tenure")), 0o755);
}

#[test]
fn inv_c3_a_replacement_is_whole_keeps_its_mode_and_leaves_nothing_behind() {
    let area = Area::new();
    let common = area.path(".");
    let old = make_id(&common, &mut from(1)).unwrap();
    make_pin(&common, &pin("s-1")).unwrap();
    fs::set_permissions(pin_file(&common), Permissions::from_mode(0o640)).unwrap();
    let new = replace_id(&common, &mut from(2)).unwrap();
    assert_ne!(new, old);
    assert_eq!(read_id(&common).unwrap(), Some(new));
    replace_pin(&common, &pin("s-2")).unwrap();
    assert_eq!(read_pin(&common).unwrap(), Some(pin("s-2")));
    assert_eq!(make_pin(&common, &pin("s-3")).unwrap(), pin("s-2"), "the pin in force stays");
    assert_eq!(fs::metadata(pin_file(&common)).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&common.join("tenure")), ["id", "pin"]);
}

#[test]
fn the_files_are_one_line_each() {
    let area = Area::new();
    let common = area.path(".");
    assert_eq!((read_id(&common).unwrap(), read_pin(&common).unwrap()), (None, None));
    let id = make_id(&common, &mut |bytes| bytes.fill(33)).unwrap();
    assert_eq!(id, "1".repeat(26));
    assert_eq!(fs::read_to_string(id_file(&common)).unwrap(), format!("{id}\n"));
    make_pin(&common, &pin("s-1")).unwrap();
    let text = fs::read_to_string(pin_file(&common)).unwrap();
    assert_eq!(text, "{\"store\":\"s-1\",\"location\":\"/data/tenure.db\",\"key\":\"name:shop\"}\n");
    // A later version may add fields; this one must still read the pin.
    fs::write(pin_file(&common), text.replacen('{', "{\"more\":1,", 1)).unwrap();
    assert_eq!(read_pin(&common).unwrap(), Some(pin("s-1")));
}

#[test]
fn inv_c4_corrupt_files_are_errors_and_stay_as_they_are() {
    let area = Area::new();
    let common = area.path(".");
    fs::create_dir(common.join("tenure")).unwrap();
    let short = "0".repeat(25);
    let upper = "A".repeat(26);
    for text in ["", "\n", "garbage", &short, &upper, "\0\0\0", "0123456789abcdefghjkmnpqrs\nmore\n"] {
        fs::write(id_file(&common), text).unwrap();
        for result in [read_id(&common).map(|_| ()), make_id(&common, &mut from(1)).map(|_| ())] {
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "project_file_corrupt"), "{text:?}");
            assert!(error.message().contains("tenure/id") && error.advice().is_some(), "{error}");
        }
        assert_eq!(fs::read_to_string(id_file(&common)).unwrap(), text);
    }
    let huge = "x".repeat(70_000);
    for text in ["", "{}", "[1]", "{\"store\":1}", "{\"store\":\"\",\"location\":\"\",\"key\":\"k\"}", &huge] {
        fs::write(pin_file(&common), text).unwrap();
        let error = make_pin(&common, &pin("s-1")).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "project_file_corrupt"));
        assert!(error.advice().unwrap().say(&Commands).contains("tenure project pin"));
        assert_eq!(fs::read_to_string(pin_file(&common)).unwrap(), text);
    }
}

#[test]
fn inv_c4_links_pipes_and_directories_in_place_of_the_file_are_refused() {
    let area = Area::new();
    let common = area.path(".");
    let other = area.path("other");
    fs::create_dir(&other).unwrap();
    make_id(&other, &mut from(1)).unwrap();
    fs::create_dir(common.join("tenure")).unwrap();
    let path = id_file(&common);
    for target in [id_file(&other), "nowhere".into()] {
        symlink(target, &path).unwrap();
        let error = make_id(&common, &mut from(2)).unwrap_err();
        assert!(error.kind() == Kind::Storage && error.message().contains("symbolic link"), "{error}");
        fs::remove_file(&path).unwrap();
    }
    fs::create_dir(&path).unwrap();
    assert_eq!(make_id(&common, &mut from(2)).unwrap_err().kind(), Kind::Storage);
    fs::remove_dir(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(read_id(&common).unwrap_err().code(), "project_file_corrupt");
}

#[test]
fn a_read_only_git_directory_is_said_to_be_perhaps_a_sandbox() {
    use rustix::io::Errno;
    for code in [Errno::ROFS, Errno::ACCESS, Errno::PERM] {
        let error = unwritable(Path::new("/r/.git/tenure/id"), io::Error::from_raw_os_error(code.raw_os_error()));
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "git_read_only"));
        assert!(error.message().contains("/r/.git/tenure is not writable") && error.message().contains("sandbox"));
    }
    let full = unwritable(Path::new("/r/.git/tenure/id"), io::Error::from_raw_os_error(Errno::NOSPC.raw_os_error()));
    assert_eq!(full.code(), "project_file_unwritable");
    // A directory that does not exist is not made: only `tenure` itself is ours to make.
    assert_eq!(make_id(Path::new("/nonexistent/.git"), &mut from(1)).unwrap_err().kind(), Kind::Storage);
}
