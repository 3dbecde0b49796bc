//! Codex's `config.toml`: the MCP server and the directory that its sandbox may write. Tables of their own are written
//! between marks at the end of the file; the directory is added to an existing list if there is one.
//!
//! Codex itself rewrites the file (`codex mcp add`): it drops comments, moves tables and changes the layout. Entries
//! are therefore recognised by their content, wherever they are. Intact marks only make the removal exact to the byte.
//! After every change, all other content must parse to the same values as before.

use std::ops::Range;

use serde_json::json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::hook_command::is_program;
use super::json_entries::{FileOutcome, RecordedFile, SERVER};
use super::marked_section::{self, SectionSpan, TOML};
use super::toml_statement::{StatementKind, TomlStatement, cut, statements, without};
use super::{Problem, toml_hooks};

static SERVERS: &str = "mcp_servers";
static TABLE: &str = "sandbox_workspace_write";
static LIST: &str = "writable_roots";
/// The end of a line that Tenure added to a table that is not its own.
const LINE_MARK: &str = " # tenure setup";

/// Adds the server and the directory, or reports that they are present. An entry that cannot be placed is left out with
/// a remark.
pub(crate) fn apply(before: Option<&str>, program: &str, dir: Option<&str>) -> Result<FileOutcome, Problem> {
    let mut remarks = Vec::new();
    parse(before.unwrap_or_default())?;
    let mut text = toml_hooks::without(&without_stray_marks(before.unwrap_or_default()), program);
    let mut parts = Vec::new();
    match own_server(&parse(&text)?, program) {
        None => parts.push((
            format!("{SERVERS}.{SERVER}"),
            format!("[{SERVERS}.{SERVER}]\ncommand = {}\nargs = [\"mcp\"]", json!(program)),
        )),
        Some(true) => text = renewed(&text, program)?,
        Some(false) => {
            remarks.push(format!("an MCP server named `{SERVER}` of another program is kept"));
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
        // In a file that has its tables in one line, no separate table can be added.
        if is_same(&foreign(&after, program, &own), &others) {
            (text, made) = (after, false);
        } else {
            remarks.push(no_place(&name));
        }
    }
    if !is_same(&foreign(&text, program, &own), &others) {
        return Err(Problem::Tangled);
    }
    Ok(FileOutcome { text: (!made).then_some(text), remarks })
}

fn no_place(name: &str) -> String {
    format!("`{name}` is not added: the format of the file does not allow it")
}

/// Appends a section between marks.
fn put(before: Option<&str>, part: &str) -> Result<String, Problem> {
    let text = before.unwrap_or_default();
    let Some(span) = span(text) else { return Ok(marked_section::append(before, &TOML, part)) };
    let newline = marked_section::newline(text);
    let lines: String = part.lines().map(|line| format!("{line}{newline}")).collect();
    let mut after = text.to_owned();
    after.insert_str(span.inside.end, &format!("{newline}{lines}"));
    Ok(after)
}

/// Removes both. A directory is removed only if setup added it, and a table that becomes empty only if setup made it.
pub(crate) fn strip(
    before: &str,
    program: &str,
    dir: Option<&str>,
    made: &RecordedFile<'_>,
) -> Result<FileOutcome, Problem> {
    parse(before)?;
    let mut remarks = Vec::new();
    let (mut text, taken) = without_roots(before, dir, made.granted, &mut remarks)?;
    let mut after = Some(text.clone());
    if let Some(span) = span(&text) {
        let rest = without_own(&text, &span, program)?;
        after = span.leave(&text, &rest);
        text = after.clone().unwrap_or_default();
    }
    if own_server(&parse(&text)?, program) == Some(true) {
        text = without(&text, &[SERVERS, SERVER]);
    }
    text = as_made(&toml_hooks::without(&without_stray_marks(&text), program), made)?;
    let own: Vec<&str> = taken.iter().map(String::as_str).collect();
    if !is_same(&foreign(before, program, &own), &foreign(&text, program, &own)) {
        return Err(Problem::Tangled);
    }
    let is_gone = after.is_none() || (made.container)(&[]) == Some(true) && text.trim().is_empty();
    Ok(FileOutcome { text: (!is_gone).then_some(text), remarks })
}

/// The tables and the list that contain the entries, the deepest first.
pub(crate) const CONTAINERS: [&[&str]; 3] = [&[TABLE, LIST], &[TABLE], &[SERVERS]];

/// Removes the empty containers that setup made according to its record.
fn as_made(text: &str, made: &RecordedFile<'_>) -> Result<String, Problem> {
    let mut text = text.to_owned();
    for path in CONTAINERS {
        let table: toml::Table = text.parse().map_err(|_| Problem::Tangled)?;
        let found = find(&table, path);
        let is_empty = match found {
            Some(toml::Value::Table(table)) => table.is_empty(),
            Some(toml::Value::Array(list)) => list.is_empty(),
            _ => false,
        };
        match (made.container)(path) {
            Some(true) if is_empty => text = without(&text, path),
            // A table that was empty before was removed together with its content.
            Some(false) if found.is_none() && path.len() == 1 => text.push_str(&format!("\n[{}]\n", path[0])),
            _ => {}
        }
    }
    Ok(text)
}

fn find<'a>(table: &'a toml::Table, path: &[&str]) -> Option<&'a toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, name| value.get(name))
}

/// The containers in a file.
pub(crate) fn containers(text: &str) -> Vec<Vec<String>> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let there = CONTAINERS.into_iter().filter(|path| find(&table, path).is_some());
    there.map(|path| path.iter().map(|name| (*name).to_owned()).collect()).collect()
}

/// Removes marks that do not form one pair; the program that rewrote the file dropped the others.
fn without_stray_marks(text: &str) -> String {
    if span(text).is_some() {
        return text.to_owned();
    }
    let is_mark = |statement: &TomlStatement| {
        let line = text[statement.range.clone()].trim_end();
        statement.kind == StatementKind::Comment && [TOML.begin, TOML.end].contains(&line)
    };
    let mut out = text.to_owned();
    for mark in statements(text).into_iter().filter(is_mark).rev() {
        out.replace_range(mark.range, "");
    }
    out
}

/// Removes the directories that setup added, and returns them.
fn without_roots(
    text: &str,
    dir: Option<&str>,
    made: &dyn Fn(&str) -> bool,
    remarks: &mut Vec<String>,
) -> Result<(String, Vec<String>), Problem> {
    let table = parse(text)?;
    let (Some(place), list) = roots(&table) else { return Ok((text.to_owned(), Vec::new())) };
    let between = span(text).is_some_and(|span| span.inside.contains(&place.start));
    let all = statements(text);
    let Some(line) = all.iter().find(|statement| statement.range.contains(&place.start)) else {
        return Err(Problem::Tangled);
    };
    let marked = text[line.range.clone()].trim_end().ends_with(LINE_MARK);
    // Between the marks, a list with one element is as setup wrote it, even if the store has moved since.
    let is_own = |root: &str| made(root) || (between || marked) && dir == Some(root) || between && list.len() == 1;
    let taken: Vec<String> = list.iter().map(|(root, _)| root.clone()).filter(|root| is_own(root)).collect();
    if let Some(dir) = dir.filter(|dir| list.iter().any(|(root, _)| root == dir) && !taken.iter().any(|own| own == dir))
    {
        remarks.push(format!("the permission to write {dir} is kept: setup has no record of granting it"));
    }
    if taken.is_empty() {
        return Ok((text.to_owned(), taken));
    }
    if taken.len() == list.len() && (between || marked) {
        // With the newline before it, which was added with it.
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
        let spans: Vec<Range<usize>> = list.into_iter().map(|(_, span)| span).collect();
        out = cut(&out, &spans, index);
    }
    Ok((out, taken))
}

/// The content between the marks without Tenure's entries.
fn without_own(text: &str, span: &SectionSpan, program: &str) -> Result<String, Problem> {
    let own_server = own_server(&parse(text)?, program) == Some(true);
    let all = statements(text);
    let inside = |statement: &&TomlStatement| span.inside.contains(&statement.range.start);
    let is_sandbox = |statement: &TomlStatement| statement.table == [TABLE];
    let emptied = !all.iter().any(|statement| is_sandbox(statement) && statement.kind == StatementKind::Pair);
    // All other keys of the server's table belong to the server, and a server without a command does not work.
    let goes = |statement: &TomlStatement| {
        statement.kind != StatementKind::Comment
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

/// The position of Tenure's section, if its marks form one pair. A mark inside a string does not count.
fn span(text: &str) -> Option<SectionSpan> {
    let comments = statements(text).into_iter().filter(|statement| statement.kind == StatementKind::Comment);
    marked_section::locate(text, comments.map(|statement| statement.range), &TOML).ok().flatten()
}

/// The parsed content of a file without Tenure's entries.
fn foreign(text: &str, program: &str, own: &[&str]) -> Option<toml::Table> {
    let mut table: toml::Table = text.parse().ok()?;
    let is_own = own_server(&parse(text).ok()?, program) == Some(true);
    toml_hooks::take_from(&mut table, program);
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

/// Whether two files have the same content. NaN is not equal to itself, so its text is compared.
fn is_same(one: &Option<toml::Table>, other: &Option<toml::Table>) -> bool {
    one.is_some() && (one == other || format!("{one:?}") == format!("{other:?}"))
}

/// Whether the server of that name is Tenure's; `None` if there is no such server.
fn own_server(table: &Spanned<DeTable<'_>>, program: &str) -> Option<bool> {
    let entry = table.get_ref().get(SERVERS)?.get_ref().get(SERVER)?.get_ref();
    let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
    let command = entry.get("command").and_then(text).unwrap_or_default();
    let first = entry.get("args").and_then(|args| args.get_ref().get(0)).and_then(text).unwrap_or_default();
    Some(is_program(&command, program) && first == "mcp")
}

/// The server with this program; its other keys stay.
fn renewed(text: &str, program: &str) -> Result<String, Problem> {
    let table = parse(text)?;
    let entry = table.get_ref().get(SERVERS).and_then(|servers| servers.get_ref().get(SERVER));
    let command = entry.and_then(|entry| entry.get_ref().get("command"));
    let Some(command) = command.filter(|command| command.get_ref().as_str() != Some(program)) else {
        return Ok(text.to_owned());
    };
    let mut out = text.to_owned();
    out.replace_range(command.span(), &json!(program).to_string());
    Ok(out)
}

/// The position of the list of directories, and of each directory.
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

/// Whether the sandbox may already write a directory.
fn is_granted(text: &str, dir: &str) -> bool {
    parse(text).is_ok_and(|table| roots(&table).1.iter().any(|(root, _)| covers(root, dir)))
}

/// Adds a directory to an existing table: to its list, or as a new list after its header or after another value. `None`
/// if no position is suitable.
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
    let head = all.iter().find(|statement| statement.kind == StatementKind::Header && statement.table == [TABLE]);
    let dotted = |statement: &&TomlStatement| {
        let rest = text[statement.range.clone()].trim_start().strip_prefix(TABLE);
        statement.kind == StatementKind::Pair
            && statement.table.is_empty()
            && rest.is_some_and(|rest| rest.trim_start().starts_with('.'))
    };
    let (place, name) = match (head, all.iter().rfind(dotted)) {
        (Some(head), _) => (head, LIST.to_owned()),
        (None, Some(pair)) => (pair, format!("{TABLE}.{LIST}")),
        (None, None) => return Ok(None),
    };
    let end = place.range.start + text[place.range.clone()].trim_end_matches(['\r', '\n']).len();
    out.insert_str(end, &format!("{}{name} = [{}]{LINE_MARK}", marked_section::newline(text), json!(dir)));
    Ok(Some(out))
}

#[cfg(test)]
mod tests;
