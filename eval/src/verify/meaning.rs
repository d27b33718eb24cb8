//! Things that names stand for, in the original and in a gist.
//!
//! The original's names are resolved by the one resolver of `graph`; those of a gist follow from lines that were matched
//! and from parsed glue.

use std::collections::{BTreeMap, BTreeSet};

use graph::{
    Glue, GlueTarget, Module, Modules, Pythons, Resolver, Source, Syntax, Target, Trace,
    module_docstring,
};
use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;
use tools::Internal;

use super::tree::hit;
use crate::{codebase::Codebase, scorers::Executed};

/// A thing that a global name stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// An object that a statement of the repository binds: the file and the name.
    Own(String, String),
    /// A module of the repository.
    Module(String),
    /// The gist, in the place of any module of the repository.
    Gist,
    /// A module from outside, or a name of one.
    External(String, Option<String>),
    /// A built-in.
    Builtin(String),
}

/// The modules of an original that ran.
pub fn modules_of(codebase: &Codebase, internal: &Internal, trace: &Trace) -> Modules {
    // `python -m pkg` runs pkg/__main__.py as `__main__`; its relative imports are those of the package.
    let of_package = |path: &str| {
        let package = format!("{}/__init__.py", path.strip_suffix("/__main__.py")?);
        let (name, _) = internal.modules.iter().find(|(_, path)| **path == package)?;
        Some(format!("{name}.__main__"))
    };
    let list = internal.modules.iter().filter_map(|(name, path)| {
        let file = codebase.file(path)?;
        let name = of_package(path).filter(|_| name == "__main__").unwrap_or_else(|| name.clone());
        Some(Module::new(&name, Syntax::parse(Source::new(&*file.path, &*file.text))))
    });
    let others = trace.modules.keys().chain(trace.compiled.keys()).cloned();
    Modules::new(list.collect(), others)
}

/// The names of an original.
pub struct Meaning<'a> {
    pub resolver: Resolver<'a>,
    pub trace: &'a Trace,
    /// Global names that some module binds.
    bound: FxHashSet<String>,
}

impl<'a> Meaning<'a> {
    /// Resolves the names of modules by what ran of them.
    pub fn new(modules: &'a Modules, executed: &Executed, trace: &'a Trace) -> Self {
        let ran = |id, stmt: &Stmt| {
            let module = modules.get(id);
            let (first, last) = module.syntax.source().line_span(stmt.range());
            hit(executed.lines_of(module.path()), (first, last))
        };
        let resolver = Resolver::new(modules, Some(trace), ran);
        let bound = modules.iter().flat_map(|(id, _)| resolver.names(id));
        let bound = bound.map(ToString::to_string).collect();
        Self { resolver, trace, bound }
    }

    /// Returns the path of a module's file.
    pub fn path_of(&self, module: &str) -> Option<&str> {
        let modules = self.resolver.modules();
        modules.find(module).map(|id| modules.get(id).path())
    }

    /// Returns the dotted name of the module of a file.
    pub fn module_of(&self, path: &str) -> Option<&str> {
        self.resolver.modules().of_path(path).map(|(_, module)| module.name.as_str())
    }

    /// Returns the values that `__doc__` of a file's module has on some version of Python.
    pub fn docstrings_of(&self, path: &str) -> Vec<String> {
        let modules = self.resolver.modules();
        let Some((_, module)) = modules.of_path(path) else { return Vec::new() };
        let versions = [(3, 12), (3, 13)].into_iter();
        versions.filter_map(|python| module_docstring(module.syntax.body(), python)).collect()
    }

    /// Returns the package of a file's module.
    pub fn package_of(&self, path: &str) -> Option<&str> {
        let (_, module) = self.resolver.modules().of_path(path)?;
        match module.is_package {
            true => Some(&module.name),
            false => module.name.rsplit_once('.').map(|(package, _)| package),
        }
    }

    /// Returns true if the repository defines a module of this name.
    pub fn is_internal(&self, module: &str) -> bool {
        self.resolver.modules().is_internal(module)
    }

    /// Returns true if the dotted name of some module of the repository ends in a name.
    pub fn is_last_of_module(&self, name: &str) -> bool {
        self.trace.modules.keys().any(|module| module.rsplit('.').next() == Some(name))
    }

    /// Returns true if no module binds a name and no built-in has it.
    pub fn is_fresh(&self, name: &str) -> bool {
        !self.bound.contains(name) && !self.is_builtin(name)
    }

    /// Returns true if the interpreter of the run provides a name to every module.
    pub fn is_builtin(&self, name: &str) -> bool {
        self.trace.pythons().has_builtin(name)
    }

    /// Returns the target of a name in a file.
    pub fn in_file(&self, path: &str, name: &str) -> Option<Thing> {
        let (id, _) = self.resolver.modules().of_path(path)?;
        match self.resolver.resolve(id, &Name::new(name)) {
            Some(target) => Some(self.thing(target)),
            None => self.is_builtin(name).then(|| Thing::Builtin(name.to_owned())),
        }
    }

    /// Returns the target of a name in a statement of the top level of a file, at a position.
    pub fn in_file_at(&self, path: &str, name: &str, at: TextSize) -> Option<Thing> {
        let (id, _) = self.resolver.modules().of_path(path)?;
        match self.resolver.resolve_before(id, &Name::new(name), at) {
            Some(target) => Some(self.thing(target)),
            None => self.is_builtin(name).then(|| Thing::Builtin(name.to_owned())),
        }
    }

    /// Returns the target of an attribute of a module.
    pub fn attribute(&self, module: &str, name: &str) -> Option<Thing> {
        self.resolver.attribute(module, &Name::new(name)).map(|target| self.thing(target))
    }

    /// Returns true if a name stands for a thing in some module at the end.
    pub fn is_anywhere(&self, name: &str, thing: &Thing) -> bool {
        let wanted = Name::new(name);
        self.resolver.modules().iter().any(|(id, _)| {
            let target = self.resolver.resolve(id, &wanted);
            target.is_some_and(|target| same(&self.thing(target), thing))
        })
    }

    /// Returns true if a statement of some module binds a name to a thing, whatever a later one binds it to.
    pub fn is_ever(&self, name: &str, thing: &Thing) -> bool {
        let wanted = Name::new(name);
        self.resolver.modules().iter().any(|(id, _)| {
            let mut targets = self.resolver.targets(id, &wanted).into_iter();
            targets.any(|target| same(&self.thing(target), thing))
        })
    }

    fn thing(&self, target: Target) -> Thing {
        match target {
            Target::Own(id, name) => {
                let path = self.resolver.modules().get(id).path();
                Thing::Own(path.to_owned(), name.to_string())
            }
            Target::Module(name) => Thing::Module(name),
            Target::External(module, name) => {
                Thing::External(module, name.map(|name| name.to_string()))
            }
            Target::Builtin(name) => Thing::Builtin(name.to_string()),
        }
    }
}

/// Returns true if two things are one; the gist is all modules.
pub fn same(left: &Thing, right: &Thing) -> bool {
    left == right
        || matches!(
            (left, right),
            (Thing::Gist, Thing::Module(_)) | (Thing::Module(_), Thing::Gist)
        )
}

/// The targets of a gist's global names, at each line.
#[derive(Debug, Default)]
pub struct Timeline {
    pythons: Pythons,
    bound: BTreeMap<String, Vec<(u32, Option<Thing>)>>,
}

impl Timeline {
    /// Returns a timeline without names, for runs on these versions.
    pub fn of(pythons: Pythons) -> Self {
        Self { pythons, ..Self::default() }
    }

    /// Binds a name to a target from a line on; `None` for an unknown one.
    pub fn bind(&mut self, line: u32, name: &str, thing: Option<Thing>) {
        self.bound.entry(name.to_owned()).or_default().push((line, thing));
    }

    /// Notes what a glue statement binds.
    pub fn bind_glue(&mut self, line: u32, glue: &Glue) {
        let mut bind_all = |targets: &[GlueTarget], thing: &Thing| {
            for target in targets {
                if let GlueTarget::Name(name) = target {
                    self.bind(line, name, Some(thing.clone()));
                }
            }
        };
        match glue {
            Glue::GistModule(targets) => bind_all(targets, &Thing::Gist),
            Glue::ModuleObject { targets, module } => {
                bind_all(targets, &Thing::Module(module.clone()));
            }
            Glue::Alias { target, source } => {
                let thing = self.before(line, source).cloned().or_else(|| {
                    self.pythons.has_builtin(source).then(|| Thing::Builtin(source.clone()))
                });
                self.bind(line, target, thing);
            }
            Glue::Import(names) => {
                for one in names {
                    let top = one.name.split('.').next().unwrap_or_default().to_owned();
                    let (name, module) = match &one.asname {
                        Some(asname) => (asname.clone(), one.name.clone()),
                        None => (top.clone(), top),
                    };
                    self.bind(line, &name, Some(Thing::External(module, None)));
                }
            }
            Glue::ImportFrom { module, names } => {
                for one in names {
                    let thing = Thing::External(module.clone(), Some(one.name.clone()));
                    self.bind(line, one.asname.as_ref().unwrap_or(&one.name), Some(thing));
                }
            }
            Glue::Delete(name) => self.bind(line, name, Some(Thing::Builtin(name.clone()))),
            Glue::Attribute { target, .. } => self.bind(line, target, None),
            Glue::PackageName { .. }
            | Glue::Fill { .. }
            | Glue::Located { .. }
            | Glue::ClassModule(_)
            | Glue::FunctionModule { .. }
            | Glue::Global(_)
            | Glue::FailedImport(_)
            | Glue::Plugins(_)
            | Glue::EntryPoint { .. }
            | Glue::QuietScript
            | Glue::LateModules
            | Glue::Late(_)
            | Glue::Load(_)
            | Glue::HiddenLazy
            | Glue::Data(_)
            | Glue::LeftOut(_)
            | Glue::Pass => {}
        }
    }

    /// Returns the target of a name just before a line.
    pub fn before(&self, line: u32, name: &str) -> Option<&Thing> {
        let bound = self.bound.get(name)?;
        bound.iter().rfind(|(from, _)| *from < line)?.1.as_ref()
    }

    /// Returns true if a name is bound again behind a line.
    pub fn is_rebound(&self, line: u32, name: &str) -> bool {
        self.bound.get(name).and_then(|bound| bound.last()).is_some_and(|(from, _)| *from > line)
    }

    /// Returns the target of a name at the end.
    pub fn last(&self, name: &str) -> Option<&Thing> {
        self.bound.get(name)?.last()?.1.as_ref()
    }

    /// Returns everything that a name ever stands for.
    pub fn ever(&self, name: &str) -> BTreeSet<&Thing> {
        self.bound.get(name).into_iter().flatten().filter_map(|(_, thing)| thing.as_ref()).collect()
    }

    /// Returns the names with their targets at the end.
    pub fn at_end(&self) -> impl Iterator<Item = (&str, &Thing)> {
        self.bound
            .iter()
            .filter_map(|(name, bound)| Some((name.as_str(), bound.last()?.1.as_ref()?)))
    }

    /// Returns the module that an object in the place of one stands for.
    pub fn module_object(&self, name: &str) -> Option<&str> {
        self.ever(name).into_iter().find_map(|thing| match thing {
            Thing::Module(module) => Some(module.as_str()),
            _ => None,
        })
    }
}
