//! Tests the advice after a difference: the request that each error leads to, and the order.

use std::convert::Infallible;

use super::{
    Adjustments, AdviceInput, BTreeMap, Difference, DifferenceKind, GIST, ModuleSnapshot, Plan,
    PlannedUnit, Probed, Raised, Reason, SliceRequest, Trace, advise, gist, place,
};

const BODY: &str = "
 1 class Table:
 3     @property
 4     def rows(self):
 6         return get(self)
 9 def get(self):
10     return [
11         self.all]
";

/// The last step of the ladder.
const LAST: &str = "annotations true, conditions true, docstrings true";

/// Checks the request that is advised after a difference.
///
/// The difference is an error (`KIND: message`), a missing test (`missing ID`, or several with
/// `and`), or another kind (`what`). An error is raised on line 7 of the gist in `get`, which
/// `rows` called on line 4, or by the statement there if the message is `at import`. A suffix `
/// caught ` names an error that the gist caught on line 7; with a suffix ` by name` the gist reads `__name__`.
#[track_caller]
fn check(request: &SliceRequest, difference: &str, expected: &str) {
    let next = after(request, difference);
    let shown = next.as_ref().map_or("nothing".to_owned(), |next| changed(request, next));
    assert_eq!(shown, expected, "after {difference}");
}

fn after(request: &SliceRequest, difference: &str) -> Option<SliceRequest> {
    let (difference, caught) = difference.split_once(" caught ").unwrap_or((difference, ""));
    let (difference, more) = match difference.strip_suffix(" by name") {
        Some(difference) => (difference, "12 NAME = __name__\n"),
        None => (difference, ""),
    };
    let unit = |line, name: &str| PlannedUnit {
        place: place(line),
        last_line: line,
        binds: vec![name.to_owned()],
        reason: Reason::Unreferenced,
    };
    let effect = PlannedUnit { last_line: 11, reason: Reason::SideEffect, ..unit(10, "") };
    let import =
        PlannedUnit { reason: Reason::Import(place(3), "Any".to_owned()), ..unit(2, "Any") };
    let plan = Plan {
        kept: vec![import, unit(9, "get"), effect],
        dropped: vec![unit(20, "LIMIT"), unit(30, "other"), unit(70, "OddRow")],
        dropped_stubs: [(40, "close"), (50, "open"), (60, "__exit__")]
            .map(|(line, name)| (place(line), name.to_owned()))
            .to_vec(),
        ..Plan::default()
    };
    let file = graph::FileTrace {
        path: crate::PATH.to_owned(),
        modules: vec!["pkg.mod".to_owned()],
        ..graph::FileTrace::default()
    };
    let package = graph::FileTrace {
        path: "pkg/__init__.py".to_owned(),
        modules: vec!["pkg".to_owned()],
        ..graph::FileTrace::default()
    };
    let class = graph::Value::Class("pkg.mod".to_owned(), "OddRow".to_owned());
    let module = ModuleSnapshot {
        names: BTreeMap::from([("OddRow".to_owned(), class)]),
        ..ModuleSnapshot::default()
    };
    let trace = Trace {
        files: vec![package, file],
        external: BTreeMap::from([("os.path".to_owned(), String::new())]),
        modules: BTreeMap::from([("pkg.mod".to_owned(), module)]),
        ..Trace::default()
    };
    let raised = |error: &str| {
        error.split_once(": ").map(|(kind, message)| Raised {
            kind: kind.to_owned(),
            message: message.to_owned(),
            frames: match message {
                "at import" => vec![(format!("/run/{GIST}"), 7, "<module>".to_owned())],
                _ => vec![
                    (format!("/run/{GIST}"), 4, "rows".to_owned()),
                    (format!("/run/{GIST}"), 7, "get".to_owned()),
                    ("/lib/json.py".to_owned(), 3, "get".to_owned()),
                ],
            },
            ..Raised::default()
        })
    };
    let caught: Vec<Raised> = raised(caught).into_iter().collect();
    let raised = raised(difference);
    let mut missing = difference.strip_prefix("missing ").map(|all| all.split(" and "));
    let found = Difference {
        what: match difference {
            _ if raised.is_some() => DifferenceKind::Outcome,
            _ if missing.is_some() => DifferenceKind::Missing,
            "status" => DifferenceKind::Status,
            "exception" => DifferenceKind::Exception,
            "output" => DifferenceKind::Output,
            other => panic!("{other} is not told apart"),
        },
        case: missing.as_mut().and_then(|all| all.next()).map(str::to_owned),
        more: missing.into_iter().flatten().map(str::to_owned).collect(),
        original: String::new(),
        gist: String::new(),
        raised,
    };
    let gist = gist(&format!("{BODY}{more}"));
    let probed = Probed::without(&gist);
    let attempt = AdviceInput {
        trace: &trace,
        plan: &plan,
        gist: &gist,
        gist_path: GIST,
        probed: request.refine.then_some(&probed),
        early: &[],
        request,
        left_out: &|_| Vec::new(),
    };
    advise(&found, &attempt, || Ok::<_, Infallible>(caught)).expect("a list")
}

/// The fields of two requests that differ, as JSON.
fn changed(old: &SliceRequest, new: &SliceRequest) -> String {
    let flat = |request: &SliceRequest| {
        let mut value = serde_json::to_value(request).expect("a record");
        let fields = value["adjustments"].take();
        let mut all = value.as_object().expect("fields").clone();
        all.remove("adjustments");
        // What that is for has a test of its own.
        all.remove("listened");
        all.extend(fields.as_object().expect("fields").clone());
        all
    };
    let (old, new) = (flat(old), flat(new));
    let changes = new.iter().filter(|(name, value)| old[*name] != **value);
    changes.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn an_effect_that_is_an_error_now_is_left_out() {
    let request = SliceRequest::default();
    check(&request, "UserWarning: at import", r#"drop [{"line":10,"path":"pkg/mod.py"}]"#);
}

#[test]
fn a_case_that_is_missing_asks_for_its_object() {
    let request = SliceRequest::default();
    let kept = r#"keep [{"line":30,"path":"pkg/mod.py"}]"#;
    check(&request, "missing pkg/mod.py::pkg.mod.other", kept);
    check(&request, "missing pkg/mod.py::pkg.mod.get", LAST);
    let both = r#"keep [{"line":30,"path":"pkg/mod.py"},{"line":20,"path":"pkg/mod.py"}]"#;
    check(&request, "missing pkg/mod.py::pkg.mod.other and pkg/mod.py::pkg.mod.LIMIT", both);
}

#[test]
fn a_case_whose_name_is_made_of_a_module_asks_for_what_it_names_there() {
    let request = SliceRequest::default();
    let other = r#"[{"line":30,"path":"pkg/mod.py"}]"#;
    for name in ["test_pkg_mod_other", "test_a[int-pkg_mod_other]", "test_a[other-pkg_mod]"] {
        let told = format!("homes {other}, keep {other}");
        check(&request, &format!("missing pkg/mod.py::{name}"), &told);
    }
    let kept = format!("keep {other}");
    for name in ["test_apkg_mod_other", "test_pkg_other", "test_other"] {
        check(&request, &format!("missing pkg/mod.py::{name}"), &kept);
    }
    check(&request, "missing pkg/mod.py::test_pkg_mod_others", LAST);
}

#[test]
fn a_case_whose_name_ends_with_that_of_what_it_tests_asks_for_that() {
    let request = SliceRequest::default();
    for name in ["RowTestOddRow::test", "test_OddRow", "test_all[OddRow]", "OddRowTest::of_OddRow"]
    {
        let kept = r#"keep [{"line":70,"path":"pkg/mod.py"}]"#;
        check(&request, &format!("missing pkg/mod.py::{name}"), kept);
    }
    for name in ["test_another", "OddRowTest::test", "test_all[oddRow]", "test"] {
        check(&request, &format!("missing pkg/mod.py::{name}"), LAST);
    }
}

#[test]
fn an_error_asks_for_what_it_names() {
    let request = SliceRequest::default();
    let asked = |error: &str, expected: &str| check(&request, error, expected);
    asked("NameError: name 'LIMIT' is not defined", r#"keep [{"line":20,"path":"pkg/mod.py"}]"#);
    asked("NameError: name 'Any' is not defined", r#"demands [["pkg.mod","Any"]]"#);
    let class = r#"keep [{"line":70,"path":"pkg/mod.py"}]"#;
    asked("KeyError: 'ODD_ROW'", class);
    asked("ValueError: Unknown kind 'oddrow'.", class);
    asked("LookupError: can't find 'odd_row'", class);
    asked("Failed: DID NOT RAISE <class 'KeyError'>", "conditions true");
    asked("AssertionError: KeyError not raised by get", "conditions true");
    asked(
        "AttributeError: module 'concise' has no attribute 'LIMIT'",
        r#"keep [{"line":20,"path":"pkg/mod.py"}]"#,
    );
    asked(
        "ImportError: cannot import name 'other' from 'concise' (/run/concise.py)",
        r#"keep [{"line":30,"path":"pkg/mod.py"}]"#,
    );
    asked(
        "ImportError: cannot import name 'other' from 'pkg.mod' (unknown location)",
        r#"demands [["pkg.mod","other"]]"#,
    );
    asked(
        "AttributeError: 'Table' object has no attribute 'close'. Did you mean: 'lose'?",
        r#"more_uncalled [{"line":40,"path":"pkg/mod.py"}]"#,
    );
    asked(
        "TypeError: Can't instantiate abstract class T with abstract methods close, open",
        r#"more_uncalled [{"line":40,"path":"pkg/mod.py"},{"line":50,"path":"pkg/mod.py"}]"#,
    );
    asked(
        "TypeError: Can't instantiate abstract class T without an implementation for \
         abstract method 'open'",
        r#"more_uncalled [{"line":50,"path":"pkg/mod.py"}]"#,
    );
    let exit = r#"more_uncalled [{"line":60,"path":"pkg/mod.py"}]"#;
    asked(
        "TypeError: 'T' object does not support the context manager protocol (missed __exit__ \
         method)",
        exit,
    );
    asked("AttributeError: __exit__", exit);
    asked("AttributeError: module 'os' has no attribute 'path'", r#"imports ["os.path"]"#);
    asked("ModuleNotFoundError: No module named 'pkg.mod'", r#"register ["pkg.mod"]"#);
    asked(
        "ModuleNotFoundError: No module named 'pkg.mod'; 'pkg' is not a package",
        r#"register ["pkg.mod"]"#,
    );
    let path = "ModuleNotFoundError: No module named 'pkg.none'; 'pkg' is not a package";
    asked(path, r#"demands [["pkg","__path__"]]"#);
    // A module that is none, either, in the original.
    let none = "ModuleNotFoundError: No module named 'pkg.mod.none'; 'pkg.mod' is not a package";
    asked(none, r#"whole [{"line":9,"path":"pkg/mod.py"}]"#);
    asked("KeyError: 'pkg.mod'", r#"namespaces ["pkg.mod"], register ["pkg.mod"]"#);
}

#[test]
fn what_a_module_says_in_its_own_words_it_lacks_makes_objects_of_those_that_have_it() {
    let top = " 1 def __getattr__(name):\n 2     raise AttributeError(name)\n";
    let inner = " 1 class A:\n 2     def __getattr__(self, name):\n 3         raise E(name)\n";
    let value = graph::Value::Other("function".to_owned());
    let names = BTreeMap::from([("all".to_owned(), value)]);
    let held = ModuleSnapshot { names, ..ModuleSnapshot::default() };
    let modules = BTreeMap::from([
        ("pkg".to_owned(), ModuleSnapshot::default()),
        ("pkg.compat".to_owned(), held),
    ]);
    let trace = Trace { modules, ..Trace::default() };
    for (text, line, expected) in [(top, 2, vec!["pkg.compat".to_owned()]), (inner, 3, vec![])] {
        for message in ["Module 'pkg' has no attribute 'all'", "module pkg has no attribute all"] {
            let raised = ("AttributeError", message, line, "__getattr__");
            let next = raised_in(text, &trace, raised, &SliceRequest::default());
            assert_eq!(next.adjustments.namespaces, expected, "{message}");
        }
    }
}

#[test]
fn what_an_error_shows_to_be_the_gists_own_is_told_its_module() {
    let text = " 1 class Table:\n 2     pass\n 4 def size():\n 5     pass\n";
    let unit = |line, name: &str, reason| PlannedUnit {
        place: place(line),
        last_line: line + 1,
        binds: vec![name.to_owned()],
        reason,
    };
    let file = graph::FileTrace {
        path: crate::PATH.to_owned(),
        modules: vec!["pkg.mod".to_owned()],
        ..graph::FileTrace::default()
    };
    let trace = Trace { files: vec![file], ..Trace::default() };
    let advised = |message: &str, reason: Reason| {
        let kept = vec![unit(1, "Table", reason), unit(4, "size", Reason::Called)];
        let plan = Plan { kept, ..Plan::default() };
        let raised = ("AssertionError", message, 2, "f");
        raised_after(&plan, text, &trace, raised, &SliceRequest::default()).adjustments
    };
    let found = advised("assert 'concise.Table' == 'pkg.mod.Table'", Reason::Called);
    assert_eq!((found.homes, found.register), (vec![place(1)], vec!["pkg.mod".to_owned()]));
    let found = advised("<function concise.size at 0x1>", Reason::Called);
    assert_eq!(found.homes, [place(4)]);
    for message in ["tests.unconcise.Table", "concise.Tables", "concise.", "concise.table"] {
        assert_eq!(advised(message, Reason::Called).homes, [], "{message}");
    }
    // The test's own file is the one that the gist replaces.
    assert_eq!(advised("concise.Table", Reason::Test).homes, []);
}

#[test]
fn what_the_original_caught_in_the_same_place_is_asked_last() {
    let text = " 1 def load():\n 2     try:\n 3         import pkg.fast\n 4     except ImportError:\n 5         fast = False\n 7 def f():\n 8     work()\n";
    let raised = |kind: &str, message: &str, line, function: &str| Raised {
        kind: kind.to_owned(),
        message: message.to_owned(),
        frames: vec![(format!("/run/{GIST}"), line, function.to_owned())],
        ..Raised::default()
    };
    let gist = gist(text);
    let (plan, request) = (Plan::default(), SliceRequest::default());
    let advised = |handled: &[u32]| {
        let file = graph::FileTrace {
            path: crate::PATH.to_owned(),
            import_lines: handled.to_vec(),
            ..graph::FileTrace::default()
        };
        let modules = BTreeMap::from([("pkg.fast".to_owned(), ModuleSnapshot::default())]);
        let trace = Trace { files: vec![file], modules, ..Trace::default() };
        let attempt = AdviceInput {
            trace: &trace,
            plan: &plan,
            gist: &gist,
            gist_path: GIST,
            probed: None,
            early: &[],
            request: &request,
            left_out: &|_| Vec::new(),
        };
        let found = Difference {
            what: DifferenceKind::Outcome,
            case: None,
            more: Vec::new(),
            original: String::new(),
            gist: String::new(),
            raised: Some(raised("ValueError", "odd", 7, "f")),
        };
        let missing = "No module named 'pkg.fast'";
        let caught = vec![raised("ModuleNotFoundError", missing, 3, "load")];
        let next = advise(&found, &attempt, || Ok::<_, Infallible>(caught)).expect("a list");
        let found = next.expect("advice").adjustments;
        (found.register, found.whole)
    };
    assert_eq!(advised(&[]), (vec!["pkg.fast".to_owned()], vec![]));
    assert_eq!(advised(&[5]), (vec![], vec![place(7)]));
}

#[test]
fn a_line_that_reads_a_docstring_asks_for_all_of_them() {
    let text = " 1 def check(method):\n 2     method.text.__doc__ = method.__doc__\n 3     assert method\n";
    for (line, docstrings) in [(2, true), (3, false)] {
        let raised = ("AssertionError", "assert None", line, "check");
        let next = raised_in(text, &Trace::default(), raised, &SliceRequest::default());
        assert_eq!(next.adjustments.docstrings, docstrings, "line {line}");
    }
}

#[test]
fn a_module_that_misses_an_attribute_is_asked_for_all_that_the_function_reads_of_it() {
    let unit = |line, name: &str| PlannedUnit {
        place: place(line),
        last_line: line,
        binds: vec![name.to_owned()],
        reason: Reason::Unreferenced,
    };
    let elsewhere = graph::Place { path: "pkg/other.py".to_owned(), line: 40 };
    let far = PlannedUnit { place: elsewhere, ..unit(40, "_rules") };
    let dropped = vec![unit(10, "_tokens"), unit(20, "_rules"), unit(30, "_states"), far];
    let plan = Plan { dropped, ..Plan::default() };
    let text = " 1 def read(table):
 2     tokens = table._tokens
 3     for rule in table._rules.values():
 4         yield rule
 5 def states(table):
 6     return table._states
";
    let missing = "module 'concise' has no attribute '_tokens'";
    let raised = ("AttributeError", missing, 2, "read");
    let next = raised_after(&plan, text, &Trace::default(), raised, &SliceRequest::default());
    assert_eq!(next.adjustments.keep, [place(10), place(20)]);
}

#[test]
fn docstrings_that_code_takes_for_data_come_before_whole_functions() {
    for (line, docstrings) in [
        ("rules.append(rule.__doc__)", true),
        ("text = inspect.getdoc(rule)", true),
        ("other.__doc__ = rule.__doc__", false),
        ("return property(get, doc=get.__doc__)", false),
        ("rules.append(rule)", false),
    ] {
        let text = format!(" 1 def check(rule):\n 2     {line}\n 3     raise ValueError\n");
        let raised = ("ValueError", "no rule", 3, "check");
        let next = raised_in(&text, &Trace::default(), raised, &SliceRequest::default());
        assert_eq!(next.adjustments.docstrings, docstrings, "{line}");
        assert_eq!(next.adjustments.whole.is_empty(), docstrings, "{line}");
    }
}

/// The advice after an error of a kind with a message, raised on a line of a gist in a function.
fn raised_in(
    text: &str,
    trace: &Trace,
    (kind, message, line, function): (&str, &str, u32, &str),
    request: &SliceRequest,
) -> SliceRequest {
    raised_after(&Plan::default(), text, trace, (kind, message, line, function), request)
}

/// The same, of the gist of a plan.
fn raised_after(
    plan: &Plan,
    text: &str,
    trace: &Trace,
    raised: (&str, &str, u32, &str),
    request: &SliceRequest,
) -> SliceRequest {
    advised(plan, text, trace, raised, request).expect("advice")
}

/// Returns the advised request, if there is one.
fn advised(
    plan: &Plan,
    text: &str,
    trace: &Trace,
    (kind, message, line, function): (&str, &str, u32, &str),
    request: &SliceRequest,
) -> Option<SliceRequest> {
    let raised = Raised {
        kind: kind.to_owned(),
        message: message.to_owned(),
        frames: vec![(format!("/run/{GIST}"), line, function.to_owned())],
        ..Raised::default()
    };
    advised_on(plan, text, trace, raised, request)
}

/// The same, of an error that came its own way.
fn advised_on(
    plan: &Plan,
    text: &str,
    trace: &Trace,
    raised: Raised,
    request: &SliceRequest,
) -> Option<SliceRequest> {
    let found = Difference {
        what: DifferenceKind::Outcome,
        case: None,
        more: Vec::new(),
        original: String::new(),
        gist: String::new(),
        raised: Some(raised),
    };
    let gist = &gist(text);
    let (gist_path, early) = (GIST, &[][..]);
    let left_out = &|_: &SliceRequest| Vec::new();
    let attempt =
        AdviceInput { trace, plan, gist, gist_path, probed: None, early, request, left_out };
    advise(&found, &attempt, || Ok::<_, Infallible>(Vec::new())).expect("a list")
}

#[test]
fn a_class_whose_metaclass_from_outside_asks_for_its_module_is_told_it() {
    let directory = tempfile::tempdir().unwrap();
    let outside = directory.path().join("outside.py");
    let meta = "class Alone(type):\n    def __new__(mcs, name, bases, names):\n        cls = super().__new__(mcs, name, bases, names)\n        if ASKED in KNOWN:\n            raise RuntimeError\n";
    let unit = PlannedUnit {
        place: place(1),
        last_line: 2,
        binds: vec!["Second".to_owned()],
        reason: Reason::Asked,
    };
    let plan = Plan { kept: vec![unit], ..Plan::default() };
    let file = graph::FileTrace {
        path: crate::PATH.to_owned(),
        modules: vec!["pkg.mod".to_owned()],
        ..graph::FileTrace::default()
    };
    let trace = Trace { files: vec![file], ..Trace::default() };
    for (asked, expected) in [("cls.__module__", vec![place(1)]), ("cls.__name__", vec![])] {
        std::fs::write(&outside, meta.replace("ASKED", asked)).unwrap();
        let frames = vec![
            (format!("/run/{GIST}"), 1, "<module>".to_owned()),
            (outside.display().to_string(), 5, "__new__".to_owned()),
        ];
        let raised = Raised { kind: "RuntimeError".to_owned(), frames, ..Raised::default() };
        let text = " 1 class Second(First):\n 2     size = 2\n";
        let next = advised_on(&plan, text, &trace, raised, &SliceRequest::default());
        let homes = next.map(|next| next.adjustments.homes).unwrap_or_default();
        assert_eq!(homes, expected, "{asked}");
    }
}

#[test]
fn the_second_module_of_a_package_that_is_imported_by_a_computed_name_brings_the_others() {
    let text = " 1 def load(name):\n 2     return importlib.import_module(name)\n";
    let all = ["pkg", "pkg.a", "pkg.b", "pkg.c", "pkg.early", "pkg.before", "pkg.deep.d", "other"];
    let early = ["pkg.early", "pkg.before"];
    let file = |name: &&str| graph::FileTrace {
        modules: vec![(*name).to_owned()],
        phase: if early.contains(name) {
            graph::TracePhase::Import
        } else {
            graph::TracePhase::Test
        },
        ..graph::FileTrace::default()
    };
    let held = |name: &&str| ((*name).to_owned(), ModuleSnapshot::default());
    let trace = Trace {
        files: all.iter().map(file).collect(),
        modules: all.iter().map(held).collect(),
        ..Trace::default()
    };
    let after = |module: &str, request: &SliceRequest| {
        let message = format!("No module named '{module}'");
        raised_in(text, &trace, ("ModuleNotFoundError", &message, 2, "load"), request)
    };
    let first = after("pkg.b", &SliceRequest::default());
    assert_eq!(first.adjustments.namespaces, ["pkg.b"]);
    assert_eq!(after("other", &first).adjustments.namespaces, ["pkg.b", "other"]);
    let second = after("pkg.c", &first).adjustments;
    assert_eq!(second.namespaces, ["pkg.b", "pkg.a", "pkg.c"]);
    assert_eq!(second.register, second.namespaces);
    // Whoever asks for one that was there before goes through all.
    let request = SliceRequest { adjustments: second, ..SliceRequest::default() };
    let third = after("pkg.early", &request).adjustments.namespaces;
    assert_eq!(third, ["pkg.b", "pkg.a", "pkg.c", "pkg.before", "pkg.early"]);
    // The package itself is asked for before the first of them.
    let package = after("pkg", &SliceRequest::default());
    let inner = after("pkg.b", &package).adjustments.namespaces;
    assert_eq!(inner, ["pkg", "pkg.a", "pkg.c", "pkg.b"]);
    // Those that were there from the start count as asked for.
    let imported = vec!["pkg.a".to_owned(), "pkg.b".to_owned()];
    let plan = Plan { imported, ..Plan::default() };
    let raised = ("ModuleNotFoundError", "No module named 'pkg.early'", 2, "load");
    let next = raised_after(&plan, text, &trace, raised, &SliceRequest::default());
    let all = ["pkg.a", "pkg.b", "pkg.c", "pkg.before", "pkg.early"];
    assert_eq!(next.adjustments.namespaces, all);
    // So do their packages, where somebody goes from one to the next.
    let deep = vec!["pkg.deep.d".to_owned(), "pkg.deeper.e".to_owned()];
    let plan = Plan { imported: deep, ..plan };
    for (asked, packages) in [("deep", vec!["pkg"]), ("d", vec!["pkg.deep"]), ("dee", vec![])] {
        let message = format!("module 'concise' has no attribute '{asked}'");
        let raised = ("AttributeError", message.as_str(), 2, "load");
        let next = raised_after(&plan, text, &trace, raised, &SliceRequest::default());
        assert_eq!(next.adjustments.namespaces, packages);
    }
}

#[test]
fn an_error_that_the_gist_caught_asks_for_what_it_names_where_the_one_seen_names_nothing() {
    let mut request = SliceRequest::default();
    let limit = "NameError: name 'LIMIT' is not defined";
    let kept = r#"keep [{"line":20,"path":"pkg/mod.py"}]"#;
    for seen in ["output", "status", "ValueError: odd", "Skipped: no module"] {
        check(&request, &format!("{seen} caught {limit}"), kept);
    }
    let other = "NameError: name 'other' is not defined";
    check(&request, &format!("{limit} caught {other}"), kept);
    check(&request, "output caught ValueError: odd", "module_names true");
    // First comes back what was left out for being thought of no effect.
    request.adjustments.impure = false;
    check(&request, &format!("output caught {limit}"), "impure true");
}

#[test]
fn an_error_that_names_nothing_keeps_whole_the_functions_on_its_way() {
    let mut request = SliceRequest::default();
    check(&request, "ValueError: odd", r#"whole [{"line":9,"path":"pkg/mod.py"}]"#);
    request.adjustments.whole.push(place(9));
    let both = r#"whole [{"line":9,"path":"pkg/mod.py"},{"line":3,"path":"pkg/mod.py"}]"#;
    check(&request, "ValueError: odd", both);
    request.adjustments.whole.push(place(3));
    check(&request, "ValueError: odd", LAST);
}

#[test]
fn what_a_gist_catches_is_listened_for_until_all_that_it_asks_for_is_done() {
    let limit = "NameError: name 'LIMIT' is not defined";
    let kept = r#"keep [{"line":20,"path":"pkg/mod.py"}]"#;
    check(&SliceRequest::default(), &format!("status caught {limit}"), kept);
    for (caught, is_done) in [(limit, false), ("ValueError: odd", true)] {
        let next = after(&SliceRequest::default(), &format!("status caught {caught}"));
        assert_eq!(next.expect("advice").listened, is_done, "{caught}");
    }
    let request = SliceRequest { listened: true, ..SliceRequest::default() };
    check(&request, &format!("status caught {limit}"), LAST);
    // An effect that comes back may have others.
    let next = after(&without_effects(), "status caught ValueError: odd");
    assert!(!next.expect("advice").listened);
}

#[test]
fn the_search_ends_where_a_file_is_missed_that_the_gist_stands_for() {
    let file = |path: &str| graph::FileTrace { path: path.to_owned(), ..Default::default() };
    let trace = Trace { files: vec![file("pkg/parts/a.py")], ..Trace::default() };
    let check = |missed: &str, kind: &str, ends: bool| {
        let message = format!("[Errno 2] No such file or directory: '{missed}'");
        let (text, raised) = (" 1 listdir(parts)\n", (kind, message.as_str(), 1, "<module>"));
        let (plan, request) = (Plan::default(), SliceRequest::default());
        let next = advised(&plan, text, &trace, raised, &request);
        assert_eq!(next.is_none(), ends, "{kind} {missed}");
    };
    for missed in ["/run/pkg/parts/a.py", "/run/pkg/parts", "/run/pkg"] {
        check(missed, "FileNotFoundError", true);
        check(missed, "ValueError", false);
    }
    for other in ["/run/pkg/part", "/run/pkg/parts/b.py", "/tmp/pkg/parts", "pkg/parts"] {
        check(other, "FileNotFoundError", false);
    }
    // A statement that is there for its effect alone goes.
    let effect = PlannedUnit {
        place: place(1),
        last_line: 1,
        binds: Vec::new(),
        reason: Reason::SideEffect,
    };
    let plan = Plan { kept: vec![effect], ..Plan::default() };
    let message = "[Errno 2] No such file or directory: '/run/pkg/parts'";
    let raised = ("FileNotFoundError", message, 1, "<module>");
    for request in [SliceRequest::default(), without_effects()] {
        let next = advised(&plan, " 1 listdir(parts)\n", &trace, raised, &request);
        assert_eq!(next.expect("advice").adjustments.drop, [place(1)]);
    }
}

#[test]
fn hooks_that_ran_come_after_the_innermost_function_and_before_those_around_it() {
    let text = " 1 def get(all):\n 2     raise all\n";
    let function =
        graph::FunctionTrace { name: "pytest_runtest_setup".to_owned(), ..Default::default() };
    let file = graph::FileTrace { functions: vec![function], ..Default::default() };
    let hooked = Trace { files: vec![file], ..Trace::default() };
    let after = |trace: &Trace, request: &SliceRequest| {
        let next = raised_in(text, trace, ("ValueError", "odd", 2, "get"), request);
        (next.adjustments.whole.len(), next.adjustments.hooks, next.adjustments.docstrings)
    };
    let mut request = SliceRequest::default();
    assert_eq!(after(&hooked, &request), (1, false, false));
    request.adjustments.whole = vec![place(9)];
    assert_eq!(after(&hooked, &request), (1, true, false));
    assert_eq!(after(&Trace::default(), &request), (2, false, false));
    request.adjustments.hooks = true;
    assert_eq!(after(&hooked, &request), (2, true, false));
    let raised = ("ValueError", "odd", 4, "pytest_configure");
    let adjustments = raised_in(text, &hooked, raised, &SliceRequest::default()).adjustments;
    assert_eq!((adjustments.whole.len(), adjustments.hooks), (0, true));
}

#[test]
fn a_name_that_the_text_of_an_annotation_says_asks_for_those_of_all() {
    let text = " 1 class Table:\n 2     row: 'Optional[Row]'\n 3     column: 'Column'\n 4 load()\n";
    let kept = |message: &str| {
        let unit = |line, name: &str| PlannedUnit {
            place: place(line),
            last_line: line,
            binds: vec![name.to_owned()],
            reason: Reason::Unreferenced,
        };
        let dropped = vec![unit(10, "Row"), unit(20, "Column"), unit(30, "other")];
        let plan = Plan { dropped, ..Plan::default() };
        let raised = ("UndefinedAnnotation", message, 4, "<module>");
        let next = raised_after(&plan, text, &Trace::default(), raised, &SliceRequest::default());
        next.adjustments.keep
    };
    assert_eq!(kept("name 'Row' is not defined\n\nFor more see"), [place(10), place(20)]);
    assert_eq!(kept("name 'other' is not defined"), [place(30)]);
    assert_eq!(kept("name 'Row' is odd"), []);
}

/// Of a gist that was refined: what may have had an effect was left out.
fn without_effects() -> SliceRequest {
    let adjustments = Adjustments { impure: false, side_effects: false, ..Adjustments::default() };
    SliceRequest { refine: true, adjustments, ..SliceRequest::default() }
}

#[test]
fn effects_come_back_before_whole_functions_and_after_what_is_named() {
    let refined = without_effects();
    check(&refined, "ValueError: odd", "impure true, side_effects true");
    check(
        &refined,
        "ValueError: odd caught NameError: name 'other' is not defined",
        "impure true, side_effects true",
    );
    check(
        &refined,
        "NameError: name 'other' is not defined",
        r#"keep [{"line":30,"path":"pkg/mod.py"}]"#,
    );
}

#[test]
fn every_rung_of_the_ladder_is_more_careful_than_the_last() {
    let mut request = without_effects();
    let mut climbed = Vec::new();
    while let Some(next) = after(&request, "output") {
        climbed.push(changed(&request, &next));
        request = next;
        assert!(climbed.len() < 20, "the search does not end: {climbed:?}");
    }
    assert_eq!(
        climbed,
        [
            "impure true, side_effects true",
            "module_names true",
            "docstrings true",
            "unprobed true",
            "refine false",
            "annotations true, conditions true",
        ]
    );
}

#[test]
fn the_names_of_modules_are_written_out_only_where_they_may_show() {
    check(&SliceRequest::default(), "output", "module_names true");
    check(&SliceRequest::default(), "exception", "module_names true");
    check(&SliceRequest::default(), "status", LAST);
    check(&SliceRequest::default(), "status by name", "module_names true");
}

#[test]
fn one_run_tells_whether_the_time_matters_at_which_a_module_runs() {
    let plan = Plan { late: true, ..Plan::default() };
    let next = |request: &SliceRequest| {
        let raised = ("AssertionError", "assert 'a' == 'b'", 4, "<module>");
        advised(&plan, BODY, &Trace::default(), raised, request)
    };
    let mut request = next(&SliceRequest::default()).expect("advice");
    assert!(request.adjustments.first_use && request.timed);
    while let Some(more) = next(&request) {
        assert!(!more.adjustments.first_use && more.timed, "{more:?}");
        request = more;
    }
}

#[test]
fn the_search_ends_whatever_the_plan_allows() {
    for plan in [
        Plan { mixed: true, ..Plan::default() },
        Plan { mixed: true, late: true, ..Plan::default() },
    ] {
        let mut request = SliceRequest::default();
        let next = |request: &SliceRequest| {
            let raised = ("AssertionError", "assert 'a' == 'b'", 4, "<module>");
            advised(&plan, BODY, &Trace::default(), raised, request)
        };
        let mut tried = vec![request.clone()];
        while let Some(more) = next(&request) {
            assert!(!tried.contains(&more), "tried again: {more:?}");
            tried.push(more.clone());
            request = more;
        }
        assert!(request.adjustments.apart, "{request:?}");
    }
}

#[test]
fn an_error_of_a_file_outside_that_reads_docstrings_asks_for_them() {
    let directory = tempfile::tempdir().unwrap();
    let outside = directory.path().join("grammar.py");
    for (text, expected) in [("rule = made.__doc__\n", true), ("rule = made.__name__\n", false)] {
        std::fs::write(&outside, text).unwrap();
        let frames = vec![
            (format!("/run/{GIST}"), 7, "get".to_owned()),
            (outside.display().to_string(), 1, "build".to_owned()),
        ];
        let raised = Raised { kind: "GrammarError".to_owned(), frames, ..Raised::default() };
        let next =
            advised_on(&Plan::default(), BODY, &Trace::default(), raised, &SliceRequest::default());
        assert_eq!(next.is_some_and(|next| next.adjustments.docstrings), expected, "{text}");
    }
}
