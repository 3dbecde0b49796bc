//! Configuration: the project's `tenure.toml` over the user's `config.toml`, read once into an immutable value.
//!
//! Anything unknown or of the wrong type is refused with file and line, because a misspelt key that is silently ignored
//! is a setting that somebody believes in.

mod guard;
mod listing;
mod serve;

use std::borrow::Cow;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tenure_client::Address;
use tenure_core::pattern::Pattern;
use tenure_core::{Code, Error, Result, Span, Stage, hold, text};
use toml::Spanned;

pub(crate) use self::guard::{Fail, People, guard_fail};
use self::guard::{GuardTable, RELAXED, relaxed};
pub(crate) use self::serve::Serve;
use super::file::{self, SETTINGS_MAX};
use super::{StoreLocation, fnv1a};
use crate::env::Env;

/// The name of a project's file.
pub(crate) const FILE: &str = "tenure.toml";
/// The user's file, below the directory for configuration.
const USER_FILE: &str = "tenure/config.toml";

/// How much an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DurabilitySetting {
    /// A power cut.
    #[default]
    Full,
    /// A crash of the process.
    Fast,
}

/// What of a tool's output is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Capture {
    /// Nothing.
    #[default]
    None,
    /// A beginning of what a tool said that failed, redacted.
    Errors,
}

/// Whose file a setting stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingLevel {
    Project,
    User,
}

/// The `store` or `server` setting and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreSetting {
    pub(crate) value: String,
    pub(crate) file: PathBuf,
    pub(crate) level: SettingLevel,
}

/// The configuration of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// The project's name.
    pub(crate) project: Option<String>,
    pub(crate) store: Option<StoreSetting>,
    /// The address of a server that has the store.
    pub(crate) server: Option<StoreSetting>,
    /// The label filter of calls that give none.
    pub(crate) labels: Vec<String>,
    pub(crate) durability: DurabilitySetting,
    /// The time to live of task holds.
    pub(crate) task_ttl: Option<Span>,
    /// How long events are kept; for ever without it.
    pub(crate) keep_events: Option<Span>,
    /// What of a tool's output is kept.
    pub(crate) capture: Capture,
    /// What a guard does that cannot look.
    pub(crate) guard_fail: Fail,
    /// What a guard does with people.
    pub(crate) guard_people: People,
    /// Files that the edit guard never refuses; by default those that many change a little.
    guard_relaxed: Option<Vec<Pattern>>,
    /// The times of the waiting line.
    pub(crate) wait: Wait,
    /// The settings of a server that is started here.
    pub(crate) serve: Serve,
    /// Changes when the contents do.
    pub(crate) revision: String,
    /// The places of the project's file, nearest first.
    places: Vec<PathBuf>,
}

/// The times of the waiting line; without one the usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    /// How long a place is kept after its last renewal.
    pub(crate) place: Option<Span>,
    /// How long an offer is kept.
    pub(crate) offer: Option<Span>,
    /// How long one call waits at the most.
    pub(crate) call: Option<Span>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    project: Option<Spanned<String>>,
    store: Option<Spanned<String>>,
    server: Option<Spanned<String>>,
    labels: Option<Spanned<Vec<String>>>,
    durability: Option<DurabilitySetting>,
    hold: Hold,
    retention: Retention,
    capture: Option<Capture>,
    guard: GuardTable,
    wait: Waiting,
    serve: serve::Table,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Waiting {
    place: Option<Spanned<String>>,
    offer: Option<Spanned<String>>,
    call: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Hold {
    task_ttl: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Retention {
    events: Option<Spanned<String>>,
}

impl Config {
    /// What the same files say now.
    pub(crate) fn again(&self, env: &Env) -> Result<Config> {
        let places: Vec<&Path> = self.places.iter().map(PathBuf::as_path).collect();
        load(&places, env)
    }

    /// The places of the files: of the project, nearest first, and of the user.
    pub(crate) fn files(&self, env: &Env) -> Vec<PathBuf> {
        let user = env.config_home().map(|dir| dir.join(USER_FILE));
        self.places.iter().map(|dir| dir.join(FILE)).chain(user).collect()
    }

    /// Files that the edit guard never refuses.
    pub(crate) fn relaxed(&self) -> Result<Cow<'_, [Pattern]>> {
        Ok(match &self.guard_relaxed {
            Some(set) => Cow::Borrowed(set),
            None => Cow::Owned(relaxed(&RELAXED)?),
        })
    }
}

/// Loads the configuration. `dirs` are the places of the project's file, nearest first; the first that has one counts.
pub(crate) fn load(dirs: &[&Path], env: &Env) -> Result<Config> {
    let mut project = None;
    for dir in dirs {
        project = read(dir.join(FILE))?;
        if project.is_some() {
            break;
        }
    }
    // Without a home there is no user's file; whether that matters is for the search for the store to say.
    let user = match env.config_home() {
        Some(dir) => read(dir.join(USER_FILE))?,
        None => None,
    };
    let mut contents = Vec::new();
    for text in [&project, &user] {
        contents.extend_from_slice(text.as_ref().map_or("", |(_, text)| text).as_bytes());
        contents.push(0);
    }
    let mut config = Config {
        project: None,
        store: None,
        server: None,
        labels: Vec::new(),
        durability: DurabilitySetting::default(),
        task_ttl: None,
        keep_events: None,
        capture: Capture::default(),
        guard_fail: Fail::default(),
        guard_people: People::default(),
        guard_relaxed: None,
        wait: Wait::default(),
        serve: Serve::default(),
        revision: format!("{:016x}", fnv1a(&contents)),
        places: dirs.iter().map(|dir| dir.to_path_buf()).collect(),
    };
    for (file, level) in [(user, SettingLevel::User), (project, SettingLevel::Project)] {
        if let Some((path, text)) = file {
            config = add(config, &path, &text, level)?;
        }
    }
    Ok(config)
}

/// Lays one file over what is there, key by key.
fn add(mut config: Config, path: &Path, text: &str, level: SettingLevel) -> Result<Config> {
    // The parser's error is not kept as the cause: it quotes the line, which may hold a password.
    let file: File = toml::from_str(text)
        .map_err(|error| refuse(path, text, error.span(), &error.message().trim_end().replace('\n', "; ")))?;
    let because = |at: Range<usize>| move |error: Error| refuse(path, text, Some(at), error.message()).cause(error);
    if let Some(name) = file.project {
        if level == SettingLevel::User {
            let message = format!("`project` here would merge all repositories into one project; set it in {FILE}");
            return Err(refuse(path, text, Some(name.span()), &message));
        }
        tenure_core::name::project(name.get_ref()).map_err(because(name.span()))?;
        config.project = Some(name.into_inner());
    }
    if let Some(store) = file.store {
        StoreLocation::check(store.get_ref()).map_err(because(store.span()))?;
        config.store = Some(StoreSetting { value: store.into_inner(), file: path.to_path_buf(), level });
        // What a nearer file says about where the store is counts before what another says, in either word.
        config.server = None;
        if let Some(server) = &file.server {
            return Err(refuse(path, text, Some(server.span()), "set either `store` or `server`, not both"));
        }
    }
    if let Some(server) = file.server {
        Address::parse(server.get_ref(), true).map_err(because(server.span()))?;
        config.server = Some(StoreSetting { value: server.into_inner(), file: path.to_path_buf(), level });
        config.store = None;
    }
    if let Some(labels) = file.labels {
        config.labels = text::labels(labels.get_ref()).map_err(because(labels.span()))?;
    }
    if let Some(ttl) = file.hold.task_ttl {
        config.task_ttl = Some(Span::parse(ttl.get_ref()).and_then(hold::ttl).map_err(because(ttl.span()))?);
    }
    let times = [
        (file.wait.place, &mut config.wait.place),
        (file.wait.offer, &mut config.wait.offer),
        (file.wait.call, &mut config.wait.call),
    ];
    for (said, time) in times {
        if let Some(said) = said {
            *time = Some(Span::parse(said.get_ref()).and_then(hold::ttl).map_err(because(said.span()))?);
        }
    }
    config.serve = Serve::read(file.serve, |at, error| because(at)(error))?.over(&config.serve);
    if let Some(events) = file.retention.events {
        if level == SettingLevel::User {
            let message = format!("`events` here would remove events of all projects; set it in {FILE}");
            return Err(refuse(path, text, Some(events.span()), &message));
        }
        config.keep_events = retention(events.get_ref()).map_err(because(events.span()))?;
    }
    config.durability = file.durability.unwrap_or(config.durability);
    config.capture = file.capture.unwrap_or(config.capture);
    config.guard_fail = file.guard.fail.unwrap_or(config.guard_fail);
    config.guard_people = file.guard.people.unwrap_or(config.guard_people);
    if let Some(patterns) = file.guard.relaxed {
        config.guard_relaxed = Some(relaxed(patterns.get_ref()).map_err(because(patterns.span()))?);
    }
    Ok(config)
}

/// How long events are kept. Less than a day would make cursors stale while their readers sleep.
fn retention(text: &str) -> Result<Option<Span>> {
    if text == "forever" {
        return Ok(None);
    }
    let span = Span::parse(text)?;
    if (Span::days(1)..=Span::days(3_650)).contains(&span) {
        return Ok(Some(span));
    }
    Err(Error::usage(Code::BadRetention, format!("`{}` is neither 1d to 3650d nor `forever`", text::excerpt(text))))
}

fn read(path: PathBuf) -> Result<Option<(PathBuf, String)>> {
    match file::read_text(&path, SETTINGS_MAX) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(refuse(&path, "", None, "it is not UTF-8 text")),
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            Err(Error::new(Code::ConfigUnreadable, message)
                .at(Stage::Arguments)
                .entity(path.display().to_string())
                .hint("Make the file readable, or move it away.")
                .cause(error))
        }
    }
}

// The line's text is not shown: it may hold a password. The word before `=` is enough to find it.
fn refuse(path: &Path, text: &str, at: Option<Range<usize>>, what: &str) -> Error {
    let start = at.map_or(0, |at| at.start).min(text.len());
    let before = &text.as_bytes()[..start];
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let content = text.lines().nth(line - 1).unwrap_or_default();
    let key = content.split_once('=').map(|(key, _)| key.trim().trim_matches(['"', '\'']));
    let named =
        key.filter(|key| !what.contains(&format!("`{key}`"))).map(|key| format!("`{key}`: ")).unwrap_or_default();
    let error = Error::usage(Code::ConfigInvalid, format!("{} line {line}: {named}{what}", path.display()))
        .entity(path.display().to_string())
        .hint("Known keys: project, store, server, labels, durability, capture, task_ttl under [hold], events under [retention], fail, people and relaxed under [guard], place, offer and call under [wait], listen, proxies, body_mib, seconds, at_once, listeners and per_second under [serve].")
        .detail("line", line);
    match key {
        Some(key) => error.detail("key", key),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use tenure_client::phrasing::Commands;
    use tenure_core::Kind;

    use super::super::fixture::Area;
    use super::*;

    fn with(area: &Area, project: &str, user: &str) -> Result<Config> {
        fs::create_dir_all(area.path("config/tenure")).unwrap();
        fs::write(area.path(FILE), project).unwrap();
        fs::write(area.path("config/tenure/config.toml"), user).unwrap();
        load(&[&area.path(".")], &env(area))
    }

    fn env(area: &Area) -> Env {
        Env::of(&area.path("."), [("XDG_CONFIG_HOME", area.path("config").to_str().unwrap())])
    }

    #[test]
    fn inv_c1_the_project_is_laid_over_the_user_key_by_key() {
        let area = Area::new();
        let config = with(
            &area,
            "project = \"shop\"\nlabels = [\"b\", \"a\"]\n[hold]\ntask_ttl = \"45m\"\n",
            "store = \"mine.db\"\nlabels = [\"u\"]\ndurability = \"fast\"\n",
        )
        .unwrap();
        assert_eq!(config.project.as_deref(), Some("shop"));
        assert_eq!(config.labels, ["a", "b"]);
        assert_eq!(config.durability, DurabilitySetting::Fast);
        assert_eq!(config.task_ttl, Some(Span::minutes(45)));
        let store = config.store.unwrap();
        assert_eq!((store.value.as_str(), store.level), ("mine.db", SettingLevel::User));
    }

    #[test]
    fn inv_c1_settings_of_a_server_are_laid_over_each_other_and_flags_over_all() {
        let area = Area::new();
        let project = "[serve]\nlisten = \"127.0.0.1:1\"\nat_once = 7\n";
        let user = "[serve]\nat_once = 8\nper_second = 9\nbody_mib = 2\n";
        let config = with(&area, project, user).unwrap();
        let flags = Serve::given(None, &[], [None, Some(5), None, None, Some(3)]).unwrap();
        let serve = flags.over(&config.serve);
        assert_eq!(serve.listen.unwrap().to_string(), "127.0.0.1:1");
        let limits = serve.limits();
        assert_eq!((limits.at_once, limits.per_second, limits.body), (7, 3, 2 << 20));
        assert_eq!((limits.time.as_secs(), limits.listeners), (5, 4_096));
        assert_eq!(Serve::given(None, &[], [Some(0); 5]).unwrap_err().code(), "bad_limit");
        fs::write(area.path(FILE), "[serve]\nat_once = 6\n").unwrap();
        let again = config.again(&env(&area)).unwrap();
        assert_eq!((again.serve.limits().at_once, again.serve.listen), (6, None));
        assert_ne!(again.revision, config.revision);
    }

    #[test]
    fn inv_c1_the_revision_follows_the_contents() {
        let area = Area::new();
        let none = load(&[&area.path("absent")], &env(&area)).unwrap();
        let one = with(&area, "labels = []", "").unwrap();
        assert_eq!(one.revision, with(&area, "labels = []", "").unwrap().revision);
        let other = with(&area, "", "labels = []").unwrap();
        assert_eq!(none.revision.len(), 16);
        assert!(one.revision != other.revision && none.revision != one.revision);
    }

    #[test]
    fn inv_c1_what_is_wrong_is_refused_with_file_line_and_key() {
        let area = Area::new();
        for (text, line, part) in [
            ("\ncolour = 1\n", 2, "`colour`"),
            ("project = 7\n", 1, "`project`"),
            ("# c\nproject = \"Shop\"\n", 2, "`project`"),
            ("labels = \"x\"\n", 1, "`labels`"),
            ("labels = [\n  1,\n]\n", 2, "string"),
            ("durability = \"slow\"\n", 1, "slow"),
            ("[hold]\ntask_ttl = \"soon\"\n", 2, "`task_ttl`"),
            ("[hold]\ntask_ttl = \"7d\"\n", 2, "`task_ttl`"),
            ("[hold]\n\nttl = 1\n", 3, "`ttl`"),
            ("[retention]\nevents = \"1h\"\n", 2, "1d to 3650d"),
            ("[retention]\nevents = 90\n", 2, "string"),
            ("[store]\npath = \"x\"\n", 1, "string"),
            ("store = \"\"\n", 1, "`store`"),
            ("[guard]\nfial = \"open\"\n", 2, "`fial`"),
            ("[guard]\npeople = \"shout\"\n", 2, "shout"),
            ("[guard]\nrelaxed = \"x\"\n", 2, "`relaxed`"),
            ("[guard]\nrelaxed = [\"a\", \"../x\"]\n", 2, "`relaxed`"),
            ("\nstore = \"mysql://h/d\"\n", 2, "mysql"),
            ("[serve]\nlisten = \"everywhere\"\n", 2, "`everywhere`"),
            ("[serve]\n\nat_once = 0\n", 3, "`at_once`"),
            ("[serve]\nproxies = [\"127.0.0.1\",\n\"nobody\"]\n", 2, "`nobody`"),
            ("[serve]\nproxies = \"127.0.0.1\"\n", 2, "`proxies`"),
            ("[serve]\nseconds = \"1\"\n", 2, "`seconds`"),
            ("[serve]\nper_second = -1\n", 2, "`per_second`"),
            ("[serve]\nbody = 8\n", 2, "`body`"),
            ("project = \"a\"\nproject = \"b\"\n", 2, "duplicate"),
            ("\n\nproject = \n", 3, "`project`"),
        ] {
            let error = with(&area, text, "").unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "config_invalid"), "{text}");
            let expected = format!("tenure.toml line {line}: ");
            assert!(error.message().contains(&expected) && error.message().contains(part), "{text} → {error}");
            assert_eq!(error.get("line").unwrap(), line);
        }
        let error = with(&area, "", "\nproject = \"all\"\n").unwrap_err();
        assert!(error.message().contains("config.toml line 2"), "{error}");
    }

    #[test]
    fn inv_c1_an_error_never_shows_a_password() {
        let area = Area::new();
        for text in ["store = \"postgres://u:secret@h/d\" x\n", "[hold]\nstore = \"postgres://u:secret@h/d\"\n"] {
            let error = with(&area, text, "").unwrap_err();
            assert!(!error.to_json(&Commands).to_string().contains("secret"), "{}", error.to_json(&Commands));
        }
    }

    #[test]
    fn inv_c4_an_unreadable_file_is_not_an_absent_one() {
        let area = Area::new();
        fs::create_dir(area.path(FILE)).unwrap();
        assert_eq!(load(&[&area.path(".")], &env(&area)).unwrap_err().code(), "config_unreadable");
        fs::remove_dir(area.path(FILE)).unwrap();
        fs::write(area.path(FILE), b"project = \"\xff\"").unwrap();
        assert_eq!(load(&[&area.path(".")], &env(&area)).unwrap_err().code(), "config_invalid");
    }

    #[test]
    fn inv_r11_a_closed_guard_stays_closed_whatever_else_is_wrong_in_the_file() {
        let area = Area::new();
        fs::create_dir_all(area.path("config/tenure")).unwrap();
        let fail = |project: &str, user: &str| {
            fs::write(area.path(FILE), project).unwrap();
            fs::write(area.path("config/tenure/config.toml"), user).unwrap();
            guard_fail(&[&area.path(".")], &env(&area))
        };
        let closed = "[guard]\nfail = \"closed\"\n";
        assert_eq!(fail("", ""), Fail::Open);
        assert_eq!(fail(closed, ""), Fail::Closed);
        assert_eq!(fail("", closed), Fail::Closed);
        assert_eq!(fail("[guard]\nfail = \"open\"", closed), Fail::Open, "the project's file is the nearer one");
        assert_eq!(fail(&format!("unknown = 1\n{closed}"), ""), Fail::Closed);
        assert_eq!(fail(&format!("{closed}broken = = \n"), ""), Fail::Closed);
        assert_eq!(fail("broken = = \n[guard]\nfail = open", ""), Fail::Open);
        assert_eq!(fail("[guard]\nfail = 1", ""), Fail::Open);
        assert_eq!(fail("[guard]\nfail = 1", closed), Fail::Closed);
        assert_eq!(fail("guard = \"shut\"", ""), Fail::Open);
        for broken in [
            "guard.fail = \"closed\"\nbad = [",
            "\"guard\" . 'fail' = 'closed' # open\nbad = [",
            "[\"guard\"]\r\n fail=\"closed\r\nbad = [",
            "guard = { fail = \"closed\", }}",
            "[a]\nfail = \"open\"\n[guard]\nfail = \"closed\"\nb = [",
        ] {
            assert_eq!(fail(broken, ""), Fail::Closed, "{broken:?}");
        }
        for broken in ["[guard\nfail \"closed\"", "%%%", "labels = [", "# guard.fail = \"closed\"\n[["] {
            assert_eq!(fail(broken, ""), Fail::Open, "{broken:?}");
            assert_eq!(fail(broken, closed), Fail::Closed, "{broken:?}");
        }
        assert_eq!(fail("[a]\nfail = \"closed\"\n[guard]\nfail = \"open\"\nb = [", ""), Fail::Open);
        fs::remove_file(area.path(FILE)).unwrap();
        fs::create_dir(area.path(FILE)).unwrap();
        assert_eq!(guard_fail(&[&area.path(".")], &env(&area)), Fail::Open, "it cannot be read");
        fs::write(area.path("config/tenure/config.toml"), closed).unwrap();
        assert_eq!(guard_fail(&[&area.path(".")], &env(&area)), Fail::Closed);
        let config = with_file(&area, "near", "capture = \"errors\"\n[guard]\nfail = \"closed\"");
        assert_eq!((config.capture, config.guard_fail), (Capture::Errors, Fail::Closed));
    }

    fn with_file(area: &Area, dir: &str, text: &str) -> Config {
        fs::create_dir_all(area.path(dir)).unwrap();
        fs::write(area.path(dir).join(FILE), text).unwrap();
        fs::write(area.path("config/tenure/config.toml"), "").unwrap();
        load(&[&area.path(dir)], &env(area)).unwrap()
    }

    #[test]
    fn the_nearest_project_file_counts_alone() {
        let area = Area::new();
        for (dir, name) in [("near", "one"), ("far", "two")] {
            fs::create_dir(area.path(dir)).unwrap();
            fs::write(area.path(dir).join(FILE), format!("project = \"{name}\"")).unwrap();
        }
        let name = |dirs: &[&Path]| load(dirs, &env(&area)).unwrap().project.unwrap();
        assert_eq!(name(&[&area.path("near"), &area.path("far")]), "one");
        assert_eq!(name(&[&area.path("none"), &area.path("far")]), "two");
    }
}
