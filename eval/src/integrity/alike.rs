//! What a gist has from outside under another name than the original has: it is judged by what it is.

use super::{Examiner, mentions::imports};
use crate::{
    blocks::{Line, Role},
    codebase::{CodeFile, says},
};

impl Examiner<'_> {
    /// Whether the original imports, somewhere, all that a statement does, and the names that this gives are nothing
    /// else.
    pub(super) fn imports_alike(&self, line: &Line, statement: &str) -> bool {
        let is_one = |name: &String| {
            self.bindings.is_only_imported(name)
                && self.given.get(name).is_some_and(|all| all.len() == 1)
        };
        line.binds.iter().all(is_one) && self.codebase.imports(statement)
    }

    /// Whether the original's block has something from outside under the name that it has there.
    pub(super) fn has_alike(&self, line: &Line, full: &str) -> bool {
        let blocks = self.codebase.block(&line.block).into_iter();
        let mut blocks = blocks.filter(|_| !line.block.is_empty());
        blocks.any(|(file, lines)| {
            let text = |line: &Line| &file.text[line.range.0..line.range.1];
            let is_near = |block: &str| block.is_empty() || block == line.block;
            let near = file.outline.lines.iter().filter(|line| line.role == Role::Import);
            let near = near.filter(|line| is_near(&line.block)).map(text);
            let near = imports(&near.collect::<Vec<_>>().join("\n")).into_iter();
            let mut named = near.flat_map(|(name, all)| {
                let rest =
                    all.into_iter().filter_map(|one| Some(full.strip_prefix(&one)?.to_owned()));
                let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('.'));
                rest.map(|rest| format!("{name}{rest}")).collect::<Vec<_>>()
            });
            let is_in_module =
                |owner: Option<&str>| owner.is_some_and(|owner| self.is_module_in(file, owner));
            named.any(|name| lines.iter().any(|line| says(text(line), &name, |it| it.is_none())))
                || lines.iter().any(|line| says(text(line), full, is_in_module))
        })
    }

    /// Whether a file of the original has a module of the repository, or what is in one, under a name.
    pub(super) fn is_module_in(&self, file: &CodeFile, name: &str) -> bool {
        let is_own = |full: &String| full.starts_with('.') || (self.is_internal)(full);
        file.imports().get(name).is_some_and(|all| all.iter().any(is_own))
    }
}
