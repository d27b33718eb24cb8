//! Parses statements as glue.
//!
//! The parser builds a candidate from the parts of the statement. The statement is that form only
//! if the candidate's rendered text has the same syntax tree. So each form has one owner of its
//! shape, [`Glue::render`].

use ruff_python_ast::{
    Expr, ExprCall, Keyword, Stmt, StmtAssign, StmtIf,
    comparable::{ComparableExpr, ComparableStmt},
};
use ruff_python_parser::{parse_expression, parse_module};

use super::{
    DataFile, FilePath, GIST, GIST_INDEXED, Glue, GlueTarget, Guard, Held, Imported, late::LATE,
};

impl Glue {
    /// Returns the glue that a statement is, or nothing.
    pub fn parse(stmt: &Stmt) -> Option<Self> {
        if let Stmt::If(branch) = stmt
            && let Some(module) = late(branch)
        {
            return Some(Self::Late(module));
        }
        let glue = candidate(stmt)?;
        let rendered = glue.render();
        // People index where the slicer asks.
        let indexed = rendered.replace(GIST, GIST_INDEXED);
        let is_one = |text: &str| {
            parse_module(text).is_ok_and(|own| match own.suite().as_slice() {
                [own] => ComparableStmt::from(own) == ComparableStmt::from(stmt),
                _ => false,
            })
        };
        (is_one(&rendered) || indexed != rendered && is_one(&indexed)).then_some(glue)
    }

    /// Returns the glue that the only statement of a text is, or nothing.
    pub fn parse_text(text: &str) -> Option<Self> {
        let parsed = parse_module(text).ok()?;
        match parsed.suite().as_slice() {
            [stmt] => Self::parse(stmt),
            _ => None,
        }
    }
}

fn candidate(stmt: &Stmt) -> Option<Glue> {
    match stmt {
        Stmt::Pass(_) => Some(Glue::Pass),
        Stmt::ClassDef(_) => Some(Glue::LateModules),
        Stmt::Import(import) => Some(Glue::Import(import.names.iter().map(imported).collect())),
        Stmt::ImportFrom(import) => Some(Glue::ImportFrom {
            module: import.module.as_ref().filter(|_| import.level == 0)?.to_string(),
            names: (!import.names.iter().any(|alias| &alias.name == "*"))
                .then(|| import.names.iter().map(imported).collect())?,
        }),
        Stmt::Assign(assign) => assignment(assign),
        Stmt::Expr(stmt) => {
            let call = stmt.value.as_call_expr()?;
            match call.func.as_attribute_expr().map(|func| func.attr.as_str()) {
                Some("filterwarnings") => Some(Glue::QuietScript),
                _ => load(call).or_else(|| data(call)).or_else(|| update(call)),
            }
        }
        Stmt::Raise(raise) => match raise.exc.as_deref()? {
            Expr::Call(call) => {
                let said = call.arguments.args.first()?.as_string_literal_expr()?;
                Guard::parse_message(said.value.to_str()).map(Glue::LeftOut)
            }
            kind => dotted(kind).map(Glue::FailedImport),
        },
        Stmt::Delete(delete) => match delete.targets.as_slice() {
            [Expr::Name(name)] => Some(Glue::Delete(name.id.to_string())),
            _ => None,
        },
        Stmt::If(branch) => match branch.body.as_slice() {
            [Stmt::Assign(argument), Stmt::Expr(exit)] => {
                let exit = exit.value.as_call_expr()?.arguments.args.first()?.as_call_expr()?;
                let (script, function) = (text(&argument.value)?, dotted(&exit.func)?);
                Some(Glue::EntryPoint { script, function })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The module of a block that runs when the module is first imported, whatever the block has.
fn late(branch: &StmtIf) -> Option<String> {
    let call = branch.test.as_call_expr().filter(|_| branch.elif_else_clauses.is_empty())?;
    let module = text(call.arguments.args.first()?)?;
    is_rendered(&format!("{LATE}({module:?})"), &branch.test).then_some(module)
}

/// A call that imports a module.
fn load(call: &ExprCall) -> Option<Glue> {
    call.func.as_name_expr()?;
    let [module] = &*call.arguments.args else { return None };
    text(module).map(Glue::Load)
}

/// A call that writes a data file.
fn data(call: &ExprCall) -> Option<Glue> {
    let [Expr::StringLiteral(path), Expr::BytesLiteral(contents)] = &*call.arguments.args else {
        return None;
    };
    let (path, contents) = (path.value.to_string(), contents.value.bytes().collect());
    Some(Glue::Data(DataFile { path, contents }))
}

fn imported(alias: &ruff_python_ast::Alias) -> Imported {
    let asname = alias.asname.as_ref().map(ToString::to_string);
    Imported { name: alias.name.to_string(), asname }
}

fn assignment(assign: &StmtAssign) -> Option<Glue> {
    if let Expr::Call(call) = &*assign.value {
        let targets: Vec<GlueTarget> = assign.targets.iter().map(target).collect::<Option<_>>()?;
        return match call.arguments.args.first()? {
            Expr::StringLiteral(module) => {
                Some(Glue::ModuleObject { targets, module: module.value.to_str().to_owned() })
            }
            _ => Some(Glue::GistModule(targets)),
        };
    }
    if let Expr::Subscript(item) = &*assign.value
        && item.slice.as_name_expr().is_some_and(|name| name.id.as_str() == "__name__")
    {
        let targets = assign.targets.iter().map(target).collect::<Option<_>>()?;
        return Some(Glue::GistModule(targets));
    }
    let [target] = assign.targets.as_slice() else { return None };
    match (target, &*assign.value) {
        (Expr::Name(_), Expr::Lambda(_)) => Some(Glue::HiddenLazy),
        // In a class this gives it another module: not a name for a thing.
        (Expr::Name(target), Expr::Name(_)) if target.id.as_str() == "__module__" => None,
        (Expr::Name(target), Expr::Name(source)) => {
            Some(Glue::alias(target.id.as_str(), source.id.as_str()))
        }
        (Expr::Name(target), Expr::Attribute(value)) => Some(Glue::Attribute {
            target: target.id.to_string(),
            object: value.value.as_name_expr()?.id.to_string(),
            name: value.attr.to_string(),
        }),
        (Expr::Name(target), Expr::Subscript(_)) => Some(Glue::Global(target.id.to_string())),
        (Expr::Name(name), Expr::List(list)) if name.id.as_str() == "pytest_plugins" => {
            list.elts.iter().map(text).collect::<Option<_>>().map(Glue::Plugins)
        }
        (Expr::Name(name), value) if name.id.as_str() == "__module__" => {
            text(value).map(Glue::ClassModule)
        }
        (Expr::Attribute(target), Expr::Name(source)) => Some(Glue::PackageName {
            package: package(&target.value)?,
            name: target.attr.to_string(),
            source: source.id.to_string(),
        }),
        (Expr::Attribute(target), value) => Some(Glue::FunctionModule {
            function: target.value.as_name_expr()?.id.to_string(),
            module: text(value)?,
        }),
        _ => None,
    }
}

fn target(target: &Expr) -> Option<GlueTarget> {
    match target {
        Expr::Name(name) => Some(GlueTarget::Name(name.id.to_string())),
        Expr::Subscript(item) => text(&item.slice).map(GlueTarget::Registered),
        Expr::Attribute(child) => Some(GlueTarget::Child {
            package: package(&child.value)?,
            name: child.attr.to_string(),
        }),
        _ => None,
    }
}

/// Reads `__import__("pkg")`.
fn package(expr: &Expr) -> Option<String> {
    text(expr.as_call_expr()?.arguments.args.first()?)
}

/// Reads `vars(object).update(name=value)`.
fn update(call: &ExprCall) -> Option<Glue> {
    let object = call.func.as_attribute_expr()?.value.as_call_expr()?.arguments.args.first()?;
    let object = object.as_name_expr()?.id.to_string();
    let keywords: Vec<Vec<(&str, &Expr)>> =
        call.arguments.keywords.iter().map(keyword).collect::<Option<_>>()?;
    let keywords: Vec<(&str, &Expr)> = keywords.into_iter().flatten().collect();
    if let Some((_, file)) = keywords.iter().find(|(name, _)| *name == "__file__") {
        let value = |name: &str| keywords.iter().find(|(own, _)| *own == name).map(|(_, v)| *v);
        let directory = match value("__path__") {
            Some(Expr::List(list)) => Some(file_path(list.elts.first()?)?),
            Some(_) => return None,
            None => None,
        };
        let spec = match value("__spec__") {
            Some(spec) => Some(text(spec.as_call_expr()?.arguments.args.first()?)?),
            None => None,
        };
        return Some(Glue::Located { object, file: file_path(file)?, directory, spec });
    }
    let held = keywords.into_iter().map(|(name, value)| {
        let value = match value {
            Expr::Name(value) => Held::Name(value.id.to_string()),
            Expr::Call(_) | Expr::Subscript(_) => Held::Gist,
            _ => return None,
        };
        Some((name.to_owned(), value))
    });
    Some(Glue::Fill { object, held: held.collect::<Option<_>>()? })
}

/// Reads `name=value`, or `**{"as": value}`.
fn keyword(keyword: &Keyword) -> Option<Vec<(&str, &Expr)>> {
    let Some(name) = &keyword.arg else {
        let named = keyword.value.as_dict_expr()?.items.iter();
        let named = named.map(|item| {
            let key = item.key.as_ref()?.as_string_literal_expr()?;
            Some((key.value.to_str(), &item.value))
        });
        return named.collect();
    };
    Some(vec![(name.as_str(), &keyword.value)])
}

/// Reads `__file__.rsplit('/', 2)[0] + '/pkg/mod.py'`, with or without what is added.
pub(super) fn file_path(expr: &Expr) -> Option<FilePath> {
    let (above, rest) = match expr {
        Expr::BinOp(sum) => (&*sum.left, text(&sum.right)?.strip_prefix('/')?.to_owned()),
        above => (above, String::new()),
    };
    let call = above.as_subscript_expr()?.value.as_call_expr()?;
    let up = call.arguments.args.get(1)?.as_number_literal_expr()?.value.as_int()?.as_usize()?;
    let path = FilePath { up, rest };
    is_rendered(&path.render(), expr).then_some(path)
}

/// Returns true if a text has the syntax tree of an expression.
pub(super) fn is_rendered(text: &str, expr: &Expr) -> bool {
    parse_expression(text)
        .is_ok_and(|own| ComparableExpr::from(own.expr()) == ComparableExpr::from(expr))
}

/// Returns the value of a string literal.
pub(super) fn text(expr: &Expr) -> Option<String> {
    Some(expr.as_string_literal_expr()?.value.to_str().to_owned())
}

/// Returns names with dots between, as they stand.
fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => {
            Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr))
        }
        _ => None,
    }
}
