//! Calls a test directly, for a file that needs no runner of tests.

use ruff_python_ast::{Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::Ranged;

use super::{
    narrow::{CaseTable, whole_lines},
    parse,
    splice::{Edit, added, joined, lines_with_origins, spliced},
};
use crate::{
    slice::Gist,
    syntax::{Syntax, with_deep_stack},
};

/// The gist with a call of a test at its end, in the ways in which a test may be called; nothing where it asks for
/// fixtures. `names` are those of its classes, and its own.
///
/// ```python
/// @pytest.mark.parametrize("n", [3])
/// def test_double(n):              # def test_double(n):
///     assert double(n) == 7        #     assert double(n) == 7
///                                  # if __name__ == "__main__":
///                                  #     test_double(n=3)
/// ```
pub fn direct_calls(gist: &Gist, names: &[String]) -> Vec<Gist> {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let Some(found) = Called::find(syntax.body(), names) else { return Vec::new() };
        let Some((edits, arguments)) = found.arguments(&syntax) else { return Vec::new() };
        let calls = found.calls(names, &arguments.join(", "));
        let bare = spliced(gist, edits);
        calls.into_iter().map(|(head, call)| with_main(&bare, head, &call)).collect()
    })
}

/// The head of the last block of a file, which runs if the file is run, and not if it is imported.
pub const MAIN_HEAD: &str = "if __name__ == \"__main__\":";

/// A gist with a last block that runs this when the file is run.
fn with_main(gist: &Gist, head: Option<&str>, call: &str) -> Gist {
    let reason = "a repro calls what pytest would call";
    let main = ["", "", MAIN_HEAD].into_iter().map(str::to_owned);
    let body = head.into_iter().chain([call]).map(|line| format!("    {line}"));
    let main = main.chain(body).map(|line| (line, added(reason)));
    joined(lines_with_origins(gist).into_iter().chain(main))
}

/// A test, and the class that it is a method of.
struct Called<'a> {
    classes: Vec<&'a StmtClassDef>,
    function: &'a StmtFunctionDef,
}

impl<'a> Called<'a> {
    fn find(mut body: &'a [Stmt], names: &[String]) -> Option<Self> {
        let (own, around) = names.split_last()?;
        let mut classes = Vec::new();
        for name in around {
            let class = body.iter().rev().find_map(|stmt| match stmt {
                Stmt::ClassDef(class) if class.name.as_str() == name => Some(class),
                _ => None,
            })?;
            classes.push(class);
            body = &class.body;
        }
        let function = body.iter().rev().find_map(|stmt| match stmt {
            Stmt::FunctionDef(function) if function.name.as_str() == own => Some(function),
            _ => None,
        })?;
        Some(Self { classes, function })
    }

    /// The arguments of its only case, and edits that take the tables away which have them; nothing where a
    /// parameter has no value.
    fn arguments(&self, syntax: &Syntax) -> Option<(Vec<Edit>, Vec<String>)> {
        let (mut edits, mut known): (Vec<Edit>, Vec<(String, String)>) = (Vec::new(), Vec::new());
        let of_classes = self.classes.iter().flat_map(|class| &class.decorator_list);
        for decorator in self.function.decorator_list.iter().chain(of_classes) {
            let Some(table) = CaseTable::of(decorator) else { continue };
            let [case] = table.cases else { return None };
            let case = syntax.source().slice(case.range());
            match &table.names[..] {
                [name] => known.push((name.clone(), case.to_owned())),
                names => {
                    let parts = parts(&table, syntax)?;
                    known.extend(names.iter().cloned().zip(parts));
                }
            }
            edits.push((whole_lines(syntax, decorator.range()), String::new()));
        }
        let parameters = &self.function.parameters;
        let is_own = |at: usize| at == 0 && !self.classes.is_empty();
        let asked = parameters.args.iter().enumerate().filter(|(at, _)| !is_own(*at));
        let mut arguments = Vec::new();
        for (_, parameter) in asked.chain(parameters.kwonlyargs.iter().enumerate()) {
            let name = parameter.name().as_str();
            match known.iter().find(|(other, _)| other == name) {
                Some((name, value)) => arguments.push(format!("{name}={value}")),
                None if parameter.default.is_some() => {}
                None => return None,
            }
        }
        Some((edits, arguments))
    }

    /// Ways to call it: lines to run, the first where something has to be imported.
    fn calls(&self, names: &[String], arguments: &str) -> Vec<(Option<&'static str>, String)> {
        let Some((own, around)) = names.split_last() else { return Vec::new() };
        let class = around.join(".");
        let plain = match class.as_str() {
            "" => format!("{own}({arguments})"),
            class => format!("{class}().{own}({arguments})"),
        };
        if self.function.is_async {
            return vec![(Some("import asyncio"), format!("asyncio.run({plain})"))];
        }
        let mut calls = vec![(None, plain)];
        if !class.is_empty() && arguments.is_empty() {
            // A case of unittest is made with the name of its method.
            calls.push((None, format!("{class}({own:?}).debug()")));
        }
        calls
    }
}

/// The values of a case of several parameters.
fn parts(table: &CaseTable<'_>, syntax: &Syntax) -> Option<Vec<String>> {
    use ruff_python_ast::Expr;
    let elements = match table.cases.first()? {
        Expr::Tuple(tuple) => &tuple.elts[..],
        Expr::List(list) => &list.elts[..],
        Expr::Call(call) => &call.arguments.args[..],
        _ => return None,
    };
    let is_whole = elements.len() == table.names.len();
    let text = |expr: &Expr| syntax.source().slice(expr.range()).to_owned();
    is_whole.then(|| elements.iter().map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::{gist, shown};

    #[track_caller]
    fn check(text: &str, names: &[&str], expected: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = direct_calls(&gist(text), &names);
        assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_test_is_called_with_its_only_case() {
        check(
            "@p.parametrize('a, b', [(1, x(2))])\n@p.parametrize('c', ['d'])\ndef test(a, b, c, e=1): pass\n",
            &["test"],
            &[
                "3|def test(a, b, c, e=1): pass\n+|\n+|\n+|if __name__ == \"__main__\":\n+|    test(a=1, b=x(2), c='d')\n",
            ],
        );
        check("@p.parametrize('a', [1, 2])\ndef test(a): pass\n", &["test"], &[]);
        check("def test(tmp_path): pass\n", &["test"], &[]);
    }

    #[test]
    fn methods_are_called_as_those_of_a_class_or_of_unittest() {
        let text = "class T:\n    def test(self): pass\n";
        let main =
            "1|class T:\n2|    def test(self): pass\n+|\n+|\n+|if __name__ == \"__main__\":\n";
        let calls = ["+|    T().test()\n", "+|    T(\"test\").debug()\n"];
        check(
            text,
            &["T", "test"],
            &calls.map(|call| format!("{main}{call}")).each_ref().map(|text| &text[..]),
        );
        check(
            "async def test(): pass\n",
            &["test"],
            &[
                "1|async def test(): pass\n+|\n+|\n+|if __name__ == \"__main__\":\n+|    import asyncio\n+|    asyncio.run(test())\n",
            ],
        );
    }
}
