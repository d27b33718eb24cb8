//! Lists the names that the imports at the top of a file bind.

use std::collections::BTreeSet;

use ruff_python_ast::Stmt;

use crate::{
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// The names that imports at the top level of a file bind, those in blocks left out.
pub fn imported(source: Source) -> BTreeSet<String> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(source);
        let names = syntax.body().iter().flat_map(|stmt| match stmt {
            Stmt::Import(import) => import.names.iter().map(scope::local_of_import).collect(),
            Stmt::ImportFrom(import) => import.names.iter().map(scope::local_of_import).collect(),
            _ => Vec::new(),
        });
        names.map(|name| name.to_string()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_an_import_calls_it() {
        let text = "import os.path\nimport a as b, c\nfrom d import (\n    e as f,\n    g,\n)\nif h:\n    import i\n";
        let found: Vec<String> = imported(Source::new("m.py", text)).into_iter().collect();
        assert_eq!(found, ["b", "c", "f", "g", "os"]);
    }
}
