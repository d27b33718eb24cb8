//! Takes away what is no statement: elements of a table of parameters, annotations, decorators, bases of classes, parameters
//! of tests.

use ruff_python_ast::{Decorator, Expr, ExprCall, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    functions,
    lists::halves,
    parse,
    splice::{Edit, spliced},
    statements,
};
use crate::{
    slice::Gist,
    syntax::{Syntax, with_deep_stack},
};

/// For each table of `parametrize` with several cases, the gist with its first half, and with its second.
///
/// ```python
/// @pytest.mark.parametrize("n", [1, 2, 3])   # [1] or [2, 3]
/// def test_double(n): ...
/// ```
pub fn halved_parameters(gist: &Gist) -> Vec<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut proposals = Vec::new();
        for decorator in decorators(&syntax) {
            let Some(table) = CaseTable::of(decorator) else { continue };
            let count = table.cases.len();
            if count < 2 {
                continue;
            }
            for kept in [0..count / 2, count / 2..count] {
                let mut edits = narrowed(&syntax, table.list, &table.cases[kept.clone()]);
                if let Some((list, ids)) = table.ids.filter(|(_, ids)| ids.len() == count) {
                    edits.extend(narrowed(&syntax, list, &ids[kept]));
                }
                proposals.push(spliced(gist, edits));
            }
        }
        proposals
    })
}

/// The cases of a `parametrize` decorator that lists them.
pub(super) struct CaseTable<'a> {
    /// The names of the parameters.
    pub(super) names: Vec<String>,
    list: TextRange,
    /// One expression for each case.
    pub(super) cases: &'a [Expr],
    ids: Option<(TextRange, &'a [Expr])>,
}

impl<'a> CaseTable<'a> {
    pub(super) fn of(decorator: &'a Decorator) -> Option<Self> {
        let Expr::Call(call) = &decorator.expression else { return None };
        let is_table = matches!(&*call.func, Expr::Attribute(func) if &func.attr == "parametrize");
        let cases = argument(call, "argvalues", 1).filter(|_| is_table)?;
        let (list, cases) = elements(cases)?;
        let names = match argument(call, "argnames", 0)? {
            Expr::StringLiteral(text) => {
                text.value.to_str().split(',').map(|name| name.trim().to_owned()).collect()
            }
            names => {
                let text = |name: &Expr| Some(name.as_string_literal_expr()?.value.to_string());
                elements(names)?.1.iter().map(text).collect::<Option<_>>()?
            }
        };
        Some(Self { names, list, cases, ids: argument(call, "ids", 3).and_then(elements) })
    }
}

fn argument<'a>(call: &'a ExprCall, name: &str, at: usize) -> Option<&'a Expr> {
    call.arguments.find_argument_value(name, at)
}

/// The elements of a list or a tuple, and where it stands.
fn elements(expr: &Expr) -> Option<(TextRange, &[Expr])> {
    match expr {
        Expr::List(list) => Some((list.range(), &list.elts)),
        Expr::Tuple(tuple) if tuple.parenthesized => Some((tuple.range(), &tuple.elts)),
        _ => None,
    }
}

/// Edits that leave a list these of its elements.
fn narrowed(syntax: &Syntax, list: TextRange, kept: &[Expr]) -> Vec<Edit> {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return Vec::new() };
    let one = TextSize::from(1);
    let is_tuple = syntax.source().slice(list).starts_with('(');
    let comma = if kept.len() == 1 && is_tuple { "," } else { "" };
    let before = TextRange::new(list.start() + one, outer_start(syntax, first));
    let after = TextRange::new(outer_end(syntax, last), list.end() - one);
    vec![(before, String::new()), (after, comma.to_owned())]
}

/// The start of an element, a parenthesis around it included: that is no part of its range.
fn outer_start(syntax: &Syntax, expr: &Expr) -> TextSize {
    let (start, end) = (expr.start().to_usize(), expr.end().to_usize());
    let text = syntax.source().text();
    let is_around = text[..start].ends_with('(') && text[end..].starts_with(')');
    // The parenthesis of a table that is a tuple stands before its first element only.
    if is_around { expr.start() - TextSize::from(1) } else { expr.start() }
}

fn outer_end(syntax: &Syntax, expr: &Expr) -> TextSize {
    let starts = outer_start(syntax, expr) < expr.start();
    if starts { expr.end() + TextSize::from(1) } else { expr.end() }
}

/// The decorators of all functions and classes.
fn decorators(syntax: &Syntax) -> Vec<&Decorator> {
    let mut found: Vec<&Decorator> = Vec::new();
    for stmt in statements(syntax) {
        match stmt {
            Stmt::FunctionDef(function) => found.extend(&function.decorator_list),
            Stmt::ClassDef(class) => found.extend(&class.decorator_list),
            _ => {}
        }
    }
    found
}

/// Returns the gist without annotations of parameters, returns and assigned names. Index 0 removes all of them, the
/// following ones each a half, then a quarter, down to single ones. Returns `None` after the last.
///
/// ```python
/// def area(shape: Shape) -> int:    # def area(shape):
///     unit: str = "m"               #     unit = "m"
/// ```
pub fn without_annotations(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut annotations: Vec<Edit> =
            functions(&syntax).into_iter().flat_map(|one| annotations_of(&syntax, one)).collect();
        for stmt in statements(&syntax) {
            if let Stmt::AnnAssign(assign) = stmt
                && let Some(value) = &assign.value
            {
                annotations.push(without_annotation(&syntax, &*assign.target, &**value, " = "));
            }
        }
        let group = halves(annotations.len()).nth(at)?;
        Some(spliced(gist, annotations[group].to_vec()))
    })
}

/// Returns the edit that removes what stands between a name and its value but for the sign.
fn without_annotation(syntax: &Syntax, name: &dyn Ranged, value: &dyn Ranged, sign: &str) -> Edit {
    let range = TextRange::new(name.range().end(), value.range().start());
    // A parenthesis around the value stays.
    let between = syntax.source().slice(range);
    let opened = between.rfind('=').map_or("", |at| between[at + 1..].trim_start());
    (range, format!("{sign}{opened}"))
}

fn annotations_of(syntax: &Syntax, function: &StmtFunctionDef) -> Vec<Edit> {
    let mut edits = Vec::new();
    for one in function.parameters.iter() {
        let parameter = one.as_parameter();
        let Some(annotation) = &parameter.annotation else { continue };
        edits.push(match one.default() {
            Some(default) => without_annotation(syntax, &parameter.name, default, "="),
            None => (TextRange::new(parameter.name.end(), annotation.end()), String::new()),
        });
    }
    if let Some(returns) = &function.returns {
        edits.push((TextRange::new(function.parameters.end(), returns.end()), String::new()));
    }
    edits
}

/// For each decorator, the gist without it.
pub fn without_decorators(gist: &Gist) -> Vec<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let lines = |decorator: &&Decorator| whole_lines(&syntax, decorator.range());
        let all = decorators(&syntax);
        all.iter().map(|one| spliced(gist, vec![(lines(one), String::new())])).collect()
    })
}

/// Returns the gist without bases and keywords of a class. For each class, the first index removes all, the following ones
/// single ones; returns `None` after the last.
///
/// ```python
/// class Table(Base, metaclass=Meta):    # class Table: / class Table(metaclass=Meta): / class Table(Base):
///     rows = ()
/// ```
pub fn without_bases(gist: &Gist, at: usize) -> Option<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut edits: Vec<TextRange> = Vec::new();
        for class in statements(&syntax).into_iter().filter_map(Stmt::as_class_def_stmt) {
            let Some(arguments) = &class.arguments else { continue };
            edits.push(arguments.range());
            let mut all: Vec<TextRange> = arguments.args.iter().map(Ranged::range).collect();
            all.extend(arguments.keywords.iter().map(Ranged::range));
            all.sort_by_key(|range| range.start());
            if all.len() > 1 {
                let next = all.iter().zip(&all[1..]);
                edits.extend(next.map(|(one, next)| TextRange::new(one.start(), next.start())));
                edits.push(TextRange::new(all[all.len() - 2].end(), all[all.len() - 1].end()));
            }
        }
        edits.get(at).map(|range| spliced(gist, vec![(*range, String::new())]))
    })
}

/// The lines of a range, their ends included.
pub(super) fn whole_lines(syntax: &Syntax, range: TextRange) -> TextRange {
    let (first, last) = syntax.source().line_span(range);
    TextRange::new(syntax.source().line_start(first), syntax.source().line_start(last + 1))
}

/// For each parameter of a test or fixture, the gist without it.
pub fn without_parameters(gist: &Gist) -> Vec<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut proposals = Vec::new();
        let asked = functions(&syntax).into_iter().filter(|function| {
            function.name.starts_with("test") || fixture_name(function).is_some()
        });
        for function in asked {
            for parameter in &function.parameters.args {
                let name = parameter.name().as_str();
                if matches!(name, "self" | "cls") {
                    continue;
                }
                proposals.extend(
                    with_parameters(&syntax, &function.parameters, &[name], &[])
                        .map(|edit| spliced(gist, vec![edit])),
                );
            }
        }
        proposals
    })
}

/// An edit that takes parameters out of a plain list of them, and adds others.
pub(super) fn with_parameters(
    syntax: &Syntax,
    parameters: &Parameters,
    without: &[&str],
    with: &[String],
) -> Option<Edit> {
    let Parameters { posonlyargs, args, vararg, kwonlyargs, kwarg, .. } = parameters;
    let is_plain = posonlyargs.is_empty() && kwonlyargs.is_empty();
    if !is_plain || vararg.is_some() || kwarg.is_some() {
        return None;
    }
    let kept = args.iter().filter(|one| !without.contains(&one.name().as_str()));
    let kept = kept.map(|one| syntax.source().slice(one.range()).to_owned());
    let list: Vec<String> = kept.chain(with.iter().cloned()).collect();
    Some((parameters.range(), format!("({})", list.join(", "))))
}

/// The name under which pytest knows a fixture; none for what is no fixture.
pub(super) fn fixture_name(function: &StmtFunctionDef) -> Option<String> {
    let is_called = |expr: &Expr| match expr {
        Expr::Name(name) => name.id.ends_with("fixture"),
        Expr::Attribute(node) => node.attr.ends_with("fixture"),
        _ => false,
    };
    function.decorator_list.iter().find_map(|decorator| match &decorator.expression {
        Expr::Call(call) if is_called(&call.func) => {
            let named = call.arguments.find_keyword("name");
            let named = named.and_then(|one| one.value.as_string_literal_expr());
            Some(named.map_or_else(|| function.name.to_string(), |text| text.value.to_string()))
        }
        expr if is_called(expr) => Some(function.name.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[track_caller]
    fn check(proposals: Vec<Gist>, expected: &[&str]) {
        assert_eq!(proposals.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn tables_of_parameters_are_halved_with_their_ids() {
        let text = "@mark.parametrize(\n    'a, b',\n    [\n        (1, 2),\n        (3, 4),\n        (5, 6),\n    ],\n    ids=['x', 'y', 'z'],\n)\ndef test(a, b): pass\n";
        check(
            halved_parameters(&gist(text)),
            &[
                "1|@mark.parametrize(\n2|    'a, b',\n3~|    [(1, 2)],\n8~|    ids=['x'],\n9|)\n10|def test(a, b): pass\n",
                "1|@mark.parametrize(\n2|    'a, b',\n3~|    [(3, 4),\n6~|        (5, 6)],\n8~|    ids=['y', 'z'],\n9|)\n10|def test(a, b): pass\n",
            ],
        );
        check(halved_parameters(&gist("@parametrize('a', [1, 2])\ndef f(a): pass\n")), &[]);
        let text = "@p.parametrize('a', ((1), 2))\ndef f(a): pass\n";
        check(
            halved_parameters(&gist(text)),
            &[
                "1~|@p.parametrize('a', ((1),))\n2|def f(a): pass\n",
                "1~|@p.parametrize('a', (2,))\n2|def f(a): pass\n",
            ],
        );
    }

    #[test]
    fn bases_go_together_and_by_themselves() {
        let first = gist("class A(B, c=D): pass\nclass E(F): pass\nclass G: pass\n");
        check(
            (0..).map_while(|at| without_bases(&first, at)).collect(),
            &[
                "1~|class A: pass\n2|class E(F): pass\n3|class G: pass\n",
                "1~|class A(c=D): pass\n2|class E(F): pass\n3|class G: pass\n",
                "1~|class A(B): pass\n2|class E(F): pass\n3|class G: pass\n",
                "1|class A(B, c=D): pass\n2~|class E: pass\n3|class G: pass\n",
            ],
        );
    }

    #[test]
    fn annotations_go_with_their_signs() {
        let text = "def f(a: 'int' = 1, *b: int) -> list[int]:\n    c: int = (2)\n    d: int\n";
        let first = gist(text);
        let proposals: Vec<Gist> = (0..).map_while(|at| without_annotations(&first, at)).collect();
        check(
            proposals[..3].to_vec(),
            &[
                "1~|def f(a=1, *b):\n2~|    c = (2)\n3|    d: int\n",
                "1~|def f(a=1, *b) -> list[int]:\n2|    c: int = (2)\n3|    d: int\n",
                "1~|def f(a: 'int' = 1, *b: int):\n2~|    c = (2)\n3|    d: int\n",
            ],
        );
        // All four, two halves, and each by itself.
        assert_eq!(proposals.len(), 7);
        assert!(without_annotations(&gist("def f(a=1): pass\n"), 0).is_none());
    }

    #[test]
    fn decorators_and_parameters_go_one_by_one() {
        let text = "@a\n@b(\n    1)\ndef test(self, x, y=2): pass\n";
        check(
            without_decorators(&gist(text)),
            &[
                "2|@b(\n3|    1)\n4|def test(self, x, y=2): pass\n",
                "1|@a\n4|def test(self, x, y=2): pass\n",
            ],
        );
        check(
            without_parameters(&gist(text)),
            &[
                "1|@a\n2|@b(\n3|    1)\n4~|def test(self, y=2): pass\n",
                "1|@a\n2|@b(\n3|    1)\n4~|def test(self, x): pass\n",
            ],
        );
    }
}
