//! A server that has the store: its address, and the token it is spoken to with.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tenure_client::{Address, token as check};
use tenure_core::{Code, Error, Result, Stage};

use super::StoreFrom;
use crate::env::Env;

/// The most that is read of a file of tokens.
const FILE_MAX: u64 = 64 * 1024;

/// Reads an address.
pub(crate) fn address(given: &str, env: &Env) -> Result<Address> {
    Address::parse(given, env.says_yes("TENURE_FORCE_HTTP"))
}

/// The refusal of two places at once.
pub(super) fn both() -> Error {
    Error::usage(Code::StoreAndServer, "TENURE_STORE and TENURE_URL are both set, but a project has only one store")
        .hint("Unset one of them; `--store` overrides both for one call.")
}

/// The token for a server. One that is not bound to an address goes only where the caller or the user's own files point:
/// a repository names its server in `tenure.toml`, and whoever made the repository must not be sent what the user has.
pub(crate) fn token(env: &Env, address: &Address, from: StoreFrom) -> Result<String> {
    let by_project = from == StoreFrom::ProjectConfig;
    if let Some(given) = env.var("TENURE_TOKEN")?.filter(|_| !by_project) {
        return check(given).map(str::to_owned);
    }
    let file = env.config_home().map(|home| home.join("tenure/token"));
    let text = match &file {
        Some(file) => read(file, env)?,
        None => String::new(),
    };
    match among(&text, address, by_project) {
        Some(found) => check(found).map(str::to_owned),
        None => Err(missing(address, file, by_project)),
    }
}

/// The token of a file: a line with the address and the token, else, where it may go anywhere, a line of one word.
fn among<'a>(text: &'a str, address: &Address, by_project: bool) -> Option<&'a str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let bound = lines().find_map(|line| {
        let (named, token) = line.split_once(char::is_whitespace)?;
        (Address::parse(named, true).ok()? == *address).then_some(token.trim())
    });
    bound.or_else(|| lines().find(|line| !by_project && !line.contains(char::is_whitespace)))
}

#[expect(clippy::disallowed_methods, reason = "a file of the user's configuration")]
fn read(file: &Path, env: &Env) -> Result<String> {
    let unreadable = |error| {
        Error::new(Code::ConfigUnreadable, format!("{} cannot be read", file.display()))
            .at(Stage::Arguments)
            .entity(file.display().to_string())
            .hint("Make the file readable, or move it away.")
            .cause(error)
    };
    let opened = match std::fs::File::open(file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(String::new());
        }
        Err(error) => return Err(unreadable(error)),
    };
    let meta = opened.metadata().map_err(unreadable)?;
    if meta.mode() & 0o077 != 0 || meta.uid() != env.uid() {
        let message = format!("{} can be read by other users", file.display());
        return Err(Error::new(Code::TokenFileOpen, message)
            .at(Stage::Resolve)
            .entity(file.display().to_string())
            .hint("Make it private (chmod 600), and consider replacing the token."));
    }
    let mut text = String::new();
    opened.take(FILE_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn missing(address: &Address, file: Option<PathBuf>, by_project: bool) -> Error {
    let message = format!("there is no token for the server {address}");
    let file =
        file.map_or_else(|| "the file `token` of your configuration".to_owned(), |file| file.display().to_string());
    let error = Error::new(Code::TokenMissing, message).at(Stage::Resolve).entity(address.to_string());
    match by_project {
        true => error.hint(format!(
            "This repository names the server. If you trust it, put the line `{address} TOKEN` into {file} (chmod 600), or set TENURE_URL and TENURE_TOKEN."
        )),
        false => error.hint(format!("Set TENURE_TOKEN, or put the token into {file} (chmod 600).")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use tenure_client::phrasing::Commands;
    use tenure_core::Kind;

    use super::super::fixture::Area;
    use super::*;

    fn at(given: &str) -> Address {
        Address::parse(given, true).unwrap()
    }

    #[test]
    fn a_token_is_found_by_its_address() {
        let text = "# mine\n\nhttps://a.example tn_a\nhttps://b.example/x/   tn_b\ntn_any\n";
        for (address, by_project, token) in [
            ("https://a.example", false, Some("tn_a")),
            ("https://a.example/", true, Some("tn_a")),
            ("https://b.example/x", true, Some("tn_b")),
            ("https://c.example", false, Some("tn_any")),
            ("https://c.example", true, None),
            ("https://a.example:8443", true, None),
        ] {
            assert_eq!(among(text, &at(address), by_project), token, "{address}");
        }
    }

    #[test]
    fn a_repository_gets_no_token_that_is_not_meant_for_its_server() {
        let area = Area::new();
        let env = Env::of(&area.path("."), [("HOME", "/nonexistent"), ("TENURE_TOKEN", "tn_env")]);
        let find = |env: &Env, from| token(env, &at("https://evil.example"), from);
        assert_eq!(find(&env, StoreFrom::UrlVariable).unwrap(), "tn_env");
        assert_eq!(find(&env, StoreFrom::UserConfig).unwrap(), "tn_env");
        let refused = find(&env, StoreFrom::ProjectConfig).unwrap_err();
        assert_eq!((refused.kind(), refused.code().as_str()), (Kind::Denied, "token_missing"));
        assert!(!refused.to_json(&Commands).to_string().contains("tn_env"));
    }

    #[test]
    fn a_file_of_tokens_is_the_users_alone() {
        let area = Area::new();
        let file = area.path("token");
        std::fs::write(&file, "tn_x").unwrap();
        let env = Env::capture();
        let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        assert_eq!(read(&file, &env).unwrap_err().code(), "token_file_open");
        mode(0o600);
        assert_eq!(read(&file, &env).unwrap(), "tn_x");
        assert_eq!(read(&file, &Env::of(&area.path("."), [])).unwrap_err().code().as_str(), "token_file_open");
        assert_eq!(read(&area.path("none"), &env).unwrap(), "");
    }
}
