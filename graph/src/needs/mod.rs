//! The parts of a repository that a test needs, by the names that its code asks for: definitions, statements and
//! imports, those that the test asks for itself first.
//!
//! Nothing runs. A name is followed through imports to the statement that binds it; of a class that is
//! needed, those methods are that some needed code asks for by name, that Python calls by itself, and
//! that a base from outside may call. Fixtures of the test take part as pytest injects them. This is a
//! reading order for a model, an estimate from above: what runs is for a trace to say.
//!
//! ```text
//! def test_total(cart):            # asks for the fixture `cart`
//!     assert cart.total() == 3     # asks for every `total` of a class that is needed
//! ```

mod fixtures;
mod parts;
mod reads;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use ruff_python_ast::{Expr, Stmt, StmtClassDef, name::Name};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use self::{
    fixtures::{asked_for, conftests, functions, is_autouse, is_fixture, is_setup},
    reads::Receiver,
};
use crate::{
    graph::{FileId, Graph},
    module::{Module, ModuleId, Modules},
    pythons::Pythons,
    resolve::{BindingKind, Resolver, Target},
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
    tree::Texts,
};

pub use parts::{NeedsPage, NumberedFile, shown_lines};
pub(crate) use reads::Reads;

/// A piece of source that a test needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Path of its file, relative to the repository.
    pub path: String,
    /// Dotted name inside its file; empty for a statement that defines nothing.
    pub name: String,
    /// Steps from the test: 1 for what the test itself asks for.
    pub distance: u32,
    /// Its lines; of a class only those outside its methods.
    pub lines: Vec<(u32, u32)>,
    /// The lines from the first decorator to the colon, of a definition.
    pub head: Option<(u32, u32)>,
    /// Place among the needs of the class that it is a method of.
    pub class: Option<usize>,
    /// It is a fixture that takes part in the test.
    pub is_fixture: bool,
    /// Import statements that its names come through: path, first and last line.
    pub imports: Vec<(String, u32, u32)>,
}

/// The needs of tests, nearest first; a test is a path and the names of its class and function in that file.
pub fn needs(graph: &Graph, texts: &Texts, tests: &[(String, Vec<String>)]) -> Vec<Need> {
    with_deep_stack(|| {
        let files = reachable(graph, tests);
        let modules = files.iter().map(|&file| {
            let node = graph.module(file);
            let source = Source::new(node.path.as_str(), texts.of(&node.path));
            Module::new(node.name.as_str(), Syntax::parse(source))
        });
        let names = graph.modules.iter().map(|module| module.name.clone());
        let modules = Modules::new(modules.collect(), names);
        needs_of(&modules, tests)
    })
}

fn needs_of(modules: &Modules, tests: &[(String, Vec<String>)]) -> Vec<Need> {
    let resolver = Resolver::new(modules, None, |_, _| true);
    let mut closure = Closure::new(modules, &resolver);
    for (path, names) in tests {
        closure.test(path, names);
    }
    closure.run();
    closure.finish()
}

/// The files that tests and their conftests import, directly or not.
fn reachable(graph: &Graph, tests: &[(String, Vec<String>)]) -> Vec<FileId> {
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for (path, _) in tests {
        wanted.insert(path.clone());
        wanted.extend(conftests(path));
    }
    let start = (0u32..).zip(&graph.modules);
    let start = start.filter(|(_, module)| wanted.contains(&module.path));
    let mut stack: Vec<FileId> = start.map(|(at, _)| FileId(at)).collect();
    let mut seen: BTreeSet<FileId> = stack.iter().copied().collect();
    while let Some(file) = stack.pop() {
        let from = graph.imports.partition_point(|edge| edge.from < file);
        for edge in graph.imports[from..].iter().take_while(|edge| edge.from == file) {
            if seen.insert(edge.to) {
                stack.push(edge.to);
            }
        }
    }
    seen.into_iter().collect()
}

/// A statement: its module and where it begins.
type Key = (ModuleId, TextSize);

/// A statement that is needed.
struct Node<'a> {
    stmt: &'a Stmt,
    distance: u32,
    /// The class that it is a method of.
    class: Option<Key>,
    imports: BTreeSet<(ModuleId, u32, u32)>,
    /// Of a class: its bases in the repository, and which of its methods others may call.
    bases: Vec<Key>,
    open: bool,
    is_test_class: bool,
}

/// The meaning of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Meaning {
    Nothing,
    Outside,
    Module(String),
    Statements(Vec<Key>),
}

struct Closure<'a> {
    modules: &'a Modules,
    resolver: &'a Resolver<'a>,
    nodes: FxHashMap<Key, Node<'a>>,
    queue: BinaryHeap<Reverse<(u32, Key)>>,
    done: FxHashSet<Key>,
    /// Attributes that code asks of anything, and how near to the test.
    asked: FxHashMap<Name, u32>,
    /// Attributes that methods ask of their own object, with their class.
    own: FxHashMap<Name, Vec<(Key, u32)>>,
    fixtures: FxHashSet<(ModuleId, Name)>,
}

impl<'a> Closure<'a> {
    fn new(modules: &'a Modules, resolver: &'a Resolver<'a>) -> Self {
        Self {
            modules,
            resolver,
            nodes: FxHashMap::default(),
            queue: BinaryHeap::new(),
            done: FxHashSet::default(),
            asked: FxHashMap::default(),
            own: FxHashMap::default(),
            fixtures: FxHashSet::default(),
        }
    }

    fn source(&self, module: ModuleId) -> &'a Source {
        self.modules.get(module).syntax.source()
    }

    fn body(&self, module: ModuleId) -> &'a [Stmt] {
        self.modules.get(module).syntax.body()
    }

    /// Begins with a test: its function or method, its class, its fixtures.
    fn test(&mut self, path: &str, names: &[String]) {
        let Some((module, _)) = self.modules.of_path(path) else { return };
        let Some(first) = names.first() else {
            // A whole file.
            for stmt in self.body(module) {
                if !matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_)) {
                    self.add(module, stmt, 0, None);
                }
            }
            return;
        };
        let first = first.split('[').next().unwrap_or(first);
        let named = |stmt: &&'a Stmt| match stmt {
            Stmt::FunctionDef(function) => &function.name == first,
            Stmt::ClassDef(class) => &class.name == first,
            _ => false,
        };
        let Some(stmt) = self.body(module).iter().rev().find(named) else { return };
        let class = self.add(module, stmt, 0, None);
        let body = self.body(module);
        let source = self.source(module);
        match stmt {
            Stmt::ClassDef(definition) => {
                let is_test = names.len() > 1
                    || functions(&definition.body).any(|(_, one)| one.name.starts_with("test"));
                if let Some(node) = self.nodes.get_mut(&class) {
                    node.is_test_class = is_test;
                }
                if !is_test {
                    for (inner, _) in functions(&definition.body) {
                        self.add(module, inner, 1, Some(class));
                    }
                    return;
                }
                for (inner, function) in functions(&definition.body) {
                    let name = function.name.as_str();
                    let wanted = names.get(1).is_none_or(|wanted| {
                        wanted.split('[').next().is_some_and(|wanted| wanted == name)
                    });
                    let is_test =
                        wanted && name.starts_with("test") || names.get(1).is_some_and(|_| wanted);
                    if is_test || is_setup(name) || is_autouse(function, source) {
                        self.add(module, inner, u32::from(!is_test), Some(class));
                        let asked = asked_for(function, is_test.then_some(definition));
                        self.fixtures(module, &asked, Some(definition));
                    }
                }
            }
            Stmt::FunctionDef(function) => {
                let asked = asked_for(function, None);
                self.fixtures(module, &asked, None);
            }
            _ => {}
        }
        let around = conftests(path).into_iter();
        let around = around.filter_map(|path| self.modules.of_path(&path).map(|(id, _)| id));
        for place in std::iter::once(module).chain(around.collect::<Vec<_>>()) {
            let source = self.source(place);
            for (inner, function) in functions(self.body(place)) {
                if is_autouse(function, source) {
                    self.fixture(place, inner, &function.name.id, module, None);
                }
            }
        }
        for stmt in body {
            if scope::bound_directly(stmt).iter().any(|name| name == "pytestmark") {
                self.add(module, stmt, 1, None);
            }
        }
    }

    /// Takes fixtures by their names, the nearest definition of each.
    fn fixtures(&mut self, test: ModuleId, names: &[String], class: Option<&'a StmtClassDef>) {
        let path = self.modules.get(test).path().to_owned();
        let around = conftests(&path).into_iter();
        let around = around.filter_map(|path| self.modules.of_path(&path).map(|(id, _)| id));
        let places: Vec<ModuleId> = std::iter::once(test).chain(around).collect();
        for name in names {
            let inner = class.and_then(|class| {
                let found = functions(&class.body).find(|(_, function)| {
                    &function.name == name && is_fixture(function, self.source(test))
                })?;
                Some((found.0, class))
            });
            if let Some((stmt, class)) = inner {
                let key = (test, class.start());
                if self.fixtures.insert((test, Name::new(name))) {
                    self.add(test, stmt, 1, Some(key));
                    if let Stmt::FunctionDef(function) = stmt {
                        self.fixtures(test, &asked_for(function, None), Some(class));
                    }
                }
                continue;
            }
            let found = places.iter().find_map(|&place| {
                let mut all = functions(self.body(place));
                let found = all.find(|(_, function)| {
                    &function.name == name && is_fixture(function, self.source(place))
                });
                found.map(|(stmt, _)| (place, stmt))
            });
            match found {
                Some((place, stmt)) => self.fixture(place, stmt, &Name::new(name), test, class),
                // A test module may import a fixture.
                None => {
                    let name = Name::new(name);
                    if self.resolver.bindings(test, &name).is_some() {
                        self.take(test, &name, 1, &mut FxHashSet::default());
                    }
                }
            }
        }
    }

    fn fixture(
        &mut self,
        place: ModuleId,
        stmt: &'a Stmt,
        name: &Name,
        test: ModuleId,
        class: Option<&'a StmtClassDef>,
    ) {
        if self.fixtures.insert((place, name.clone())) {
            self.add(place, stmt, 1, None);
            if let Stmt::FunctionDef(function) = stmt {
                self.fixtures(test, &asked_for(function, None), class);
            }
        }
    }

    /// Adds a statement, or brings it nearer.
    fn add(&mut self, module: ModuleId, stmt: &'a Stmt, distance: u32, class: Option<Key>) -> Key {
        let key = (module, stmt.start());
        let node = self.nodes.entry(key).or_insert_with(|| Node {
            stmt,
            distance: u32::MAX,
            class,
            imports: BTreeSet::new(),
            bases: Vec::new(),
            open: false,
            is_test_class: false,
        });
        if distance < node.distance {
            node.distance = distance;
            self.queue.push(Reverse((distance, key)));
        }
        key
    }

    /// Follows names until nothing is new.
    fn run(&mut self) {
        while let Some(Reverse((distance, key))) = self.queue.pop() {
            if self.done.insert(key) {
                self.follow(key, distance);
            }
        }
    }

    fn follow(&mut self, key: Key, distance: u32) {
        let (module, _) = key;
        let stmt = self.nodes[&key].stmt;
        let mut reads = Reads::new(!is_deferred(self.body(module)));
        match stmt {
            Stmt::ClassDef(class) => {
                use ruff_python_ast::visitor::Visitor;
                for decorator in &class.decorator_list {
                    reads.visit_expr(&decorator.expression);
                }
                if let Some(arguments) = &class.arguments {
                    reads.visit_arguments(arguments);
                }
                let own = class.body.iter();
                own.filter(|stmt| !matches!(stmt, Stmt::FunctionDef(_)))
                    .for_each(|stmt| reads.visit_stmt(stmt));
            }
            stmt => ruff_python_ast::visitor::Visitor::visit_stmt(&mut reads, stmt),
        }
        let next = distance + 1;
        let class = self.nodes[&key].class;
        // Names that a class body binds itself are looked up in the module where that has them.
        for name in &reads.names {
            self.name(key, name, next);
        }
        for import in std::mem::take(&mut reads.imports) {
            self.import(key, import, next);
        }
        for (attribute, receiver) in &reads.attributes {
            match receiver {
                // A wrapper in a decorator has a `self` of any class.
                Receiver::Own if class.is_none() && !matches!(stmt, Stmt::ClassDef(_)) => {
                    self.ask(attribute, next);
                }
                Receiver::Own => {
                    let class = class.unwrap_or(key);
                    self.own.entry(attribute.clone()).or_default().push((class, next));
                    self.methods_named(attribute, next);
                }
                Receiver::Global(root, between) => {
                    let path: Vec<&Name> = between.iter().chain([attribute]).collect();
                    if self.through_module(key, root, &path, next) {
                        self.ask(attribute, next);
                    }
                }
                Receiver::Value => self.ask(attribute, next),
            }
        }
        if let Stmt::ClassDef(class) = stmt {
            self.class(key, class, next);
        }
    }

    /// Follows `root.a.b`; returns true where the last attribute is asked of a value of the repository.
    fn through_module(&mut self, key: Key, root: &Name, path: &[&Name], next: u32) -> bool {
        let mut meaning = self.meaning(key.0, root);
        for (at, name) in path.iter().enumerate() {
            match meaning {
                Meaning::Outside => return false,
                Meaning::Module(module) => {
                    let inner = match self.modules.find(&module) {
                        Some(id) if self.resolver.bindings(id, name).is_some() => {
                            let found = self.take(id, name, next, &mut FxHashSet::default());
                            self.note(key, id, name);
                            found
                        }
                        _ => match self.resolver.attribute(&module, name) {
                            Some(Target::Module(inner)) => Meaning::Module(inner),
                            Some(Target::Own(id, own)) => {
                                self.take(id, &own, next, &mut FxHashSet::default())
                            }
                            _ => Meaning::Nothing,
                        },
                    };
                    if at + 1 == path.len() {
                        return false;
                    }
                    meaning = inner;
                }
                Meaning::Statements(_) | Meaning::Nothing => return true,
            }
        }
        true
    }

    fn ask(&mut self, attribute: &Name, distance: u32) {
        let known = self.asked.entry(attribute.clone()).or_insert(u32::MAX);
        if distance < *known {
            *known = distance;
            self.methods_named(attribute, distance);
        }
    }

    /// Adds the methods of this name of the classes that are needed.
    fn methods_named(&mut self, name: &Name, distance: u32) {
        let classes: Vec<(Key, &'a StmtClassDef)> = self
            .nodes
            .iter()
            .filter(|(key, node)| self.done.contains(key) && !node.is_test_class)
            .filter_map(|(key, node)| match node.stmt {
                Stmt::ClassDef(class) => Some((*key, class)),
                _ => None,
            })
            .collect();
        for (key, class) in classes {
            for (stmt, function) in functions(&class.body) {
                if function.name.id == *name && self.is_asked(key, name).is_some() {
                    self.add(key.0, stmt, distance, Some(key));
                }
            }
        }
    }

    /// Returns the distance from the test at which a method of a class is asked for; nothing where nobody asks.
    fn is_asked(&self, class: Key, name: &Name) -> Option<u32> {
        let anywhere = self.asked.get(name).copied();
        let own = self.own.get(name).into_iter().flatten();
        let own = own.filter(|(from, _)| self.is_kin(*from, class));
        let own = own.map(|(_, distance)| *distance).min();
        anywhere.into_iter().chain(own).min()
    }

    /// Returns true if one of two classes stands on the other.
    fn is_kin(&self, left: Key, right: Key) -> bool {
        self.stands_on(left, right) || self.stands_on(right, left)
    }

    fn stands_on(&self, class: Key, base: Key) -> bool {
        let (mut stack, mut seen) = (vec![class], FxHashSet::default());
        while let Some(at) = stack.pop() {
            if at == base {
                return true;
            }
            if seen.insert(at) {
                stack.extend(self.nodes.get(&at).into_iter().flat_map(|node| &node.bases));
            }
        }
        false
    }

    /// Finds a class's bases, and adds the methods that are asked for.
    fn class(&mut self, key: Key, class: &'a StmtClassDef, next: u32) {
        let (mut bases, mut open) = (Vec::new(), !class.keywords().is_empty());
        for base in class.bases() {
            let base = match base {
                Expr::Subscript(subscript) => &*subscript.value,
                base => base,
            };
            match self.base(key.0, base) {
                Meaning::Statements(found) => bases.extend(found),
                Meaning::Outside => open |= !is_form(base),
                Meaning::Module(_) => {}
                Meaning::Nothing => {
                    open |= !matches!(base, Expr::Name(name) if self.resolver.pythons().has_builtin(&name.id));
                }
            }
        }
        open |= bases.iter().any(|base| self.nodes.get(base).is_some_and(|node| node.open));
        let is_test = self.nodes[&key].is_test_class;
        if let Some(node) = self.nodes.get_mut(&key) {
            (node.bases, node.open) = (bases, open);
        }
        if is_test {
            return;
        }
        for (stmt, function) in functions(&class.body) {
            let name = &function.name.id;
            let is_special = name.starts_with("__") && name.ends_with("__");
            let distance = match self.is_asked(key, name) {
                Some(distance) => distance,
                None if &**name == "__init__" || &**name == "__new__" => next,
                None if is_special || open => next + 1,
                None => continue,
            };
            self.add(key.0, stmt, distance, Some(key));
        }
    }

    fn base(&self, module: ModuleId, base: &Expr) -> Meaning {
        match base {
            Expr::Name(name) => self.meaning(module, &name.id),
            Expr::Attribute(attribute) => match self.base(module, &attribute.value) {
                Meaning::Module(inner) => {
                    self.of_target(self.resolver.attribute(&inner, &attribute.attr.id))
                }
                other => other,
            },
            _ => Meaning::Nothing,
        }
    }

    /// Resolves a global name of a module without taking it.
    fn meaning(&self, module: ModuleId, name: &Name) -> Meaning {
        self.of_target(self.resolver.resolve(module, name))
    }

    fn of_target(&self, target: Option<Target>) -> Meaning {
        match target {
            Some(Target::Own(module, name)) => {
                let bindings = self.resolver.bindings(module, &name).unwrap_or_default().iter();
                let statements = bindings.filter_map(|binding| self.top(module, binding.at));
                Meaning::Statements(statements.map(|stmt| (module, stmt.start())).collect())
            }
            Some(Target::Module(name)) => Meaning::Module(name),
            Some(Target::External(..)) => Meaning::Outside,
            Some(Target::Builtin(_)) | None => Meaning::Nothing,
        }
    }

    /// Takes what a name of a statement's module means, and the imports on the way there.
    fn name(&mut self, key: Key, name: &Name, next: u32) {
        self.take(key.0, name, next, &mut FxHashSet::default());
        self.note(key, key.0, name);
    }

    /// Adds the statements that bind a name, followed through imports.
    fn take(
        &mut self,
        module: ModuleId,
        name: &Name,
        next: u32,
        seen: &mut FxHashSet<(ModuleId, Name)>,
    ) -> Meaning {
        if !seen.insert((module, name.clone())) {
            return Meaning::Nothing;
        }
        let Some(bindings) = self.resolver.bindings(module, name) else {
            return match self.resolver.resolve(module, name) {
                Some(Target::Own(home, own)) if home != module || own != *name => {
                    self.take(home, &own, next, seen)
                }
                target => self.of_target(target),
            };
        };
        let mut meaning = Meaning::Nothing;
        for binding in bindings {
            let Some(top) = self.top(module, binding.at) else { continue };
            if is_for_types(top) {
                continue;
            }
            meaning = match &binding.kind {
                BindingKind::Own => {
                    let key = self.add(module, top, next, None);
                    match meaning {
                        Meaning::Statements(mut keys) => {
                            keys.push(key);
                            Meaning::Statements(keys)
                        }
                        _ => Meaning::Statements(vec![key]),
                    }
                }
                kind => {
                    if !matches!(top, Stmt::Import(_) | Stmt::ImportFrom(_)) {
                        // An import under a condition comes with the condition.
                        self.add(module, top, next, None);
                    }
                    self.imported(kind, next, seen)
                }
            };
        }
        meaning
    }

    fn imported(
        &mut self,
        kind: &BindingKind,
        next: u32,
        seen: &mut FxHashSet<(ModuleId, Name)>,
    ) -> Meaning {
        match kind {
            BindingKind::From { module: from, name } => match self.modules.find(from) {
                Some(id) if self.resolver.resolve(id, name).is_some() => {
                    self.take(id, name, next, seen)
                }
                _ => self.of_target(self.resolver.attribute(from, name)),
            },
            BindingKind::Import { bound, .. } if self.modules.is_internal(bound) => {
                Meaning::Module(bound.clone())
            }
            BindingKind::Import { .. } => Meaning::Outside,
            BindingKind::Own => Meaning::Nothing,
        }
    }

    /// Notes the imports that a name comes through for the statement that needs it.
    fn note(&mut self, key: Key, module: ModuleId, name: &Name) {
        let (mut module, mut name) = (module, name.clone());
        let mut seen = FxHashSet::default();
        while seen.insert((module, name.clone())) {
            let Some(bindings) = self.resolver.bindings(module, &name) else { return };
            let mut next = None;
            for binding in bindings {
                let Some(top) = self.top(module, binding.at) else { continue };
                if matches!(top, Stmt::Import(_) | Stmt::ImportFrom(_)) {
                    let (first, last) = self.source(module).line_span(top.range());
                    if let Some(node) = self.nodes.get_mut(&key) {
                        node.imports.insert((module, first, last));
                    }
                }
                if let BindingKind::From { module: from, name } = &binding.kind {
                    next = self.modules.find(from).map(|id| (id, name.clone()));
                }
            }
            let Some(found) = next else { return };
            (module, name) = found;
        }
    }

    /// Takes what an import inside a function brings.
    fn import(&mut self, key: Key, import: &'a Stmt, next: u32) {
        let Stmt::ImportFrom(from) = import else { return };
        let module = from.module.as_ref().map(|name| name.as_str());
        let Some(module) = self.modules.absolute(key.0, from.level, module) else { return };
        for alias in &from.names {
            let name = &alias.name.id;
            if let Some(id) = self.modules.find(&module)
                && self.resolver.bindings(id, name).is_some()
            {
                self.take(id, name, next, &mut FxHashSet::default());
                self.note(key, id, name);
            } else if let Some(Target::Own(id, own)) = self.resolver.attribute(&module, name) {
                self.take(id, &own, next, &mut FxHashSet::default());
            }
        }
    }

    /// The statement at the top of a module that holds a place.
    fn top(&self, module: ModuleId, at: TextSize) -> Option<&'a Stmt> {
        let body = self.body(module);
        let after = body.partition_point(|stmt| stmt.start() <= at);
        body[..after].last().filter(|stmt| at <= stmt.end())
    }

    /// The needs in their order.
    fn finish(self) -> Vec<Need> {
        let mut order: Vec<(u32, Key)> =
            self.nodes.iter().map(|(key, node)| (node.distance, *key)).collect();
        // A class stands before its methods.
        let mut nearest: FxHashMap<Key, u32> = FxHashMap::default();
        for node in self.nodes.values() {
            if let Some(class) = node.class {
                let known = nearest.entry(class).or_insert(u32::MAX);
                *known = (*known).min(node.distance);
            }
        }
        for (distance, key) in &mut order {
            *distance = nearest.get(key).map_or(*distance, |nearest| (*distance).min(*nearest));
        }
        order.sort_by_key(|(distance, (module, at))| {
            (*distance, self.modules.get(*module).path(), *at)
        });
        let places: FxHashMap<Key, usize> =
            order.iter().enumerate().map(|(at, (_, key))| (*key, at)).collect();
        let mut noted: FxHashSet<(ModuleId, u32, u32)> = FxHashSet::default();
        let needs = order.iter().map(|(distance, key)| {
            let node = &self.nodes[key];
            let module = self.modules.get(key.0);
            let source = module.syntax.source();
            let own = module.syntax.body().iter().filter(|stmt| is_future(stmt));
            let own = own.map(|stmt| (key.0, source.line_span(stmt.range())));
            let own = own.map(|(module, (first, last))| (module, first, last));
            let all: BTreeSet<_> = node.imports.iter().copied().chain(own).collect();
            let fresh = all.iter().filter(|import| noted.insert(**import));
            let imports = fresh.map(|(module, first, last)| {
                (self.modules.get(*module).path().to_owned(), *first, *last)
            });
            let span = |range: TextRange| source.line_span(range);
            let (body, name): (Option<&[Stmt]>, _) = match node.stmt {
                Stmt::FunctionDef(function) => (Some(&function.body), function.name.to_string()),
                Stmt::ClassDef(class) => (Some(&class.body), class.name.to_string()),
                _ => (None, String::new()),
            };
            let head = body.map(|body| span(module.syntax.header(node.stmt.start(), body)));
            let lines = match (node.stmt, head) {
                (Stmt::ClassDef(class), Some(head)) => {
                    let is_only_text = class.body.iter().all(is_text);
                    let own = class.body.iter().filter(|stmt| is_only_text || !is_text(stmt));
                    let own = own.filter(|stmt| !matches!(stmt, Stmt::FunctionDef(_)));
                    std::iter::once(head).chain(own.map(|stmt| span(stmt.range()))).collect()
                }
                (stmt, _) => vec![span(stmt.range())],
            };
            let around = node.class.and_then(|class| self.nodes.get(&class));
            let name = match around.map(|around| around.stmt) {
                Some(Stmt::ClassDef(class)) => format!("{}.{name}", class.name),
                _ => name,
            };
            Need {
                path: module.path().to_owned(),
                name,
                distance: *distance,
                lines,
                head,
                class: node.class.and_then(|class| places.get(&class).copied()),
                is_fixture: matches!(node.stmt, Stmt::FunctionDef(function) if is_fixture(function, source)),
                imports: imports.collect(),
            }
        });
        needs.collect()
    }
}

/// Returns true if a statement imports from `__future__`.
fn is_future(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::ImportFrom(import) if import.module.as_deref() == Some("__future__"))
}

/// Returns true if a module's annotations are never evaluated.
pub(crate) fn is_deferred(body: &[Stmt]) -> bool {
    body.iter().filter(|stmt| is_future(stmt)).any(|stmt| match stmt {
        Stmt::ImportFrom(import) => import.names.iter().any(|alias| &alias.name == "annotations"),
        _ => false,
    })
}

/// Returns true if a statement runs for type checkers alone.
pub(crate) fn is_for_types(stmt: &Stmt) -> bool {
    let Stmt::If(stmt) = stmt else { return false };
    // An `else` is executed.
    if !stmt.elif_else_clauses.is_empty() {
        return false;
    }
    match &*stmt.test {
        Expr::Name(name) => &name.id == "TYPE_CHECKING",
        Expr::Attribute(attribute) => &attribute.attr == "TYPE_CHECKING",
        _ => false,
    }
}

/// Returns true if a base brings no methods that call others: `Generic`, `Protocol`, `ABC`.
fn is_form(base: &Expr) -> bool {
    let name = match base {
        Expr::Name(name) => &name.id,
        Expr::Attribute(attribute) => &attribute.attr.id,
        _ => return false,
    };
    matches!(&**name, "Generic" | "Protocol" | "ABC" | "NamedTuple" | "TypedDict")
}

/// Returns true if a body begins with a docstring.
pub(crate) fn is_documented(body: &[Stmt]) -> bool {
    body.first().is_some_and(is_text)
}

/// Returns true if a statement is a string literal alone: a docstring, or one of an attribute.
pub(crate) fn is_text(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(expr) if expr.value.is_string_literal_expr())
}

/// The top-level names of the modules that tests and their conftests import, directly or not: where a gist
/// runs, none of them can be imported. Without tests, those of all modules.
pub fn top_modules(graph: &Graph, tests: &[(String, Vec<String>)]) -> Vec<String> {
    let reached = reachable(graph, tests).into_iter().map(|file| graph.module(file));
    let modules: Vec<_> = match tests {
        [] => graph.modules.iter().collect(),
        _ => reached.collect(),
    };
    let tops = modules.iter().filter_map(|module| module.name.split('.').next());
    let is_standard = |top: &str| Pythons::SUPPORTED.has_module(top);
    let tops: BTreeSet<&str> = tops.filter(|top| !is_standard(top) && !top.is_empty()).collect();
    tops.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The needs of `tests/test_m.py::test_it`, as `distance name` by line of their file.
    fn check(files: &[(&str, &str)], test: &[&str], expected: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let graph = Graph::build(directory.path(), &crate::BuildOptions::default());
        let texts = Texts::new(directory.path(), crate::WalkOptions::default());
        let names = test.iter().map(|name| (*name).to_owned()).collect();
        let found = needs(&graph, &texts, &[("tests/test_m.py".to_owned(), names)]);
        let shown: Vec<String> = found
            .iter()
            .map(|need| {
                let place = match need.name.as_str() {
                    "" => format!("{}:{}", need.path, need.lines[0].0),
                    name => name.to_owned(),
                };
                format!("{} {place}", need.distance)
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn names_are_followed_through_imports_and_methods_by_name() {
        let files = [
            ("pkg/__init__.py", "from .core import Cart\n"),
            (
                "pkg/core.py",
                "import typing as t\nfrom .rates import RATE\nif t.TYPE_CHECKING:\n    from .other import Other\n\n\
                 class Base:\n    kind = 'x'\n    def total(self): return self.plain()\n    def plain(self): return RATE\n\
                 def idle(self): return 0\n\nclass Cart(Base):\n    def __init__(self, other: 'Other'): self.other = other\n    \
                 def unused(self): pass\n",
            ),
            ("pkg/rates.py", "RATE = 3\nSPARE = 4\n"),
            ("pkg/other.py", "class Other: pass\n"),
            (
                "tests/test_m.py",
                "import pkg\n\ndef test_it():\n    cart = pkg.Cart(None)\n    assert cart.total() == 3\n",
            ),
        ];
        check(
            &files,
            &["test_it"],
            &[
                "0 test_it",
                "1 Base",
                "1 Base.total",
                "1 Cart",
                "2 Base.plain",
                "2 Cart.__init__",
                "3 pkg/rates.py:1",
            ],
        );
    }

    #[test]
    fn fixtures_take_part() {
        let files = [
            (
                "tests/conftest.py",
                "import pytest\n\n@pytest.fixture\ndef thing(other): return 1\n\n@pytest.fixture\ndef other(): return 2\n\n\
                 @pytest.fixture(autouse=True)\ndef always(): yield\n\n@pytest.fixture\ndef idle(): pass\n",
            ),
            (
                "tests/test_m.py",
                "import pytest\n\n@pytest.fixture\ndef own(): pass\n\nclass TestIt:\n    limit = 3\n    def setup_method(self): pass\n    \
                 @pytest.mark.parametrize('a, b', [(1, 2)])\n    def test_it(self, a, b, thing): pass\n    def test_other(self, own): pass\n",
            ),
        ];
        let expected = [
            "0 TestIt",
            "0 TestIt.test_it",
            "1 thing",
            "1 other",
            "1 always",
            "1 TestIt.setup_method",
        ];
        check(&files, &["TestIt", "test_it"], &expected);
    }

    #[test]
    fn a_part_names_what_it_leaves_out() {
        let directory = tempfile::tempdir().unwrap();
        let body: String = (0..60).map(|n| format!("    '''Doc.'''\n    x{n} = {n}\n")).collect();
        let many: String =
            (0..4).map(|n| format!("def f{n}():\n{body}    return f{}()\n\n", n + 1)).collect();
        std::fs::create_dir(directory.path().join("tests")).unwrap();
        std::fs::write(directory.path().join("m.py"), many + "def f4(): return 1\n").unwrap();
        let test = "from m import f0\n\n# Why.\ndef test_it():\n    '''Doc.'''\n    f0()\n";
        std::fs::write(directory.path().join("tests/test_m.py"), test).unwrap();
        let graph = Graph::build(directory.path(), &crate::BuildOptions::default());
        let texts = Texts::new(directory.path(), crate::WalkOptions::default());
        let all =
            needs(&graph, &texts, &[("tests/test_m.py".to_owned(), vec!["test_it".to_owned()])]);
        let part = Need::part(&all, &texts, 0, 100_000);
        assert_eq!((part.files.len(), part.next), (2, None));
        assert_eq!(part.files[0].1, "1 from m import f0\n4 def test_it():\n6     f0()\n");
        let part = Need::part(&all, &texts, 0, 1_800);
        assert!(part.next.is_some_and(|next| next > 1), "{:?}", part.next);
        let rest = Need::part(&all, &texts, part.next.unwrap(), 100_000);
        assert!(rest.files[0].1.contains("def f4"));
        let part = Need::part(&all, &texts, 0, 120);
        assert!(part.files[1].1.contains("def f0():\n[61 lines left out]\n"), "{part:?}");
    }
}
