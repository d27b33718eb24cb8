//! Loggers that modules call by their own names, and that tests call by these.

use ruff_text_size::TextRange;

use super::select::Selection;

/// The functions through which tests look up loggers by name.
const LOOKING: [&str; 5] = ["getLogger", "at_level", "set_level", "assertLogs", "assertNoLogs"];

/// Texts by which the tests call loggers, which may be those of modules.
pub(super) fn named_by_tests<'s>(selection: &'s Selection<'_>) -> Vec<&'s str> {
    let program = &selection.program;
    let chosen = selection.chosen.iter().filter(|(id, chosen)| {
        let is_test = program.is_support(program.get(**id).module);
        is_test && LOOKING.iter().any(|name| chosen.scan.attributes.contains(*name))
    });
    chosen
        .flat_map(|(_, chosen)| chosen.scan.strings.iter().map(|(text, _)| text.as_str()))
        .collect()
}

/// Returns true if `__name__` is the argument of `getLogger` and tests look that logger, or a
/// parent of it, up by name.
pub(super) fn is_named(texts: &[&str], module: &str, source: &str, name: TextRange) -> bool {
    let is_logger = source[..usize::from(name.start())].ends_with("getLogger(");
    is_logger
        && texts.iter().any(|text| {
            module.strip_prefix(text).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
}
