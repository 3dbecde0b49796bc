//! Codex's `config.toml`: the MCP server and the directory that its sandbox may write. Everything that can stand apart goes
//! between marks at the end of the file; a directory goes into the list that is there, if there is one.
//!
//! Other programs write between the marks too: a table that is added at the end comes before the last comment. So entries are
//! taken by what they say, and in the end everything else must say what it said before.

use std::ops::Range;

use serde_json::json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::Problem;
use super::entries::{Outcome, SERVER};
use super::line::is_program;
use super::marked::{self, Span, TOML};
use super::statement::{Kind, Statement, statements};

static SERVERS: &str = "mcp_servers";
static TABLE: &str = "sandbox_workspace_write";
static LIST: &str = "writable_roots";
/// What a line that was put into a foreign table ends in.
const LINE_MARK: &str = " # tenure setup";

/// Puts server and directory in, or says that they are there. What has no place is left out, with a remark.
pub(crate) fn apply(before: Option<&str>, program: &str, dir: Option<&str>) -> Result<Outcome, Problem> {
    let mut remarks = Vec::new();
    let mut text = before.unwrap_or_default().to_owned();
    parse(&text)?;
    span(&text)?;
    let mut parts = Vec::new();
    match own_server(&parse(&text)?, program) {
        None => parts.push((
            format!("{SERVERS}.{SERVER}"),
            format!("[{SERVERS}.{SERVER}]\ncommand = {}\nargs = [\"mcp\"]", json!(program)),
        )),
        Some(true) => text = renewed(&text, program)?,
        Some(false) => {
            remarks.push(format!("an MCP server named `{SERVER}` that is another program's is left as it is"));
        }
    }
    let missing = |text: &str| Ok(dir.filter(|dir| !is_granted(text, dir)));
    if let Some(dir) = missing(&text)? {
        let name = format!("{TABLE}.{LIST}");
        match add_root(&text, dir)? {
            Some(after) => text = after,
            None if roots(&parse(&text)?).0.is_some() => remarks.push(no_place(&name)),
            None => parts.push((name, format!("[{TABLE}]\n{LIST} = [{}]", json!(dir)))),
        }
    }
    let own: Vec<&str> = dir.into_iter().collect();
    let others = foreign(before.unwrap_or_default(), program, &own);
    let mut made = before.is_none();
    for (name, part) in parts {
        let after = put(if made { None } else { Some(&text) }, &part)?;
        // A file that keeps its tables in one line leaves no room for one of its own.
        if is_same(&foreign(&after, program, &own), &others) {
            (text, made) = (after, false);
        } else {
            remarks.push(no_place(&name));
        }
    }
    if !is_same(&foreign(&text, program, &own), &others) {
        return Err(Problem::Tangled);
    }
    Ok(Outcome { text: (!made).then_some(text), remarks })
}

fn no_place(name: &str) -> String {
    format!("`{name}` is not added: the file is written in a way that leaves no place for it")
}

/// A part between the marks, behind what is there.
fn put(before: Option<&str>, part: &str) -> Result<String, Problem> {
    let text = before.unwrap_or_default();
    let Some(span) = span(text)? else { return Ok(marked::append(before, &TOML, part)) };
    let newline = marked::newline(text);
    let lines: String = part.lines().map(|line| format!("{line}{newline}")).collect();
    let mut after = text.to_owned();
    after.insert_str(span.inside.end, &format!("{newline}{lines}"));
    Ok(after)
}

/// Takes both out; a directory only if setup put it there.
pub(crate) fn strip(
    before: &str,
    program: &str,
    dir: Option<&str>,
    made: impl Fn(&str) -> bool,
) -> Result<Outcome, Problem> {
    parse(before)?;
    let mut remarks = Vec::new();
    let (mut text, taken) = without_roots(before, dir, made, &mut remarks)?;
    let mut after = Some(text.clone());
    if let Some(span) = span(&text)? {
        let rest = without_own(&text, &span, program)?;
        after = span.leave(&text, &rest);
        text = after.clone().unwrap_or_default();
    }
    if own_server(&parse(&text)?, program) == Some(true) {
        remarks.push(format!("the MCP server `{SERVER}` outside of the marks stays: setup did not put it there"));
    }
    let own: Vec<&str> = taken.iter().map(String::as_str).collect();
    if !is_same(&foreign(before, program, &own), &foreign(&text, program, &own)) {
        return Err(Problem::Tangled);
    }
    Ok(Outcome { text: after, remarks })
}

/// A file without the directories that setup put there, and which they were.
fn without_roots(
    text: &str,
    dir: Option<&str>,
    made: impl Fn(&str) -> bool,
    remarks: &mut Vec<String>,
) -> Result<(String, Vec<String>), Problem> {
    let table = parse(text)?;
    let (Some(place), list) = roots(&table) else { return Ok((text.to_owned(), Vec::new())) };
    let between = span(text)?.is_some_and(|span| span.inside.contains(&place.start));
    let all = statements(text);
    let Some(line) = all.iter().find(|statement| statement.range.contains(&place.start)) else {
        return Err(Problem::Tangled);
    };
    let marked = text[line.range.clone()].trim_end().ends_with(LINE_MARK);
    // Between the marks a list of one is as it was written, wherever the store is now.
    let is_own = |root: &str| made(root) || (between || marked) && dir == Some(root) || between && list.len() == 1;
    let taken: Vec<String> = list.iter().map(|(root, _)| root.clone()).filter(|root| is_own(root)).collect();
    if let Some(dir) = dir.filter(|dir| list.iter().any(|(root, _)| root == dir) && !taken.iter().any(|own| own == dir))
    {
        remarks.push(format!("the right to write {dir} stays: setup has no record that it gave it"));
    }
    if taken.is_empty() {
        return Ok((text.to_owned(), taken));
    }
    if taken.len() == list.len() && (between || marked) {
        // With the newline before it, which came with it.
        let front = &text[..line.range.start];
        let front = front.strip_suffix('\n').unwrap_or(front);
        let front = front.strip_suffix('\r').unwrap_or(front);
        let end = line.range.start + text[line.range.clone()].trim_end_matches(['\r', '\n']).len();
        return Ok((format!("{front}{}", &text[end..]), taken));
    }
    let mut out = text.to_owned();
    for _ in &taken {
        let (_, list) = roots(&parse(&out)?);
        let Some(index) = list.iter().position(|(root, _)| taken.contains(root)) else { break };
        out = cut(&out, &list, index);
    }
    Ok((out, taken))
}

/// What is left between the marks without Tenure's own.
fn without_own(text: &str, span: &Span, program: &str) -> Result<String, Problem> {
    let own_server = own_server(&parse(text)?, program) == Some(true);
    let all = statements(text);
    let inside = |statement: &&Statement| span.inside.contains(&statement.range.start);
    let is_sandbox = |statement: &Statement| statement.table == [TABLE];
    let emptied = !all.iter().any(|statement| is_sandbox(statement) && statement.kind == Kind::Pair);
    // Whatever else stands in the server's table is about the server, and one without a command is none.
    let goes = |statement: &Statement| {
        statement.kind != Kind::Comment
            && (own_server && statement.table.starts_with(&[SERVERS.to_owned(), SERVER.to_owned()])
                || emptied && is_sandbox(statement))
    };
    let stays = all.iter().filter(inside).filter(|statement| !goes(statement));
    Ok(stays.map(|statement| &text[statement.range.clone()]).collect())
}

/// Whether the server is in the file.
pub(crate) fn is_set_up(text: &str, program: &str) -> bool {
    parse(text).is_ok_and(|table| own_server(&table, program) == Some(true))
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Problem> {
    DeTable::parse(text).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::Malformed { line, what: error.message().to_owned() }
    })
}

/// Where Tenure's part is: a mark inside of a text is none.
fn span(text: &str) -> Result<Option<Span>, Problem> {
    let comments = statements(text).into_iter().filter(|statement| statement.kind == Kind::Comment);
    marked::locate(text, comments.map(|statement| statement.range), &TOML)
}

/// Everything in a file that is not Tenure's, as it is understood.
fn foreign(text: &str, program: &str, own: &[&str]) -> Option<toml::Table> {
    let mut table: toml::Table = text.parse().ok()?;
    let is_own = own_server(&parse(text).ok()?, program) == Some(true);
    if let Some(servers) = table.get_mut(SERVERS).and_then(toml::Value::as_table_mut) {
        if is_own {
            servers.remove(SERVER);
        }
        if servers.is_empty() {
            table.remove(SERVERS);
        }
    }
    if let Some(sandbox) = table.get_mut(TABLE).and_then(toml::Value::as_table_mut) {
        if let Some(list) = sandbox.get_mut(LIST).and_then(toml::Value::as_array_mut) {
            list.retain(|root| !root.as_str().is_some_and(|root| own.contains(&root)));
            if list.is_empty() {
                sandbox.remove(LIST);
            }
        }
        if sandbox.is_empty() {
            table.remove(TABLE);
        }
    }
    Some(table)
}

/// Whether two files say the same; a number that is none is not even the same as itself, but is written alike.
fn is_same(one: &Option<toml::Table>, other: &Option<toml::Table>) -> bool {
    one.is_some() && (one == other || format!("{one:?}") == format!("{other:?}"))
}

/// Whether the server of that name is Tenure's; None if there is none.
fn own_server(table: &Spanned<DeTable<'_>>, program: &str) -> Option<bool> {
    let entry = table.get_ref().get(SERVERS)?.get_ref().get(SERVER)?.get_ref();
    let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
    let command = entry.get("command").and_then(text).unwrap_or_default();
    let first = entry.get("args").and_then(|args| args.get_ref().get(0)).and_then(text).unwrap_or_default();
    Some(is_program(&command, program) && first == "mcp")
}

/// The server between the marks with this program, and everything else of it as it is.
fn renewed(text: &str, program: &str) -> Result<String, Problem> {
    let table = parse(text)?;
    let entry = table.get_ref().get(SERVERS).and_then(|servers| servers.get_ref().get(SERVER));
    let command = entry.and_then(|entry| entry.get_ref().get("command"));
    let (Some(command), Some(span)) = (command, span(text)?) else { return Ok(text.to_owned()) };
    if !span.inside.contains(&command.span().start) || command.get_ref().as_str() == Some(program) {
        return Ok(text.to_owned());
    }
    let mut out = text.to_owned();
    out.replace_range(command.span(), &json!(program).to_string());
    Ok(out)
}

/// Where the list of directories stands, and each of them.
type Roots = (Option<Range<usize>>, Vec<(String, Range<usize>)>);

fn roots(table: &Spanned<DeTable<'_>>) -> Roots {
    let list = table.get_ref().get(TABLE).and_then(|table| table.get_ref().get(LIST));
    let Some(list) = list else { return (None, Vec::new()) };
    let items = |array: &DeArray<'_>| {
        array.iter().map(|item| (item.get_ref().as_str().unwrap_or_default().to_owned(), item.span())).collect()
    };
    (Some(list.span()), list.get_ref().as_array().map(items).unwrap_or_default())
}

fn covers(root: &str, dir: &str) -> bool {
    let root = root.trim_end_matches('/');
    dir == root || !root.is_empty() && dir.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a directory may be written already.
fn is_granted(text: &str, dir: &str) -> bool {
    parse(text).is_ok_and(|table| roots(&table).1.iter().any(|(root, _)| covers(root, dir)))
}

/// A directory into a table that is there: into its list, or as a list in a line behind its head or behind another value of
/// it. None: there is no such place.
fn add_root(text: &str, dir: &str) -> Result<Option<String>, Problem> {
    let mut out = text.to_owned();
    if let (Some(span), list) = roots(&parse(text)?) {
        match list.last() {
            Some((_, last)) => out.insert_str(last.end, &format!(", {}", json!(dir))),
            None if text[span.clone()].starts_with('[') => out.insert_str(span.start + 1, &json!(dir).to_string()),
            None => return Ok(None),
        }
        return Ok(Some(out));
    }
    let all = statements(text);
    let head = all.iter().find(|statement| statement.kind == Kind::Header && statement.table == [TABLE]);
    let dotted = |statement: &&Statement| {
        let rest = text[statement.range.clone()].trim_start().strip_prefix(TABLE);
        statement.kind == Kind::Pair
            && statement.table.is_empty()
            && rest.is_some_and(|rest| rest.trim_start().starts_with('.'))
    };
    let (place, name) = match (head, all.iter().rfind(dotted)) {
        (Some(head), _) => (head, LIST.to_owned()),
        (None, Some(pair)) => (pair, format!("{TABLE}.{LIST}")),
        (None, None) => return Ok(None),
    };
    let end = place.range.start + text[place.range.clone()].trim_end_matches(['\r', '\n']).len();
    out.insert_str(end, &format!("{}{name} = [{}]{LINE_MARK}", marked::newline(text), json!(dir)));
    Ok(Some(out))
}

fn cut(text: &str, list: &[(String, Range<usize>)], index: usize) -> String {
    let span = list[index].1.clone();
    let (mut start, mut end) = (span.start, span.end);
    match index.checked_sub(1).map(|before| list[before].1.end) {
        Some(before) if text[before..start].trim() == "," => start = before,
        _ => {
            let rest = text[end..].trim_start_matches([' ', '\t']);
            if let Some(rest) = rest.strip_prefix(',') {
                end = text.len() - rest.trim_start_matches(' ').len();
            }
        }
    }
    let mut out = text.to_owned();
    out.replace_range(start..end, "");
    out
}

#[cfg(test)]
mod tests;
