//! What the names of a gist stand for: imports and plain aliases of them, under whatever name.

use ruff_python_ast::{
    Comprehension, ExceptHandler, Expr, ExprContext, Identifier, Parameter, Pattern, Stmt,
    StmtClassDef, StmtFunctionDef,
    name::Name,
    visitor::{
        Visitor, walk_comprehension, walk_except_handler, walk_expr, walk_parameter, walk_pattern,
        walk_stmt,
    },
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

/// Modules that many others import, and that may be had of those.
const LENT: [&str; 9] =
    ["sys", "os", "builtins", "gc", "inspect", "threading", "linecache", "tokenize", "marshal"];

/// Names of a file and what they stand for. Scopes are not told apart, what a name means anywhere it may mean
/// everywhere, but where a method says that it looks at the top level.
#[derive(Debug, Default)]
pub(super) struct Bindings<'a> {
    imported: FxHashMap<String, String>,
    own: FxHashSet<String>,
    /// Classes and functions.
    defined: FxHashSet<String>,
    /// Those of them that are no methods of a class.
    plain: FxHashSet<String>,
    /// How often a name is given to something.
    times: FxHashMap<String, usize>,
    /// How often a name of the module's own is given to something, and its plain values.
    top: FxHashMap<String, (usize, Vec<&'a Expr>)>,
    /// Names that comprehensions of the top level give to something.
    covered: FxHashSet<String>,
    /// What imports at the top level give a name.
    top_imports: FxHashMap<String, Vec<String>>,
    /// Where imports of parts of a module stand that give its name at the top level: `import name.part`.
    parts: FxHashMap<String, Vec<TextSize>>,
    /// What may run later than it stands there, or again, and classes, whose names are their own.
    deferred: Vec<TextRange>,
    /// The values that plain assignments give a name.
    values: FxHashMap<String, Vec<&'a Expr>>,
    /// For each of these values the function or class that it is assigned in, if any.
    scopes: FxHashMap<String, Vec<Option<TextRange>>>,
    /// Names that functions assign for others.
    shared: FxHashSet<String>,
    /// What loops go through with a name.
    loops: FxHashMap<String, Vec<&'a Expr>>,
}

impl<'a> Bindings<'a> {
    /// Reads the statements of a file.
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut reader = Reader::default();
        for stmt in body {
            reader.visit_stmt(stmt);
        }
        let Reader { mut found, aliases, .. } = reader;
        // An alias of an alias of an alias.
        for _ in 0..3 {
            for (name, chain) in &aliases {
                if let Some(full) = found.resolve(chain)
                    && (full != *chain || found.imported.contains_key(first(chain)))
                {
                    found.imported.entry(name.clone()).or_insert(full);
                }
            }
        }
        // Builtins under other names.
        for (name, chain) in aliases {
            if !chain.contains('.') && !found.own.contains(&chain) {
                found.imported.entry(name).or_insert(chain);
            }
        }
        found
    }

    /// The full name of a dotted one; nothing for what begins with a variable of the gist's own.
    pub(super) fn resolve(&self, chain: &str) -> Option<String> {
        let name = first(chain);
        match self.imported.get(name) {
            Some(full) => {
                Some(without_detour(&format!("{full}{}", &chain[name.len()..])).to_owned())
            }
            None if self.own.contains(name) => None,
            None => Some(chain.to_owned()),
        }
    }

    /// The full name that a dotted one has at the top level, where imports there give its first part something;
    /// `Some(None)` where that may be more than one thing. What functions call so is theirs.
    pub(super) fn resolve_at_top(&self, chain: &str) -> Option<Option<String>> {
        let name = first(chain);
        let all = self.top_imports.get(name)?;
        let only = self.top.get(name).is_some_and(|(times, _)| *times == all.len());
        let only = only && !self.covered.contains(name);
        let full = all.first().filter(|full| only && all.iter().all(|other| other == *full));
        Some(full.map(|full| format!("{full}{}", &chain[name.len()..])))
    }

    /// The value of a name that is given one value once.
    pub(super) fn once(&self, name: &str) -> Option<&'a Expr> {
        match self.known(name)? {
            [value] => Some(value),
            _ => None,
        }
    }

    /// Whether names are bound that do not stand in the file.
    pub(super) fn has_star(&self) -> bool {
        self.times.contains_key("*")
    }

    /// All values of a name that only plain assignments give.
    pub(super) fn known(&self, name: &str) -> Option<&[&'a Expr]> {
        let values = self.values.get(name)?;
        let all = self.times.get(name) == Some(&values.len()) && !self.is_defined(name);
        all.then_some(values)
    }

    /// All values of a name of the module's own that only plain assignments at its top level give.
    pub(super) fn known_at_top(&self, name: &str) -> Option<&[&'a Expr]> {
        let (times, values) = self.top.get(name)?;
        (*times == values.len()).then_some(values)
    }

    /// All values of a name of the module's own, read at a place, that only plain assignments at its top level give.
    /// Where the place runs once and as it stands there, imports of a module's parts behind it may bind the name again.
    pub(super) fn known_until(&self, name: &str, at: TextSize) -> Option<&[&'a Expr]> {
        let (times, values) = self.top.get(name)?;
        let parts = self.parts.get(name).map_or(&[][..], Vec::as_slice);
        let is_plain = !self.deferred.iter().any(|range| range.contains(at));
        let later = parts.iter().filter(|part| is_plain && at < **part).count();
        (*times == values.len() + later).then_some(values)
    }

    /// The values of plain assignments to a name.
    pub(super) fn values(&self, name: &str) -> &[&'a Expr] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The values of plain assignments that a name may have at a place: those of the functions and classes
    /// around it, and of the module.
    pub(super) fn values_at(&self, name: &Name, at: TextSize) -> impl Iterator<Item = &'a Expr> {
        let name = name.as_str();
        let is_shared = self.shared.contains(name);
        let scopes = self.scopes.get(name).map_or(&[][..], Vec::as_slice);
        let is_seen = move |scope: &Option<TextRange>| {
            is_shared || scope.is_none_or(|scope| scope.contains(at))
        };
        let values = self.values(name).iter().zip(scopes);
        values.filter(move |(_, scope)| is_seen(scope)).map(|(value, _)| *value)
    }

    /// The module or class that a dotted name is, where that came from outside.
    pub(super) fn outside(&self, expr: &Expr) -> Option<String> {
        let written = chain(expr)?;
        self.is_imported(first(&written)).then(|| self.resolve(&written)).flatten()
    }

    /// As `outside`, also for what loops and displays give: one module among several.
    pub(super) fn outside_among(&self, expr: &Expr) -> Option<String> {
        let among = |through: &Expr| {
            let values = through.as_name_expr().map_or(&[][..], |name| self.values(&name.id));
            let displays = std::iter::once(through).chain(values.iter().copied());
            displays.flat_map(elements).find_map(|element| self.outside(element))
        };
        self.outside(expr).or_else(|| match expr {
            Expr::Name(name) => {
                let through = self.loops.get(name.id.as_str())?;
                through.iter().find_map(|through| among(through))
            }
            Expr::Subscript(node) => among(&node.value),
            _ => None,
        })
    }

    /// Whether a name is that of something imported, and never of anything else.
    pub(super) fn is_only_imported(&self, name: &str) -> bool {
        self.is_imported(name) && !self.own.contains(name)
    }

    /// Whether the file has parts of `unittest.mock`.
    pub(super) fn mocks(&self) -> bool {
        let is_mock = |full: &String| full == "mock" || full.starts_with("unittest");
        self.imported.values().any(is_mock)
    }

    /// All that a name goes through, where nothing but loops gives it a value.
    pub(super) fn gone_through(&self, name: &str) -> Option<&[&'a Expr]> {
        let loops = self.loops.get(name)?;
        (self.times.get(name) == Some(&loops.len())).then_some(loops)
    }

    /// Whether a name is that of a class or function of the file.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Whether all functions and classes of a name are methods, which stand before nothing at the top level.
    pub(super) fn is_only_method(&self, name: &str) -> bool {
        !self.plain.contains(name)
    }

    /// Whether a name is that of something imported.
    pub(super) fn is_imported(&self, name: &str) -> bool {
        self.imported.contains_key(name)
    }
}

/// A dotted name from the last module on that others have as a part of theirs: `os.sys.path`.
fn without_detour(full: &str) -> &str {
    let mut rest = full;
    let mut from = full;
    while let Some((_, inner)) = rest.split_once('.') {
        let part = first(inner);
        let plain = part.strip_prefix('_').unwrap_or(part);
        if LENT.contains(&plain) {
            from = &inner[part.len() - plain.len()..];
        }
        rest = inner;
    }
    from
}

fn first(chain: &str) -> &str {
    chain.split('.').next().unwrap_or(chain)
}

/// What a display lists.
pub(super) fn elements(expr: &Expr) -> &[Expr] {
    match expr {
        Expr::List(node) => &node.elts,
        Expr::Tuple(node) => &node.elts,
        Expr::Set(node) => &node.elts,
        _ => &[],
    }
}

/// The name that a pattern gives to what it matches.
pub(super) fn captured(pattern: &Pattern) -> Option<&Identifier> {
    match pattern {
        Pattern::MatchAs(node) => node.name.as_ref(),
        Pattern::MatchStar(node) => node.name.as_ref(),
        Pattern::MatchMapping(node) => node.rest.as_ref(),
        _ => None,
    }
}

/// A dotted name, written out.
pub(super) fn chain(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(node) => Some(format!("{}.{}", chain(&node.value)?, node.attr)),
        _ => None,
    }
}

#[derive(Default)]
struct Reader<'a> {
    found: Bindings<'a>,
    aliases: Vec<(String, String)>,
    /// Of functions, classes and comprehensions.
    depth: usize,
    /// The function or class around.
    scope: Option<TextRange>,
    /// Whether that is a class.
    in_class: bool,
}

impl<'a> Reader<'a> {
    fn own(&mut self, name: Option<&Identifier>) {
        if let Some(name) = name {
            self.named(name);
        }
    }

    /// A name that the file gives to something. A method or a parameter that has the name of what makes
    /// code hides no call of that.
    fn named(&mut self, name: &str) {
        if self.depth == 0 || !matches!(name, "exec" | "eval" | "compile" | "__import__") {
            self.found.own.insert(name.to_owned());
        }
        self.count(name);
    }

    fn count(&mut self, name: &str) {
        *self.found.times.entry(name.to_owned()).or_default() += 1;
        if self.depth == 0 {
            self.found.top.entry(name.to_owned()).or_default().0 += 1;
        }
    }

    fn imported(&mut self, name: String, full: String) {
        self.count(&name);
        self.imported_at_top(&name, full.clone());
        self.found.imported.insert(name, full);
    }

    fn imported_at_top(&mut self, name: &str, full: String) {
        if self.depth == 0 {
            self.found.top_imports.entry(name.to_owned()).or_default().push(full);
        }
    }

    fn defined(&mut self, name: &Identifier) {
        self.own(Some(name));
        self.found.defined.insert(name.to_string());
        if !self.in_class {
            self.found.plain.insert(name.to_string());
        }
    }

    fn assigned(&mut self, target: &'a Expr, value: &'a Expr) {
        match (target, value) {
            (Expr::Name(name), _) => {
                self.found.values.entry(name.id.to_string()).or_default().push(value);
                self.found.scopes.entry(name.id.to_string()).or_default().push(self.scope);
                if self.depth == 0 {
                    self.found.top.entry(name.id.to_string()).or_default().1.push(value);
                }
                if let Some(value) = chain(value) {
                    self.aliases.push((name.id.to_string(), value));
                }
            }
            (Expr::Tuple(_) | Expr::List(_), Expr::Tuple(_) | Expr::List(_)) => {
                let (targets, values) = (elements(target), elements(value));
                if targets.len() == values.len() {
                    targets.iter().zip(values).for_each(|(a, b)| self.assigned(a, b));
                }
            }
            _ => {}
        }
    }

    fn looped(&mut self, target: &'a Expr, through: &'a Expr) {
        if let Expr::Name(name) = target {
            self.found.loops.entry(name.id.to_string()).or_default().push(through);
        }
    }
}

impl<'a> Visitor<'a> for Reader<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(_)
        | Stmt::ClassDef(_)
        | Stmt::TypeAlias(_)
        | Stmt::For(_)
        | Stmt::While(_) = stmt
        {
            self.found.deferred.push(stmt.range());
        }
        if let Stmt::AnnAssign(node) = stmt {
            self.found.deferred.push(node.annotation.range());
        }
        match stmt {
            Stmt::Import(node) => {
                for alias in &node.names {
                    let full = alias.name.to_string();
                    if self.depth == 0 && alias.asname.is_none() && full.contains('.') {
                        let parts = self.found.parts.entry(first(&full).to_owned());
                        parts.or_default().push(stmt.start());
                    }
                    let (name, full) = match &alias.asname {
                        Some(name) => (name.to_string(), full),
                        None => (first(&full).to_owned(), first(&full).to_owned()),
                    };
                    self.imported(name, full);
                }
            }
            Stmt::ImportFrom(node) => {
                let module = node.module.as_ref().map(ToString::to_string).unwrap_or_default();
                for alias in &node.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                    let full = format!("{module}.{}", alias.name);
                    match node.level {
                        0 => self.imported(name, full),
                        _ => {
                            self.count(&name);
                            self.imported_at_top(&name, format!(".{full}"));
                        }
                    }
                }
            }
            Stmt::FunctionDef(StmtFunctionDef { name, .. })
            | Stmt::ClassDef(StmtClassDef { name, .. }) => {
                self.defined(name);
                let around = self.scope.replace(stmt.range());
                let in_class = std::mem::replace(&mut self.in_class, stmt.is_class_def_stmt());
                self.depth += 1;
                walk_stmt(self, stmt);
                self.depth -= 1;
                self.in_class = in_class;
                self.scope = around;
                return;
            }
            Stmt::Global(node) => {
                for name in &node.names {
                    self.found.top.entry(name.to_string()).or_default().0 += 1;
                    self.found.shared.insert(name.to_string());
                }
            }
            Stmt::Nonlocal(node) => {
                self.found.shared.extend(node.names.iter().map(ToString::to_string));
            }
            Stmt::Assign(node) => {
                node.targets.iter().for_each(|target| self.assigned(target, &node.value));
            }
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    self.assigned(&node.target, value);
                }
            }
            Stmt::For(node) => self.looped(&node.target, &node.iter),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Lambda(_)
        | Expr::Generator(_)
        | Expr::ListComp(_)
        | Expr::SetComp(_)
        | Expr::DictComp(_) = expr
        {
            self.found.deferred.push(expr.range());
        }
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                self.named(&name.id);
                // What a comprehension of the top level goes through stands before what the module has, and what
                // it assigns is the module's own.
                if self.depth > 0 && self.scope.is_none() {
                    self.found.covered.insert(name.id.to_string());
                }
            }
            // What it stood for before, or in Python itself, it may stand for again.
            Expr::Name(name) if name.ctx == ExprContext::Del => self.count(&name.id),
            Expr::Named(node) => self.assigned(&node.target, &node.value),
            Expr::Lambda(_) => {
                self.depth += 1;
                walk_expr(self, expr);
                self.depth -= 1;
                return;
            }
            _ => {}
        }
        walk_expr(self, expr);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.looped(&comprehension.target, &comprehension.iter);
        self.depth += 1;
        walk_comprehension(self, comprehension);
        self.depth -= 1;
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.own(node.name.as_ref());
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.own(captured(pattern));
        walk_pattern(self, pattern);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.own(Some(&parameter.name));
        walk_parameter(self, parameter);
    }
}
