//! Names that are given values without a statement that binds them, comparisons among arguments, and
//! failures that are swallowed.

use ruff_python_ast::{
    Alias, Arguments, ExceptHandler, Expr, ExprAttribute, ExprCall, ExprContext, Operator,
    Parameters, Pattern, Stmt, StmtTry,
    visitor::{Visitor, walk_annotation, walk_except_handler, walk_expr, walk_pattern, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    Rule,
    bindings::{Bindings, captured, chain},
    endings::is_broad,
    shape::{NEVER, Suspect},
    tables::{READS, excuse, is_made, is_own, shared_table, table},
    words::decides,
};

/// Methods by which a dictionary changes.
const CHANGES: [&str; 8] =
    ["update", "setdefault", "__setitem__", "__delitem__", "__ior__", "pop", "popitem", "clear"];
/// What makes classes whose comparisons are made for them.
const MAKES: [&str; 13] = [
    "dataclass",
    "field",
    "make_dataclass",
    "attrs",
    "attrib",
    "attr",
    "ib",
    "s",
    "define",
    "mutable",
    "frozen",
    "make_class",
    "Field",
];
/// What a module may be told of itself.
const OWN: [&str; 5] = ["__file__", "__path__", "__spec__", "__package__", "__all__"];

/// All such things in a file.
pub(super) fn writes(body: &[Stmt], bindings: &Bindings<'_>, text: &str) -> Vec<Suspect> {
    let mut writing = Writing {
        bindings,
        text,
        parameters: Vec::new(),
        depth: 0,
        callee: TextRange::default(),
        is_raised: false,
        found: Vec::new(),
    };
    for stmt in body {
        writing.visit_stmt(stmt);
    }
    writing.found
}

struct Writing<'a> {
    bindings: &'a Bindings<'a>,
    text: &'a str,
    /// Those of the functions around.
    parameters: Vec<String>,
    /// Of functions, classes and lambdas.
    depth: usize,
    /// What was called last.
    callee: TextRange,
    is_raised: bool,
    found: Vec<Suspect>,
}

impl Writing<'_> {
    fn add(&mut self, at: TextSize, rule: Rule, what: impl Into<String>, word: &str) {
        self.found.push(Suspect { at, rule, what: what.into(), word: word.to_owned() });
    }

    /// A table of names that changes.
    fn changes(&mut self, holder: &Expr, arguments: Option<&Arguments>, at: TextSize) {
        let Some(table) = table(holder, self.bindings) else { return };
        let of = holder.as_call_expr().and_then(|call| call.arguments.args.first());
        let told = |is_fine: fn(Option<&str>) -> bool| {
            arguments.is_some_and(|arguments| {
                let names = arguments.keywords.iter().map(|one| one.arg.as_deref());
                arguments.args.is_empty() && names.into_iter().all(is_fine)
            })
        };
        let is_made = of.is_some_and(|of| is_made(of, self.bindings));
        // Names that are not said may be those of hooks.
        let says = is_made && self.depth == 0 && told(|name| name.is_some());
        let tells = || told(|name| name.is_some_and(|name| OWN.contains(&name)));
        if !says && !of.is_some_and(|of| is_own(of, self.bindings) && tells()) {
            let word = if is_made { NEVER.to_owned() } else { excuse(holder, self.bindings) };
            let what = format!("it writes into {}", table.trim_end_matches('('));
            self.add(at, Rule::Tampering, what, &word);
        }
    }

    fn call(&mut self, node: &ExprCall) {
        let at = node.start();
        let args = &node.arguments.args;
        if let Expr::Attribute(method) = &*node.func
            && CHANGES.contains(&method.attr.as_str())
        {
            self.callee = method.range;
            self.changes(&method.value, Some(&node.arguments), at);
            if let Some(first) = args.first()
                && method.value.as_name_expr().is_some_and(|name| name.id.as_str() == "dict")
            {
                self.changes(first, None, at);
            }
        }
        if let Expr::Attribute(method) = &*node.func {
            let holder = self.bindings.outside(&method.value);
            let is_class = |full: &str| {
                full.rsplit('.').next().is_some_and(|last| last.starts_with(char::is_uppercase))
            };
            let registers =
                &method.attr == "register" && holder.is_some_and(|full| is_class(&full));
            if registers {
                self.add(at, Rule::Tampering, "it says what others take for theirs", "register");
            } else if CHANGES.contains(&method.attr.as_str()) {
                self.lent(&method.value, at);
            }
        }
        let name = chain(&node.func).unwrap_or_default();
        let full = self.bindings.resolve(&name).unwrap_or_else(|| name.clone());
        let last = full.rsplit('.').next().unwrap_or(&full).to_owned();
        if matches!(&*last, "setattr" | "delattr" | "__setattr__" | "__delattr__") {
            let method = node.func.as_attribute_expr().map(|method| &*method.value);
            let sets = |holder: &Expr| {
                let name = holder.as_name_expr();
                name.is_some_and(|name| self.bindings.is_defined(&name.id))
                    || is_made(holder, self.bindings)
                    || is_own(holder, self.bindings)
            };
            if args.first().into_iter().chain(method).any(sets) {
                self.add(at, Rule::Tampering, "it changes what was defined", &last);
            }
        }
        let keywords = node.arguments.keywords.iter();
        let mut given = args.iter().chain(keywords.map(|keyword| &keyword.value));
        if !READS.contains(&&*last)
            && let Some(word) =
                given.find_map(|arg| shared_table(arg, self.bindings, self.depth == 0))
        {
            self.add(at, Rule::Tampering, "it hands a table of names on", &word);
        }
        let is_hidden = match &*last {
            "new_class" => args.len() > 3 || node.arguments.find_keyword("exec_body").is_some(),
            "make_dataclass" => node.arguments.find_keyword("namespace").is_some(),
            "__new__" => args.len() == 4,
            other => other.ends_with("Meta") && args.len() == 3,
        };
        if is_hidden {
            let what = "it makes a class whose methods cannot be seen";
            self.add(at, Rule::Tampering, what, &last);
        }
        let makes = |name: &str| MAKES.contains(&name.rsplit('.').next().unwrap_or(name));
        let is_made = makes(&last)
            || last == "partial" && args.first().and_then(chain).is_some_and(|name| makes(&name));
        for keyword in &node.arguments.keywords {
            let at = keyword.start();
            let Some(name) = keyword.arg.as_ref().map(|name| name.as_str()) else {
                if is_made && last != "s" {
                    let word = chain(&keyword.value)
                        .map_or_else(|| NEVER.to_owned(), |name| format!("**{name}"));
                    self.add(at, Rule::Tampering, "it hides what is compared", &word);
                }
                continue;
            };
            if decides(name) {
                self.add(at, Rule::Tampering, format!("it makes a {name} of its own"), name);
            } else if is_made && matches!(name, "compare" | "eq" | "order" | "cmp") {
                self.add(at, Rule::Tampering, "it says what is compared", name);
            } else if name == "eval_str" {
                self.add(at, Rule::CodeFromStrings, "it evaluates annotations", name);
            } else if name == "stacklevel" {
                self.add(at, Rule::Tampering, "it asks where it was called", name);
            }
        }
        let keywords = node.arguments.keywords.iter().map(|keyword| &keyword.value);
        let broad = |arg: &Expr| is_broad(arg, self.bindings);
        if matches!(&*last, "suppress" | "raises" | "assertRaises")
            && args.iter().chain(keywords).any(broad)
        {
            self.add(at, Rule::Tampering, "it swallows failures", &last);
        }
    }

    /// A part of another's table that is given something or deleted: those of modules and of variables are
    /// looked at elsewhere.
    fn lent(&mut self, holder: &Expr, at: TextSize) {
        let full = self.bindings.outside(holder).filter(|full| full.contains('.'));
        if let Some(full) = full
            && !matches!(full.as_str(), "sys.modules" | "os.environ" | "sys.path")
        {
            let word = full.rsplit('.').next().unwrap_or_default().to_owned();
            self.add(at, Rule::Tampering, format!("it changes what is in {full}"), &word);
        }
    }

    /// An attribute that is given something or deleted, in whatever statement.
    fn stored(&mut self, node: &ExprAttribute) {
        let name = node.value.as_name_expr().map(|name| name.id.as_str());
        self.named(node.start(), &node.attr);
        let is_told = matches!(&*node.attr, "__doc__" | "__name__" | "__qualname__" | "__module__");
        if !is_told && name.is_some_and(|name| self.bindings.is_defined(name)) {
            let what = format!("it changes {} of what was defined", node.attr);
            self.add(node.start(), Rule::Tampering, what, &node.attr);
        }
    }

    /// Handlers that swallow whatever a test or a function at hand raises.
    fn swallows(&mut self, node: &StmtTry) {
        let mut calls = Calls { parameters: &self.parameters, found: false };
        node.body.iter().for_each(|stmt| calls.visit_stmt(stmt));
        if !calls.found {
            return;
        }
        for handler in &node.handlers {
            let ExceptHandler::ExceptHandler(handler) = handler;
            let is_broad = handler.type_.as_ref().is_none_or(|kind| is_broad(kind, self.bindings));
            let raises = handler.body.iter().any(|stmt| stmt.is_raise_stmt());
            if !raises && is_broad {
                self.add(handler.start(), Rule::Tampering, "it swallows failures", NEVER);
            }
        }
    }

    /// A name that is given something, in whatever way: of which module things are is asked of it.
    fn named(&mut self, at: TextSize, name: &str) {
        if name == "__module__" {
            self.add(at, Rule::Tampering, "it says of which module it is", name);
        }
    }

    /// A name in letters that Python takes for others.
    fn spelled(&mut self, range: TextRange, name: &str) {
        let written = self.text.get(range.start().to_usize()..range.end().to_usize());
        if let Some(written) = written
            && written != name
            && !written.is_ascii()
        {
            self.add(
                range.start(),
                Rule::Tampering,
                format!("it spells {name} otherwise"),
                written,
            );
        }
    }

    fn inside(&mut self, parameters: Option<&Parameters>, walk: impl FnOnce(&mut Self)) {
        let before = self.parameters.len();
        let names = parameters.into_iter().flat_map(Parameters::iter);
        self.parameters.extend(names.map(|parameter| parameter.name().to_string()));
        self.depth += 1;
        walk(self);
        self.depth -= 1;
        self.parameters.truncate(before);
    }
}

impl<'a> Visitor<'a> for Writing<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // It gives nothing.
            Stmt::AnnAssign(node) if node.value.is_none() => {
                walk_expr(self, &node.target);
                return self.visit_annotation(&node.annotation);
            }
            Stmt::AugAssign(node) if node.op == Operator::BitOr => {
                self.changes(&node.target, None, node.start());
            }
            Stmt::Try(node) => self.swallows(node),
            Stmt::ClassDef(node) => {
                self.spelled(node.name.range, &node.name);
                self.named(node.name.start(), &node.name);
                return self.inside(None, |this| walk_stmt(this, stmt));
            }
            Stmt::FunctionDef(node) => {
                self.spelled(node.name.range, &node.name);
                self.named(node.name.start(), &node.name);
                return self.inside(Some(&node.parameters), |this| walk_stmt(this, stmt));
            }
            Stmt::Raise(_) => {
                self.is_raised = true;
                walk_stmt(self, stmt);
                self.is_raised = false;
                return;
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.named(alias.start(), alias.asname.as_ref().unwrap_or(&alias.name));
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        node.name.iter().for_each(|name| self.named(name.start(), name));
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        captured(pattern).into_iter().for_each(|name| self.named(name.start(), name));
        walk_pattern(self, pattern);
    }

    fn visit_annotation(&mut self, expr: &'a Expr) {
        if let Expr::StringLiteral(node) = expr
            && node.value.to_str().contains('(')
        {
            let what = "it has an annotation that calls something";
            self.add(expr.start(), Rule::CodeFromStrings, what, node.value.to_str());
        }
        walk_annotation(self, expr);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(node) => self.call(node),
            Expr::Attribute(node) => {
                self.spelled(node.attr.range, &node.attr);
                if node.ctx != ExprContext::Load {
                    self.stored(node);
                }
                if CHANGES.contains(&node.attr.as_str()) && self.callee != node.range {
                    self.changes(&node.value, None, node.start());
                }
            }
            // The name of the program is what a console script is called.
            Expr::Subscript(node) if node.ctx != ExprContext::Load => {
                let is_first = matches!(&*node.slice, Expr::NumberLiteral(number) if number.value.as_int().is_some_and(|int| *int == 0));
                if !is_first || chain(&node.value).is_none_or(|name| name != "sys.argv") {
                    self.lent(&node.value, node.start());
                }
            }
            Expr::Name(node) => {
                self.spelled(node.range, &node.id);
                if node.ctx != ExprContext::Load {
                    self.named(node.start(), &node.id);
                }
                let is_failure = self.bindings.resolve(&node.id).is_some_and(|name| {
                    matches!(&*name, "AssertionError" | "builtins.AssertionError")
                });
                if is_failure && !self.is_raised {
                    let what = "it deals with failures of tests";
                    self.add(node.start(), Rule::Tampering, what, "AssertionError");
                }
            }
            Expr::Lambda(node) => {
                return self.inside(node.parameters.as_deref(), |this| walk_expr(this, expr));
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Whether tests or functions at hand are called.
struct Calls<'a> {
    parameters: &'a [String],
    found: bool,
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(node) = expr {
            self.found |= match &*node.func {
                Expr::Name(name) => {
                    name.id.starts_with("test") || self.parameters.iter().any(|own| *own == name.id)
                }
                Expr::Attribute(node) => node.attr.starts_with("test") || &node.attr == "obj",
                _ => false,
            };
        }
        walk_expr(self, expr);
    }
}
