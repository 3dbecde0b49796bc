//! Repositories for tests: a directory of their own, made with the real git, away from the user's configuration.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory that goes away with the value.
pub(crate) struct Area {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl Area {
    pub(crate) fn new() -> Area {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // The temporary directory may itself lie behind a symbolic link.
        let root = dir.path().canonicalize().expect("canonical");
        Area { dir, root }
    }

    /// A path below the area; it need not exist.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        assert!(self.dir.path().exists());
        if below == "." { self.root.clone() } else { self.root.join(below) }
    }

    /// A repository with one commit.
    pub(crate) fn repo(&self, name: &str) -> PathBuf {
        let repo = self.path(name);
        std::fs::create_dir_all(&repo).expect("a directory");
        git(&repo, &["init", "-q"]);
        git(&repo, &["commit", "-q", "--allow-empty", "-m", "first"]);
        repo
    }
}

/// Runs git in a directory and fails the test if git does.
pub(crate) fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(dir);
    // Set when the tests themselves run inside a git hook.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    for (name, value) in [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("HOME", "/nonexistent")] {
        command.env(name, value);
    }
    for setting in ["user.name=t", "user.email=t@example.org", "protocol.file.allow=always", "init.defaultBranch=main"]
    {
        command.args(["-c", setting]);
    }
    let output = command.args(args).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
