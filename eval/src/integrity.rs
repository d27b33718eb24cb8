//! What in a gist is no honest code: found in its text alone, by lines that stand nowhere in the original.
//!
//! *Notes* are reported; *violations* make the fidelity 0. Lines that the original has are never held
//! against a gist, whatever they do. Rules that need runs are not here.

mod aliases;
mod alike;
mod bindings;
mod endings;
mod fold;
mod hooks;
mod mentions;
mod modules;
mod originals;
mod place;
mod reach;
mod registers;
mod shape;
mod tables;
mod text;
mod told;
mod words;
mod writes;

use std::{cell::LazyCell, collections::BTreeMap};

use graph::Syntax;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use aliases::without_renamed;
pub use aliases::{Part, Places, gist_names, is_part, renamed_parts, without_aliases};
use bindings::Bindings;
use endings::endings;
pub use hooks::idle_hooks;
use hooks::{changes_hooks, longer_name, names_hooks, names_plugins};
pub use mentions::{Mention, Use as Usage, imports, loaded, mentions};
pub use modules::{TestModules, replaced};
pub use originals::Originals;
use place::places;
use reach::reaches;
use registers::{is_registration, looks_through, registered, registers};
use shape::{Suspect, suspects};
use text::{has_carriage_returns, is_path, misread, names_variables, places_module, without_paths};
pub use told::tells_home;
use told::{Told, makes_module, told};
pub use words::answers;
use words::{COMPARES, EXITS, Use, is_builtin, is_hook, is_inside, judge};
use writes::writes;

use crate::{
    blocks::{Line, Outline, Role},
    codebase::{CodeFile, Codebase},
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

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.evidence)
    }
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
        // A path that is made of the gist's own stands for that of an original file.
        let plain = without_paths(text).map(|plain| Outline::of_shallow(&plain).lines);
        let plain = plain.filter(|lines| lines.len() == gist.lines.len());
        let stands = |line: &Line| codebase.places(line).next().is_some();
        let lines = gist.lines.iter().enumerate().filter(|(at, line)| {
            !stands(line) && !plain.as_ref().is_some_and(|plain| stands(&plain[*at]))
        });
        let invented: Vec<(usize, &Line)> = lines.collect();
        let is_plugins = |line: &Line| line.binds.iter().any(|name| name == "pytest_plugins");
        let mut examiner = Examiner {
            has_hooks: gist.lines.iter().any(is_plugins),
            given: imports(text),
            syntax: &syntax,
            bindings: &bindings,
            codebase,
            is_internal,
            places: places(syntax.body(), &bindings),
            told: told(syntax.body(), &bindings, codebase),
            encoded: 0,
            found: Integrity::default(),
        };
        for (_, line) in &invented {
            examiner.line(line);
        }
        let body = syntax.body();
        let mut all = suspects(body, &bindings);
        all.extend(writes(body, &bindings, text));
        all.extend(reaches(body, &bindings));
        all.extend(endings(body, &bindings, text));
        let foreign = registered(body, &bindings).into_iter();
        let foreign = foreign.filter(|(_, name)| is_foreign(name, codebase, is_internal));
        all.extend(foreign.map(|(at, word)| {
            let what = format!("it puts a module of its own in the place of {word}");
            Suspect { at, rule: Rule::Tampering, what, word }
        }));
        // A name that had to be changed because of a collision is changed back before judging.
        let named = LazyCell::new(|| {
            let plain = without_renamed(text, codebase);
            let lines = Outline::of_shallow(&plain).lines;
            (lines.len() == gist.lines.len()).then_some(lines)
        });
        for suspect in all {
            let at = suspect.at.to_usize();
            let holds = |line: &Line| line.range.0 <= at && at < line.range.1;
            let Some((number, line)) = invented.iter().rev().find(|(_, line)| holds(line)) else {
                continue;
            };
            let is_renamed = || named.as_ref().is_some_and(|lines| stands(&lines[*number]));
            let is_told = examiner.told.iter().any(|told| told.at == suspect.at)
                || suspect.word == "__module__"
                    && (tells_home(line, codebase, is_internal)
                        || named.as_ref().is_some_and(|named| {
                            tells_home(&named[*number], codebase, is_internal)
                        }));
            if !examiner.excused(line, &suspect.word) && !is_told && !is_renamed() {
                examiner.add(line, suspect.rule, &suspect.what);
            }
        }
        let mut found = examiner.found;
        let original = || codebase.files().iter().any(|file| has_carriage_returns(&file.text));
        if let Some(evidence) = misread(text, original) {
            found.violations.push(Finding { rule: Rule::CodeFromStrings, line: 1, evidence });
        }
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
    bindings: &'a Bindings<'a>,
    codebase: &'a Codebase,
    is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    /// Where the gist asks for its own directory.
    places: Vec<TextSize>,
    /// What objects are told that stand for modules, which have it, too.
    told: Vec<Told>,
    /// Whether the gist names plugins, which the original's test does not.
    has_hooks: bool,
    /// What each name is that an import gives, at the top level or elsewhere.
    given: BTreeMap<String, FxHashSet<String>>,
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

    /// An adapted line may do what its block does in the original, where a module may have another name.
    fn excused(&self, line: &Line, word: &str) -> bool {
        let of_module = || {
            let (module, rest) = word.split_once('.')?;
            let full = self.bindings.resolve(module)?;
            Some(format!("{}.{rest}", full.rsplit('.').next()?))
        };
        let is_given = self.given.contains_key(word.split('.').next().unwrap_or(word));
        // What has the name of an import here is something else behind a dot, but in a module.
        let behind = |file: &CodeFile, owner: &str| !is_given || self.is_module_in(file, owner);
        let does = |word: &str| self.codebase.block_mentions(&line.block, word, &behind);
        !line.block.is_empty() && (does(word) || of_module().is_some_and(|word| does(&word)))
    }

    /// Whether a literal says where a file of the repository is, or a directory of such files.
    fn is_place(&self, literal: &str) -> bool {
        let path = literal.trim_matches(['\'', '"']).trim_start_matches('/');
        let is_below = |file: &CodeFile| {
            let rest = file.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.codebase.files().iter().any(is_below)
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
                TokenKind::String | TokenKind::FStringMiddle
                    if is_encoded(word) && !self.is_place(word) =>
                {
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
            let star = tokens.iter().any(|token| token.kind() == TokenKind::Star);
            let star = star.then(|| (format!("{module}.*"), false));
            names = std::iter::once((module.clone(), false)).chain(full).chain(star).collect();
        }
        self.names(line, &names, &text[range]);
        self.bound(line);
        self.compared(line, &text[range]);
        self.left(line, &text[range]);
        let of_hooks = self.has_hooks && names_hooks(&text[range]) && !self.is_module(line);
        if of_hooks && !self.names_plugins(line) && changes_hooks(&text[range], self.bindings) {
            self.add(line, Rule::Tampering, "it speaks of hooks of pytest");
        }
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
            self.asked(line, name, full.as_deref().unwrap_or_default(), statement);
            let is_place = name.ends_with("spec_from_file_location") && places_module(statement);
            // A function of the gist's own, whatever attributes of its name lead to.
            let is_own = self.bindings.is_defined(name) && !self.bindings.is_imported(name);
            if is_own && is_inside(name) || !called && self.is_told(line, name, statement) {
                continue;
            }
            // What has another name here than where it is from is judged by what it is.
            let first = name.split('.').next().unwrap_or(name);
            let is_alias = self.given.contains_key(first)
                && full.as_deref().is_some_and(|full| {
                    let before = full.strip_suffix(name);
                    !before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
                });
            if let Some(rule) = judge(full.as_deref(), name, usage)
                && !is_place
                && (is_alias || !self.excused(line, name))
                // What it is used for is judged where it is.
                && !(usage == Use::Imported && self.imports_alike(line, statement))
                && !full.as_deref().is_some_and(|full| self.has_alike(line, full))
            {
                self.add(line, rule, full.as_deref().unwrap_or(name));
            }
        }
    }

    /// What a line asks of the gist's own file, of the environment and of pytest's fixtures.
    fn asked(&mut self, line: &Line, name: &str, full: &str, statement: &str) {
        if line.role == Role::Import || self.excused(line, name) {
            return;
        }
        let is_own = name.split('.').any(|part| part == "__file__");
        let is_inside = |at: &&TextSize| (line.range.0..line.range.1).contains(&at.to_usize());
        let places = self.places.iter().filter(is_inside).count();
        if is_own && !is_path(statement, places) && !self.excused(line, "__file__") {
            self.add(line, Rule::Tampering, "it may read its own text");
        }
        let is_environment = full == "os.environ" || full.starts_with("os.environ.");
        if is_environment && !names_variables(statement) && !self.excused(line, "environ") {
            self.add(line, Rule::Tampering, "it goes through the environment");
        }
        if full == "pytest.fixture" && line.role != Role::Decorator {
            self.add(line, Rule::ChangedSupport, "it makes a fixture without a decorator");
        }
    }

    /// What a method that compares says, where the original has it otherwise: an answer may look at no
    /// less than one of the original's answers.
    fn compared(&mut self, line: &Line, statement: &str) {
        let name = line.block.rsplit('.').next().unwrap_or_default();
        if !COMPARES.contains(&name) || !is_return(statement) {
            return;
        }
        let originals: Vec<Vec<&str>> = self.returns(line).into_iter().map(telling).collect();
        let said = self.said(statement);
        let looks = |original: &Vec<&str>| {
            !original.is_empty() && original.iter().all(|part| said.contains(part))
        };
        if originals.iter().any(|original| !original.is_empty()) && !originals.iter().any(looks) {
            self.add(line, Rule::Tampering, "it compares less than the original");
        }
    }

    /// What the original's block returns.
    fn returns(&self, line: &Line) -> Vec<&str> {
        let blocks = self.codebase.block(&line.block).into_iter();
        let lines =
            blocks.flat_map(|(file, lines)| lines.into_iter().map(move |line| (file, line)));
        let texts = lines.map(|(file, line)| &file.text[line.range.0..line.range.1]);
        texts.filter(|text| is_return(text)).collect()
    }

    /// The words of a statement, and those that they stand for where two files have the same.
    fn said<'s>(&'s self, statement: &'s str) -> Vec<&'s str> {
        let mut said = words(statement);
        said.extend(said.iter().map(|word| self.meant(word)).collect::<Vec<_>>());
        said
    }

    /// The name that a word is only another one of, or the word.
    fn meant<'s>(&'s self, word: &'s str) -> &'s str {
        match self.bindings.known_at_top(word) {
            Some([ruff_python_ast::Expr::Name(name)]) => name.id.as_str(),
            _ => word,
        }
    }

    /// What a manager of a context returns: that a failure ends there says only one whose original does.
    fn left(&mut self, line: &Line, statement: &str) {
        let name = line.block.rsplit('.').next().unwrap_or_default();
        let value = statement.strip_prefix("return").unwrap_or_default();
        let value = value.trim_matches(|c: char| c.is_whitespace() || "();".contains(c));
        let ends = EXITS.contains(&name) && is_return(statement);
        if !ends || matches!(value, "" | "None" | "False") {
            return;
        }
        if !self.returns_alike(line, statement) {
            self.add(line, Rule::Tampering, "it swallows failures");
        }
    }

    /// Whether a statement returns what one of the original's block does, under the names of the gist.
    fn returns_alike(&self, line: &Line, statement: &str) -> bool {
        let said = words(statement).into_iter().filter(|word| !word.is_empty());
        let said: Vec<&str> = said.map(|word| self.meant(word)).collect();
        let is_same = |original: &&str| {
            words(original).into_iter().filter(|word| !word.is_empty()).eq(said.iter().copied())
        };
        is_return(statement) && self.returns(line).iter().any(is_same)
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
            _ => line.alias && own() || makes_module(statement, self.bindings),
        }
    }

    /// Whether a name is no more than told to an object in the place of a module.
    fn is_told(&self, line: &Line, name: &str, statement: &str) -> bool {
        let is_here = |at: TextSize| (line.range.0..line.range.1).contains(&at.to_usize());
        let loads = "__loader__=__loader__";
        let is_loader = name == "__loader__" && statement.matches(name).count() == 2;
        is_loader
            && statement.contains(loads)
            && self.has_hooks
            && !changes_hooks(statement, self.bindings)
            || self.told.iter().any(|told| told.name == name && is_here(told.at))
    }

    /// Whether a line names plugins that the original has.
    fn names_plugins(&self, line: &Line) -> bool {
        let Ok(range) = span(line.range.0, line.range.1) else { return false };
        names_plugins(&self.syntax.source().text()[range], self.codebase, self.is_internal)
    }

    /// What a line gives a name to.
    fn bound(&mut self, line: &Line) {
        for name in &line.binds {
            let inside = line.role == Role::Definition;
            let at_top = line.block.is_empty() || inside && !line.block.contains('.');
            let is_original = self.codebase.has_block(&line.block) && !line.block.is_empty();
            let is_unit = !name.starts_with("pytest_");
            let is_new = if is_unit { !(inside && is_original) } else { at_top };
            let hooks = name == "pytest_plugins" && !self.names_plugins(line);
            let hook = name != "pytest_plugins" && is_hook(name);
            let is_other = || self.is_module(line) || longer_name(name, self.bindings).is_some();
            if hooks || hook && is_new && !is_other() {
                self.add(line, Rule::Tampering, "it defines a hook of pytest");
            } else if name == "pytestmark" {
                self.add(line, Rule::ChangedSupport, "it marks the tests");
            } else if at_top && is_builtin(name) && line.role != Role::Import {
                self.add(line, Rule::Tampering, "it replaces what Python itself provides");
            } else if answers(name) && !(inside && self.codebase.has_block(&line.block)) {
                self.add(line, Rule::Tampering, "it compares as it likes");
            } else if EXITS.contains(&name.as_str()) && !inside {
                self.add(line, Rule::Tampering, "it swallows failures");
            }
        }
    }
}

fn is_return(statement: &str) -> bool {
    let rest = statement.strip_prefix("return");
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The words of a statement, and the signs by which it compares.
fn words(text: &str) -> Vec<&str> {
    let signs = ["==", "!=", "<=", ">=", "<", ">"].into_iter().filter(|sign| text.contains(sign));
    signs.chain(text.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

/// What an answer may not lack: signs, attributes, and those that are compared.
fn telling(text: &str) -> Vec<&str> {
    let of_attribute = |word: &str| text.contains(&format!(".{word}")) && !word.is_empty();
    let is_telling = |word: &&str| {
        let is_name = word.starts_with(|c: char| c.is_lowercase() || c == '_');
        !is_name && !word.starts_with(char::is_alphanumeric) && !word.is_empty()
            || is_name && of_attribute(word)
            || matches!(*word, "self" | "other" | "in")
    };
    words(text).into_iter().filter(is_telling).collect()
}

/// Whether a part of what ends so is a part of a value that has no name.
fn is_value(end: Option<TokenKind>) -> bool {
    matches!(end, Some(TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::String))
}

/// Whether a module that is registered is neither the repository's nor the gist itself.
pub(crate) fn is_foreign(
    name: &str,
    codebase: &Codebase,
    is_internal: &dyn Fn(&str) -> bool,
) -> bool {
    let top = name.split('.').next().unwrap_or(name);
    let has_part =
        |path: &str| path.split('/').any(|part| part.strip_suffix(".py").unwrap_or(part) == top);
    !(is_internal(name)
        || is_internal(top)
        || matches!(top, "__main__" | "concise")
        || codebase.files().iter().any(|file| has_part(&file.path)))
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
    let letters = literal.chars().filter(|c| !c.is_ascii() && c.is_alphabetic()).count();
    let is_foreign = spaces == 0 && letters * 20 > literal.chars().count() * 19;
    let escapes = escapes + literal.matches("\\u").count();
    is_foreign
        || escapes * 8 > literal.len()
        || spaces * 50 < literal.len() && alphabet * 10 > literal.len() * 9
}

fn span(from: usize, to: usize) -> Result<TextRange, std::num::TryFromIntError> {
    Ok(TextRange::new(TextSize::try_from(from)?, TextSize::try_from(to)?))
}

#[cfg(test)]
mod tests;
