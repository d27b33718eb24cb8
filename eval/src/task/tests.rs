//! Suites, as they are read.

use super::*;

const TOP: &str = "repo = 'r'\nversion = '1'\nartifact = 'r-1.tar.gz'\nroot = 'r-1'\n\
    python = '3.11'\npythonpath = 'src'\n\
    sha256 = '0123456789012345678901234567890123456789012345678901234567890123'\n";

fn check(text: &str, expected: Result<usize, &str>) {
    match (Suite::parse("s", &format!("{TOP}{text}")), expected) {
        (Ok(suite), Ok(count)) => assert_eq!(suite.tasks.len(), count, "{text}"),
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (result, _) => panic!("{result:?} is not {expected:?} for {text}"),
    }
}

#[test]
fn suites_are_read_strictly() {
    let task = "[[task]]\nid = 'a'\ntest = 't'\ncommand = 'pytest t'\n";
    check(task, Ok(1));
    check(&format!("{task}{task}"), Err("id \"a\" is used twice"));
    check(&format!("{task}color = 1\n"), Err("unknown field `color`"));
    check(&format!("extra = 1\n{task}"), Err("unknown field `extra`"));
    check("[[task]]\nid = 'a'\ntest = 't'\n", Err("missing field `command`"));
    check("[[task]]\nid = 'a'\ntest = 't'\ncommand = ' '\n", Err("is empty"));
    check(&format!("{task}root = '../x'\n"), Err("root \"../x\" leads outside"));
    check(&format!("{task}lock = '/etc/x'\n"), Err("leads outside"));
    check(&format!("{task}script = 'pkg/use.py'\n"), Ok(1));
    check(&format!("{task}script = '../use.py'\n"), Err("script \"../use.py\" leads outside"));
    check(&format!("{task}sha256 = 'abc'\n"), Err("is no hex sha-256"));
    check("", Err("suite s: it has no task"));
    let change = "[[task.mutation]]\nfile = 'f.py'\nold = 'a'\nnew = ";
    check(&format!("{task}{change}'b'\n"), Ok(1));
    check(&format!("{task}{change}'a'\n"), Err("changes nothing"));
}

#[test]
fn a_key_may_stand_in_the_task_alone() {
    let error = Suite::parse("s", "[[task]]\nid = 'a'\ntest = 't'\ncommand = 'c'\n");
    let message = error.unwrap_err().to_string();
    assert_eq!(message, "suite s, task a: no repo (give it in the task or at the top)");
}

#[test]
fn mutations_replace_exactly_one_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f.py");
    let mut task = Task::of_command("r", "pytest t");
    let change = |old: &str| Mutation { file: "f.py".into(), old: old.into(), new: "z".into() };
    fs::write(&file, "a = 1\nb = 1\n").unwrap();
    task.mutations = vec![change("a = 1")];
    task.mutate(directory.path(), None).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "z\nb = 1\n");
    task.mutations = vec![change("q")];
    let message = task.mutate(directory.path(), None).unwrap_err().to_string();
    assert!(message.ends_with("the old text stands in it 0 times, not once"), "{message}");
}

#[test]
fn a_script_is_put_into_the_root_under_its_own_name() {
    let directory = tempfile::tempdir().unwrap();
    let (kept, copy) = (directory.path().join("scripts-use.py"), directory.path().join("copy"));
    fs::write(&kept, "import pkg\n").unwrap();
    fs::create_dir(&copy).unwrap();
    let mut task = Task::of_command("r", "python use.py");
    task.script = Some("scripts/use.py".into());
    task.mutate(&copy, Some(&kept)).unwrap();
    assert_eq!(fs::read_to_string(copy.join("use.py")).unwrap(), "import pkg\n");
    let message = task.mutate(&copy, Some(&kept)).unwrap_err().to_string();
    assert!(message.ends_with("use.py: the repository has such a file"), "{message}");
}

#[test]
fn the_suites_of_this_repository_can_be_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/suites");
    let mut suites = 0;
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        suites += 1;
        for task in Suite::read(&path).unwrap().tasks {
            assert!(task.license.is_some(), "{}: no licence", task.id);
            let lock = task.lock.expect("a task of a suite has a lock");
            for file in task.script.iter().chain([&lock]) {
                assert!(directory.join(file).is_file(), "{file}");
            }
        }
    }
    assert!(suites >= 5, "{suites}");
}
