//! The three kinds of changes to tests that models make (Gistify, arXiv 2510.26790, B.4), as faults that are
//! counted. They are found in the text of a gist, as its writer left it.
//!
//! ```text
//! if __name__ == "__main__":                  # the guard: added, or with the body of the test moved below it
//!     assert make(1) == 2
//! sys.modules["pkg"] = ModuleType("pkg")      # a package in memory, in the place of the repository's
//! ```

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Facts, FormulaSource, GistFacts, MeasureTable, MeasureUnit, Scorer};
use crate::{
    blocks::{Line, Outline, Role},
    key::Key,
};

/// 1 where the test function is gone and its lines stand elsewhere in a gist with a `__main__` guard.
pub struct TestMoved;

/// 1 where a gist that has the test function has a `__main__` guard that the original has not.
pub struct GuardAdded;

/// 1 where a gist registers a package in memory under a name of the repository.
pub struct MockPackage;

/// The lines of a gist that show a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLines {
    /// 1-based lines of the gist.
    pub lines: Vec<u32>,
}

impl ChangedLines {
    fn of<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Self {
        let mut lines: Vec<u32> = lines.into_iter().map(|line| line.first).collect();
        lines.dedup();
        Self { lines }
    }

    fn flag(&self) -> Option<f64> {
        Some(f64::from(u8::from(!self.lines.is_empty())))
    }

    fn shown(&self) -> String {
        self.lines.first().map(|line| format!("line {line}")).unwrap_or_default()
    }
}

impl Scorer for TestMoved {
    type Evidence = ChangedLines;
    const NAME: &'static str = "test_moved";
    const LABEL: &'static str = "moved body";
    const DOC: &'static str = "1 where the test function is gone, and at least half of its lines stand elsewhere in a \
        gist with a `__main__` guard";
    const SOURCE: FormulaSource = FormulaSource::Paper("B.4 (1)");
    const UNIT: MeasureUnit = MeasureUnit::Fault;
    const SHOWN: MeasureTable = MeasureTable::Changes;

    fn evidence(facts: &Facts<'_>) -> Option<ChangedLines> {
        let gist = tested(facts)?;
        let Some(_) = guard(gist.outline) else { return Some(ChangedLines::default()) };
        let moved = gist.tests.iter().filter(|(_, block)| !gist.outline.functions.contains(block));
        let lines = moved.flat_map(|(path, block)| {
            let body: Vec<Key> = gist.codebase.file(path).map_or_else(Vec::new, |file| {
                let lines = file.outline.lines.iter().filter(|line| line.block == *block);
                let body =
                    lines.filter(|line| !matches!(line.role, Role::Definition | Role::Decorator));
                body.map(|line| line.key).collect()
            });
            let lines = gist.outline.lines.iter().filter(|line| body.contains(&line.key));
            let found: Vec<&Line> = lines.collect();
            let is_moved = !found.is_empty() && found.len() * 2 >= body.len();
            found.into_iter().filter(move |_| is_moved)
        });
        Some(ChangedLines::of(lines))
    }

    fn value(evidence: &ChangedLines) -> Option<f64> {
        evidence.flag()
    }

    fn remark(evidence: &ChangedLines) -> String {
        evidence.shown()
    }
}

impl Scorer for GuardAdded {
    type Evidence = ChangedLines;
    const NAME: &'static str = "guard_added";
    const LABEL: &'static str = "guard added";
    const DOC: &'static str = "1 where a gist that has the test function has a `__main__` guard, and no file that the \
        original executed has one";
    const SOURCE: FormulaSource = FormulaSource::Paper("B.4 (2)");
    const UNIT: MeasureUnit = MeasureUnit::Fault;
    const SHOWN: MeasureTable = MeasureTable::Changes;

    fn evidence(facts: &Facts<'_>) -> Option<ChangedLines> {
        let gist = tested(facts)?;
        let has_all = gist.tests.iter().all(|(_, block)| gist.outline.functions.contains(block));
        let known = facts.executed.paths().any(|path| {
            gist.codebase.file(path).is_some_and(|file| guard(&file.outline).is_some())
        });
        Some(ChangedLines::of(guard(gist.outline).filter(|_| has_all && !known)))
    }

    fn value(evidence: &ChangedLines) -> Option<f64> {
        evidence.flag()
    }

    fn remark(evidence: &ChangedLines) -> String {
        evidence.shown()
    }
}

impl Scorer for MockPackage {
    type Evidence = ChangedLines;
    const NAME: &'static str = "mock_package";
    const LABEL: &'static str = "mock package";
    const DOC: &'static str = "1 where a line that is no glue and no line of the original registers another module \
        than the gist itself under a name of the repository";
    const SOURCE: FormulaSource = FormulaSource::Paper("B.4 (3)");
    const UNIT: MeasureUnit = MeasureUnit::Fault;
    const SHOWN: MeasureTable = MeasureTable::Changes;

    fn evidence(facts: &Facts<'_>) -> Option<ChangedLines> {
        let gist = tested(facts)?;
        let lines = gist.outline.lines.iter().filter(|line| {
            !gist.map.is_glue(line.first)
                && gist.codebase.places(line).next().is_none()
                && registers(&gist.text[line.range.0..line.range.1], gist.is_internal)
        });
        Some(ChangedLines::of(lines))
    }

    fn value(evidence: &ChangedLines) -> Option<f64> {
        evidence.flag()
    }

    fn remark(evidence: &ChangedLines) -> String {
        evidence.shown()
    }
}

/// The gist of a command that runs test functions.
fn tested<'a>(facts: &Facts<'a>) -> Option<GistFacts<'a>> {
    facts.gist.filter(|gist| !gist.tests.is_empty())
}

/// The line `if __name__ == "__main__":` of a file's top level.
fn guard(outline: &Outline) -> Option<&Line> {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let forms = "if __name__ == '__main__': pass\nif '__main__' == __name__: pass\n";
        Outline::of(forms).lines.iter().filter(|l| l.role == Role::If).map(|l| l.key).collect()
    });
    outline.lines.iter().find(|line| line.block.is_empty() && KEYS.contains(&line.key))
}

/// Returns true if a statement makes or registers a module under a name of the repository, but for the gist itself:
/// `sys.modules["pkg"] = sys.modules[__name__]`.
fn registers(text: &str, is_internal: &dyn Fn(&str) -> bool) -> bool {
    let makes = text.contains("sys.modules") || text.contains("ModuleType(");
    let itself = ["modules[__name__]", "modules.get(__name__)"].iter().any(|it| text.contains(it));
    let mut words = text.split(['"', '\'']).skip(1).step_by(2);
    makes && !itself && words.any(|word| !word.is_empty() && is_internal(word))
}
