//! Tests every scaffold on a real task of a suite, with a scripted program that has the offline
//! writer's gist.

use serde_json::json;

use super::{super::benching::loses_nothing, *};

/// A suite whose tasks are small.
const SUITE: &str = "requests";
/// A task that is small enough for any scaffold.
const TASK: &str = "pypi:requests==2.34.2";
const COMMAND: [&str; 3] = ["--", "pytest", "tests/test_utils.py::TestSuperLen::test_io_streams"];

/// Looks around with whatever the scaffold has, then writes the gist that is named on the command line.
const MODEL: &str = r##"
import json, sys
request = json.load(sys.stdin)
gist = open(sys.argv[1]).read()
path = "tests/concise.py"
tools = {tool["name"] for tool in request["tools"]}
step = sum(1 for message in request["messages"] if message["role"] == "assistant")

def call(tool, **arguments):
    return {"tool": tool, "arguments": arguments}

if not tools:
    print("```python\n" + gist + "```")
    raise SystemExit
looks = [
    call("view", target="src/requests/utils.py"),
    call("search", pattern="super_len"),
    call("relate", relation="callees", of="requests.utils.super_len"),
    call("bash", command="ls; grep -rn super_len src | head"),
    call("trace"),
    call("slice"),
]
rounds = []
if "analyze" in tools:
    sub_task = "where super_len is defined"
    for relevant in (False, True):
        rounds += [
            [call("analyze", sub_task=sub_task)],
            [call("retrieve", kind="function", name="super_len")],
            [call("verify", relevant=relevant)],
        ]
    rounds += [[call("analyze", sub_task="all of it", enough=True)]]
else:
    rounds += [[look for look in looks if look["tool"] in tools]]
edit = next((tool for tool in ("edit", "edit_execute") if tool in tools), None)
if edit:
    rounds += [[call(edit, action="create", text=gist)]]
elif "bash" in tools:
    rounds += [[call("bash", command="cat > %s <<'E'\n%sE" % (path, gist))]]
if "execute" in tools:
    rounds += [[call("execute")]]
rounds += [[call("submit")]]
print(json.dumps({"content": "Step %d." % step, "calls": rounds[step]}))
"##;

#[test]
fn every_scaffold_comes_to_its_end_on_a_real_task() {
    if !wanted() {
        eprintln!("skipped: GISTIFY_TEST_OUTSIDE is not set");
        return;
    }
    let Some(python) = python() else { return };
    let user = User::new();
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    // One cache for all: the package and its environment are fetched once.
    let cache = format!("environment.cache={}", user.home.path().join("cache").display());
    let run = |record: &str, more: &[&str]| {
        let args = ["run", TASK, "--force", "--set", &cache, "--run-dir", record];
        user.gistify(&[&args[..], more, &COMMAND].concat())
    };
    let ran = run("record-offline", &["-o", "offline.py"]);
    if ran.code == 4 || ran.err.contains("cannot be had") {
        eprintln!("skipped: {}", ran.last_error_line());
        return;
    }
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let listed: serde_json::Value =
        serde_json::from_str(&user.gistify(&["scaffolds", "--json"]).out).unwrap();
    let names = listed.as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|scaffold| scaffold["name"].as_str().unwrap()).collect();
    let model = format!("command/{python} model.py offline.py");
    for name in names {
        let record = format!("record-of-{name}");
        let ran = run(&record, &["--scaffold", name, "-m", &model]);
        assert_eq!(ran.code, 0, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with("faithful: "), "{name}: {}", ran.out);
        let trajectory = read(&user.here().join(record).join("trajectory.jsonl"));
        let end: serde_json::Value =
            serde_json::from_str(trajectory.lines().last().unwrap()).unwrap();
        assert_eq!(end["outcome"], json!({ "kind": "submitted" }), "{name}");
    }
}

#[test]
fn d01_a_bench_of_real_tasks_that_is_killed_again_and_again_loses_nothing() {
    if !wanted() {
        eprintln!("skipped: GISTIFY_TEST_OUTSIDE is not set");
        return;
    }
    let user = User::new();
    // What is fetched is fetched once, before anything is killed.
    let cache = format!("environment.cache={}", user.home.path().join("cache").display());
    let what = [SUITE, "--first", "4", "--set", &cache];
    let ran = user.gistify(&[&["bench"], &what[..], &["--run-dir", "first"]].concat());
    if ran.code == 5 {
        eprintln!("skipped: {}", ran.last_error_line());
        return;
    }
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    loses_nothing(&user, &what, 4, 50, 8_009);
}
