use proptest::prelude::*;

use super::*;

fn entry<'a>(path: &'a [&'a str], key: Option<&'a str>, value: &'a str) -> JsonEntry<'a> {
    JsonEntry { path, key, value, fresh: false }
}

fn place(text: &str, keys: &[&str]) -> Vec<usize> {
    let root = parse(text).unwrap();
    let mut node = &root;
    let mut place = Vec::new();
    for key in keys {
        let index = match &node.kind {
            JsonKind::Array(items) => items.len() - 1,
            _ => node.items().iter().rposition(|item| item.key == *key).unwrap(),
        };
        place.push(index);
        node = &node.items()[index].node;
    }
    place
}

fn put(text: &str, entry: &JsonEntry<'_>) -> String {
    insert(text, &parse(text).unwrap(), entry).unwrap()
}

fn take(text: &str, keys: &[&str]) -> String {
    remove(text, &parse(text).unwrap(), &place(text, keys), &|_| None)
}

#[test]
fn entries_come_in_as_people_would_write_them() {
    let text = "{\n    \"a\": 1 // one\n}\n";
    let with = put(text, &entry(&["hooks", "Stop"], None, "{ \"x\": 1 }"));
    assert_eq!(
        with,
        "{\n    \"a\": 1, // one\n    \"hooks\": {\n        \"Stop\": [\n            { \"x\": 1 }\n        ]\n    }\n}\n"
    );
    let more = put(&with, &entry(&["hooks", "Start"], None, "2"));
    assert!(more.contains("],\n        \"Start\": [\n            2\n        ]\n    }\n}\n"), "{more}");
    assert_eq!(take(&take(&more, &["hooks", "Start", ""]), &["hooks", "Stop", ""]), text);
}

#[test]
fn the_layouts_there_are_come_back_as_they_were() {
    let texts = [
        "{}",
        "{ }\n",
        "{\n}\n",
        "\u{feff}{\r\n\t\"a\": [1, 2],\r\n}\r\n",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{\"a\":{},\"hooks\":{}}",
        "{\n  \"hooks\": {\n  }\n}",
        "{\n  \"hooks\": {\"Stop\": []}\n}",
        "{\n  \"hooks\": { \"Stop\": [ {\"command\": \"x\"} ] }, // why\n}",
        "// head\n{ /* nothing */ }\n// foot",
        "{\n\t\"a\": 1, /* one */ // two\n\t// three\n}",
        "{ // c\n}",
        "{\"a\": 1 // c\n}",
        "{\"a\": 1 // c\n, }",
        "{\n  \"a\": \"\\ud83d\"\n}",
    ];
    for text in texts {
        for (path, keys) in [(&["hooks", "Stop"][..], &["hooks", "Stop", ""][..]), (&["b"][..], &["b", ""][..])] {
            let with = put(text, &entry(path, None, "\"own\""));
            parse(&with).unwrap_or_else(|fault| panic!("{text:?} became {with:?}: {fault:?}"));
            let again = put(&with, &entry(path, None, "\"own\""));
            assert_eq!(take(&again, keys), with, "{text:?}");
            assert_eq!(take(&with, keys), text, "{with:?}");
        }
        let with = put(text, &entry(&["servers"], Some("own"), "{ \"x\": [] }"));
        assert_eq!(take(&with, &["servers", "own"]), text, "{with:?}");
    }
}

#[test]
fn what_is_not_json_is_named_with_its_line() {
    let faults = [
        ("", 1, "missing"),
        ("{\n  \"a\": \n}", 3, "not a value"),
        ("{\n\"a\" 1}", 2, "colon"),
        ("{\"a\": 1\n\"b\": 2}", 2, "comma"),
        ("{\n\n", 3, "not closed"),
        ("[1, 2", 1, "not closed"),
        ("{} x", 1, "after the end"),
        ("{\"a\": \"b\nc\"}", 1, "control"),
        ("{a: 1}", 1, "quotes"),
        ("/* {}", 1, "no end"),
        ("{,}", 1, "before a comma"),
        ("{\"a\": nul}", 1, "not a value"),
        ("{\"a\\", 1, "no end"),
    ];
    for (text, line, what) in faults {
        let fault = parse(text).unwrap_err();
        assert_eq!(fault.line, line, "{text:?}: {fault:?}");
        assert!(fault.what.contains(what), "{text:?}: {fault:?}");
    }
    let deep = "[".repeat(100_000);
    assert!(parse(&deep).unwrap_err().what.contains("deep"));
}

#[test]
fn what_is_no_container_is_refused() {
    for (text, name) in
        [("{\"hooks\": []}", "hooks"), ("{\"hooks\": null}", "hooks"), ("{\"hooks\": {\"S\": {}}}", "hooks.S")]
    {
        let refused = insert(text, &parse(text).unwrap(), &entry(&["hooks", "S"], None, "1"));
        assert_eq!(refused, Err(NotAContainer(name.to_owned())), "{text}");
    }
}

/// A text made by some choices: any values, in any layout.
struct Maker<'a> {
    choices: std::slice::Iter<'a, u8>,
    newline: &'static str,
}

impl Maker<'_> {
    fn pick(&mut self, below: u8) -> u8 {
        self.choices.next().copied().unwrap_or(0) % below
    }

    fn blank(&mut self) -> String {
        match self.pick(10) {
            0 => format!("// words, [\"and\": {{{}", self.newline),
            1 => "/* more, } */".to_owned(),
            2 => format!("{}\t", self.newline),
            3 | 4 => format!("{}  ", self.newline),
            5 => " ".to_owned(),
            _ => String::new(),
        }
    }

    fn value(&mut self, depth: usize) -> String {
        match self.pick(if depth > 3 { 4 } else { 8 }) {
            0 => "null".to_owned(),
            1 => "-1.5e3".to_owned(),
            2 => "\"a \\\" // b\"".to_owned(),
            3 => "\"\u{e4}\"".to_owned(),
            4 | 5 => self.container('[', ']', depth),
            _ => self.container('{', '}', depth),
        }
    }

    fn container(&mut self, open: char, close: char, depth: usize) -> String {
        let count = self.pick(4);
        let mut text = format!("{open}{}", self.blank());
        for index in 0..count {
            if open == '{' {
                text.push_str(&format!("\"k{index}\"{}:{}", self.blank(), self.blank()));
            }
            text.push_str(&self.value(depth + 1));
            text.push_str(&self.blank());
            if index + 1 < count || self.pick(3) == 0 {
                text.push(',');
            }
            text.push_str(&self.blank());
        }
        text.push(close);
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_comes_back_as_it_was(choices in prop::collection::vec(any::<u8>(), 0..120), windows in any::<bool>()) {
        let newline = if windows { "\r\n" } else { "\n" };
        let mut maker = Maker { choices: choices.iter(), newline };
        let (head, body, foot) = (maker.blank(), maker.container('{', '}', 0), maker.blank());
        let text = format!("{head}{body}{foot}");
        let root = parse(&text).unwrap();
        // Into every object and array there is, and into what is not there.
        let mut cases: Vec<(Vec<&str>, Option<&str>)> = vec![(vec!["new"], None), (vec!["newer", "still"], Some("own"))];
        for item in root.items() {
            match item.node.kind {
                JsonKind::Object(_) => cases.push((vec![&item.key], Some("own"))),
                JsonKind::Array(_) => cases.push((vec![&item.key], None)),
                _ => {}
            }
        }
        let mut full = text.clone();
        let mut undo = Vec::new();
        for (path, key) in &cases {
            let before = full.clone();
            full = put(&full, &entry(path, *key, "{ \"own\": [1] }"));
            prop_assert!(parse(&full).is_ok(), "{full:?}");
            let mut keys = path.clone();
            keys.push(key.unwrap_or_default());
            prop_assert_eq!(take(&full, &keys), before);
            undo.push(keys);
            // Foreign text is there in its order.
            let mut left = full.chars();
            prop_assert!(text.chars().all(|c| left.any(|found| found == c)));
        }
        for keys in undo.iter().rev() {
            full = take(&full, keys);
        }
        prop_assert_eq!(full, text);
    }
}
