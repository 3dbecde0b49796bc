//! Whether git ignores a file, from git's own files. No process is started.
//!
//! Written by hand: the crates for it compile every pattern into an automaton, which costs more than all the rest of a
//! hook; here each line is compared once and forgotten. Whether an ignored file is tracked all the same stands in the
//! index, whose size is that of the repository: it is read only for a file that a pattern ignores.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::file::{self, SETTINGS_MAX};
use super::git::GitCheckout;
use super::git_config::GitSettings;
use super::git_index;
use crate::env::Env;

/// What git ignores in one checkout. Files are read when they are needed, each once.
pub(crate) struct GitIgnore<'a> {
    checkout: &'a GitCheckout,
    folds_case: bool,
    /// How long the names of objects are, in bytes.
    hash: usize,
    /// The patterns that count after those of the tree: of the repository, then of the user.
    outer: Vec<Vec<u8>>,
}

impl<'a> GitIgnore<'a> {
    pub(crate) fn of(checkout: &'a GitCheckout, env: &Env) -> GitIgnore<'a> {
        let settings = GitSettings::read_all(&checkout.common, env);
        let named = settings.last("core", None, "excludesfile").filter(|path| !path.is_empty());
        let user = match named {
            Some(path) => Some(expanded(path, env)),
            None => env.config_home().map(|dir| dir.join("git/ignore")),
        };
        let files = [Some(checkout.common.join("info/exclude")), user];
        let outer = files.into_iter().flatten().map(|file| read(&file)).collect();
        let folds_case = settings.flag("core", "ignorecase").unwrap_or(false);
        let hash = settings.hash();
        GitIgnore { checkout, folds_case, hash, outer }
    }

    /// Whether git leaves a file alone: a pattern ignores it, and it is not tracked.
    pub(crate) fn leaves(&self, file: &Path) -> bool {
        if !self.has(file) {
            return false;
        }
        let Ok(inside) = file.strip_prefix(&self.checkout.top) else { return false };
        // Where the index is not found, nobody knows.
        let Ok(own) = self.checkout.own_dir() else { return false };
        !git_index::has(&own.join("index"), inside.as_os_str().as_bytes(), self.hash, self.folds_case)
    }

    /// Whether a pattern ignores a file of the checkout: it, or a directory that it is in.
    pub(crate) fn has(&self, file: &Path) -> bool {
        self.ignores(file, false)
    }

    /// Whether a pattern ignores a directory of the checkout, and with it everything below.
    pub(super) fn has_dir(&self, dir: &Path) -> bool {
        self.ignores(dir, true)
    }

    fn ignores(&self, file: &Path, is_itself_dir: bool) -> bool {
        let Ok(inside) = file.strip_prefix(&self.checkout.top) else { return false };
        let path = inside.as_os_str().as_bytes();
        let mut inner: Vec<(usize, Vec<u8>)> = vec![(0, read(&self.checkout.top.join(".gitignore")))];
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let (part, is_dir) = (&path[..end], end < path.len());
            if self.decides(&inner, part, is_dir || is_itself_dir) {
                return true;
            }
            if is_dir {
                let dir = self.checkout.top.join(OsStr::from_bytes(part));
                let text = read(&dir.join(".gitignore"));
                // Most directories have none, and each that is kept here is asked about every name below it.
                if !text.is_empty() {
                    inner.push((end + 1, text));
                }
            }
        }
        false
    }

    /// Whether the patterns say so of one path: those nearest to it first, and of one file the last that fits.
    fn decides(&self, inner: &[(usize, Vec<u8>)], path: &[u8], is_dir: bool) -> bool {
        let near = inner.iter().rev().map(|(from, text)| (&path[*from..], text));
        let far = self.outer.iter().map(|text| (path, text));
        near.chain(far).find_map(|(path, text)| said(text, path, is_dir, self.folds_case)).unwrap_or(false)
    }
}

fn expanded(path: &[u8], env: &Env) -> PathBuf {
    match (path.strip_prefix(b"~/"), env.home()) {
        (Some(rest), Some(home)) => home.join(OsStr::from_bytes(rest)),
        _ => PathBuf::from(OsStr::from_bytes(path)),
    }
}

/// A file of patterns; one that is not there, is too large or cannot be read has none.
fn read(file: &Path) -> Vec<u8> {
    file::read(file, SETTINGS_MAX).unwrap_or_default()
}

/// What the patterns of one file say of a path seen from its directory; nothing where none fits.
fn said(text: &[u8], path: &[u8], is_dir: bool, folds_case: bool) -> Option<bool> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut answer = None;
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let line = trimmed(line);
        let (ignores, line) = match line.strip_prefix(b"!") {
            Some(rest) => (false, rest),
            None => (true, line),
        };
        let (dirs_only, line) = match line.strip_suffix(b"/") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if line.is_empty() || (dirs_only && !is_dir) {
            continue;
        }
        let fits = if line.contains(&b'/') {
            Match::of(line.strip_prefix(b"/").unwrap_or(line), path, folds_case, true)
        } else {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            Match::of(line, name, folds_case, false)
        };
        if fits {
            answer = Some(ignores);
        }
    }
    answer
}

/// A line without blanks at its end, but for one behind a backslash.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line[end - 1] == b' ' && !(end > 1 && line[end - 2] == b'\\') {
        end -= 1;
    }
    &line[..end]
}

/// A pattern of git beside a path: `*` and `?` stay within a name, `**` between slashes takes any number of them.
struct Match<'a> {
    pattern: &'a [u8],
    path: &'a [u8],
    folds_case: bool,
    /// Whether the pattern is about a whole path and not about a name anywhere.
    whole: bool,
    /// Places at which a star was tried in vain: without them `*a*a*a*` would take for ever.
    tried: &'a mut HashSet<(usize, usize)>,
}

impl Match<'_> {
    fn of(pattern: &[u8], path: &[u8], folds_case: bool, whole: bool) -> bool {
        let mut tried = HashSet::new();
        Match { pattern, path, folds_case, whole, tried: &mut tried }.from(0, 0)
    }

    fn from(&mut self, mut p: usize, mut t: usize) -> bool {
        loop {
            let Some(&byte) = self.pattern.get(p) else { return t == self.path.len() };
            match byte {
                b'*' => return self.star(p, t),
                b'?' => {
                    if self.path.get(t).is_none_or(|byte| *byte == b'/') {
                        return false;
                    }
                    p += 1;
                }
                b'[' => match self.class(p, t) {
                    Some(after) => p = after,
                    None => return false,
                },
                _ => {
                    let escaped = byte == b'\\' && p + 1 < self.pattern.len();
                    let wanted = if escaped { self.pattern[p + 1] } else { byte };
                    if self.path.get(t).is_none_or(|byte| !self.same(*byte, wanted)) {
                        return false;
                    }
                    p += if escaped { 2 } else { 1 };
                }
            }
            t += 1;
        }
    }

    fn same(&self, one: u8, two: u8) -> bool {
        if self.folds_case { one.eq_ignore_ascii_case(&two) } else { one == two }
    }

    fn star(&mut self, p: usize, t: usize) -> bool {
        if self.tried.contains(&(p, t)) {
            return false;
        }
        let stars = self.pattern[p..].iter().take_while(|byte| **byte == b'*').count();
        let after = p + stars;
        // Of a whole path git takes what comes before the first wildcard for itself, and what is left for a pattern.
        let is_first = p == 0 || self.whole && !self.pattern[..p].iter().any(|byte| b"*?[\\".contains(byte));
        let alone = (is_first || self.pattern[p - 1] == b'/')
            && (after == self.pattern.len() || self.pattern[after] == b'/')
            && stars >= 2;
        let found = if alone && after == self.pattern.len() {
            // `a/**`: everything inside.
            true
        } else if alone {
            // `**/`: here, or behind any slash.
            let rest = after + 1;
            let behind = (t..self.path.len()).filter(|at| self.path[*at] == b'/').map(|at| at + 1);
            std::iter::once(t).chain(behind).collect::<Vec<_>>().into_iter().any(|at| self.from(rest, at))
        } else {
            let stop = self.path[t..].iter().position(|byte| *byte == b'/').map_or(self.path.len(), |at| t + at);
            (t..=stop).any(|at| self.from(after, at))
        };
        if !found {
            self.tried.insert((p, t));
        }
        found
    }

    /// Where the pattern goes on behind a class that the next byte is in.
    fn class(&self, p: usize, t: usize) -> Option<usize> {
        let byte = *self.path.get(t).filter(|byte| **byte != b'/')?;
        let mut at = p + 1;
        let not = matches!(self.pattern.get(at), Some(b'!' | b'^'));
        at += usize::from(not);
        let begin = at;
        let mut is_in = false;
        loop {
            let mut low = *self.pattern.get(at)?;
            if low == b']' && at > begin {
                return (is_in != not).then_some(at + 1);
            }
            if low == b'[' && self.pattern.get(at + 1) == Some(&b':') {
                let end = at + 2 + self.pattern[at + 2..].windows(2).position(|two| two == b":]")?;
                is_in |= named_class(&self.pattern[at + 2..end], byte);
                at = end + 2;
                continue;
            }
            if low == b'\\' {
                at += 1;
                low = *self.pattern.get(at)?;
            }
            let mut high = low;
            if self.pattern.get(at + 1) == Some(&b'-') && self.pattern.get(at + 2).is_some_and(|byte| *byte != b']') {
                at += 2;
                high = self.pattern[at];
                if high == b'\\' {
                    at += 1;
                    high = *self.pattern.get(at)?;
                }
            }
            let within = |byte: u8| (low..=high).contains(&byte);
            is_in |= within(byte)
                || (self.folds_case && (within(byte.to_ascii_lowercase()) || within(byte.to_ascii_uppercase())));
            at += 1;
        }
    }
}

fn named_class(name: &[u8], byte: u8) -> bool {
    match name {
        b"alpha" => byte.is_ascii_alphabetic(),
        b"digit" => byte.is_ascii_digit(),
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"upper" => byte.is_ascii_uppercase(),
        b"lower" => byte.is_ascii_lowercase(),
        b"space" => byte.is_ascii_whitespace(),
        b"punct" => byte.is_ascii_punctuation(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::process::Stdio;

    use proptest::prelude::*;

    use super::super::fixture::{Area, git};
    use super::super::git::locate;
    use super::*;

    /// What git itself says of some files.
    fn by_git(top: &Path, env: &[(&str, PathBuf)], files: &[&str]) -> Vec<String> {
        let mut command = std::process::Command::new("git");
        command.current_dir(top).args(["check-ignore", "--no-index", "--stdin", "-z"]);
        command.env_remove("XDG_CONFIG_HOME").env("GIT_CONFIG_NOSYSTEM", "1");
        command.envs(env.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // So few names that they fit the pipe.
        child.stdin.take().unwrap().write_all(files.join("\0").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 1), "git refused");
        let text = String::from_utf8(output.stdout).unwrap();
        text.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect()
    }

    fn ours(top: &Path, env: &Env, files: &[&str]) -> Vec<String> {
        let checkout = locate(top).unwrap().unwrap();
        let ignored = GitIgnore::of(&checkout, env);
        let found = files.iter().filter(|file| ignored.has(&top.join(file)));
        found.map(|file| (*file).to_owned()).collect()
    }

    #[test]
    fn git_says_the_same_in_every_place_that_patterns_are_kept() {
        let area = Area::new();
        let repo = area.repo("repo");
        fs::create_dir_all(repo.join("src/deep/target")).unwrap();
        fs::create_dir_all(area.path("home/.config/git")).unwrap();
        let text = concat!(
            "# c\n\n*.log\n!keep.log\n/top.txt\ntarget/\nsrc/**/gen\n**/any/where\nends/**\n[ab]?.x\n[!c-e].y\nsp\\ \n",
            "tr   \n\\#hash\n\\!bang\nCaSe\nex*t\nfoo/*.c\n\\*lit\n[[:digit:]]z\nalmost/\n",
        );
        fs::write(repo.join(".gitignore"), text).unwrap();
        fs::write(repo.join("src/.gitignore"), "local\n/here\n!deep.log\n*.gen\n").unwrap();
        fs::write(repo.join("src/deep/.gitignore"), "!*.gen\n").unwrap();
        fs::write(repo.join(".git/info/exclude"), "excluded\n!top.txt\n").unwrap();
        fs::write(area.path("home/.config/git/ignore"), "user.tmp\n").unwrap();
        let files = [
            "a.log",
            "keep.log",
            "src/a.log",
            "src/deep.log",
            "top.txt",
            "src/top.txt",
            "target/x",
            "src/deep/target/y",
            "target",
            "src/gen",
            "src/a/gen",
            "src/a/b/gen",
            "src/a/gen/z",
            "any/where",
            "x/any/where",
            "ends/x/y",
            "ends",
            "ab.x",
            "cb.x",
            "a.x",
            "f.y",
            "d.y",
            "sp ",
            "sp",
            "tr",
            "tr   ",
            "#hash",
            "!bang",
            "case",
            "CaSe",
            "ext",
            "exxt",
            "e/xt",
            "foo/a.c",
            "foo/b/a.c",
            "x/foo/a.c",
            "*lit",
            "alit",
            "5z",
            "zz",
            "src/local",
            "local",
            "src/here",
            "src/x/here",
            "src/q.gen",
            "src/deep/q.gen",
            "excluded",
            "x/excluded",
            "user.tmp",
            "plain",
            "src/lib.rs",
            "almost",
            "almost/a",
        ];
        let home = area.path("home");
        let env = Env::of(&repo, []).with("HOME", &home);
        assert_eq!(ours(&repo, &env, &files), by_git(&repo, &[("HOME", home.clone())], &files));
        // A file that the configuration names, of the user and then of the repository; case that does not count.
        fs::write(home.join(".gitconfig"), "[core]\n\texcludesFile = ~/mine\n").unwrap();
        fs::write(home.join("mine"), "plain\n").unwrap();
        git(&repo, &["config", "core.ignorecase", "true"]);
        assert_eq!(ours(&repo, &env, &files), by_git(&repo, &[("HOME", home.clone())], &files));
        fs::write(home.join("other"), "src/lib.rs\n").unwrap();
        git(&repo, &["config", "core.excludesFile", "~/other"]);
        assert_eq!(ours(&repo, &env, &files), by_git(&repo, &[("HOME", home)], &files));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        #[test]
        fn git_says_the_same_of_any_patterns(
            lines in prop::collection::vec("!?/?([ab*?]|\\*\\*/|[ab]/|\\[ab\\]|\\[!a\\]){1,5}/?", 1..6),
            files in prop::collection::vec("[abc]{1,2}(/[abc]{1,2}){0,3}", 1..12),
        ) {
            let area = Area::new();
            let repo = area.repo("repo");
            fs::write(repo.join(".gitignore"), lines.join("\n")).unwrap();
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let home = area.path(".");
            let env = Env::of(&repo, []).with("HOME", &home);
            prop_assert_eq!(ours(&repo, &env, &files), by_git(&repo, &[("HOME", home)], &files), "{:?}", lines);
        }

        #[test]
        fn hostile_patterns_end(pattern in "[*?\\[\\]!a\\\\/:-]{0,60}", path in "[a/]{0,80}") {
            said(pattern.as_bytes(), path.as_bytes(), false, true);
        }
    }

    #[test]
    fn stars_do_not_multiply() {
        let pattern = "*a".repeat(200);
        assert!(!Match::of(pattern.as_bytes(), "a".repeat(150).as_bytes(), false, true));
        let path = "a/".repeat(200) + "b";
        assert!(!Match::of("**/a/".repeat(60).as_bytes(), path.as_bytes(), false, true));
    }
}
