//! The report of a soak test: sections of named figures.

use std::fmt::Write;
use std::time::Duration;

/// The time budget and the extent of a section.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The time that a section may take. It always does its minimum.
    pub time: Duration,
    /// The seed of the run.
    pub seed: u64,
    /// The number of seeds that a simulation runs, instead of as many as the time allows.
    pub seeds: Option<u64>,
}

/// The results of one section.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The title.
    pub title: String,
    /// The figures, in print order.
    pub figures: Vec<(String, String)>,
    /// The violations, each with everything needed to reproduce it.
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
