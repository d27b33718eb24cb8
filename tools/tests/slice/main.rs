//! Tests the lessons of a gist's run: probes in stubs, differences between two runs, advice for the
//! next slice.
//!
//! Executes no gist: runs are given as records, as the tracer and the recorder write them.

mod advice;

use std::collections::BTreeMap;

use gistify_tools::{
    AdviceInput, CaseReport, Difference, DifferenceKind, Execution, PhaseReport, Probed, Raised,
    SliceRequest, Status, advise, difference,
};
use graph::{
    Adjustments, Gist, GistLine, LineOrigin, ModuleSnapshot, Place, Plan, PlannedUnit, Reason,
    Trace,
};

const PATH: &str = "pkg/mod.py";
const GIST: &str = "tests/concise.py";

/// A gist whose lines begin with the line of `pkg/mod.py` that they stand for, or with `+` for glue.
fn gist(marked: &str) -> Gist {
    let mut gist = Gist::default();
    for line in marked.trim_matches('\n').lines() {
        let (mark, text) = line.split_at(3);
        let origin = match mark.trim() {
            "+" => LineOrigin::Glue("glue".to_owned()),
            number => LineOrigin::Source(place(number.parse().expect("a line"))),
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
    use graph::{ExecutedFile, FileTrace, FunctionTrace, Plan, Trace};

    /// Probes the gist above; `expected` has the probe itself as `<probe>`, and in front of each line
    /// the gist's line that it stands for.
    #[track_caller]
    fn check(stubs: &[u32], expected: &str) {
        let gist = gist(STUBS);
        let plan =
            Plan { stubs: stubs.iter().map(|&line| place(line)).collect(), ..Plan::default() };
        let probed = Probed::new(&gist, &plan);
        let probe = include_str!("../../src/slice/probe.py");
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

    /// Checks the lessons of a run that executed these lines of the gist and entered these
    /// functions.
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
                executed: vec![ExecutedFile {
                    path: PATH.to_owned(),
                    lines: vec![1, 2, 4, 5, 7, 8, 9, 10, 12],
                    functions: vec![5],
                    kept: Some(vec![1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13]),
                    ..ExecutedFile::default()
                }],
                asked: vec![graph::Place { path: "odd:path.py".to_owned(), line: 3 }, place(8)],
                late: Vec::new(),
            },
        );
    }

    #[test]
    fn a_run_teaches_which_empty_blocks_it_did_not_enter() {
        let gist = gist(
            " 1 def f(a, b):\n 2     if a:\n +         pass\n 4     elif b:\n +         pass\n 6 f(1, 2)\n",
        );
        let learned = |python: (u8, u8, u8)| {
            let file = graph::FileTrace {
                path: GIST.to_owned(),
                import_lines: vec![1, 2, 3, 6],
                ..graph::FileTrace::default()
            };
            let trace = Trace { files: vec![file], python, ..Trace::default() };
            let learned = Probed::without(&gist).learn(&gist, &trace, GIST, "");
            learned.executed.into_iter().next().expect("a file")
        };
        let expected = ExecutedFile {
            path: PATH.to_owned(),
            lines: vec![1, 2, 6],
            kept: Some(vec![1, 2, 4, 6]),
            idle: vec![4],
            ..ExecutedFile::default()
        };
        assert_eq!(learned((3, 13, 0)), expected);
        assert_eq!(learned((3, 9, 0)), ExecutedFile { idle: Vec::new(), ..expected });
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
        let executed = vec![ExecutedFile { path, lines, functions, ..ExecutedFile::default() }];
        assert_eq!(learned, Learned { executed, late, ..Learned::default() });
    }
}

mod differences {
    use super::{CaseReport, DifferenceKind, Execution, PhaseReport, Raised, Status, difference};

    /// A run of one line each: `case WHEN OUTCOME [KIND:MESSAGE] [out=TEXT] [err=TEXT] [log=TEXT]`,
    /// `collection ID KIND:MESSAGE`, `status CODE`, `raised KIND:MESSAGE`, `stdout TEXT`; `~` is a space.
    fn run(text: &str) -> Execution {
        let mut execution = Execution {
            status: Status::Exited(0),
            collected: Vec::new(),
            checks: Vec::new(),
            collection_errors: Vec::new(),
            cases: Vec::new(),
            complete: true,
            stdout: String::new(),
            stderr: String::new(),
            dropped: 0,
            raised: None,
            caught: Vec::new(),
            ended: Vec::new(),
            opened: Vec::new(),
            decided: Vec::new(),
            wall: std::time::Duration::ZERO,
            cpu: std::time::Duration::ZERO,
        };
        let raised = |text: &str| {
            let (kind, message) = text.split_once(':').expect("KIND:MESSAGE");
            let message = message.replace('~', " ");
            Raised { kind: kind.to_owned(), message, ..Raised::default() }
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
                let cases: Vec<String> = found.case.into_iter().chain(found.more).collect();
                let case = cases.join(" and ");
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
    fn assertions_of_a_library_are_explained_in_a_gist_alone() {
        let raised = |what: &str| format!("t call failed {what}");
        let check = |original: &str, gist: &str, is_same: bool| {
            let (original, gist) = (run(&raised(original)), run(&raised(gist)));
            let found = difference(&original, None, &gist, &gist);
            assert_eq!(found.is_none(), is_same, "{found:?}");
        };
        check("AssertionError:odd", "AssertionError:odd\nassert~None", true);
        check("AssertionError:", "AssertionError:assert~None", true);
        check("AssertionError:odd", "AssertionError:even\nassert~None", false);
        check("AssertionError:odd", "AssertionError:", false);
        check("AssertionError:assert~1", "AssertionError:assert~2", false);
        check("AssertionError:odd\nassert~1", "AssertionError:odd\nassert~2", false);
        check("AssertionError:odd\nassert~1", "AssertionError:odd", false);
        check("ValueError:odd", "ValueError:odd\nassert~None", false);
    }

    #[test]
    fn what_varies_between_runs_of_the_original_is_no_difference() {
        let differs = |gist: &str| {
            let (first, again) = (run("t call failed E:1 out=a"), run("t call failed E:2 out=b"));
            difference(&first, Some(&again), &run(gist), &run(gist)).map(|found| found.what)
        };
        assert_eq!(differs("t call failed E:3 out=c"), None);
        assert_eq!(differs("t call failed F:3 out=c"), Some(DifferenceKind::Exception));
        assert_eq!(differs("t call failed E:3 log=c"), Some(DifferenceKind::Output));
    }

    #[test]
    fn what_a_thread_writes_may_come_in_the_next_phase() {
        let [first, again] =
            ["1", "2"].map(|n| run(&format!("t call passed err={n}\n, t teardown passed")));
        let differs = |gist: &str| {
            let gist = run(gist);
            difference(&first, Some(&again), &gist, &gist).map(|found| found.what)
        };
        assert_eq!(differs("t call passed, t teardown passed err=3\n"), None);
        assert_eq!(differs("t call passed, t teardown passed"), Some(DifferenceKind::Output));
        let same = run("t call passed, t teardown passed err=1\n");
        let found = difference(&first, Some(&first), &same, &same).map(|found| found.what);
        assert_eq!(found, Some(DifferenceKind::Output));
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
            "a call passed, b call passed, c call passed",
            "b call passed",
            "missing a and c: ran | ",
        );
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
