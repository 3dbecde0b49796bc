//! `tenure man`: the manual pages, made from the commands themselves.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args as _, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use tenure_core::action::Action;
use tenure_core::{Code, Error, Kind, Result, Stage};

use super::reference::VARIABLES;
use super::{ALL, Group, Run, Spec, read};
use crate::args::whole;
use crate::user_file::is_own;
use crate::workspace::file::{SETTINGS_MAX, read_text};

pub(super) const SPEC: Spec = Spec {
    name: "man",
    aliases: &[],
    group: Group::Hidden,
    about: "Print a man page, or write all of them to a directory",
    examples: &["tenure man claim | man -l -", "tenure man --dir ~/.local/share/man/man1"],
    args: Args::augment_args,
    run: Run::Plain(|_, out, matches| {
        let args: Args = read(matches)?;
        let pages = pages()?;
        if let Some(dir) = &args.dir {
            for page in &pages {
                refuse_foreign(&dir.join(&page.name), page)?;
            }
            for page in &pages {
                write(dir, page)?;
            }
            out.text(&format!("Wrote {} man pages to {}", pages.len(), dir.display()));
            return Ok(0);
        }
        let words: Vec<&str> = std::iter::once("tenure").chain(args.command.iter().map(String::as_str)).collect();
        let name = format!("{}.1", words.join("-"));
        let page = pages.iter().find(|page| page.name == name).ok_or_else(|| {
            let message = format!("there is no man page for `{}`", words.join(" "));
            Error::usage(Code::BadArguments, message).attempt(Action::Help { command: None })
        })?;
        out.text(&page.text);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The command; default: tenure itself
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write all pages to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
/// No date, so that two builds give the same page; the source; the manual. clap_mangen would leave the empty date out, which
/// moves the others into its place.
const FOOTER: &str = concat!("\"\" \"tenure ", env!("CARGO_PKG_VERSION"), "\" \"Tenure Manual\"");

/// A manual page of section 1.
#[derive(Debug)]
pub(super) struct ManPage {
    /// The name of its file, such as `tenure-claim.1`.
    pub(super) name: String,
    pub(super) text: String,
}

/// The page of `tenure` and one for each command and subcommand that help lists.
pub(super) fn pages() -> Result<Vec<ManPage>> {
    let mut top = whole();
    top.build();
    let mut found = Vec::new();
    collect(&top, &mut found).map_err(|error| Error::bug(format!("the man page cannot be created: {error}")))?;
    Ok(found)
}

fn collect(command: &Command, found: &mut Vec<ManPage>) -> std::io::Result<()> {
    // Only commands of the first level have examples.
    let spec = ALL.iter().find(|spec| format!("tenure {}", spec.name) == command.get_bin_name().unwrap_or_default());
    let man = Man::new(command.clone());
    let name = man.get_filename();
    let mut text = Vec::new();
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let is_top = command.get_name() == "tenure";
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(spec) = spec {
        examples(spec).to_writer(&mut text)?;
    }
    if is_top {
        surroundings().to_writer(&mut text)?;
    } else {
        see_also().to_writer(&mut text)?;
    }
    // Each section begins with the same definition of an apostrophe; one is enough.
    let sections = String::from_utf8_lossy(&text).replace(APOSTROPHE, "");
    let title = name.trim_end_matches(".1").to_uppercase();
    found.push(ManPage { name, text: format!("{APOSTROPHE}.TH {title} 1 {FOOTER}\n{sections}") });
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect(sub, found)?;
    }
    Ok(())
}

fn examples(spec: &Spec) -> Roff {
    let mut roff = Roff::new();
    if !spec.examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in spec.examples {
            roff.text([roman(*line)]);
        }
        roff.control("fi", []);
    }
    roff
}

/// What stands at the end of the page of `tenure`: variables and exit codes.
fn surroundings() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["ENVIRONMENT"]);
    for (names, meaning) in VARIABLES {
        roff.control("TP", []).text([bold(*names)]).text([roman(meaning.replace('`', ""))]);
    }
    roff.control("SH", ["EXIT STATUS"]);
    roff.control("TP", []).text([bold("0")]).text([roman("success")]);
    let mut exits: Vec<u8> = Kind::ALL.iter().map(|kind| kind.exit()).collect();
    exits.sort_unstable();
    exits.dedup();
    for exit in exits {
        let kinds: Vec<&str> = Kind::ALL.iter().filter(|kind| kind.exit() == exit).map(|kind| kind.as_str()).collect();
        roff.control("TP", []).text([bold(exit.to_string())]).text([roman(kinds.join(", "))]);
    }
    roff
}

fn see_also() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text([bold("tenure"), roman("(1)")]);
    roff
}

/// Refuses to replace a file that is not a page of this command: also a link, and what `completions --install` wrote,
/// which recognises its pages by their checksum.
fn refuse_foreign(path: &Path, page: &ManPage) -> Result<()> {
    // Without the version: an upgrade replaces the pages.
    let header = page.text.lines().find_map(|line| Some(line.split_once("\"tenure ")?.0)).unwrap_or_default();
    let is_page =
        |text: &str| text.lines().take(4).any(|line| line.starts_with(header) && line.ends_with("\"Tenure Manual\""));
    let replaceable = match path.symlink_metadata() {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(found) => found.is_file() && !is_own(path) && read_text(path, SETTINGS_MAX).is_ok_and(|text| is_page(&text)),
    };
    if replaceable {
        return Ok(());
    }
    Err(Error::new(Code::FileExists, format!("{} exists, and `tenure man` did not write it", path.display()))
        .at(Stage::Write)
        .hint("Nothing was written. Name another directory, or move the file away."))
}

fn write(dir: &Path, page: &ManPage) -> Result<()> {
    let path = dir.join(&page.name);
    let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&path, &page.text));
    written.map_err(|error| {
        Error::new(Code::NotWritable, format!("{} cannot be written", path.display())).at(Stage::Write).cause(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_has_a_page_and_no_hidden_one_has() {
        let pages = pages().unwrap();
        for spec in ALL {
            let page = pages.iter().find(|page| page.name == format!("tenure-{}.1", spec.name));
            assert_eq!(page.is_some(), spec.group != Group::Hidden, "{}", spec.name);
            if let Some(page) = page {
                assert_eq!(page.text.matches(".ds Aq").count(), 2, "{}", page.text);
                assert!(page.text.contains(".SH EXAMPLES\n"), "{}", page.text);
            }
        }
        let top = &pages[0];
        assert_eq!(top.name, "tenure.1");
        assert!(top.text.contains(".SH ENVIRONMENT\n") && top.text.contains(".SH \"EXIT STATUS\"\n"), "{}", top.text);
    }
}
