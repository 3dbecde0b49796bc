//! The pattern parser: normalisation, and the limits that keep every comparison cheap.

use super::{GLOB, PatternForm};
use crate::error::{Code, Error, Result};
use crate::text::excerpt;

/// The longest pattern, in bytes: the operating system accepts no longer path.
pub const BYTES_MAX: usize = 4_096;
/// The most segments of a glob.
pub const SEGMENTS_MAX: usize = 64;
/// The most `**` of a glob.
pub const DEEP_MAX: usize = 16;
/// The most `*`, `?` and classes of a glob.
pub const WILDCARDS_MAX: usize = 32;
/// The most texts that the alternatives of a glob expand to.
pub const ALTERNATIVES_MAX: usize = 256;
/// The most steps after the literal prefix of a glob. Any two globs within this limit are compared in some
/// milliseconds.
pub const STATES_MAX: usize = 1_024;
/// The deepest nesting of alternatives.
const NESTED_MAX: usize = 8;

/// One part of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SegmentPart {
    Char(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// Ranges, and whether the class is negated.
    Class(Vec<(char, char)>, bool),
    Either(Vec<Vec<SegmentPart>>),
}

/// The text between two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Plain(Vec<SegmentPart>),
    /// `**`
    Deep,
}

impl Segment {
    fn literal(text: &str) -> Segment {
        Segment::Plain(text.chars().map(SegmentPart::Char).collect())
    }

    fn is_literal(&self) -> bool {
        matches!(self, Segment::Plain(nodes) if nodes.iter().all(|node| matches!(node, SegmentPart::Char(_))))
    }
}

/// A parsed pattern.
pub(super) struct ParsedPattern {
    pub(super) form: PatternForm,
    pub(super) text: String,
    pub(super) segments: Vec<Segment>,
}

pub(super) fn read(typed: &str) -> Result<ParsedPattern> {
    if typed.len() > BYTES_MAX {
        return Err(limit(typed, &format!("{} bytes", typed.len()), &format!("{BYTES_MAX}")));
    }
    if typed.contains('\0') {
        return Err(bad(typed, "it contains a NUL"));
    }
    let (body, glob) = match typed.strip_prefix(GLOB) {
        Some(body) => (body, true),
        None => (typed, false),
    };
    if body.is_empty() {
        return Err(bad(typed, "it is empty"));
    }
    if body.starts_with('/') {
        return Err(outside(typed));
    }
    let parts = if glob { glob_parts(typed, body)? } else { body.split('/').map(|text| (text, None)).collect() };
    let below = matches!(parts.last(), Some(("" | "." | "..", _)));
    let mut kept: Vec<(&str, Segment)> = Vec::new();
    for (text, segment) in parts {
        match text {
            "" | "." => {}
            ".." => match kept.pop() {
                None => return Err(outside(typed)),
                Some((_, before)) if !before.is_literal() => {
                    return Err(bad(typed, "`..` after a wildcard has no defined meaning"));
                }
                Some(_) => {}
            },
            text => kept.push((text, segment.unwrap_or_else(|| Segment::literal(text)))),
        }
    }
    if below {
        kept.push(("**", Segment::Deep));
    }
    Ok(shaped(kept))
}

/// The canonical form: a glob that is just a path or a directory is written as one.
fn shaped(kept: Vec<(&str, Segment)>) -> ParsedPattern {
    let literal = kept.iter().take_while(|(_, segment)| segment.is_literal()).count();
    let joined = |parts: &[(&str, Segment)]| parts.iter().map(|(text, _)| *text).collect::<Vec<_>>().join("/");
    let (form, text) = match &kept[literal..] {
        [] => (PatternForm::Path, joined(&kept)),
        [(_, Segment::Deep)] => (PatternForm::Directory, format!("{}/", joined(&kept[..literal]))),
        _ => (PatternForm::Glob, format!("{GLOB}{}", joined(&kept))),
    };
    // The top itself, and a name that would otherwise be parsed as a glob.
    let text = match form {
        PatternForm::Directory if text == "/" => "./".to_owned(),
        PatternForm::Path | PatternForm::Directory if text.starts_with(GLOB) => format!("./{text}"),
        _ => text,
    };
    ParsedPattern { form, text, segments: kept.into_iter().map(|(_, segment)| segment).collect() }
}

/// The segments of a glob, each with its text. Slashes inside braces do not separate segments.
fn glob_parts<'a>(typed: &'a str, body: &'a str) -> Result<Vec<(&'a str, Option<Segment>)>> {
    let slashes = body.matches('/').count();
    if slashes + 1 > SEGMENTS_MAX {
        return Err(limit(typed, &format!("{} segments", slashes + 1), &SEGMENTS_MAX.to_string()));
    }
    let mut reader = PatternReader { typed, rest: body, wildcards: 0 };
    let (mut parts, mut deep, mut product) = (Vec::new(), 0, 1_usize);
    loop {
        let before = reader.rest;
        if let Some(rest) = before.strip_prefix("**")
            && (rest.is_empty() || rest.starts_with('/'))
        {
            deep += 1;
            reader.rest = rest;
            parts.push(("**", Some(Segment::Deep)));
        } else {
            let nodes = reader.sequence(0)?;
            product = product.saturating_mul(texts(&nodes));
            let text = &before[..before.len() - reader.rest.len()];
            parts.push((text, Some(Segment::Plain(nodes))));
        }
        match reader.rest.strip_prefix('/') {
            Some(rest) => reader.rest = rest,
            None => break,
        }
    }
    for (count, most, what) in [
        (deep, DEEP_MAX, "`**`"),
        (reader.wildcards, WILDCARDS_MAX, "wildcards"),
        (product, ALTERNATIVES_MAX, "combinations of alternatives"),
    ] {
        if count > most {
            return Err(limit(typed, &format!("{count} {what}"), &most.to_string()));
        }
    }
    Ok(parts)
}

/// The number of texts that the alternatives of a sequence expand to.
fn texts(nodes: &[SegmentPart]) -> usize {
    nodes.iter().fold(1, |product: usize, node| match node {
        SegmentPart::Either(ways) => {
            product.saturating_mul(ways.iter().fold(0, |sum: usize, way| sum.saturating_add(texts(way))))
        }
        _ => product,
    })
}

struct PatternReader<'a> {
    typed: &'a str,
    rest: &'a str,
    wildcards: usize,
}

impl PatternReader<'_> {
    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn bad<T>(&self, why: &str) -> Result<T> {
        Err(bad(self.typed, why))
    }

    /// Reads nodes up to the end of the segment or, inside braces, of the alternative.
    fn sequence(&mut self, nested: usize) -> Result<Vec<SegmentPart>> {
        let mut nodes = Vec::new();
        loop {
            match self.rest.chars().next() {
                None => break,
                Some('/') if nested == 0 => break,
                Some(',' | '}') if nested > 0 => break,
                _ => {}
            }
            let Some(c) = self.take() else { break };
            nodes.push(match c {
                '*' if self.rest.starts_with('*') || nodes.last() == Some(&SegmentPart::Many) => {
                    return self.bad("`**` must stand alone between two slashes, outside braces");
                }
                '*' => self.wildcard(SegmentPart::Many),
                '?' => self.wildcard(SegmentPart::One),
                '[' => {
                    let class = self.class()?;
                    self.wildcard(class)
                }
                '{' => self.either(nested + 1)?,
                c => SegmentPart::Char(c),
            });
        }
        Ok(nodes)
    }

    fn wildcard(&mut self, node: SegmentPart) -> SegmentPart {
        self.wildcards += 1;
        node
    }

    fn either(&mut self, nested: usize) -> Result<SegmentPart> {
        if nested > NESTED_MAX {
            return self.bad("its braces are nested too deep");
        }
        let mut ways = Vec::new();
        loop {
            ways.push(self.sequence(nested)?);
            match self.take() {
                Some(',') => {}
                Some('}') => return Ok(SegmentPart::Either(ways)),
                _ => return self.bad("a `{` is not closed; write `[{]` for the character itself"),
            }
        }
    }

    fn class(&mut self) -> Result<SegmentPart> {
        const OPEN: &str = "a `[` is not closed; write `[[]` for the character itself";
        if self.rest.starts_with('^') {
            return self.bad("a class cannot begin with `^`; write `[!…]` for all other characters");
        }
        let negated = self.rest.starts_with('!');
        if negated {
            self.take();
        }
        let mut ranges = Vec::new();
        loop {
            let low = match self.take() {
                None => return self.bad(OPEN),
                Some('/') => return self.bad("a class cannot contain a slash"),
                // A bracket in the first position is literal.
                Some(']') if !ranges.is_empty() => return Ok(SegmentPart::Class(ranges, negated)),
                Some(c) => c,
            };
            let mut ahead = self.rest.chars();
            let high = match (ahead.next(), ahead.next()) {
                (Some('-'), Some(high)) if high != ']' => {
                    self.take();
                    self.take();
                    high
                }
                _ => low,
            };
            if high == '/' {
                return self.bad("a class cannot contain a slash");
            }
            if low > high {
                return self.bad("a range in a class is reversed");
            }
            ranges.push((low, high));
        }
    }
}

/// Refuses a glob that is too expensive to compare.
pub(super) fn check_states(typed: &str, states: usize) -> Result<()> {
    if states > STATES_MAX {
        return Err(limit(typed, &format!("{states} steps after its first wildcard"), &STATES_MAX.to_string()));
    }
    Ok(())
}

fn bad(typed: &str, why: &str) -> Error {
    let shown = excerpt(typed);
    Error::usage(Code::BadPattern, format!("`{shown}` is not a valid pattern: {why}")).entity(shown).hint(
        "A path is taken literally; a trailing `/` means everything below it. A pattern after `glob:` may have * ? \
         [a-z] [!a-z] {a,b} and ** between two slashes.",
    )
}

fn limit(typed: &str, found: &str, most: &str) -> Error {
    let shown = excerpt(typed);
    Error::usage(Code::PatternLimit, format!("`{shown}` has {found}; the limit is {most}"))
        .entity(shown)
        .hint("Name the files or the directory, or give several patterns.")
}

fn outside(typed: &str) -> Error {
    let shown = excerpt(typed);
    Error::usage(Code::PathOutside, format!("`{shown}` is outside the checkout"))
        .entity(shown)
        .hint("Paths are relative to the top of the checkout; only paths inside it can be held.")
}
