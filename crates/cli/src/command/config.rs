//! `tenure config`

use clap::Args as _;
use serde_json::{Map, Value, json};
use tenure_core::text::excerpt;
use tenure_core::{Code, Error};

use super::{Group, Run, Spec, read};
use crate::session::StoreUse;

pub(super) const SPEC: Spec = Spec {
    name: "config",
    aliases: &[],
    group: Group::People,
    about: "Show the settings that apply here, and their files",
    examples: &["tenure config", "tenure config hold.task_ttl", "tenure config --json"],
    args: Args::augment_args,
    run: Run::InProject(StoreUse::Read, |session, matches| {
        let args: Args = read(matches)?;
        let place = &session.workspace;
        let mut settings = place.config.listed();
        settings.insert(1, ("store", place.store.display()));
        if let Some(key) = &args.key {
            let found = settings.iter().find(|(name, _)| name == key);
            let (name, value) = found.ok_or_else(|| {
                let known = settings.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                Error::usage(Code::BadArguments, format!("`{}` is not a setting", excerpt(key)))
                    .hint(format!("The settings are {known}."))
            })?;
            match session.out.is_json() {
                true => session.out.data(&json!({ *name: value })),
                false => session.out.text(&format!("{value}\n")),
            }
            return Ok(0);
        }
        let files = place.config.files(session.settings.env);
        if session.out.is_json() {
            let settings: Map<String, Value> =
                settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            let files: Vec<Value> = files.iter().map(|file| json!({ "path": file, "exists": file.exists() })).collect();
            session.out.data(&json!({ "settings": settings, "files": files }));
            return Ok(0);
        }
        let mut text: String =
            settings.iter().map(|(name, value)| format!("{name:<17} {value}").trim_end().to_owned() + "\n").collect();
        text.push('\n');
        for file in files {
            let missing = if file.exists() { "" } else { " (does not exist)" };
            text.push_str(&format!("{}{missing}\n", file.display()));
        }
        session.out.text(&text);
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// Only this setting, such as hold.task_ttl
    #[arg(value_name = "KEY")]
    key: Option<String>,
}
