//! Lists the names and attributes that executed code reads, to decide who can observe a change.

use ruff_python_ast::{
    Expr, ExprContext, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;

use super::ran::ModuleRun;
use crate::{
    module::{ModuleId, Modules},
    source::Source,
};

/// Places by the name or the attribute that is read there.
#[derive(Debug, Default)]
pub(crate) struct Mentions(FxHashMap<Name, Vec<(ModuleId, TextSize)>>);

impl Mentions {
    /// Collects the names and attributes that executed statements read.
    pub(crate) fn new(modules: &Modules, ran: &[ModuleRun]) -> Self {
        let mut mentions = Self::default();
        for (id, module) in modules.iter() {
            let ran = &ran[id.0 as usize];
            let source = module.syntax.source();
            let mut walk = Walk { module: id, ran, source, found: &mut mentions };
            module.syntax.body().iter().for_each(|stmt| walk.visit_stmt(stmt));
        }
        mentions
    }

    /// Returns true if a name is read anywhere outside of these ranges.
    pub(crate) fn is_read_outside(&self, name: &Name, inside: &[(ModuleId, TextRange)]) -> bool {
        let is_inside = |(module, at): &(ModuleId, TextSize)| {
            inside.iter().any(|(other, range)| module == other && range.contains(*at))
        };
        self.0.get(name).is_some_and(|places| !places.iter().all(is_inside))
    }
}

struct Walk<'w> {
    module: ModuleId,
    ran: &'w ModuleRun,
    source: &'w Source,
    found: &'w mut Mentions,
}

impl Walk<'_> {
    fn read(&mut self, name: Name, at: TextSize) {
        self.found.0.entry(name).or_default().push((self.module, at));
    }
}

impl<'a> Visitor<'a> for Walk<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_definition = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        if !is_definition && !self.ran.statement(self.source, stmt) {
            return;
        }
        // What is imported is read where its name is.
        if let Stmt::ImportFrom(import) = stmt {
            let renamed = import.names.iter().filter(|alias| alias.asname.is_some());
            renamed.for_each(|alias| self.read(alias.name.id.clone(), alias.start()));
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(node) if node.ctx == ExprContext::Load => {
                self.read(node.id.clone(), node.start());
            }
            Expr::Attribute(node) if node.ctx == ExprContext::Load => {
                self.read(node.attr.id.clone(), node.start());
            }
            // `getattr(value, "name")`
            Expr::StringLiteral(node) => self.read(Name::new(node.value.to_str()), node.start()),
            _ => {}
        }
        walk_expr(self, expr);
    }
}
