//! Normalizes the statements of a Python text, so that texts of different layout compare equal. Lists the names that a
//! text reads and does not define.
//!
//! A compound statement becomes its header, followed by the statements of its body. `elif x:` becomes `if x:`. Each
//! decorator and each name of an import is a separate statement. `else`, `except`, `finally` and later `case` headers
//! have no entry.

use std::collections::BTreeSet;

use ruff_python_ast::{Stmt, name::Name, visitor::Visitor};
use ruff_text_size::{Ranged, TextRange};

use crate::{
    needs::{Reads, is_deferred, is_documented},
    pythons::Pythons,
    scope::{self, for_each_block},
    source::Source,
    syntax::{Syntax, is_identifier, with_deep_stack},
};

/// A statement of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stated {
    /// First line.
    pub line: u32,
    /// Last line; of a compound statement that of its head.
    pub end_line: u32,
    /// Dotted names of the enclosing classes and functions, such as `A.f`; empty at module level.
    pub block: String,
    /// Its tokens, joined by single spaces, without comments and trailing commas.
    pub key: String,
    /// False for `global` and `nonlocal`, which Python does not execute.
    pub runs: bool,
}

/// Returns the statements of a text, each header before its body and `elif` headers after their `if`. Docstrings are
/// omitted.
pub fn stated(text: &str) -> Vec<Stated> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("", text));
        let mut found = Vec::new();
        collect(&syntax, syntax.body(), "", true, &mut found);
        found
    })
}

fn collect(syntax: &Syntax, body: &[Stmt], block: &str, is_scope: bool, found: &mut Vec<Stated>) {
    let skipped = usize::from(is_scope && is_documented(body));
    for stmt in &body[skipped..] {
        let mut add = |range: TextRange, key: String, runs: bool| {
            let (line, end_line) = syntax.source().line_span(range);
            found.push(Stated { line, end_line, block: block.to_owned(), key, runs });
        };
        let inner = |name: &str| match block {
            "" => name.to_owned(),
            block => format!("{block}.{name}"),
        };
        match stmt {
            Stmt::FunctionDef(function) => {
                for decorator in &function.decorator_list {
                    let range = decorator.range();
                    add(range, plain(syntax, range), true);
                }
                let start = match function.decorator_list.last() {
                    Some(decorator) => syntax.keyword_after(decorator.end()),
                    None => function.start(),
                };
                let head = syntax.header(start, &function.body);
                add(head, plain(syntax, head), true);
                collect(syntax, &function.body, &inner(&function.name), true, found);
            }
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    let range = decorator.range();
                    add(range, plain(syntax, range), true);
                }
                let start = match class.decorator_list.last() {
                    Some(decorator) => syntax.keyword_after(decorator.end()),
                    None => class.start(),
                };
                let head = syntax.header(start, &class.body);
                add(head, plain(syntax, head), true);
                collect(syntax, &class.body, &inner(&class.name), true, found);
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    add(stmt.range(), format!("import {}", plain(syntax, alias.range())), true);
                }
            }
            Stmt::ImportFrom(import) => {
                let dots = ".".repeat(import.level as usize);
                let module = import.module.as_deref().unwrap_or("");
                for alias in &import.names {
                    let name = plain(syntax, alias.range());
                    add(stmt.range(), format!("from {dots}{module} import {name}"), true);
                }
            }
            Stmt::If(branch) => {
                let head = syntax.header(branch.start(), &branch.body);
                add(head, plain(syntax, head), true);
                for clause in branch.elif_else_clauses.iter().filter(|clause| clause.test.is_some())
                {
                    let head = syntax.header(clause.start(), &clause.body);
                    let text = plain(syntax, head);
                    add(head, text.strip_prefix("el").map_or(text.clone(), str::to_owned), true);
                }
                for_each_block(stmt, |body| collect(syntax, body, block, false, found));
            }
            stmt => {
                let mut first = None;
                for_each_block(stmt, |body| first = first.or(Some(body).filter(|b| !b.is_empty())));
                match first {
                    Some(body) => {
                        let head = syntax.header(stmt.start(), body);
                        add(head, plain(syntax, head), true);
                        for_each_block(stmt, |body| collect(syntax, body, block, false, found));
                    }
                    None => {
                        let runs = !matches!(stmt, Stmt::Global(_) | Stmt::Nonlocal(_));
                        add(stmt.range(), plain(syntax, stmt.range()), runs);
                    }
                }
            }
        }
    }
}

/// Returns the tokens of `range`, joined by single spaces, without comments and trailing commas.
fn plain(syntax: &Syntax, range: TextRange) -> String {
    use ruff_python_ast::token::TokenKind;
    let source = syntax.source();
    let tokens = syntax.tokens(range).iter().filter(|token| {
        !matches!(
            token.kind(),
            TokenKind::Comment
                | TokenKind::NonLogicalNewline
                | TokenKind::Newline
                | TokenKind::Indent
                | TokenKind::Dedent
        )
    });
    let mut words: Vec<&str> = tokens.map(|token| source.slice(token)).collect();
    let mut at = 0;
    while at + 1 < words.len() {
        let is_last = words[at] == "," && matches!(words[at + 1], ")" | "]" | "}");
        if is_last && !makes_tuple(&words, at) {
            words.remove(at);
        } else {
            at += 1;
        }
    }
    words.join(" ")
}

/// Returns true if the comma before a closing bracket makes a tuple of one value; otherwise it is layout.
///
/// ```python
/// value = (1,)    # a tuple
/// table[1,]       # a tuple
/// call(1,)        # one argument
/// ```
fn makes_tuple(words: &[&str], comma: usize) -> bool {
    let (mut depth, mut commas) = (0, 0);
    let opening = (0..comma).rev().find(|&at| {
        match words[at] {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" if depth == 0 => return true,
            "(" | "[" | "{" => depth -= 1,
            "," if depth == 0 => commas += 1,
            _ => {}
        }
        false
    });
    let Some(opening) = opening.filter(|_| commas == 0) else { return false };
    let before = opening.checked_sub(1).map(|at| words[at]);
    let follows_value =
        before.is_some_and(|word| matches!(word, ")" | "]" | "}") || is_identifier(word));
    match words[comma + 1] {
        ")" => !follows_value,
        "]" => follows_value,
        _ => false,
    }
}

/// Returns the names that a text reads as globals but neither binds nor has as builtins, each with its first line.
/// Returns nothing if the text has a star import.
pub fn undefined(text: &str) -> Vec<(u32, String)> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("", text));
        let body = syntax.body();
        let mut has_star = false;
        scope::for_each_statement(body, &mut |stmt| {
            if let Stmt::ImportFrom(import) = stmt {
                has_star |= import.names.iter().any(|alias| &alias.name == "*");
            }
        });
        if has_star {
            return Vec::new();
        }
        let mut known = scope::bound(body).local;
        known.extend(scope::declared_global(body));
        let mut reads = Reads::new(!is_deferred(body));
        body.iter().for_each(|stmt| reads.visit_stmt(stmt));
        let mut seen: BTreeSet<Name> = BTreeSet::new();
        let names = reads.names.iter().zip(&reads.places);
        let names = names
            .filter(|(name, _)| !known.contains(*name) && !Pythons::SUPPORTED.has_builtin(name));
        let names = names.filter(|(name, _)| seen.insert((*name).clone()));
        names.map(|(name, at)| (syntax.source().line(*at), name.to_string())).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_do_not_depend_on_layout() {
        let check = |left: &str, right: &str| {
            let keys =
                |text| stated(text).into_iter().map(|one| (one.block, one.key)).collect::<Vec<_>>();
            assert_eq!(keys(left), keys(right));
        };
        check("x = f(\n    1,\n    2,  # two\n)\n", "x = f(1, 2)\n");
        check(
            "class A:\n    '''Doc.'''\n    def f(self): return 1\n",
            "class A:\n  def f(self):\n    return 1\n",
        );
        check(
            "from a import (\n    b,\n    c as d,\n)\n",
            "from a import b\nfrom a import c as d\n",
        );
        for (text, key) in [
            ("x = (1,)", "x = ( 1 , )"),
            ("return (1, 2,)", "return ( 1 , 2 )"),
            ("return (1,)", "return ( 1 , )"),
            ("x[1,]", "x [ 1 , ]"),
            ("x = [1,]", "x = [ 1 ]"),
            ("x[f(1,),]", "x [ f ( 1 ) , ]"),
        ] {
            assert_eq!(stated(text)[0].key, key, "{text}");
        }
        let lines: Vec<(u32, String)> = stated("if a:\n    b\nelif c:\n    d\nelse:\n    e\n")
            .into_iter()
            .map(|one| (one.line, one.key))
            .collect();
        let expected = [(1, "if a :"), (3, "if c :"), (2, "b"), (4, "d"), (6, "e")];
        assert_eq!(lines, expected.map(|(line, key)| (line, key.to_owned())));
    }

    #[test]
    fn names_that_nothing_defines_are_found() {
        let check = |text: &str, expected: &[(u32, &str)]| {
            let expected: Vec<(u32, String)> =
                expected.iter().map(|(line, name)| (*line, (*name).to_owned())).collect();
            assert_eq!(undefined(text), expected);
        };
        check(
            "import os\ndef f(a):\n    b = 1\n    return [c for c in a] + b + os.x + d\n",
            &[(4, "d")],
        );
        check("def f():\n    global g\n    g = 1\nprint(g, h, h)\n", &[(4, "h")]);
        check("class A(B):\n    x = 1\n    y = x\n", &[(1, "B")]);
        check("from __future__ import annotations\ndef f(a: T) -> U: pass\n", &[]);
        check("from a import *\nb\n", &[]);
        check("f = lambda a, *b: (a, b, c)\n", &[(1, "c")]);
        check("try:\n    pass\nexcept E as e:\n    print(e)\n", &[(3, "E")]);
    }
}
