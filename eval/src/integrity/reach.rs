//! What leads to objects that no name of the gist stands for: tables of names that are gone through,
//! attributes that patterns ask for, functions that others are to call, texts of documentation.

use ruff_python_ast::{
    Comprehension, Expr, ExprAttribute, ExprCall, ExprContext, Pattern, Stmt,
    visitor::{Visitor, walk_comprehension, walk_expr, walk_pattern, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::{
    Rule,
    bindings::{Bindings, chain},
    fold::fold,
    shape::Suspect,
    tables::{copied, excuse, is_made, is_own, owner, shared_table},
    words::judge_attribute,
};

/// Functions that only their callers tell what they do.
const HANDED: [&str; 18] = [
    "eval",
    "exec",
    "compile",
    "open",
    "__import__",
    "getattr",
    "setattr",
    "delattr",
    "globals",
    "locals",
    "vars",
    "breakpoint",
    "operator.attrgetter",
    "operator.methodcaller",
    "importlib.import_module",
    "io.open",
    "os.open",
    "codecs.open",
];
/// Attributes that a pattern asks for as it could by a name.
const ASKED: [&str; 3] = ["__dict__", "__doc__", "__file__"];

/// All such things in a file.
pub(super) fn reaches<'a>(body: &'a [Stmt], bindings: &'a Bindings<'a>) -> Vec<Suspect> {
    let mut reaching = Reaching {
        bindings,
        fine: FxHashSet::default(),
        called: FxHashSet::default(),
        given: FxHashSet::default(),
        depth: 0,
        found: Vec::new(),
    };
    for stmt in body {
        reaching.visit_stmt(stmt);
    }
    reaching.found
}

struct Reaching<'a> {
    bindings: &'a Bindings<'a>,
    /// What stands where it may, or is judged where it stands.
    fine: FxHashSet<TextRange>,
    /// What is called.
    called: FxHashSet<TextRange>,
    /// Documentation that is only given to another.
    given: FxHashSet<TextRange>,
    /// Of functions and classes.
    depth: usize,
    found: Vec<Suspect>,
}

impl<'a> Reaching<'a> {
    fn add(&mut self, at: TextSize, rule: Rule, what: impl Into<String>, word: &str) {
        self.found.push(Suspect { at, rule, what: what.into(), word: word.to_owned() });
    }

    fn allow(&mut self, expr: &Expr) {
        self.fine.insert(expr.range());
    }

    /// A function that is named, and not called there.
    fn handed(&mut self, expr: &Expr) {
        if self.fine.contains(&expr.range()) {
            return;
        }
        let Some(full) = chain(expr).and_then(|written| self.bindings.resolve(&written)) else {
            return;
        };
        let name = full.strip_prefix("builtins.").unwrap_or(&full);
        if HANDED.contains(&name) {
            let rule = match name {
                "eval" | "exec" | "compile" => Rule::CodeFromStrings,
                _ => Rule::Tampering,
            };
            let word = name.rsplit('.').next().unwrap_or(name);
            self.add(expr.start(), rule, format!("it hands {name} on"), word);
        }
    }

    /// A table of names where nothing else judges what becomes of it.
    fn kept(&mut self, expr: &Expr) {
        if !self.fine.contains(&expr.range())
            && let Some(word) = shared_table(expr, self.bindings, self.depth == 0)
        {
            self.add(expr.start(), Rule::Tampering, "it hands a table of names on", &word);
        }
    }

    /// What is asked of a table of names, or of a copy of one.
    fn asked(&mut self, node: &'a ExprAttribute) {
        let method = node.attr.as_str();
        if !matches!(method, "values" | "items" | "get" | "__getitem__") {
            return;
        }
        let Some(names) = copied(&node.value, self.bindings) else { return };
        let of = owner(names);
        let is_plain = of.is_some_and(|of| {
            let is_self = matches!(of, Expr::Name(name) if ["self", "cls"].contains(&&*name.id));
            is_self || self.depth == 0 && is_made(of, self.bindings)
        });
        let is_called = self.called.contains(&node.range);
        let gives_all = matches!(method, "values" | "items");
        // What is asked for by a name is judged with the call.
        if !is_plain && (gives_all || !is_called) {
            let word = excuse(names, self.bindings);
            self.add(node.start(), Rule::Tampering, "it goes through a table of names", &word);
        }
    }

    /// `globals().get(name)`.
    fn call(&mut self, node: &'a ExprCall) {
        self.allow(&node.func);
        self.called.insert(node.func.range());
        for argument in node.arguments.args.iter() {
            if shared_table(argument, self.bindings, self.depth == 0).is_some() {
                self.allow(argument);
            }
        }
        for keyword in &node.arguments.keywords {
            if shared_table(&keyword.value, self.bindings, self.depth == 0).is_some() {
                self.allow(&keyword.value);
            }
        }
        let Expr::Attribute(method) = &*node.func else { return };
        if !matches!(&*method.attr, "get" | "__getitem__") {
            return;
        }
        let Some(names) = copied(&method.value, self.bindings) else { return };
        let Some(name) = node.arguments.args.first() else { return };
        let holder = owner(names).and_then(|of| self.bindings.outside(of));
        match fold(name, self.bindings) {
            Some(text) => {
                let rule = judge_attribute(holder.as_deref(), &text, self.bindings.mocks());
                if let Some(rule) = rule {
                    self.add(node.start(), rule, format!("it asks for {text}"), &text);
                }
            }
            None if owner(names).is_none_or(|of| is_own(of, self.bindings)) => {
                let what = "it asks for a name that is put together";
                self.add(node.start(), Rule::Tampering, what, &method.attr);
            }
            None => {}
        }
    }

    /// What a documentation says, where it is only given to another.
    fn copies_doc(&mut self, value: &Expr) {
        match value {
            Expr::Attribute(node) if &node.attr == "__doc__" => {
                self.given.insert(value.range());
            }
            Expr::Name(node) if node.id.as_str() == "__doc__" => {
                self.given.insert(value.range());
            }
            Expr::BinOp(node) => {
                self.copies_doc(&node.left);
                self.copies_doc(&node.right);
            }
            Expr::BoolOp(node) => node.values.iter().for_each(|part| self.copies_doc(part)),
            Expr::Call(node) => {
                if let Expr::Attribute(method) = &*node.func
                    && matches!(&*method.attr, "format" | "replace" | "strip")
                {
                    self.copies_doc(&method.value);
                }
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Reaching<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(node) => {
                let is_doc = |target: &Expr| match target {
                    Expr::Attribute(node) => &node.attr == "__doc__",
                    Expr::Name(node) => node.id.as_str() == "__doc__",
                    _ => false,
                };
                if node.targets.iter().all(is_doc) {
                    self.copies_doc(&node.value);
                }
                // Other names of things are known.
                if node.targets.iter().all(Expr::is_name_expr) {
                    self.allow(&node.value);
                }
            }
            Stmt::AnnAssign(node) if node.target.is_name_expr() => {
                if let Some(value) = &node.value {
                    self.allow(value);
                }
            }
            Stmt::AugAssign(node) => self.allow(&node.target),
            Stmt::For(node) => self.allow(&node.iter),
            Stmt::Expr(node) => self.allow(&node.value),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
                return;
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.allow(&comprehension.iter);
        walk_comprehension(self, comprehension);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(node) => self.call(node),
            Expr::Subscript(node) => self.allow(&node.value),
            Expr::Attribute(node) => {
                // `eval.__call__`.
                self.handed(&node.value);
                self.allow(&node.value);
            }
            Expr::Named(node) => self.allow(&node.value),
            Expr::Compare(node) => {
                self.allow(&node.left);
                node.comparators.iter().for_each(|part| self.allow(part));
            }
            _ => {}
        }
        match expr {
            Expr::Call(_) => self.kept(expr),
            Expr::Attribute(node) if node.ctx == ExprContext::Load => {
                self.handed(expr);
                self.kept(expr);
                self.asked(node);
                if &node.attr == "__doc__" && !self.given.contains(&node.range) {
                    self.add(node.start(), Rule::Tampering, "it reads what it says", "__doc__");
                }
            }
            Expr::Name(node) if node.ctx == ExprContext::Load => {
                self.handed(expr);
                self.kept(expr);
                if node.id.as_str() == "__doc__" && !self.given.contains(&node.range) {
                    self.add(node.start(), Rule::Tampering, "it reads what it says", "__doc__");
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        if let Pattern::MatchClass(node) = pattern {
            for keyword in &node.arguments.keywords {
                let name = keyword.attr.as_str();
                let rule = judge_attribute(None, name, self.bindings.mocks())
                    .or_else(|| ASKED.contains(&name).then_some(Rule::Tampering));
                if let Some(rule) = rule {
                    let what = format!("a pattern asks for {name}");
                    self.add(keyword.attr.start(), rule, what, name);
                }
            }
        }
        walk_pattern(self, pattern);
    }
}
