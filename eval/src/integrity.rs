//! What in a gist is no honest code: found in its text alone, by lines that stand nowhere in the original.
//!
//! *Notes* are reported; *violations* make the fidelity 0. Lines that the original has are never held
//! against a gist, whatever they do. Rules that need runs are not here.

mod bindings;
mod shape;
mod words;

use graph::Syntax;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};

use bindings::Bindings;
use shape::suspects;
use words::{COMPARES, Use, is_builtin, judge};

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
    /// A copy of the repository's modules is used that lies elsewhere, as one that another package has.
    Copy,
    /// Runs of the gist disagree.
    Disagreement,
}

/// Encoded literals that have fewer bytes together hold no code worth hiding.
const LONG: usize = 400;
/// Literals shorter than this are no part of a longer one, in bytes.
const PART: usize = 40;

/// Words of statements that may have a module as a value without a name.
const IMPORTING: [&str; 4] = ["__import__", "import_module", "modules", "load"];

/// Looks at a gist's text. What `is_internal` is the repository's own, whatever else has its name.
pub fn examine(
    text: &str,
    gist: &Outline,
    codebase: &Codebase,
    is_internal: &(dyn Fn(&str) -> bool + Sync),
) -> Integrity {
    graph::with_deep_stack(|| {
        let syntax = Syntax::parse(graph::Source::new("gist", text));
        let bindings = Bindings::of(syntax.body());
        let invented = gist.lines.iter().filter(|line| codebase.places(line).next().is_none());
        let invented: Vec<&Line> = invented.collect();
        let mut examiner = Examiner {
            syntax: &syntax,
            bindings: &bindings,
            codebase,
            is_internal,
            encoded: 0,
            found: Integrity::default(),
        };
        for line in &invented {
            examiner.line(line);
        }
        for suspect in suspects(syntax.body(), &bindings) {
            let at = suspect.at.to_usize();
            let line = invented.iter().rev().find(|line| line.range.0 <= at && at < line.range.1);
            if let Some(line) = line
                && !examiner.excused(line, &suspect.word)
            {
                examiner.add(line, suspect.rule, &suspect.what);
            }
        }
        let mut found = examiner.found;
        let by_place = |a: &Finding, b: &Finding| (a.line, a.rule).cmp(&(b.line, b.rule));
        for list in [&mut found.notes, &mut found.violations] {
            list.sort_by(by_place);
            list.dedup();
        }
        found
    })
}

struct Examiner<'a> {
    syntax: &'a Syntax,
    bindings: &'a Bindings,
    codebase: &'a Codebase,
    is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    /// Bytes of encoded literals so far.
    encoded: usize,
    found: Integrity,
}

impl Examiner<'_> {
    fn add(&mut self, line: &Line, rule: Rule, evidence: &str) {
        let evidence = format!("{evidence}: {}", line.text);
        let finding = Finding { rule, line: line.first, evidence };
        match rule {
            Rule::Registers => self.found.notes.push(finding),
            _ => self.found.violations.push(finding),
        }
    }

    /// An adapted line may do what its block does in the original.
    fn excused(&self, line: &Line, word: &str) -> bool {
        !line.block.is_empty() && self.codebase.block_mentions(&line.block, word)
    }

    fn line(&mut self, line: &Line) {
        let Ok(range) = span(line.range.0, line.range.1) else { return };
        let syntax = self.syntax;
        let text = syntax.source().text();
        // Dotted names as they are written; what stands in strings is no code.
        let mut names: Vec<(String, bool)> = Vec::new();
        let mut chain = String::new();
        let tokens = syntax.tokens(range);
        let from_module = IMPORTING.iter().any(|word| text[range].contains(word));
        for (at, token) in tokens.iter().enumerate() {
            let word = &text[token.range()];
            let before = at.checked_sub(1).map(|before| tokens[before].kind());
            match token.kind() {
                // Only the other name that something is given.
                TokenKind::Name if before == Some(TokenKind::As) => {}
                TokenKind::Name => chain.push_str(word),
                // A part of what is no name; that of a module that a call imports is the module's.
                TokenKind::Dot if !chain.is_empty() || is_value(before) && !from_module => {
                    chain.push('.');
                }
                TokenKind::String | TokenKind::FStringMiddle if is_encoded(word) => {
                    let before = self.encoded;
                    self.encoded += word.len();
                    if before < LONG && self.encoded >= LONG {
                        let evidence = format!("{} bytes of encoded data", self.encoded);
                        self.add(line, Rule::EncodedCode, &evidence);
                    }
                }
                _ => {}
            }
            let continues = matches!(token.kind(), TokenKind::Name | TokenKind::Dot);
            let next = tokens.get(at + 1).map(ruff_python_ast::token::Token::kind);
            let ends = !continues
                || !matches!(
                    (token.kind(), next),
                    (TokenKind::Name, Some(TokenKind::Dot))
                        | (TokenKind::Dot, Some(TokenKind::Name))
                );
            if ends && !chain.is_empty() {
                let name = std::mem::take(&mut chain);
                // The name of an argument, or one that is given here.
                if next != Some(TokenKind::Equal) || name.contains('.') {
                    names.push((name, next == Some(TokenKind::Lpar)));
                }
            }
        }
        if tokens.first().is_some_and(|token| token.kind() == TokenKind::From)
            && let Some(((module, _), imported)) = names.split_first()
        {
            let full = imported.iter().map(|(name, called)| (format!("{module}.{name}"), *called));
            names = std::iter::once((module.clone(), false)).chain(full).collect();
        }
        self.names(line, &names, &text[range]);
        self.bound(line);
        if line.role == Role::Decorator && !self.codebase.has_block(&line.block) {
            let made = names.first().and_then(|(name, _)| self.bindings.resolve(name));
            if made.is_some_and(|name| name == "fixture" || name.ends_with(".fixture")) {
                self.add(line, Rule::ChangedSupport, "the tests have no such fixture");
            }
        }
    }

    fn names(&mut self, line: &Line, names: &[(String, bool)], statement: &str) {
        for (name, called) in names {
            let full = self.bindings.resolve(name);
            if full.as_deref().is_some_and(is_registration) {
                if let Some(what) = looks_through(statement, self.is_internal) {
                    self.add(line, Rule::Tampering, what);
                } else if full.as_deref() == Some("types.ModuleType") || registers(statement) {
                    self.add(line, Rule::Registers, "it registers modules of its own");
                }
                continue;
            }
            let usage = match (line.role, called) {
                (Role::Import, _) => Use::Imported,
                (_, true) => Use::Called,
                (_, false) => Use::Mentioned,
            };
            let full = if usage == Use::Imported { Some(name.clone()) } else { full };
            let full = full.filter(|full| !(self.is_internal)(full));
            if let Some(rule) = judge(full.as_deref(), name, usage)
                && !self.excused(line, name)
            {
                self.add(line, rule, full.as_deref().unwrap_or(name));
            }
        }
    }

    /// Whether all that a line names is a module, which is no hook, whatever its name is.
    fn is_module(&self, line: &Line) -> bool {
        let Ok(range) = span(line.range.0, line.range.1) else { return false };
        let statement = &self.syntax.source().text()[range];
        let own = || {
            let value = statement.rsplit('=').next().unwrap_or_default().trim();
            ["sys.modules[__name__]", "sys.modules.get(__name__)"].contains(&value)
        };
        match line.role {
            Role::Import => statement.starts_with("import"),
            _ => line.alias && own(),
        }
    }

    /// What a line gives a name to.
    fn bound(&mut self, line: &Line) {
        for name in &line.binds {
            let inside = line.role == Role::Definition;
            let at_top = line.block.is_empty() || inside && !line.block.contains('.');
            if name == "pytest_plugins" || is_hook(name) && at_top && !self.is_module(line) {
                self.add(line, Rule::Tampering, "it defines a hook of pytest");
            } else if name == "pytestmark" {
                self.add(line, Rule::ChangedSupport, "it marks the tests");
            } else if at_top && is_builtin(name) && line.role != Role::Import {
                self.add(line, Rule::Tampering, "it replaces what Python itself provides");
            } else if COMPARES.contains(&name.as_str())
                && !(inside && self.codebase.has_block(&line.block))
            {
                self.add(line, Rule::Tampering, "it compares as it likes");
            }
        }
    }
}

/// Whether pytest takes a function of a module for its own by this name.
fn is_hook(name: &str) -> bool {
    name.starts_with("pytest_")
}

/// Whether a part of what ends so is a part of a value that has no name.
fn is_value(end: Option<TokenKind>) -> bool {
    matches!(end, Some(TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::String))
}

/// What a statement seeks among all modules, or does to those of pytest and the interpreter.
fn looks_through(statement: &str, is_internal: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let all = [".items", ".values", ".copy", ".keys"].map(|end| format!("sys.modules{end}"));
    if all.iter().any(|name| statement.contains(name)) {
        return Some("it looks through all modules");
    }
    let own = ["pytest", "_pytest", "pluggy", "builtins", "unittest", "sys"];
    let is_own = |text: &str| {
        own.contains(&text.split('.').next().unwrap_or_default()) && !is_internal(text)
    };
    let quoted = statement.split(['"', '\'']).skip(1).step_by(2);
    quoted.into_iter().any(is_own).then_some("it reaches for the modules of pytest or Python")
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

/// Whether a literal looks like data in an encoding: long, and without the spaces of text.
fn is_encoded(literal: &str) -> bool {
    if literal.len() < PART {
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
        let found = examine(gist, &Outline::of(gist), &codebase, &|name| {
            name.split('.').next() == Some("httpx")
        });
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
    fn a_name_alone_is_no_offence() {
        for line in [
            "import json as pluggy",
            "import json as socket, decimal as imp",
            "from json import loads as _pytest",
            "import json as pytest_sugar",
            "import pytest_sugar",
            "x = f(imp=1, socket=2, pluggy=3, timeit=4)",
            "pluggy = f()",
            "pytest_sugar = sys.modules[__name__]",
            "x = m = pytest_sugar = sys.modules.get(__name__)",
            "x = f().socket.connect()",
            "x = model[0].eval()",
            "try:\n    show(1)\nexcept ValueError as imp:\n    x = imp.args",
            "match show(1):\n    case [pluggy, *socket]:\n        x = pluggy.a(socket.b)",
            "match show(1):\n    case {**code} as imp:\n        x = code.interact(imp.a)",
            // The repository's own.
            "x = httpx.get('/')",
            "from httpx import get",
        ] {
            check(&format!("{line}\n"), &[], &[]);
        }
        check("httpx = sys.modules['httpx'] = sys.modules[__name__]\n", &[Rule::Registers], &[]);
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
            ("import pluggy as json", Rule::Tampering),
            ("from pluggy import HookCaller as json", Rule::Tampering),
            ("import pytest_plugins", Rule::Tampering),
            ("from json import loads as pytest_runtest_call", Rule::Tampering),
            ("pytest_generate_tests = f", Rule::Tampering),
            ("pytest_generate_tests = sys.modules['m']", Rule::Tampering),
            ("def pytest_runtest_call(item): pass", Rule::Tampering),
            ("__import__('builtins').exec(x)", Rule::CodeFromStrings),
            ("sys.modules['b'].eval(x)", Rule::CodeFromStrings),
            ("f(x=exec('y'))", Rule::CodeFromStrings),
            ("().__class__.__base__.__subclasses__()", Rule::Tampering),
            ("x = f().settrace", Rule::Tampering),
            ("import urllib.request", Rule::Network),
            ("from urllib import request as r", Rule::Network),
            ("from http.client import HTTPConnection", Rule::Network),
        ] {
            check(&format!("{line}\n"), &[], &[rule]);
        }
        check("model.eval()\nre.compile(x)\nx = 'exec(y)'\n", &[], &[]);
    }
}
