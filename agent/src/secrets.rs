//! Texts that nobody should paste into a public issue: keys, passwords, values of `.env` files, and
//! directories that name a person.
//!
//! Owns the forms. Refuses nothing itself and changes no text: whoever publishes decides.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use regex::Regex;

/// A line that holds a secret, or looks as if it did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Secret {
    /// The line, counted from 1.
    pub line: usize,
    /// The kind of secret that it resembles.
    pub kind: String,
    /// The first characters of it, for a message: never all.
    pub shown: String,
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} ({})", self.line, self.kind, self.shown)
    }
}

/// The known secrets of the user.
#[derive(Debug, Clone, Default)]
pub struct OwnSecrets {
    /// Values by the name of their variable or of the key in a `.env` file.
    pub values: BTreeMap<String, String>,
    /// The home directory.
    pub home: Option<String>,
}

/// Shorter values of variables are words that stand anywhere: `true`, `8080`, `localhost`.
const SHORTEST_VALUE: usize = 8;

/// Issuers document these forms of their tokens; each is long or has a prefix that nothing else has.
const ISSUED: &[(&str, &str)] = &[
    ("AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})"),
    ("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("Slack webhook", r"https://hooks\.slack\.com/services/T[A-Za-z0-9_/]{20,}"),
    ("Google API key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("OpenAI or Anthropic key", r"\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("package index token", r"\b(?:pypi-AgE[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36})"),
    ("private key", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (
        "password in an address",
        r"\b[a-z][a-z0-9+.-]*://[^\s/:@'\x22]+:[^\s/:@'\x22{}<>$]{3,}@[^\s'\x22]",
    ),
];

/// Directories that name a person; names that containers and manuals use name nobody.
const HOME: &str = r"(?:/home/|/Users/|[A-Za-z]:(?:\\\\?|/)Users(?:\\\\?|/))([A-Za-z0-9._-]+)";
const NOBODY: &[&str] = &[
    "me", "user", "username", "you", "runner", "ubuntu", "vscode", "app", "Public", "Shared",
    "Default", "foo", "name", "someone", "example",
];

/// `password = "..."`, `"api_key": "..."`, `token='...'`.
const ASSIGNED: &str = r#"(?i)(?:passw(?:or)?d|secret|token|api_?key|access_?key|credential)\w*["']?\s*[:=]\s*[rbu]{0,2}["']([^"'\s]{8,})["']"#;

/// Bits that each character of a random text has at least: 16 random hexadecimal digits have 3.4 in the mean.
const RANDOM_BITS: f64 = 3.2;

struct Forms {
    issued: Vec<(&'static str, Regex)>,
    home: Regex,
    assigned: Regex,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let form = |text: &str| Regex::new(text).expect("the form is a regular expression");
    Forms {
        issued: ISSUED.iter().map(|(kind, text)| (*kind, form(text))).collect(),
        home: form(HOME),
        assigned: form(ASSIGNED),
    }
});

/// Returns the secrets of a text, in the order of its lines.
pub fn find_secrets(text: &str, own: &OwnSecrets) -> Vec<Secret> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut add = |kind: String, shown: &str| {
            found.push(Secret { line: at + 1, kind, shown: beginning(shown) });
        };
        for (kind, form) in &FORMS.issued {
            if let Some(token) = form.find(line) {
                add((*kind).to_owned(), token.as_str());
            }
        }
        for (name, value) in &own.values {
            if is_telling(name, value) && line.contains(value.as_str()) {
                add(format!("value of {name}"), value);
            }
        }
        if let Some(captures) = FORMS.assigned.captures(line)
            && is_random(&captures[1])
        {
            add("literal that looks like a secret".to_owned(), &captures[1]);
        }
        let own_home = own.home.as_deref().filter(|home| home.len() > 1 && *home != "/root");
        if let Some(home) = own_home.filter(|home| line.contains(*home)) {
            add("your home directory".to_owned(), home);
        } else if let Some(captures) = FORMS.home.captures(line)
            && !NOBODY.contains(&&captures[1])
        {
            add("home directory".to_owned(), &captures[0]);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Reads the values of a `.env` file: `NAME=value`, `export NAME="value"`.
pub fn env_file_values(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let value = value.trim();
        let quoted =
            |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
        values.insert(name.trim().to_owned(), value.to_owned());
    }
    values
}

/// Returns true for the name of a variable that holds a secret: `AWS_SECRET_ACCESS_KEY`, `GH_TOKEN`.
pub fn names_a_secret(variable: &str) -> bool {
    let upper = variable.to_uppercase();
    let words = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "PRIVATE"];
    words.iter().any(|word| upper.contains(word))
        || upper.ends_with("_KEY")
        || upper.ends_with("_PASS")
}

/// Returns true for a value that stands in a text for no other reason: `APP_ENV=production` is a word,
/// `TOKEN=production` a bad secret.
fn is_telling(name: &str, value: &str) -> bool {
    value.len() >= SHORTEST_VALUE
        && (names_a_secret(name) || !value.chars().all(char::is_alphabetic))
}

/// The first four characters, and dots.
fn beginning(secret: &str) -> String {
    secret.chars().take(4).chain(['.', '.', '.']).collect()
}

/// Returns true for a literal of letters and digits in no order; `correct-password` is words.
fn is_random(literal: &str) -> bool {
    let has = |kind: fn(&char) -> bool| literal.chars().any(|c| kind(&c));
    has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && bits_per_character(literal) >= RANDOM_BITS
}

/// Shannon's entropy of the characters of a text, in bits (C. E. Shannon, 1948, section 6).
fn bits_per_character(text: &str) -> f64 {
    let mut counts = BTreeMap::<char, f64>::new();
    for c in text.chars() {
        *counts.entry(c).or_default() += 1.0;
    }
    let all: f64 = counts.values().sum();
    counts.values().map(|count| -(count / all) * (count / all).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_secrets() -> OwnSecrets {
        OwnSecrets {
            values: [
                ("DATABASE_URL", "postgres-of-ours"),
                ("DEBUG", "true"),
                ("APP_ENV", "production"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            home: Some("/srv/people/maria".to_owned()),
        }
    }

    #[test]
    fn finds_secrets_and_no_others() {
        let check = |line: &str, expected: Option<&str>| {
            let found = find_secrets(&format!("x = 1\n{line}\n"), &own_secrets());
            let kinds: Vec<_> = found.iter().map(|secret| secret.kind.as_str()).collect();
            assert_eq!(kinds, expected.into_iter().collect::<Vec<_>>(), "{line}");
            assert!(found.iter().all(|secret| secret.line == 2), "{line}");
        };
        // In parts, so that no scanner of repositories takes this file for a leak.
        let token = |prefix: &str, rest: &str| format!("key({:?})", format!("{prefix}{rest}"));
        check(&token("AKIA", "IOSFODNN7EXAMPLE"), Some("AWS access key"));
        check(&token("ghp_", &"a1B2".repeat(9)), Some("GitHub token"));
        check(&token("sk-ant-", &"a1B2-".repeat(9)), Some("OpenAI or Anthropic key"));
        check(&token("-----BEGIN RSA ", "PRIVATE KEY-----"), Some("private key"));
        check("u = 'https://me:hunter2@example.org/x'", Some("password in an address"));
        check("u = 'https://example.org/x@y'", None);
        check("u = f'https://{user}:{password}@example.org/'", None);
        check("password = 'correct-password'", None);
        check("api_key = 'q8Zr3vK1pX0tYw7B'", Some("literal that looks like a secret"));
        check(
            "config = {\"secret_key\": 'q8Zr3vK1pX0tYw7B'}",
            Some("literal that looks like a secret"),
        );
        check("token = tokens[0]", None);
        check("connect('postgres-of-ours')", Some("value of DATABASE_URL"));
        check("flag = true", None);
        check("mode = 'production'", None);
        check("open('/srv/people/maria/notes.txt')", Some("your home directory"));
        check("open('/home/maria/notes.txt')", Some("home directory"));
        check(r"open('C:\\Users\\Maria\\notes.txt')", Some("home directory"));
        check("open('/home/user/notes.txt')", None);
        check("a.sort(key=lambda pair: pair[0])", None);
        check("digest = 'd41d8cd98f00b204e9800998ecf8427e'", None);
    }

    #[test]
    fn shows_only_the_beginning() {
        let found = find_secrets("connect('postgres-of-ours')", &own_secrets());
        assert_eq!(found[0].to_string(), "line 1: value of DATABASE_URL (post...)");
    }

    #[test]
    fn reads_env_files() {
        let values = env_file_values("# a\nA=1\nexport B=\"x y\"\nC = 'z'\n\nnothing\n");
        let read: Vec<_> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(read, ["A=1", "B=x y", "C=z"]);
        let named =
            ["GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_KEY", "PATH", "KEYBOARD"].map(names_a_secret);
        assert_eq!(named, [true, true, true, false, false]);
    }
}
