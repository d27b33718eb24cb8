//! Tests what the listener records about errors that a file raises.

use std::path::Path;

use gistify_tools::{Command, LocalSandbox, caught};

use crate::{Project, pythons};

const TEST: &str = r#"
#- helper.py
def silent():
    try:
        nowhere
    except NameError:
        return 1
#- test_a.py
import threading
import pytest
import helper

class Own(AttributeError):
    def __str__(self):
        raise SystemExit("asked")

def work():
    try:
        absent
    except NameError:
        pass

def test_f():
    for _ in range(3):
        try:
            import nothing.there
        except ImportError as error:
            found = error
    try:
        helper.loud()
    except AttributeError:
        helper.silent()
    try:
        raise Own("own")
    except Own:
        pass
    try:
        {}[helper]
    except KeyError:
        pass
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    pytest.skip(str(found))
"#;

#[test]
fn errors_of_a_file_are_heard_whether_or_not_they_are_caught() {
    let project = Project::new(TEST);
    let (sandbox, command) = (LocalSandbox::default(), Command::parse("pytest test_a.py").unwrap());
    for (minor, _) in pythons::VERSIONS {
        let Some(environment) = pythons::environment(*minor) else { continue };
        let spec = project.spec(&sandbox, &environment, &command);
        let found = caught(&spec, Path::new("test_a.py")).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|raised| {
                let (_, line, function) = raised.frames.last().unwrap();
                format!("{}: {} at {line} {function}", raised.kind, raised.message)
            })
            .collect();
        let expected = [
            "ModuleNotFoundError: No module named 'nothing' at 18 test_f",
            "AttributeError: module 'helper' has no attribute 'loud' at 22 test_f",
            "NameError: name 'absent' is not defined at 11 work",
        ];
        assert_eq!(shown, expected, "3.{minor}");
    }
}
