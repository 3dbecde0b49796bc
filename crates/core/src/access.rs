//! Access rules: principals, their roles, and the scope of a token. Access that no rule here grants is denied.

use crate::name::{AgentName, ProjectKey};
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Action, Advice};
use crate::error::{Code, Error, Result, Stage};
use crate::name;
use crate::text::{cut, excerpt};
use crate::time::Span;

/// The key that stands for every project in memberships.
pub const EVERY_PROJECT: &str = "*";

/// The key of the reserved project, which holds the rows and events of the whole store.
pub const WHOLE_STORE: &str = "_";

/// Prefix of the names of services.
pub const SERVICE: &str = "service:";
/// The principal that servers write their own events under.
pub const OURS: &str = "service:tenure";

/// The prefix of every token secret, so that people and secret scanners recognise one.
pub const SECRET: &str = "tenure_";

/// The default lifetime of a token.
pub const TOKEN_TTL: Span = Span::days(90);
/// The longest lifetime of a token.
pub const TOKEN_MAX: Span = Span::days(365);
/// The default lifetime of a one-time link.
pub const LOGIN_TTL: Span = Span::minutes(10);
/// The longest lifetime of a one-time link.
pub const LOGIN_MAX: Span = Span::hours(1);
/// The default lifetime of a browser session.
pub const SESSION_TTL: Span = Span::hours(12);
/// The longest lifetime of a browser session.
pub const SESSION_MAX: Span = Span::days(30);

/// The most projects that a token can be scoped to.
pub const PROJECTS_MAX: usize = 100;
/// The longest project key in a grant, in bytes.
pub const KEY_MAX: usize = 500;
/// The longest label of a token, in characters.
pub const LABEL_MAX: usize = 200;

/// The role of a principal in a project. Each role includes the roles before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads everything and changes nothing.
    Viewer,
    /// Works on tasks, as agents do.
    Worker,
    /// Overrides others: force, dependencies, guards, memories for all.
    Operator,
    /// Manages access and deletes projects.
    Admin,
}

impl Role {
    /// All roles, in ascending order.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Worker, Role::Operator, Role::Admin];

    /// The role's name in JSON and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Worker => "worker",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }

    /// Parses a role's name.
    pub fn parse(text: &str) -> Result<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            Error::usage(Code::BadRole, format!("`{}` is not a role", excerpt(text)))
                .hint("A role is viewer, worker, operator or admin.")
        })
    }
}

/// The kind of a principal, which its name states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Sort")]
pub enum PrincipalKind {
    /// `person:ann`: acts as itself, and as agents of its own.
    Person,
    /// `service:ci`: acts as itself, and as agents of its own.
    Service,
    /// Any other name: acts as itself.
    Agent,
}

impl PrincipalKind {
    /// Derives the kind from a principal's name.
    pub fn of(name: &str) -> PrincipalKind {
        if name::is_person(name) {
            PrincipalKind::Person
        } else if name.starts_with(SERVICE) {
            PrincipalKind::Service
        } else {
            PrincipalKind::Agent
        }
    }
}

/// Checks the name of a principal.
pub fn principal(name: &str) -> Result<&str> {
    name::check(name)?;
    if name == SERVICE {
        return Err(
            Error::usage(Code::BadName, "`service:` has no name").hint("Write a name after the colon: service:ci.")
        );
    }
    Ok(name)
}

/// Checks the name of a principal before it gets access. The servers' own name is refused, because only servers may
/// write under it.
pub fn outsider(name: &str) -> Result<&str> {
    if principal(name)? == OURS {
        return Err(Error::usage(Code::ReservedName, format!("the name `{OURS}` is reserved for servers"))
            .entity(OURS)
            .hint("Choose another name: service:ci."));
    }
    Ok(name)
}

/// Checks the key of a project in a grant; `*` is every project. The reserved project of the whole store cannot be
/// granted by key: only an admin of every project has access to it.
pub fn project(key: &str) -> Result<&str> {
    let bad = |why: &str| {
        Err(Error::usage(Code::BadProjectKey, format!("`{}` is not a project: {why}", excerpt(key))).hint(
            Advice::from("Give the key as ").action(Action::ListProjects).text(" shows it, or `*` for every project."),
        ))
    };
    match key {
        "" => bad("it is empty"),
        WHOLE_STORE => bad("`*` is allowed only for the role admin"),
        _ if key.len() > KEY_MAX => bad("it is too long"),
        _ if cut(key, KEY_MAX) != key => bad("it has control characters"),
        _ => Ok(key),
    }
}

/// Checks that a text is a SHA-256 in hexadecimal. Requests carry the hash of a secret, never the secret.
pub fn hash(text: &str) -> Result<&str> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)) {
        return Ok(text);
    }
    // The error does not repeat the text, because it may be the secret itself.
    Err(Error::usage(Code::BadHash, "the value is not a SHA-256 in hexadecimal")
        .hint("Send the hash of the secret, never the secret."))
}

/// Checks a requested lifetime in seconds and applies the default.
pub fn lifetime(asked: Option<i64>, usual: Span, most: Span) -> Result<Span> {
    match asked {
        None => Ok(usual),
        // Compare in seconds: a large number of seconds would overflow in microseconds.
        Some(seconds) if (1..=most.as_seconds()).contains(&seconds) => Ok(Span::seconds(seconds)),
        Some(_) => Err(Error::usage(Code::BadLifetime, format!("the lifetime is not between 1s and {most}"))
            .hint(format!("Give 1s to {most}; the default is {usual}."))),
    }
}

/// What a token narrows its principal to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Scope")]
pub struct TokenScope {
    /// The maximum role.
    pub role: Option<Role>,
    /// The keys of the projects it is good for; all without it.
    pub projects: Option<Vec<ProjectKey>>,
}

/// An authenticated principal with its roles and the scope of its token. Only the kernel derives one from a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    /// The principal's name.
    pub principal: AgentName,
    /// The role per project; `*` applies to every project without a row of its own.
    pub members: BTreeMap<ProjectKey, Role>,
    /// The scope of the token that the caller presented.
    pub scope: TokenScope,
}

impl Grants {
    /// The effective role in a project: the lower of the principal's role there and the role of the token. It is `None`
    /// for a project outside the token's list and for a project without a membership.
    pub fn role(&self, project: &str) -> Option<Role> {
        // No project has this key. If one were created, its row would apply to all other projects.
        if project == EVERY_PROJECT {
            return None;
        }
        if self.scope.projects.as_ref().is_some_and(|only| !only.iter().any(|key| key == project)) {
            return None;
        }
        // A project's own row overrides the row for all projects, even where it grants less.
        let own = self.members.get(project).filter(|_| project != WHOLE_STORE);
        let member = own.or_else(|| self.members.get(EVERY_PROJECT)).copied()?;
        Some(self.scope.role.map_or(member, |most| most.min(member)))
    }

    /// Checks that the principal has the needed role in a project; `None` means that no role is enough. A project in
    /// which the principal has no role is reported as unknown.
    pub fn check(&self, project: &str, what: &str, needed: Option<Role>) -> Result<Role> {
        let Some(role) = self.role(project) else { return Err(unknown_project(project)) };
        match needed {
            Some(needed) if role >= needed => Ok(role),
            Some(needed) => Err(role_too_low(what, role, needed)),
            None => Err(Error::new(
                Code::NotOffered,
                format!("the server does not accept `{}` from clients", excerpt(what)),
            )
            .at(Stage::Resolve)
            .entity(excerpt(what))),
        }
    }
}

/// The refusal of a principal whose role is too low.
pub fn role_too_low(what: &str, role: Role, needed: Role) -> Error {
    let (role, needed) = (role.as_str(), needed.as_str());
    Error::new(Code::RoleTooLow, format!("`{}` needs the role {needed}, and you have the role {role}", excerpt(what)))
        .at(Stage::Resolve)
        .entity(excerpt(what))
        .hint("Ask an admin of the project, or use a token with that role.")
        .detail("needed", needed)
        .detail("role", role)
}

/// The error for a project that does not exist and for one that the caller has no role in. Both get the same text, so
/// that a caller cannot probe for projects.
pub fn unknown_project(name: &str) -> Error {
    Error::new(Code::UnknownProject, format!("no project of this store is called `{}`", excerpt(name)))
        .at(Stage::Read)
        .entity(excerpt(name))
        .attempt(Action::ListProjects)
}

/// The refusal of an unauthenticated caller: no secret, an unknown, expired or revoked one, or one of a disabled
/// principal. The error does not say which, so that a caller cannot probe for secrets.
pub fn not_known() -> Error {
    Error::new(Code::NotSignedIn, "the request has no valid token or session")
        .at(Stage::Resolve)
        .hint(Advice::from("Send a token: a person makes one with ").action(Action::AddToken).text("."))
}

/// The refusal of an agent name that belongs to another principal.
pub fn not_yours(name: &str) -> Error {
    let name = excerpt(name);
    Error::new(Code::NotYours, format!("`{name}` belongs to another principal"))
        .at(Stage::Resolve)
        .entity(name)
        .hint("Act under your own name, or as an agent whose name is unused.")
}

#[cfg(test)]
mod tests {
    use crate::action::Plain;
    use proptest::prelude::*;

    use super::*;

    fn grants(members: &[(&str, Role)], role: Option<Role>, projects: Option<&[&str]>) -> Grants {
        Grants {
            principal: "person:ann".into(),
            members: members.iter().map(|(key, role)| (ProjectKey::from(*key), *role)).collect(),
            scope: TokenScope {
                role,
                projects: projects.map(|keys| keys.iter().map(|key| ProjectKey::from(*key)).collect()),
            },
        }
    }

    #[test]
    fn inv_s1_whatever_is_not_given_is_denied() {
        assert_eq!(grants(&[], None, None).role("name:p"), None);
        assert_eq!(grants(&[], Some(Role::Admin), Some(&["name:p"])).role("name:p"), None, "a token alone is nothing");
        assert_eq!(grants(&[("name:q", Role::Admin)], None, None).role("name:p"), None);
        assert_eq!(grants(&[("name:q", Role::Admin)], None, None).role(WHOLE_STORE), None);
        assert_eq!(grants(&[("*", Role::Admin)], None, Some(&["name:p"])).role("name:q"), None);
        assert_eq!(grants(&[("*", Role::Admin)], None, Some(&["name:p"])).role(WHOLE_STORE), None);
        assert_eq!(grants(&[("*", Role::Admin)], None, None).role("*"), None);
    }

    #[test]
    fn inv_s1_the_least_of_membership_and_token_counts() {
        let narrowed = grants(&[("name:p", Role::Admin)], Some(Role::Worker), Some(&["name:p"]));
        assert_eq!(narrowed.role("name:p"), Some(Role::Worker));
        let raised = grants(&[("name:p", Role::Viewer)], Some(Role::Admin), None);
        assert_eq!(raised.role("name:p"), Some(Role::Viewer), "a token gives nothing that its principal has not");
        let both = grants(&[("*", Role::Admin), ("name:p", Role::Viewer)], None, None);
        assert_eq!((both.role("name:p"), both.role("name:q")), (Some(Role::Viewer), Some(Role::Admin)));
        assert_eq!(both.role(WHOLE_STORE), Some(Role::Admin));
    }

    #[test]
    fn inv_s2_no_role_reads_as_no_project() {
        let none = grants(&[], None, None);
        let denied = none.check("name:p", "add", Some(Role::Viewer)).unwrap_err();
        assert_eq!(denied.to_json(&Plain), unknown_project("name:p").to_json(&Plain));
        assert_eq!(
            none.check("name:p", "add", None).unwrap_err().to_json(&Plain),
            unknown_project("name:p").to_json(&Plain)
        );
        let viewer = grants(&[("name:p", Role::Viewer)], None, None);
        assert_eq!(viewer.check("name:p", "add", Some(Role::Worker)).unwrap_err().code(), "role_too_low");
        assert_eq!(viewer.check("name:p", "x", None).unwrap_err().code(), "not_offered");
        assert_eq!(viewer.check("name:p", "list", Some(Role::Viewer)).unwrap(), Role::Viewer);
    }

    #[test]
    fn inv_s10_what_is_not_a_hash_is_not_repeated() {
        let secret = format!("{SECRET}{}", "ab".repeat(32));
        for bad in ["", secret.as_str(), &"AB".repeat(32), &"a".repeat(63), &"g".repeat(64)] {
            let error = hash(bad).unwrap_err();
            assert!(bad.is_empty() || !error.to_json(&Plain).to_string().contains(bad));
        }
        assert!(hash(&"0f".repeat(32)).is_ok());
    }

    #[test]
    fn lifetimes_have_an_end() {
        assert_eq!(lifetime(None, TOKEN_TTL, TOKEN_MAX).unwrap(), TOKEN_TTL);
        assert_eq!(lifetime(Some(1), TOKEN_TTL, TOKEN_MAX).unwrap(), Span::seconds(1));
        for bad in [0, -1, i64::MIN, i64::MAX, TOKEN_MAX.as_seconds() + 1] {
            assert_eq!(lifetime(Some(bad), TOKEN_TTL, TOKEN_MAX).unwrap_err().code(), "bad_lifetime");
        }
    }

    #[test]
    fn keys_and_principals_are_checked_at_one_door() {
        assert!(project("*").is_ok() && project("name:p").is_ok() && principal("service:ci").is_ok());
        for bad in ["", "_", "a\nb", &"x".repeat(KEY_MAX + 1)] {
            assert_eq!(project(bad).unwrap_err().code(), "bad_project_key");
        }
        for bad in ["", "service:", "person:", "Ann"] {
            assert_eq!(principal(bad).unwrap_err().code(), "bad_name");
        }
        let sorts = ["person:ann", "service:ci", "claude-1"].map(PrincipalKind::of);
        assert_eq!(sorts, [PrincipalKind::Person, PrincipalKind::Service, PrincipalKind::Agent]);
    }

    proptest! {
        #[test]
        fn inv_s1_a_token_never_adds_to_what_its_principal_may(
            own in proptest::option::of(0..4usize), all in proptest::option::of(0..4usize),
            most in proptest::option::of(0..4usize), listed in proptest::option::of(proptest::bool::ANY),
        ) {
            let mut members = Vec::new();
            members.extend(own.map(|at| ("name:p", Role::ALL[at])));
            members.extend(all.map(|at| ("*", Role::ALL[at])));
            let keys = listed.map(|listed| if listed { ["name:p"] } else { ["name:q"] });
            let wide = grants(&members, None, None);
            let narrow = grants(&members, most.map(|at| Role::ALL[at]), keys.as_ref().map(|keys| &keys[..]));
            for project in ["name:p", "name:q", WHOLE_STORE] {
                prop_assert!(narrow.role(project) <= wide.role(project));
            }
        }
    }
}
