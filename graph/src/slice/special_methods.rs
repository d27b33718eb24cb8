//! Methods that Python calls without their name in the code, as far as slices depend on them.

use ruff_python_ast::name::Name;

/// The method that provides missing attributes of a module or an object.
pub(crate) const GETATTR: Name = Name::new_static("__getattr__");

/// Returns true if a method decides the outcome of tests implicitly: comparisons, truth, and
/// whether a failure propagates.
pub fn decides(method: &str) -> bool {
    const METHODS: [&str; 10] = [
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__bool__",
        "__contains__",
        "__exit__",
        "__aexit__",
    ];
    METHODS.contains(&method)
}
