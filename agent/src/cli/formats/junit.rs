//! A JUnit file: a suite for each repository, or for each solver of a suite; a test case for each gist.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Checked, Verdict};

/// Writes the file. Characters that XML cannot hold are left out.
pub fn write(results: &[Checked]) -> String {
    let mut report = Report::new("gistify");
    let mut groups: Vec<&str> = Vec::new();
    for result in results {
        if !groups.contains(&result.group.as_str()) {
            groups.push(&result.group);
        }
    }
    for group in groups {
        let mut suite = TestSuite::new(group);
        let own = results.iter().filter(|result| result.group == group);
        suite.add_test_cases(own.map(case));
        report.add_test_suite(suite);
    }
    let text = report.to_string().expect("a report in memory can be written");
    format!("{}\n", text.trim_end())
}

fn case(result: &Checked) -> TestCase {
    let mut status = match result.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Broken => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Skipped => TestCaseStatus::skipped(),
    };
    if result.verdict != Verdict::Passed {
        status.set_message(result.headline.as_str());
        let told: Vec<_> = result.problems.iter().map(|problem| problem.message.as_str()).collect();
        status.set_description(told.join("\n"));
    }
    let mut case = TestCase::new(result.name.as_str(), status);
    case.set_classname(result.group.as_str());
    case.set_time(Duration::try_from_secs_f64(result.seconds).unwrap_or_default());
    for (name, value) in &result.measures {
        case.add_property(Property::new(*name, value.as_str()));
    }
    case
}
