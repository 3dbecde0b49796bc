//! Display names of checkouts: as much of the path as distinguishes a checkout from the others.

use std::collections::HashMap;

use crate::id::CheckoutId;

/// A registered checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCheckout {
    /// The checkout's id.
    pub id: CheckoutId,
    /// The host that it is on.
    pub host: String,
    /// The top of the working tree.
    pub path: String,
}

/// The location of a checkout as seen from the host `here`.
pub fn place(known: &KnownCheckout, here: &str) -> String {
    if known.host == here { known.path.clone() } else { format!("{}:{}", known.host, known.path) }
}

/// Returns a name for each checkout: its directory's name, preceded by as many parent directories as distinguish it
/// from the other checkouts on its host, and by the host if it is not `here`.
pub fn names(all: &[KnownCheckout], here: &str) -> HashMap<CheckoutId, String> {
    let mut by_end: HashMap<(&str, String), usize> = HashMap::new();
    for known in all {
        for end in ends(&known.path) {
            *by_end.entry((known.host.as_str(), end)).or_default() += 1;
        }
    }
    let name = |known: &KnownCheckout| {
        let own = ends(&known.path).find(|end| by_end.get(&(known.host.as_str(), end.clone())) == Some(&1));
        let own = own.unwrap_or_else(|| known.path.clone());
        if known.host == here { own } else { format!("{}:{own}", known.host) }
    };
    all.iter().map(|known| (known.id.clone(), name(known))).collect()
}

/// The suffixes of a path, the shortest first.
fn ends(path: &str) -> impl Iterator<Item = String> {
    let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    (1..=parts.len()).map(move |count| parts[parts.len() - count..].join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: &str, host: &str, path: &str) -> KnownCheckout {
        KnownCheckout { id: id.into(), host: host.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn inv_r2_a_checkout_has_the_shortest_name_that_is_its_own() {
        let all = [
            known("c-1", "here", "/w/repo"),
            known("c-2", "here", "/w/side"),
            known("c-3", "here", "/v/repo"),
            known("c-4", "there", "/w/repo"),
            known("c-5", "here", "/"),
            known("c-6", "here", "/w/repo/repo"),
        ];
        let names = names(&all, "here");
        assert_eq!(names["c-1"], "w/repo");
        assert_eq!(names["c-2"], "side");
        assert_eq!(names["c-3"], "v/repo");
        assert_eq!(names["c-4"], "there:repo");
        assert_eq!(names["c-5"], "/");
        assert_eq!(names["c-6"], "repo/repo");
        assert_eq!(place(&all[3], "here"), "there:/w/repo");
        assert_eq!(place(&all[0], "here"), "/w/repo");
    }
}
