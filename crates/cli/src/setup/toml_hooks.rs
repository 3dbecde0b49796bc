//! Hooks in Codex's `config.toml`. Setup writes them to `hooks.json`. If one of its lines is here, a person moved or
//! copied it, and Codex would run it twice. The lines are recognised by their command and removed.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::hook_command::is_own_hook;
use super::toml_statement::{StatementKind, TomlStatement, cut, statements};

static HOOKS: &str = "hooks";
/// What Codex records about hooks, in the same table.
static STATE: &str = "state";

/// A hook of setup: its event, its group, and its index among the handlers of the group.
struct OwnLine {
    event: String,
    group: usize,
    handler: usize,
    /// Whether the group has no other content.
    is_alone: bool,
    command: String,
}

/// The event and the command line of each hook of setup.
pub(crate) fn own(text: &str, program: &str) -> Vec<(String, String)> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    find(&table, program).into_iter().map(|own| (own.event, own.command)).collect()
}

fn find(table: &Spanned<DeTable<'_>>, program: &str) -> Vec<OwnLine> {
    let mut found = Vec::new();
    let Some(events) = table.get_ref().get(HOOKS).and_then(|hooks| hooks.get_ref().as_table()) else { return found };
    for (event, groups) in events.iter().filter(|(event, _)| event.get_ref() != STATE) {
        for (group, entry) in groups.get_ref().as_array().into_iter().flat_map(|list| list.iter()).enumerate() {
            let handlers = entry.get_ref().get(HOOKS).and_then(|list| list.get_ref().as_array());
            let commands: Vec<Option<&str>> = handlers
                .into_iter()
                .flat_map(|list| list.iter())
                .map(|handler| handler.get_ref().get("command").and_then(|command| command.get_ref().as_str()))
                .collect();
            let is_own = |command: &Option<&str>| command.is_some_and(|command| is_own_hook(command, program));
            let is_alone = commands.iter().all(is_own);
            let own = commands.iter().enumerate().filter(|(_, command)| is_own(command));
            found.extend(own.map(|(handler, command)| OwnLine {
                event: event.get_ref().to_string(),
                group,
                handler,
                is_alone,
                command: command.unwrap_or_default().to_owned(),
            }));
        }
    }
    found
}

/// A file without the hooks of setup. Comments stay.
pub(crate) fn without(text: &str, program: &str) -> String {
    let mut text = text.to_owned();
    // Each round removes one, so the loop ends whatever the file contains.
    for _ in 0..own(&text, program).len() {
        let Ok(table) = DeTable::parse(&text) else { return text };
        let Some(last) = find(&table, program).pop() else { return text };
        let Some(after) = take(&text, &table, &last) else { return text };
        text = after;
    }
    text
}

fn take(text: &str, table: &Spanned<DeTable<'_>>, own: &OwnLine) -> Option<String> {
    let groups = table.get_ref().get(HOOKS)?.get_ref().get(own.event.as_str())?.get_ref().as_array()?;
    let spans = |list: &toml::de::DeArray<'_>| list.iter().map(Spanned::span).collect::<Vec<Range<usize>>>();
    let is_inline = |value: &Spanned<DeValue<'_>>| text[value.span()].starts_with('{');
    let group = groups.get(own.group)?;
    let is_array = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        move |statement: &TomlStatement| statement.kind == StatementKind::Header && statement.table == names
    };
    let is_group = is_array(&[HOOKS, &own.event, "[]"]);
    if own.is_alone && is_inline(group) {
        return Some(cut(text, &spans(groups), own.group));
    }
    let handlers = group.get_ref().get(HOOKS)?.get_ref().as_array()?;
    if !own.is_alone && is_inline(handlers.get(own.handler)?) {
        return Some(cut(text, &spans(handlers), own.handler));
    }
    let all = statements(text);
    let below = |statement: &TomlStatement| statement.table.starts_with(&[HOOKS.to_owned(), own.event.clone()]);
    let end = |from: usize, is_next: &dyn Fn(&TomlStatement) -> bool| {
        let next = |statement: &TomlStatement| {
            statement.kind == StatementKind::Header && (!below(statement) || is_next(statement))
        };
        all[from + 1..].iter().position(next).map_or(all.len(), |next| from + 1 + next)
    };
    let start = all.iter().enumerate().filter(|(_, one)| is_group(one)).map(|(index, _)| index).nth(own.group)?;
    let stop = end(start, &is_group);
    if own.is_alone {
        return Some(drop_statements(text, &all, start..stop));
    }
    let is_handler = is_array(&[HOOKS, &own.event, HOOKS, "[]"]);
    let start = (start..stop).filter(|index| is_handler(&all[*index])).nth(own.handler)?;
    let stop = end(start, &|statement| is_group(statement) || is_handler(statement)).min(stop);
    Some(drop_statements(text, &all, start..stop))
}

fn drop_statements(text: &str, all: &[TomlStatement], range: Range<usize>) -> String {
    let stays = |(index, statement): &(usize, &TomlStatement)| {
        !range.contains(index) || statement.kind == StatementKind::Comment
    };
    let mark = &text[..text.len() - text.trim_start_matches('\u{feff}').len()];
    let kept: String =
        all.iter().enumerate().filter(stays).map(|(_, statement)| &text[statement.range.clone()]).collect();
    format!("{mark}{kept}")
}

/// A table without the hooks of setup and without what becomes empty.
pub(crate) fn take_from(table: &mut toml::Table, program: &str) {
    let Some(events) = table.get_mut(HOOKS).and_then(toml::Value::as_table_mut) else { return };
    let is_own = |handler: &toml::Value| {
        handler.get("command").and_then(toml::Value::as_str).is_some_and(|command| is_own_hook(command, program))
    };
    for groups in events.iter_mut().filter(|(event, _)| *event != STATE).filter_map(|(_, groups)| groups.as_array_mut())
    {
        groups.retain_mut(|group| {
            let Some(handlers) = group.get_mut(HOOKS).and_then(toml::Value::as_array_mut) else { return true };
            let is_empty = handlers.is_empty();
            handlers.retain(|handler| !is_own(handler));
            is_empty || !handlers.is_empty()
        });
    }
    events.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    if events.is_empty() {
        table.remove(HOOKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_lines_are_taken_out_however_they_are_written() {
        let line = "/x/tenure hook codex PreToolUse";
        let own = format!("{{ type = \"command\", command = \"{line}\" }}");
        let other = "{ type = \"command\", command = \"mine\" }";
        let arrays = format!(
            "[[hooks.PreToolUse]]\nmatcher = \"a\"\n\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n\n[[hooks.PreToolUse]]\n\
             [[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"{line}\"\n\n# kept\n[tui]\nx = 1\n"
        );
        let mixed = format!(
            "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = \"{line}\"\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n"
        );
        for (text, left) in [
            (format!("[hooks]\nPreToolUse = [{{ hooks = [{own}] }}]\n"), "[hooks]\nPreToolUse = []\n".to_owned()),
            (
                format!("[hooks]\nPreToolUse = [{{ hooks = [{other}, {own}] }}]\n"),
                format!("[hooks]\nPreToolUse = [{{ hooks = [{other}] }}]\n"),
            ),
            (
                format!("[[hooks.PreToolUse]]\nhooks = [{own}, {other}]\n"),
                format!("[[hooks.PreToolUse]]\nhooks = [{other}]\n"),
            ),
            (
                arrays,
                "[[hooks.PreToolUse]]\nmatcher = \"a\"\n\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n\n# kept\n[tui]\nx = 1\n"
                    .to_owned(),
            ),
            (mixed, "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = \"mine\"\n".to_owned()),
            ("[hooks.state.\"f:pre_tool_use:0:0\"]\ntrusted_hash = \"x\"\n".to_owned(), String::new()),
        ] {
            let left = if left.is_empty() { text.clone() } else { left };
            assert_eq!(without(&text, "/x/tenure"), left, "{text}");
            let mut before: toml::Table = text.parse().unwrap();
            let mut after: toml::Table = left.parse().unwrap();
            take_from(&mut before, "/x/tenure");
            take_from(&mut after, "/x/tenure");
            assert_eq!(before, after);
        }
    }
}
