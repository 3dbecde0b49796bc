//! `tenure off`

use clap::Args as _;
use tenure_core::{Span, guard as rule};
use tenure_kernel::op::off::Off;

use super::{Group, Run, Spec, read};
use crate::guard;
use crate::session::{RunOptions, Session, StoreUse};

pub(super) const SPEC: Spec = Spec {
    name: "off",
    aliases: &[],
    group: Group::People,
    about: "Switch the guards of this project off (people only)",
    examples: &["tenure off", "tenure off --for 10m", "tenure off --end"],
    args: Args::augment_args,
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let span = match args.end {
            true => Some(Span(0)),
            false => args.span.as_deref().map(Span::parse).transpose()?.map(rule::off_for).transpose()?,
        };
        let session = &Session::open(settings, out, StoreUse::Write)?;
        let request = Off { for_s: span.map(Span::as_seconds) };
        let reply = session.run(request, RunOptions::default())?;
        let answer = reply.read()?;
        if session.out.is_json() {
            session.out.body(&reply.body);
        } else {
            let said = guard::sentence(&answer).unwrap_or_else(|| "Guards are on.".to_owned());
            session.out.text(&said);
        }
        Ok(0)
    }),
};

#[derive(clap::Args)]
struct Args {
    /// The duration, up to 24h; default: 1h
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true)]
    span: Option<String>,
    /// Switch the guards on again
    #[arg(long, conflicts_with = "span")]
    end: bool,
}
