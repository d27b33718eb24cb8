//! Tests the output about the program itself and its settings.

use super::*;

#[test]
fn help_has_the_exit_codes_of_their_topic() {
    let help = User::new().gistify(&["--help"]);
    assert_eq!(help.code, 0);
    let topic = User::new().gistify(&["help", "exit-codes"]).out;
    for exit in gistify::Exit::ALL {
        let (code, meaning) = (exit.code(), exit.meaning());
        assert!(help.out.contains(&format!("{code:>3}  {meaning}")), "{}", help.out);
        assert!(topic.contains(&format!("| {code} | {meaning} |")), "{code}: {topic}");
    }
}

#[test]
fn help_explains_commands_and_topics() {
    let help = |words: &[&str]| User::new().gistify(&[&["help"], words].concat());
    let all = help(&[]);
    assert_eq!(all.code, 0);
    for word in ["Commands:", "Topics", "Exit codes:", "  exit-codes    Exit codes"] {
        assert!(all.out.contains(word), "{word}: {}", all.out);
    }
    assert!(help(&["bench"]).out.contains("--shard <I/N>"));
    assert!(help(&["cache", "prune"]).out.contains("Usage: gistify cache prune"));
    assert!(help(&["graphs"]).out.contains("--focus"));
    // A topic with the name of a command is printed behind that command's options.
    let topics = files_below("agent/help");
    for (name, text) in &topics {
        let printed = help(&[name]).out;
        assert!(printed.ends_with(text.as_str()), "{name}: {printed}");
        assert!(all.out.contains(&format!("\n  {name} ")), "{name} is not in {}", all.out);
    }
    // Each name that a text mentions is one of a topic or a command.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| read(&root.join(name)));
    for text in pages.iter().chain(topics.iter().map(|(_, text)| text)) {
        for mention in text.split("`gistify help ").skip(1) {
            let name = mention.split(['`', ' ', '/']).next().unwrap();
            assert!(name == "TOPIC" || help(&[name]).code == 0, "gistify help {name}");
        }
    }
    let wrong = help(&["grahps"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("did you mean graphs?"), "{}", wrong.err);
    let page = User::new().gistify(&["man"]).out;
    for word in [".SH \"EXIT CODES\"", "--focus"] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn a_reader_that_goes_away_spoils_nothing() {
    let user = User::new();
    user.repository("repo", "#- a.py\ndef f(): pass\n");
    for args in [
        &["man"][..],
        &["completion", "bash"],
        &["config"],
        &["-q", "rank", "repo"],
        &["-q", "outline", "repo", "a.py"],
        &["-q", "graph", "repo", "--format", "html"],
    ] {
        let mut command = user.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn wrong_usage_is_told_apart() {
    let usage: [(&[&str], &str); 5] = [
        (&["frobnicate"], "Usage: "),
        (&[], "Usage: "),
        (&["run"], "there is no command (write it after `--`"),
        (&["run", "x"], "there is no command (write it after `--`"),
        (&["run", "x", "--"], "there is no command (write it after `--`"),
    ];
    for (args, part) in usage {
        let ran = User::new().gistify(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

#[test]
fn settings_have_origins() {
    let user = User::new();
    let file = user.home.path().join(".config/gistify/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "[session]\nsteps = 7\nseconds = 8.0\n").unwrap();
    let other = user.here().join("other.toml");
    fs::write(&other, "[session]\nseconds = 9.0\n").unwrap();
    let args = ["config", "--config", "other.toml", "--set", "bench.workers=3", "--json"];
    let ran = user.gistify(&args);
    let all: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let origin = |key: &str| all[key]["origin"].as_str().unwrap().to_owned();
    assert!(origin("session.steps").ends_with("/.config/gistify/config.toml"));
    assert_eq!(origin("session.seconds"), "other.toml");
    assert_eq!(origin("bench.workers"), "--set bench.workers=3");
    assert_eq!(origin("session.tokens"), "default");
    assert_eq!(all["session.seconds"]["value"], 9.0);
}

#[test]
fn s24_settings_of_a_target_repository_are_never_read() {
    let user = User::new();
    for name in ["gistify.toml", "config.toml", ".env", ".config/gistify/config.toml"] {
        let path = user.here().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "[session]\nsteps = 1\n").unwrap();
    }
    let ran = user.gistify(&["config", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(all["session.steps"]["origin"], "default");
}

#[test]
fn wrong_settings_name_the_key() {
    let user = User::new();
    let ran = user.gistify(&["config", "--set", "session.stesp=1"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.last_error_line(),
        "gistify: settings of --set session.stesp=1: unknown key session.stesp (did you mean \
         session.steps?)"
    );
    let logging = |filter: &str| {
        Ran::of(user.command(&["config"]).env("GISTIFY_LOG", filter).output().unwrap(), &user)
    };
    for filter in ["a=b=c", "debgu", "gistify_tools=trace,wran"] {
        let ran = logging(filter);
        assert_eq!(ran.code, 2, "{filter}: {}", ran.err);
        assert!(ran.last_error_line().starts_with("gistify: read GISTIFY_LOG: "), "{}", ran.err);
    }
    for filter in ["", "DEBUG", "gistify_tools=trace,warn", "hyper=off,gistify"] {
        assert_eq!(logging(filter).code, 0, "{filter}");
    }
    let ran = user.gistify(&["config", "--config", "none.toml"]);
    assert_eq!(
        (ran.code, ran.last_error_line()),
        (2, "gistify: read settings none.toml: No such file or directory (os error 2)")
    );
}

#[test]
fn completion_and_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = User::new().gistify(&["completion", shell]);
        assert!(ran.code == 0 && ran.out.contains("gistify"), "{shell}");
    }
    let ran = User::new().gistify(&["man"]);
    assert!(ran.code == 0 && ran.out.contains(".TH"), "{}", ran.out);
    for (words, option) in [(&["run"][..], "output"), (&["issues", "solve"], "each\\-context")] {
        let ran = User::new().gistify(&[&["man"], words].concat());
        assert!(ran.code == 0 && ran.out.contains(option), "{}", ran.out);
    }
    let ran = User::new().gistify(&["man", "issues", "none"]);
    assert!(ran.code == 2 && ran.err.contains("no subcommand \"none\""), "{}", ran.err);
}

#[test]
fn nothing_is_written_by_looking() {
    let user = User::new();
    for args in [&["--version"][..], &["config"], &["config", "--defaults"], &["man"]] {
        assert_eq!(user.gistify(args).code, 0, "{args:?}");
    }
    let left: Vec<_> =
        fs::read_dir(user.home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// Names without their endings, and texts, of the pages in a directory of the project.
fn files_below(directory: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let pages = fs::read_dir(root.join(directory)).unwrap().map(|entry| entry.unwrap().path());
    pages
        .map(|page| (page.file_stem().unwrap().to_string_lossy().into_owned(), read(&page)))
        .collect()
}
