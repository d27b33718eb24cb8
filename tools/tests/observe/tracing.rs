//! What `trace` reports.

use gistify_tools::Observer;

use crate::{Project, pythons};

#[test]
fn both_tracers() {
    let project = Project::new(
        r#"
#- pkg/__init__.py
from pkg.a import f

def unused():
    return 1
#- pkg/a.py
import os
class A:
    x = 1
    def m(self):
        return [i for i in range(3)]

def f(n):
    for i in range(n):
        if i > 5:
            return A().m()
    return None
#- tests/test_a.py
from pkg import f

def test_p():
    assert f(3) is None

def test_q():
    assert f(9) == [0, 1, 2]
"#,
    );
    for (minor, _) in pythons::VERSIONS {
        let Some(environment) = pythons::environment(*minor) else { continue };
        for observer in [Observer::Fastest, Observer::Settrace] {
            let (_, trace) =
                project.trace(&environment, "python -m pytest tests/test_a.py", observer);
            println!("{} {:#?}", minor, trace.files);
        }
    }
}
