//! The pre-push hook: whether commits that bypassed the guard are about to be pushed.

use std::ffi::OsString;
use std::io::Read;

use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::query::may_push::MayPush;

use super::{GuardOutcome, Manner, git_command, manner, messages};
use crate::session::Session;
use crate::workspace::path_args::folds_case;

/// How much is read of what git says about the refs that are pushed.
const INPUT_MAX: u64 = 1 << 20;
/// Most refs that are looked at.
const REFS_MAX: usize = 200;

pub(super) fn act(context: &Session<'_>, arguments: &[OsString]) -> Result<GuardOutcome> {
    let mut text = String::new();
    std::io::stdin().lock().take(INPUT_MAX).read_to_string(&mut text).map_err(|error| {
        Error::new(Code::InputUnreadable, "standard input cannot be read").at(Stage::Arguments).cause(error)
    })?;
    let (tips, known) = refs(&text);
    if tips.is_empty() {
        return Ok(GuardOutcome::Fine);
    }
    let remote = arguments.first().and_then(|name| name.to_str()).unwrap_or_default();
    let relaxed = context.workspace.config.relaxed()?;
    let mut made = git_command::outgoing(&tips, &known, remote)?;
    for commit in &mut made {
        commit.paths.retain(|path| !relaxed.iter().any(|pattern| pattern.matches(path)));
    }
    if made.is_empty() {
        return Ok(GuardOutcome::Fine);
    }
    let fold_case = folds_case(&context.workspace)?;
    let Some(found) = context.ask_who_holds(&MayPush { commits: made.clone(), fold_case })? else {
        return Ok(GuardOutcome::Fine);
    };
    if found.late.is_empty() {
        return Ok(GuardOutcome::Fine);
    }
    Ok(match manner(context)? {
        Manner::Warn => GuardOutcome::Said(messages::push_warned(&found)),
        manner => GuardOutcome::Refused(messages::push_refused(&found, manner == Manner::RefuseUnknown)),
    })
}

/// The commits that are pushed, and those that the other side has: of each line local name and id, remote name and id. A
/// ref that is deleted has no local one, a new one no remote one.
fn refs(text: &str) -> (Vec<String>, Vec<String>) {
    let is_id = |word: &&str| (40..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_there = |word: &&str| word.bytes().any(|byte| byte != b'0');
    let (mut tips, mut known) = (Vec::new(), Vec::new());
    for line in text.lines().take(REFS_MAX) {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, local, _, remote] = words.as_slice() else { continue };
        if is_id(local) && is_there(local) && is_id(remote) {
            tips.push((*local).to_owned());
            known.extend(is_there(remote).then(|| (*remote).to_owned()));
        }
    }
    (tips, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_read_as_git_writes_them() {
        let (a, b, zero) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let text = format!(
            "refs/heads/x {a} refs/heads/x {b}\nrefs/heads/n {b} refs/heads/n {zero}\n(delete) {zero} refs/heads/d {a}\n\
             odd\nrefs/heads/x --exec=id refs/heads/x {b}\n"
        );
        assert_eq!(refs(&text), (vec![a, b.clone()], vec![b]));
        assert_eq!(refs(""), (Vec::new(), Vec::new()));
    }
}
