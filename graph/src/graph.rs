//! The graphs of a repository: the tree of modules and definitions, the imports, the calls, and the
//! uses of each definition.
//!
//! Owns the finished data and its construction from facts. Ranking, queries and rendering read it
//! and live elsewhere. A graph never changes: a changed repository gives another one.

use std::path::Path;

use compact_str::CompactString;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::{
    assemble,
    facts::{EntityKind, ImportPlace, Measures, Span},
    load::{self, Loaded},
    pythons::Pythons,
    walk::{SkippedFile, WalkOptions},
};

/// Index of a module in [`Graph::modules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileId(pub u32);

/// Index of a definition in [`Graph::entities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u32);

/// A Python file as a node of the module dependency graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleNode {
    /// Relative path.
    pub path: String,
    /// Dotted name from the nearest import root.
    pub name: String,
    /// The module's own entry among the entities; its definitions follow it.
    pub entity: EntityId,
    /// Numbers for ranking.
    pub measures: Measures,
    /// Syntax errors, as (1-based line, message); the rest of the file counts all the same.
    pub errors: Vec<(u32, String)>,
    /// Some code was nested too deeply and was not looked into.
    pub too_deep: bool,
}

/// A module, class, function or lambda.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// The kind of the entity.
    pub kind: EntityKind,
    /// Its own name; a module's is its dotted name.
    pub name: String,
    /// The definition around it; a module is its own.
    pub parent: EntityId,
    /// The module it stands in.
    pub module: FileId,
    /// First line, decorators included, 1-based.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Line of its `def` or `class`.
    pub keyword_line: u32,
    /// The bytes of its statement, decorators included.
    pub span: Span,
    /// The bytes from `def` or `class` to the end of the signature.
    pub header: Span,
    /// The bytes inside the quotes of its docstring; empty without one.
    pub doc: Span,
    /// Decorator expressions.
    pub decorators: Vec<Span>,
    /// Base class expressions.
    pub bases: Vec<Span>,
    /// It is a method that is there to be overridden: marked as abstract, or nothing but a
    /// `NotImplementedError`.
    pub is_abstract: bool,
    /// It is the part of a property that runs when the attribute is stored or deleted.
    pub is_setter: bool,
}

/// An import between modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleEdge {
    /// The importing module.
    pub from: FileId,
    /// The imported one.
    pub to: FileId,
    /// Coupling: uses of the imported names, at least one per import.
    pub weight: u32,
    /// The place of the import; the earliest to be executed if there are several.
    pub place: ImportPlace,
    /// Line of the first such import.
    pub line: u32,
}

/// The certainty of a call edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Values were followed from a definition to the call.
    Certain,
    /// The name fits.
    Possible,
}

/// One call edge between definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEdge {
    /// The caller; a module or class for code outside functions.
    pub caller: EntityId,
    /// The callee; a class if instantiating it executes no code of the repository.
    pub callee: EntityId,
    /// Number of call sites.
    pub weight: u32,
    /// Line of the first.
    pub line: u32,
}

/// A call that was not followed to a definition of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unresolved {
    /// It calls something outside, by this dotted name.
    Outside(CompactString),
    /// Its callee comes from something outside.
    Foreign,
    /// Nothing was seen to reach it.
    Unknown,
    /// Too much was seen to reach it.
    Ambiguous,
}

/// A call site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSite {
    /// The caller.
    pub caller: EntityId,
    /// Line of the callee's name.
    pub line: u32,
    /// Last name of the called expression, as written; empty where there is none.
    pub name: CompactString,
    /// True if the call is written as `value.name(...)`.
    pub attribute: bool,
    /// True if the source has a call expression. Iteration, `with`, `raise` and properties call
    /// without one.
    pub written: bool,
    /// The certain callees.
    pub callees: SmallVec<[EntityId; 4]>,
    /// The reason why the site has no certain callee, or may have others.
    pub unresolved: Option<Unresolved>,
    /// Attributes that what is called may have been read from, and that were not followed.
    pub behind: Vec<String>,
}

/// A use of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Use {
    /// The entity that is used.
    pub target: EntityId,
    /// In which module.
    pub module: FileId,
    /// On which line.
    pub line: u32,
    /// Inside which definition, its signature and decorators included.
    pub within: EntityId,
    /// An import statement names it there.
    pub import: bool,
}

/// Everything that is known of a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Modules, sorted by path.
    pub modules: Vec<ModuleNode>,
    /// Definitions, each module's together.
    pub entities: Vec<Entity>,
    /// Imports, sorted by both ends.
    pub imports: Vec<ModuleEdge>,
    /// Certain calls, sorted by both ends.
    pub calls: Vec<CallEdge>,
    /// All call sites, sorted by caller and line.
    pub sites: Vec<CallSite>,
    /// Uses, sorted by target.
    pub uses: Vec<Use>,
    /// Classes and what they derive from, nearest first.
    pub bases: Vec<(EntityId, EntityId)>,
    /// True if the value flow reached its fixpoint. If false, some certain calls are missing: too
    /// many values flow into too many names.
    pub complete: bool,
    /// Files that were left out or read only in part.
    pub skipped: Vec<SkippedFile>,
}

/// The options for building a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuildOptions {
    /// The selection of the files.
    pub walk: WalkOptions,
    /// Threads that read and parse; 0 takes as many as there are processors.
    pub threads: usize,
    /// The versions of Python that decide `sys.version_info` gates and which modules are the standard library's.
    pub pythons: Pythons,
}

impl Graph {
    /// Reads a repository and builds its graphs.
    ///
    /// Never fails: unreadable files are in [`Graph::skipped`], syntax errors in
    /// [`ModuleNode::errors`].
    #[tracing::instrument(name = "graphs", level = "debug", skip_all)]
    pub fn build(root: &Path, options: &BuildOptions) -> Self {
        let Loaded { paths, facts, projects, skipped } = load::load(root, options);
        assemble::assemble(paths, &facts, &projects, skipped, options.pythons)
    }

    /// Builds from sources at hand: relative paths and texts.
    pub fn of_sources<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut files: Vec<(String, &str)> =
            sources.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
        files.sort();
        let facts: Vec<_> =
            files.iter().map(|(_, text)| load::facts_of(text, Pythons::SUPPORTED)).collect();
        let paths = files.into_iter().map(|(path, _)| path).collect();
        assemble::assemble(paths, &facts, &[], Vec::new(), Pythons::SUPPORTED)
    }

    /// A definition.
    pub fn entity(&self, id: EntityId) -> &Entity {
        &self.entities[id.0 as usize]
    }

    /// A module.
    pub fn module(&self, id: FileId) -> &ModuleNode {
        &self.modules[id.0 as usize]
    }

    /// The dotted name of a definition, from its module's name on.
    pub fn qualified(&self, id: EntityId) -> String {
        let mut names = Vec::new();
        let mut at = id;
        loop {
            let entity = self.entity(at);
            names.push(entity.name.as_str());
            if entity.parent == at {
                break;
            }
            at = entity.parent;
        }
        names.reverse();
        names.join(".")
    }

    /// The one that a name means, of definitions of it in source order: the last, which takes the place
    /// of those before it; but of a property what reads it.
    pub fn meant(&self, ids: &[EntityId]) -> Option<EntityId> {
        let reads = |&&id: &&EntityId| !self.entity(id).is_setter;
        ids.iter().rfind(reads).or(ids.last()).copied()
    }

    /// All ids of definitions.
    pub fn ids(&self) -> impl Iterator<Item = EntityId> + use<> {
        (0..u32::try_from(self.entities.len()).unwrap_or(u32::MAX)).map(EntityId)
    }

    /// Definitions directly inside another, in source order.
    pub fn children(&self, of: EntityId) -> impl Iterator<Item = EntityId> + '_ {
        let module = self.entity(of).module;
        let first = self.module(module).entity.0;
        let end = self
            .modules
            .get(module.0 as usize + 1)
            .map_or(u32::try_from(self.entities.len()).unwrap_or(u32::MAX), |next| next.entity.0);
        (first..end).map(EntityId).filter(move |&id| id != of && self.entity(id).parent == of)
    }

    /// Returns true if a definition is a function directly in a class.
    pub fn is_method(&self, id: EntityId) -> bool {
        let entity = self.entity(id);
        entity.kind == EntityKind::Function && self.entity(entity.parent).kind == EntityKind::Class
    }

    /// Returns the possible callees of a site: definitions of the same name, without the certain
    /// callees.
    ///
    /// They are computed on demand, since a common method name fits thousands of sites.
    pub fn possible(&self, site: &CallSite, names: &NameIndex) -> Vec<EntityId> {
        let conclusive = matches!(site.unresolved, Some(Unresolved::Outside(_)));
        if conclusive {
            return Vec::new();
        }
        let own = Some(site.name.as_str()).filter(|name| !name.is_empty());
        let own = own.into_iter().flat_map(|name| self.fitting(name, site.attribute, names));
        let mut found: Vec<EntityId> =
            own.chain(self.behind(site, names)).filter(|id| !site.callees.contains(id)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The same of the attributes alone that were not followed.
    pub(crate) fn behind<'s>(
        &'s self,
        site: &'s CallSite,
        names: &'s NameIndex,
    ) -> impl Iterator<Item = EntityId> + 's {
        site.behind.iter().flat_map(move |name| self.fitting(name, true, names))
    }

    /// Returns the functions that are executed if `name` refers to any definition of that name. A
    /// class gives its constructors. A bare name never reaches a method.
    fn fitting<'s>(
        &'s self,
        name: &str,
        attribute: bool,
        names: &'s NameIndex,
    ) -> impl Iterator<Item = EntityId> + 's {
        let fits = names.named(name).iter().copied();
        fits.filter(move |&id| attribute || !self.is_method(id)).flat_map(|id| {
            match self.entity(id).kind {
                EntityKind::Class => {
                    let init = names.constructor(id);
                    if init.is_empty() { vec![id] } else { init }
                }
                _ => vec![id],
            }
        })
    }
}

/// Definitions by their last name.
#[derive(Debug, Default)]
pub struct NameIndex {
    by_name: FxHashMap<String, Vec<EntityId>>,
    constructors: FxHashMap<EntityId, Vec<EntityId>>,
}

impl NameIndex {
    /// Indexes a graph.
    pub fn new(graph: &Graph) -> Self {
        let mut index = NameIndex::default();
        let mut own: FxHashMap<EntityId, Vec<EntityId>> = FxHashMap::default();
        for id in graph.ids() {
            let entity = graph.entity(id);
            if entity.kind == EntityKind::Module {
                continue;
            }
            index.by_name.entry(entity.name.clone()).or_default().push(id);
            if matches!(entity.name.as_str(), "__init__" | "__new__") && graph.is_method(id) {
                own.entry(entity.parent).or_default().push(id);
            }
        }
        for id in graph.ids() {
            if graph.entity(id).kind != EntityKind::Class {
                continue;
            }
            let mut found = own.get(&id).cloned().unwrap_or_default();
            if found.is_empty() {
                let from = graph.bases.partition_point(|&(class, _)| class < id);
                found = graph.bases[from..]
                    .iter()
                    .take_while(|&&(class, _)| class == id)
                    .find_map(|(_, base)| own.get(base).cloned())
                    .unwrap_or_default();
            }
            if !found.is_empty() {
                index.constructors.insert(id, found);
            }
        }
        index
    }

    /// Definitions with this last name, in order.
    pub fn named(&self, name: &str) -> &[EntityId] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The methods that run when a class is called: its own, or those of its nearest base.
    pub fn constructor(&self, class: EntityId) -> Vec<EntityId> {
        self.constructors.get(&class).cloned().unwrap_or_default()
    }
}
