//! Summaries of made-up rows, in each format.

use super::super::{Format, TableName};
use super::*;
use crate::bench::{TaskOutcome, TaskResult};

fn infrastructure(task: &str) -> Row {
    let result = TaskResult {
        suite: "s".to_owned(),
        task: task.to_owned(),
        solver: "offline".to_owned(),
        repetition: 1,
        difficulty: Default::default(),
        attempt: None,
        outcome: TaskOutcome::Infrastructure("disk | full".to_owned()),
        expected: None,
        seconds: 1.0,
    };
    Row::of(&result, std::path::Path::new("tasks/s/t/offline.1"))
}

fn scored(task: &str, solver: &str, repetition: u32, fidelity: f64) -> Row {
    Row {
        solver: solver.to_owned(),
        repetition,
        standing: AttemptStanding::Scored,
        evidence: String::new(),
        scores: BTreeMap::from([
            (PaperFidelity::NAME.to_owned(), fidelity),
            (StrictFidelity::NAME.to_owned(), fidelity),
            ("line_existence_rate".to_owned(), 0.5),
        ])
        .into(),
        category: (fidelity == 0.0).then_some(Category::RuntimeError),
        ..infrastructure(task)
    }
}

#[test]
fn what_was_not_scored_is_no_zero() {
    let summary = summarize(&[infrastructure("b"), infrastructure("a")], &[]);
    let row = &summary.suites[0];
    assert_eq!((row.tasks, row.scored, row.infrastructure), (2, 0, 2));
    assert!(row.scores.is_empty());
    assert_eq!(summary.failures[0].task, "a");
    let text = summary.to_string(Format::Text);
    assert!(text.contains("0 of 2") && text.contains("disk | full"), "{text}");
    let markdown = summary.to_string(Format::Markdown);
    assert!(markdown.contains("disk \\| full"), "{markdown}");
    let json: serde_json::Value = serde_json::from_str(&summary.to_string(Format::Json)).unwrap();
    assert_eq!(json["version"], 3);
    assert_eq!(json["suites"][0]["scores"], serde_json::json!({}));
}

#[test]
fn attempts_at_one_task_are_one_value() {
    let rows = [
        scored("a", "x", 1, 1.0),
        scored("a", "x", 2, 0.0),
        scored("b", "x", 1, 1.0),
        scored("b", "x", 2, 1.0),
        // One attempt that the machine failed leaves the task's other one.
        Row { repetition: 3, solver: "x".to_owned(), ..infrastructure("b") },
    ];
    let summary = summarize(&rows, &[]);
    let row = &summary.suites[0];
    assert_eq!((row.tasks, row.attempts, row.scored, row.infrastructure), (2, 5, 2, 1));
    assert_eq!(row.scores[StrictFidelity::NAME].value, 0.75);
    assert_eq!(row.causes[&Category::RuntimeError], 1);
    assert_eq!(row.paper_causes[&PaperCategory::PytestRuntimeError], 1);
}

#[test]
fn solvers_are_compared_on_the_tasks_of_both() {
    let rows = [
        scored("a", "x", 1, 1.0),
        scored("b", "x", 1, 1.0),
        scored("c", "x", 1, 1.0),
        scored("d", "x", 1, 0.0),
        scored("a", "y", 1, 1.0),
        scored("b", "y", 1, 0.0),
        scored("c", "y", 1, 0.0),
        Row { solver: "y".to_owned(), ..infrastructure("d") },
    ];
    let summary = summarize(&rows, &["y", "x"]);
    let solvers: Vec<&str> = summary.suites.iter().map(|row| row.solver.as_str()).collect();
    assert_eq!(solvers, ["y", "x"]);
    let fidelity = &summary.comparisons[0];
    assert_eq!((fidelity.first.as_str(), fidelity.second.as_str()), ("y", "x"));
    assert_eq!((fidelity.paired.tasks, fidelity.better, fidelity.worse), (3, 2, 0));
    assert!((fidelity.paired.difference - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(fidelity.paired.p, 0.5);
    let told = |row: &Vec<String>| row[..4].join(" ");
    let ablation = &summary.tables(&[TableName::Ablation])[0];
    let told: Vec<_> = ablation.rows.iter().map(told).collect();
    assert_eq!(told, ["y 3 33.3 -", "x 3 100.0 +66.7"]);
    let backwards: Vec<Row> = rows.iter().rev().cloned().collect();
    assert_eq!(summarize(&backwards, &["y", "x"]), summary);
}

#[test]
fn hard_tasks_and_lengths_are_told_apart() {
    let rows: Vec<Row> = (0..80_u32)
        .map(|at| Row {
            calls: u64::from(at) + 1,
            files: u64::from(80 - at),
            ..scored(&format!("t{at:02}"), "x", 1, f64::from(u8::from(at < 40)))
        })
        .collect();
    let summary = summarize(&rows, &[]);
    assert_eq!(summary.hard[0].tasks, 60);
    assert_eq!(summary.hard[0].scores[StrictFidelity::NAME].value, 0.5);
    assert_eq!(summary.hard[0].baseline[PaperFidelity::NAME], 0.5);
    let by_calls: Vec<_> = summary.lengths.iter().filter(|row| row.by == "calls").collect();
    let told: Vec<_> = by_calls.iter().map(|row| (row.from, row.to, row.fidelity)).collect();
    let expected =
        [(1, 20, Some(1.0)), (21, 40, Some(1.0)), (41, 60, Some(0.0)), (61, 80, Some(0.0))];
    assert_eq!(told, expected);
    assert!(summarize(&rows[..30], &[]).hard.is_empty());
}

#[test]
fn every_format_escapes_what_is_foreign() {
    let evil = "a_b & 50% <img src=x>, \"q\" | =1+1 \\end{x}";
    let row = Row { solver: "=HYPERLINK(1)".to_owned(), ..scored(evil, "x", 1, 0.0) };
    let summary = summarize(&[row], &[]);
    for (format, expected) in [
        (Format::Latex, "a\\_b \\& 50\\% \\textless{}img src=x\\textgreater{}"),
        (Format::Latex, "\\textbackslash{}end\\{x\\}"),
        (Format::Csv, "\"a_b & 50% <img src=x>, \"\"q\"\" | =1+1 \\end{x}\""),
        (Format::Csv, "'=HYPERLINK(1)"),
        (Format::Markdown, "a\\_b &amp; 50% &lt;img src=x&gt;, \"q\" \\|"),
    ] {
        let text = summary.write(format, &TableName::ALL);
        assert!(text.contains(expected), "{format:?}: {text}");
    }
    let one = summary.write(Format::Csv, &[TableName::Errors]);
    assert_eq!(one.lines().count(), 2, "{one}");
    assert!(one.starts_with("suite,solver,attempts,Import Error,File Creation Failure,"), "{one}");
}
