//! Prunes the module of a function that a test calls.

use super::check;

/// Prunes `a.py`, whose `f` a test calls.
#[track_caller]
pub fn prunes(module: &str, expected: &str) {
    check(
        &format!(
            "--- a.py\n{}\n--- test_a.py\n+from a import f\n+def test_f():\n*    f()",
            module.trim_matches('\n')
        ),
        "test_a.py::test_f",
        &format!("{}\n def test_f():\n     f()", expected.trim_matches('\n')),
    );
}
