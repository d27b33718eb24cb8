//! Scaffolds of others: programs in the sandbox that reach a scripted model through the gateway alone.

use std::fs;

use serde_json::Value;

use super::{GIST_OF_SMALL, SMALL, User, benching::finished, python, read};

/// An external program: it asks until it is told what to write, and runs nothing.
const AGENT: &str = r#"
import json, os, sys, urllib.error, urllib.request
task, output = sys.argv[1:3]
base = os.environ["OPENAI_BASE_URL"]
messages = [{"role": "system", "content": "You write files."}, {"role": "user", "content": task}]
tools = [{"type": "function", "function": {"name": "write", "description": "Writes.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}}]
for step in range(int(sys.argv[3])):
    body = json.dumps({"model": "any", "messages": messages, "tools": tools}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    try:
        with urllib.request.urlopen(urllib.request.Request(base + "/chat/completions", body, headers)) as answer:
            answer = json.load(answer)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
        sys.exit(3)
    message = answer["choices"][0]["message"]
    messages.append(message)
    for call in message.get("tool_calls", []):
        with open(output, "w") as file:
            file.write(json.loads(call["function"]["arguments"])["text"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "written"})
    print(answer["usage"])
try:
    urllib.request.urlopen("http://192.0.2.1/", timeout=2)
    print("REACHED")
except OSError as error:
    print("alone:", type(error).__name__)
"#;

/// Says to write the gist, and then that it is done.
const MODEL: &str = r#"
import json, sys
request = json.load(sys.stdin)
step = sum(1 for message in request["messages"] if message["role"] == "assistant")
calls = [{"tool": "write", "arguments": {"text": open("gist.py").read()}}] if step == 0 else []
print(json.dumps({"content": "so", "calls": calls, "usage": {"input": 100, "output": 20}}))
"#;

fn benched(steps: u32, more: &[&str]) -> Option<(User, super::Ran)> {
    let python = python()?;
    let user = User::new();
    let source = user.repository("small", SMALL);
    for (name, text) in [("model.py", MODEL), ("agent.py", AGENT), ("gist.py", GIST_OF_SMALL)] {
        fs::write(user.here().join(name), text).unwrap();
    }
    let suite = format!(
        "source = '{}'\npython = '{python}'\n[[task]]\nid = 'small::double'\ntest = 't'\ncommand = \
         'pytest tests/test_numbers.py::test_double'\n",
        source.display()
    );
    fs::write(user.here().join("s.toml"), suite).unwrap();
    let programs = user.here().join("programs");
    fs::create_dir(&programs).unwrap();
    fs::rename(user.here().join("agent.py"), programs.join("agent.py")).unwrap();
    let agent = programs.join("agent.py");
    let external = format!("theirs={python} {} {{task}} {{output}} {steps}", agent.display());
    let (model, reads) = (format!("command/{python} model.py"), programs.display().to_string());
    let args = [
        &["bench", "s.toml", "-m", &model, "--external", &external, "--external-reads", &reads][..],
        &["--run-dir", "run"],
        more,
    ];
    let ran = user.gistify(&args.concat());
    Some((user, ran))
}

#[test]
fn a_program_of_others_writes_a_gist_through_the_gateway() {
    let Some((user, ran)) = benched(2, &[]) else { return };
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let result = finished(&user.here().join("run")).remove(0);
    let record: Value = serde_json::from_str(&read(&result)).unwrap();
    assert!(record["solver"].as_str().unwrap().starts_with("theirs command/"), "{record}");
    let effort = &record["attempt"]["effort"];
    assert_eq!((&effort["steps"], &effort["tokens_in"]), (&2.into(), &200.into()));
    let said = read(&result.with_file_name("stdout.txt"));
    // Its numbers are those of the gateway, and nothing else can be reached.
    assert!(said.contains("'prompt_tokens': 100"), "{said}");
    assert!(said.contains("alone: ") && !said.contains("REACHED"), "{said}");
    let trajectory = gistify::read_trajectory(&result.with_file_name("trajectory.jsonl")).unwrap();
    let roles: Vec<&str> = trajectory
        .iter()
        .filter_map(|record| match record {
            gistify::TrajectoryRecord::Message { message, .. } => Some(match message {
                gistify::Message::System { .. } => "system",
                gistify::Message::User { .. } => "user",
                gistify::Message::Assistant(_) => "assistant",
                gistify::Message::Tool(_) => "tool",
            }),
            _ => None,
        })
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    assert_eq!(read(&result.with_file_name("concise.py")), GIST_OF_SMALL);
}

#[test]
fn the_gateway_keeps_the_caps_of_a_session() {
    let Some((user, ran)) = benched(5, &["--set", "session.steps=3"]) else { return };
    // What was written before the cap is judged all the same.
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let result = finished(&user.here().join("run")).remove(0);
    let record: Value = serde_json::from_str(&read(&result)).unwrap();
    assert_eq!(record["attempt"]["outcome"], "step limit reached (exit code 3)");
    assert_eq!(record["attempt"]["effort"]["steps"], 3);
    let said = read(&result.with_file_name("stdout.txt"));
    assert!(said.contains("403") && said.contains("step limit reached"), "{said}");
}

#[test]
fn an_external_program_needs_a_model_and_a_command() {
    let user = User::new();
    for (external, told) in [
        ("a=b {task}", "an external program needs a model behind its gateway (see -m)"),
        ("nothing", "not NAME=COMMAND"),
    ] {
        let ran = user.gistify(&["bench", "requests", "--external", external]);
        assert!(ran.code == 2 && ran.err.contains(told), "{}", ran.err);
    }
}

/// Answers as a model of mini-swe-agent does: by its shell.
const SHELL_MODEL: &str = r#"
import json, re, sys
request = json.load(sys.stdin)
step = sum(1 for message in request["messages"] if message["role"] == "assistant")
said = " ".join(message["content"] for message in request["messages"] if message["role"] == "user")
output = re.search(r"to (/\S+/concise\.py)\.", said).group(1)
write = "cat > %s <<'E'\n%sE\n" % (output, open("gist.py").read())
command = [write, "python -m pytest -q " + output, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"][step]
call = {"tool": request["tools"][0]["name"], "arguments": {"command": command}}
print(json.dumps({"content": "next", "calls": [call], "usage": {"input": 100, "output": 20}}))
"#;

#[test]
fn the_real_mini_swe_agent_takes_part_as_it_is() {
    let Some(packages) = super::packages::packages() else { return };
    let Some(python) = python() else { return };
    let user = User::new();
    let source = user.repository("small", SMALL);
    fs::write(user.here().join("model.py"), SHELL_MODEL).unwrap();
    fs::write(user.here().join("gist.py"), GIST_OF_SMALL).unwrap();
    let suite = format!(
        "source = '{}'\npython = '{python}'\n[[task]]\nid = 'small::double'\ntest = 't'\ncommand = \
         'pytest tests/test_numbers.py::test_double'\n",
        source.display()
    );
    fs::write(user.here().join("s.toml"), suite).unwrap();
    let bin = packages.parent().unwrap();
    let external = format!(
        "mini-swe-agent=env MSWEA_CONFIGURED=true MSWEA_COST_TRACKING=ignore_errors {}/mini -y -m \
         openai/gateway -t {{task}} --exit-immediately",
        bin.display()
    );
    let base = fs::canonicalize(packages).unwrap();
    let base = base.parent().and_then(|bin| bin.parent()).unwrap();
    let reads = [bin.parent().unwrap(), base].map(|path| path.display().to_string());
    let model = format!("command/{python} model.py");
    let ran = user.gistify(&[
        "bench",
        "s.toml",
        "-m",
        &model,
        "--external",
        &external,
        "--external-reads",
        &reads[0],
        "--external-reads",
        &reads[1],
        "--run-dir",
        "run",
    ]);
    let result = finished(&user.here().join("run")).remove(0);
    let said = |name: &str| read(&result.with_file_name(name));
    assert_eq!(ran.code, 0, "{}{}{}", ran.err, said("stdout.txt"), said("stderr.txt"));
    let record: Value = serde_json::from_str(&read(&result)).unwrap();
    let effort = &record["attempt"]["effort"];
    assert_eq!((&effort["steps"], &effort["tokens_out"]), (&3.into(), &60.into()));
    assert_eq!(record["attempt"]["outcome"], "submitted");
}
