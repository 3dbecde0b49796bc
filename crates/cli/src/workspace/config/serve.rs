//! What the configuration says about a server that is started here.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use tenure_core::{Code, Error, Result, text};
use tenure_server::http::{Limits, Proxies};
use toml::Spanned;

/// The settings of a server; what is not there is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Serve {
    /// Where it listens for HTTP.
    pub(crate) listen: Option<SocketAddr>,
    /// The peers whose word about their clients is believed.
    proxies: Option<Proxies>,
    /// The numbers, by their place in [`NUMBERS`].
    numbers: [Option<u64>; NUMBERS.len()],
}

/// The numbers: their key, the least and the most.
const NUMBERS: [(&str, u64, u64); 5] = [
    ("body_mib", 1, 1_024),
    ("seconds", 1, 3_600),
    ("at_once", 1, 1_000_000),
    ("listeners", 0, 1_000_000),
    ("per_second", 1, 1_000_000),
];

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Table {
    listen: Option<Spanned<String>>,
    proxies: Option<Spanned<Vec<String>>>,
    body_mib: Option<Spanned<u64>>,
    seconds: Option<Spanned<u64>>,
    at_once: Option<Spanned<u64>>,
    listeners: Option<Spanned<u64>>,
    per_second: Option<Spanned<u64>>,
}

impl Serve {
    /// Settings as they were given: an address, proxies, and the numbers in the order of their keys.
    pub(crate) fn given(
        listen: Option<&str>,
        proxies: &[String],
        numbers: [Option<u64>; NUMBERS.len()],
    ) -> Result<Serve> {
        for (number, limit) in numbers.iter().zip(NUMBERS) {
            number.map_or(Ok(()), |number| within(number, limit))?;
        }
        let proxies = (!proxies.is_empty()).then(|| parse(proxies)).transpose()?;
        Ok(Serve { listen: listen.map(address).transpose()?, proxies, numbers })
    }

    /// Reads a table; `refuse` says where it stands what is wrong.
    pub(super) fn read(table: Table, refuse: impl Fn(Range<usize>, Error) -> Error) -> Result<Serve> {
        let listen = table.listen.map(|said| address(said.get_ref()).map_err(|error| refuse(said.span(), error)));
        let proxies = table.proxies.map(|said| parse(said.get_ref()).map_err(|error| refuse(said.span(), error)));
        let said = [table.body_mib, table.seconds, table.at_once, table.listeners, table.per_second];
        let mut numbers = [None; NUMBERS.len()];
        for ((number, said), limit) in numbers.iter_mut().zip(said).zip(NUMBERS) {
            let Some(said) = said else { continue };
            within(*said.get_ref(), limit).map_err(|error| refuse(said.span(), error))?;
            *number = Some(said.into_inner());
        }
        Ok(Serve { listen: listen.transpose()?, proxies: proxies.transpose()?, numbers })
    }

    /// These laid over others, one by one.
    pub(crate) fn over(self, below: &Serve) -> Serve {
        let mut numbers = self.numbers;
        for (number, other) in numbers.iter_mut().zip(below.numbers) {
            *number = number.or(other);
        }
        let proxies = self.proxies.or_else(|| below.proxies.clone());
        Serve { listen: self.listen.or(below.listen), proxies, numbers }
    }

    /// The proxies that are trusted: none where nothing is said.
    pub(crate) fn proxies(&self) -> Proxies {
        self.proxies.clone().unwrap_or_default()
    }

    /// What the server takes.
    pub(crate) fn limits(&self) -> Limits {
        let usual = Limits::default();
        let [body, seconds, at_once, listeners, per_second] = self.numbers;
        let size = |number: Option<u64>, usual| number.and_then(|number| usize::try_from(number).ok()).unwrap_or(usual);
        Limits {
            body: size(body.map(|mib| mib * 1024 * 1024), usual.body),
            time: seconds.map_or(usual.time, Duration::from_secs),
            at_once: size(at_once, usual.at_once),
            listeners: size(listeners, usual.listeners),
            per_second: per_second.and_then(|number| u32::try_from(number).ok()).unwrap_or(usual.per_second),
        }
    }
}

fn parse(proxies: &[String]) -> Result<Proxies> {
    Proxies::parse(proxies.iter().map(String::as_str))
}

fn within(number: u64, (key, least, most): (&str, u64, u64)) -> Result<()> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    let message = format!("`{key}` must be {least} to {most}, not {number}");
    Err(Error::usage(Code::BadLimit, message).hint(
        "A lower value blocks all requests; a higher value does not limit \
                                                    anything.",
    ))
}

fn address(typed: &str) -> Result<SocketAddr> {
    typed.parse().map_err(|_| {
        Error::usage(Code::BadAddress, format!("`{}` is not an address to listen on", text::excerpt(typed)))
            .hint("Give an IP address and a port, such as 127.0.0.1:7133; port 0 selects a free port.")
    })
}
