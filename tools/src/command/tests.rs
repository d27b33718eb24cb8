//! Commands, as they are read and as they name a gist.

use super::*;

/// Each row: a command, the tests that it names, and the same command for `t/concise.py`.
const UNDERSTOOD: &[[&str; 3]] = &[
    ["pytest t/a.py::f", "t/a.py::f", "pytest t/concise.py::f"],
    ["pytest ./t/a.py::A::f", "t/a.py::A::f", "pytest t/concise.py::A::f"],
    ["/venv/bin/pytest t/a.py", "t/a.py", "pytest t/concise.py"],
    ["py.test 't/a.py::f[a b]'", "t/a.py::f[a b]", "pytest 't/concise.py::f[a b]'"],
    ["pytest t/a.py::f[x::y]", "t/a.py::f[x::y]", "pytest 't/concise.py::f[x::y]'"],
    ["pytest 't/a.py::f[[1]-a[b]]'", "t/a.py::f[[1]-a[b]]", "pytest 't/concise.py::f[[1]-a[b]]'"],
    ["pytest t/a.py::f[]", "t/a.py::f[]", "pytest 't/concise.py::f[]'"],
    [r#"pytest "t/a.py::f[it's]""#, "t/a.py::f[it's]", r#"pytest 't/concise.py::f[it'"'"'s]'"#],
    ["pytest t/a.py::f t/a.py::g", "t/a.py::f t/a.py::g", "pytest t/concise.py::f t/concise.py::g"],
    ["pytest t/a.py t/b.py -q", "t/a.py t/b.py", "pytest t/concise.py -q"],
    ["pytest t/a.py::f t/b.py", "t/a.py::f t/b.py", "pytest t/concise.py"],
    ["pytest -k 'a or b' t/a.py", "t/a.py", "pytest -k 'a or b' t/concise.py"],
    ["pytest -kname t", "t", "pytest -kname t/concise.py"],
    ["pytest -k name", "", "pytest -k name t/concise.py"],
    ["pytest -m slow -q", "", "pytest -m slow -q t/concise.py"],
    ["pytest -p no:randomly -o x=1 t/a.py", "t/a.py", "pytest -p no:randomly -o x=1 t/concise.py"],
    ["pytest --tb short -x t/a.py::f", "t/a.py::f", "pytest --tb short -x t/concise.py::f"],
    ["pytest --tb=short t/a.py -- -x.py", "t/a.py -x.py", "pytest --tb=short t/concise.py --"],
    [
        "pytest t/a.py --deselect t/a.py::f --deselect=t/a.py::g",
        "t/a.py",
        "pytest t/concise.py --deselect t/concise.py::f --deselect=t/concise.py::g",
    ],
    ["pytest --pyargs pkg.t.test_a::f", "pkg/t/test_a.py::f", "pytest t/concise.py::f"],
    ["pytest --doctest-modules pkg/a.py", "pkg/a.py", "pytest --doctest-modules t/concise.py"],
    [
        "pytest --doctest-modules src/pkg/a.py::pkg.a.C.f",
        "src/pkg/a.py::pkg.a.C.f",
        "pytest --doctest-modules t/concise.py::concise.C.f",
    ],
    ["python -m pytest t/a.py::f", "t/a.py::f", "python -m pytest t/concise.py::f"],
    ["python3.11 -W error -m pytest t/a.py", "t/a.py", "python -W error -m pytest t/concise.py"],
    [".venv/bin/python -mpytest t/a.py", "t/a.py", "python -m pytest t/concise.py"],
    ["A=1 B='x y' pytest t/a.py", "t/a.py", "A=1 B='x y' pytest t/concise.py"],
    ["python -m unittest t/test_a.py", "t/test_a.py", "python -m unittest t/concise.py"],
    ["python -m unittest t.test_a", "t/test_a.py", "python -m unittest t/concise.py"],
    [
        "python -m unittest -v t.test_a.TestA.test_b",
        "t/test_a.py::TestA::test_b",
        "python -m unittest -v t.concise.TestA.test_b",
    ],
    ["python -m unittest -k x t.a.A", "t/a.py::A", "python -m unittest -k x t.concise.A"],
    ["python -m unittest discover -s t -v", "", "python -m unittest -v t/concise.py"],
    [
        "python -m doctest -o ELLIPSIS -v a.py",
        "a.py",
        "python -m doctest -o ELLIPSIS -v t/concise.py",
    ],
    ["python -m pkg.mod --flag x", "pkg/mod.py", "python t/concise.py --flag x"],
    ["python ./run.py -m 3", "run.py", "python t/concise.py -m 3"],
    ["./run.py a", "run.py", "python t/concise.py a"],
    ["tool sub --x=1", "", "python t/concise.py sub --x=1"],
];

#[test]
fn joins_commands() {
    for (first, other, both) in [
        ("pytest a.py::f", "pytest b.py::g a.py::f", Ok("pytest a.py::f b.py::g")),
        ("pytest -q a.py", "pytest b.py -q", Ok("pytest -q a.py b.py")),
        ("python -m unittest a.A", "python -m unittest b.B.g", Ok("python -m unittest a.A b.B.g")),
        ("pytest a.py", "pytest b.py -x", Err(())),
        ("pytest a.py", "python -m pytest b.py", Err(())),
        ("pytest a.py", "pytest -k name", Err(())),
        ("python a.py", "python b.py", Err(())),
        ("A=1 pytest a.py", "pytest b.py", Err(())),
    ] {
        let parse = |text| Command::parse(text).unwrap();
        let found = parse(first).and(&parse(other));
        let found = found.map(|command| command.to_string()).map_err(|error| {
            assert!(matches!(error, CommandError::Apart { .. }), "{error}");
        });
        assert_eq!(found, both.map(str::to_owned), "{first} and {other}");
    }
}

#[test]
fn code_of_an_inline_command_comes_apart() {
    for (text, command, code) in [
        (
            "A=1 python -W error -c 'import a; a.f()' -c x",
            "A=1 python -W error s.py -c x",
            "import a; a.f()",
        ),
        ("python3 -cpass", "python s.py", "pass"),
    ] {
        let (found, inline) = Command::with_inline(text, "s.py").unwrap();
        assert_eq!((found.to_string().as_str(), inline.as_deref()), (command, Some(code)));
    }
    assert_eq!(Command::with_inline("pytest a.py", "s.py").unwrap().1, None);
    assert!(Command::with_inline("python -c", "s.py").is_err());
}

#[test]
fn names_one_test_in_the_place_of_others() {
    for (text, expected) in [
        ("pytest -q t/a.py t/b.py -k 'not x'", "pytest -q -k 'not x' t/c.py::f"),
        ("A=1 python -W error -m pytest t", "A=1 python -W error -m pytest t/c.py::f"),
        ("pytest --pyargs pkg.t", "pytest t/c.py::f"),
        ("pytest -k name", "pytest -k name t/c.py::f"),
    ] {
        let command = Command::parse(text).unwrap().for_test("t/c.py::f");
        assert_eq!(command.to_string(), expected);
        assert_eq!(command.named(), ["t/c.py::f"]);
    }
}

#[test]
fn understands_commands() {
    for [text, tests, gist] in UNDERSTOOD {
        let command = Command::parse(text).unwrap();
        let named: Vec<String> = command.tests().iter().map(TestId::to_string).collect();
        assert_eq!(named.join(" "), *tests, "tests of {text}");
        assert_eq!(command.for_gist("t/concise.py").to_string(), *gist, "gist of {text}");
        let again = Command::parse(&command.to_string()).unwrap();
        // An installed script has no other form; everything else survives being printed.
        assert_eq!(again.to_string(), command.to_string());
        assert_eq!(again.tests(), command.tests());
    }
}

#[test]
fn leaves_out_plugins_that_are_gone() {
    for (text, expected) in [
        ("pytest -p own -q a.py::f", "pytest -q a.py::f"),
        ("pytest -pown -p own.more -p other a.py", "pytest -p other a.py"),
        ("pytest -p no:own a.py", "pytest -p no:own a.py"),
        ("pytest -k -pown a.py -- -pown", "pytest -k -pown a.py -- -pown"),
        ("python -m unittest -p own", "python -m unittest -p own"),
    ] {
        let command = Command::parse(text);
        let found = command.map(|command| {
            command.without_plugins(|name| name.split('.').next() == Some("own")).to_string()
        });
        assert_eq!(found.ok().as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn says_what_is_missing() {
    let rows = [
        ("", "the command is empty"),
        ("   ", "the command is empty"),
        ("A=1", "the command is empty"),
        ("''", "the command is empty"),
        ("pytest 't/a.py", "ends within a quotation"),
        ("pytest t/a.py | tail", "shell operator `|`"),
        ("cd x && pytest t/a.py", "shell operator `&&`"),
        ("pytest", "names no test"),
        ("pytest -q --tb short", "names no test"),
        ("python", "names no module and no script"),
        ("python -m", "names no module and no script"),
        ("python -X", "names no module and no script"),
        ("python -c 'import x'", "`python -c`"),
    ];
    for (text, expected) in rows {
        let error = Command::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn keeps_what_it_does_not_understand() {
    let command = Command::parse("pytest --plugin-option value t/a.py::f").unwrap();
    // Without knowing the plugin, `value` may be a directory of tests.
    assert_eq!(command.tests().len(), 2);
    assert_eq!(command.args()[0], "--plugin-option");
    let id = TestId::parse("t/a.py::A::f[x]");
    assert_eq!((id.names.len(), id.param.as_deref()), (2, Some("x")));
}
