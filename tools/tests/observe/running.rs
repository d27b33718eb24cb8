//! What `execute` reports.

use gistify_tools::Status;

use crate::{Project, pythons};

#[test]
fn cases_are_recorded_per_phase() {
    let project = Project::new(
        r#"
#- tests/test_a.py
import logging, sys, pytest

@pytest.fixture
def noisy():
    print("up")
    yield 1
    print("down", file=sys.stderr)

@pytest.mark.parametrize("x", [1, 2])
def test_p(noisy, x):
    print("in", x)
    logging.getLogger("l").warning("careful")
    assert x == 1, "x is %d" % x

@pytest.mark.skip(reason="not now")
def test_s(): pass

@pytest.mark.xfail(reason="known")
def test_x(): raise KeyError("k")
"#,
    );
    for (minor, _) in pythons::VERSIONS {
        let Some(environment) = pythons::environment(*minor) else { continue };
        let run = project.execute(&environment, "pytest tests/test_a.py").unwrap();
        assert_eq!(run.status, Status::Exited(1), "{run:#?}");
        assert!(run.complete);
        println!("{run:#?}");
    }
}
