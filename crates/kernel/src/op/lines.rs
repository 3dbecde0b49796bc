//! The lines that the items of a batch stand on in the input of its sender. They are no part of the request, which is the
//! same wherever it was read from, and travel beside it: a refusal names them.

use super::{Op, import};
use crate::query::question::Query;

impl Op {
    /// The lines of all items, in their order; nothing where there are none.
    pub fn lines(&self) -> Vec<usize> {
        match self {
            Op::AddMany(batch) => batch.items.iter().map(|item| item.line).collect(),
            Op::Import(batch) => of_import(batch),
            _ => Vec::new(),
        }
    }

    /// Puts the lines back. What is too much or too little is nothing to worry about: they are for people.
    pub fn set_lines(&mut self, lines: &[usize]) {
        match self {
            Op::AddMany(batch) => batch.items.iter_mut().zip(lines).for_each(|(item, line)| item.line = *line),
            Op::Import(batch) => into_import(batch, lines),
            _ => {}
        }
    }
}

impl Query {
    /// As [`Op::lines`].
    pub fn lines(&self) -> Vec<usize> {
        match self {
            Query::ImportPlan(batch) => of_import(batch),
            _ => Vec::new(),
        }
    }

    /// As [`Op::set_lines`].
    pub fn set_lines(&mut self, lines: &[usize]) {
        if let Query::ImportPlan(batch) = self {
            into_import(batch, lines);
        }
    }
}

fn of_import(batch: &import::Request) -> Vec<usize> {
    batch.tasks.iter().map(|task| task.line).chain(batch.notes.iter().map(|note| note.line)).collect()
}

fn into_import(batch: &mut import::Request, lines: &[usize]) {
    let tasks = batch.tasks.iter_mut().map(|task| &mut task.line);
    tasks.chain(batch.notes.iter_mut().map(|note| &mut note.line)).zip(lines).for_each(|(to, line)| *to = *line);
}
