//! Tests the decisions of reference runs: masks, quarantine, and the stored parts.

use gistify_eval::{Evaluation, Quarantine, Submission};
use tools::GistPlace;

use super::{
    bed::{Bed, Original, score_line},
    shop::{GIST, SHOP},
};

/// Judges a gist of an original with one test file.
fn judged(test: &str, gist: &str) -> Option<Evaluation> {
    let files = [("pkg.py", "VALUE = 1\n"), ("test_pkg.py", test)];
    let bed = Bed::new(&Original { files: &files, command: "pytest test_pkg.py" })?;
    Some(bed.judge(Submission::Written(gist.to_owned()), None).unwrap())
}

#[test]
fn lines_that_vary_are_masked_and_others_are_not() {
    let test = "import os\nfrom pkg import VALUE\n\n\ndef test_a():\n    print('seed', os.environ['PYTHONHASHSEED'])\n    print('value', VALUE)\n";
    let gist = "import os\n\nVALUE = 1\n\n\ndef test_a():\n    print('seed', os.environ['PYTHONHASHSEED'])\n    print('value', VALUE)\n";
    for (gist, expected) in [
        (gist.to_owned(), "fidelity 1, existence 5/5, execution 5/5, test 100, -"),
        (
            gist.replace("VALUE = 1", "VALUE = 2"),
            "fidelity 0, existence 4/5, execution -, test 100, output mismatch",
        ),
        (
            gist.replace("VALUE = 1", "os.environ['PYTHONHASHSEED'] = 'x'\nVALUE = 1"),
            "fidelity 1, existence 5/6, execution 5/6, test 100, -",
        ),
    ] {
        let Some(evaluation) = judged(test, &gist) else { return };
        assert_eq!(score_line(&evaluation), expected, "{evaluation:#?}");
    }
}

#[test]
fn cases_that_vary_are_not_compared() {
    let test = "import os\nimport pytest\n\n\n@pytest.mark.parametrize('x', ['0', '1'])\ndef test_a(x):\n    assert x == '0' or os.environ['PYTHONHASHSEED'] != x\n";
    let Some(evaluation) = judged(test, test) else { return };
    assert_eq!(score_line(&evaluation), "fidelity 1, existence 5/5, execution 4/4, test 100, -");
    let unstable: Vec<&String> = evaluation.reference.unstable.keys().collect();
    assert_eq!(unstable, ["<internal>::test_a[1]"]);
}

#[test]
fn a_task_without_a_stable_case_is_quarantined() {
    let test = "import os\n\n\ndef test_a():\n    assert os.environ['PYTHONHASHSEED'] != '1'\n";
    let Some(evaluation) = judged(test, test) else { return };
    let why = "<internal>::test_a: its outcome varies between runs".to_owned();
    assert_eq!(evaluation.quarantine, Some(Quarantine::Unstable(why)));
    // Unscored is not zero.
    assert_eq!(evaluation.scores, Default::default());
}

#[test]
fn a_task_that_asks_for_the_network_is_quarantined() {
    let test = "import socket\n\n\ndef test_a():\n    socket.getaddrinfo('gistify.invalid', 80)\n";
    let Some(evaluation) = judged(test, test) else { return };
    assert!(matches!(evaluation.quarantine, Some(Quarantine::Network(_))), "{evaluation:?}");
}

#[test]
fn a_server_on_loopback_is_no_network() {
    let test = "import socket\n\n\ndef test_a():\n    server = socket.create_server(('127.0.0.1', 0))\n    client = socket.create_connection(server.getsockname())\n    client.close()\n    server.close()\n";
    let Some(evaluation) = judged(test, test) else { return };
    assert_eq!(score_line(&evaluation), "fidelity 1, existence 6/6, execution 6/6, test 100, -");
}

#[test]
fn a_second_scoring_runs_no_reference() {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let first = bed.verdict(GIST);
    let second = bed.verdict(GIST);
    assert!(second.reference.cached);
    assert_eq!(first.scores, second.scores);
    assert!(bed.verdict("").reference.cached);
}

#[test]
fn a_gist_may_stand_at_the_root() {
    let Some(mut bed) = Bed::new(&SHOP) else { return };
    bed.place = GistPlace::Root;
    let evaluation = bed.verdict(GIST);
    assert_eq!(
        score_line(&evaluation),
        "fidelity 1, existence 33/33, execution 27/29, test 100, -"
    );
}

#[test]
fn the_original_runs_as_often_as_is_asked_for() {
    let test = "from pkg import VALUE\n\n\ndef test_a():\n    assert VALUE == 1\n";
    let files = [("pkg.py", "VALUE = 1\n"), ("test_pkg.py", test)];
    let original = Original { files: &files, command: "pytest test_pkg.py" };
    for runs in [1, 5] {
        let Some(mut bed) = Bed::new(&original) else { return };
        bed.runs = runs;
        assert_eq!(bed.reference().runs, runs);
    }
}
