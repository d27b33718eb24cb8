//! JSON with a version, for programs.

use serde::Serialize;

use super::Summary;

/// Version of the form.
const VERSION: u32 = 3;

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Writes a summary.
pub fn write(summary: &Summary) -> String {
    let written = Written { version: VERSION, summary };
    let mut text = serde_json::to_string_pretty(&written).expect("names and numbers serialise");
    text.push('\n');
    text
}
