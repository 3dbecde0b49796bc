//! Tenure's entries in the JSON files of agent tools: finding, adding and removing them.

use serde_json::{Value, json};

use super::Problem;
use super::hook_command::{calls_hooks, is_own_hook, is_program};
use super::jsonc::{self, JsonEntry, JsonKind, JsonMember, JsonNode};
use super::trust::Position;

/// A hook in the configuration of a tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HookEntry {
    pub(crate) event: String,
    pub(crate) matcher: String,
    pub(crate) command: String,
    /// In the unit of the tool.
    pub(crate) timeout: u64,
}

/// The format in which a tool stores its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookLayout {
    /// `"EVENT": [{ "matcher": …, "hooks": [{ "type": "command", "command": …, "timeout": … }] }]`
    Grouped,
    /// `"EVENT": [{ "command": …, "timeout": …, "matcher": … }]`
    Flat,
}

/// A part of a JSON file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonPart {
    Hooks {
        shape: HookLayout,
        hooks: Vec<HookEntry>,
        /// This program, whatever the name of its file.
        program: String,
    },
    /// The server under a name, as a value. It is recognised by the words of its command line.
    Mcp { at: &'static str, value: Value },
    /// A directory that may be written, in a list under these names.
    Grant { at: &'static [&'static str], dir: String },
    /// Other content that a new file must have.
    Version,
}

/// The name of the MCP server.
pub(crate) const SERVER: &str = "tenure";

/// The planned content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileOutcome {
    /// `None` if the file does not exist, or is deleted.
    pub(crate) text: Option<String>,
    /// What cannot be done, and what remains.
    pub(crate) remarks: Vec<String>,
}

/// The record about a file from which entries are removed.
pub(crate) struct RecordedFile<'a> {
    /// Whether setup added the grant for a directory.
    pub(crate) granted: &'a dyn Fn(&str) -> bool,
    /// Whether setup made a container, named from the top; the empty list is the file itself. `None` if that is
    /// unknown.
    pub(crate) container: &'a dyn Fn(&[&str]) -> Option<bool>,
}

/// Tenure's hooks in a file.
pub(crate) fn own_hooks(root: &JsonNode, text: &str, program: &str) -> Vec<HookEntry> {
    let own = places(root, &|command| is_own_hook(command, program));
    own.into_iter().map(|(_, hook)| read(root, text, hook)).collect()
}

/// Their positions, in the same order.
pub(crate) fn own_positions(root: &JsonNode, program: &str) -> Vec<Position> {
    let own = places(root, &|command| is_own_hook(command, program));
    let position = |[hooks, event, group, handler]: [usize; 4]| Position {
        event: root.items()[hooks].node.items()[event].key.clone(),
        group,
        handler,
    };
    own.into_iter().map(|(_, place)| position(place)).collect()
}

/// Hooks that call this program in another form than setup writes.
pub(crate) fn other_hooks(root: &JsonNode, text: &str, program: &str) -> Vec<HookEntry> {
    let others = places(root, &|command| calls_hooks(command, program));
    others.into_iter().map(|(_, hook)| read(root, text, hook)).collect()
}

fn remark_others(root: &JsonNode, text: &str, program: &str, remarks: &mut Vec<String>) {
    let others = other_hooks(root, text, program);
    if !others.is_empty() {
        let events: Vec<&str> = others.iter().map(|hook| hook.event.as_str()).collect();
        let events = events.join(", ");
        remarks.push(format!("a hook that calls tenure in another way is kept ({events})"));
    }
}

/// The position of a hook: event, group and, in a grouped file, the index in the group.
type EntryPosition = (Vec<usize>, [usize; 4]);

/// The positions of some hooks, in the order of the file: of what is to be removed, and of the hook itself.
fn places(root: &JsonNode, is_meant: &dyn Fn(&str) -> bool) -> Vec<EntryPosition> {
    let own = |node: &JsonNode| node.get("command").and_then(JsonNode::text).is_some_and(is_meant);
    let mut found = Vec::new();
    let keyed = root.items().iter().enumerate().filter(|(_, item)| item.key == "hooks");
    let events = keyed
        .flat_map(|(hooks, item)| item.node.items().iter().enumerate().map(move |(event, item)| (hooks, event, item)));
    for (hooks, event, item) in events {
        for (group, entry) in item.node.items().iter().enumerate() {
            if own(&entry.node) {
                found.push((vec![hooks, event, group], [hooks, event, group, usize::MAX]));
                continue;
            }
            let Some(list) = position(&entry.node, "hooks") else { continue };
            let handlers = entry.node.items()[list].node.items();
            let all = handlers.iter().all(|handler| own(&handler.node));
            for (index, _) in handlers.iter().enumerate().filter(|(_, handler)| own(&handler.node)) {
                // A group with no other hook is removed as a whole.
                let cut = if all { vec![hooks, event, group] } else { vec![hooks, event, group, list, index] };
                found.push((cut, [hooks, event, group, index]));
            }
        }
    }
    found
}

fn position(node: &JsonNode, key: &str) -> Option<usize> {
    match &node.kind {
        JsonKind::Object(items) => items.iter().rposition(|item| item.key == key),
        _ => None,
    }
}

fn read(root: &JsonNode, text: &str, place: [usize; 4]) -> HookEntry {
    let event = &root.items()[place[0]].node.items()[place[1]];
    let group = &event.node.items()[place[2]].node;
    let handler = match place[3] {
        usize::MAX => group,
        index => group.get("hooks").map_or(group, |list| &list.items()[index].node),
    };
    let word = |node: &JsonNode, key: &str| node.get(key).and_then(JsonNode::text).unwrap_or_default().to_owned();
    let timeout = handler.get("timeout").and_then(|node| text[node.span.clone()].parse().ok());
    HookEntry {
        event: event.key.clone(),
        matcher: word(group, "matcher"),
        command: word(handler, "command"),
        timeout: timeout.unwrap_or_default(),
    }
}

/// Whether the MCP server under a name is Tenure's, as in `value` or as an earlier version wrote it; `None` if there is
/// no such server.
pub(crate) fn own_server(root: &JsonNode, at: &str, value: &Value) -> Option<bool> {
    is_own_server(root.get(at)?.get(SERVER)?, value)
}

fn is_own_server(entry: &JsonNode, value: &Value) -> Option<bool> {
    let command = entry.get("command")?;
    let mut words: Vec<&str> = command.text().into_iter().collect();
    let list =
        |node: &'_ JsonNode| node.items().iter().filter_map(|item| item.node.text()).map(str::to_owned).collect();
    let more: Vec<String> = list(command);
    words.extend(more.iter().map(String::as_str));
    let args: Vec<String> = entry.get("args").map(list).unwrap_or_default();
    words.extend(args.iter().map(String::as_str));
    let program = value["command"].as_str().or(value["command"][0].as_str()).unwrap_or_default();
    let is_own = words.first().is_some_and(|word| is_program(word, program));
    Some(is_own && words.get(1) == Some(&"mcp"))
}

/// Adds the parts to a file, or reports that they are present. A file that does not exist is created.
pub(crate) fn apply(before: Option<&str>, parts: &[JsonPart]) -> Result<FileOutcome, Problem> {
    let mut remarks = Vec::new();
    let made = before.is_none();
    let mut text = match before {
        Some(text) if !text.trim_start_matches('\u{feff}').trim().is_empty() => text.to_owned(),
        // An empty file is not JSON. Tools treat it as absent.
        Some(_) => return Err(Problem::Malformed { line: 1, what: "the file is empty".to_owned() }),
        None => "{\n}\n".to_owned(),
    };
    for part in parts {
        text = apply_part(&text, part, made, &mut remarks)?;
    }
    if made && text == "{\n}\n" {
        return Ok(FileOutcome { text: None, remarks });
    }
    Ok(FileOutcome { text: Some(text), remarks })
}

fn apply_part(text: &str, part: &JsonPart, fresh: bool, remarks: &mut Vec<String>) -> Result<String, Problem> {
    let root = parse(text)?;
    match part {
        JsonPart::Hooks { shape, hooks: wanted, program } => {
            remark_others(&root, text, program, remarks);
            let mut have = own_hooks(&root, text, program);
            let mut want = wanted.clone();
            have.sort();
            want.sort();
            if have == want {
                return Ok(text.to_owned());
            }
            // The containers of an entry that is removed only to be added again stay.
            let mut text = take_hooks(text, program, &|_| None)?;
            for hook in wanted {
                let value = render(*shape, hook);
                let path = ["hooks", hook.event.as_str()];
                text = put(&text, &JsonEntry { path: &path, key: None, value: &value, fresh })?;
            }
            Ok(text)
        }
        JsonPart::Mcp { at, value } => {
            match own_server(&root, at, value) {
                // All other content is not from Tenure.
                Some(true) if same_command(&root, text, at, value) => return Ok(text.to_owned()),
                Some(true) => {}
                Some(false) => {
                    remarks.push(format!("an MCP server named `{SERVER}` of another program is kept"));
                    return Ok(text.to_owned());
                }
                None if root.get(at).and_then(|servers| servers.get(SERVER)).is_some() => {
                    remarks.push(format!("an MCP server named `{SERVER}` without a command is kept"));
                    return Ok(text.to_owned());
                }
                None => {}
            }
            let text = take_server(text, (at, value), &|_| None)?;
            put(&text, &JsonEntry { path: &[at], key: Some(SERVER), value: &spaced(value), fresh })
        }
        JsonPart::Grant { at, dir } => {
            if granted(&root, at, dir) {
                return Ok(text.to_owned());
            }
            put(text, &JsonEntry { path: at, key: None, value: &json!(dir).to_string(), fresh })
        }
        JsonPart::Version if fresh => put(text, &JsonEntry { path: &[], key: Some("version"), value: "1", fresh }),
        JsonPart::Version => Ok(text.to_owned()),
    }
}

fn put(text: &str, entry: &JsonEntry<'_>) -> Result<String, Problem> {
    jsonc::insert(text, &parse(text)?, entry).map_err(|refused| Problem::NotAContainer(refused.0))
}

/// Removes Tenure's parts from a file. A grant is removed only if the record says that setup added it, because a
/// directory does not show who added it.
pub(crate) fn strip(before: &str, parts: &[JsonPart], made: &RecordedFile<'_>) -> Result<FileOutcome, Problem> {
    let mut remarks = Vec::new();
    let mut text = before.to_owned();
    let begun = begun_here(before)?;
    for part in parts {
        match part {
            JsonPart::Hooks { program, .. } => {
                text = take_hooks(&text, program, made.container)?;
                remark_others(&parse(&text)?, &text, program, &mut remarks);
            }
            JsonPart::Mcp { at, value } => {
                text = take_server(&text, (at, value), made.container)?;
            }
            JsonPart::Grant { at, dir } => {
                let root = parse(&text)?;
                let Some(place) = grant(&root, at, dir) else { continue };
                if (made.granted)(dir) {
                    text = jsonc::remove(&text, &root, &place, made.container);
                } else {
                    remarks.push(format!("the permission to write {dir} is kept: setup has no record of granting it"));
                }
            }
            JsonPart::Version => {}
        }
    }
    let gone = match (made.container)(&[]) {
        Some(made) => made && is_bare(&parse(&text)?, parts),
        None => begun && FRESH.contains(&text.as_str()),
    };
    let gone = gone && text != before;
    Ok(FileOutcome { text: (!gone).then_some(text), remarks })
}

/// Whether a file contains only what setup writes to a new one.
fn is_bare(root: &JsonNode, parts: &[JsonPart]) -> bool {
    root.items().iter().all(|item| item.key == "version" && parts.contains(&JsonPart::Version))
}

/// The containers of some parts in a file, named from the top.
pub(crate) fn containers(text: &str, parts: &[JsonPart]) -> Vec<Vec<String>> {
    let Ok(root) = parse(text) else { return Vec::new() };
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut look = |names: &[&str]| {
        if names.iter().try_fold(&root, |node, name| node.get(name)).is_some() {
            found.push(names.iter().map(|name| (*name).to_owned()).collect());
        }
    };
    for part in parts {
        match part {
            JsonPart::Hooks { hooks, .. } => {
                look(&["hooks"]);
                hooks.iter().for_each(|hook| look(&["hooks", &hook.event]));
            }
            JsonPart::Mcp { at, .. } => look(&[at]),
            JsonPart::Grant { at, .. } => (1..=at.len()).for_each(|end| look(&at[..end])),
            JsonPart::Version => {}
        }
    }
    found
}

/// Whether a file has an entry of Tenure.
pub(crate) fn has_own(text: &str, parts: &[JsonPart]) -> bool {
    let Ok(root) = parse(text) else { return false };
    parts.iter().any(|part| match part {
        JsonPart::Hooks { program, .. } => !own_hooks(&root, text, program).is_empty(),
        JsonPart::Mcp { at, value } => own_server(&root, at, value) == Some(true),
        JsonPart::Grant { .. } | JsonPart::Version => false,
    })
}

/// The rest of a file that was created here.
const FRESH: [&str; 2] = ["{\n}\n", "{\n  \"version\": 1\n}\n"];

/// Whether a file seems to be created here: its first item is Tenure's and is on a line of its own.
fn begun_here(text: &str) -> Result<bool, Problem> {
    let root = parse(text)?;
    let first = root.items().first().filter(|item| item.key != "version");
    Ok(text.starts_with("{\n") && first.is_some_and(|item| text[1..item.start].trim().is_empty()))
}

fn take_hooks(text: &str, program: &str, made: &dyn Fn(&[&str]) -> Option<bool>) -> Result<String, Problem> {
    let mut text = text.to_owned();
    loop {
        let root = parse(&text)?;
        // From the end, the reverse order of adding.
        let Some((cut, _)) = places(&root, &|command| is_own_hook(command, program)).pop() else { return Ok(text) };
        text = jsonc::remove(&text, &root, &cut, made);
    }
}

/// Removes the server under a name, also if the name occurs more than once.
fn take_server(
    text: &str,
    (at, value): (&str, &Value),
    made: &dyn Fn(&[&str]) -> Option<bool>,
) -> Result<String, Problem> {
    let mut text = text.to_owned();
    loop {
        let root = parse(&text)?;
        let servers = root.items().iter().enumerate().rev().filter(|(_, item)| item.key == at);
        let own = servers.filter_map(|(index, item)| Some((index, position(&item.node, SERVER)?)));
        let is_own = |(servers, server): &(usize, usize)| {
            is_own_server(&root.items()[*servers].node.items()[*server].node, value) == Some(true)
        };
        let Some((servers, server)) = own.into_iter().find(is_own) else { return Ok(text) };
        text = jsonc::remove(&text, &root, &[servers, server], made);
    }
}

/// The position of a directory in a list.
fn grant(root: &JsonNode, at: &[&str], dir: &str) -> Option<Vec<usize>> {
    let mut place = Vec::new();
    let mut node = root;
    for key in at {
        let index = position(node, key)?;
        place.push(index);
        node = &node.items()[index].node;
    }
    place.push(node.items().iter().position(|item| item.node.text() == Some(dir))?);
    Some(place)
}

/// Whether a directory or one of its parents may already be written.
fn granted(root: &JsonNode, at: &[&str], dir: &str) -> bool {
    let list = at.iter().try_fold(root, |node, key| node.get(key));
    let covers = |given: &str| {
        let given = given.trim_end_matches('/');
        dir == given || !given.is_empty() && dir.strip_prefix(given).is_some_and(|rest| rest.starts_with('/'))
    };
    let texts = |item: &JsonMember| item.node.text().map(covers).unwrap_or_default();
    list.is_some_and(|list| list.items().iter().any(texts))
}

fn same_command(root: &JsonNode, text: &str, at: &str, value: &Value) -> bool {
    let Some(entry) = root.get(at).and_then(|servers| servers.get(SERVER)) else { return false };
    ["command", "args"].iter().all(|key| {
        let have = entry.get(key).map(|node| to_value(text, node)).unwrap_or_default();
        have == value.get(key).cloned().unwrap_or_default()
    })
}

fn to_value(text: &str, node: &JsonNode) -> Value {
    match &node.kind {
        JsonKind::Text(word) => Value::from(word.as_str()),
        JsonKind::Array(items) => items.iter().map(|item| to_value(text, &item.node)).collect(),
        JsonKind::Object(items) => items.iter().map(|item| (item.key.clone(), to_value(text, &item.node))).collect(),
        JsonKind::Other => serde_json::from_str(&text[node.span.clone()]).unwrap_or_default(),
    }
}

fn render(shape: HookLayout, hook: &HookEntry) -> String {
    let text = |word: &str| Value::from(word).to_string();
    let (command, timeout) = (text(&hook.command), hook.timeout);
    let matcher = match hook.matcher.as_str() {
        "" => String::new(),
        matcher => format!("\"matcher\": {}, ", text(matcher)),
    };
    match shape {
        HookLayout::Grouped => format!(
            "{{ {matcher}\"hooks\": [{{ \"type\": \"command\", \"command\": {command}, \"timeout\": {timeout} }}] }}"
        ),
        HookLayout::Flat => format!("{{ {matcher}\"command\": {command}, \"timeout\": {timeout} }}"),
    }
}

/// JSON in one line, with spaces.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            // The type and the command come first, as is usual.
            let rank = |key: &str| ["type", "command"].iter().position(|first| *first == key).unwrap_or(usize::MAX);
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| rank(key));
            let members = members.iter().map(|(key, value)| format!("{}: {}", json!(key), spaced(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

pub(crate) fn parse(text: &str) -> Result<JsonNode, Problem> {
    let root = jsonc::parse(text).map_err(|fault| Problem::Malformed { line: fault.line, what: fault.what })?;
    if matches!(root.kind, JsonKind::Object(_)) { Ok(root) } else { Err(Problem::NotAContainer(String::new())) }
}

#[cfg(test)]
mod tests;
