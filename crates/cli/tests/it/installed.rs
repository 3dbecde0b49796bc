//! What a person installs: completions and man pages by the program itself, and a release by its script.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest, Sha256};

use crate::home::{Engine, Home, TENURE};

const SCRIPTS: [&str; 3] =
    ["bash-completion/completions/tenure", "zsh/site-functions/_tenure", "fish/vendor_completions.d/tenure.fish"];

#[test]
fn completions_and_man_pages_are_installed_and_leave_nothing() {
    let home = Home::direct(Engine::File);
    let first = home.run(&["completions", "--install"]);
    assert_eq!((first.code, first.stderr.as_str()), (0, ""));
    let data = home.path("home/.local/share");
    let expected = [&SCRIPTS[..], &["Undo with `tenure completions --uninstall`", "man: put"]].concat();
    assert!(expected.iter().all(|text| first.stdout.contains(text)), "{}", first.stdout);
    for (shell, script) in ["bash", "zsh", "fish"].into_iter().zip(SCRIPTS) {
        let installed = fs::read_to_string(data.join(script)).unwrap();
        assert!(installed.starts_with(&home.run(&["completions", shell]).stdout), "{script}");
    }
    let pages = fs::read_dir(data.join("man/man1")).unwrap().count();
    assert!(pages > 40, "{pages}");

    let again = home.ok(&["completions", "--install"]);
    assert_eq!(again["written"], serde_json::json!([]));
    assert_eq!(again["unchanged"].as_array().unwrap().len(), pages + SCRIPTS.len());

    let gone = home.ok(&["completions", "--uninstall"]);
    assert_eq!(gone["removed"].as_array().unwrap().len(), pages + SCRIPTS.len());
    assert!(home.files("home").is_empty(), "{:?}", home.files("home"));
    let nothing = home.run(&["completions", "--uninstall"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, "Nothing is installed.\n"));
}

#[test]
fn completions_never_touch_a_file_of_another() {
    let home = Home::direct(Engine::File);
    let data = home.path("home/.local/share");
    let foreign = data.join(SCRIPTS[2]);
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::write(&foreign, "complete -c tenure\n").unwrap();
    let before = home.files("home");
    let refusal = home.refused(&["completions", "--install"]);
    refusal.is("conflict", "file_exists");
    assert_eq!(home.files("home"), before, "all or nothing");

    home.ok(&["completions", "--install", "bash"]);
    // Changed by the user since.
    let changed = data.join(SCRIPTS[0]);
    fs::write(&changed, fs::read_to_string(&changed).unwrap() + "alias t=tenure\n").unwrap();
    home.refused(&["completions", "--install", "bash"]).is("conflict", "file_exists");
    let gone = home.ok(&["completions", "--uninstall"]);
    assert_eq!(gone["kept"], serde_json::json!([changed, foreign]));
    assert!(changed.exists() && foreign.exists() && !data.join("man").exists());
    home.refused(&["completions", "--install", "elvish"]).is("usage", "bad_arguments");
}

#[test]
fn an_upgrade_replaces_its_files_and_removes_pages_of_commands_that_are_gone() {
    let home = Home::direct(Engine::File);
    home.ok(&["completions", "--install", "fish"]);
    let man = home.path("home/.local/share/man/man1");
    // A page with a valid mark, as another version would have left it under another name.
    fs::copy(man.join("tenure-claim.1"), man.join("tenure-earlier.1")).unwrap();
    fs::copy(man.join("tenure-claim.1"), man.join("tenure-done.1")).unwrap();
    fs::write(man.join("tenure-mine.1"), "my own page\n").unwrap();
    let report = home.ok(&["completions", "--install", "fish"]);
    assert_eq!(report["written"], serde_json::json!([man.join("tenure-done.1")]));
    assert_eq!(report["removed"], serde_json::json!([man.join("tenure-earlier.1")]));
    assert!(man.join("tenure-mine.1").exists());
}

#[test]
fn every_command_of_the_overview_has_a_man_page_without_errors() {
    let home = Home::direct(Engine::File);
    let overview = home.run(&["--help"]).stdout;
    let commands: Vec<&str> = overview
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty() && !word.starts_with('-'))
        .collect();
    assert!(commands.len() > 30 && commands.contains(&"claim"), "{commands:?}");
    let dir = home.path("tmp/man");
    assert_eq!(home.run(&["man".as_ref(), "--dir".as_ref(), dir.as_os_str()]).code, 0);
    let top = fs::read_to_string(dir.join("tenure.1")).unwrap();
    for command in commands {
        let page = fs::read_to_string(dir.join(format!("tenure-{command}.1"))).unwrap();
        assert_eq!(home.run(&["man", command]).stdout, page, "{command}");
        assert!(page.contains(".SH EXAMPLES\n"), "{command}");
        assert!(top.contains(&format!("tenure\\-{command}(1)")), "{command} is not listed in tenure.1");
    }
    // Pages of subcommands, to which the page of their command refers.
    assert!(home.run(&["man", "project", "list"]).stdout.contains("tenure\\-project\\-list"));
    home.refused(&["man", "nonsense"]).is("usage", "bad_arguments");
    // The formatter itself, where there is one: it complains on standard error.
    if let Ok(check) = Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(dir.join("tenure.1")).output() {
        assert_eq!(String::from_utf8_lossy(&check.stderr), "");
    }
}

#[test]
fn man_pages_replace_no_file_of_another() {
    let home = Home::direct(Engine::File);
    let dir = home.path("tmp/man");
    let write = || home.call(&["man".as_ref(), "--dir".as_ref(), dir.as_os_str()]).json().run();
    assert_eq!((write().code, write().code), (0, 0), "its own pages are replaced");
    let page = dir.join("tenure-claim.1");
    let of_ours = fs::read_to_string(&page).unwrap();
    fs::write(&page, of_ours.replace("\"tenure 0", "\"tenure 99.0")).unwrap();
    assert_eq!(write().code, 0, "those of another version too");
    assert_eq!(fs::read_to_string(&page).unwrap(), of_ours);

    let first = dir.join("tenure-add.1");
    fs::remove_file(&first).unwrap();
    let elsewhere = home.path("tmp/elsewhere");
    fs::write(&elsewhere, &of_ours).unwrap();
    for foreign in ["my own page\n", ".TH CLAIM 1\n"] {
        fs::write(&page, foreign).unwrap();
        write().refusal().is("conflict", "file_exists").names(&["tenure-claim.1"]);
        assert_eq!(fs::read_to_string(&page).unwrap(), foreign);
    }
    fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &page).unwrap();
    write().refusal().is("conflict", "file_exists");
    assert!(page.is_symlink() && !first.exists(), "all or nothing");

    // Pages of `completions --install` have a checksum, without which it would not recognise them.
    home.ok(&["completions", "--install", "fish"]);
    let dir = home.path("home/.local/share/man/man1");
    home.call(&["man".as_ref(), "--dir".as_ref(), dir.as_os_str()])
        .json()
        .run()
        .refusal()
        .is("conflict", "file_exists");
}

#[test]
fn a_release_removes_nothing_outside_its_prefix_whatever_its_record_says() {
    let release = Release::staged();
    let prefix = release.at("home/it's a prefix");
    let (ok, said) = release.script(&["--prefix", prefix.to_str().unwrap()]);
    assert!(ok, "{said}");
    // What it tells the user to type works, whatever the prefix is called.
    let hint = |head: &str| said.lines().find_map(|line| line.strip_prefix(head)).unwrap().to_owned();
    let path = hint("Add it to your PATH: ");
    let shell = |line: &str| release.home.clean("sh".as_ref()).args(["-c", line]).output().unwrap();
    let found = shell(&format!("{path}; command -v tenure"));
    assert_eq!(String::from_utf8(found.stdout).unwrap().trim_end(), prefix.join("bin/tenure").to_str().unwrap());

    let sum = |text: &str| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let record = prefix.join("share/doc/tenure/installed");
    let mut lines = fs::read_to_string(&record).unwrap();
    fs::create_dir_all(release.at("home/empty")).unwrap();
    fs::create_dir_all(prefix.join("other/empty")).unwrap();
    for (file, named) in [("home/letter", "../letter"), ("home/note", "share/../../note"), ("home/x", "bin/./../../x")]
    {
        fs::write(release.at(file), "precious").unwrap();
        lines.push_str(&format!("{}  {named}\n", sum("precious")));
    }
    fs::write(prefix.join("other/file"), "precious").unwrap();
    lines.push_str(&format!("{}  other/file\n", sum("precious")));
    for directory in ["../empty", "other/empty", "share/../../empty", release.at("home/empty").to_str().unwrap()] {
        lines.push_str(&format!("directory  {directory}\n"));
    }
    // A file below the prefix that is not as the record says.
    let page = prefix.join("share/man/man1/tenure-claim.1");
    fs::write(&page, "my own page\n").unwrap();
    fs::write(&record, lines).unwrap();

    let removed = shell(&hint("Remove it with: "));
    assert!(removed.status.success(), "{removed:?}");
    let kept = ["home/letter", "home/note", "home/x", "home/empty"].map(|name| release.at(name));
    let inside = ["other/file", "other/empty"].map(|name| prefix.join(name));
    for path in kept.iter().chain(&inside).chain([&page]) {
        assert!(path.exists(), "{}", path.display());
    }
    assert!(!prefix.join("bin").exists() && !record.exists());
}

#[test]
fn a_release_is_installed_upgraded_and_removed_without_a_trace() {
    let release = Release::staged();
    let before = release.tree("home");
    let prefix = release.at("home/deep/prefix");
    let installed = release.script(&["--prefix", prefix.to_str().unwrap()]);
    assert!(installed.0, "{}", installed.1);
    assert!(
        installed.1.contains("Installed tenure 0.") && installed.1.contains("Add it to your PATH"),
        "{}",
        installed.1
    );
    for file in ["bin/tenure", "share/man/man1/tenure-claim.1", "share/doc/tenure/THIRD-PARTY.txt", SCRIPTS[1]] {
        let file = if file == SCRIPTS[1] { format!("share/{file}") } else { file.to_owned() };
        assert!(prefix.join(&file).is_file(), "{file}");
    }
    let mode = fs::metadata(prefix.join("bin/tenure")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);

    // The next version has another page less; a file of the user beside ours stays.
    let once = release.tree("home");
    release.without("share/man/man1/tenure-claim.1");
    let upgraded = release.script(&["--prefix", prefix.to_str().unwrap()]);
    assert!(upgraded.0, "{}", upgraded.1);
    let page = prefix.join("share/man/man1/tenure-claim.1");
    assert!(!page.exists());
    assert_eq!(release.tree("home").len(), once.len() - 1);
    fs::write(&page, "my own page\n").unwrap();

    // By the copy that was installed, which knows its prefix.
    let own = prefix.join("share/doc/tenure/install.sh");
    let removed = release.run(&own, &["--uninstall"]);
    assert!(removed.0, "{}", removed.1);
    let left: Vec<PathBuf> = release.tree("home").into_keys().filter(|path| !before.contains_key(path)).collect();
    let parents = page.ancestors().take_while(|path| !before.contains_key(*path)).count();
    assert!(left.len() == parents && left.contains(&page), "{left:?}");
    fs::remove_file(&page).unwrap();
    fs::remove_dir_all(release.at("home/deep")).unwrap();

    assert!(release.script(&["--prefix", prefix.to_str().unwrap()]).0);
    assert!(release.script(&["--uninstall", "--prefix", prefix.to_str().unwrap()]).0);
    assert_eq!(release.tree("home"), before);
}

#[test]
fn a_release_is_refused_where_it_does_not_fit() {
    let release = Release::staged();
    let before = release.tree("home");
    let prefix = release.at("home/prefix");
    let to = ["--prefix", prefix.to_str().unwrap()];

    let (ok, said) = release.script(&["--uninstall", to[0], to[1]]);
    assert!(!ok && said.contains("nothing is installed in"), "{said}");

    // Another machine: the release says which it is for, and checksums cover that.
    let target = fs::read_to_string(release.at("release/TARGET")).unwrap();
    release.replace("TARGET", "riscv64gc-unknown-linux-gnu\n");
    let (ok, said) = release.script(&to);
    assert!(!ok && said.contains("this release is for riscv64gc-unknown-linux-gnu"), "{said}");
    release.replace("TARGET", &target);

    // A damaged download.
    let readme = release.at("release/share/doc/tenure/README.md");
    let text = fs::read_to_string(&readme).unwrap();
    fs::write(&readme, "damaged").unwrap();
    let (ok, said) = release.script(&to);
    assert!(!ok && said.contains("differ from SHA256SUMS"), "{said}");
    fs::write(&readme, text).unwrap();
    assert_eq!(release.tree("home"), before, "nothing was installed by any of these");

    // A program that something else put there.
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/tenure"), "#!/bin/sh\n").unwrap();
    let foreign = release.tree("home");
    let (ok, said) = release.script(&to);
    assert!(!ok && said.contains(prefix.join("bin/tenure").to_str().unwrap()), "{said}");
    assert_eq!(release.tree("home"), foreign);
    let (ok, said) = release.script(&["--prefx"]);
    assert!(!ok && said.contains("unknown option"), "{said}");
}

/// A release as its archive contains it, made with the program under test, and a home to install it in.
struct Release {
    home: Home,
}

impl Release {
    fn staged() -> Release {
        let home = Home::direct_without_git(Engine::File);
        let target = format!(
            "{}-{}",
            env::consts::ARCH,
            if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" }
        );
        let mut stage = Command::new(root().join("packaging/stage"));
        let output = stage.arg(TENURE).arg(target).arg(home.path("release")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Release { home }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path(name)
    }

    fn script(&self, args: &[&str]) -> (bool, String) {
        self.run(&self.at("release/install.sh"), args)
    }

    /// Whether it succeeded, and everything that it said.
    fn run(&self, script: &Path, args: &[&str]) -> (bool, String) {
        let output = self.home.clean("sh".as_ref()).arg(script).args(args).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Replaces a file of the release, and its checksum.
    fn replace(&self, file: &str, text: &str) {
        self.without(file);
        fs::write(self.at("release").join(file), text).unwrap();
        let sum: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        let sums = self.at("release/SHA256SUMS");
        fs::write(&sums, format!("{}{sum}  {file}\n", fs::read_to_string(&sums).unwrap())).unwrap();
    }

    /// Takes a file out of the release.
    fn without(&self, file: &str) {
        fs::remove_file(self.at("release").join(file)).unwrap();
        let sums = self.at("release/SHA256SUMS");
        let text = fs::read_to_string(&sums).unwrap();
        let rest: String = text.lines().filter(|line| !line.ends_with(file)).map(|line| format!("{line}\n")).collect();
        fs::write(&sums, rest).unwrap();
    }

    /// Everything below a directory, with the content of the files.
    fn tree(&self, name: &str) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let paths = self.home.files(name).into_iter().chain([self.at(name)]);
        paths.map(|path| (path.clone(), path.is_file().then(|| fs::read(&path).unwrap()))).collect()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
