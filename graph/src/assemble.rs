//! Makes the finished graph out of all files' facts and what the analysis of their values found.

use rustc_hash::FxHashMap;

use crate::{
    facts::{Facts, Form, ImportPlace, Kind},
    flow::{Linked, Program, SiteForm, Solution, Target, solve},
    graph::{
        CallEdge, CallSite, Entity, EntityId, FileId, Graph, ModuleEdge, ModuleNode, Unresolved,
        Use,
    },
    module::{Found, Layout},
    walk::Skipped,
};

/// A site that seems to reach more than this is left to the names.
const CERTAIN: usize = 12;

/// Joins files to a graph. Paths are sorted, and one to one with the facts.
pub(crate) fn assemble(
    paths: Vec<String>,
    facts: &[Facts],
    projects: &[String],
    skipped: Vec<Skipped>,
) -> Graph {
    let layout = Layout::new(paths, projects);
    let program = Program { layout: &layout, files: facts };
    let mut linked = Linked::new(&program);
    let solution = solve(&mut linked);
    let mut graph = Graph { skipped, complete: solution.complete, ..Graph::default() };
    nodes(&linked, &mut graph);
    graph.imports = imports(&linked);
    calls(&linked, &solution, &mut graph);
    graph.uses = solution
        .references
        .iter()
        .map(|&(index, file, target)| {
            let reference = &linked.facts(file).references[index as usize];
            Use {
                target: EntityId(target),
                module: FileId(file),
                line: reference.line,
                within: EntityId(linked.first_entity[file as usize] + reference.within),
            }
        })
        .collect();
    graph.uses.sort_unstable();
    graph.uses.dedup();
    graph.bases =
        solution.bases.iter().map(|&(class, base)| (EntityId(class), EntityId(base))).collect();
    graph
}

fn nodes(linked: &Linked<'_>, graph: &mut Graph) {
    let layout = linked.program.layout;
    for (file, facts) in (0u32..).zip(linked.program.files) {
        let first = linked.first_entity[file as usize];
        let name = layout.name_of(file);
        graph.modules.push(ModuleNode {
            path: layout.path_of(file).to_owned(),
            name: name.clone(),
            entity: EntityId(first),
            measures: facts.measures,
            errors: facts.errors.clone(),
            too_deep: facts.too_deep,
        });
        for definition in &facts.definitions {
            let name = match definition.kind {
                Kind::Module => name.clone(),
                _ => facts.names[definition.name.0 as usize].to_string(),
            };
            graph.entities.push(Entity {
                kind: definition.kind,
                name,
                parent: EntityId(first + definition.parent),
                module: FileId(file),
                line: definition.line,
                end_line: definition.end_line,
                keyword_line: definition.keyword_line,
                span: definition.span,
                header: definition.header,
                doc: definition.doc,
                decorators: definition.decorators.clone(),
                bases: definition.bases.clone(),
            });
        }
    }
}

/// Edges of the module dependency graph: each import leads to the module that it names, or to the
/// package whose name it takes.
fn imports(linked: &Linked<'_>) -> Vec<ModuleEdge> {
    let layout = linked.program.layout;
    let mut edges: FxHashMap<(u32, u32), ModuleEdge> = FxHashMap::default();
    for (file, facts) in (0u32..).zip(linked.program.files) {
        let targets = &linked.targets[file as usize];
        for ((import, target), &uses) in facts.imports.iter().zip(targets).zip(&facts.uses) {
            let to = match *target {
                Target::Module(Found::File(to)) => to,
                Target::Member(package, name) => {
                    let text = linked.symbols.text(name);
                    match (layout.inside(package, text), package) {
                        (Some(Found::File(inner)), _) => inner,
                        (_, Found::File(package)) => package,
                        _ => continue,
                    }
                }
                _ => continue,
            };
            if to == file {
                continue;
            }
            let weight = uses.max(1);
            let edge = edges.entry((file, to)).or_insert(ModuleEdge {
                from: FileId(file),
                to: FileId(to),
                weight: 0,
                place: ImportPlace::TypeChecking,
                line: import.line,
            });
            edge.weight += weight;
            edge.place = edge.place.min(import.place);
            edge.line = edge.line.min(import.line);
        }
    }
    let mut edges: Vec<ModuleEdge> = edges.into_values().collect();
    edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
    edges
}

fn calls(linked: &Linked<'_>, solution: &Solution, graph: &mut Graph) {
    let mut outside: FxHashMap<u32, u32> = FxHashMap::default();
    for &(site, name) in &solution.outside {
        outside.entry(site).or_insert(name.0);
    }
    let mut weights: FxHashMap<(u32, u32), (u32, u32)> = FxHashMap::default();
    let mut next = 0;
    for (index, site) in (0u32..).zip(&solution.sites) {
        let from = next;
        while solution.edges.get(next).is_some_and(|&(of, _)| of == index) {
            next += 1;
        }
        if site.caller == u32::MAX {
            continue;
        }
        let found = &solution.edges[from..next];
        let saturated = solution.saturated[index as usize] || found.len() > CERTAIN;
        let callees: Vec<EntityId> = if saturated {
            Vec::new()
        } else {
            found.iter().map(|&(_, callee)| EntityId(callee)).collect()
        };
        for callee in &callees {
            let (count, line) = weights.entry((site.caller, callee.0)).or_insert((0, site.line));
            *count += 1;
            *line = (*line).min(site.line);
        }
        let written = matches!(site.form, SiteForm::Written(_));
        if !written && callees.is_empty() {
            continue;
        }
        let unresolved = match outside.get(&index) {
            _ if saturated => Some(Unresolved::Ambiguous),
            Some(_) if solution.strange[index as usize] => Some(Unresolved::Foreign),
            Some(&name) if callees.is_empty() => {
                let name = solution.foreign.name(crate::flow::Outside(name));
                Some(Unresolved::Outside(name.to_owned()))
            }
            _ if solution.strange[index as usize] => Some(Unresolved::Foreign),
            _ if callees.is_empty() => Some(Unresolved::Unknown),
            _ => None,
        };
        graph.sites.push(CallSite {
            caller: EntityId(site.caller),
            line: site.line,
            name: linked.symbols.text(site.name).to_owned(),
            attribute: matches!(site.form, SiteForm::Written(Form::Attribute)),
            written,
            callees,
            unresolved,
        });
    }
    graph.sites.sort_by_key(|site| (site.caller, site.line));
    graph.calls = weights
        .into_iter()
        .map(|((caller, callee), (weight, line))| CallEdge {
            caller: EntityId(caller),
            callee: EntityId(callee),
            weight,
            line,
        })
        .collect();
    graph.calls.sort_unstable_by_key(|edge| (edge.caller, edge.callee));
}
