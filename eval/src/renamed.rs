//! Whether a line of a gist is one of the original's under another name for something: what had to be renamed
//! because of a collision is changed back before the line is looked up.

use std::{cell::OnceCell, collections::BTreeSet};

use crate::{
    blocks::{Line, Outline},
    integrity::{Part, Places, is_part, renamed_parts},
    support::Support,
};

/// The lines of a gist under original names; nothing is made before it is asked for.
pub struct Renamed<'a> {
    support: &'a Support<'a>,
    /// An attribute of a module that the gist stands for is renamed with what it leads to.
    attributes: OnceCell<Outline>,
    parts: OnceCell<Vec<Part>>,
    under_parts: OnceCell<Outline>,
    imports: OnceCell<Outline>,
}

impl<'a> Renamed<'a> {
    /// Those of a gist.
    pub fn of(support: &'a Support<'a>) -> Self {
        let (attributes, parts, under_parts, imports) = Default::default();
        Self { support, attributes, parts, under_parts, imports }
    }

    /// A line of the gist.
    pub fn line(&self, at: usize) -> Option<&Line> {
        self.under(Places::NamesAndAttributes, &self.attributes, at)
    }

    /// A line of the gist where also modules from outside have their own names.
    pub fn under_imports(&self, at: usize) -> Option<&Line> {
        self.under(Places::NamesAndImports, &self.imports, at)
    }

    /// Whether a line is one of the original's.
    pub fn stands(&self, at: usize) -> bool {
        let place = |line| self.support.codebase.places(line).next();
        self.line(at).and_then(place).is_some() || self.stands_but_for_parts(at)
    }

    /// Whether it is one but for the names of what both import from the same modules: `isdir =
    /// wrap(path_os.isdir)` after `from os import path as path_os`.
    fn stands_but_for_parts(&self, at: usize) -> bool {
        let Support { text, gist, codebase, is_internal, .. } = *self.support;
        let is_word = |c: char| c == '_' || c.is_alphanumeric();
        let words: BTreeSet<&str> = gist.lines[at].text.split(|c| !is_word(c)).collect();
        let parts = self.parts.get_or_init(|| renamed_parts(text));
        let parts = parts.iter().filter(|part| words.contains(part.local.as_str()));
        let parts: Vec<&Part> = parts.filter(|part| !is_internal(&part.module)).collect();
        if parts.is_empty() {
            return false;
        }
        let line = self.under(Places::NamesAndParts, &self.under_parts, at);
        let mut files = line.into_iter().flat_map(|line| codebase.places(line));
        files.any(|place| {
            let file = codebase.file(codebase.path(place));
            file.is_some_and(|file| {
                parts.iter().all(|part| is_part(&file.text, &part.module, &part.name))
            })
        })
    }

    fn under<'s>(
        &self,
        places: Places,
        known: &'s OnceCell<Outline>,
        at: usize,
    ) -> Option<&'s Line> {
        let lines = &known.get_or_init(|| self.support.under_original_names(places)).lines;
        lines.get(at).filter(|_| lines.len() == self.support.gist.lines.len())
    }
}
