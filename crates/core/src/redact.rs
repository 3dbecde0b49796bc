//! Removes secrets of well-known shapes from tool output before it is stored.

/// The replacement of a secret.
pub const REDACTED: &str = "[redacted]";

/// Prefixes of self-describing tokens, and the minimum length of the rest.
const PREFIXES: [(&str, usize); 28] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("gldt-", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("sk-", 16),
    ("sk_live_", 10),
    ("rk_live_", 10),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("dop_v1_", 20),
    ("shpat_", 16),
    ("SG.", 20),
    ("tenure_", 64),
];

/// Parts of a name that mark its value as secret.
const NAMES: [&str; 15] = [
    "accesskey",
    "accountkey",
    "apikey",
    "authkey",
    "bearer",
    "clientsecret",
    "connectionstring",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "signingkey",
    "token",
];

/// Removes everything that looks like a secret. It errs towards removing too much: only a few hundred bytes are kept,
/// to explain a failure.
pub fn redact(text: &str) -> String {
    let text = keys(text);
    let text = urls(&text);
    let text = values(&text);
    let text = short_flags(&text);
    words(&text)
}

/// Private keys, including those whose end was truncated.
fn keys(text: &str) -> String {
    const BEGIN: &str = "-----BEGIN ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(at);
        let head = block.lines().next().unwrap_or_default();
        out.push_str(before);
        if !head.contains("PRIVATE KEY") {
            out.push_str(BEGIN);
            rest = &block[BEGIN.len()..];
            continue;
        }
        out.push_str(REDACTED);
        rest = match block.find("-----END ") {
            Some(end) => {
                let tail = &block[end + "-----END ".len()..];
                tail.find("-----").map_or("", |close| &tail[close + 5..])
            }
            None => "",
        };
    }
    out.push_str(rest);
    out
}

/// User and password in a URL.
fn urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + 3);
        out.push_str(before);
        let end = address.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c)).unwrap_or(address.len());
        // A password can contain an unescaped slash. A text with a colon and a later `@` is removed whole.
        let reach = address.find(|c: char| c.is_whitespace() || "\"'<>".contains(c)).unwrap_or(address.len());
        let user = match address[..end].rfind('@') {
            Some(user) => Some(user),
            None => address[..reach].rfind('@').filter(|user| address[..*user].contains(':')),
        };
        match user {
            Some(user) => {
                out.push_str(REDACTED);
                rest = &address[user..];
            }
            None => rest = address,
        }
    }
    out.push_str(rest);
    out
}

/// Values of names that mark a secret, and of `Authorization` and `Cookie`.
fn values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name_char) {
        out.push_str(&rest[..start]);
        let name_end = rest[start..].find(|c| !is_name_char(c)).map_or(rest.len(), |end| start + end);
        let name = &rest[start..name_end];
        let behind = &rest[name_end..];
        out.push_str(name);
        let lower: String =
            name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        let scheme = matches!(lower.as_str(), "bearer" | "basic");
        let whole_line = lower.ends_with("authorization") || lower.ends_with("cookie");
        let named = NAMES.iter().any(|part| lower.contains(part));
        // `--token VALUE`; a flag after it is not a value.
        let flag = named && name.starts_with("--") && !behind.trim_start_matches(' ').starts_with('-');
        let gap = match assignment(behind) {
            _ if scheme => spaces(behind),
            None if flag => spaces(behind).map(|gap| gap + usize::from(behind[gap..].starts_with(['"', '\'', '`']))),
            gap => gap,
        };
        let secret = whole_line || named || scheme;
        let Some(gap) = gap.filter(|_| secret) else {
            rest = behind;
            continue;
        };
        out.push_str(&behind[..gap]);
        let value = &behind[gap..];
        let quote = behind[..gap].chars().next_back().filter(|c| "\"'`".contains(*c));
        let ends = |c: char| match quote {
            Some(quote) => c == quote || c == '\n',
            None if whole_line => "\n\"'".contains(c),
            None => c.is_whitespace() || "\"'`,;&".contains(c),
        };
        let end = value.find(ends).unwrap_or(value.len());
        // A word such as `basic` followed by another word is usually prose.
        let prose = scheme && end < 8;
        out.push_str(if end == 0 {
            ""
        } else if prose {
            &value[..end]
        } else {
            REDACTED
        });
        rest = &value[end..];
    }
    out.push_str(rest);
    out
}

/// Programs that take a password directly after `-p`.
const SHORT: [&str; 5] = ["mariadb", "mysql", "mysqladmin", "mysqldump", "sshpass"];

/// Passwords after `-p`, on a line that names a program which takes them there.
fn short_flags(text: &str) -> String {
    let of_line = |line: &str| -> String {
        let mut named = false;
        let mut out = String::with_capacity(line.len());
        for part in line.split_inclusive([' ', '\t', '\n', '`', '"', '(']) {
            let word = part.trim_end_matches([' ', '\t', '\n', '`', '"', '(', ':', ')', ';']);
            named |= SHORT.contains(&word.rsplit('/').next().unwrap_or_default());
            let password = word.strip_prefix("-p").or_else(|| word.strip_prefix("'-p"));
            match password.filter(|password| named && !password.is_empty()) {
                Some(password) => {
                    out.push_str(&word[..word.len() - password.len()]);
                    out.push_str(REDACTED);
                    out.push_str(&part[word.len()..]);
                }
                None => out.push_str(part),
            }
        }
        out
    };
    text.split_inclusive('\n').map(of_line).collect()
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.'
}

/// The length of the separator between a name and its value, if a value follows: `=`, `: `, `": "` and the like.
fn assignment(behind: &str) -> Option<usize> {
    let mut at = 0;
    let mut sign = false;
    for c in behind.chars() {
        match c {
            '=' | ':' if !sign => sign = true,
            '>' | '=' if sign => {}
            '"' | '\'' | '`' | ' ' | '\t' | '\\' | ']' => {}
            _ => break,
        }
        at += c.len_utf8();
    }
    sign.then_some(at)
}

fn spaces(behind: &str) -> Option<usize> {
    let at = behind.find(|c| c != ' ').unwrap_or(behind.len());
    (at > 0).then_some(at)
}

/// Tokens that are recognised by their shape.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_token_char) {
        out.push_str(&rest[..start]);
        let end = rest[start..].find(|c| !is_token_char(c)).map_or(rest.len(), |end| start + end);
        let word = &rest[start..end];
        match secret_at(word) {
            Some(at) => {
                out.push_str(&word[..at]);
                out.push_str(REDACTED);
            }
            None => out.push_str(word),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./+~=".contains(c)
}

/// The position in a word where a token begins.
fn secret_at(word: &str) -> Option<usize> {
    let fresh = |at: usize| at == 0 || !word.as_bytes()[at - 1].is_ascii_alphanumeric();
    let known = PREFIXES.iter().filter_map(|(prefix, rest)| {
        word.match_indices(prefix).map(|(at, _)| at).find(|at| fresh(*at) && run(&word[at + prefix.len()..]) >= *rest)
    });
    let signed = word.match_indices("eyJ").map(|(at, _)| at).find(|at| {
        // A signed token (JWT): three parts in base64, of which the first begins like `{"`.
        let parts: Vec<&str> = word[*at..].split('.').collect();
        fresh(*at)
            && parts.len() >= 3
            && parts[..3].iter().all(|part| part.len() >= 8 || run(part) == part.len())
            && parts[0].len() >= 10
    });
    known.chain(signed).min()
}

/// The number of leading token characters of a text.
fn run(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Assembled at run time, so that no secret scanner takes them for real ones.
    fn shapes() -> Vec<(String, String)> {
        let x = |count: usize| "aB3dE5gH7".repeat(9)[..count].to_owned();
        let upper = "ABCDEFGHIJ234567".to_owned();
        let bare = |token: String| (token.clone(), token);
        vec![
            bare(format!("AK{}{upper}", "IA")),
            bare(format!("AS{}{upper}", "IA")),
            bare(format!("ghp{}{}", "_", x(36))),
            bare(format!("github{}{}", "_pat_", x(60))),
            bare(format!("glpat{}{}", "-", x(20))),
            bare(format!("xoxb{}123456789012-{}", "-", x(24))),
            bare(format!("sk{}{}", "-proj-", x(40))),
            bare(format!("sk{}{}", "-ant-api03-", x(60))),
            bare(format!("AI{}{}", "za", x(35))),
            bare(format!("ey{}hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{}", "J", x(43))),
            (format!("Authorization: Bearer {}", x(30)), x(30)),
            (format!("bearer {}", x(30)), x(30)),
            (format!("DB_PASSWORD={}", "hunter2!x"), "hunter2!x".into()),
            (format!("export API_KEY='{}'", x(12)), x(12)),
            (format!("{{\"clientSecret\": \"{}\"}}", "s3cr3t value"), "s3cr3t value".into()),
            (format!("secret_token: {}", x(9)), x(9)),
            (format!("postgres://ann:{}@db.example/x", "p4ss"), "p4ss".into()),
            (format!("https://{}@example.com/x", x(20)), x(20)),
            (format!("-----BEGIN RSA PRIVATE{} KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "", x(64)), x(64)),
            (format!("-----BEGIN OPENSSH PRIVATE{} KEY-----\n{}", "", x(64)), x(64)),
            (format!("aws_secret_access_key = {}", x(40)), x(40)),
            (format!("--password={}", x(10)), x(10)),
            (format!("Cookie: session={}", x(12)), x(12)),
            (format!("set-cookie: a=b; sid={}; Path=/", x(12)), x(12)),
            (format!("curl --token {} x", x(12)), x(12)),
            (format!("tool --api-key '{}'", x(12)), x(12)),
            (format!("mysql -u root -p{}", x(9)), x(9)),
            (format!("/usr/bin/mysqldump: -p{} db", x(9)), x(9)),
            (format!("DefaultEndpointsProtocol=https;AccountKey={}+/==;", x(20)), x(20)),
        ]
    }

    #[test]
    fn inv_m5_secrets_of_well_known_shapes_are_taken_out() {
        for (text, secret) in shapes() {
            let around = format!("error: before ({text}) after\nnext line stays");
            for text in [text.clone(), around] {
                let told = redact(&text);
                assert!(!told.contains(&secret), "{told}");
                assert!(told.contains(REDACTED), "{told}");
            }
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "error[E0308]: mismatched types\n --> src/main.rs:3:5",
            "expected struct `Token`, found `u32`",
            "https://example.com/a?b=c#d and mail to ann@example.com",
            "the basic case works",
            "thread 'main' panicked at src/lib.rs:10:5: sk-1",
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
            "commit 0123456789abcdef0123456789abcdef01234567",
            "Tests: 3 failed, 12 passed",
            "unknown option --token --verbose",
            "mkdir -path and cp -p x",
        ] {
            assert_eq!(redact(text), text);
        }
        assert_eq!(redact("postgres://ann:pw@h/db failed"), "postgres://[redacted]@h/db failed");
        assert_eq!(redact("PASSWORD=x rest"), "PASSWORD=[redacted] rest");
    }

    proptest! {
        #[test]
        fn inv_m5_a_secret_is_taken_out_wherever_it_stands(
            before in "[ -~\n]{0,30}[ \n]", after in "[ \n][ -~\n]{0,30}", which in 0usize..29,
        ) {
            let (text, secret) = shapes().swap_remove(which);
            let told = redact(&format!("{before}{text}{after}"));
            prop_assert!(!told.contains(&secret), "{}", told);
        }

        #[test]
        fn any_text_at_all_is_read_to_its_end(text in "\\PC{0,200}") {
            redact(&text);
        }
    }
}
