//! Finds the exception handlers around a line.

use ruff_python_ast::{
    ExceptHandler, Stmt,
    visitor::{Visitor, walk_stmt},
};
use ruff_text_size::Ranged;

use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// Returns the first lines of the handlers of every `try` around a 1-based line, the outermost
/// first. A line inside a handler is not covered by it. A `try` around a function definition does
/// not cover the function's body, which is executed elsewhere.
pub fn handlers(source: Source, line: u32) -> Vec<u32> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(source);
        let mut finder = Finder { source: syntax.source(), line, found: Vec::new() };
        syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
        finder.found
    })
}

struct Finder<'s> {
    source: &'s Source,
    line: u32,
    found: Vec<u32>,
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let holds = |stmt: &Stmt| {
            let (first, last) = self.source.line_span(stmt.range());
            (first..=last).contains(&self.line)
        };
        if let Stmt::Try(attempt) = stmt
            && attempt.body.iter().any(holds)
        {
            for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                let first = handler.body.first().map(|stmt| self.source.line(stmt.start()));
                self.found.extend(first);
            }
        }
        if let Stmt::FunctionDef(function) = stmt
            && function.body.iter().any(holds)
        {
            self.found.clear();
        }
        walk_stmt(self, stmt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_those_of_every_try_around_a_line() {
        let text = "def f():\n    try:\n        try:\n            import a\n        except ImportError:\n            import b\n        else:\n            import c\n    except (A, B) as error:\n        pass\n    except E:\n        x = 1\n    finally:\n        import d\n";
        let expected = [
            (4, vec![10, 12, 6]),
            (6, vec![10, 12]),
            (8, vec![10, 12]),
            (12, vec![]),
            (14, vec![]),
        ];
        for (line, lines) in expected {
            assert_eq!(handlers(Source::new("a.py", text), line), lines, "line {line}");
        }
        let text = "try:\n    @decorate\n    def f():\n        a()\n    b()\nexcept E:\n    c()\n";
        for (line, lines) in [(2, vec![7]), (4, vec![]), (5, vec![7])] {
            assert_eq!(handlers(Source::new("a.py", text), line), lines, "line {line}");
        }
    }
}
