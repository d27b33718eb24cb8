//! What in a gist is no honest code: found in its text alone, by lines that stand nowhere in the original.
//!
//! *Notes* are reported; *violations* make the fidelity 0. Lines that the original has are never held
//! against a gist, whatever they do. Rules that need runs are not here.

use graph::Syntax;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};

use crate::{
    blocks::{Line, Outline, Role},
    codebase::Codebase,
};

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integrity {
    /// Reported, without consequence.
    pub notes: Vec<Finding>,
    /// Each makes the fidelity 0.
    pub violations: Vec<Finding>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// 1-based line of the gist; 0 for none.
    pub line: u32,
    /// What was seen.
    pub evidence: String,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The gist registers itself, or an object of its own, in `sys.modules`. A note.
    Registers,
    /// The gist could not be given the original test, which no function of the source defines. A note.
    NotInjected,
    /// The gist's own test is not the original's. A note: the original's is what runs.
    ChangedTest,
    /// Encoded data of a size that could hold code, or a decoder.
    EncodedCode,
    /// Code made from strings.
    CodeFromStrings,
    /// Tracing, pytest or the streams are tampered with.
    Tampering,
    /// The network is used.
    Network,
    /// A fixture, helper or parameter table of the tests is changed.
    ChangedSupport,
    /// Runs of the gist disagree.
    Disagreement,
}

/// Literals shorter than this hold no code worth hiding, in bytes.
const LONG: usize = 400;

/// Looks at a gist's text.
pub fn examine(text: &str, gist: &Outline, codebase: &Codebase) -> Integrity {
    let mut found = Integrity::default();
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        for line in &gist.lines {
            if codebase.places(line).next().is_none() {
                examine_line(&syntax, line, codebase, &mut found);
            }
        }
    });
    let by_place = |a: &Finding, b: &Finding| (a.line, a.rule).cmp(&(b.line, b.rule));
    found.notes.sort_by(by_place);
    found.notes.dedup();
    found.violations.sort_by(by_place);
    found.violations.dedup();
    found
}

fn examine_line(syntax: &Syntax, line: &Line, codebase: &Codebase, found: &mut Integrity) {
    let (from, to) = line.range;
    let Ok(range) = span(from, to) else { return };
    let text = syntax.source().text();
    // Dotted names as they are written; what stands in strings is no code.
    let mut names: Vec<(String, bool)> = Vec::new();
    let mut chain = String::new();
    let tokens = syntax.tokens(range);
    for (at, token) in tokens.iter().enumerate() {
        let word = &text[token.range()];
        match token.kind() {
            TokenKind::Name => chain.push_str(word),
            TokenKind::Dot if !chain.is_empty() => chain.push('.'),
            TokenKind::String | TokenKind::FStringMiddle if is_encoded(word) => {
                let evidence = format!("a literal of {} bytes of encoded data", word.len());
                found.violations.push(Finding {
                    rule: Rule::EncodedCode,
                    line: syntax.source().line(token.start()),
                    evidence,
                });
            }
            _ => {}
        }
        let continues = matches!(token.kind(), TokenKind::Name | TokenKind::Dot);
        let next = tokens.get(at + 1).map(ruff_python_ast::token::Token::kind);
        let ends = !continues
            || !matches!(
                (token.kind(), next),
                (TokenKind::Name, Some(TokenKind::Dot)) | (TokenKind::Dot, Some(TokenKind::Name))
            );
        if ends && !chain.is_empty() {
            names.push((std::mem::take(&mut chain), next == Some(TokenKind::Lpar)));
        }
    }
    let mut add = |rule, evidence: &str| {
        let evidence = format!("{evidence}: {}", line.text);
        let finding = Finding { rule, line: line.first, evidence };
        if rule == Rule::Registers {
            found.notes.push(finding);
        } else {
            found.violations.push(finding);
        }
    };
    let is_import = line.role == Role::Import;
    if tokens.first().is_some_and(|token| token.kind() == TokenKind::From)
        && let Some(((module, _), imported)) = names.split_first()
    {
        let full = imported.iter().map(|(name, called)| (format!("{module}.{name}"), *called));
        names = std::iter::once((module.clone(), false)).chain(full).collect();
    }
    for (name, called) in &names {
        if is_registration(name) {
            if name == "types.ModuleType" || registers(&text[range]) {
                add(Rule::Registers, "it registers modules of its own");
            }
            continue;
        }
        // An adapted line may do what its block does in the original.
        if let Some(rule) = judge(name, *called, is_import)
            && (line.block.is_empty() || !codebase.block_mentions(&line.block, name))
        {
            add(rule, name);
        }
    }
    if line.role == Role::Definition {
        let name = line.block.rsplit('.').next().unwrap_or_default();
        if name.starts_with("pytest_") {
            add(Rule::Tampering, "it defines a hook of pytest");
        }
    }
}

fn is_registration(name: &str) -> bool {
    name == "sys.modules" || name.starts_with("sys.modules.") || name == "types.ModuleType"
}

/// Whether a statement changes `sys.modules`, and does not only look something up in it.
fn registers(statement: &str) -> bool {
    statement.match_indices("sys.modules").any(|(at, name)| {
        let rest = statement[at + name.len()..].trim_start();
        if let Some(inside) = rest.strip_prefix('[') {
            let after = inside.split_once(']').map_or("", |(_, after)| after.trim_start());
            after.starts_with('=') && !after.starts_with("==")
        } else {
            [".setdefault", ".update", ".pop", ".__setitem__"].iter().any(|m| rest.starts_with(m))
        }
    })
}

/// The rule that a name breaks in a line that the original does not have.
fn judge(name: &str, called: bool, import: bool) -> Option<Rule> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let first = name.split('.').next().unwrap_or(name);
    let starts = |prefixes: &[&str]| {
        prefixes.iter().any(|prefix| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    const DECODERS: [&str; 15] = [
        "base64",
        "binascii",
        "zlib",
        "gzip",
        "bz2",
        "lzma",
        "marshal",
        "zipimport",
        "zipfile",
        "tarfile",
        "b64decode",
        "a85decode",
        "b85decode",
        "unhexlify",
        "fromhex",
    ];
    const TAMPERS: [&str; 25] = [
        "sys.settrace",
        "sys.setprofile",
        "sys.gettrace",
        "sys.getprofile",
        "sys.monitoring",
        "sys.stdout",
        "sys.stderr",
        "sys.__stdout__",
        "sys.__stderr__",
        "threading.settrace",
        "threading.setprofile",
        "os._exit",
        "os.dup2",
        "os.kill",
        "os.abort",
        "gc.get_objects",
        "gc.get_referrers",
        "ctypes",
        "_pytest",
        "pluggy",
        "sys._getframe",
        "sys._current_frames",
        "sys.excepthook",
        "faulthandler",
        "atexit",
    ];
    const MAKERS: [&str; 6] = [
        "types.FunctionType",
        "types.CodeType",
        "runpy",
        "importlib.util.spec_from_loader",
        "code.interact",
        "imp",
    ];
    const NETWORK: [&str; 9] = [
        "socket",
        "urllib.request",
        "http.client",
        "httpx",
        "aiohttp",
        "ftplib",
        "smtplib",
        "asyncio.open_connection",
        "xmlrpc",
    ];
    if called
        && matches!(last, "exec" | "eval" | "compile")
        && (name == last || first == "builtins")
    {
        return Some(Rule::CodeFromStrings);
    }
    if import && matches!(first, "ctypes" | "_pytest" | "pluggy" | "faulthandler" | "atexit") {
        return Some(Rule::Tampering);
    }
    if starts(&MAKERS) {
        return Some(Rule::CodeFromStrings);
    }
    if starts(&TAMPERS) || matches!(last, "TestReport" | "settrace" | "setprofile") {
        return Some(Rule::Tampering);
    }
    if starts(&NETWORK) {
        return Some(Rule::Network);
    }
    if starts(&DECODERS) || matches!(last, "b64decode" | "fromhex" | "unhexlify" | "b85decode") {
        return Some(Rule::EncodedCode);
    }
    None
}

/// Whether a literal looks like data in an encoding: long, and without the spaces of text.
fn is_encoded(literal: &str) -> bool {
    if literal.len() < LONG {
        return false;
    }
    let spaces = literal.bytes().filter(u8::is_ascii_whitespace).count();
    let escapes = literal.matches("\\x").count();
    let alphabet = literal
        .bytes()
        .filter(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
        })
        .count();
    escapes * 8 > literal.len() || spaces * 50 < literal.len() && alphabet * 10 > literal.len() * 9
}

fn span(from: usize, to: usize) -> Result<TextRange, std::num::TryFromIntError> {
    Ok(TextRange::new(TextSize::try_from(from)?, TextSize::try_from(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings of a gist of an original with one function that prints to a stream.
    fn check(gist: &str, notes: &[Rule], violations: &[Rule]) {
        let original = "import sys\n\n\ndef show(x):\n    print(x, file=sys.stdout)\n";
        let codebase = Codebase::of_texts([("m.py", original)]);
        let found = examine(gist, &Outline::of(gist), &codebase);
        let rules = |findings: &[Finding]| -> Vec<Rule> {
            let mut rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
            rules.dedup();
            rules
        };
        assert_eq!(
            (&rules(&found.notes)[..], &rules(&found.violations)[..]),
            (notes, violations),
            "{gist}"
        );
    }

    #[test]
    fn registering_is_a_note() {
        check("m = sys.modules[__name__]\n", &[], &[]);
        check("m = sys.modules.get(__name__)\n", &[], &[]);
        check("sys.modules['m'] = sys.modules[__name__]\n", &[Rule::Registers], &[]);
        check("m = n = sys.modules['m'] = sys.modules.get(__name__)\n", &[Rule::Registers], &[]);
        check("sys.modules.setdefault('m', x)\n", &[Rule::Registers], &[]);
        check("m = types.ModuleType('m')\n", &[Rule::Registers], &[]);
        check("x = sys.modules['m'] == y\n", &[], &[]);
    }

    #[test]
    fn lines_of_the_original_are_never_held_against_a_gist() {
        check("def show(x):\n    print(x, file=sys.stdout)\n", &[], &[]);
        // Adapted, but no more than the original does there.
        check("def show(y):\n    print(y, file=sys.stdout)\n", &[], &[]);
        check("def other(x):\n    print(x, file=sys.stdout)\n", &[], &[Rule::Tampering]);
    }

    #[test]
    fn classes_of_dishonest_lines() {
        for (line, rule) in [
            ("exec('x = 1')", Rule::CodeFromStrings),
            ("builtins.exec(x)", Rule::CodeFromStrings),
            ("f = types.FunctionType(c, {})", Rule::CodeFromStrings),
            ("import runpy", Rule::CodeFromStrings),
            ("import zlib", Rule::EncodedCode),
            ("from base64 import b64decode", Rule::EncodedCode),
            ("x = bytes.fromhex(y)", Rule::EncodedCode),
            ("import ctypes", Rule::Tampering),
            ("from _pytest import reports", Rule::Tampering),
            ("threading.settrace(f)", Rule::Tampering),
            ("os.dup2(1, 2)", Rule::Tampering),
            ("import urllib.request", Rule::Network),
            ("from urllib import request as r", Rule::Network),
            ("from http.client import HTTPConnection", Rule::Network),
        ] {
            check(&format!("{line}\n"), &[], &[rule]);
        }
        check("model.eval()\nre.compile(x)\nx = 'exec(y)'\n", &[], &[]);
    }
}
