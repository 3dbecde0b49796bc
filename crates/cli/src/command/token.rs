//! `tenure token`

use clap::{Args as _, Subcommand};
use serde_json::Value;
use tenure_core::access::{EVERY_PROJECT, Role};
use tenure_core::name::ProjectKey;
use tenure_core::{Code, Result, Span};
use tenure_kernel::Op;
use tenure_kernel::access::Secret;
use tenure_kernel::answer::Token;
use tenure_kernel::op::{token_add, token_revoke};
use tenure_kernel::query::members::Members;
use tenure_kernel::query::project_called::ProjectCalled;
use tenure_kernel::query::token_id::ResolveToken;
use tenure_kernel::query::tokens::Tokens;
use tenure_store::OsEntropy;

use super::{Group, Run, Spec, Verbs, read};
use crate::output::table::print_page;
use crate::session::{RunOptions, Session, StoreUse, caller};

pub(super) const SPEC: Spec = Spec {
    name: "token",
    aliases: &["tokens"],
    group: Group::People,
    about: "Create, list and revoke server tokens (people only)",
    examples: &[
        "tenure token add --for person:ann",
        "tenure token add --for service:ci --role worker --in web --expires 30d --label \"nightly\"",
        "tenure token list",
        "tenure token revoke k-7k3fq",
    ],
    args: Verbs::<TokenVerb>::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let Verbs { verb } = read(matches)?;
        let store_use = match verb {
            TokenVerb::List(_) => StoreUse::Read,
            TokenVerb::Add(_) | TokenVerb::Revoke { .. } => StoreUse::Write,
        };
        let session = &Session::open(settings, out, store_use)?;
        caller::person(session, "`token`")?;
        match verb {
            TokenVerb::Add(new) => add(session, &new),
            TokenVerb::List(which) => list(session, &which),
            TokenVerb::Revoke { id } => revoke(session, &id),
        }
    }),
};

#[derive(Subcommand)]
enum TokenVerb {
    /// Make a token and show its secret, this once
    Add(NewToken),
    /// List tokens; never their secrets
    List(TokenRef),
    /// Revoke a token: from now on it is nothing
    Revoke {
        /// The token, by a unique beginning of its id
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(clap::Args)]
struct NewToken {
    /// The principal: person:NAME, service:NAME or an agent; default: you
    #[arg(long = "for", value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// The maximum role of the token: viewer, worker, operator or admin
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Limit the token to this project, by key or name; may be repeated; default: all projects of the principal
    #[arg(long = "in", value_name = "PROJECT")]
    projects: Vec<String>,
    /// The lifetime, up to 365d
    #[arg(long, value_name = "DURATION", default_value = "90d", allow_hyphen_values = true)]
    expires: String,
    /// The purpose
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
}

#[derive(clap::Args)]
struct TokenRef {
    /// Only entries of this principal
    #[arg(long = "for", value_name = "PRINCIPAL")]
    principal: Option<String>,
    #[command(flatten)]
    page: super::list::Paging,
}

fn add(session: &Session<'_>, new: &NewToken) -> Result<u8> {
    let me = caller::person(session, "`token add`")?.name;
    let mut typed = new.projects.clone();
    typed.extend(session.settings.globals.project.clone());
    let mut projects =
        typed.iter().map(|typed| project_key(session, typed).map(ProjectKey::from)).collect::<Result<Vec<_>>>()?;
    projects.sort();
    projects.dedup();
    // Everywhere is what it is without any list.
    let everywhere = projects.is_empty() || projects.iter().any(|key| key == EVERY_PROJECT);
    // The secret is made here and goes no further than the screen: what is stored is its hash.
    let secret = Secret::draw(&OsEntropy);
    let request = token_add::TokenAdd {
        principal: new.principal.clone().unwrap_or(me).into(),
        hash: secret.hash(),
        label: new.label.clone(),
        role: new.role.as_deref().map(Role::parse).transpose()?,
        projects: (!everywhere).then_some(projects),
        expires_in_s: Some(Span::parse(&new.expires)?.as_seconds()),
    };
    let reply = session.run_any(&Op::new(request), RunOptions::in_store())?;
    let token: Token = reply.read()?;
    if session.out.is_json() {
        let mut data: Value = reply.read()?;
        data["secret"] = secret.expose().into();
        session.out.data(&data);
    } else if session.out.is_quiet() {
        // It is what was asked for, and there is no second time.
        session.out.raw(format!("{}\n", secret.expose()).as_bytes());
    } else {
        let good = token.projects.as_ref().map_or("all its projects".to_owned(), |keys| keys.join(", "));
        let most = token.role.map_or(String::new(), |role| format!(", at most as {}", role.as_str()));
        session.out.text(&format!(
            "Token {} of {}: until {}, in {good}{most}\n\n    {}\n\nStore it now: it is not shown again.",
            token.id,
            token.principal,
            session.out.time(&token.expires_at),
            secret.expose()
        ));
        let members = session.ask(&Members {
            principal: Some(token.principal.to_string()),
            project: None,
            limit: 1,
            cursor: None,
        })?;
        if members.items.is_empty() {
            session.out.text(&format!(
                "{0} has no role anywhere yet: `tenure member set {0} --role worker`.",
                token.principal
            ));
        }
    }
    Ok(0)
}

fn list(session: &Session<'_>, which: &TokenRef) -> Result<u8> {
    let limit = which.page.limit()?;
    let cursor = which.page.cursor.as_deref();
    let page = session.ask(&Tokens { principal: which.principal.clone(), limit, cursor: cursor.map(str::to_owned) })?;
    let heads = ["ID", "PRINCIPAL", "IS", "UNTIL", "AT MOST", "ONLY IN", "LABEL"];
    print_page(session.out, &page, "No tokens.", &heads, |token| {
        vec![
            token.id.to_string(),
            token.principal.to_string(),
            token.state.as_str().to_owned(),
            session.out.time(&token.expires_at),
            token.role.map(|role| role.as_str().to_owned()).unwrap_or_default(),
            token.projects.as_ref().map(|keys| keys.join(", ")).unwrap_or_default(),
            token.label.clone(),
        ]
    });
    Ok(0)
}

fn revoke(session: &Session<'_>, typed: &str) -> Result<u8> {
    let token = session.ask(&ResolveToken { typed: typed.into() })?;
    let reply = session.run(token_revoke::TokenRevoke { token: token.into() }, RunOptions::in_store())?;
    if session.out.is_json() {
        session.out.body(&reply.body);
    } else {
        let token = reply.read()?;
        session.out.text(&format!("Revoked {} of {}", token.id, token.principal));
    }
    Ok(0)
}

/// The key of a project that was typed as `*`, as a key, or as the name of a project of this store. A project in which
/// nothing has happened yet is named by its key.
pub(super) fn project_key(session: &Session<'_>, typed: &str) -> Result<String> {
    if typed == EVERY_PROJECT {
        return Ok(typed.to_owned());
    }
    match session.ask(&ProjectCalled { name: typed.into(), also_forgotten: false }) {
        Ok(found) => Ok(found.key.into()),
        Err(error) if error.code() == Code::UnknownProject && is_key(typed) => Ok(typed.to_owned()),
        Err(error) => Err(error),
    }
}

fn is_key(typed: &str) -> bool {
    ["name:", "id:", "url:", "dir:"].iter().any(|head| typed.strip_prefix(head).is_some_and(|rest| !rest.is_empty()))
}
