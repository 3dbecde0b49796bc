//! Formats the results as Markdown tables.

use std::time::Duration;

use crate::WARM_UP;

/// The quantile in seconds.
pub(crate) fn quantile(mut times: Vec<Duration>, q: f64) -> f64 {
    times.sort();
    times[((times.len() - 1) as f64 * q).round() as usize].as_secs_f64()
}

pub(crate) fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

pub(crate) struct Table {
    title: String,
    head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(title: &str, head: &[impl AsRef<str>]) -> Table {
        eprintln!("measuring: {title}");
        Table::quiet(title, head)
    }

    pub(crate) fn quiet(title: &str, head: &[impl AsRef<str>]) -> Table {
        Table { title: title.to_owned(), head: head.iter().map(|s| s.as_ref().to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row that compares a call with its baseline, without the warm-up rounds.
    pub(crate) fn compare(&mut self, name: &str, pairs: &[(Duration, Duration)]) {
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs[WARM_UP..].iter().copied().unzip();
        let mut row = vec![name.to_owned()];
        for q in [0.5, 0.99] {
            let (a, b) = (quantile(ours.clone(), q), quantile(theirs.clone(), q));
            row.extend([ms(a), ms(b), format!("{:.2}", a / b)]);
        }
        self.rows.push(row);
    }

    pub(crate) fn print(&self, markdown: bool) {
        println!("\n{}{}\n", if markdown { "## " } else { "" }, self.title);
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let widths: Vec<_> =
            (0..self.head.len()).map(|i| lines().map(|line| line[i].chars().count()).max().unwrap()).collect();
        for (n, line) in lines().enumerate() {
            if markdown {
                println!("| {} |", line.join(" | "));
                if n == 0 {
                    println!("|{}", "---|".repeat(line.len()));
                }
            } else {
                let cells: Vec<_> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
                println!("{}", cells.join("  ").trim_end());
            }
        }
    }
}
