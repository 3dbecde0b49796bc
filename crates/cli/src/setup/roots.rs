//! Codex's `config.toml`: the MCP server and the directory that its sandbox may write. Everything that can stand apart goes
//! between marks at the end of the file; a directory goes into the list that is there, if there is one.

use std::ops::Range;

use serde_json::json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::Problem;
use super::entries::{Outcome, SERVER};
use super::marked::{self, TOML};

static TABLE: &str = "sandbox_workspace_write";
static LIST: &str = "writable_roots";
/// What a line that was put into a foreign table ends in.
const LINE_MARK: &str = " # tenure setup";

/// Puts server and directory in, or says that they are there.
pub(crate) fn apply(before: Option<&str>, program: &str, dir: Option<&str>) -> Result<Outcome, Problem> {
    let mut remarks = Vec::new();
    let mut text = before.unwrap_or_default().to_owned();
    parse(&text)?;
    // What stands between the marks is ours to write anew; the rest decides what is needed.
    let mut foreign = marked::take(&text, &TOML).unwrap_or_default();
    let mut lines = Vec::new();
    let table = parse(&foreign)?;
    match table.get_ref().get("mcp_servers").and_then(|servers| servers.get_ref().get(SERVER)) {
        None => lines.push(format!("[mcp_servers.{SERVER}]\ncommand = {}\nargs = [\"mcp\"]", json!(program))),
        Some(entry) if is_own(entry.get_ref()) => {}
        Some(_) => remarks.push(format!("an MCP server named `{SERVER}` that is another program's is left as it is")),
    }
    if let Some(dir) = dir.filter(|dir| !roots(&table).1.iter().any(|(root, _)| covers(root, dir))) {
        match table.get_ref().get(TABLE) {
            None => lines.push(format!("[{TABLE}]\n{LIST} = [{}]", json!(dir))),
            Some(_) => {
                foreign = add_root(&foreign, &table, dir).ok_or_else(|| no_room(LIST))?;
                let block = marked::find(&text, &TOML).map(str::to_owned);
                text = block.map_or(foreign.clone(), |block| marked::put(Some(&foreign), &TOML, &block));
            }
        }
    }
    if lines.is_empty() {
        let gone = before.is_none();
        let text = marked::take(&text, &TOML);
        return Ok(Outcome { text: if gone { None } else { text }, remarks });
    }
    let after = marked::put(before.map(|_| text.as_str()), &TOML, &lines.join("\n\n"));
    // A file that keeps its servers in one line leaves no room for a table of its own.
    let table = parse(&after).map_err(|_| no_room(&format!("mcp_servers.{SERVER}")))?;
    if dir.is_some_and(|dir| !roots(&table).1.iter().any(|(root, _)| covers(root, dir))) {
        return Err(no_room(LIST));
    }
    Ok(Outcome { text: Some(after), remarks })
}

/// Takes both out; the directory only if it is known that setup put it there.
pub(crate) fn strip(before: &str, dir: Option<&str>, made: impl Fn(&str) -> bool) -> Result<Outcome, Problem> {
    parse(before)?;
    let mut remarks = Vec::new();
    let Some(mut text) = marked::take(before, &TOML) else { return Ok(Outcome { text: None, remarks }) };
    text = without_marked_line(&text);
    if let Some(dir) = dir {
        let table = parse(&text)?;
        let (_, list) = roots(&table);
        if let Some(index) = list.iter().position(|(root, _)| root == dir) {
            if made(dir) {
                text = cut(&text, &list, index);
            } else {
                remarks.push(format!("the right to write {dir} stays: setup has no record that it gave it"));
            }
        }
    }
    Ok(Outcome { text: Some(text), remarks })
}

/// Whether the server or a marked line of Tenure's is in the file.
pub(crate) fn is_set_up(text: &str) -> bool {
    let own = |table: &Spanned<DeTable<'_>>| {
        let servers = table.get_ref().get("mcp_servers");
        servers.and_then(|servers| servers.get_ref().get(SERVER)).is_some_and(|entry| is_own(entry.get_ref()))
    };
    parse(text).is_ok_and(|table| own(&table))
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Problem> {
    DeTable::parse(text).map_err(|error| {
        let before = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count() + 1;
        Problem::Malformed { line, what: error.message().to_owned() }
    })
}

fn no_room(entry: &str) -> Problem {
    Problem::NoRoom { entry: entry.to_owned() }
}

fn is_own(entry: &DeValue<'_>) -> bool {
    let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
    let command = entry.get("command").and_then(text).unwrap_or_default();
    let first = entry.get("args").and_then(|args| args.get_ref().get(0)).and_then(text).unwrap_or_default();
    command.rsplit('/').next() == Some("tenure") && first == "mcp"
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

/// A directory into a table that is there: into its list, or as a list in a line behind its head.
fn add_root(text: &str, table: &Spanned<DeTable<'_>>, dir: &str) -> Option<String> {
    let mut out = text.to_owned();
    if let (Some(span), list) = roots(table) {
        match list.last() {
            Some((_, last)) => out.insert_str(last.end, &format!(", {}", json!(dir))),
            None if text[span.clone()].starts_with('[') => out.insert_str(span.start + 1, &json!(dir).to_string()),
            None => return None,
        }
        return Some(out);
    }
    let head = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line))
    });
    let is_head = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().replace([' ', '\t', '\r', '\n'], "");
        line == format!("[{TABLE}]")
    };
    let (start, line) = head.into_iter().find(|(_, line)| is_head(line))?;
    let end = start + line.trim_end_matches(['\r', '\n']).len();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    out.insert_str(end, &format!("{newline}{LIST} = [{}]{LINE_MARK}", json!(dir)));
    Some(out)
}

fn without_marked_line(text: &str) -> String {
    let Some(mark) = text.find(LINE_MARK) else { return text.to_owned() };
    let end = mark + LINE_MARK.len();
    let Some(newline) = text[..mark].rfind('\n') else { return text.to_owned() };
    let whole = text[end..].chars().next().is_none_or(|c| c == '\n' || c == '\r');
    if !whole || !text[newline + 1..].starts_with(LIST) {
        return text.to_owned();
    }
    let start = newline - usize::from(text[..newline].ends_with('\r'));
    format!("{}{}", &text[..start], &text[end..])
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
mod tests {
    use super::*;

    const DIR: &str = "/home/ann/.local/share/tenure";

    #[test]
    fn what_was_put_in_is_taken_out_without_a_trace() {
        let cases = [
            "",
            "model = \"o\"\n",
            "model = \"o\"",
            "# a comment\r\nmodel = \"o\"\r\n\r\n[mcp_servers.other]\r\ncommand = \"x\"\r\n",
            "[sandbox_workspace_write]\nnetwork_access = true # why\n",
            "[sandbox_workspace_write]",
            "[ sandbox_workspace_write ] # head\n\n[tui]\nx = 1\n",
            "[sandbox_workspace_write]\nwritable_roots = []\n",
            "[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\",\n  '/b', # b\n]\nnetwork_access = true\n",
            "[sandbox_workspace_write]\nwritable_roots = [\"/a\"]\n[mcp_servers.x]\ncommand = \"y\"",
            "sandbox_workspace_write = { writable_roots = [ \"/a\" ] }\n",
        ];
        for before in cases {
            let after = apply(Some(before), "tenure", Some(DIR)).unwrap().text.unwrap();
            let table = parse(&after).unwrap();
            assert!(roots(&table).1.iter().any(|(root, _)| root == DIR), "{after}");
            assert!(is_set_up(&after), "{after}");
            assert_eq!(apply(Some(&after), "tenure", Some(DIR)).unwrap().text.as_deref(), Some(after.as_str()));
            assert_eq!(strip(&after, Some(DIR), |_| true).unwrap().text.as_deref(), Some(before), "{after}");
        }
        let made = apply(None, "tenure", Some(DIR)).unwrap().text.unwrap();
        assert_eq!(strip(&made, Some(DIR), |_| true).unwrap().text, None);
    }

    #[test]
    fn what_is_there_already_is_left() {
        let own = "[mcp_servers.tenure]\ncommand = \"/opt/tenure\"\nargs = [\"mcp\"]\n\n[sandbox_workspace_write]\nwritable_roots = [\"/home/ann\"]\n";
        assert_eq!(apply(Some(own), "tenure", Some(DIR)).unwrap().text.as_deref(), Some(own));
        let theirs = format!("[sandbox_workspace_write]\nwritable_roots = [\"{DIR}\"]\n");
        let after = apply(Some(&theirs), "tenure", Some(DIR)).unwrap().text.unwrap();
        let left = strip(&after, Some(DIR), |_| false).unwrap();
        assert_eq!((left.text.as_deref(), left.remarks.len()), (Some(theirs.as_str()), 1));
    }

    #[test]
    fn what_leaves_no_room_is_refused() {
        for (text, what) in [
            ("mcp_servers = { a = { command = \"x\" } }\n", "mcp_servers.tenure"),
            ("[sandbox_workspace_write]\nwritable_roots = 7\n", LIST),
        ] {
            assert_eq!(apply(Some(text), "tenure", Some(DIR)), Err(no_room(what)));
        }
        assert!(matches!(apply(Some("a = 1\nb = \n"), "tenure", None), Err(Problem::Malformed { line: 2, .. })));
    }
}
