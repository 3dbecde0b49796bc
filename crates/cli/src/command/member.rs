//! `tenure member`

use clap::{Args as _, Subcommand};
use tenure_core::access::{EVERY_PROJECT, Role};
use tenure_core::{Code, Error, Result};
use tenure_kernel::op::{member_set, principal_set};
use tenure_kernel::query::members::Members;

use super::token::project_key;
use super::{Group, Run, Spec, Verbs, read};
use crate::output::table::print_page;
use crate::session::{RunOptions, Session, StoreUse, caller};

pub(super) const SPEC: Spec = Spec {
    name: "member",
    aliases: &["members"],
    group: Group::People,
    about: "Manage who may use a server (people only)",
    examples: &[
        "tenure member set person:ann --role admin --everywhere",
        "tenure member set service:ci --role worker --in web",
        "tenure member set person:bob --role none",
        "tenure member list",
        "tenure member disable person:bob",
    ],
    args: Verbs::<MemberVerb>::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let Verbs { verb } = read(matches)?;
        let store_use = match verb {
            MemberVerb::List(_) => StoreUse::Read,
            MemberVerb::Set(_) | MemberVerb::Disable { .. } | MemberVerb::Enable { .. } => StoreUse::Write,
        };
        let session = &Session::open(settings, out, store_use)?;
        caller::person(session, "`member`")?;
        match verb {
            MemberVerb::Set(new) => set(session, &new),
            MemberVerb::List(which) => list(session, &which),
            MemberVerb::Disable { principal } => disable(session, principal, true),
            MemberVerb::Enable { principal } => disable(session, principal, false),
        }
    }),
};

#[derive(Subcommand)]
enum MemberVerb {
    /// Set or remove the role of a principal in a project
    Set(NewMember),
    /// List who has which role where
    List(MemberRef),
    /// Disable a principal and end its tokens, links and sessions
    Disable {
        /// The principal: person:NAME, service:NAME or an agent
        #[arg(value_name = "PRINCIPAL")]
        principal: String,
    },
    /// Enable a disabled principal
    Enable {
        /// The principal: person:NAME, service:NAME or an agent
        #[arg(value_name = "PRINCIPAL")]
        principal: String,
    },
}

#[derive(clap::Args)]
struct NewMember {
    /// The principal: person:NAME, service:NAME or an agent
    #[arg(value_name = "PRINCIPAL")]
    principal: String,
    /// The role: viewer, worker, operator or admin; none removes the role
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// The project, by key or name; default: the current one
    #[arg(long = "in", value_name = "PROJECT")]
    place: Option<String>,
    /// Apply to every project in which the principal has no role of its own
    #[arg(long, conflicts_with = "place")]
    everywhere: bool,
}

#[derive(clap::Args)]
struct MemberRef {
    /// Only in this project, by key or name
    #[arg(long = "in", value_name = "PROJECT")]
    place: Option<String>,
    /// Only entries of this principal
    #[arg(long = "for", value_name = "PRINCIPAL", conflicts_with = "place")]
    principal: Option<String>,
    #[command(flatten)]
    page: super::list::Paging,
}

fn set(session: &Session<'_>, new: &NewMember) -> Result<u8> {
    let role = match new.role.as_str() {
        "none" => None,
        word => Some(Role::parse(word)?),
    };
    let project = match &new.place {
        _ if new.everywhere => EVERY_PROJECT.to_owned(),
        Some(typed) => project_key(session, typed)?,
        None => session.workspace.project.key.clone().ok_or_else(|| {
            Error::usage(Code::NoProjectYet, "this project has no event yet, so it has no key")
                .hint("Name the project with --in, or pass --everywhere.")
        })?,
    };
    let request = member_set::MemberSet { principal: new.principal.clone().into(), project: project.into(), role };
    let reply = session.run(request, RunOptions::in_store())?;
    if session.out.is_json() {
        session.out.body(&reply.body);
        return Ok(0);
    }
    let now = reply.read()?;
    let place = if now.project == EVERY_PROJECT { "every project" } else { &now.project };
    session.out.text(&match now.role {
        Some(role) => format!("{} is {} in {place}", now.principal, role.as_str()),
        None => format!("{} has no role in {place}", now.principal),
    });
    Ok(0)
}

fn list(session: &Session<'_>, which: &MemberRef) -> Result<u8> {
    let limit = which.page.limit()?;
    let key = which.place.as_deref().map(|typed| project_key(session, typed)).transpose()?;
    let principal = which.principal.clone().filter(|_| key.is_none());
    let page = session.ask(&Members { principal, project: key, limit, cursor: which.page.cursor.clone() })?;
    print_page(session.out, &page, "No members.", &["PRINCIPAL", "ROLE", "SINCE", "BY", "PROJECT"], |member| {
        vec![
            member.principal.to_string(),
            member.role.as_str().to_owned(),
            session.out.time(&member.set_at),
            member.set_by.to_string(),
            member.project.to_string(),
        ]
    });
    Ok(0)
}

fn disable(session: &Session<'_>, principal: String, disabled: bool) -> Result<u8> {
    let request = principal_set::PrincipalSet { principal: principal.into(), disabled };
    let reply = session.run(request, RunOptions::in_store())?;
    if session.out.is_json() {
        session.out.body(&reply.body);
    } else {
        let now = reply.read()?;
        let word = if now.disabled { "Disabled" } else { "Enabled" };
        session.out.text(&format!("{word} {}", now.name));
    }
    Ok(0)
}
