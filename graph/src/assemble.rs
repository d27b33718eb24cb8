//! Assembles the finished graph from the facts of all files and the solution of the value flow.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{
    facts::{CallForm, EntityKind, FileFacts, ImportPlace},
    flow::{FlowInput, ImportTarget, LinkedFiles, SiteForm, Solution, solve},
    graph::{
        CallEdge, CallSite, Entity, EntityId, FileId, Graph, ModuleEdge, ModuleNode, Unresolved,
        Use,
    },
    module::{Layout, ModulePlace},
    pythons::Pythons,
    walk::SkippedFile,
};

/// A site that seems to reach more than this is left to the names.
const CERTAIN: usize = 12;

/// Joins files to a graph. Paths are sorted, and one to one with the facts.
pub(crate) fn assemble(
    paths: Vec<String>,
    facts: &[FileFacts],
    projects: &[String],
    skipped: Vec<SkippedFile>,
    pythons: Pythons,
) -> Graph {
    let layout = Layout::new(paths, projects, pythons);
    let program = FlowInput { layout: &layout, files: facts, pythons };
    let mut linked = LinkedFiles::new(&program);
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
                within: EntityId(linked.first_entity[file as usize] + reference.part_of),
                import: reference.import,
            }
        })
        .chain(imported(&linked))
        .collect();
    graph.uses.sort_unstable();
    graph.uses.dedup();
    graph.bases =
        solution.bases.iter().map(|&(class, base)| (EntityId(class), EntityId(base))).collect();
    graph
}

fn nodes(linked: &LinkedFiles<'_>, graph: &mut Graph) {
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
                EntityKind::Module => name.clone(),
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
                is_abstract: definition.traits.abstract_method,
                is_setter: definition.traits.setter || definition.traits.deleter,
            });
        }
    }
}

/// Edges of the module dependency graph: each import leads to the module that it names, or to the
/// package whose name it takes.
fn imports(linked: &LinkedFiles<'_>) -> Vec<ModuleEdge> {
    let layout = linked.program.layout;
    let mut edges: FxHashMap<(u32, u32), ModuleEdge> = FxHashMap::default();
    for (file, facts) in (0u32..).zip(linked.program.files) {
        let targets = &linked.targets[file as usize];
        for ((import, target), &uses) in facts.imports.iter().zip(targets).zip(&facts.uses) {
            let to = match *target {
                ImportTarget::Module(ModulePlace::File(to)) => to,
                ImportTarget::Member(package, name) => {
                    let text = linked.symbols.text(name);
                    match (layout.inside(package, text), package) {
                        (Some(ModulePlace::File(inner)), _) => inner,
                        (_, ModulePlace::File(package)) => package,
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

/// The modules that imports name.
fn imported(linked: &LinkedFiles<'_>) -> Vec<Use> {
    let mut uses = Vec::new();
    for (file, facts) in (0u32..).zip(linked.program.files) {
        for (import, target) in facts.imports.iter().zip(&linked.targets[file as usize]) {
            let (ImportTarget::Module(found) | ImportTarget::Member(found, _)) = *target else {
                continue;
            };
            let ModulePlace::File(to) = found else { continue };
            // `from . import x` names no module.
            if import.module.is_empty() && matches!(target, ImportTarget::Member(..)) {
                continue;
            }
            uses.push(Use {
                target: EntityId(linked.first_entity[to as usize]),
                module: FileId(file),
                line: import.line,
                within: EntityId(linked.first_entity[file as usize] + import.within),
                import: true,
            });
        }
    }
    uses
}

fn calls(linked: &LinkedFiles<'_>, solution: &Solution, graph: &mut Graph) {
    let mut starts = vec![0u32; solution.sites.len() + 1];
    for &(site, _) in &solution.edges {
        starts[site as usize + 1] += 1;
    }
    for site in 0..solution.sites.len() {
        starts[site + 1] += starts[site];
    }
    let mut order: Vec<(u32, u32, u32)> = (0u32..)
        .zip(&solution.sites)
        .filter(|(_, site)| site.caller != u32::MAX)
        .map(|(index, site)| (site.caller, site.line, index))
        .collect();
    order.sort_unstable();
    graph.sites.reserve(order.len());
    // Calls of one caller, each as callee and line.
    let mut made: Vec<(u32, u32)> = Vec::new();
    for sites in order.chunk_by(|left, right| left.0 == right.0) {
        for &(_, _, index) in sites {
            let at = index as usize;
            let edges = &solution.edges[starts[at] as usize..starts[at + 1] as usize];
            let site = call_site(linked, solution, index, edges);
            made.extend(site.callees.iter().map(|callee| (callee.0, site.line)));
            if site.written || !site.callees.is_empty() {
                graph.sites.push(site);
            }
        }
        made.sort_unstable();
        graph.calls.extend(made.chunk_by(|left, right| left.0 == right.0).map(|calls| CallEdge {
            caller: EntityId(sites[0].0),
            callee: EntityId(calls[0].0),
            weight: u32::try_from(calls.len()).unwrap_or(u32::MAX),
            line: calls[0].1,
        }));
        made.clear();
    }
}

fn call_site(
    linked: &LinkedFiles<'_>,
    solution: &Solution,
    index: u32,
    edges: &[(u32, u32)],
) -> CallSite {
    let site = &solution.sites[index as usize];
    let strange = solution.strange[index as usize];
    let saturated = solution.saturated[index as usize] || edges.len() > CERTAIN;
    let callees: SmallVec<[EntityId; 4]> = match saturated {
        true => SmallVec::new(),
        false => edges
            .iter()
            .filter(|&&(_, callee)| !is_written_below(linked, solution, callee, edges))
            .map(|&(_, callee)| EntityId(callee))
            .collect(),
    };
    let behind = solution.behind.get(&index).map_or(&[][..], Vec::as_slice);
    let mut behind: Vec<String> =
        behind.iter().map(|&name| linked.symbols.text(name).to_owned()).collect();
    behind.sort_unstable();
    let outside = solution.outside.partition_point(|&(of, _)| of < index);
    let outside = solution.outside.get(outside).filter(|&&(of, _)| of == index);
    let unresolved = match outside {
        _ if saturated => Some(Unresolved::Ambiguous),
        Some(_) if strange => Some(Unresolved::Foreign),
        Some(&(_, name)) if callees.is_empty() && behind.is_empty() => {
            Some(Unresolved::Outside(solution.foreign.name(name).into()))
        }
        _ if strange => Some(Unresolved::Foreign),
        _ if callees.is_empty() || !behind.is_empty() => Some(Unresolved::Unknown),
        _ => None,
    };
    CallSite {
        caller: EntityId(site.caller),
        line: site.line,
        name: linked.symbols.text(site.name).into(),
        attribute: matches!(site.form, SiteForm::Written(CallForm::Attribute)),
        written: matches!(site.form, SiteForm::Written(_)),
        callees,
        unresolved,
        behind,
    }
}

/// Returns true if `callee` is an abstract method that another callee of the same site overrides.
/// The annotation promises the abstract method, but the override is executed.
fn is_written_below(
    linked: &LinkedFiles<'_>,
    solution: &Solution,
    callee: u32,
    edges: &[(u32, u32)],
) -> bool {
    let definition = linked.definition(callee);
    if edges.len() < 2 || !definition.traits.abstract_method {
        return false;
    }
    let Some(class) = linked.class_of(callee) else { return false };
    let name = linked.symbol(linked.file_of(callee), definition.name);
    edges.iter().any(|&(_, other)| {
        let below = linked.class_of(other).is_some_and(|below| {
            let from = solution.bases.partition_point(|&(of, _)| of < below);
            let bases = solution.bases[from..].iter().take_while(|&&(of, _)| of == below);
            bases.map(|&(_, base)| base).any(|base| base == class)
        });
        below && linked.symbol(linked.file_of(other), linked.definition(other).name) == name
    })
}
