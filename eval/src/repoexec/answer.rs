//! The function that a model wrote, cut from its answer.
//!
//! A model continues the prompt, or writes the whole function, with or without a fence and words around it. Everything
//! beside the function asked for is dropped. An answer without it is a class of its own, as are one with two that
//! differ and one that is too long to look at.

use graph::{CompletionFunction, Source, Syntax, with_deep_stack};
use ruff_python_ast::{
    Expr, Stmt, StmtFunctionDef,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::Ranged;

/// Bytes of an answer that are looked at; the longest solutions of real packages have some ten thousand.
pub const LONGEST_ANSWER: usize = 1 << 20;

/// The part of a function that an answer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutFunction {
    /// The function, with its decorators, without indentation.
    Found(String),
    /// It is nowhere in it.
    Missing,
    /// It is there twice, with different bodies.
    Several,
    /// The answer has this many bytes.
    TooLong(usize),
}

/// Cuts a function from an answer.
///
/// ````text
/// Here it is:
/// ```python
/// def helper(): ...       dropped
/// def f(x): return x      found, if `f` was asked for
/// ```
/// ````
pub fn cut_function(function: &CompletionFunction, answer: &str) -> CutFunction {
    if answer.len() > LONGEST_ANSWER {
        return CutFunction::TooLong(answer.len());
    }
    // Reasoning models close their thoughts so.
    let answer = answer.rsplit_once("</think>").map_or(answer, |(_, rest)| rest);
    with_deep_stack(|| {
        // A docstring may have fences of its own: an answer that is a function is one as it stands.
        let is_code = Syntax::parse(Source::new("answer", answer)).errors().is_empty()
            && !definitions(answer, &function.name).is_empty();
        let blocks = if is_code { Vec::new() } else { fenced(answer) };
        let texts: Vec<&str> = if blocks.is_empty() { vec![answer] } else { blocks };
        // What begins with an indented line goes on where the prompt ended.
        let first = texts[0].lines().find(|line| !line.trim().is_empty());
        if first.is_none_or(|line| line.starts_with([' ', '\t'])) && !begins_with_function(texts[0])
        {
            return CutFunction::Found(continued(function, texts[0]));
        }
        let mut found: Vec<String> =
            texts.iter().flat_map(|text| definitions(text, &function.name)).collect();
        found.dedup();
        found.sort_unstable();
        found.dedup();
        match found.len() {
            1 => CutFunction::Found(found.remove(0)),
            0 => unindented(function, &texts),
            _ => CutFunction::Several,
        }
    })
}

/// Returns true if a function does nothing: no statement but a docstring, `pass` or `...` (RepoExec, appendix F).
pub fn is_empty_function(text: &str) -> bool {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("answer", text));
        let Some(Stmt::FunctionDef(function)) = syntax.body().first() else { return false };
        function.body.iter().all(|stmt| match stmt {
            Stmt::Pass(_) => true,
            Stmt::Expr(expr) => {
                expr.value.is_string_literal_expr() || expr.value.is_ellipsis_literal_expr()
            }
            _ => false,
        })
    })
}

/// The first syntax error of a text, as `line N: message`.
pub fn syntax_error(text: &str) -> Option<String> {
    with_deep_stack(|| {
        let errors = Syntax::parse(Source::new("answer", text)).errors();
        errors.into_iter().next().map(|(line, message)| format!("line {line}: {message}"))
    })
}

/// The contents of fenced blocks; the last one may be open.
fn fenced(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(from) => blocks.push(&text[from..at]),
                None => open = Some(at + line.len()),
            }
        }
        at += line.len();
    }
    blocks.extend(open.map(|from| &text[from..]));
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

fn begins_with_function(text: &str) -> bool {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_start();
    ["def ", "async def ", "@"].iter().any(|start| line.starts_with(start))
}

/// The prompt with a body behind it, up to the first line that is not indented.
fn continued(function: &CompletionFunction, text: &str) -> String {
    let body: Vec<&str> = text
        .lines()
        .take_while(|line| line.trim().is_empty() || line.starts_with([' ', '\t']))
        .collect();
    with_body(function, &body)
}

/// Statements without indentation, if that is what the first block has: chat models answer with a body so.
///
/// Definitions alone are no body, whatever is executed beside them:
/// ```text
/// def other(x): return x    missing        def other(x): return x    found
/// print(other(1))                          return other(y)
/// ```
fn unindented(function: &CompletionFunction, texts: &[&str]) -> CutFunction {
    let body: Vec<&str> = texts[0].lines().collect();
    let whole = with_body(function, &body);
    let parses = Syntax::parse(Source::new("answer", whole.as_str())).errors().is_empty();
    match parses && texts.len() == 1 && !is_module(texts[0]) {
        true => CutFunction::Found(whole),
        false => CutFunction::Missing,
    }
}

/// Returns true if a text has definitions at its top level, and no statement there that only a function may have.
fn is_module(text: &str) -> bool {
    let syntax = Syntax::parse(Source::new("answer", text));
    let mut found = OfFunctions::default();
    syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
    found.defines && !found.returns
}

/// The marks of a function's body among statements, without those of definitions within.
#[derive(Default)]
struct OfFunctions {
    defines: bool,
    returns: bool,
}

impl<'a> Visitor<'a> for OfFunctions {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => self.defines = true,
            Stmt::Return(_) | Stmt::Nonlocal(_) => self.returns = true,
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Lambda(_) => {}
            Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) => self.returns = true,
            _ => walk_expr(self, expr),
        }
    }
}

/// The prompt with these lines as the function's body, at the depth that a body has.
fn with_body(function: &CompletionFunction, lines: &[&str]) -> String {
    let filled = || lines.iter().filter(|line| !line.trim().is_empty());
    let depth = |line: &&&str| line.len() - line.trim_start().len();
    let margin = filled().map(|line| depth(&line)).min().unwrap_or(0);
    let indent = body_indent(function);
    let mut text = function.prompt.clone();
    let from = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(lines.len());
    for line in &lines[from..] {
        text.push('\n');
        if let Some(rest) = line.get(margin..).filter(|rest| !rest.trim().is_empty()) {
            text.push_str(&indent);
            text.push_str(rest);
        }
    }
    text.trim_end().to_owned()
}

/// The indentation of the statements of a function's body.
fn body_indent(function: &CompletionFunction) -> String {
    let syntax = Syntax::parse(Source::new("solution", function.solution.as_str()));
    let text = syntax.source().text();
    let first = syntax.body().first().and_then(|stmt| stmt.as_function_def_stmt());
    let start = first.and_then(|def| def.body.first()).map_or(0, |stmt| stmt.start().to_usize());
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..start];
    match before.trim().is_empty() && !before.is_empty() {
        true => before.to_owned(),
        false => "    ".to_owned(),
    }
}

/// All definitions of a name in a text, whatever stands around them.
fn definitions(text: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let code = line.trim_start();
        let code = code.strip_prefix("async ").map_or(code, str::trim_start);
        let rest = code.strip_prefix("def ").map(str::trim_start);
        let defines = rest
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.trim_start().starts_with(['(', '[']));
        if start < from || !defines {
            continue;
        }
        let start = decorated_from(text, start);
        let indent = &text[start..text.len() - text[start..].trim_start().len()];
        let part: String = text[start..]
            .split_inclusive('\n')
            .map(|line| line.strip_prefix(indent).unwrap_or(line))
            .collect();
        let syntax = Syntax::parse(Source::new("answer", part));
        if let Some(Stmt::FunctionDef(def)) = syntax.body().first() {
            found.push(text_of(&syntax, def).trim_end().to_owned());
            from = at;
        }
    }
    found
}

/// A definition's text; of one whose body could not be read, up to the first line that is not indented.
fn text_of<'s>(syntax: &'s Syntax, def: &StmtFunctionDef) -> &'s str {
    let text = syntax.source().text();
    if syntax.errors().is_empty() || !def.body.is_empty() {
        return &text[..def.end().to_usize()];
    }
    let mut end = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if at > 0 && !line.trim().is_empty() && !line.starts_with([' ', '\t', ')']) {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

/// The start of the decorators directly above a line, or of the line.
fn decorated_from(text: &str, start: usize) -> usize {
    let mut from = start;
    while let Some(above) = text[..from].strip_suffix('\n') {
        let line = above.rfind('\n').map_or(0, |newline| newline + 1);
        if !above[line..].trim_start().starts_with('@') {
            break;
        }
        from = line;
    }
    from
}

#[cfg(test)]
mod tests {
    use graph::{ExtractionOptions, extract_of_sources};

    use super::*;

    const SOURCE: &str =
        "def f(x, y=1):\n    \"\"\"Adds two numbers to one.\"\"\"\n    return x + y\n";
    const PROMPT: &str = "def f(x, y=1):\n    \"\"\"Adds two numbers to one.\"\"\"";

    fn cut(answer: &str) -> CutFunction {
        let found = extract_of_sources([("m.py", SOURCE)], &ExtractionOptions::default());
        cut_function(&found.functions[0], answer)
    }

    fn check(answer: &str, expected: &str) {
        assert_eq!(cut(answer), CutFunction::Found(expected.to_owned()), "{answer}");
    }

    #[test]
    fn a_continuation_ends_where_the_function_does() {
        let whole = format!("{PROMPT}\n    z = x\n\n    return z");
        check("\n    z = x\n\n    return z\n\nprint(f(1))\n    # no more\n", &whole);
        check("  z = x\n\n  return z\ndef f(): pass", &whole);
        check("", PROMPT);
        check("```python\n    return x\n```", &format!("{PROMPT}\n    return x"));
    }

    #[test]
    fn a_function_is_found_among_others_and_words() {
        check("def f(x, y=1):\n    return 2", "def f(x, y=1):\n    return 2");
        check(
            "Here:\n```python\ndef g(): pass\n\ndef f(x):\n    return g()\n\nf(1)\n```\nDone.",
            "def f(x):\n    return g()",
        );
        check(
            "I'd write\n\n@cached\nasync def f(x): return 1\nthat is it",
            "@cached\nasync def f(x): return 1",
        );
        check("<think>\ndef f(): return 0\n</think>\ndef f(): return 1", "def f(): return 1");
        check("class A:\n    def f(x):\n        return 1\n", "def f(x):\n    return 1");
        check(
            "```\ndef f(x):\n    return 1\n```\nor the same\n```\ndef f(x):\n    return 1\n```",
            "def f(x):\n    return 1",
        );
    }

    #[test]
    fn a_fence_within_a_docstring_is_none_of_the_answer() {
        let whole = "def f(x):\n    'Adds.\\n\\\n    ```pycon\\n\\\n    ```'\n    return x";
        check(whole, whole);
        let long = "def f(x):\n    \"\"\"Adds.\n\n    ```pycon\n    >>> f(1)\n    ```\n    \"\"\"\n    return x";
        check(long, long);
    }

    #[test]
    fn a_body_without_indentation_gets_it() {
        check("```python\nz = x\nreturn z\n```", &format!("{PROMPT}\n    z = x\n    return z"));
        check("return x", &format!("{PROMPT}\n    return x"));
        check(
            "def g(z): return z\nreturn g(x)",
            &format!("{PROMPT}\n    def g(z): return z\n    return g(x)"),
        );
        check(
            "def g(z): return z\nfor z in x:\n    yield g(z)",
            &format!("{PROMPT}\n    def g(z): return z\n    for z in x:\n        yield g(z)"),
        );
    }

    #[test]
    fn an_answer_without_the_function_is_a_class_of_its_own() {
        assert_eq!(cut("I cannot do that, sorry."), CutFunction::Missing);
        assert_eq!(cut("```python\ndef g(x):\n    return = 1\n```"), CutFunction::Missing);
        for other in [
            "def other(): pass",
            "```python\ndef other(x):\n    return x\n\nprint(other(1))\n```",
            "class F:\n    def g(self):\n        return 1",
            "import os\nasync def other(): return (yield)",
        ] {
            assert_eq!(cut(other), CutFunction::Missing, "{other}");
        }
        let two = "```\ndef f(x): return 1\n```\nbetter:\n```\ndef f(x): return 2\n```";
        assert_eq!(cut(two), CutFunction::Several);
        let long = "x".repeat(10 << 20);
        assert_eq!(cut(&long), CutFunction::TooLong(10 << 20));
    }

    #[test]
    fn empty_functions_do_nothing() {
        assert!(is_empty_function(PROMPT) && is_empty_function("def f():\n    pass"));
        assert!(is_empty_function("def f(): ...") && !is_empty_function("def f(): return"));
        assert!(!is_empty_function(SOURCE) && !is_empty_function("x = 1"));
    }
}
