//! The Static Analysis Results Interchange Format 2.1.0 (OASIS, 2020): a result for each problem.

use serde_sarif::sarif::{
    ArtifactLocation, Location, Message, MultiformatMessageString, PhysicalLocation, Region,
    ReportingDescriptor, Result as SarifResult, ResultLevel, Run, Sarif, Tool, ToolComponent,
    Version,
};

use super::{Checked, CheckedProblem, ProblemLevel};

/// The rules, each with its meaning.
const RULES: &[(&str, &str)] = &[
    ("not-faithful", "The gist does not do what the original does."),
    ("not-reproduced", "The file does not fail as the command does."),
    ("difference", "A case, an output or the exit code differs from the original's."),
    ("foreign", "A line of the gist is neither the original's nor glue."),
    ("note", "Something to know about the gist."),
    ("infrastructure", "The machine failed, and nothing is known of the gist."),
];

/// Writes the file.
pub fn write(results: &[Checked]) -> String {
    let rules: Vec<_> = RULES.iter().map(|(id, meaning)| rule(id, meaning)).collect();
    let driver = ToolComponent::builder()
        .name("gistify")
        .version(env!("CARGO_PKG_VERSION"))
        .information_uri(env!("CARGO_PKG_REPOSITORY"))
        .rules(rules)
        .build();
    let found: Vec<_> =
        results.iter().flat_map(|result| &result.problems).map(sarif_result).collect();
    let run = Run::builder().tool(Tool::builder().driver(driver).build()).results(found).build();
    let version = Version::V2_1_0.to_string();
    let file = Sarif::builder()
        .version(version)
        .schema("https://json.schemastore.org/sarif-2.1.0.json")
        .runs(vec![run])
        .build();
    let text = serde_json::to_string_pretty(&file).expect("strings and numbers can be written");
    format!("{text}\n")
}

fn rule(id: &str, meaning: &str) -> ReportingDescriptor {
    let meaning = MultiformatMessageString::builder().text(meaning).build();
    ReportingDescriptor::builder().id(id).short_description(meaning).build()
}

fn sarif_result(problem: &CheckedProblem) -> SarifResult {
    let level = match problem.level {
        ProblemLevel::Error => ResultLevel::Error,
        ProblemLevel::Note => ResultLevel::Note,
    };
    let region = Region::builder().start_line(i64::from(problem.line.unwrap_or(1))).build();
    let file = ArtifactLocation::builder().uri(uri(&problem.file)).build();
    let place = PhysicalLocation::builder().artifact_location(file).region(region).build();
    SarifResult::builder()
        .rule_id(problem.rule)
        .level(level)
        .message(Message::builder().text(problem.message.as_str()).build())
        .locations(vec![Location::builder().physical_location(place).build()])
        .build()
}

/// A path as a relative or `file` URI (RFC 3986): what no path segment may hold is escaped.
fn uri(path: &str) -> String {
    let mut out = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
