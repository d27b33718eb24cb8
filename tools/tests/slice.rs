//! What runs of a gist teach: probes in stubs, differences between two runs, advice for the next slice.
//!
//! No gist is run here; runs are given as records, as the tracer and the recorder write them.

use std::collections::BTreeMap;

use gistify_tools::{
    Attempt, CaseReport, Difference, Execution, PhaseReport, Probed, Raised, SliceRequest, Status,
    What, advise, difference,
};
use graph::{
    Adjustments, Gist, GistLine, Kept, ModuleSnapshot, Origin, Place, Plan, Reason, Trace,
};

const PATH: &str = "pkg/mod.py";
const GIST: &str = "tests/concise.py";

/// A gist whose lines begin with the line of `pkg/mod.py` that they stand for, or with `+` for glue.
fn gist(marked: &str) -> Gist {
    let mut gist = Gist::default();
    for line in marked.trim_matches('\n').lines() {
        let (mark, text) = line.split_at(3);
        let origin = match mark.trim() {
            "+" => Origin::Glue("glue".to_owned()),
            number => Origin::Source(place(number.parse().expect("a line"))),
        };
        gist.text.push_str(text);
        gist.text.push('\n');
        gist.lines.push(GistLine { origin, adapted: false });
    }
    gist
}

fn place(line: u32) -> Place {
    Place { path: PATH.to_owned(), line }
}

const STUBS: &str = "
 1 from __future__ import annotations
 2 import abc
 4 class Table:
 5     def rows(self):
 7         return self.all
 8     @property
 9     @abc.abstractmethod
10     def size(self):
11         raise NotImplementedError
12     async def fill(self):
13         pass
 + table = Table
";

mod probes {
    use super::{GIST, PATH, STUBS, gist, place};
    use gistify_tools::{Learned, Probed};
    use graph::{Executed, FileTrace, FunctionTrace, Plan, Trace};

    /// Probes the gist above; `expected` has the probe itself as `<probe>`, and in front of each line
    /// the gist's line that it stands for.
    #[track_caller]
    fn check(stubs: &[u32], expected: &str) {
        let gist = gist(STUBS);
        let plan =
            Plan { stubs: stubs.iter().map(|&line| place(line)).collect(), ..Plan::default() };
        let probed = Probed::new(&gist, &plan);
        let probe = include_str!("../src/slice/probe.py");
        let probe_lines = u32::try_from(probe.lines().count()).expect("a short probe");
        let at = probed.text.find(probe.lines().next().expect("a probe"));
        let first = at.map(|at| u32::try_from(probed.text[..at].lines().count()).expect("short"));
        let mut shown = String::new();
        for (number, line) in (1u32..).zip(probed.text.lines()) {
            match first {
                Some(first) if number > first && number <= first + probe_lines => {
                    assert_eq!(probed.gist_line(number), None, "{line}");
                    if number == first + 1 {
                        shown.push_str(" - <probe>\n");
                    }
                }
                _ => {
                    let stands = probed.gist_line(number).expect("a line of the gist");
                    shown.push_str(&format!("{stands:>2} {line}\n"));
                }
            }
        }
        assert_eq!(shown, expected.trim_start_matches('\n'));
        let lines = u32::try_from(probed.text.lines().count()).expect("short");
        assert_eq!((probed.gist_line(0), probed.gist_line(lines + 1)), (None, None));
    }

    #[test]
    fn a_gist_without_stubs_runs_as_it_stands() {
        check(
            &[],
            "
 1 from __future__ import annotations
 2 import abc
 3 class Table:
 4     def rows(self):
 5         return self.all
 6     @property
 7     @abc.abstractmethod
 8     def size(self):
 9         raise NotImplementedError
10     async def fill(self):
11         pass
12 table = Table
",
        );
    }

    #[test]
    fn a_stub_is_probed_above_its_first_decorator_and_the_future_stays_first() {
        check(
            &[8, 12],
            "
 1 from __future__ import annotations
 - <probe>
 2 import abc
 3 class Table:
 4     def rows(self):
 5         return self.all
 6     @__gist_probe__(\"pkg/mod.py:8\")
 6     @property
 7     @abc.abstractmethod
 8     def size(self):
 9         raise NotImplementedError
10     @__gist_probe__(\"pkg/mod.py:12\")
10     async def fill(self):
11         pass
12 table = Table
",
        );
    }

    /// What a run teaches that executed these lines of the gist, and entered these functions.
    #[track_caller]
    fn teaches(lines: [&[u32]; 2], functions: &[u32], log: &str, expected: &Learned) {
        let gist = gist(STUBS);
        let plan = Plan { stubs: vec![place(8), place(12)], ..Plan::default() };
        let probed = Probed::new(&gist, &plan);
        // The tracer saw the probed text: every line of it that stands for a line that ran.
        let all = u32::try_from(probed.text.lines().count()).expect("short");
        let seen = |wanted: &[u32]| -> Vec<u32> {
            let stands =
                |line: &u32| probed.gist_line(*line).is_some_and(|at| wanted.contains(&at));
            (1..=all).filter(stands).collect()
        };
        let mut functions: Vec<FunctionTrace> = seen(functions)
            .into_iter()
            .map(|line| FunctionTrace { line, test: true, ..FunctionTrace::default() })
            .collect();
        functions.push(FunctionTrace {
            line: 4,
            name: "__init__".to_owned(),
            ..functions[0].clone()
        });
        let file = graph::FileTrace {
            path: GIST.to_owned(),
            import_lines: seen(lines[0]),
            test_lines: seen(lines[1]),
            functions,
            ..graph::FileTrace::default()
        };
        let trace = Trace { files: vec![file], ..Trace::default() };
        assert_eq!(&probed.learn(&gist, &trace, GIST, log), expected);
    }

    #[test]
    fn a_run_teaches_lines_functions_and_stubs_of_the_original() {
        teaches(
            [&[1, 2, 3, 4, 6, 7, 8, 10, 12], &[5, 12]],
            &[4],
            "pkg/mod.py:8\npkg/mod.py:8\nno tag\nodd:path.py:3\n",
            &Learned {
                executed: vec![Executed {
                    path: PATH.to_owned(),
                    lines: vec![1, 2, 4, 5, 7, 8, 9, 10, 12],
                    functions: vec![5],
                }],
                asked: vec![graph::Place { path: "odd:path.py".to_owned(), line: 3 }, place(8)],
                late: Vec::new(),
            },
        );
    }

    #[test]
    fn a_run_that_never_reached_the_gist_teaches_only_what_was_asked() {
        let gist = gist(STUBS);
        let probed = Probed::without(&gist);
        let learned = probed.learn(&gist, &Trace::default(), GIST, "pkg/mod.py:12\n");
        assert_eq!(learned, Learned { asked: vec![place(12)], ..Learned::default() });
    }

    #[test]
    fn what_is_not_observed_is_taken_from_the_original() {
        let entered = |line, test| FunctionTrace { line, test, ..FunctionTrace::default() };
        let file = graph::FileTrace {
            path: PATH.to_owned(),
            import_lines: vec![4, 9],
            test_lines: vec![7, 9],
            functions: vec![entered(5, true), entered(8, false)],
            ..FileTrace::default()
        };
        let late = vec!["json".to_owned()];
        let mut learned = Learned { late: late.clone(), ..Learned::default() };
        learned.assume(&Trace { files: vec![file], ..Trace::default() });
        let (path, lines, functions) = (PATH.to_owned(), vec![4, 7, 9], vec![5, 8]);
        let executed = vec![Executed { path, lines, functions }];
        assert_eq!(learned, Learned { executed, late, ..Learned::default() });
    }
}

mod differences {
    use super::{CaseReport, Execution, PhaseReport, Raised, Status, What, difference};

    /// A run of one line each: `case WHEN OUTCOME [KIND:MESSAGE] [out=TEXT] [err=TEXT] [log=TEXT]`,
    /// `collection ID KIND:MESSAGE`, `status CODE`, `raised KIND:MESSAGE`, `stdout TEXT`.
    fn run(text: &str) -> Execution {
        let mut execution = Execution {
            status: Status::Exited(0),
            collected: Vec::new(),
            collection_errors: Vec::new(),
            cases: Vec::new(),
            complete: true,
            stdout: String::new(),
            stderr: String::new(),
            dropped: 0,
            raised: None,
            caught: Vec::new(),
            wall: std::time::Duration::ZERO,
            cpu: std::time::Duration::ZERO,
        };
        let raised = |text: &str| {
            let (kind, message) = text.split_once(':').expect("KIND:MESSAGE");
            Raised { kind: kind.to_owned(), message: message.to_owned(), ..Raised::default() }
        };
        for line in text.split(", ") {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "status" => execution.status = Status::Exited(words[1].parse().expect("a code")),
                "raised" => execution.raised = Some(raised(words[1])),
                "stdout" => execution.stdout = words[1].to_owned(),
                "collection" => {
                    execution.collection_errors.push((words[1].to_owned(), raised(words[2])));
                }
                id => {
                    let mut phase = PhaseReport {
                        when: words[1].to_owned(),
                        outcome: words[2].to_owned(),
                        ..PhaseReport::default()
                    };
                    for word in &words[3..] {
                        match word.split_once('=') {
                            Some(("out", text)) => phase.stdout = text.to_owned(),
                            Some(("err", text)) => phase.stderr = text.to_owned(),
                            Some(("log", text)) => phase.log = text.to_owned(),
                            _ => phase.raised = Some(raised(word)),
                        }
                    }
                    match execution.cases.iter_mut().find(|case| case.id == id) {
                        Some(case) => case.phases.push(phase),
                        None => execution
                            .cases
                            .push(CaseReport { id: id.to_owned(), phases: vec![phase] }),
                    }
                }
            }
        }
        execution.collected = execution.cases.iter().map(|case| case.id.clone()).collect();
        execution
    }

    #[track_caller]
    fn check(original: &str, gist: &str, expected: &str) {
        let found = difference(&run(original), None, &run(gist), &run(gist)).map_or(
            "none".to_owned(),
            |found| {
                let case = found.case.unwrap_or_default();
                let raised =
                    found.raised.map_or(String::new(), |raised| format!(" ({})", raised.kind));
                let what = format!("{:?}", found.what).to_lowercase();
                format!("{what} {case}: {} | {}{raised}", found.original, found.gist)
            },
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn runs_that_agree_do_not_differ() {
        check("t call passed out=a", "t call passed out=a", "none");
        check("t call failed E:m, status 1", "t call failed E:m, status 1", "none");
        check("a call passed, b call passed", "b call passed, a call passed", "none");
        check("raised E:m, status 1", "raised E:m, status 1", "none");
    }

    #[test]
    fn what_varies_between_runs_of_the_original_is_no_difference() {
        let differs = |gist: &str| {
            let (first, again) = (run("t call failed E:1 out=a"), run("t call failed E:2 out=b"));
            difference(&first, Some(&again), &run(gist), &run(gist)).map(|found| found.what)
        };
        assert_eq!(differs("t call failed E:3 out=c"), None);
        assert_eq!(differs("t call failed F:3 out=c"), Some(What::Exception));
        assert_eq!(differs("t call failed E:3 log=c"), Some(What::Output));
    }

    #[test]
    fn the_first_difference_is_the_one_that_explains_most() {
        check(
            "t call passed",
            "collection f NameError:x, status 2",
            "collection f:  | NameError: x (NameError)",
        );
        check("a call passed, b call passed", "a call passed", "missing b: ran | ");
        check(
            "a call passed, b call passed",
            "b call failed E:m",
            "outcome b: call passed: nothing raised | call failed: E: m (E)",
        );
        check(
            "t setup passed out=a, t call passed",
            "t setup passed out=b, t call failed E:m",
            "outcome t: call passed: nothing raised | call failed: E: m (E)",
        );
        check("a call passed, b call passed out=a", "b call passed out=b", "missing a: ran | ");
        check("a call passed", "a call passed, b call passed", "added b: absent | ran");
        check(
            "t setup passed, t call passed",
            "t setup failed E:m",
            "outcome t: setup passed, call passed | setup failed: E: m (E)",
        );
        check(
            "t call passed",
            "t call failed E:m",
            "outcome t: call passed: nothing raised | call failed: E: m (E)",
        );
        check("t call failed E:m", "t call failed E:n", "exception t: E: m | E: n (E)");
        check("t call failed E:m", "t call failed F:m", "exception t: E: m | F: m (F)");
        check("t call passed out=a", "t call passed out=b", "output t: a | b");
        check("t call passed err=a", "t call passed err=b", "output t: a | b");
        check("t call passed log=a", "t call passed log=b", "output t: a | b");
    }

    #[test]
    fn commands_without_cases_are_compared_by_status_exception_and_output() {
        check("status 0", "status 1, raised E:m", "status : Exited(0) | Exited(1):  (E)");
        check("status 1, raised E:m", "status 1, raised F:m", "exception : E: m | F: m (F)");
        check("stdout a", "stdout b", "output : a | b");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let long = "x".repeat(500);
        let found =
            difference(&run(&format!("stdout {long}")), None, &run("stdout b"), &run("stdout b"))
                .expect("differs");
        assert_eq!(found.original, format!("{} ... (100 more characters)", "x".repeat(400)));
    }
}

mod advice {
    use std::convert::Infallible;

    use super::{
        Adjustments, Attempt, BTreeMap, Difference, GIST, Kept, ModuleSnapshot, Plan, Probed,
        Raised, Reason, SliceRequest, Trace, What, advise, gist, place,
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

    /// Advises after an error (`KIND: message`, raised on line 7 of the gist in `get`, which `rows`
    /// called on line 4, or by the statement there if the message is `at import`), after a case that is missing
    /// (`missing ID`), or after another difference (`what`), behind ` caught ` with an error that the gist
    /// caught on line 7; shows what changed.
    #[track_caller]
    fn check(request: &SliceRequest, difference: &str, expected: &str) {
        let next = after(request, difference);
        let shown = next.as_ref().map_or("nothing".to_owned(), |next| changed(request, next));
        assert_eq!(shown, expected, "after {difference}");
    }

    fn after(request: &SliceRequest, difference: &str) -> Option<SliceRequest> {
        let (difference, caught) = difference.split_once(" caught ").unwrap_or((difference, ""));
        let unit = |line, name: &str| Kept {
            place: place(line),
            last_line: line,
            binds: vec![name.to_owned()],
            reason: Reason::Unreferenced,
        };
        let effect = Kept { last_line: 11, reason: Reason::SideEffect, ..unit(10, "") };
        let plan = Plan {
            kept: vec![unit(9, "get"), effect],
            dropped: vec![unit(20, "LIMIT"), unit(30, "other")],
            dropped_stubs: vec![(place(40), "close".to_owned()), (place(50), "open".to_owned())],
            ..Plan::default()
        };
        let trace = Trace {
            external: BTreeMap::from([("os.path".to_owned(), String::new())]),
            modules: BTreeMap::from([("pkg.mod".to_owned(), ModuleSnapshot::default())]),
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
        let missing = difference.strip_prefix("missing ");
        let found = Difference {
            what: match difference {
                _ if raised.is_some() => What::Outcome,
                _ if missing.is_some() => What::Missing,
                "status" => What::Status,
                "exception" => What::Exception,
                "output" => What::Output,
                other => panic!("{other} is not told apart"),
            },
            case: missing.map(str::to_owned),
            original: String::new(),
            gist: String::new(),
            raised,
        };
        let gist = gist(BODY);
        let probed = Probed::without(&gist);
        let attempt = Attempt {
            trace: &trace,
            plan: &plan,
            gist: &gist,
            gist_path: GIST,
            probed: request.refine.then_some(&probed),
            early: &[],
            request,
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
        check(&request, "missing pkg/mod.py::pkg.mod.get", "docstrings true");
    }

    #[test]
    fn an_error_asks_for_what_it_names() {
        let request = SliceRequest::default();
        let asked = |error: &str, expected: &str| check(&request, error, expected);
        asked(
            "NameError: name 'LIMIT' is not defined",
            r#"keep [{"line":20,"path":"pkg/mod.py"}]"#,
        );
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
            r#"more_stubs [{"line":40,"path":"pkg/mod.py"}]"#,
        );
        asked(
            "TypeError: Can't instantiate abstract class T with abstract methods close, open",
            r#"more_stubs [{"line":40,"path":"pkg/mod.py"},{"line":50,"path":"pkg/mod.py"}]"#,
        );
        asked(
            "TypeError: Can't instantiate abstract class T without an implementation for \
             abstract method 'open'",
            r#"more_stubs [{"line":50,"path":"pkg/mod.py"}]"#,
        );
        asked("AttributeError: module 'os' has no attribute 'path'", r#"imports ["os.path"]"#);
        asked("ModuleNotFoundError: No module named 'pkg.mod'", r#"register ["pkg.mod"]"#);
        asked(
            "ModuleNotFoundError: No module named 'pkg.mod'; 'pkg' is not a package",
            r#"register ["pkg.mod"]"#,
        );
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
        for (text, line, expected) in [(top, 2, vec!["pkg.compat".to_owned()]), (inner, 3, vec![])]
        {
            for message in
                ["Module 'pkg' has no attribute 'all'", "module pkg has no attribute all"]
            {
                let raised = ("AttributeError", message, line, "__getattr__");
                let next = raised_in(text, &trace, raised, &SliceRequest::default());
                assert_eq!(next.adjustments.namespaces, expected, "{message}");
            }
        }
    }

    #[test]
    fn what_an_error_shows_to_be_the_gists_own_is_told_its_module() {
        let text = " 1 class Table:\n 2     pass\n 4 def size():\n 5     pass\n";
        let unit = |line, name: &str, reason| Kept {
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
        (kind, message, line, function): (&str, &str, u32, &str),
        request: &SliceRequest,
    ) -> SliceRequest {
        let found = Difference {
            what: What::Outcome,
            case: None,
            original: String::new(),
            gist: String::new(),
            raised: Some(Raised {
                kind: kind.to_owned(),
                message: message.to_owned(),
                frames: vec![(format!("/run/{GIST}"), line, function.to_owned())],
                ..Raised::default()
            }),
        };
        let gist = &gist(text);
        let (gist_path, early) = (GIST, &[][..]);
        let attempt = Attempt { trace, plan, gist, gist_path, probed: None, early, request };
        let next = advise(&found, &attempt, || Ok::<_, Infallible>(Vec::new())).expect("a list");
        next.expect("advice")
    }

    #[test]
    fn the_second_module_of_a_package_that_is_imported_by_a_computed_name_brings_the_others() {
        let text = " 1 def load(name):\n 2     return importlib.import_module(name)\n";
        let all =
            ["pkg", "pkg.a", "pkg.b", "pkg.c", "pkg.early", "pkg.before", "pkg.deep.d", "other"];
        let early = ["pkg.early", "pkg.before"];
        let file = |name: &&str| graph::FileTrace {
            modules: vec![(*name).to_owned()],
            phase: if early.contains(name) { graph::Phase::Import } else { graph::Phase::Test },
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
        check(&request, "ValueError: odd", "docstrings true");
    }

    /// Of a gist that was refined: what may have had an effect was left out.
    fn without_effects() -> SliceRequest {
        let adjustments =
            Adjustments { impure: false, side_effects: false, ..Adjustments::default() };
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
                "annotations true",
            ]
        );
    }

    #[test]
    fn the_names_of_modules_are_written_out_only_where_they_may_show() {
        check(&SliceRequest::default(), "output", "module_names true");
        check(&SliceRequest::default(), "exception", "module_names true");
        check(&SliceRequest::default(), "status", "docstrings true");
    }
}
