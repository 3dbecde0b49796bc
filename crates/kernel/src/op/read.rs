//! An op from its name and its request as JSON, as a door gets them that is not a command line.

use tenure_core::{Error, Kind, Result, Stage, text};

use super::{ALL, Op};
use crate::call::Door;
use crate::read::request;

impl Op {
    /// The op of a name with a request. Fields that it does not have are refused by their names, so that nothing that
    /// was said is silently left out.
    pub fn read(name: &str, json: &str) -> Result<Op> {
        Ok(match name {
            "add" => Op::Add(request(json)?),
            "add_many" => Op::AddMany(request(json)?),
            "edit" => Op::Edit(request(json)?),
            "claim" => Op::Claim(request(json)?),
            "resume" => Op::Resume(request(json)?),
            "confirm" => Op::Confirm(request(json)?),
            "note" => Op::Note(request(json)?),
            "done" => Op::Done(request(json)?),
            "block" => Op::Block(request(json)?),
            "unblock" => Op::Unblock(request(json)?),
            "release" => Op::Release(request(json)?),
            "reserve" => Op::Reserve(request(json)?),
            "lock" => Op::Lock(request(json)?),
            "reopen" => Op::Reopen(request(json)?),
            "cancel" => Op::Cancel(request(json)?),
            "transfer" => Op::Transfer(request(json)?),
            "import" => Op::Import(request(json)?),
            "remember" => Op::Remember(request(json)?),
            "memory_pin" => Op::MemoryPin(request(json)?),
            "memory_forget" => Op::MemoryForget(request(json)?),
            "send" => Op::Send(request(json)?),
            "inbox" => Op::Inbox(request(json)?),
            "session_start" => Op::SessionStart(request(json)?),
            "session_end" => Op::SessionEnd(request(json)?),
            "tool_used" => Op::ToolUsed(request(json)?),
            "committed" => Op::Committed(request(json)?),
            "lessons" => Op::Lessons(request(json)?),
            "join" => Op::Join(request(json)?),
            "forget" => Op::Forget(request(json)?),
            "switch_on" => Op::SwitchOn(request(json)?),
            "off" => Op::Off(request(json)?),
            "guard" => Op::Guard(request(json)?),
            "token_add" => Op::TokenAdd(request(json)?),
            "token_revoke" => Op::TokenRevoke(request(json)?),
            "member_set" => Op::MemberSet(request(json)?),
            "principal_set" => Op::PrincipalSet(request(json)?),
            "login_offer" => Op::LoginOffer(request(json)?),
            "login_take" => Op::LoginTake(request(json)?),
            "login_close" => Op::LoginClose(request(json)?),
            "access_denied" => Op::AccessDenied(request(json)?),
            _ => return Err(unknown(name, &ALL.map(|about| about.name))),
        })
    }

    /// The op of a name with a request, if a door has it: one that only others have is unknown there, in the same words.
    pub fn read_at(door: Door, name: &str, json: &str) -> Result<Op> {
        let here = ALL.iter().filter(|about| about.doors.contains(&door)).map(|about| about.name);
        let here: Vec<_> = here.collect();
        if here.contains(&name) { Op::read(name, json) } else { Err(unknown(name, &here)) }
    }
}

fn unknown(name: &str, known: &[&str]) -> Error {
    let shown = text::excerpt(name);
    let error = Error::new(Kind::NotFound, "unknown_op", Stage::Arguments, format!("there is no op `{shown}`"));
    match tenure_core::name::nearest(name, known.iter().copied()) {
        Some(near) => error.entity(shown).hint(format!("The nearest is `{near}`.")),
        None => error.entity(shown).hint(format!("The ops are {}.", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_is_read_by_its_name() {
        for about in ALL {
            match Op::read(about.name, "{}") {
                Ok(op) => assert_eq!(op.name(), about.name),
                // Its request has fields that must be there: it was found all the same.
                Err(error) => assert_eq!((about.name, error.code()), (about.name, "bad_arguments")),
            }
        }
    }

    #[test]
    fn an_op_that_only_other_doors_have_is_unknown() {
        for about in ALL {
            let read = Op::read_at(Door::Http, about.name, "{}");
            let is_unknown = read.as_ref().is_err_and(|error| error.code() == "unknown_op");
            assert_eq!(is_unknown, !about.doors.contains(&Door::Http), "{}", about.name);
            if let Err(error) = read.as_ref() {
                let itself = format!("`{}`", about.name);
                assert!(!is_unknown || !error.advice().unwrap().contains(&itself), "{}", about.name);
            }
        }
    }

    #[test]
    fn what_an_op_does_not_know_is_refused_by_name() {
        let error = Op::read("claim", r#"{"tusk":"t-1"}"#).unwrap_err();
        assert_eq!((error.kind(), error.about()), (Kind::Usage, Some("tusk")));
        let error = Op::read("clam", "{}").unwrap_err();
        assert_eq!((error.kind(), error.code(), error.about()), (Kind::NotFound, "unknown_op", Some("clam")));
        assert!(error.advice().unwrap().contains("claim"));
        for bad in ["", "[", "null", "[]", "1", "{} {}"] {
            assert_eq!(Op::read("claim", bad).unwrap_err().kind(), Kind::Usage, "{bad}");
        }
    }
}
