//! The generated reference pages match the program.

use std::path::Path;
use std::process::Command;

#[test]
fn the_reference_pages_are_up_to_date() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let output =
        Command::new(env!("CARGO_BIN_EXE_tenure")).args(["reference", "--check", "--dir", pages]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_file_that_the_architecture_names_exists() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(top.join("docs/architecture.md")).unwrap();
    let named: Vec<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|text| text.contains("/src/") && !text.contains(['<', ' ', '*']))
        .collect();
    assert!(named.len() > 30, "{named:?}");
    for path in named {
        assert!(top.join("crates").join(path).exists() || top.join(path).exists(), "{path}");
    }
}

#[test]
fn the_readme_names_every_command() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(top.join(file)).unwrap();
    let (readme, reference) = (read("README.md"), read("docs/reference/cli.md"));
    let table = readme.split_once("### Commands").unwrap().1.split("###").next().unwrap();
    let commands: Vec<&str> = reference.lines().filter_map(|line| line.strip_prefix("## tenure ")).collect();
    assert!(commands.len() > 40, "{commands:?}");
    let is_named = |name: &&str| [format!("`{name}`"), format!("`{name} ")].iter().any(|word| table.contains(word));
    let missing: Vec<_> = commands.into_iter().filter(|name| !is_named(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
