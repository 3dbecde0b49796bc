//! Where a store is: a SQLite file, a PostgreSQL database, or behind a server.

use std::path::{Path, PathBuf};

use tenure_client::Address;
use tenure_core::{Code, Error, Result, Stage, text};

use crate::env::Env;

/// The name of the database file in a directory that is given for a store.
const DATABASE: &str = "tenure.db";

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// The absolute path of the database file.
    Sqlite(PathBuf),
    /// A `postgres://` URL, with its password if it has one: for connecting, never for showing.
    Postgres(String),
    /// A server that has the store.
    Server(Address),
}

// Debug output ends up in logs and failed assertions.
impl std::fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display())
    }
}

impl StoreLocation {
    /// Reads what was given for a store: a path seen from `base`, or a URL. A directory means `tenure.db` inside it.
    pub(crate) fn parse(given: &str, base: &Path, env: &Env) -> Result<StoreLocation> {
        let Some(file) = form(given)? else {
            let given = given.trim();
            // The scheme is known in any case, and the client knows only this one.
            let rest = given.split_once("://").map_or(given, |(_, rest)| rest);
            return Ok(StoreLocation::Postgres(format!("postgres://{rest}")));
        };
        // Shells expand the tilde, files do not; taken as it is it would make a directory of that name.
        let path = match file.strip_prefix("~/") {
            Some(below) => env.home().ok_or_else(no_home)?.join(below),
            None => base.join(file),
        };
        let directory = file.ends_with('/') || path.is_dir();
        let path: PathBuf = path.components().collect();
        Ok(StoreLocation::Sqlite(if directory { path.join(DATABASE) } else { path }))
    }

    /// Checks what was given for a store by its text alone.
    pub(crate) fn check(given: &str) -> Result<()> {
        form(given).map(|_| ())
    }

    /// The store of a project that keeps it in its own directory.
    pub(crate) fn inside(dir: &Path) -> StoreLocation {
        StoreLocation::Sqlite(dir.join(DATABASE))
    }

    /// The store of everything that has no other.
    pub(crate) fn of_user(env: &Env) -> Result<StoreLocation> {
        Ok(StoreLocation::inside(&env.data_home().ok_or_else(no_home)?.join("tenure")))
    }

    /// How it is shown: without a password, wherever the URL carries it.
    pub(crate) fn display(&self) -> String {
        match self {
            StoreLocation::Sqlite(path) => path.display().to_string(),
            StoreLocation::Postgres(url) => tenure_store::redact(url),
            StoreLocation::Server(address) => address.to_string(),
        }
    }
}

/// The file that is meant; None for a PostgreSQL URL.
fn form(given: &str) -> Result<Option<&str>> {
    let given = given.trim();
    let lower = given.to_ascii_lowercase();
    // A URL with a slash too few would become a file with a password in its name.
    let meant = lower.starts_with("postgres:") || lower.starts_with("postgresql:") || lower.contains("password=");
    if meant && !lower.starts_with("postgres://") && !lower.starts_with("postgresql://") {
        return Err(refuse(
            Code::BadStore,
            "this looks like a PostgreSQL address but is not a postgres:// URL".to_owned(),
        ));
    }
    let (scheme, rest) = match given.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => match given.split_once(':') {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("sqlite") => ("sqlite".to_owned(), rest),
            _ => (String::new(), given),
        },
    };
    match scheme.as_str() {
        "postgres" | "postgresql" => Ok(None),
        "" | "sqlite" if !rest.is_empty() && !rest.contains('\0') => Ok(Some(rest)),
        "" | "sqlite" => Err(refuse(Code::BadStore, format!("`{}` names no file", text::excerpt(given)))),
        other => Err(refuse(Code::UnknownStoreScheme, format!("`{}://` is not a kind of store", text::excerpt(other)))),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
}

fn refuse(code: Code, message: String) -> Error {
    Error::new(code, message).at(Stage::Resolve).hint(
        "Give a file path, `sqlite:PATH`, or a `postgres://` URL (also `postgresql://`); TENURE_URL names a \
               server.",
    )
}

fn no_home() -> Error {
    Error::new(Code::NoHome, "HOME is not set and the user has no home directory")
        .at(Stage::Resolve)
        .hint("Set HOME, or name a store with --store or TENURE_STORE.")
}

#[cfg(test)]
mod tests {
    use tenure_client::phrasing::Commands;
    use tenure_core::Kind;

    use super::super::fixture::Area;
    use super::*;

    #[test]
    fn paths_are_seen_from_the_base_and_directories_hold_a_database() {
        let area = Area::new();
        std::fs::create_dir(area.path("dir")).unwrap();
        let env = Env::of(&area.path("."), [("HOME", "/home/ann")]);
        let parse = |given: &str| StoreLocation::parse(given, &area.path("."), &env).unwrap();
        for given in ["x.db", "./x.db", "sqlite:x.db", "sqlite://x.db", "SQLite:.//x.db"] {
            assert_eq!(parse(given), StoreLocation::Sqlite(area.path("x.db")), "{given}");
        }
        for given in ["dir", "dir/", "./dir", "sqlite:dir"] {
            assert_eq!(parse(given), StoreLocation::Sqlite(area.path("dir/tenure.db")), "{given}");
        }
        assert_eq!(parse("new/"), StoreLocation::Sqlite(area.path("new/tenure.db")));
        assert_eq!(parse("sqlite:///abs/x"), StoreLocation::Sqlite("/abs/x".into()));
        assert_eq!(parse("~/x.db"), StoreLocation::Sqlite("/home/ann/x.db".into()));
        assert_eq!(parse("a:b"), StoreLocation::Sqlite(area.path("a:b")));
    }

    #[test]
    fn urls_are_taken_as_they_are_and_unknown_schemes_refused() {
        let env = Env::of(Path::new("/"), []);
        let parse = |given: &str| StoreLocation::parse(given, Path::new("/"), &env);
        for given in ["postgres://u:p@h/d", "postgresql://u:p@h/d", "Postgres://u:p@h/d", " postgres://u:p@h/d\n"] {
            assert_eq!(parse(given).unwrap(), StoreLocation::Postgres("postgres://u:p@h/d".into()));
        }
        // With a slash too few they would be files with a password in their names.
        for given in ["postgres:/u:secret@h/d", "postgres:u:secret@h/d", "host=h password=secret"] {
            let error = parse(given).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "bad_store"));
            assert!(!error.to_json(&Commands).to_string().contains("secret"));
        }
        for given in ["mysql://h/d", "http://u:secret@h", "file:///x"] {
            let error = parse(given).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "unknown_store_scheme"));
            assert!(
                error.advice().unwrap().say(&Commands).contains("postgres://")
                    && !error.to_json(&Commands).to_string().contains("secret")
            );
        }
        for given in ["", "sqlite:", "sqlite://"] {
            assert_eq!(parse(given).unwrap_err().code(), "bad_store");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for url in [
            "postgres://u:secret@h:5433/d",
            "postgres://u:se/secret@et@h/d?x=1",
            "postgres://u:se?secret@h/d",
            "postgresql://h/d?sslmode=require&password=secret",
        ] {
            let location = StoreLocation::Postgres(url.into());
            let (display, debug) = (location.display(), format!("{location:?}"));
            assert!(!display.contains("secret") && !debug.contains("secret"), "{display} {debug}");
        }
        // Two schemas of one database are two stores, and look it.
        let location = StoreLocation::Postgres("postgres://u@h/d?schema=team_1".into());
        assert_eq!(location.display(), "postgres://u@h/d?schema=team_1");
    }

    #[test]
    fn the_user_store_needs_a_home() {
        let env = Env::of(Path::new("/"), [("HOME", "/h")]);
        assert_eq!(StoreLocation::of_user(&env).unwrap().display(), "/h/.local/share/tenure/tenure.db");
        let env = env.with("XDG_DATA_HOME", "/data");
        assert_eq!(StoreLocation::of_user(&env).unwrap().display(), "/data/tenure/tenure.db");
        let error = StoreLocation::of_user(&Env::of(Path::new("/"), [])).unwrap_err();
        assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "no_home"));
    }
}
