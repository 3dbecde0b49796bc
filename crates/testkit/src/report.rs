//! What a long run found: sections of named figures, one report.

use std::fmt::Write;
use std::time::Duration;

/// How long, and how much, a section is asked to run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The time a section may take; it does its least whatever this says.
    pub time: Duration,
    /// The seed that everything random comes from.
    pub seed: u64,
    /// How many seeds a simulation runs, in place of as many as there is time for.
    pub seeds: Option<u64>,
}

/// What one section did and found.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// What it is.
    pub title: String,
    /// Figures, in the order they are printed.
    pub figures: Vec<(String, String)>,
    /// What must never be, each with all that is needed to see it again.
    pub violations: Vec<String>,
}

impl Section {
    /// An empty section.
    pub fn new(title: &str) -> Section {
        Section { title: title.to_owned(), ..Section::default() }
    }

    /// Adds a figure.
    pub fn figure(&mut self, name: &str, value: impl ToString) {
        self.figures.push((name.to_owned(), value.to_string()));
    }

    /// Adds a violation.
    pub fn violation(&mut self, what: impl ToString) {
        self.violations.push(what.to_string());
    }
}

/// A report of all sections, as Markdown.
pub fn markdown(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        let _ = writeln!(text, "### {}\n\n| figure | value |\n|---|---|", section.title);
        for (name, value) in &section.figures {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        let _ = writeln!(text, "| violations | {} |\n", section.violations.len());
        for violation in &section.violations {
            let _ = writeln!(text, "```\n{violation}\n```\n");
        }
    }
    text
}
