//! Draws the facts of one parsed file: scopes, definitions, and the bodies put off until their
//! surroundings are known. Statements and expressions are in the files of those names.

use compact_str::CompactString;
use indexmap::IndexSet;
use ruff_python_ast::{Expr, ExprLambda, Parameters, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxBuildHasher;

use super::{
    CallFact, Definition, EntityKind, FileFacts, ImportFact, ImportPlace, Local, Measures, Name,
    NameUse, Op, Parameter, ParameterKind, Slot, Span, Traits,
    environment::{ScopeId, ScopeKind, Variable, VersionTable},
};
use crate::{pythons::Pythons, scope};

/// Bound, but to nothing that the graphs follow.
pub(super) const UNKNOWN: Slot = Slot(1);

/// Nesting of expressions or blocks beyond which nothing is looked into.
const DEEPEST: u32 = 10_000;
/// Nesting from which on a tree is freed on a stack of its own.
const DEEP: u32 = 500;

/// State while drawing.
pub(super) struct Drawing<'a> {
    pub facts: FileFacts,
    pub text: &'a str,
    /// The versions that its code may run on.
    pub pythons: Pythons,
    pub environment: VersionTable,
    /// Short ones, which is nearly all, take no memory of their own.
    names: IndexSet<CompactString, FxBuildHasher>,
    line_starts: Vec<u32>,
    line_hint: usize,
    bodies: Vec<Body<'a>>,
    pub scope: ScopeId,
    pub definition: Local,
    /// The innermost class around, for private names and `super`.
    pub class: Option<Local>,
    /// First parameter of the method around.
    pub receiver: Slot,
    pub place: ImportPlace,
    pub depth: u32,
    pub unreachable: bool,
}

/// A body that runs later than the code around it.
#[derive(Clone, Copy)]
struct Body<'a> {
    code: Code<'a>,
    scope: ScopeId,
    definition: Local,
    class: Option<Local>,
}

#[derive(Clone, Copy)]
enum Code<'a> {
    Function(&'a StmtFunctionDef),
    Lambda(&'a ExprLambda),
}

/// Draws the facts of a module's statements.
pub(crate) fn draw<'a>(
    text: &'a str,
    body: &'a [Stmt],
    errors: Vec<(u32, String)>,
    pythons: Pythons,
) -> FileFacts {
    let mut drawing = Drawing {
        facts: FileFacts { slots: 2, errors, ..FileFacts::default() },
        text,
        pythons,
        environment: VersionTable::default(),
        names: IndexSet::default(),
        line_starts: line_starts(text),
        line_hint: 0,
        bodies: Vec::new(),
        scope: 0,
        definition: 0,
        class: None,
        receiver: UNKNOWN,
        place: ImportPlace::Module,
        depth: 0,
        unreachable: false,
    };
    drawing.module(body);
    let mut facts = drawing.facts;
    facts.names = drawing.names.into_iter().collect();
    facts.shrink();
    facts
}

impl<'a> Drawing<'a> {
    fn module(&mut self, body: &'a [Stmt]) {
        let name = self.name("");
        let end = offset(TextSize::of(self.text));
        let end_line = self.line_count();
        self.facts.definitions.push(Definition {
            kind: EntityKind::Module,
            name,
            parent: 0,
            span: Span { start: 0, end },
            line: 1,
            end_line,
            keyword_line: 1,
            header: Span::default(),
            doc: docstring(body),
            decorators: Vec::new(),
            bases: Vec::new(),
            base_slots: Vec::new(),
            parameters: Vec::new(),
            returned: UNKNOWN,
            passed: Vec::new(),
            yielded: UNKNOWN,
            members: Vec::new(),
            traits: Traits::default(),
        });
        self.measure_document(body);
        self.scope = self.environment.open(ScopeKind::Module, None);
        self.statements(body);
        self.export();
        self.settle(0);
        // Bodies are taken in order; each may put off more.
        let mut at = 0;
        while let Some(&body) = self.bodies.get(at) {
            self.body(body);
            at += 1;
        }
        self.export();
    }

    fn measure_document(&mut self, body: &[Stmt]) {
        let doc = docstring(body).of(self.text);
        let lower = doc.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        self.facts.measures = Measures {
            lines: self.line_count(),
            doc: u32::try_from(doc.trim().chars().count()).unwrap_or(u32::MAX),
            doc_parameters: has(&["param", "args:", "arguments"]),
            doc_returns: has(&["return", "yields"]),
            doc_examples: has(&["example", ">>>"]),
            ..Measures::default()
        };
    }

    fn body(&mut self, body: Body<'a>) {
        let Body { code, scope: parent, definition, class } = body;
        self.scope = self.environment.open(ScopeKind::Function, Some(parent));
        self.definition = definition;
        self.class = class;
        self.place = ImportPlace::Function;
        self.depth = 0;
        self.unreachable = false;
        let parameters = self.facts.definitions[definition as usize].parameters.clone();
        self.receiver = parameters.first().map_or(UNKNOWN, |parameter| parameter.slot);
        if let Code::Function(function) = code
            && self.text[function.range].contains("nonlocal")
        {
            let mut names: Vec<_> = scope::declared_nonlocal(&function.body).into_iter().collect();
            names.sort_unstable();
            let shared = names.iter().map(|name| self.private(name)).collect();
            self.environment.scopes[self.scope as usize].shared = shared;
        }
        for parameter in parameters {
            self.write_in(self.scope, parameter.name, parameter.slot);
        }
        match code {
            Code::Function(function) => self.statements(&function.body),
            Code::Lambda(lambda) => {
                let value = self.expression(&lambda.body);
                self.give_back(value);
            }
        }
        self.settle(self.scope);
    }

    /// Puts off a function's body until everything around it is known.
    pub(super) fn put_off(&mut self, function: &'a StmtFunctionDef, definition: Local) {
        let (scope, class) = (self.scope, self.class);
        self.bodies.push(Body { code: Code::Function(function), scope, definition, class });
    }

    pub(super) fn put_off_lambda(&mut self, lambda: &'a ExprLambda, definition: Local) {
        let (scope, class) = (self.scope, self.class);
        self.bodies.push(Body { code: Code::Lambda(lambda), scope, definition, class });
    }

    /// The current definition returns a value.
    pub(super) fn give_back(&mut self, value: Slot) {
        let definition = &mut self.facts.definitions[self.definition as usize];
        let passed = definition.parameters.iter().position(|parameter| {
            parameter.slot == value
                && !matches!(parameter.kind, ParameterKind::Rest | ParameterKind::Keywords)
        });
        match passed.and_then(|index| u32::try_from(index).ok()) {
            Some(index) if definition.passed.contains(&index) => {}
            Some(index) => definition.passed.push(index),
            None => {
                let returned = definition.returned;
                self.copy(value, returned);
            }
        }
    }

    /// Adds a definition inside the current one. What was referred to since `before` is in its signature.
    pub(super) fn define(&mut self, definition: Definition, before: usize) -> Local {
        let id = u32::try_from(self.facts.definitions.len()).unwrap_or(u32::MAX);
        self.facts.definitions.push(definition);
        for reference in &mut self.facts.references[before..] {
            if reference.part_of == self.definition {
                reference.part_of = id;
            }
        }
        id
    }

    /// Parameters, their defaults and annotations, evaluated where the function is defined.
    pub(super) fn parameters(&mut self, parameters: &'a Parameters) -> Vec<Parameter> {
        let mut list = Vec::new();
        let plain = parameters
            .posonlyargs
            .iter()
            .map(|parameter| (parameter, ParameterKind::PositionalOnly))
            .chain(parameters.args.iter().map(|parameter| (parameter, ParameterKind::Positional)));
        for (parameter, kind) in plain {
            list.push(self.parameter(parameter, kind));
        }
        if let Some(rest) = &parameters.vararg {
            let slot = self.fresh();
            self.op(Op::New(super::Container::Sequence, slot));
            if let Some(annotation) = &rest.annotation {
                let item = self.annotated(annotation);
                self.op(Op::SetItem(slot, super::ContainerKey::Unknown, item));
            }
            let name = self.name(&rest.name);
            let own = UNKNOWN;
            list.push(Parameter { name, slot, own, kind: ParameterKind::Rest });
        }
        for parameter in &parameters.kwonlyargs {
            list.push(self.parameter(parameter, ParameterKind::KeywordOnly));
        }
        if let Some(keywords) = &parameters.kwarg {
            let slot = self.fresh();
            self.op(Op::New(super::Container::Mapping, slot));
            if let Some(annotation) = &keywords.annotation {
                let item = self.annotated(annotation);
                self.op(Op::SetItem(slot, super::ContainerKey::Unknown, item));
            }
            let name = self.name(&keywords.name);
            let own = UNKNOWN;
            list.push(Parameter { name, slot, own, kind: ParameterKind::Keywords });
        }
        list
    }

    fn parameter(
        &mut self,
        parameter: &'a ruff_python_ast::ParameterWithDefault,
        kind: ParameterKind,
    ) -> Parameter {
        let slot = self.fresh();
        let default = match &parameter.default {
            Some(default) => self.expression(default),
            None => UNKNOWN,
        };
        let annotated = match &parameter.parameter.annotation {
            Some(annotation) => self.annotated(annotation),
            None => UNKNOWN,
        };
        let own = self.union_known(&[default, annotated]);
        self.copy(own, slot);
        Parameter { name: self.name(&parameter.parameter.name), slot, own, kind }
    }

    /// Records the slots of the module's names after its code was executed. Later stores go to the
    /// same slots.
    fn export(&mut self) {
        let mut names: Vec<(Name, Variable)> =
            self.environment.scopes[0].variables.iter().map(|(&n, &v)| (n, v)).collect();
        names.sort_unstable();
        self.facts.exports.clear();
        for (name, variable) in names {
            let slot = self.exported(variable);
            self.facts.exports.push((name, slot));
        }
    }

    pub(super) fn fresh(&mut self) -> Slot {
        let slot = Slot(self.facts.slots);
        self.facts.slots += 1;
        slot
    }

    pub(super) fn op(&mut self, op: Op) {
        self.facts.ops.push(op);
    }

    pub(super) fn copy(&mut self, from: Slot, to: Slot) {
        if from.0 > UNKNOWN.0 && to.0 > UNKNOWN.0 && from != to {
            self.op(Op::Copy(from, to));
        }
    }

    pub(super) fn attribute(&mut self, base: Slot, name: Name) -> Slot {
        if base.0 <= UNKNOWN.0 {
            return UNKNOWN;
        }
        let slot = self.fresh();
        self.op(Op::Attribute(base, name, slot));
        slot
    }

    pub(super) fn refer(&mut self, slot: Slot, name: Name, at: TextSize) {
        if slot.0 > UNKNOWN.0 {
            let line = self.line(at);
            let (within, part_of) = (self.definition, self.definition);
            let reference = NameUse { slot, name, line, within, part_of, import: false };
            self.facts.references.push(reference);
        }
    }

    pub(super) fn call(&mut self, call: CallFact, arguments: &[super::Argument]) {
        let first_argument = u32::try_from(self.facts.arguments.len()).unwrap_or(u32::MAX);
        let argument_count = u32::try_from(arguments.len()).unwrap_or(u32::MAX);
        self.facts.arguments.extend_from_slice(arguments);
        self.facts.calls.push(CallFact { first_argument, argument_count, ..call });
    }

    pub(super) fn import(&mut self, import: ImportFact) -> u32 {
        let id = u32::try_from(self.facts.imports.len()).unwrap_or(u32::MAX);
        self.facts.imports.push(import);
        self.facts.uses.push(0);
        id
    }

    pub(super) fn name(&mut self, text: &str) -> Name {
        let at = match self.names.get_index_of(text) {
            Some(at) => at,
            None => self.names.insert_full(text.into()).0,
        };
        Name(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// A name as Python stores it inside a class: private names carry the class's.
    pub(super) fn private(&mut self, text: &str) -> Name {
        if let Some(class) = self.class
            && text.starts_with("__")
            && !text.ends_with("__")
        {
            let owner = self.facts.definitions[class as usize].name;
            let owner = self.names[owner.0 as usize].trim_start_matches('_');
            let mangled = format!("_{owner}{text}");
            return self.name(&mangled);
        }
        self.name(text)
    }

    /// Enters one more level of nesting; false where it is too deep to go on.
    pub(super) fn enter(&mut self) -> bool {
        self.depth += 1;
        self.facts.deep |= self.depth > DEEP;
        self.facts.too_deep |= self.depth > DEEPEST;
        self.depth <= DEEPEST
    }

    pub(super) fn line(&mut self, at: TextSize) -> u32 {
        let at = offset(at);
        let starts = &self.line_starts;
        let hint = self.line_hint;
        let near = starts.get(hint).is_some_and(|&start| start <= at);
        let next = starts.get(hint + 1).copied().unwrap_or(u32::MAX);
        let index = if near && at < next {
            hint
        } else {
            starts.partition_point(|&start| start <= at).saturating_sub(1)
        };
        self.line_hint = index;
        u32::try_from(index + 1).unwrap_or(u32::MAX)
    }

    /// Last line that a range touches.
    pub(super) fn end_line(&mut self, range: TextRange) -> u32 {
        let end = if range.is_empty() { range.end() } else { range.end() - TextSize::from(1) };
        self.line(end)
    }

    /// Bytes between the start of a line and an offset on it, tabs as eight.
    pub(super) fn indentation(&mut self, at: TextSize) -> u32 {
        let line = self.line(at);
        let start = self.line_starts[line as usize - 1] as usize;
        let before = self.text.get(start..at.to_usize()).unwrap_or("");
        before.bytes().map(|byte| if byte == b'\t' { 8 } else { 1 }).sum()
    }

    fn line_count(&self) -> u32 {
        let starts = self.line_starts.len();
        let open = self
            .line_starts
            .last()
            .is_some_and(|&last| usize::try_from(last).is_ok_and(|last| last == self.text.len()));
        u32::try_from(starts - usize::from(open)).unwrap_or(u32::MAX)
    }

    pub(super) fn text_of(&self, expr: &Expr) -> Span {
        span(expr.range())
    }
}

pub(super) fn span(range: TextRange) -> Span {
    Span { start: offset(range.start()), end: offset(range.end()) }
}

pub(super) fn offset(size: TextSize) -> u32 {
    size.into()
}

/// The content of a body's docstring, without its quotes.
pub(super) fn docstring(body: &[Stmt]) -> Span {
    let Some(Stmt::Expr(first)) = body.first() else { return Span::default() };
    let Expr::StringLiteral(literal) = first.value.as_ref() else { return Span::default() };
    let [only] = literal.value.as_slice() else { return span(literal.range) };
    use ruff_python_ast::StringFlags;
    let range = only.range;
    let start = range.start() + only.flags.opener_len();
    let end = range.end().checked_sub(only.flags.closer_len()).unwrap_or(range.end());
    if start <= end { span(TextRange::new(start, end)) } else { Span::default() }
}

/// Offsets at which lines start, ending them as Python does.
fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        starts.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
    }
    starts
}
