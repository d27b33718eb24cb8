//! Which rule the shape of a statement breaks, whatever its names are: names that are put together,
//! foreign things whose parts are replaced, comparisons that always hold, data that could hold code.

use ruff_python_ast::{
    Arguments, Expr, ExprAttribute, ExprContext, ExprSubscript, Stmt, StmtFunctionDef,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};

use super::{
    Rule,
    bindings::{Bindings, chain, elements},
    fold::{fold, texts},
    hooks::PREFIX,
    tables::{excuse, is_itself, is_made, owner, table},
    words::{COMPARES, decides, judge_attribute, judge_text},
};

/// Something suspicious: where, which rule, what, and the word that excuses it where the original says
/// it as well.
pub(super) struct Suspect {
    pub(super) at: TextSize,
    pub(super) rule: Rule,
    pub(super) what: String,
    pub(super) word: String,
}

/// The word of what no original excuses: none says it.
pub(super) const NEVER: &str = "\u{0}";
/// So many numbers in one display could be an archive.
const NUMBERS: usize = 100;
/// Texts shorter than this hold no code worth hiding, in bytes.
const CODE: usize = 40;

/// All that is suspicious by its shape.
pub(super) fn suspects(body: &[Stmt], bindings: &Bindings<'_>) -> Vec<Suspect> {
    let mut looking = Looking { bindings, found: Vec::new() };
    for stmt in body {
        looking.visit_stmt(stmt);
    }
    looking.found
}

struct Looking<'a> {
    bindings: &'a Bindings<'a>,
    found: Vec<Suspect>,
}

impl Looking<'_> {
    fn add(&mut self, at: TextSize, rule: Rule, what: impl Into<String>, word: &str) {
        self.found.push(Suspect { at, rule, what: what.into(), word: word.to_owned() });
    }

    /// An attribute that is given something or deleted, in whatever statement.
    fn stored(&mut self, node: &ExprAttribute) {
        if !self.decided(node)
            && let Some(holder) = self.bindings.outside_among(&node.value)
        {
            let what = format!("it replaces {} of {holder}", node.attr);
            self.add(node.start(), Rule::Tampering, what, &node.attr);
        }
    }

    /// Whether what is stored decides how its holder behaves, whatever that is.
    fn decided(&mut self, node: &ExprAttribute) -> bool {
        let name = node.attr.as_str();
        let is_found = decides(name) || name == "__code__" || name == "__class__";
        if is_found {
            self.add(node.start(), Rule::Tampering, format!("it replaces {name}"), name);
        }
        is_found
    }

    fn written(&mut self, node: &ExprSubscript) {
        if let Some(table) = table(&node.value, self.bindings) {
            let what = format!("it writes into {}", table.trim_end_matches('('));
            // A key may be the name of a hook, however it is said.
            let of = node.value.as_call_expr().and_then(|call| call.arguments.args.first());
            let is_made = of.is_some_and(|of| is_made(of, self.bindings));
            let key = node.slice.as_string_literal_expr().map(|key| key.value.to_str());
            let word = match is_made && key.is_none_or(|key| key.starts_with(PREFIX)) {
                true => NEVER.to_owned(),
                false => excuse(&node.value, self.bindings),
            };
            self.add(node.start(), Rule::Tampering, what, &word);
        }
    }

    fn call(&mut self, func: &Expr, arguments: &Arguments, at: TextSize) {
        if let Expr::Call(inner) = func {
            return self.called(&inner.func, &inner.arguments, arguments, at);
        }
        let Some(written) = chain(func) else { return };
        let full = self.bindings.resolve(&written).unwrap_or_else(|| written.clone());
        let name = full.rsplit('.').next().unwrap_or(&full).to_owned();
        let args = &arguments.args;
        match name.as_str() {
            "getattr" | "setattr" | "delattr" | "attrgetter" | "methodcaller" => {
                let at_name = usize::from(!matches!(&*name, "attrgetter" | "methodcaller"));
                let holder = args.first().and_then(|holder| self.bindings.outside_among(holder));
                if name != "getattr" && at_name == 1 && holder.is_some() {
                    let what = format!("it changes {}", holder.clone().unwrap_or_default());
                    self.add(at, Rule::Tampering, what, &name);
                }
                self.named(args.get(at_name), holder.as_deref(), at, &name);
            }
            "import_module" | "__import__" => {
                match args.first().map(|name| fold(name, self.bindings)) {
                    Some(Some(module)) => {
                        use super::words::{Use, judge};
                        if let Some(rule) = judge(Some(&module), &module, Use::Imported) {
                            self.add(at, rule, format!("it imports {module}"), &module);
                        }
                    }
                    Some(None) => {
                        let what = "it imports a name that is put together";
                        self.add(at, Rule::Tampering, what, &name);
                    }
                    _ => {}
                }
            }
            "type" if args.len() == 3 => {
                let dynamic = !matches!(&args[2], Expr::Dict(node) if node.items.iter().all(|item| {
                    item.key.as_ref().and_then(literal).is_some_and(|key| !decides(&key))
                }));
                if dynamic {
                    let what = "it makes a class whose methods cannot be seen";
                    self.add(at, Rule::Tampering, what, "type(");
                }
            }
            _ => {}
        }
    }

    /// `attrgetter(name)(holder)` and the like.
    fn called(&mut self, func: &Expr, names: &Arguments, holders: &Arguments, at: TextSize) {
        let full = chain(func).and_then(|written| self.bindings.resolve(&written));
        let full = full.unwrap_or_default();
        let name = full.rsplit('.').next().unwrap_or_default();
        let holder = holders.args.first().and_then(|holder| self.bindings.outside(holder));
        if matches!(name, "attrgetter" | "methodcaller") && holder.is_some() {
            self.named(names.args.first(), holder.as_deref(), at, name);
        }
    }

    /// An attribute that is asked for by a string.
    fn named(&mut self, name: Option<&Expr>, holder: Option<&str>, at: TextSize, word: &str) {
        let Some(name) = name else { return };
        if name.is_number_literal_expr() {
            return;
        }
        let Some(texts) = texts(name, self.bindings) else {
            self.add(at, Rule::Tampering, "it asks for a name that is put together", word);
            return;
        };
        for text in texts {
            if let Some(rule) = judge_attribute(holder, &text, self.bindings.mocks()) {
                self.add(at, rule, format!("it asks for {text}"), &text);
            }
        }
    }

    /// What a text says as it stands, or as it is once it is put together.
    fn said(&mut self, text: &str, at: TextSize) {
        if let Some((rule, word)) = judge_text(text) {
            self.add(at, rule, format!("it says {word}"), word);
        }
    }

    fn text(&mut self, text: &str, at: TextSize) {
        let code = |line: &str| {
            let line = line.trim_start();
            ["def ", "class ", "import ", "from "].iter().any(|word| line.starts_with(word))
                && (line.ends_with(':') || line.contains("import "))
        };
        if text.len() >= CODE && text.contains('\n') && text.lines().any(code) {
            self.add(at, Rule::CodeFromStrings, "it has a text that is code", NEVER);
        }
    }
}

impl<'a> Visitor<'a> for Looking<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // A package has the gist itself in the place of a module of its own.
            Stmt::Assign(node) if is_itself(&node.value) => {
                for target in &node.targets {
                    if let Expr::Attribute(attribute) = target {
                        self.decided(attribute);
                        self.visit_expr(&attribute.value);
                    } else {
                        self.visit_expr(target);
                    }
                }
                return self.visit_expr(&node.value);
            }
            // It gives nothing.
            Stmt::AnnAssign(node) if node.value.is_none() => {
                walk_expr(self, &node.target);
                return self.visit_annotation(&node.annotation);
            }
            Stmt::FunctionDef(node) if always(node) => {
                let at = node.body.last().map_or(node.start(), Ranged::start);
                let what = format!("{} does not look at what it compares", node.name);
                self.add(at, Rule::Tampering, what, NEVER);
            }
            Stmt::Expr(node) if node.value.is_string_literal_expr() => return,
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(node) => self.call(&node.func, &node.arguments, node.start()),
            Expr::Attribute(node) if node.ctx != ExprContext::Load => self.stored(node),
            Expr::Subscript(node) if node.ctx != ExprContext::Load => self.written(node),
            Expr::Subscript(node) if table(&node.value, self.bindings).is_some() => {
                let holder = owner(&node.value).and_then(|holder| self.bindings.outside(holder));
                self.named(Some(&node.slice), holder.as_deref(), node.start(), "[");
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) => {
                let numbers = elements(expr).iter().filter(|e| e.is_number_literal_expr()).count();
                if numbers >= NUMBERS {
                    let what = format!("{numbers} numbers in a row");
                    self.add(expr.start(), Rule::EncodedCode, what, NEVER);
                }
            }
            Expr::StringLiteral(node) => {
                self.text(node.value.to_str(), expr.start());
                self.said(node.value.to_str(), expr.start());
            }
            Expr::BytesLiteral(_) => {
                if let Some(text) = fold(expr, self.bindings) {
                    self.said(&text, expr.start());
                }
            }
            Expr::FString(node) => {
                for part in node.value.elements().filter_map(|element| element.as_literal()) {
                    self.said(&part.value, expr.start());
                }
            }
            _ => {}
        }
        if is_put_together(expr)
            && let Some(text) = fold(expr, self.bindings)
        {
            if let Some(rule) = judge_attribute(None, &text, self.bindings.mocks()) {
                self.add(expr.start(), rule, format!("it puts {text} together"), &text);
            }
            self.said(&text, expr.start());
        }
        walk_expr(self, expr);
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::StringLiteral(node) => Some(node.value.to_str().to_owned()),
        _ => None,
    }
}

/// Whether a string is computed where it is used.
fn is_put_together(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::BinOp(_) | Expr::Call(_) | Expr::FString(_) | Expr::Subscript(_) | Expr::If(_)
    )
}

/// Whether a comparison does not look at what it compares.
fn always(function: &StmtFunctionDef) -> bool {
    let looks = |stmt: &Stmt| {
        let mut names = Names(false);
        names.visit_stmt(stmt);
        names.0
    };
    // One that does nothing says no, as that of a class whose comparisons nobody asks for may.
    let says_no = function.name.as_str() != "__ne__" && function.body.iter().all(is_nothing);
    COMPARES.contains(&function.name.as_str()) && !says_no && !function.body.iter().any(looks)
}

fn is_nothing(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Pass(_) => true,
        Stmt::Expr(node) => node.value.is_literal_expr(),
        _ => false,
    }
}

struct Names(bool);

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.0 |= matches!(stmt, Stmt::Raise(_));
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.0 |= expr.is_name_expr();
        walk_expr(self, expr);
    }
}
