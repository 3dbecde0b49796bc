//! Checks that the dependencies are those that `deny.toml` allows, and that their versions are declared in one place.
//!
//! `deny.toml` is the only list of licences, sources and bans. `cargo deny check` reads it too and also checks
//! advisories, but needs a network; this test runs everywhere.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use serde::Deserialize;
use serde_json::{Value, json};

#[test]
fn every_dependency_is_what_deny_toml_allows() {
    let policy = policy();
    let found: Vec<String> = packages().iter().flat_map(|package| policy.objections(package)).collect();
    assert!(found.is_empty(), "deny.toml does not allow:\n{}", found.join("\n"));
}

#[test]
fn what_deny_toml_does_not_allow_is_found() {
    let policy = Policy::read(
        r#"
        [licenses]
        allow = ["MIT"]
        [bans]
        deny = [{ crate = "banned" }]
        [sources]
        unknown-registry = "deny"
        unknown-git = "deny"
        allow-registry = ["https://good.example/index"]
        allow-git = ["https://good.example/repository"]
        "#,
    );
    let objections = |name: &str, licence: Value, source: Option<&str>, manifest: &Path| {
        let package = json!({ "name": name, "version": "1.0.0", "license": licence, "source": source, "manifest_path": manifest });
        policy.objections(&package)
    };
    let (inside, outside) = (root().join("crates/some/Cargo.toml"), Path::new("/elsewhere/Cargo.toml"));
    let good = Some("registry+https://good.example/index");
    assert_eq!(objections("fine", json!("MIT"), good, outside), [""; 0]);
    assert_eq!(objections("fine", json!("MIT"), Some("git+https://good.example/repository?rev=1#1"), outside), [""; 0]);
    assert_eq!(objections("ours", json!("MIT"), None, &inside), [""; 0]);

    let one = |name: &str, licence: Value, source: Option<&str>, what: &str| {
        let found = objections(name, licence, source, outside);
        assert!(matches!(&found[..], [only] if only.contains(what)), "{what}: {found:?}");
    };
    one("viral", json!("GPL-3.0-only"), good, "licence GPL-3.0-only");
    one("silent", Value::Null, good, "licence none declared");
    one("forked", json!("MIT"), Some("git+https://good.example/repository-of-another#1"), "source git+");
    one("strange", json!("MIT"), Some("registry+https://good.example/index2"), "source registry+");
    one("sparse", json!("MIT"), Some("sparse+https://good.example/index/"), "source sparse+");
    one("beside", json!("MIT"), None, "source /elsewhere");
    one("banned", json!("MIT"), good, "banned");
}

#[test]
#[should_panic(expected = "unknown-git")]
fn a_deny_toml_that_lets_unknown_sources_in_is_refused() {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    Policy::read(&text.replace("unknown-git = \"deny\"", "unknown-git = \"warn\""));
}

#[test]
fn every_version_is_in_the_workspace_manifest() {
    let mut bad = Vec::new();
    let members: Vec<_> = packages().iter().filter(|p| p["source"].is_null()).collect();
    assert!(members.len() >= 5, "the members of the workspace are among the packages");
    for member in members {
        let path = PathBuf::from(member["manifest_path"].as_str().unwrap());
        let manifest: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        for dependency in outside_the_workspace(&manifest) {
            bad.push(format!("{}: {dependency}", path.strip_prefix(root()).unwrap().display()));
        }
    }
    assert!(bad.is_empty(), "write `NAME.workspace = true` and the version in the top Cargo.toml:\n{}", bad.join("\n"));
}

#[test]
fn a_release_lists_every_dependency_with_its_licence() {
    let host = host();
    let listed = run(root().join("packaging/third-party").as_os_str(), &[&host]).unwrap();
    let (crates, texts) = listed.split_once("Licence texts").unwrap();
    let rows: BTreeSet<[String; 3]> = crates
        .lines()
        .skip_while(|line| !line.starts_with("---"))
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
            let [name, version] = line.split_whitespace().take(2).collect::<Vec<_>>()[..] else { panic!("{line}") };
            let licence = words.iter().find(|word| permits(word, &policy().licenses.allow) == Ok(true));
            [name, version, licence.unwrap_or_else(|| panic!("{line}"))].map(str::to_owned)
        })
        .collect();
    // The graph of the whole workspace may switch more optional dependencies on than the program has.
    let [least, most] = [Optional::LeftOut, Optional::Followed].map(|optional| compiled(&host, optional));
    assert!(least.len() > 100, "{}", least.len());
    assert_eq!(least.difference(&rows).collect::<Vec<_>>(), Vec::<&[String; 3]>::new(), "missing");
    assert_eq!(rows.difference(&most).collect::<Vec<_>>(), Vec::<&[String; 3]>::new(), "not a dependency");
    for [name, version, _] in &rows {
        let named = texts.contains(&format!("\n{name} {version}"));
        assert!(named, "{name} has no text and is not named among those without");
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Optional {
    Followed,
    LeftOut,
}

/// Name, version and licence of what the program is compiled from on a platform, without the workspace and without what
/// only tests use.
fn compiled(host: &str, optional: Optional) -> BTreeSet<[String; 3]> {
    let args = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host];
    let metadata: Value = serde_json::from_str(&run(&cargo(), &args).unwrap()).unwrap();
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let items = list.as_array().unwrap().iter();
        items.map(|item| (item["id"].as_str().unwrap().to_owned(), item.clone())).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let mut open: Vec<&str> =
        packages.iter().filter(|(_, package)| package["name"] == "tenure").map(|(id, _)| id.as_str()).collect();
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let package = &packages[id];
        if !package["source"].is_null() {
            found.insert(["name", "version", "license"].map(|key| package[key].as_str().unwrap().to_owned()));
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let needed = dependency["pkg"].as_str().unwrap();
            let mut declared = package["dependencies"].as_array().unwrap().iter().filter(|declared| {
                declared["name"] == packages[needed]["name"]
                    && declared["kind"] != "dev"
                    && (optional == Optional::Followed || declared["optional"] == false)
            });
            let is_built = dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"] != "dev");
            if is_built && declared.next().is_some() {
                open.push(needed);
            }
        }
    }
    found
}

#[test]
fn licence_expressions_are_read_as_written() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "ISC".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()]);
    let yes = [
        "MIT",
        "MIT OR GPL-3.0-only",
        "GPL-3.0-only OR MIT",
        "GPL-3.0-only/MIT",
        "MIT AND ISC",
        "(MIT OR GPL-3.0-only) AND ISC",
        "GPL-3.0-only AND MIT OR ISC",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
    ];
    let no = [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "MIT AND (GPL-3.0-only OR LGPL-2.1-only)",
        "ISC AND GPL-3.0-only OR LGPL-2.1-only",
        "Apache-2.0",
        "MIT WITH Some-exception",
    ];
    let broken = ["", "none declared", "MIT OR", "MIT ISC", "(MIT", "MIT)", "OR MIT", "MIT WITH"];
    for text in yes {
        assert_eq!(permits(text, &allowed), Ok(true), "{text}");
    }
    for text in no {
        assert_eq!(permits(text, &allowed), Ok(false), "{text}");
    }
    for text in broken {
        assert!(permits(text, &allowed) != Ok(true), "{text}");
    }
}

#[test]
fn dependencies_with_a_version_of_their_own_are_found() {
    let manifest: toml::Table = r#"
        [dependencies]
        good.workspace = true
        also_good = { workspace = true, features = ["x"] }
        short = "1"
        long = { version = "1" }
        [dev-dependencies.apart]
        git = "somewhere"
        [target.'cfg(unix)'.build-dependencies]
        deep = "1"
    "#
    .parse()
    .unwrap();
    assert_eq!(outside_the_workspace(&manifest), ["long", "short", "apart", "deep"]);
}

/// The checked part of `deny.toml`.
#[derive(Deserialize)]
struct Policy {
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
    allow_registry: Vec<String>,
    allow_git: Vec<String>,
}

impl Policy {
    fn read(text: &str) -> Policy {
        let policy: Policy = toml::from_str(text).unwrap();
        let Sources { unknown_registry, unknown_git, .. } = &policy.sources;
        assert_eq!(
            [unknown_registry.as_str(), unknown_git],
            ["deny"; 2],
            "unknown-registry and unknown-git of deny.toml must be \"deny\""
        );
        let versioned = policy.bans.deny.iter().find(|ban| ban.name.contains(|c: char| ":@<>=^~* ".contains(c)));
        assert!(versioned.is_none(), "a ban is of a crate in all of its versions");
        policy
    }

    /// The violations of a package of `cargo metadata`, one per line.
    fn objections(&self, package: &Value) -> Vec<String> {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or("none declared");
        let mut found = Vec::new();
        if permits(licence, &self.licenses.allow) != Ok(true) {
            found.push(format!("licence {licence}"));
        }
        if self.bans.deny.iter().any(|ban| ban.name == name) {
            found.push("banned".to_owned());
        }
        match package["source"].as_str() {
            Some(source) if !self.sources.allow(source) => found.push(format!("source {source}")),
            Some(_) => {}
            // No source means a path; one outside the workspace would build on one machine only.
            None => {
                let manifest = package["manifest_path"].as_str().unwrap();
                if !Path::new(manifest).starts_with(root()) {
                    found.push(format!("source {manifest}"));
                }
            }
        }
        let version = package["version"].as_str().unwrap();
        found.into_iter().map(|what| format!("{name} {version}: {what}")).collect()
    }
}

impl Sources {
    /// Whether a source, as cargo writes it (`KIND+URL` with a query and a revision), is in the lists.
    fn allow(&self, source: &str) -> bool {
        let Some((kind, url)) = source.split_once('+') else { return false };
        let url = url.split(['?', '#']).next().unwrap();
        match kind {
            "registry" => self.allow_registry.iter().any(|allowed| allowed == url),
            "git" => self.allow_git.iter().any(|allowed| allowed == url),
            _ => false,
        }
    }
}

/// The dependencies of a manifest without `workspace = true`.
fn outside_the_workspace(manifest: &toml::Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(tables) {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let dependencies = table.get(kind).and_then(toml::Value::as_table);
            for (name, dependency) in dependencies.into_iter().flatten() {
                if dependency.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                    found.push(name.clone());
                }
            }
        }
    }
    found
}

/// Whether a licence expression can be satisfied with allowed licences alone. `/` is an older form of `OR`.
fn permits(expression: &str, allowed: &BTreeSet<String>) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let met = any_of(&mut rest, allowed)?;
    if rest.is_empty() { Ok(met) } else { Err(format!("unexpected {rest:?}")) }
}

fn any_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Result<bool, String> {
    let mut met = all_of(words, allowed)?;
    while take(words, "OR") {
        met |= all_of(words, allowed)?;
    }
    Ok(met)
}

fn all_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> Result<bool, String> {
    let mut met = one(words, allowed)?;
    while take(words, "AND") {
        met &= one(words, allowed)?;
    }
    Ok(met)
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> Result<bool, String> {
    if take(words, "(") {
        let met = any_of(words, allowed)?;
        return if take(words, ")") { Ok(met) } else { Err("no closing parenthesis".to_owned()) };
    }
    let mut licence = name(words)?.to_owned();
    if take(words, "WITH") {
        licence = format!("{licence} WITH {}", name(words)?);
    }
    Ok(allowed.contains(&licence))
}

fn name<'a>(words: &mut &[&'a str]) -> Result<&'a str, String> {
    match words.split_first() {
        Some((&word, rest)) if !["OR", "AND", "WITH", "(", ")"].contains(&word) => {
            *words = rest;
            Ok(word)
        }
        other => Err(format!("a licence expected, not {other:?}")),
    }
}

fn take(words: &mut &[&str], word: &str) -> bool {
    let found = words.first() == Some(&word);
    if found {
        *words = &words[1..];
    }
    found
}

/// Every package of the resolved graph.
fn packages() -> &'static [Value] {
    static PACKAGES: LazyLock<Vec<Value>> = LazyLock::new(|| {
        let metadata = metadata();
        let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
        let ids: BTreeSet<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
        let all = metadata["packages"].as_array().unwrap();
        all.iter().filter(|package| ids.contains(package["id"].as_str().unwrap())).cloned().collect()
    });
    &PACKAGES
}

/// The whole graph needs the manifests of all platforms, and a build fetches only its own. So the first attempt uses
/// the local manifests, the second the network, and the last one, without a network, only this platform.
fn metadata() -> Value {
    let host = host();
    let cargo = cargo();
    let attempts: [&[&str]; 3] = [&["--offline"], &[], &["--offline", "--filter-platform", &host]];
    let mut errors = String::new();
    for extra in attempts {
        let args = [&["metadata", "--format-version", "1", "--locked"], extra].concat();
        match run(&cargo, &args) {
            Ok(json) => return serde_json::from_str(&json).unwrap(),
            Err(e) => errors += &e,
        }
    }
    panic!("cargo metadata failed in every way:\n{errors}");
}

fn host() -> String {
    let version = run("rustc".as_ref(), &["-vV"]).unwrap();
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or("cargo".into())
}

fn policy() -> Policy {
    Policy::read(&fs::read_to_string(root().join("deny.toml")).unwrap())
}

fn run(program: &OsStr, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).current_dir(root()).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(format!("{program:?} {args:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
