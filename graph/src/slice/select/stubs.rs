//! Uncalled methods: which of them stay in a kept class, as stubs.

use ruff_python_ast::{Stmt, StmtClassDef, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::Search;
use crate::{
    module::ModuleId,
    slice::{
        plan::Place,
        program::UnitId,
        prune::{Clause, ClauseHeader, Node},
    },
};

impl<'a> Search<'a, '_> {
    /// Returns a unit's nodes without the uncalled methods that no code may call.
    pub(super) fn settle(&mut self, id: UnitId) -> Vec<Node<'a>> {
        let program = self.program();
        let module = program.get(id).module;
        let mut nodes = program.pruned(id).to_vec();
        let prefix = program.modules.get(module).name.clone();
        let mut dropped = Vec::new();
        for node in &mut nodes {
            self.settle_node(module, &prefix, node, &mut dropped);
        }
        self.selection.dropped_stubs.extend(dropped);
        nodes
    }

    fn settle_node(
        &self,
        module: ModuleId,
        prefix: &str,
        node: &mut Node<'a>,
        dropped: &mut Vec<(Place, String)>,
    ) {
        let Stmt::ClassDef(class) = node.stmt else {
            if node.stmt.is_function_def_stmt() && self.program().is_support(module) {
                return; // A test is nobody's to change, nor what it defines.
            }
            for clause in &mut node.clauses {
                for inner in &mut clause.body {
                    self.settle_node(module, prefix, inner, dropped);
                }
            }
            return;
        };
        let qualified = if prefix.contains(':') {
            format!("{prefix}.{}", class.name)
        } else {
            format!("{prefix}:{}", class.name)
        };
        for clause in &mut node.clauses {
            self.settle_class(module, &qualified, class, clause, dropped);
        }
    }

    fn settle_class(
        &self,
        module: ModuleId,
        qualified: &str,
        class: &'a StmtClassDef,
        clause: &mut Clause<'a>,
        dropped: &mut Vec<(Place, String)>,
    ) {
        let source = self.program().modules.get(module).syntax.source();
        let path = self.program().modules.get(module).path();
        let mandatory = self.abstracts.get(qualified);
        let body = std::mem::take(&mut clause.body);
        let mut abstract_one = None;
        for mut node in body {
            if let Some(name) = stub_name(&node) {
                let place = Place { path: path.to_owned(), line: source.line(node.stmt.start()) };
                let forced = mandatory.is_some_and(|names| names.contains(name));
                if !forced && !self.selection.stubs.contains(&place) {
                    if is_abstract(node.stmt) {
                        abstract_one.get_or_insert_with(|| node.clone());
                    }
                    dropped.push((place, name.to_owned()));
                    continue;
                }
            }
            self.settle_node(module, qualified, &mut node, dropped);
            clause.body.push(node);
        }
        if clause.body.is_empty() {
            let pass = class.body.iter().find(|stmt| {
                matches!(stmt, Stmt::Pass(_))
                    || super::super::ran::is_docstring(stmt)
                    || is_ellipsis(stmt)
            });
            match (pass, abstract_one) {
                // A class of which only this is left stays one that cannot be instantiated.
                (_, Some(stub)) => clause.body.push(stub),
                (Some(stmt), None) => clause
                    .body
                    .push(super::super::prune::leaf(stmt, super::super::prune::KeptAs::Filler)),
                (None, None) => clause.needs_pass = true,
            }
        }
    }

    /// Uncalled methods that a kept class body mentions, or that something may ask for.
    pub(super) fn wanted_stubs(&self) -> FxHashSet<Place> {
        let mut wanted = FxHashSet::default();
        for (&id, chosen) in &self.selection.chosen {
            let module = self.program().get(id).module;
            let source = self.program().modules.get(module).syntax.source();
            let path = self.program().modules.get(module).path();
            for (node, kept) in self.program().pruned(id).iter().zip(chosen.nodes.iter()) {
                debug_assert!(std::ptr::eq(node.stmt, kept.stmt), "settling keeps the units");
                each_stub(node, &mut |class, node| {
                    let Some(name) = stub_name(node) else { return };
                    let place =
                        Place { path: path.to_owned(), line: source.line(node.stmt.start()) };
                    let local = self.class_locals.contains(&(
                        module,
                        source.line(class.start()),
                        Name::new(name),
                    ));
                    let asked = match &self.adjustments.stubs {
                        Some(stubs) => stubs.contains(&place),
                        None => true,
                    };
                    // What is skipped, or fails before it is called, is none the less among the tests
                    // of the command.
                    let is_support = self.program().is_support(module);
                    let asked = asked && !(is_support && has_tests(class))
                        || is_support && self.selection.methods.contains(&Name::new(name));
                    let asked = asked || self.adjustments.more_stubs.contains(&place);
                    if local || asked {
                        wanted.insert(place);
                    }
                });
            }
        }
        wanted
    }
}

/// Returns true if a class has test methods. A test runner reads little else of it.
fn has_tests(class: &StmtClassDef) -> bool {
    let is_test =
        |stmt: &Stmt| matches!(stmt, Stmt::FunctionDef(one) if one.name.starts_with("test"));
    class.body.iter().any(is_test)
}

fn is_ellipsis(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(expr) if expr.value.is_ellipsis_literal_expr())
}

fn is_abstract(stmt: &Stmt) -> bool {
    let Stmt::FunctionDef(function) = stmt else { return false };
    function.decorator_list.iter().any(|decorator| match &decorator.expression {
        ruff_python_ast::Expr::Name(name) => name.id.starts_with("abstract"),
        ruff_python_ast::Expr::Attribute(attribute) => attribute.attr.starts_with("abstract"),
        _ => false,
    })
}

/// The name of a method that was never entered.
fn stub_name<'a>(node: &Node<'a>) -> Option<&'a str> {
    match node.clauses.first()?.head {
        ClauseHeader::Function(function, called) if !called.any() => Some(function.name.as_str()),
        _ => None,
    }
}

/// Visits the members of every class below a node, with that class.
fn each_stub<'n, 'a>(node: &'n Node<'a>, visit: &mut impl FnMut(&'a StmtClassDef, &'n Node<'a>)) {
    for clause in &node.clauses {
        for inner in &clause.body {
            if let Stmt::ClassDef(class) = node.stmt {
                visit(class, inner);
            }
            each_stub(inner, visit);
        }
    }
}
