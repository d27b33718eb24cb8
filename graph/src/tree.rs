//! The hierarchical code tree: packages, modules, classes and functions, with their sizes, signatures
//! and the heads of their docstrings (RepoMaster, 3.2.1).
//!
//! Owns the tree as data. Texts are cut from the files when they are asked for, since a graph keeps
//! none of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ruff_source_file::UniversalNewlines;
use serde::{Deserialize, Serialize};

use crate::{
    facts::{EntityKind, Span},
    graph::{EntityId, FileId, Graph},
    source::Source,
    walk::{WalkOptions, read},
};

/// The kind of a node of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A directory.
    Package,
    /// A file.
    Module,
    /// A class.
    Class,
    /// A function or method.
    Function,
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    /// The kind of the node.
    pub level: Level,
    /// Directory, file or definition name.
    pub name: String,
    /// First and last line; of a package 0 and the sum of its files' lines.
    pub lines: (u32, u32),
    /// From `def` or `class` to the end of the signature, on one line.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub signature: String,
    /// First line of the docstring.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub doc: String,
    /// Base class expressions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub bases: Vec<String>,
    /// Decorator expressions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub decorators: Vec<String>,
    /// The children, in source order; those of a package by name.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub children: Vec<TreeNode>,
}

/// The source of texts: the repository that a graph was built of.
#[derive(Debug, Clone)]
pub struct Texts {
    root: PathBuf,
    options: WalkOptions,
}

impl Texts {
    /// Texts of the files below a directory.
    pub fn new(root: impl Into<PathBuf>, options: WalkOptions) -> Self {
        Self { root: root.into(), options }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if a path leads to something that does not belong to the repository.
    pub fn is_apart(&self, path: &str) -> bool {
        self.options.is_apart(path)
    }

    /// The decoded text of a file; empty where it can no longer be read.
    pub fn of(&self, path: &str) -> String {
        let Ok(bytes) = read(&self.root, path, &self.options) else { return String::new() };
        match Source::decode(path, &bytes) {
            Ok(source) => source.text().to_owned(),
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// The README, however its name is written; empty without one. Pipes and links that lead out of the
    /// repository are none.
    pub fn readme(&self) -> String {
        let Ok(real) = fs::canonicalize(&self.root) else { return String::new() };
        let Ok(entries) = fs::read_dir(&real) else { return String::new() };
        let mut found: Vec<(usize, String)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let place = READMES.iter().position(|known| name.eq_ignore_ascii_case(known))?;
                let inside = fs::canonicalize(entry.path()).ok()?.starts_with(&real);
                inside.then_some((place, name))
            })
            .collect();
        found.sort_unstable();
        let texts = found.iter().filter_map(|(_, name)| read(&self.root, name, &self.options).ok());
        texts
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .find(|text| !text.trim().is_empty())
            .unwrap_or_default()
    }
}

/// Texts in the order in which they are taken for a repository's introduction.
const READMES: &[&str] = &["readme.md", "readme.rst", "readme.txt", "readme"];

/// The lines of a text with their numbers, as Python counts them.
pub fn numbered(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1u32..).zip(text.universal_newlines().map(|line| line.as_str()))
}

/// Returns a line with its number before it, as a model reads it: each space of an aligned column would cost it tokens.
pub fn with_number(number: u32, line: &str) -> String {
    if line.is_empty() { number.to_string() } else { format!("{number} {line}") }
}

/// Returns the number and the text of a line that [`with_number`] made; nothing for any other line.
pub fn parse_numbered(line: &str) -> Option<(u32, &str)> {
    let (number, text) = line.split_once(' ').unwrap_or((line, ""));
    Some((number.parse().ok()?, text))
}

/// The tree of a whole repository.
pub fn tree(graph: &Graph, texts: &Texts) -> TreeNode {
    let mut root = package(String::new());
    for (at, module) in (0u32..).zip(&graph.modules) {
        let node = module_tree(graph, FileId(at), &texts.of(&module.path));
        let (directory, _) = module.path.rsplit_once('/').unwrap_or(("", ""));
        let mut into = &mut root;
        into.lines.1 += node.lines.1;
        for part in directory.split('/').filter(|part| !part.is_empty()) {
            let known = into
                .children
                .iter()
                .position(|child| child.level == Level::Package && child.name == part);
            let at = known.unwrap_or_else(|| {
                into.children.push(package(part.to_owned()));
                into.children.len() - 1
            });
            into = &mut into.children[at];
            into.lines.1 += node.lines.1;
        }
        into.children.push(node);
    }
    root
}

/// The tree of one module, given its text.
pub fn module_tree(graph: &Graph, module: FileId, text: &str) -> TreeNode {
    let node = graph.module(module);
    let end = graph
        .modules
        .get(module.0 as usize + 1)
        .map_or(graph.entities.len(), |next| next.entity.0 as usize);
    let first = node.entity.0 as usize;
    let mut nodes: Vec<Option<TreeNode>> = graph.entities[first..end]
        .iter()
        .map(|entity| {
            let level = match entity.kind {
                EntityKind::Module => Level::Module,
                EntityKind::Class => Level::Class,
                EntityKind::Function => Level::Function,
                EntityKind::Lambda => return None,
            };
            let name = match level {
                Level::Module => node.path.rsplit('/').next().unwrap_or(&node.path).to_owned(),
                _ => entity.name.clone(),
            };
            Some(TreeNode {
                level,
                name,
                lines: (entity.line, entity.end_line),
                signature: one_line(entity.header.of(text)),
                doc: head(entity.doc.of(text)),
                bases: cut(&entity.bases, text),
                decorators: cut(&entity.decorators, text),
                children: Vec::new(),
            })
        })
        .collect();
    // A definition is listed after the one around it, so children are complete before their parents.
    for at in (1..nodes.len()).rev() {
        let parent = graph.entities[first + at].parent.0 as usize - first;
        // What stands inside a lambda has no node to hang on.
        if let Some(child) = nodes[at].take()
            && let Some(parent) = &mut nodes[parent]
        {
            parent.children.push(child);
        }
    }
    let mut root = nodes.swap_remove(0).unwrap_or_else(|| package(node.path.clone()));
    sort(&mut root);
    root
}

/// The signature of a definition on one line, cut from its file's text.
pub fn signature(graph: &Graph, id: EntityId, text: &str) -> String {
    one_line(graph.entity(id).header.of(text))
}

/// The first line of a definition's docstring, cut from its file's text.
pub fn doc_head(graph: &Graph, id: EntityId, text: &str) -> String {
    head(graph.entity(id).doc.of(text))
}

fn package(name: String) -> TreeNode {
    TreeNode {
        level: Level::Package,
        name,
        lines: (0, 0),
        signature: String::new(),
        doc: String::new(),
        bases: Vec::new(),
        decorators: Vec::new(),
        children: Vec::new(),
    }
}

fn sort(node: &mut TreeNode) {
    node.children.sort_by_key(|child| child.lines);
    for child in &mut node.children {
        sort(child);
    }
}

fn cut(spans: &[Span], text: &str) -> Vec<String> {
    spans.iter().map(|span| one_line(span.of(text))).collect()
}

fn head(doc: &str) -> String {
    doc.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("").to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let graph = Graph::of_sources([("m.py", text)]);
        let tree = module_tree(&graph, FileId(0), text);
        let mut lines = Vec::new();
        show(&tree, 0, &mut lines);
        assert_eq!(lines.join("\n"), expected);
    }

    fn show(node: &TreeNode, depth: usize, lines: &mut Vec<String>) {
        let decorators: String = node.decorators.iter().map(|d| format!("@{d} ")).collect();
        let signature = if node.signature.is_empty() { &node.name } else { &node.signature };
        let doc = if node.doc.is_empty() { String::new() } else { format!(" # {}", node.doc) };
        let (from, to) = node.lines;
        lines.push(format!("{}{decorators}{signature} {from}-{to}{doc}", " ".repeat(depth * 2)));
        for child in &node.children {
            show(child, depth + 1, lines);
        }
    }

    #[test]
    fn definitions_nest_with_signatures_and_docs() {
        check(
            "\"\"\"A module.\n\nMore.\"\"\"\n\n@register('x')\nclass A(B[int],\n        C):\n    \
             '''Class.'''\n    @property\n    def f(self, x: int = 1) -> 'A':\n        def inner(): pass\n\n\
             async def g(*a, **k): return lambda: 1\n",
            "m.py 1-13 # A module.\n  @register('x') class A(B[int], C) 5-11 # Class.\n    \
             @property def f(self, x: int = 1) -> 'A' 9-11\n      def inner() 11-11\n  async def g(*a, **k) 13-13",
        );
    }

    #[test]
    fn broken_source_keeps_its_definitions() {
        check(
            "def good(): pass\ndef bad(:\n    pass\nclass Also:\n    def f(self): return (1\n",
            "m.py 1-5\n  def good() 1-1\n  def bad(: 2-3\n  class Also 4-5\n    def f(self) 5-5",
        );
    }
}
