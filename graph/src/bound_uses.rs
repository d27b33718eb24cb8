//! The uses of a name that a module binds by an import or an assignment, over all files that import it from there.
//!
//! Uses of definitions are in the graph; these names have no definition in the repository, and are followed by their
//! imports and their spelling alone.

use std::collections::BTreeSet;

use ruff_python_ast::{Stmt, token::TokenKind};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::{
    graph::{FileId, Graph},
    passage::{imported, named},
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
    tree::Texts,
};

/// A line that uses a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundUse {
    /// The file of the line.
    pub module: FileId,
    /// The line.
    pub line: u32,
    /// It imports the name; of other lines the spelling alone is known.
    pub is_import: bool,
}

/// Returns the lines that use a name of a module, given as `package.module.name`: in that module, and in those that
/// import the name from it, directly or over others.
///
/// ```text
/// # compat.py                          # utils.py
/// from urllib.parse import urlparse    from .compat import urlparse as parse      # both lines
///                                      def f(url): return parse(url)              # and this one
/// ```
pub fn bound_uses(graph: &Graph, texts: &Texts, name: &str) -> BTreeSet<BoundUse> {
    let Some((module, name)) = named(graph, name) else { return BTreeSet::new() };
    let file_of = |path: &str| {
        let at = graph.modules.iter().position(|module| module.path == path)?;
        Some(FileId(u32::try_from(at).ok()?))
    };
    let Some(file) = file_of(&module.path) else { return BTreeSet::new() };
    with_deep_stack(|| {
        let mut waiting = vec![(file, name)];
        let mut known: BTreeSet<(FileId, String)> = waiting.iter().cloned().collect();
        let mut uses = BTreeSet::new();
        while let Some((file, name)) = waiting.pop() {
            let exporter = graph.module(file);
            let own = Syntax::parse(Source::new(exporter.path.as_str(), texts.of(&exporter.path)));
            spelled(&own, file, None, &name, &mut uses);
            let importers: BTreeSet<FileId> =
                graph.imports.iter().filter(|edge| edge.to == file).map(|edge| edge.from).collect();
            for importer in importers {
                let node = graph.module(importer);
                let syntax = Syntax::parse(Source::new(node.path.as_str(), texts.of(&node.path)));
                for (stmt, local) in from_imports(syntax.body()) {
                    let origin = imported(graph, node, stmt, &local);
                    if origin.is_some_and(|(from, original)| {
                        from.path == exporter.path && original == name
                    }) {
                        let line = syntax.source().line(stmt.start());
                        uses.insert(BoundUse { module: importer, line, is_import: true });
                        if known.insert((importer, local.clone())) {
                            waiting.push((importer, local));
                        }
                    }
                }
                let last = exporter.name.rsplit('.').next().unwrap_or(&exporter.name);
                spelled(&syntax, importer, Some(last), &name, &mut uses);
            }
        }
        let imports: BTreeSet<(FileId, u32)> =
            uses.iter().filter(|one| one.is_import).map(|one| (one.module, one.line)).collect();
        uses.retain(|one| one.is_import || !imports.contains(&(one.module, one.line)));
        uses
    })
}

/// The imports of names in a body, functions and classes included, and the names that they bind.
fn from_imports(body: &[Stmt]) -> Vec<(&Stmt, String)> {
    let mut found = Vec::new();
    scope::for_each_statement(body, &mut |stmt| match stmt {
        Stmt::ImportFrom(import) => {
            let names = import.names.iter().map(scope::local_of_import);
            found.extend(names.map(|name| (stmt, name.to_string())));
        }
        Stmt::FunctionDef(function) => found.extend(from_imports(&function.body)),
        Stmt::ClassDef(class) => found.extend(from_imports(&class.body)),
        _ => {}
    });
    found
}

/// Adds the lines that spell a name: by itself, or as an attribute of a module.
fn spelled(
    syntax: &Syntax,
    file: FileId,
    module: Option<&str>,
    name: &str,
    uses: &mut BTreeSet<BoundUse>,
) {
    let source = syntax.source();
    let tokens = syntax.tokens(TextRange::new(TextSize::new(0), TextSize::of(source.text())));
    for (at, token) in tokens.iter().enumerate() {
        if token.kind() != TokenKind::Name || source.slice(token) != name {
            continue;
        }
        let before = |back: usize| at.checked_sub(back).map(|at| &tokens[at]);
        let is_attribute = before(1).is_some_and(|token| token.kind() == TokenKind::Dot);
        let is_of = |module: &str| before(2).is_some_and(|token| source.slice(token) == module);
        let is_use = match module {
            None => !is_attribute,
            Some(module) => is_attribute && is_of(module),
        };
        if is_use {
            let line = source.line(token.start());
            uses.insert(BoundUse { module: file, line, is_import: false });
        }
    }
}
