//! What the process got from its surroundings: variables, working directory, user and machine.
//!
//! Captured once, then passed on as a value, so that everything that is resolved from it can be tested without touching
//! the process. What costs a file is read when it is asked for: most calls never need the host or the password file.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tenure_core::{Code, Error, Result, Stage};

/// A snapshot of the process's surroundings.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    vars: BTreeMap<OsString, OsString>,
    cwd: Option<PathBuf>,
    uid: u32,
    passwd: PathBuf,
    machine: OnceLock<String>,
}

impl Env {
    /// Reads the surroundings of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the process environment")]
    pub(crate) fn capture() -> Env {
        Env {
            vars: std::env::vars_os().collect(),
            cwd: std::env::current_dir().ok(),
            uid: rustix::process::getuid().as_raw(),
            passwd: "/etc/passwd".into(),
            machine: OnceLock::new(),
        }
    }

    /// A variable as text. Empty is the same as unset: `TENURE_STORE= tenure …` is how people unset one for a call.
    pub(crate) fn var(&self, name: &'static str) -> Result<Option<&str>> {
        let Some(value) = self.os(name) else { return Ok(None) };
        value.to_str().map(Some).ok_or_else(|| {
            Error::usage(Code::BadVariable, format!("the variable {name} is not valid UTF-8"))
                .entity(name)
                .hint(format!("Set {name} to plain text, or unset it."))
        })
    }

    /// A variable as it is, whatever its bytes; empty is the same as unset.
    pub(crate) fn os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Whether a variable says yes: set, and not `0`, `false`, `no` or `off`.
    pub(crate) fn says_yes(&self, name: &str) -> bool {
        let no = |value: &OsStr| ["0", "false", "no", "off"].iter().any(|word| value.eq_ignore_ascii_case(word));
        self.os(name).is_some_and(|value| !no(value))
    }

    /// The working directory.
    pub(crate) fn cwd(&self) -> Result<&Path> {
        self.cwd.as_deref().ok_or_else(|| {
            Error::new(Code::NoWorkingDirectory, "the working directory was removed or is unreadable")
                .at(Stage::Resolve)
                .hint("Change to a directory that exists and call again.")
        })
    }

    /// The same surroundings, seen from another directory.
    pub(crate) fn moved(&self, cwd: PathBuf) -> Env {
        Env { cwd: Some(cwd), ..self.clone() }
    }

    /// The real user id.
    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }

    /// The user's name in the password file.
    pub(crate) fn user_name(&self) -> Option<String> {
        self.passwd_field(0).map(|name| String::from_utf8_lossy(&name).into_owned())
    }

    /// The home directory: `HOME`, else what the password file says. A relative `HOME` would make the store depend on
    /// the working directory, so it counts as missing.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        self.absolute("HOME").or_else(|| {
            let home = PathBuf::from(OsString::from_vec(self.passwd_field(5)?));
            home.is_absolute().then_some(home)
        })
    }

    /// Where the user's data lives: `XDG_DATA_HOME`, else `~/.local/share`.
    pub(crate) fn data_home(&self) -> Option<PathBuf> {
        self.absolute("XDG_DATA_HOME").or_else(|| Some(self.home()?.join(".local/share")))
    }

    /// Where the user's configuration lives: `XDG_CONFIG_HOME`, else `~/.config`.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        self.absolute("XDG_CONFIG_HOME").or_else(|| Some(self.home()?.join(".config")))
    }

    /// Where the user's programs keep what is of use to them alone: `XDG_STATE_HOME`, else `~/.local/state`.
    pub(crate) fn state_home(&self) -> Option<PathBuf> {
        self.absolute("XDG_STATE_HOME").or_else(|| Some(self.home()?.join(".local/state")))
    }

    /// A directory that a variable names; relative ones would depend on the working directory and do not count.
    pub(crate) fn directory(&self, name: &str) -> Option<PathBuf> {
        self.absolute(name)
    }

    /// The directories that programs are looked for in.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        self.os("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
    }

    /// The host's name.
    pub(crate) fn hostname(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// The id of this machine, read once: every call of the kernel names it. Empty where the system does not tell.
    #[expect(clippy::disallowed_methods, reason = "a file of the system")]
    pub(crate) fn machine_id(&self) -> &str {
        let read = || std::fs::read_to_string("/etc/machine-id").map(|id| id.trim().to_owned()).unwrap_or_default();
        self.machine.get_or_init(read)
    }

    /// The id of this boot; empty where the system does not tell.
    #[expect(clippy::disallowed_methods, reason = "a file of the system")]
    pub(crate) fn boot_id(&self) -> String {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
    }

    // The XDG rules say that relative values are to be ignored.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.os(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    // Name services other than the file need a C library call; their users have USER and HOME set.
    #[expect(clippy::disallowed_methods, reason = "a file of the system")]
    fn passwd_field(&self, field: usize) -> Option<Vec<u8>> {
        let file = std::fs::read(&self.passwd).ok()?;
        let uid = self.uid.to_string();
        file.split(|&byte| byte == b'\n').find_map(|line| {
            let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
            let mine = fields.get(2) == Some(&uid.as_bytes());
            fields.get(field).filter(|value| mine && !value.is_empty()).map(|value| value.to_vec())
        })
    }
}

#[cfg(test)]
impl Env {
    /// Surroundings made by hand. The password file is absent and the user has a number that no system uses.
    pub(crate) fn of<const N: usize>(cwd: &Path, vars: [(&str, &str); N]) -> Env {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Env {
            vars,
            cwd: Some(cwd.to_path_buf()),
            uid: 54_321,
            passwd: "/nonexistent/passwd".into(),
            machine: OnceLock::new(),
        }
    }

    /// The same with one more variable.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Env {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// The same with another password file.
    pub(crate) fn with_passwd(mut self, passwd: &Path) -> Env {
        self.passwd = passwd.to_path_buf();
        self
    }
}

/// The words of the command line, the program's own name left out.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the command line")]
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

/// The file this program was started from.
pub(crate) fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use tenure_core::Kind;

    use super::*;

    #[test]
    fn empty_is_unset_and_other_bytes_are_refused_by_name() {
        let env = Env::of(Path::new("/"), [("TENURE_STORE", ""), ("TENURE_AGENT", "a")])
            .with("TENURE_PROJECT", OsString::from_vec(vec![b'a', 0xff]));
        assert_eq!(env.var("TENURE_STORE").unwrap(), None);
        assert_eq!(env.var("TENURE_AGENT").unwrap(), Some("a"));
        let error = env.var("TENURE_PROJECT").unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "bad_variable"));
        assert!(error.message().contains("TENURE_PROJECT"));
    }

    #[test]
    fn a_switch_says_yes_unless_it_says_no() {
        let env = Env::of(Path::new("/"), [("A", "1"), ("B", "0"), ("C", "False"), ("D", ""), ("E", "x")]);
        let yes: Vec<_> = ["A", "B", "C", "D", "E", "F"].into_iter().filter(|name| env.says_yes(name)).collect();
        assert_eq!(yes, ["A", "E"]);
    }

    #[test]
    fn home_comes_from_the_password_file_when_the_variable_does_not_help() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "root:x:0:0::/root:/bin/sh\nann:x:54321:1::/home/ann:/bin/sh\n").unwrap();
        for vars in [("HOME", ""), ("HOME", "relative"), ("XDG_DATA_HOME", "relative")] {
            let env = Env::of(Path::new("/"), [vars]).with_passwd(file.path());
            assert_eq!(env.data_home().unwrap(), Path::new("/home/ann/.local/share"));
            assert_eq!(env.user_name().unwrap(), "ann");
        }
        assert_eq!(Env::of(Path::new("/"), [("HOME", "/h")]).config_home().unwrap(), Path::new("/h/.config"));
        assert_eq!(Env::of(Path::new("/"), []).home(), None);
    }

    #[test]
    fn a_lost_working_directory_is_said_when_it_is_needed() {
        let env = Env { cwd: None, ..Env::of(Path::new("/"), []) };
        assert_eq!(env.cwd().unwrap_err().code(), "no_working_directory");
    }

    #[test]
    fn this_process_can_be_captured() {
        let env = Env::capture();
        assert!(env.cwd().is_ok() && !env.hostname().is_empty());
        assert_eq!(env.uid(), rustix::process::getuid().as_raw());
    }
}
