//! Chooses the lines of a requested file that a model sees: all of a small one, of a large one those around the solution's
//! passages.

use std::cmp::Reverse;

use graph::numbered;

use super::Requested;
use crate::{
    patch::{Hunk, UnifiedDiff},
    view::{LINES, PassageView, counted},
};

/// Lines around each passage of the solution that are shown of a large file.
const AROUND: u32 = 40;
/// Hunks of a file that are looked for.
const HUNKS: usize = 60;
/// Lines of a hunk that are looked for.
const HUNK_LINES: usize = 60;

/// Returns the view of a file, by the places of a diff that need not apply.
pub(super) fn passages(file: &Requested, solution: &str) -> PassageView {
    let text = file.before.as_deref().unwrap_or_default();
    let lines: Vec<&str> = numbered(text).map(|(_, line)| line).collect();
    let diff = UnifiedDiff::parse(solution).unwrap_or_default();
    let of_file = |path: &Option<String>| path.as_deref() == Some(&file.path);
    let changes = diff.files.iter().filter(|one| of_file(&one.old) || of_file(&one.new));
    let hunks = changes.flat_map(|change| &change.hunks).take(HUNKS);
    let spans: Vec<(u32, u32)> = hunks
        .map(|hunk| {
            let first = u32::try_from(place_of(hunk, &lines)).unwrap_or(u32::MAX);
            let size = u32::try_from(hunk.before().count()).unwrap_or(u32::MAX);
            let last = first.saturating_add(size).saturating_add(AROUND);
            (first.saturating_sub(AROUND), last)
        })
        .collect();
    let is_whole = lines.len() <= LINES || spans.is_empty();
    let is_near = |line: u32| spans.iter().any(|&(first, last)| (first..=last).contains(&line));
    let mut view = counted(&file.path, text, |line| is_whole || is_near(line));
    if !is_whole {
        let shown = (1..).zip(&lines).filter(|&(line, _)| is_near(line)).count();
        view.left_out += lines.len() - shown;
    }
    view
}

/// The line, from 1, at which most lines of a hunk stand; of equally good ones the nearest to that which it names.
fn place_of(hunk: &Hunk, lines: &[&str]) -> usize {
    let sought: Vec<&str> = hunk.before().take(HUNK_LINES).map(str::trim).collect();
    let likeness = |at: usize| {
        let pairs = sought.iter().zip(lines[at..].iter());
        pairs.filter(|(sought, line)| !sought.is_empty() && **sought == line.trim()).count()
    };
    let places = (0..lines.len()).map(|at| (likeness(at), at + 1));
    let best =
        places.max_by_key(|&(likeness, line)| (likeness, Reverse(line.abs_diff(hunk.first))));
    match best {
        Some((likeness, line)) if likeness > 0 => line,
        _ => hunk.first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_large_file_the_passages_of_the_solution_are_shown() {
        let text: String = (1..=2_000).map(|line| format!("line_{line} = {line}\n")).collect();
        // The hunk names a wrong place.
        let solution = "--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@\n line_1500 = 1500\n-line_1501 = 1501\n+x = 1\n";
        let file = Requested { path: "a.py".to_owned(), before: Some(text), after: None };
        let view = passages(&file, solution);
        assert!(view.text.starts_with("1460 line_1460"), "{}", view.text);
        assert_eq!((view.text.lines().count(), view.left_out), (83, 1_917));
        let view = passages(&file, &solution.replace("a.py", "b.py"));
        assert_eq!((view.text.lines().count(), view.left_out, view.next), (400, 1_600, Some(401)));
    }
}
