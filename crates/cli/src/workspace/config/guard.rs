//! What the configuration says about guards.

use std::path::Path;

use serde::Deserialize;
use tenure_core::pattern::{Case, GLOB, Pattern};
use tenure_core::{Code, Error, Result};
use toml::Spanned;

use super::{FILE, read};
use crate::env::Env;

/// What a guard does that cannot look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fail {
    /// Lets the edit through.
    #[default]
    Open,
    /// Refuses it.
    Closed,
}

/// What a guard does with a person in whose way an agent stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum People {
    /// Tells them in one line and lets them through.
    #[default]
    Warn,
    /// Refuses them as it refuses agents.
    Refuse,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GuardTable {
    pub(super) fail: Option<Fail>,
    pub(super) people: Option<People>,
    pub(super) relaxed: Option<Spanned<Vec<String>>>,
}

/// Files that many change a little and that programs write: lockfiles and changelogs, wherever they are.
pub(super) const RELAXED: [&str; 2] = [
    "glob:**/{Cargo.lock,package-lock.json,npm-shrinkwrap.json,yarn.lock,pnpm-lock.yaml,bun.lock,bun.lockb,deno.lock,\
     poetry.lock,uv.lock,pdm.lock,Pipfile.lock,Gemfile.lock,composer.lock,go.sum,go.work.sum,mix.lock,pubspec.lock,\
     Podfile.lock,Package.resolved,flake.lock,gradle.lockfile,packages.lock.json,.terraform.lock.hcl}",
    "glob:**/CHANGELOG*",
];

/// Most patterns of `guard.relaxed`.
const RELAXED_MAX: usize = 64;

/// Reads `guard.relaxed`. A pattern without a slash is meant in every directory, one that begins with
/// a slash at the top, as in `.gitignore`.
pub(super) fn relaxed(typed: &[impl AsRef<str>]) -> Result<Vec<Pattern>> {
    if typed.len() > RELAXED_MAX {
        return Err(Error::usage(
            Code::BadRelaxed,
            format!("there are {} patterns; the limit is {RELAXED_MAX}", typed.len()),
        ));
    }
    let read = |typed: &str| {
        let body = typed.strip_prefix(GLOB).unwrap_or(typed);
        let anywhere = !body.trim_end_matches('/').contains('/');
        let body = body.strip_prefix('/').unwrap_or(body);
        let below = if body.ends_with('/') { "**" } else { "" };
        let whole = if anywhere { format!("{GLOB}**/{body}{below}") } else { format!("{GLOB}{body}{below}") };
        Pattern::parse(&whole, Case::Kept)
    };
    typed.iter().map(|typed| read(typed.as_ref())).collect()
}

/// What a guard does that cannot look, read for the moment in which nothing else works: a file that is wrong elsewhere,
/// or no longer TOML at all, still says so. Nothing that somebody closed is opened by a slip in another line, and nothing
/// is closed by a slip: a file of which nothing about it can be understood says nothing.
pub(crate) fn guard_fail(dirs: &[&Path], env: &Env) -> Fail {
    let project = dirs.iter().find_map(|dir| read(dir.join(FILE)).transpose());
    let user = env.config_home().and_then(|dir| read(dir.join("tenure/config.toml")).transpose());
    for file in [project, user].into_iter().flatten() {
        if let Some(fail) = file.ok().and_then(|(_, text)| said(&text)) {
            return fail;
        }
    }
    Fail::default()
}

fn said(text: &str) -> Option<Fail> {
    let of = |word: &str| match word {
        "closed" => Some(Fail::Closed),
        "open" => Some(Fail::Open),
        _ => None,
    };
    if let Ok(table) = text.parse::<toml::Table>() {
        let guard = table.get("guard")?;
        let fail = if guard.is_table() { guard.get("fail")? } else { guard };
        return of(fail.as_str().unwrap_or_default());
    }
    lines(text).filter_map(|word| of(&word)).last()
}

/// What the lines of a file that is not TOML say about the guard, in each way to write it.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let plain = |text: &str| -> String { text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect() };
    let mut table = String::new();
    text.lines().filter_map(move |line| {
        let line = line.split('#').next().unwrap_or_default();
        let Some((key, value)) = line.split_once('=') else {
            if line.trim_start().starts_with('[') {
                table = plain(line);
            }
            return None;
        };
        let value = match (plain(key).as_str(), table.as_str()) {
            ("fail", "guard") | ("guard.fail", _) => value,
            ("guard", "") => value.split_once("fail")?.1,
            _ => return None,
        };
        Some(value.chars().filter(char::is_ascii_alphabetic).collect())
    })
}
