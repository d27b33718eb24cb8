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
    for (name, called) in &names {
        if is_registration(name) {
            if !line.alias || line.binds.is_empty() {
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
