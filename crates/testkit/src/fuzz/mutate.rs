//! Generates inputs: mutations of bytes, lines and JSON, all from one seed.

use serde_json::{Value, json};
use tenure_store::Entropy;

use crate::fixture::Seeded;

/// Tokens that have broken programs before.
const TOKENS: [&str; 34] = [
    "\0",
    "\\u0000",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "\u{200b}",
    "\u{1f980}",
    "\r\n",
    "\n",
    "\t",
    " ",
    "\"",
    "\\",
    "'; DROP TABLE task; --",
    "%00",
    "%",
    "../",
    "-",
    ".",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e999",
    "0.1",
    "null",
    "t-00000",
    "n-00000",
    "person:",
    "person:ann",
];

/// The maximum length of a mutated input.
const LONGEST: usize = 1 << 18;

/// Deterministic random choices.
pub(super) struct Mutator(Seeded);

impl Mutator {
    pub(super) fn new(seed: u64) -> Mutator {
        Mutator(Seeded::new(seed))
    }

    fn below(&self, count: usize) -> usize {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes) as usize % count.max(1)
    }

    fn byte(&self) -> u8 {
        let mut byte = [0];
        self.0.fill(&mut byte);
        byte[0]
    }

    fn token(&self) -> Vec<u8> {
        match self.below(TOKENS.len() + 3) {
            0 => "x".repeat(1 << (3 + self.below(14))).into_bytes(),
            1 => "é".repeat(500 + self.below(3)).into_bytes(),
            2 => vec![self.byte(); 1 + self.below(4)],
            n => TOKENS[n - 3].as_bytes().to_vec(),
        }
    }

    /// Applies one to four mutations to one of the seeds.
    pub(super) fn input(&self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            let other = &seeds[self.below(seeds.len())];
            input = match self.below(3) {
                0 => self.change_json(&input).unwrap_or_else(|| self.change_bytes(input, other)),
                1 => self.change_lines(input, other),
                _ => self.change_bytes(input, other),
            };
            input.truncate(LONGEST);
        }
        input
    }

    /// A random range of the input.
    fn stretch(&self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let most = if self.below(4) == 0 { length - from } else { (length - from).min(8) };
        from..from + self.below(most + 1)
    }

    fn change_bytes(&self, mut input: Vec<u8>, other: &[u8]) -> Vec<u8> {
        let range = self.stretch(input.len());
        match self.below(7) {
            0 => _ = input.splice(range.start..range.start, self.token()),
            1 => _ = input.splice(range, self.token()),
            2 => _ = input.drain(range),
            3 => input.truncate(range.start),
            4 => {
                let piece = input[range.clone()].repeat(1 + self.below(64));
                _ = input.splice(range, piece);
            }
            5 => {
                let from = self.stretch(other.len());
                _ = input.splice(range, other[from].iter().copied());
            }
            _ => {
                let bit = 1 << self.below(8);
                if let Some(byte) = input.get_mut(range.start) {
                    *byte ^= bit;
                }
            }
        }
        input
    }

    fn change_lines(&self, input: Vec<u8>, other: &[u8]) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
        let others: Vec<&[u8]> = other.split(|byte| *byte == b'\n').collect();
        let (at, to) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(4) {
            0 => lines.swap(at, to),
            1 => lines.insert(to, lines[at]),
            2 => _ = lines.remove(at),
            _ => lines[at] = others[self.below(others.len())],
        }
        lines.join(&b'\n')
    }

    /// Changes one value of a line that is JSON.
    fn change_json(&self, input: &[u8]) -> Option<Vec<u8>> {
        let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let at = self.below(lines.len());
        let mut value: Value = serde_json::from_slice(&lines[at]).ok()?;
        let mut nodes = count(&value);
        nodes = self.below(nodes);
        self.change(&mut value, &mut nodes);
        lines[at] = value.to_string().into_bytes();
        Some(lines.join(&b'\n'))
    }

    /// Walks to a node and changes it.
    fn change(&self, value: &mut Value, left: &mut usize) -> bool {
        if *left == 0 {
            let old = value.take();
            *value = self.instead(old);
            return true;
        }
        *left -= 1;
        match value {
            Value::Array(items) => items.iter_mut().any(|item| self.change(item, left)),
            Value::Object(fields) => fields.iter_mut().any(|(_, item)| self.change(item, left)),
            _ => false,
        }
    }

    fn instead(&self, old: Value) -> Value {
        let word = || String::from_utf8_lossy(&self.token()).into_owned();
        match (self.below(9), old) {
            (0, _) => json!(null),
            (1, _) => json!(word()),
            (2, _) => json!([i64::MAX, i64::MIN, 0, 1, -1][self.below(5)]),
            (3, _) => json!([0.5, 1e300, -0.0][self.below(3)]),
            (4, old) => json!([old]),
            (5, Value::Array(items)) => {
                let again = 1 + self.below(30);
                Value::Array(std::iter::repeat_n(items, again).flatten().collect())
            }
            (6, Value::Object(mut fields)) => {
                let name = fields.keys().nth(self.below(fields.len())).cloned();
                name.map(|name| fields.remove(&name));
                Value::Object(fields)
            }
            (7, Value::Object(mut fields)) => {
                fields.insert(word(), json!(true));
                Value::Object(fields)
            }
            (_, Value::String(text)) => match self.below(3) {
                0 => json!(format!("{text}{}", word())),
                1 => json!(format!("{}{text}", word())),
                _ => json!(text.chars().skip(self.below(4)).collect::<String>()),
            },
            (_, Value::Bool(flag)) => json!(!flag),
            (_, old) => old,
        }
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}
