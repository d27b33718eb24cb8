//! The modules of a repository with what their global names mean, and where those are defined.
//!
//! Reads whole files; nothing has to run. Names follow the one resolver; what a name means besides its own
//! statement (the import that a fallback stands in for) is decided here.

use std::path::Path;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use ruff_python_ast::{Expr, Stmt, name::Name};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashMap;

use super::names::{UsedName, used_names};
use crate::{
    graph::BuildOptions,
    load,
    module::{Layout, Module, ModuleId, Modules},
    pythons::Pythons,
    resolve::{BindingKind, Resolver, Target},
    scope,
    source::Source,
    syntax::Syntax,
    walk::{FileSkipReason, SkippedFile, read, walk},
};

/// Modules whose names are types, and no dependency of what runs.
const TYPING: [&str; 2] = ["typing", "typing_extensions"];
/// Calls that make a type variable: `T = TypeVar("T")`.
const TYPE_VARIABLES: [&str; 3] = ["TypeVar", "ParamSpec", "TypeVarTuple"];

/// The kind of a repository's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum DefinitionKind {
    Function,
    Class,
    Variable,
}

/// A name that a module defines itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Home {
    pub module: ModuleId,
    pub name: Name,
}

/// The target of a used name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameMeaning {
    /// A definition of the repository, and the name by which the user of it says it.
    Own { home: Home, written: Name },
    /// Something that an import brings from outside, or a module.
    Imported,
    /// A type of the typing modules.
    Typing,
    /// A builtin, or nothing that can be seen.
    Unknown,
}

/// The statements that define a name.
#[derive(Debug, Clone)]
pub(super) struct DefiningStatements<'a> {
    pub kind: DefinitionKind,
    pub statements: Vec<&'a Stmt>,
}

/// Reads the modules of a repository; what cannot be read is told apart.
pub(super) fn read_modules(root: &Path, options: &BuildOptions) -> (Modules, Vec<SkippedFile>) {
    let (files, mut skipped) = walk(root, &options.walk);
    let projects = load::projects(root, &files);
    let decoded = load::in_pool(options.threads, || {
        let texts = files.par_iter().map(|file| {
            let bytes = read(root, &file.path, &options.walk)?;
            match std::str::from_utf8(&bytes) {
                Ok(_) => Source::decode(&file.path, &bytes)
                    .map_err(|error| FileSkipReason::Unreadable(error.to_string())),
                // A function is exchanged by its bytes.
                Err(_) => Err(FileSkipReason::Unreadable("not UTF-8".to_owned())),
            }
        });
        texts.collect::<Vec<Result<Source, FileSkipReason>>>()
    });
    let mut sources = Vec::new();
    for (file, source) in files.into_iter().zip(decoded) {
        match source {
            Ok(source) => sources.push(source),
            Err(reason) => skipped.push(SkippedFile { path: file.path, reason }),
        }
    }
    (modules_of(sources, &projects, options.pythons), skipped)
}

/// Names modules by their paths, sorted.
pub(super) fn modules_of(
    mut sources: Vec<Source>,
    projects: &[String],
    pythons: Pythons,
) -> Modules {
    sources.sort_by(|a, b| a.path().cmp(b.path()));
    let paths = sources.iter().map(|source| source.path().to_owned()).collect();
    let layout = Layout::new(paths, projects, pythons);
    let list = (0u32..)
        .zip(sources)
        .map(|(file, source)| Module::new(layout.name_of(file), Syntax::parse(source)));
    Modules::new(list.collect(), [])
}

/// Modules, and what their names mean.
pub(super) struct Library<'a> {
    pub modules: &'a Modules,
    resolver: Resolver<'a>,
    definitions: FxHashMap<Home, DefiningStatements<'a>>,
    stars: FxHashMap<ModuleId, Vec<(TextSize, ModuleId)>>,
}

impl<'a> Library<'a> {
    pub(super) fn new(modules: &'a Modules) -> Self {
        let resolver = Resolver::new(modules, None, |_, _| true);
        let mut definitions: FxHashMap<Home, Vec<&'a Stmt>> = FxHashMap::default();
        let mut stars: FxHashMap<ModuleId, Vec<(TextSize, ModuleId)>> = FxHashMap::default();
        for (id, module) in modules.iter() {
            scope::for_each_statement(module.syntax.body(), &mut |stmt| match stmt {
                Stmt::Import(_) => {}
                Stmt::ImportFrom(import) => {
                    let named = import.module.as_ref().map(|name| name.as_str());
                    let source = modules.absolute(id, import.level, named);
                    if import.names.iter().any(|alias| &alias.name == "*")
                        && let Some(source) = source.and_then(|name| modules.find(&name))
                    {
                        stars.entry(id).or_default().push((stmt.start(), source));
                    }
                }
                _ => {
                    for name in scope::bound_directly(stmt) {
                        definitions.entry(Home { module: id, name }).or_default().push(stmt);
                    }
                }
            });
        }
        let definitions = definitions.into_iter().map(|(home, all)| (home, defined(all))).collect();
        Self { modules, resolver, definitions, stars }
    }

    /// The statements that define a name; nothing for one that only functions bind.
    pub(super) fn definition(&self, home: &Home) -> Option<&DefiningStatements<'a>> {
        self.definitions.get(home)
    }

    /// The names that a statement of a module uses, with what each means.
    pub(super) fn uses(&self, module: ModuleId, stmt: &Stmt) -> Vec<(UsedName, NameMeaning)> {
        let used = used_names(stmt);
        used.into_iter().map(|used| (used.clone(), self.meaning(module, &used))).collect()
    }

    /// The place of the import statement of a module that brings a name to it; nothing for its own.
    pub(super) fn import_place(&self, module: ModuleId, name: &Name) -> Option<TextSize> {
        match self.resolver.bindings(module, name) {
            Some(bindings) => {
                let imports = bindings.iter().rfind(|one| one.kind != BindingKind::Own);
                imports.map(|binding| binding.at)
            }
            None => {
                let stars = self.stars.get(&module)?;
                let brings = |source: ModuleId| self.resolver.star_names(source).contains(name);
                stars.iter().rfind(|(_, source)| brings(*source)).map(|(at, _)| *at)
            }
        }
    }

    fn meaning(&self, module: ModuleId, used: &UsedName) -> NameMeaning {
        let mut written = used.name.clone();
        let target = match &used.import {
            None => self.target(module, &used.name),
            Some(import) => {
                let named = import.module.as_deref();
                let Some(source) = self.modules.absolute(module, import.level, named) else {
                    return NameMeaning::Imported;
                };
                match &import.attribute {
                    Some(name) => self.attribute(&source, name),
                    None => Some(self.module(&source)),
                }
            }
        };
        let mut target = target;
        let mut attributes = used.attributes.iter();
        // `package.module.name` is the name; `name.attribute` is still that name.
        while let Some(Target::Module(inner)) = &target {
            let Some(next) = attributes.next() else { break };
            target = self.attribute(inner, next);
            written = next.clone();
        }
        match target {
            Some(Target::Own(module, name)) => {
                let home = Home { module, name };
                match self.definition(&home) {
                    Some(definition) if self.is_type(&home, definition) => NameMeaning::Typing,
                    _ => NameMeaning::Own { home, written },
                }
            }
            Some(Target::External(outside, _)) if TYPING.contains(&outside.as_str()) => {
                NameMeaning::Typing
            }
            Some(Target::Module(_) | Target::External(..)) => NameMeaning::Imported,
            Some(Target::Builtin(_)) | None => NameMeaning::Unknown,
        }
    }

    /// Returns true if a variable is nothing but a type:
    ///
    /// ```text
    /// T = TypeVar("T")
    /// Text = Union[str, bytes]
    /// Number: TypeAlias = int
    /// ```
    fn is_type(&self, home: &Home, definition: &DefiningStatements<'_>) -> bool {
        let from_typing = |expr: &Expr| {
            let Some(name) = last_name(expr) else { return false };
            let base = match expr {
                Expr::Attribute(attribute) => attribute.value.as_name_expr().map(|base| &base.id),
                _ => Some(name),
            };
            let target = base.and_then(|base| self.resolver.resolve(home.module, base));
            matches!(target, Some(Target::External(module, _)) if TYPING.contains(&module.as_str()))
        };
        let makes_type = |value: &Expr| match value {
            Expr::Call(call) => {
                last_name(&call.func).is_some_and(|name| TYPE_VARIABLES.contains(&name.as_str()))
            }
            Expr::Subscript(subscript) => from_typing(&subscript.value),
            _ => false,
        };
        !definition.statements.is_empty()
            && definition.statements.iter().all(|stmt| match stmt {
                Stmt::Assign(assign) => makes_type(&assign.value),
                Stmt::AnnAssign(assign) => {
                    last_name(&assign.annotation).is_some_and(|name| name == "TypeAlias")
                        || assign.value.as_deref().is_some_and(makes_type)
                }
                Stmt::TypeAlias(_) => true,
                _ => false,
            })
    }

    fn module(&self, name: &str) -> Target {
        match self.modules.is_internal(name) {
            true => Target::Module(name.to_owned()),
            false => Target::External(name.to_owned(), None),
        }
    }

    fn attribute(&self, module: &str, name: &Name) -> Option<Target> {
        if !self.modules.is_internal(module) {
            return Some(Target::External(module.to_owned(), Some(name.clone())));
        }
        let target = self.resolver.attribute(module, name)?;
        Some(self.before_fallback(target))
    }

    fn target(&self, module: ModuleId, name: &Name) -> Option<Target> {
        let target = self.resolver.resolve(module, name)?;
        Some(self.before_fallback(target))
    }

    /// The import that an assignment stands in for, where it fails:
    ///
    /// ```text
    /// try:
    ///     import fast as parser      <- this is what `parser` means
    /// except ImportError:
    ///     parser = None
    /// ```
    fn before_fallback(&self, target: Target) -> Target {
        let Target::Own(module, name) = &target else { return target };
        let Some(bindings) = self.resolver.bindings(*module, name) else { return target };
        let imported = bindings.iter().position(|one| one.kind != BindingKind::Own);
        let own = bindings.iter().rposition(|one| one.kind == BindingKind::Own);
        let (Some(imported), Some(own)) = (imported, own) else { return target };
        let body = self.modules.get(*module).syntax.body();
        let around = |at: TextSize| body.iter().find(|stmt| stmt.range().contains(at));
        let together = around(bindings[imported].at)
            .is_some_and(|stmt| stmt.is_try_stmt() && stmt.range().contains(bindings[own].at));
        if !together {
            return target;
        }
        let after = bindings[imported].at + TextSize::from(1);
        self.resolver.resolve_before(*module, name, after).unwrap_or(target)
    }
}

/// Returns the definition of a name: the last of several, with the assignments to the name after
/// it.
fn defined(statements: Vec<&Stmt>) -> DefiningStatements<'_> {
    let last = statements.iter().rposition(|stmt| kind_of(stmt) != DefinitionKind::Variable);
    match last {
        Some(at) => DefiningStatements {
            kind: kind_of(statements[at]),
            statements: statements[at..].to_vec(),
        },
        None => DefiningStatements { kind: DefinitionKind::Variable, statements },
    }
}

fn kind_of(stmt: &Stmt) -> DefinitionKind {
    match stmt {
        Stmt::FunctionDef(_) => DefinitionKind::Function,
        Stmt::ClassDef(_) => DefinitionKind::Class,
        _ => DefinitionKind::Variable,
    }
}

/// The last part of a dotted name.
fn last_name(expr: &Expr) -> Option<&Name> {
    match expr {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr.id),
        _ => None,
    }
}
