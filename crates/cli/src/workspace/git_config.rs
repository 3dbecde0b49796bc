//! What a repository's own `config` file says: enough of git's syntax to find `origin`, and the form of a URL that all
//! clones share.
//!
//! `include` is not followed and `insteadOf` not applied: both live mostly in a user's own files, and a project's key
//! must not depend on who asks.

use std::io::ErrorKind;
use std::path::Path;

use tenure_core::{Code, Error, Result, Stage};

use super::file::SETTINGS_MAX;
use crate::env::Env;

/// The URL of the remote `origin` as written (with its password, if it has one); bytes that are not UTF-8 as `%XX`.
pub(crate) fn origin(common: &Path) -> Result<Option<String>> {
    let settings = GitSettings::read(common)?;
    // git fetches from the first of several URLs; an empty one clears those before it.
    let mut urls: Vec<&[u8]> = Vec::new();
    for url in settings.all("remote", Some(b"origin"), "url") {
        if url.is_empty() { urls.clear() } else { urls.push(url) }
    }
    Ok(urls.first().map(|url| {
        url.utf8_chunks().fold(String::new(), |text, chunk| {
            chunk.invalid().iter().fold(text + chunk.valid(), |text, byte| format!("{text}%{byte:02X}"))
        })
    }))
}

/// `host/org/repo`: what the spellings of one URL have in common. User and password are dropped, the host is lowered,
/// default ports, `.git` and outer slashes go. A path on this machine, or a scheme that is not known, has none.
pub(crate) fn normalise_url(url: &str) -> Option<String> {
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let (authority, default_port, path) = match url.split_once("://") {
        Some((scheme, rest)) => {
            let port = match scheme.to_ascii_lowercase().as_str() {
                "ssh" | "git+ssh" | "ssh+git" => "22",
                "https" => "443",
                "http" => "80",
                "git" => "9418",
                _ => return None,
            };
            let (authority, path) = rest.split_once('/')?;
            (authority, port, path)
        }
        // `host:path`, the short form of ssh. A slash before the colon makes it a path, two colons a helper.
        None => {
            let colon = if url.contains("[") { url.find("]:")? + 1 } else { url.find(':')? };
            let (authority, path) = (&url[..colon], &url[colon + 1..]);
            if authority.contains('/') || path.starts_with(':') {
                return None;
            }
            (authority, "", path)
        }
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    // A path without a leading slash begins in the home of the login: only where all use one login is it one path.
    let in_home = if default_port.is_empty() { !path.starts_with('/') } else { path.starts_with('~') };
    if in_home && !matches!(user.split(':').next(), Some("" | "git")) {
        return None;
    }
    // A token may stand in the query; it names no repository.
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (host, ""),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    // Every machine calls itself by these names.
    if host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "[::1]" {
        return None;
    }
    if host.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments.is_empty() {
        return None;
    }
    let port = if port.is_empty() || port == default_port { String::new() } else { format!(":{port}") };
    Some(format!("{host}{port}/{}", segments.join("/")))
}

/// The settings of one repository, in the order written.
#[derive(Debug, Default)]
pub(crate) struct GitSettings(Vec<Setting>);

#[derive(Debug, PartialEq, Eq)]
struct Setting {
    section: String,
    subsection: Option<Vec<u8>>,
    key: String,
    /// None for a key without `=`, which means true.
    value: Option<Vec<u8>>,
}

impl GitSettings {
    /// Reads `config`, and `config.worktree` where the repository says that it counts.
    pub(crate) fn read(common: &Path) -> Result<GitSettings> {
        let mut settings = GitSettings::default();
        settings.add(&common.join("config"))?;
        if settings.flag("extensions", "worktreeconfig") == Some(true) {
            settings.add(&common.join("config.worktree"))?;
        }
        Ok(settings)
    }

    /// What counts in a repository for whoever asks: the system's, the user's, then its own. A file that cannot be read is
    /// passed over: this is for what git itself will say better.
    pub(crate) fn read_all(common: &Path, env: &Env) -> GitSettings {
        let mut settings = GitSettings::default();
        let user = env.home().map(|home| home.join(".gitconfig"));
        let files = [Some("/etc/gitconfig".into()), env.config_home().map(|dir| dir.join("git/config")), user];
        for file in files.into_iter().flatten() {
            let _ = settings.add(&file);
        }
        if let Ok(own) = GitSettings::read(common) {
            settings.0.extend(own.0);
        }
        settings
    }

    fn add(&mut self, file: &Path) -> Result<()> {
        let bad = |message: String| {
            Error::new(Code::GitBroken, message).at(Stage::Resolve).entity(file.display().to_string())
        };
        match super::file::read(file, SETTINGS_MAX) {
            Ok(text) => parse(&text, &mut self.0).map_err(|line| {
                bad(format!("line {line} of {} is not git configuration", file.display()))
                    .hint("`git config --list` shows how git reads it. Correct the line, then repeat the command.")
                    .detail("line", line)
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(bad(format!("{} cannot be read: {error}", file.display())).cause(error)),
        }
    }

    fn all<'a>(&'a self, section: &str, subsection: Option<&[u8]>, key: &str) -> impl Iterator<Item = &'a [u8]> {
        let matches = move |s: &&Setting| s.section == section && s.subsection.as_deref() == subsection && s.key == key;
        self.0.iter().filter(matches).map(|setting| setting.value.as_deref().unwrap_or(b"true"))
    }

    /// The value that counts where one is expected: the last.
    pub(crate) fn last(&self, section: &str, subsection: Option<&[u8]>, key: &str) -> Option<&[u8]> {
        self.all(section, subsection, key).last()
    }

    /// What one file alone says, as far as it can be read: such as `.gitmodules`.
    pub(crate) fn read_file(file: &Path) -> GitSettings {
        let mut settings = GitSettings::default();
        let _ = settings.add(file);
        settings
    }

    /// The values of a key in all subsections of a section.
    pub(crate) fn each(&self, section: &str, key: &str) -> Vec<String> {
        let is_meant =
            |setting: &&Setting| setting.section == section && setting.subsection.is_some() && setting.key == key;
        let text = |setting: &Setting| Some(String::from_utf8_lossy(setting.value.as_ref()?).into_owned());
        self.0.iter().filter(is_meant).filter_map(text).collect()
    }

    /// How many bytes the names of objects have.
    pub(crate) fn hash(&self) -> usize {
        let format = self.last("extensions", None, "objectformat");
        if format.is_some_and(|format| format.eq_ignore_ascii_case(b"sha256")) { 32 } else { 20 }
    }

    /// A yes or no; None when it is not set.
    pub(crate) fn flag(&self, section: &str, key: &str) -> Option<bool> {
        let value = self.last(section, None, key)?.to_ascii_lowercase();
        Some(
            matches!(value.as_slice(), b"true" | b"yes" | b"on")
                || value.first().is_some_and(|&b| b > b'0' && b <= b'9'),
        )
    }
}

/// Parses git's configuration syntax; the error is the number of the line that is wrong.
fn parse(text: &[u8], into: &mut Vec<Setting>) -> Result<(), usize> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = GitConfigReader { text, at: 0, line: 1 };
    let mut header: Option<(String, Option<Vec<u8>>)> = None;
    while let Some(byte) = reader.next() {
        match byte {
            b'#' | b';' => while reader.next().is_some_and(|byte| byte != b'\n') {},
            b'[' => header = Some(reader.header().ok_or(reader.line)?),
            _ if byte.is_ascii_whitespace() => {}
            _ if byte.is_ascii_alphabetic() => {
                let (section, subsection) = header.clone().ok_or(reader.line)?;
                let line = reader.line;
                let (key, value) = reader.setting(byte).ok_or(line)?;
                into.push(Setting { section, subsection, key, value });
            }
            _ => return Err(reader.line),
        }
    }
    Ok(())
}

struct GitConfigReader<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl GitConfigReader<'_> {
    // CRLF reads as one newline, as git has it.
    fn next(&mut self) -> Option<u8> {
        if self.text[self.at..].starts_with(b"\r\n") {
            self.at += 1;
        }
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    // After `[`: `name]`, `name.sub]` or `name "sub"]`. Names have no case, a quoted subsection has.
    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let mut name = String::new();
        loop {
            match self.next()? {
                b']' => break,
                byte if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.' => {
                    name.push(char::from(byte.to_ascii_lowercase()));
                }
                b' ' | b'\t' => {
                    while matches!(self.peek(), Some(b' ' | b'\t')) {
                        self.next();
                    }
                    return self.quoted_subsection().map(|subsection| (name, Some(subsection)));
                }
                _ => return None,
            }
        }
        match name.split_once('.') {
            Some((section, subsection)) => Some((section.to_owned(), Some(subsection.into()))),
            None => Some((name, None)),
        }
    }

    fn quoted_subsection(&mut self) -> Option<Vec<u8>> {
        let mut subsection = Vec::new();
        if self.next()? != b'"' {
            return None;
        }
        loop {
            match self.next()? {
                b'"' => break,
                b'\n' => return None,
                b'\\' => subsection.push(self.next().filter(|&byte| byte != b'\n')?),
                byte => subsection.push(byte),
            }
        }
        (self.next()? == b']').then_some(subsection)
    }

    fn setting(&mut self, first: u8) -> Option<(String, Option<Vec<u8>>)> {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        while let Some(byte) = self.peek().filter(|&byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            key.push(char::from(byte.to_ascii_lowercase()));
            self.next();
        }
        loop {
            match self.next() {
                Some(b' ' | b'\t') => {}
                Some(b'=') => return self.value().map(|value| (key, Some(value))),
                Some(b'\n') | None => return Some((key, None)),
                Some(b'#' | b';') => {
                    while self.next().is_some_and(|byte| byte != b'\n') {}
                    return Some((key, None));
                }
                Some(_) => return None,
            }
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut quoted, mut comment) = (Vec::new(), false, false);
        // Blanks at the end go unless they were quoted: the length up to which everything stays.
        let mut kept = 0;
        loop {
            match self.next() {
                None | Some(b'\n') => {
                    value.truncate(kept);
                    return (!quoted).then_some(value);
                }
                Some(_) if comment => {}
                Some(b'#' | b';') if !quoted => comment = true,
                Some(b'"') => {
                    quoted = !quoted;
                    kept = value.len();
                }
                Some(b'\\') => {
                    match self.next()? {
                        b'\n' => continue,
                        b'n' => value.push(b'\n'),
                        b't' => value.push(b'\t'),
                        b'b' => value.push(8),
                        byte @ (b'"' | b'\\') => value.push(byte),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some(byte) => {
                    let blank = byte == b' ' || byte == b'\t';
                    if quoted || !blank || !value.is_empty() {
                        value.push(byte);
                    }
                    if quoted || !blank {
                        kept = value.len();
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Area, git};
    use super::*;
    use tenure_core::Kind;

    fn read(text: &str) -> Result<GitSettings, usize> {
        let mut settings = GitSettings::default();
        parse(text.as_bytes(), &mut settings.0).map(|()| settings)
    }

    #[test]
    fn the_syntax_is_that_of_git() {
        let text = concat!(
            "\u{feff}# c\n; c\n[CORE] bare\n\tFileMode = FALSE # no\n[remote \"origin\"]\r\n",
            "\turl = \"a # b\" ; c\r\n\tpush = one\\\n two \t\n",
            "[Remote.Old]\nurl=x\n[remote \"Or\\\"i\\\\g\"]\n\turl = \" kept \" \n\tq = a\\tb\\\"\nempty =\n",
        );
        let settings = read(text).unwrap();
        let get = |section, sub: Option<&str>, key| {
            settings.last(section, sub.map(str::as_bytes), key).map(|v| String::from_utf8_lossy(v).into_owned())
        };
        assert_eq!(settings.flag("core", "bare"), Some(true));
        assert_eq!(settings.flag("core", "filemode"), Some(false));
        assert_eq!(settings.flag("core", "absent"), None);
        assert_eq!(get("remote", Some("origin"), "url").unwrap(), "a # b");
        assert_eq!(get("remote", Some("origin"), "push").unwrap(), "one two");
        assert_eq!(get("remote", Some("old"), "url").unwrap(), "x");
        assert_eq!(get("remote", Some("Or\"i\\g"), "url").unwrap(), " kept ");
        assert_eq!(get("remote", Some("Or\"i\\g"), "q").unwrap(), "a\tb\"");
        assert_eq!(get("remote", Some("Or\"i\\g"), "empty").unwrap(), "");
        assert_eq!(get("remote", Some("Origin"), "url"), None);
    }

    #[test]
    fn inv_c4_bad_syntax_names_the_line() {
        for (text, line) in [
            ("x = 1\n", 1),
            ("[core]\n\n= 1\n", 3),
            ("[core]\nx = \"open\n", 2),
            ("[core\n", 2),
            ("[a]\nb = \\q\n", 2),
            ("[a \"b]\n", 2),
            ("[a]\nb c\n", 2),
        ] {
            assert_eq!(read(text).unwrap_err(), line, "{text:?}");
        }
    }

    #[test]
    fn origin_is_what_git_says_it_is() {
        let area = Area::new();
        let repo = area.repo("repo");
        let common = repo.join(".git");
        assert_eq!(origin(&common).unwrap(), None);
        let hard = r#"https://h/a "b" \c #d;e"#;
        for url in ["git@example.org:o/r.git", hard] {
            git(&repo, &["config", "remote.origin.url", url]);
            assert_eq!(origin(&common).unwrap().as_deref(), Some(url));
        }
        git(&repo, &["config", "--add", "remote.origin.url", "second"]);
        assert_eq!(origin(&common).unwrap().as_deref(), Some(hard));
        std::fs::write(common.join("config"), b"[remote \"origin\"]\nurl = h:\xffx\n").unwrap();
        assert_eq!(origin(&common).unwrap().as_deref(), Some("h:%FFx"));
        std::fs::write(common.join("config"), b"[remote \"origin\"\n").unwrap();
        let error = origin(&common).unwrap_err();
        assert!(error.kind() == Kind::Storage && error.message().contains("line 2 of"), "{error}");
    }

    #[test]
    fn inv_i5_every_spelling_of_a_url_is_one_project() {
        for url in [
            "git@host.org:org/repo.git",
            "host.org:/org/repo",
            "ssh://git@host.org:22/org/repo",
            "ssh://host.org/org//repo.git/",
            "https://user:secret@Host.ORG/org/repo.git/",
            "https://a:p@ss@host.org:443/org/repo",
            "http://host.org:80/org/repo",
            "git://host.org:9418/org/repo",
            "HTTPS://host.org./org/repo/",
        ] {
            assert_eq!(normalise_url(url).as_deref(), Some("host.org/org/repo"), "{url}");
        }
        assert_eq!(normalise_url("ssh://git@h:2222/o/r").as_deref(), Some("h:2222/o/r"));
        assert_eq!(normalise_url("https://h:22/o/r").as_deref(), Some("h:22/o/r"));
        assert_eq!(normalise_url("ssh://git@[2001:db8::1]:22/o/r").as_deref(), Some("[2001:db8::1]/o/r"));
        assert_eq!(normalise_url("git@[2001:db8::1]:o/r").as_deref(), Some("[2001:db8::1]/o/r"));
        assert_eq!(normalise_url("https://h/o/r?token=secret#x").as_deref(), Some("h/o/r"));
        assert_eq!(normalise_url("alice@h:/srv/r.git").as_deref(), Some("h/srv/r"));
        assert_eq!(normalise_url("h:Org/Repo").as_deref(), Some("h/Org/Repo"));
    }

    #[test]
    fn paths_and_unknown_schemes_have_no_common_form() {
        for url in [
            "/srv/repo.git",
            "./a:b",
            "../x",
            "~/x",
            "repo",
            "file:///srv/repo",
            "FILE://h/x",
            "ext::sh -c x",
            "codecommit::eu://repo",
            "s3://bucket/x",
            "https://host",
            "https://host/",
            "https:///x",
            "h:",
            "h:.git",
            "https://h:x/o",
            "h: o",
            "",
            ":",
            "git@:x",
            "alice@h:proj.git",
            "ssh://alice@h/~/proj",
            "ssh://git@localhost:2222/o/r",
            "http://127.0.0.1:3000/o/r",
            "git@[::1]:o/r",
        ] {
            assert_eq!(normalise_url(url), None, "{url}");
        }
    }
}
