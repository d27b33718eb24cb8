//! Decides if a statement with the form of glue is allowed at its place.

use graph::{Glue, GlueTarget, Held, Source, Syntax};
use ruff_python_ast::Stmt;
use rustc_hash::FxHashMap;

use super::{File, FoundGlue, Search};
use crate::{
    blocks::{Line, Role, StatementSuite},
    verify::meaning::{Thing, Timeline, same},
};

impl Search<'_> {
    /// Returns the reason why a statement with the form of glue is not allowed at its place.
    pub(super) fn refusal(
        &self,
        found: &FoundGlue,
        at: usize,
        names: &Timeline,
        paths: &[Option<String>],
        places: &FxHashMap<usize, usize>,
    ) -> Option<String> {
        let meaning = self.ground.meaning;
        let line = &self.outline.lines[at];
        let around = line.parent.and_then(|(parent, _)| paths[parent].as_deref());
        let thing = |name: &str| match found.is_global {
            true => names.before(found.first, name).cloned(),
            false => names.last(name).cloned(),
        };
        let thing = |name: &str| {
            let builtin = || meaning.is_builtin(name).then(|| Thing::Builtin(name.to_owned()));
            thing(name).or_else(builtin)
        };
        // A name may be bound if nobody else has it, or if it stands for the same somewhere in the original.
        let may_name = |name: &str, thing: Option<&Thing>| {
            let is_known = |thing: &Thing| {
                meaning.is_anywhere(name, thing)
                    || names.is_rebound(found.first, name) && meaning.is_ever(name, thing)
            };
            meaning.is_fresh(name) || thing.is_some_and(is_known)
        };
        let refused = |reason: String| Some(reason);
        match &found.glue {
            // A warning that it hides is missing on the error stream of the run.
            Glue::QuietScript => (!found.is_global).then(|| "it stands in a function".to_owned()),
            Glue::Pass => None,
            Glue::LateModules | Glue::HiddenLazy => {
                (!found.is_global).then(|| "it stands in a function".to_owned())
            }
            Glue::Late(module) => {
                let path = meaning.path_of(module).filter(|_| line.parent.is_none());
                let mut inside = self.tree.suite(at, StatementSuite::Body).iter();
                let is_other = |at: &usize| {
                    let own = &self.outline.lines[*at];
                    own.role != Role::Import
                        && paths[*at].as_deref().is_some_and(|own| Some(own) != path)
                };
                (path.is_none() || inside.any(is_other))
                    .then(|| format!("its block is not the code of `{module}`"))
            }
            Glue::Load(module) => {
                let is_late =
                    |one: &FoundGlue| matches!(&one.glue, Glue::Late(own) if own == module);
                (!self.glue.iter().any(is_late)).then(|| format!("no block has `{module}`"))
            }
            Glue::Import(imported) => {
                let is_loaded = |module: &str| {
                    ["sys", "types"].contains(&module)
                        || meaning.trace.external.contains_key(module)
                        || self.is_failed(line)
                };
                match imported.iter().find(|one| !is_loaded(&one.name)) {
                    Some(one) => refused(format!("the original does not load `{}`", one.name)),
                    None => imported.iter().find_map(|one| {
                        let name = one.asname.as_ref()?;
                        let thing = Thing::External(one.name.clone(), None);
                        (!may_name(name, Some(&thing)))
                            .then(|| format!("`{name}` is something else in the original"))
                    }),
                }
            }
            Glue::ImportFrom { module, names } => {
                let stays = |name: &str| {
                    let inner = format!("{module}.{name}");
                    meaning.trace.compiled.contains_key(&inner)
                        || meaning.trace.compiled.contains_key(module)
                        || meaning.attribute(module, "__getattr__").is_some()
                };
                let is_known = self.ground.codebase.imports(line.statement(self.text))
                    || meaning.is_internal(module) && names.iter().all(|one| stays(&one.name))
                    || module == "__future__"
                    || self.is_failed(line);
                if !is_known {
                    return refused(format!("the original does not import this from `{module}`"));
                }
                names.iter().find_map(|one| {
                    let name = one.asname.as_ref()?;
                    let thing = Thing::External(module.clone(), Some(one.name.clone()));
                    (!may_name(name, Some(&thing)) && !self.is_own_import(at, name, around))
                        .then(|| format!("`{name}` is something else in the original"))
                })
            }
            Glue::GistModule(targets) => targets.iter().find_map(|target| {
                let (is_known, shown) = match target {
                    GlueTarget::Name(name) => (may_name(name, Some(&Thing::Gist)), name),
                    GlueTarget::Registered(module) => (meaning.is_internal(module), module),
                    GlueTarget::Child { package, name } => {
                        (meaning.is_internal(&format!("{package}.{name}")), name)
                    }
                };
                (!is_known).then(|| format!("`{shown}` is no module of the repository"))
            }),
            Glue::ModuleObject { targets, module } => {
                if !meaning.is_internal(module) {
                    return refused(format!("`{module}` is no module of the repository"));
                }
                targets.iter().find_map(|target| {
                    let is_known = match target {
                        GlueTarget::Name(name) => {
                            may_name(name, Some(&Thing::Module(module.clone())))
                        }
                        GlueTarget::Registered(name) => name == module,
                        GlueTarget::Child { .. } => false,
                    };
                    (!is_known).then(|| format!("it binds what is not `{module}`"))
                })
            }
            Glue::Alias { target, source } => {
                let Some(thing) = thing(source) else {
                    return refused(format!("`{source}` is no name of the original"));
                };
                let is_known = match found.is_global {
                    true => may_name(target, Some(&thing)),
                    false => self.imports_here(at, target, &thing, around),
                };
                (!is_known).then(|| format!("`{target}` is something else in the original"))
            }
            Glue::Global(name) => {
                let thing = names.last(name).cloned();
                let is_known =
                    thing.is_some_and(|thing| self.imports_here(at, name, &thing, around));
                (!is_known).then(|| format!("`{name}` is something else in the original"))
            }
            Glue::PackageName { package, name, source } => {
                let thing = thing(source);
                let wanted = meaning.attribute(package, name);
                let is_same = matches!((&thing, &wanted), (Some(a), Some(b)) if same(a, b));
                (!is_same).then(|| format!("`{package}.{name}` is something else in the original"))
            }
            Glue::Fill { object, held } => {
                let Some(module) = names.module_object(object) else {
                    return refused(format!("`{object}` is not bound to a module"));
                };
                held.iter().find_map(|(name, value)| {
                    let value = match value {
                        Held::Name(value) if name == "__loader__" && value == name => return None,
                        Held::Name(value) => thing(value),
                        Held::Gist => Some(Thing::Gist),
                    };
                    let is_own = matches!(
                        &value,
                        Some(Thing::Own(path, own))
                            if meaning.path_of(module) == Some(path)
                                && (own == name || own == "pytest_sessionstart")
                    );
                    let wanted = meaning.attribute(module, name);
                    let is_same = matches!((&value, &wanted), (Some(a), Some(b)) if same(a, b));
                    (!is_own && !is_same)
                        .then(|| format!("`{module}.{name}` is something else in the original"))
                })
            }
            Glue::Located { object, file, directory, spec } => {
                let module = names.module_object(object);
                let path = module.and_then(|module| meaning.path_of(module));
                let leads = |path: &graph::FilePath| path.from(self.ground.gist);
                let is_known = path.is_some()
                    && leads(file).as_deref() == path
                    && directory.as_ref().is_none_or(|directory| {
                        leads(directory).as_deref()
                            == path.and_then(|path| path.strip_suffix("/__init__.py"))
                    })
                    && spec.as_deref().is_none_or(|name| Some(name) == module);
                (!is_known).then(|| "the original's file is another".to_owned())
            }
            Glue::ClassModule(module) => {
                let own = around.and_then(|path| meaning.module_of(path));
                (own != Some(module)).then(|| format!("the class is not of `{module}`"))
            }
            Glue::FunctionModule { function, module } => {
                let is_own = matches!(
                    thing(function),
                    Some(Thing::Own(path, _)) if meaning.module_of(&path) == Some(module)
                );
                (!is_own).then(|| format!("`{function}` is not of `{module}`"))
            }
            Glue::Attribute { target, object, name } => {
                let Some(module) = names.module_object(object) else {
                    return refused(format!("`{object}` is not bound to a module"));
                };
                let held = meaning.trace.modules.get(module);
                let has = held.is_some_and(|held| held.names.contains_key(name));
                (!has || target != name && !meaning.is_fresh(target))
                    .then(|| format!("`{module}.{name}` is something else in the original"))
            }
            Glue::FailedImport(kind) => {
                let place = line.parent.filter(|(_, suite)| *suite == StatementSuite::Body);
                let place = place.and_then(|(parent, _)| Some((parent, *places.get(&parent)?)));
                let failed = place.zip(around).is_some_and(|((parent, place), path)| {
                    let caught = self.tree.suite(parent, StatementSuite::Handlers).iter();
                    let names_kind = |at: &usize| self.outline.lines[*at].text.contains(kind);
                    self.file(path).is_some_and(|file| file.original.ends_in_import(place))
                        && caught.clone().any(names_kind)
                });
                (!failed).then(|| "no import of the original failed here".to_owned())
            }
            Glue::Plugins(modules) => modules.iter().find_map(|module| {
                let is_object = self.glue.iter().any(|one| {
                    matches!(&one.glue, Glue::ModuleObject { module: own, .. } if own == module)
                });
                let named = format!("{module:?}");
                let plain = format!("'{module}'");
                let says = || {
                    self.ground.codebase.files().iter().any(|file| {
                        file.text.contains("pytest_plugins")
                            && (file.text.contains(&named) || file.text.contains(&plain))
                    })
                };
                (!is_object && !says()).then(|| format!("the original has no plugin `{module}`"))
            }),
            Glue::EntryPoint { script, function } => {
                let is_own =
                    meaning.trace.entry.as_ref().is_some_and(|entry| {
                        entry.script == *script && entry.attribute == *function
                    });
                (!is_own).then(|| "the command runs no such entry point".to_owned())
            }
            Glue::Delete(name) => (!meaning.is_builtin(name))
                .then(|| format!("`{name}` is no built-in that would be seen again")),
            // A file to hand on has them; it is made of a gist that was judged without.
            Glue::Data(_) | Glue::LeftOut(_) => {
                refused("a gist that is judged has none".to_owned())
            }
        }
    }

    /// Returns true if an import equals the external import at which an original import failed.
    fn is_failed(&self, line: &Line) -> bool {
        let asked = |failed: &graph::FailedImport| Glue::parse_text(&failed.text);
        let own = Glue::parse_text(line.statement(self.text));
        own.is_some() && self.ground.failed.iter().any(|failed| asked(failed) == own)
    }

    /// Returns true if the block of a line imports a thing under a name in the original.
    fn imports_here(&self, at: usize, name: &str, thing: &Thing, path: Option<&str>) -> bool {
        let Some(file) = path.and_then(|path| self.file(path)) else { return false };
        let block = &self.outline.lines[at].block;
        file.original.outline.lines.iter().any(|line| {
            line.role == Role::Import
                && line.block == *block
                && line.binds.iter().any(|bound| bound == name)
                && self.imports_thing(&file, line, name, thing)
        })
    }

    fn is_own_import(&self, at: usize, name: &str, path: Option<&str>) -> bool {
        let Some(file) = path.and_then(|path| self.file(path)) else { return false };
        let block = &self.outline.lines[at].block;
        file.original.outline.lines.iter().any(|line| {
            line.role == Role::Import
                && line.block == *block
                && line.binds.iter().any(|b| b == name)
        })
    }

    /// Returns true if an import statement of a function brings a thing under a name.
    fn imports_thing(&self, file: &File<'_>, line: &Line, name: &str, thing: &Thing) -> bool {
        let meaning = self.ground.meaning;
        let parsed = Syntax::parse(Source::new("import", line.statement(&file.code.text)));
        let modules = meaning.resolver.modules();
        let own = modules.of_path(&file.code.path).map(|(id, _)| id);
        parsed.body().iter().any(|stmt| match stmt {
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|module| module.as_str());
                let from = own.and_then(|own| modules.absolute(own, import.level, from));
                import.names.iter().any(|alias| {
                    let local = alias.asname.as_ref().unwrap_or(&alias.name);
                    let brought =
                        from.as_ref().and_then(|from| meaning.attribute(from, &alias.name));
                    let outside = from
                        .clone()
                        .map(|from| Thing::External(from, Some(alias.name.to_string())));
                    local.as_str() == name
                        && [brought, outside].iter().flatten().any(|brought| same(brought, thing))
                })
            }
            Stmt::Import(import) => import.names.iter().any(|alias| {
                let whole = Thing::Module(alias.name.to_string());
                let top = alias.name.split('.').next().unwrap_or_default();
                let top = Thing::Module(top.to_owned());
                match &alias.asname {
                    Some(local) => local.as_str() == name && same(&whole, thing),
                    None => same(&top, thing),
                }
            }),
            _ => false,
        })
    }
}
