//! Lists the internal modules that an external module imports when it is loaded.
//!
//! Such an external module builds on the repository, and the repository's tests load it (a plugin,
//! for example).

use ruff_python_ast::Stmt;

use crate::{
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// Returns the internal modules that a file imports at its top level, with the imported name or
/// `None` for the module itself. Relative imports are ignored: they refer to the external package.
pub fn internal_imports(
    source: Source,
    is_internal: &(dyn Fn(&str) -> bool + Sync),
) -> Vec<(String, Option<String>)> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(source);
        let mut found = Vec::new();
        scope::for_each_statement(syntax.body(), &mut |stmt| match stmt {
            Stmt::Import(import) => {
                let names = import.names.iter().filter(|alias| is_internal(&alias.name));
                found.extend(names.map(|alias| (alias.name.to_string(), None)));
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let from = import.module.as_ref().map_or("", |from| from.as_str());
                if is_internal(from) {
                    let names = import.names.iter().map(|alias| alias.name.to_string());
                    let names = names.map(|name| Some(name).filter(|name| name != "*"));
                    found.extend(names.map(|name| (from.to_owned(), name)));
                }
            }
            _ => {}
        });
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_imported_when_a_file_is_loaded() {
        let text = "import pkg.one, os\nfrom pkg import two as x\nfrom pkg.three import *\ntry:\n    from .pkg import y\nexcept ImportError:\n    from pkg.four import five\ndef f():\n    import pkg.six\n";
        let is_internal = |name: &str| name == "pkg" || name.starts_with("pkg.");
        let found = internal_imports(Source::new("other.py", text), &is_internal);
        let shown: Vec<_> = found.iter().map(|(m, n)| (m.as_str(), n.as_deref())).collect();
        let expected = [
            ("pkg.one", None),
            ("pkg", Some("two")),
            ("pkg.three", None),
            ("pkg.four", Some("five")),
        ];
        assert_eq!(shown, expected);
    }
}
