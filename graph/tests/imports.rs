//! Imports in generated trees of packages lead where importlib says.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use gistify_graph::{BuildOptions, Graph};

/// Numbers that look random and are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

const NAMES: &[&str] = &["alpha", "beta", "gamma", "delta"];

/// Packages, namespace packages and modules, some of one name, and files that import by each form.
fn plant(root: &Path, numbers: &mut Numbers) {
    let mut directories = vec![String::new()];
    for _ in 0..6 {
        let around = directories[numbers.below(directories.len())].clone();
        let name = NAMES[numbers.below(NAMES.len())];
        let inner = if around.is_empty() { name.to_owned() } else { format!("{around}/{name}") };
        if inner.matches('/').count() < 3 && !directories.contains(&inner) {
            directories.push(inner);
        }
    }
    let mut packages = vec![String::new()];
    for directory in &directories {
        let full = root.join(directory);
        fs::create_dir_all(&full).unwrap();
        let outer = directory.rsplit_once('/').map_or("", |(outer, _)| outer).to_owned();
        if !directory.is_empty() && packages.contains(&outer) && numbers.below(4) > 0 {
            fs::write(full.join("__init__.py"), "").unwrap();
            packages.push(directory.clone());
        }
        for name in NAMES {
            if numbers.below(3) == 0 {
                fs::write(full.join(format!("{name}.py")), "value = 1\n").unwrap();
            }
        }
    }
    // Importers stand in regular packages: elsewhere graphs also look beside the file, as for scripts.
    for at in 0..40 {
        let package = &packages[numbers.below(packages.len())];
        let mut dotted = NAMES[numbers.below(NAMES.len())].to_owned();
        for _ in 0..numbers.below(3) {
            dotted = format!("{dotted}.{}", NAMES[numbers.below(NAMES.len())]);
        }
        let name = NAMES[numbers.below(NAMES.len())];
        let dots = ".".repeat(1 + numbers.below(3));
        let statement = match numbers.below(4) {
            0 => format!("import {dotted}"),
            1 => format!("from {dotted} import {name}"),
            2 => format!("from {dots} import {name}"),
            _ => format!("from {dots}{dotted} import {name}"),
        };
        let path = root.join(package).join(format!("importer_{at}.py"));
        fs::write(path, format!("{statement}\n")).unwrap();
    }
}

#[test]
fn imports_lead_where_importlib_says() {
    let python = ["python3.13", "python3.12", "python3.11", "python3"].iter().find(|name| {
        let works = Command::new(name).arg("-c").arg("pass").output();
        works.is_ok_and(|output| output.status.success())
    });
    let Some(python) = python else {
        println!("skipped: no Python was found");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import_reference.py");
    let mut compared = 0;
    for seed in 0..40 {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        plant(&root, &mut Numbers(seed));
        let output = Command::new(python).arg(script).arg(&root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let graph = Graph::build(&root, &BuildOptions::default());
        let path = |id| graph.module(id).path.as_str();
        let edges: BTreeSet<(&str, &str)> =
            graph.imports.iter().map(|edge| (path(edge.from), path(edge.to))).collect();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let (importer, found): (String, Option<String>) = serde_json::from_str(line).unwrap();
            let statement = fs::read_to_string(root.join(&importer)).unwrap();
            let ours: Vec<&str> =
                edges.iter().filter(|(from, _)| *from == importer).map(|(_, to)| *to).collect();
            match &found {
                Some(found) => assert_eq!(ours, [found], "seed {seed}: {importer}: {statement}"),
                // What only a path set by hand makes importable is found all the same: a package further
                // down, and the root as a package of its own.
                None if !statement.starts_with("from .") => continue,
                None if dots(&statement) > importer.matches('/').count() => continue,
                None => assert!(ours.is_empty(), "seed {seed}: {importer}: {statement} {ours:?}"),
            }
            compared += 1;
        }
    }
    assert!(compared > 400, "{compared} statements");
}

fn dots(statement: &str) -> usize {
    statement["from ".len()..].chars().take_while(|&c| c == '.').count()
}
