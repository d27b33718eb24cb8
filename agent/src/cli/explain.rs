//! Prints the output of `--explain`: each unit of a gist with the reason for keeping it, and each
//! executed unit that was dropped, with the reason.

use std::fmt::Write;

use graph::{LineOrigin, Place, Plan, PlannedUnit, Reason};

use super::progress::printable;

/// A plan as text.
pub fn explain(plan: &Plan, gist: &graph::Gist) -> String {
    let mut text = String::new();
    section(&mut text, "in the gist, in its order", plan.kept.iter().map(unit));
    section(&mut text, "left out, although executed", plan.dropped.iter().map(unit));
    section(
        &mut text,
        "in the gist as stubs: never called, but looked up by name",
        plan.stubs.iter().map(place),
    );
    section(
        &mut text,
        "left out: never called",
        plan.dropped_stubs.iter().map(|(stub, _)| place(stub)),
    );
    let collisions = plan.collisions.iter().map(|(name, things)| {
        let things: Vec<_> =
            things.iter().map(|(thing, name)| format!("{thing} as {name}")).collect();
        format!("{name}: {}", things.join(", "))
    });
    section(&mut text, "names with several meanings, and their new names", collisions);
    let glue =
        gist.text.lines().zip(&gist.lines).enumerate().filter_map(
            |(at, (line, entry))| match &entry.origin {
                LineOrigin::Glue(why) => Some(format!("line {}: {} ({why})", at + 1, line.trim())),
                LineOrigin::Source(_) => None,
            },
        );
    section(&mut text, "glue: lines that are not in the repository", glue);
    section(&mut text, "notes", plan.notes.iter().cloned());
    text
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "{title} ({})", lines.len());
        for line in lines {
            let _ = writeln!(text, "  {}", printable(&line).replace('\n', " "));
        }
    }
}

/// A unit with its names and the reason for its fate.
pub fn unit(kept: &PlannedUnit) -> String {
    let lines = match kept.last_line.saturating_sub(kept.place.line) {
        0 => place(&kept.place),
        _ => format!("{}-{}", place(&kept.place), kept.last_line),
    };
    let names =
        if kept.binds.is_empty() { String::new() } else { format!(" {}", kept.binds.join(", ")) };
    format!("{lines}{names}: {}", reason(&kept.reason))
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Test => "the command names it".to_owned(),
        Reason::Called => "one of its functions was called during the tests".to_owned(),
        Reason::Fixture => "a fixture that the tests request".to_owned(),
        Reason::Ends => "the command ended there".to_owned(),
        Reason::SideEffect => "it has a side effect".to_owned(),
        Reason::Changes(module, name) => format!("it changes {module}.{name}"),
        Reason::Referenced(by, name) => format!("{} refers to {name}", place(by)),
        Reason::Demanded(module, name) => format!("{module} looks up {name}"),
        Reason::Asked => "requested".to_owned(),
        Reason::Configuration => "pytest reads it by its name".to_owned(),
        Reason::Import(by, name) => format!("{} uses {name}", place(by)),
        Reason::Unreferenced => "no line of the gist refers to it".to_owned(),
        Reason::InternalImport => "it imports what the gist contains".to_owned(),
        Reason::LeftOut => "no line of the gist needs its effect".to_owned(),
    }
}

/// A place as `path:line`.
pub fn place(place: &Place) -> String {
    format!("{}:{}", place.path, place.line)
}
