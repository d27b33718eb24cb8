//! Names that an object in the place of a module is told, where the module itself imports them: `vars(m).update(k=v)`.

use ruff_python_ast::{Expr, ExprCall, Stmt};
use ruff_text_size::{Ranged, TextSize};

use super::bindings::{Bindings, chain};
use crate::{
    blocks::{Line, Role},
    codebase::{CodeFile, Codebase},
};

/// Where such a value stands, and what is written there.
pub(super) struct Told {
    pub(super) at: TextSize,
    pub(super) name: String,
}

/// All values under names that the original's module of that name has by an import of the same thing.
pub(super) fn told(body: &[Stmt], bindings: &Bindings<'_>, codebase: &Codebase) -> Vec<Told> {
    let mut found = Vec::new();
    for stmt in body {
        let Stmt::Expr(node) = stmt else { continue };
        let Expr::Call(call) = node.value.as_ref() else { continue };
        let Some(name) = filled(call) else { continue };
        // What a function calls so is its own.
        let object = bindings.known_at_top(name).and_then(|values| match values {
            [value] => module(value, bindings),
            _ => None,
        });
        let files: Vec<&CodeFile> = object
            .into_iter()
            .flat_map(|module| codebase.files().iter().filter(move |file| is_module(file, &module)))
            .collect();
        for keyword in &call.arguments.keywords {
            let (Some(key), Expr::Name(value)) = (&keyword.arg, &keyword.value) else { continue };
            let Some(full) = bindings.resolve(&value.id) else { continue };
            let imports = |file: &&CodeFile| {
                let lines = file.outline.lines.iter();
                let mut lines =
                    lines.filter(|line| line.role == Role::Import && line.block.is_empty());
                lines.any(|line| {
                    let words = line.text.split(|c: char| !c.is_alphanumeric() && c != '_');
                    let words: Vec<&str> = words.collect();
                    line.binds.iter().any(|name| name == key.as_str())
                        && full.split('.').all(|part| words.contains(&part))
                })
            };
            if files.iter().any(imports) {
                found.push(Told { at: value.start(), name: value.id.to_string() });
            }
        }
    }
    found
}

/// Whether a statement only tells a definition of the original which of the repository's modules defines it:
/// `Name.__module__ = "pkg.mod"`, or `__module__ = "pkg.mod"` in the body of that class.
pub fn tells_home(line: &Line, codebase: &Codebase, is_internal: &dyn Fn(&str) -> bool) -> bool {
    let home = || {
        let parsed = ruff_python_parser::parse_module(&line.text).ok()?;
        let [Stmt::Assign(node)] = parsed.suite().as_slice() else { return None };
        let (name, attribute, in_body) = match &node.targets[..] {
            [Expr::Attribute(target)] => {
                (target.value.as_name_expr()?.id.as_str(), target.attr.as_str(), false)
            }
            [Expr::Name(target)] => (line.block.as_str(), target.id.as_str(), true),
            _ => return None,
        };
        let module = node.value.as_string_literal_expr().filter(|_| attribute == "__module__")?;
        Some((name.to_string(), module.value.to_str().to_owned(), in_body))
    };
    home().filter(|(_, module, _)| is_internal(module)).is_some_and(|(name, module, in_body)| {
        let is_function = |file: &&CodeFile| file.outline.functions.contains(&name);
        let defines = |line: &Line| line.role == Role::Definition && line.block == name;
        let files = codebase.files().iter().filter(|file| is_module(file, &module));
        let mut files = files.filter(|file| !(in_body && is_function(file)));
        files.any(|file| file.outline.lines.iter().any(defines))
    })
}

/// The object that a call of `vars(m).update(...)` fills.
pub(super) fn filled(call: &ExprCall) -> Option<&str> {
    let method = call.func.as_attribute_expr().filter(|method| &method.attr == "update")?;
    let table = method.value.as_call_expr()?;
    let [Expr::Name(object)] = &table.arguments.args[..] else { return None };
    let is_table = table.func.as_name_expr().is_some_and(|name| name.id.as_str() == "vars");
    (is_table && call.arguments.args.is_empty()).then_some(object.id.as_str())
}

/// The name of the module that a file makes and calls so, and nothing else.
pub(super) fn made(name: &str, bindings: &Bindings<'_>) -> Option<String> {
    module(bindings.once(name)?, bindings)
}

/// The name of the module that an expression makes.
fn module(value: &Expr, bindings: &Bindings<'_>) -> Option<String> {
    let call = value.as_call_expr()?;
    let full = bindings.resolve(&chain(&call.func)?)?;
    let [Expr::StringLiteral(text)] = &call.arguments.args[..] else { return None };
    let is_made = full == "types.ModuleType" && call.arguments.keywords.is_empty();
    is_made.then(|| text.value.to_str().to_owned())
}

/// Whether all that a statement does is to make a module and to name it.
pub(super) fn makes_module(statement: &str, bindings: &Bindings<'_>) -> bool {
    let Ok(parsed) = ruff_python_parser::parse_module(statement) else { return false };
    let [Stmt::Assign(node)] = parsed.suite().as_slice() else { return false };
    module(&node.value, bindings).is_some()
}

/// Whether a file is that of a module, under whatever root.
fn is_module(file: &CodeFile, module: &str) -> bool {
    let path = format!("/{}", file.path);
    let stem = module.replace('.', "/");
    path.ends_with(&format!("/{stem}.py")) || path.ends_with(&format!("/{stem}/__init__.py"))
}
