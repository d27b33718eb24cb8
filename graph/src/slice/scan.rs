//! Collects the global names that the kept part of a statement uses, by Python's scoping rules.
//!
//! Works on pruned trees: a removed node refers to nothing. It does not resolve names.

use ruff_python_ast::{
    Expr, ExprCall, ExprContext, ExprStringLiteral, InterpolatedStringElement, Parameters, Pattern,
    Stmt, TypeParam, TypeParams,
    name::Name,
    visitor::{Visitor, walk_expr, walk_interpolated_string_element, walk_pattern},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    on_demand::{OnDemandFacts, When, names_in_text},
    prune::{Clause, ClauseHeader, KeptAs, Node, bound_by},
};
use crate::scope::{self, Bound};

/// Attributes in the order in which they are read, with their places in the source.
pub(crate) type AttributeChain = Vec<(Name, Option<TextRange>)>;

/// A use of a name that its module's globals (or the builtins) answer.
#[derive(Debug, Clone)]
pub(crate) struct GlobalUse {
    pub(crate) name: Name,
    pub(crate) range: TextRange,
    /// Attributes read from it, in order, with their places; none where a text names the last one.
    pub(crate) chain: AttributeChain,
    pub(crate) usage: GlobalUsage,
    /// Inside a function, or evaluated on demand: not where it stands.
    pub(crate) late: bool,
    /// In an annotation, a bound or an alias that is evaluated on demand, or in the text of one.
    pub(crate) on_demand: bool,
    /// In an expression whose text is shown, as `f"{name=}"` and t-strings do: the function around it.
    pub(crate) shown: Option<TextSize>,
    /// The class body around it binds the same name, so that the global is only a fallback.
    pub(crate) class_local: bool,
    /// In a statement that did not run.
    pub(crate) dead: bool,
    /// With its attributes the first argument of a call that lists the names of what it is given.
    pub(crate) listed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobalUsage {
    Load,
    Store,
    /// Read and bound anew: `name += value`.
    Augment,
    Global,
}

/// An import statement inside a block, a function or a class body.
#[derive(Debug, Clone)]
pub(crate) struct NestedImport<'a> {
    pub(crate) stmt: &'a Stmt,
    pub(crate) dead: bool,
    /// In a class body, where the names become attributes, or below a `global` declaration.
    pub(crate) in_class: bool,
    /// Names that the function around it binds in other ways as well: they stay local.
    pub(crate) rebound: FxHashSet<Name>,
    /// The start of that function.
    pub(crate) function: Option<TextSize>,
}

/// Everything that a unit mentions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scan<'a> {
    pub(crate) references: Vec<GlobalUse>,
    /// The attributes that are read from names bound by imports in functions.
    pub(crate) locals: Vec<GlobalUse>,
    /// Attribute names, parameter names and keywords: the names that may be read from an object.
    pub(crate) attributes: FxHashSet<Name>,
    /// The attributes that are read first from a local variable or an expression. Excludes those
    /// that a method reads from its own object.
    pub(crate) asked_of_values: FxHashSet<Name>,
    /// Local variables of which the names are listed that what they hold has.
    pub(crate) listed_values: FxHashSet<Name>,
    /// Local variables whose value's `__name__` is read.
    pub(crate) named_values: FxHashSet<Name>,
    /// String constants, docstrings excluded.
    pub(crate) strings: Vec<(String, TextRange)>,
    pub(crate) imports: Vec<NestedImport<'a>>,
    /// Names that a class body reads from itself: (start of the class statement, name).
    pub(crate) class_locals: FxHashSet<(TextSize, Name)>,
    /// Parameters of functions: what pytest may look up as fixtures.
    pub(crate) parameters: FxHashSet<Name>,
}

/// Collects what a pruned statement of the top level refers to. `evaluation` says what of annotations and the like is
/// evaluated, and when.
pub(crate) fn scan<'a>(nodes: &[Node<'a>], evaluation: OnDemandFacts<'_>) -> Scan<'a> {
    let mut scanner = Scanner {
        scan: Scan::default(),
        scopes: Vec::new(),
        evaluation,
        on_demand: false,
        as_text: false,
        in_annotation: false,
        shown: false,
        dead: false,
        listed: FxHashSet::default(),
    };
    scanner.nodes(nodes);
    let mut scan = scanner.scan;
    let bound = |import: &NestedImport| scope::bound(std::slice::from_ref(import.stmt)).local;
    let imported: FxHashSet<Name> = scan.imports.iter().flat_map(bound).collect();
    scan.locals.retain(|local| imported.contains(&local.name));
    scan
}

enum Kind {
    /// With the start of its statement; none for a lambda.
    Function(Option<TextSize>),
    Class(TextSize),
    /// Comprehensions and type parameters: bind, but run where they stand.
    Inner,
}

struct Scope {
    kind: Kind,
    bound: Bound,
    /// In a class, the place from which each name is bound; before it, another scope's is read.
    from: FxHashMap<Name, TextSize>,
    /// True for a class with decorators.
    decorated: bool,
    /// Names that a function binds otherwise than by imports, in what is left of it.
    rebound: FxHashSet<Name>,
}

struct Scanner<'a, 'e> {
    scan: Scan<'a>,
    scopes: Vec<Scope>,
    evaluation: OnDemandFacts<'e>,
    /// Inside what is evaluated on demand.
    on_demand: bool,
    /// Inside an annotation that is only a text: its names count where generated code asked for them.
    as_text: bool,
    in_annotation: bool,
    /// Inside an expression whose text is shown.
    shown: bool,
    dead: bool,
    /// The ends of the first arguments of calls that list names, such as `dir(x)`.
    listed: FxHashSet<TextSize>,
}

/// Returns an annotation's head that changes a dataclass field's kind: `ClassVar`, `InitVar`,
/// `KW_ONLY`. `dataclasses` looks up the head of a string annotation in the class's module.
fn field_kind(annotation: &Expr) -> Option<&Expr> {
    let head = match annotation {
        Expr::Subscript(node) => node.value.as_ref(),
        other => other,
    };
    let name = match head {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(node) => node.attr.as_str(),
        _ => return None,
    };
    matches!(name, "ClassVar" | "InitVar" | "KW_ONLY").then_some(head)
}

/// From where on statements of a class bind names: each name where that is first so.
fn bound_from(body: &[Stmt], from: &mut FxHashMap<Name, TextSize>) {
    for stmt in body {
        let (names, place) = match stmt {
            // What comes later in a loop comes earlier, too.
            Stmt::For(_) | Stmt::While(_) => {
                (scope::bound(std::slice::from_ref(stmt)).local, stmt.start())
            }
            Stmt::FunctionDef(_)
            | Stmt::ClassDef(_)
            | Stmt::Assign(_)
            | Stmt::AnnAssign(_)
            | Stmt::Import(_)
            | Stmt::ImportFrom(_) => (scope::bound(std::slice::from_ref(stmt)).local, stmt.end()),
            _ => (scope::bound_directly(stmt).into_iter().collect(), stmt.start()),
        };
        for name in names {
            from.entry(name).or_insert(place);
        }
        scope::for_each_block(stmt, |block| bound_from(block, from));
    }
}

enum NameHome {
    Local,
    /// A name that a function binds by imports only.
    Imported,
    Global,
    ClassOrGlobal(TextSize),
}

impl<'a> Scanner<'a, '_> {
    fn nodes(&mut self, nodes: &[Node<'a>]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &Node<'a>) {
        let dead = self.dead;
        self.dead |= node.role != KeptAs::Ran;
        if node.clauses.is_empty() {
            self.simple(node.stmt);
        } else {
            for clause in &node.clauses {
                self.clause(node.stmt, clause);
            }
        }
        self.dead = dead;
    }

    fn clause(&mut self, stmt: &'a Stmt, clause: &Clause<'a>) {
        match clause.head {
            ClauseHeader::If(branch) => self.visit_expr(&branch.test),
            ClauseHeader::Elif(branch) => branch.test.iter().for_each(|test| self.visit_expr(test)),
            ClauseHeader::Else(_) | ClauseHeader::Try(_) | ClauseHeader::Finally(_) => {}
            ClauseHeader::For(each) => {
                self.visit_expr(&each.iter);
                self.visit_expr(&each.target);
            }
            ClauseHeader::While(repeat) => self.visit_expr(&repeat.test),
            ClauseHeader::With(with) => {
                for item in &with.items {
                    self.visit_expr(&item.context_expr);
                    if let Some(vars) = &item.optional_vars {
                        self.visit_expr(vars);
                    }
                }
            }
            ClauseHeader::Except(handler) => {
                if let Some(kind) = &handler.type_ {
                    self.visit_expr(kind);
                }
                if let Some(name) = &handler.name {
                    self.name(&name.id, name.range, Vec::new(), GlobalUsage::Store);
                }
            }
            ClauseHeader::Match(matching) => self.visit_expr(&matching.subject),
            ClauseHeader::Case(case) => {
                self.visit_pattern(&case.pattern);
                if let Some(guard) = &case.guard {
                    self.visit_expr(guard);
                }
            }
            ClauseHeader::Function(function, _) => {
                for decorator in &function.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                if !self.scopes.is_empty() {
                    self.name(
                        &function.name.id,
                        function.name.range,
                        Vec::new(),
                        GlobalUsage::Store,
                    );
                }
                let typed = self.type_params(function.type_params.as_deref());
                self.parameters(&function.parameters);
                if let Some(returns) = &function.returns {
                    self.annotation(returns);
                }
                let mut bound = scope::bound(&function.body);
                bound.local.extend(parameter_names(&function.parameters));
                let mut rebound = parameter_names(&function.parameters).collect();
                bound_by(&clause.body, &mut rebound);
                self.scan.parameters.extend(parameter_names(&function.parameters));
                self.scope(Kind::Function(Some(stmt.start())), bound, rebound, |scanner| {
                    scanner.nodes(&clause.body);
                });
                if typed {
                    self.scopes.pop();
                }
                return;
            }
            ClauseHeader::Class(class) => {
                for decorator in &class.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                if !self.scopes.is_empty() {
                    self.name(&class.name.id, class.name.range, Vec::new(), GlobalUsage::Store);
                }
                let typed = self.type_params(class.type_params.as_deref());
                if let Some(arguments) = &class.arguments {
                    arguments.args.iter().for_each(|base| self.visit_expr(base));
                    arguments.keywords.iter().for_each(|keyword| self.visit_expr(&keyword.value));
                }
                let bound = scope::bound(&class.body);
                let kind = Kind::Class(stmt.start());
                let mut from = FxHashMap::default();
                bound_from(&class.body, &mut from);
                self.scope(kind, bound, FxHashSet::default(), |scanner| {
                    let own = scanner.scopes.last_mut().expect("a scope");
                    own.from = from;
                    own.decorated = !class.decorator_list.is_empty();
                    scanner.nodes(&clause.body);
                });
                if typed {
                    self.scopes.pop();
                }
                return;
            }
        }
        self.nodes(&clause.body);
    }

    fn simple(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                let in_class =
                    matches!(self.scopes.last(), Some(Scope { kind: Kind::Class(_), .. }));
                let mut rebound = scope::bound(std::slice::from_ref(stmt)).local;
                rebound.retain(|name| {
                    self.scopes.last().is_some_and(|scope| scope.rebound.contains(name))
                });
                let function = self.scopes.last().and_then(|scope| match scope.kind {
                    Kind::Function(start) => start,
                    Kind::Class(_) | Kind::Inner => None,
                });
                let dead = self.dead;
                self.scan.imports.push(NestedImport { stmt, dead, in_class, rebound, function });
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    self.scan.references.push(GlobalUse {
                        name: name.id.clone(),
                        range: name.range,
                        chain: Vec::new(),
                        usage: GlobalUsage::Global,
                        late: true,
                        on_demand: false,
                        shown: None,
                        class_local: false,
                        dead: self.dead,
                        listed: false,
                    });
                }
            }
            Stmt::AugAssign(assign) => {
                match assign.target.as_ref() {
                    Expr::Name(name) => {
                        self.name(&name.id, name.range, Vec::new(), GlobalUsage::Augment);
                    }
                    target => self.visit_expr(target),
                }
                self.visit_expr(&assign.value);
            }
            Stmt::AnnAssign(assign) => {
                self.visit_expr(&assign.target);
                let in_function =
                    matches!(self.scopes.last(), Some(Scope { kind: Kind::Function(_), .. }));
                let evaluated = !in_function && self.annotation(&assign.annotation);
                if !evaluated
                    && self.scopes.last().is_some_and(|scope| scope.decorated)
                    && let Some(head) = field_kind(&assign.annotation)
                {
                    self.visit_expr(head);
                }
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            Stmt::Expr(expr) if expr.value.is_string_literal_expr() => {}
            Stmt::TypeAlias(alias) => {
                self.visit_expr(&alias.name);
                let typed = self.type_params(alias.type_params.as_deref());
                self.demanded(&alias.value, self.evaluation.knows_aliases);
                if typed {
                    self.scopes.pop();
                }
            }
            _ => ruff_python_ast::visitor::walk_stmt(self, stmt),
        }
    }

    fn scope(
        &mut self,
        kind: Kind,
        bound: Bound,
        rebound: FxHashSet<Name>,
        inside: impl FnOnce(&mut Self),
    ) {
        let from = FxHashMap::default();
        self.scopes.push(Scope { kind, bound, from, decorated: false, rebound });
        inside(self);
        self.scopes.pop();
    }

    fn type_params(&mut self, params: Option<&'a TypeParams>) -> bool {
        let Some(params) = params else { return false };
        let mut bound = Bound::default();
        bound.local.extend(params.type_params.iter().map(|param| param.name().id.clone()));
        let (from, rebound) = (FxHashMap::default(), FxHashSet::default());
        let kind = Kind::Inner;
        self.scopes.push(Scope { kind, bound, from, decorated: false, rebound });
        for param in &params.type_params {
            let (bound, default) = match param {
                TypeParam::TypeVar(param) => (param.bound.as_deref(), param.default.as_deref()),
                TypeParam::ParamSpec(param) => (None, param.default.as_deref()),
                TypeParam::TypeVarTuple(param) => (None, param.default.as_deref()),
            };
            for expr in bound.into_iter().chain(default) {
                self.demanded(expr, self.evaluation.knows_bounds);
            }
        }
        true
    }

    /// A bound, a default of a type parameter or the value of an alias. Where the trace `knows` of these, nothing that was
    /// not evaluated is referred to.
    fn demanded(&mut self, expr: &'a Expr, knows: bool) {
        if !knows || self.evaluation.ran.evaluated(self.evaluation.source, expr.range()) {
            let around = std::mem::replace(&mut self.on_demand, true);
            self.visit_expr(expr);
            self.on_demand = around;
        }
    }

    /// An annotation that the interpreter evaluates or keeps; returns true if it evaluates it.
    fn annotation(&mut self, expr: &'a Expr) -> bool {
        let ran = || self.evaluation.ran.evaluated(self.evaluation.source, expr.range());
        let (on_demand, as_text) = match self.evaluation.annotations {
            When::AtOnce => (self.on_demand, false),
            When::Asked if !ran() => return false,
            When::Asked | When::Later => (true, false),
            When::Never => (true, true),
        };
        let around = (self.on_demand, self.as_text, self.in_annotation);
        (self.on_demand, self.as_text, self.in_annotation) = (on_demand, as_text, true);
        self.visit_expr(expr);
        (self.on_demand, self.as_text, self.in_annotation) = around;
        !as_text
    }

    /// The names in the text of an annotation that generated code looked up.
    fn text(&mut self, text: &'a ExprStringLiteral) {
        let around = (self.on_demand, self.as_text);
        (self.on_demand, self.as_text) = (true, true);
        for (name, range, chain) in names_in_text(text) {
            self.name(&name, range, chain, GlobalUsage::Load);
        }
        (self.on_demand, self.as_text) = around;
    }

    fn parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
        for parameter in parameters.iter() {
            if let Some(annotation) = parameter.as_parameter().annotation() {
                self.annotation(annotation);
            }
        }
    }

    /// Returns the scope of a name that is read or bound at a place.
    fn find(&self, name: &Name, place: TextSize, usage: GlobalUsage) -> NameHome {
        let innermost = self.scopes.len().wrapping_sub(1);
        for (at, scope) in self.scopes.iter().enumerate().rev() {
            if scope.bound.global.contains(name) {
                return NameHome::Global;
            }
            match scope.kind {
                // Class scopes are seen only from their own statements.
                Kind::Class(start) if at == innermost => {
                    let early = scope.from.get(name).is_some_and(|from| place < *from);
                    if scope.bound.local.contains(name) && !(early && usage == GlobalUsage::Load) {
                        return NameHome::ClassOrGlobal(start);
                    }
                }
                Kind::Class(_) => {}
                Kind::Function(_) | Kind::Inner => {
                    if scope.bound.local.contains(name) {
                        let imports = matches!(scope.kind, Kind::Function(_));
                        let imported = imports && !scope.rebound.contains(name);
                        return if imported { NameHome::Imported } else { NameHome::Local };
                    }
                }
            }
        }
        NameHome::Global
    }

    fn name(&mut self, name: &Name, range: TextRange, chain: AttributeChain, usage: GlobalUsage) {
        if self.as_text && !self.evaluation.is_generated(name) {
            return;
        }
        let found = self.find(name, range.start(), usage);
        let class_local = matches!(found, NameHome::ClassOrGlobal(_));
        if let NameHome::ClassOrGlobal(start) = found
            && usage == GlobalUsage::Load
        {
            self.scan.class_locals.insert((start, name.clone()));
        }
        if matches!(found, NameHome::Local) {
            // What a class has itself is no module's.
            let own = usize::from(matches!(name.as_str(), "self" | "cls"));
            let asked = chain.iter().skip(own).map(|(name, _)| name.clone());
            self.scan.asked_of_values.extend(asked);
            if own == 0 && self.listed.contains(&range.end()) {
                self.scan.listed_values.insert(name.clone());
            }
            if chain.first().is_some_and(|(asked, _)| asked == "__name__") {
                self.scan.named_values.insert(name.clone());
            }
        }
        let local = matches!(found, NameHome::Imported);
        if matches!(found, NameHome::Local)
            || local && chain.is_empty()
            || class_local && usage != GlobalUsage::Load
        {
            return;
        }
        let late = self.on_demand
            || self.scopes.iter().any(|scope| matches!(scope.kind, Kind::Function(_)));
        let around = self.scopes.iter().rev().find_map(|scope| match scope.kind {
            Kind::Function(start) => Some(start),
            Kind::Class(_) | Kind::Inner => None,
        });
        let shown = around.flatten().filter(|_| self.shown);
        let (on_demand, dead) = (self.on_demand, self.dead);
        let end = chain.iter().rev().find_map(|(_, place)| *place).unwrap_or(range).end();
        let listed = self.listed.contains(&end);
        let reference = GlobalUse {
            name: name.clone(),
            range,
            chain,
            usage,
            late,
            on_demand,
            shown,
            class_local,
            dead,
            listed,
        };
        let kind = if local { &mut self.scan.locals } else { &mut self.scan.references };
        kind.push(reference);
    }

    fn comprehension(
        &mut self,
        generators: &'a [ruff_python_ast::Comprehension],
        elements: &[&'a Expr],
    ) {
        let mut bound = Bound::default();
        for generator in generators {
            scope::target_names(&generator.target, &mut bound.local);
        }
        // The first iterable is evaluated outside.
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.scope(Kind::Inner, bound, FxHashSet::default(), |scanner| {
            for (at, generator) in generators.iter().enumerate() {
                if at > 0 {
                    scanner.visit_expr(&generator.iter);
                }
                scanner.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|test| scanner.visit_expr(test));
            }
            elements.iter().for_each(|element| scanner.visit_expr(element));
        });
    }
}

impl<'a> Visitor<'a> for Scanner<'a, '_> {
    fn visit_stmt(&mut self, _: &'a Stmt) {}

    fn visit_annotation(&mut self, annotation: &'a Expr) {
        self.annotation(annotation);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                let usage = if matches!(name.ctx, ExprContext::Load) {
                    GlobalUsage::Load
                } else {
                    GlobalUsage::Store
                };
                self.name(&name.id, name.range, Vec::new(), usage);
            }
            Expr::Attribute(_) => {
                let (base, chain) = path(expr);
                self.scan.attributes.extend(chain.iter().map(|(name, _)| name.clone()));
                match base {
                    Expr::Name(name) => self.name(&name.id, name.range, chain, GlobalUsage::Load),
                    _ => {
                        self.scan.asked_of_values.extend(chain.into_iter().map(|one| one.0));
                        self.visit_expr(base);
                    }
                }
            }
            Expr::StringLiteral(text) => {
                self.scan.strings.push((text.value.to_str().to_owned(), text.range));
                if self.in_annotation {
                    self.text(text);
                }
            }
            Expr::TString(_) => {
                let around = std::mem::replace(&mut self.shown, true);
                walk_expr(self, expr);
                self.shown = around;
            }
            Expr::Lambda(lambda) => {
                let mut bound = Bound::default();
                if let Some(parameters) = &lambda.parameters {
                    self.parameters(parameters);
                    bound.local.extend(parameter_names(parameters));
                }
                let rebound = bound.local.clone();
                self.scope(Kind::Function(None), bound, rebound, |scanner| {
                    scanner.visit_expr(&lambda.body);
                });
            }
            Expr::Call(call) => {
                if let Some(first) = call.arguments.args.first()
                    && lists_names(&call.func)
                {
                    self.listed.insert(first.end());
                }
                if let Some((object, attribute)) = asked_by_text(call)
                    && let (Expr::Name(name), mut chain) = path(object)
                {
                    chain.push((attribute, None));
                    self.name(&name.id, name.range, chain, GlobalUsage::Load);
                }
                walk_expr(self, expr);
                for keyword in &call.arguments.keywords {
                    if let Some(name) = &keyword.arg {
                        self.scan.attributes.insert(name.id.clone());
                    }
                }
            }
            Expr::ListComp(comp) => self.comprehension(&comp.generators, &[&comp.elt]),
            Expr::SetComp(comp) => self.comprehension(&comp.generators, &[&comp.elt]),
            Expr::Generator(comp) => self.comprehension(&comp.generators, &[&comp.elt]),
            Expr::DictComp(comp) => {
                let mut elements: Vec<&'a Expr> = vec![&comp.value];
                elements.extend(comp.key.as_deref());
                self.comprehension(&comp.generators, &elements);
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchClass(class) => {
                for keyword in &class.arguments.keywords {
                    self.scan.attributes.insert(keyword.attr.id.clone());
                }
            }
            Pattern::MatchAs(named) => {
                if let Some(name) = &named.name {
                    self.name(&name.id, name.range, Vec::new(), GlobalUsage::Store);
                }
            }
            _ => {}
        }
        walk_pattern(self, pattern);
    }

    fn visit_interpolated_string_element(&mut self, element: &'a InterpolatedStringElement) {
        let is_shown = element.as_interpolation().is_some_and(|one| one.debug_text.is_some());
        let around = self.shown;
        self.shown |= is_shown;
        walk_interpolated_string_element(self, element);
        self.shown = around;
    }
}

/// Returns the base of an expression and the attributes that it reads from there, in order.
pub(super) fn path(expr: &Expr) -> (&Expr, AttributeChain) {
    let (mut base, mut chain) = (expr, Vec::new());
    while let Expr::Attribute(attribute) = base {
        chain.push((attribute.attr.id.clone(), Some(attribute.attr.range)));
        base = &attribute.value;
    }
    chain.reverse();
    (base, chain)
}

/// The name by which something is called.
pub(super) fn called(callee: &Expr) -> Option<&Name> {
    match callee {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr.id),
        _ => None,
    }
}

/// Returns the object and the attribute of a call such as `getattr(object, "name")` or
/// `patch.object(module, "name")`. The object must have the attribute under that very name.
fn asked_by_text(call: &ExprCall) -> Option<(&Expr, Name)> {
    let callee = called(&call.func)?;
    let asks = ["getattr", "hasattr", "setattr", "delattr", "object"].contains(&callee.as_str());
    let [object, Expr::StringLiteral(text), ..] = &*call.arguments.args else { return None };
    asks.then(|| (object, Name::new(text.value.to_str())))
}

/// Returns true if the callee lists the names of its first argument.
fn lists_names(callee: &Expr) -> bool {
    match callee {
        Expr::Name(name) => matches!(name.id.as_str(), "vars" | "dir" | "getmembers"),
        Expr::Attribute(attribute) => &attribute.attr == "getmembers",
        _ => false,
    }
}

pub(super) fn parameter_names(parameters: &Parameters) -> impl Iterator<Item = Name> {
    parameters.iter().map(|parameter| parameter.name().id.clone())
}
