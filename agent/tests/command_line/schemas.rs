//! The schemas of what the program writes. Other tests have the files validated here that their runs left.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use jsonschema::Validator;
use serde_json::Value;

use super::{SMALL, User, fixing::assert_refused, python};

/// A schema, and the name of the files that it is of.
struct FileSchema {
    name: String,
    file: String,
    validator: Validator,
}

/// All schemas, as the program prints them.
fn schemas() -> &'static [FileSchema] {
    static ALL: OnceLock<Vec<FileSchema>> = OnceLock::new();
    ALL.get_or_init(|| {
        // No user of the tests: what these leave is validated.
        let program =
            Command::new(env!("CARGO_BIN_EXE_gistify")).args(["schema", "--json"]).output();
        let all: Vec<BTreeMap<String, Value>> =
            serde_json::from_slice(&program.unwrap().stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let compiled = |one: BTreeMap<String, Value>| FileSchema {
            name: text(&one["name"]),
            file: text(&one["file"]),
            validator: jsonschema::draft202012::new(&one["schema"]).unwrap(),
        };
        all.into_iter().map(compiled).collect()
    })
}

/// Returns the faults of a value by the schemas of its file; none where it is valid by one of them.
fn faults(schemas: &[&FileSchema], value: &Value) -> Vec<String> {
    if schemas.iter().any(|schema| schema.validator.is_valid(value)) {
        return Vec::new();
    }
    let each = schemas.iter().flat_map(|schema| {
        let faults = schema.validator.iter_errors(value).take(3);
        faults.map(|fault| format!("{} {}: {fault}", schema.name, fault.instance_path()))
    });
    each.collect()
}

/// Returns the values of each file below a directory that has a schema.
fn written(directory: &Path) -> Vec<(PathBuf, Vec<&'static FileSchema>, Vec<Value>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(written(&path));
            continue;
        }
        let own: Vec<_> = schemas().iter().filter(|schema| *schema.file == *name).collect();
        if !own.is_empty() {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let rows = path.extension().is_some_and(|end| end == "jsonl");
            let parts: Vec<&str> = if rows { text.lines().collect() } else { vec![&text] };
            // A test may have cut a file, or written it.
            let values = parts.into_iter().filter_map(|part| serde_json::from_str(part).ok());
            found.push((path, own, values.collect()));
        }
    }
    found
}

/// Validates the files below a directory.
pub fn validate(home: &Path) {
    for (path, schemas, values) in written(home) {
        for value in &values {
            let faults = faults(&schemas, value);
            assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
        }
    }
}

#[test]
fn the_checked_in_schemas_are_those_that_are_printed() {
    let user = User::new();
    let ran = user.gistify(&["schema", "-o", "schemas"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let again = user.gistify(&["schema", "-o", "schemas"]);
    assert_refused(&again, 3, "schemas/trajectory.json exists (replace it with --force)");
    let texts = |directory: &Path| -> BTreeMap<_, _> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries
            .map(|path| (path.file_name().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
            .collect()
    };
    let kept = texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/schemas"));
    let printed = texts(&user.here().join("schemas"));
    // They have names of files that have a schema.
    fs::remove_dir_all(user.here().join("schemas")).unwrap();
    let differ: Vec<_> = printed
        .keys()
        .chain(kept.keys())
        .filter(|name| kept.get(*name) != printed.get(*name))
        .collect();
    assert!(
        differ.is_empty(),
        "{differ:?} (`cargo run -- schema --force -o configs/schemas` renews them)"
    );
    let ran = user.gistify(&["schema", "trajectry"]);
    let expected = "gistify: no schema \"trajectry\" (did you mean trajectory?)";
    assert_eq!((ran.code, ran.last_error_line()), (2, expected));
}

#[test]
fn a_schema_refuses_a_renamed_property() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("repo", SMALL);
    let test = "tests/test_numbers.py::test_double";
    let start = ["run", "repo", "--json", "--python", &python, "--run-dir", "record", "--"];
    let ran = user.gistify(&[&start[..], &["pytest", test]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let printed = serde_json::from_str(&ran.out).unwrap();
    let schema: Vec<_> = schemas().iter().filter(|schema| schema.name == "run-output").collect();
    assert_eq!(faults(&schema, &printed), Vec::<String>::new());
    let files = written(&user.here().join("record"));
    let names: Vec<_> = files.iter().map(|(path, ..)| path.file_name().unwrap()).collect();
    for name in ["trajectory.jsonl", "trace.json", "plan.json", "source-map.json", "scores.json"] {
        assert!(names.iter().any(|one| *one == name), "{names:?}");
    }
    for (path, schemas, values) in files {
        for value in values {
            for key in value.as_object().unwrap().keys() {
                let mut other = value.clone();
                let object = other.as_object_mut().unwrap();
                let kept = object.remove(key).unwrap();
                object.insert(format!("{key}_"), kept);
                assert!(!faults(&schemas, &other).is_empty(), "{}: {key}", path.display());
            }
        }
    }
}
