//! The dependency set of a function: the functions, classes and variables of the repository that its statement names,
//! and those that these name, to a depth.
//!
//! Out are the function itself, its parameters and locals, builtins, and names of the typing modules (RepoExec,
//! section 4.1). Names that only annotations use are types, and out as well.

use std::collections::VecDeque;

use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::library::{DefinitionKind, Home, Library, NameMeaning};
use crate::module::ModuleId;

/// The definition that a dependency is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// A function of a module's top level.
    Function,
    /// A class of a module's top level.
    Class,
    /// A global variable of a module.
    Variable,
}

/// A definition of the repository that a function needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Its name in its own module.
    pub name: String,
    /// The name by which what needs it writes it: `b` after `from m import a as b`.
    pub written: String,
    /// The definition that it is.
    pub kind: DependencyKind,
    /// Path of the file that defines it, relative to the repository.
    pub path: String,
    /// First line of its first statement, decorators included; 0 where only functions bind it.
    pub line: u32,
    /// Last line of its last statement.
    pub end_line: u32,
    /// 1 for what the function itself names, 2 for what that names, and so on.
    pub depth: u32,
    /// True if another file than the function's defines it.
    pub cross_file: bool,
}

/// A dependency set while texts are cut for it.
pub(super) struct DependencySet {
    /// In the order of a context: by import statement, then the function's own file; deeper ones first.
    pub members: Vec<DependencySetMember>,
    /// Names that imports bring from outside, or modules, as the function writes them, sorted.
    pub imported: Vec<String>,
}

pub(super) struct DependencySetMember {
    pub home: Home,
    pub dependency: Dependency,
}

/// The dependency set of a statement of a module's top level, which defines `own`.
pub(super) fn dependency_set(
    library: &Library<'_>,
    module: ModuleId,
    own: &Name,
    stmt: &Stmt,
    depth: u32,
) -> DependencySet {
    let itself = Home { module, name: own.clone() };
    let mut seen = FxHashSet::from_iter([itself]);
    let mut imported = Vec::new();
    let mut found = Vec::new();
    let mut pending = VecDeque::from([(module, stmt, 1)]);
    while let Some((at, stmt, level)) = pending.pop_front() {
        for (used, meaning) in library.uses(at, stmt) {
            match meaning {
                NameMeaning::Own { home, written } => {
                    if !seen.insert(home.clone()) {
                        continue;
                    }
                    let place = match &used.import {
                        None => library.import_place(at, &used.name),
                        // A function's own imports come behind those of its module.
                        Some(_) => Some(stmt.end()),
                    };
                    let dependency = dependency(library, module, &home, &written, level);
                    found.push((
                        Order::of(library, module, &home, place, level),
                        home.clone(),
                        dependency,
                    ));
                    if level < depth
                        && let Some(definition) = library.definition(&home)
                    {
                        let next = definition.statements.iter();
                        pending.extend(next.map(|&stmt| (home.module, stmt, level + 1)));
                    }
                }
                NameMeaning::Imported if level == 1 => imported.push(used.name.to_string()),
                NameMeaning::Imported | NameMeaning::Typing | NameMeaning::Unknown => {}
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    imported.sort_unstable();
    imported.dedup();
    let members =
        found.into_iter().map(|(_, home, dependency)| DependencySetMember { home, dependency });
    DependencySet { members: members.collect(), imported }
}

/// The position of a dependency in a context.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    /// Deeper ones come first.
    level: std::cmp::Reverse<u32>,
    /// The function's own file comes last.
    in_file: bool,
    /// The import statement that brings it.
    import: Option<TextSize>,
    module: ModuleId,
    /// The place of its definition.
    place: Option<TextSize>,
    name: Name,
}

impl Order {
    fn of(
        library: &Library<'_>,
        module: ModuleId,
        home: &Home,
        import: Option<TextSize>,
        level: u32,
    ) -> Self {
        let in_file = home.module == module;
        let first = library.definition(home).and_then(|all| all.statements.first().copied());
        Self {
            level: std::cmp::Reverse(level),
            in_file,
            import: import.filter(|_| !in_file && level == 1),
            module: home.module,
            place: first.map(Ranged::start),
            name: home.name.clone(),
        }
    }
}

fn dependency(
    library: &Library<'_>,
    module: ModuleId,
    home: &Home,
    written: &Name,
    depth: u32,
) -> Dependency {
    let definition = library.definition(home);
    let source = library.modules.get(home.module).syntax.source();
    let lines = |stmt: &Stmt| source.line_span(stmt.range());
    let statements = definition.map_or(&[][..], |definition| &definition.statements);
    Dependency {
        name: home.name.to_string(),
        written: written.to_string(),
        kind: match definition.map(|definition| definition.kind) {
            Some(DefinitionKind::Function) => DependencyKind::Function,
            Some(DefinitionKind::Class) => DependencyKind::Class,
            Some(DefinitionKind::Variable) | None => DependencyKind::Variable,
        },
        path: source.path().to_owned(),
        line: statements.first().map_or(0, |stmt| lines(stmt).0),
        end_line: statements.last().map_or(0, |stmt| lines(stmt).1),
        depth,
        cross_file: home.module != module,
    }
}
