//! `gistify find`: a search by an API that does what GitHub's does, on good days and on bad ones, with clones that
//! are really opened; a replay of RepoMaster's Listing 2 with a scripted model; a local catalogue of git repositories.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use super::{Ran, User, python, read};

/// One reply of the server; `None` closes the connection without one.
type Reply = Option<(u16, &'static str, String)>;

/// A server with replies by path, one after the other and then the last for ever. Successful ones have a tag, and
/// are 304 for who has it. Below `/git` it serves files, as far as git needs.
struct Api {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

fn ok(body: &Value) -> Reply {
    Some((200, "", body.to_string()))
}

impl Api {
    fn start(replies: &[(&str, Vec<Reply>)], git: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let own = address.clone();
        let mut replies: BTreeMap<String, Vec<Reply>> =
            replies.iter().map(|(path, all)| ((*path).to_owned(), all.clone())).collect();
        let (all, git) = (Arc::clone(&seen), git.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = head_of(&stream);
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let reply = match path.strip_prefix("/git/") {
                    Some(file) => served(&git.join(file.split('?').next().unwrap())),
                    None => {
                        all.lock().unwrap().push(head.clone());
                        next_reply(&mut replies, &path)
                    }
                };
                if let Some((status, headers, body)) = reply {
                    answer(&mut stream, &head, status, headers, &body.replace("HERE", &own));
                }
            }
        });
        Self { address, seen }
    }

    /// Requests so far, but those of git.
    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// The paths of the requests so far.
    fn paths(&self) -> Vec<String> {
        let path = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.seen().iter().map(path).collect()
    }
}

fn head_of(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            return head;
        }
        head.push_str(&line);
    }
}

/// A file as a reply. Its bytes are passed on as Latin-1, which keeps them.
fn served(path: &Path) -> Reply {
    Some(match fs::read(path) {
        Ok(bytes) => (299, "", bytes.into_iter().map(char::from).collect()),
        Err(_) => (404, "", String::new()),
    })
}

fn next_reply(replies: &mut BTreeMap<String, Vec<Reply>>, path: &str) -> Reply {
    let bare = path.split('?').next().unwrap();
    let key = if replies.contains_key(path) { path } else { bare };
    match replies.get_mut(key) {
        Some(all) if all.len() > 1 => all.remove(0),
        Some(all) => all[0].clone(),
        None => Some((404, "", r#"{"message": "Not Found"}"#.to_owned())),
    }
}

fn answer(stream: &mut TcpStream, head: &str, status: u16, headers: &str, body: &str) {
    let (status, body) = match status {
        299 => (200, body.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()),
        status => (status, body.as_bytes().to_vec()),
    };
    let tag = format!("\"{}-{}\"", body.len(), body.iter().map(|b| u64::from(*b)).sum::<u64>());
    let known = head.to_lowercase().contains(&format!("if-none-match: {tag}"));
    let (status, body) = if status == 200 && known { (304, Vec::new()) } else { (status, body) };
    let tag = if status == 200 { format!("etag: {tag}\r\n") } else { String::new() };
    let host =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("host: ").map(str::to_owned));
    let headers = headers.replace("HERE", &format!("http://{}", host.unwrap_or_default()));
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n{tag}{headers}\r\n",
        body.len()
    );
    // Who asks may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// A repository of a search's answer, whose clone the server has.
fn item(name: &str, stars: u64, description: &str) -> Value {
    let short = name.split('/').next_back().unwrap();
    json!({
        "full_name": name, "stargazers_count": stars, "description": description,
        "html_url": format!("HERE/{name}"), "clone_url": format!("HERE/git/{short}.git"),
        "topics": [], "private": false,
    })
}

/// A README as the API packs it.
fn readme(text: &str) -> Reply {
    ok(&json!({ "encoding": "base64", "content": base64(text), "name": "README.md" }))
}

/// Base64 in lines of sixty characters (RFC 4648).
fn base64(text: &str) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            match at <= chunk.len() {
                true => out.push(char::from(SIGNS[(bits >> (18 - 6 * at) & 63) as usize])),
                false => out.push('='),
            }
        }
        if out.len() % 61 == 60 {
            out.push('\n');
        }
    }
    out
}

/// Git in a directory, with a user of its own.
fn git(home: &Path, directory: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    let output = Command::new("git")
        .args(settings)
        .args(arguments)
        .current_dir(directory)
        .env("HOME", home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A git repository of these files with one commit.
fn committed(user: &User, name: &str, text: &str) -> PathBuf {
    let root = user.repository(name, text);
    git(user.home.path(), &root, &["init", "-q"]);
    git(user.home.path(), &root, &["add", "-A"]);
    git(user.home.path(), &root, &["commit", "-qm", "one"]);
    root
}

/// A user with bare clones in `git`, as a server has them that knows nothing of git.
fn hosting(repositories: &[(&str, &str)]) -> (User, PathBuf) {
    let user = User::new();
    let bare = user.here().join("git");
    fs::create_dir(&bare).unwrap();
    for (name, text) in repositories {
        let root = committed(&user, name, text);
        let target = bare.join(format!("{name}.git"));
        let (from, to) = (root.to_string_lossy(), target.to_string_lossy());
        git(user.home.path(), &bare, &["clone", "-q", "--bare", &from, &to]);
        git(user.home.path(), &target, &["update-server-info"]);
    }
    (user, bare)
}

fn find(user: &User, api: &Api, more: &[&str]) -> Ran {
    let args = ["-q", "find", "Detect edges in images", "--json", "--api", &api.address];
    let mut ran = user.gistify(&[&args[..], more].concat());
    ran.out = ran.out.replace(&api.address, "API");
    ran.err = ran.err.replace(&api.address, "API");
    ran
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

fn names(report: &Value) -> Vec<&str> {
    let all = report["repositories"].as_array().unwrap();
    all.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

const EDGES: &str = "\
#- README.md
# edges

Detects the edges of images by gradients. Reaches an f1 score of 0.81.
#- edges/__init__.py
from .detect import EdgeDetector
#- edges/detect.py
class EdgeDetector:
    '''Finds edges in an image.'''

    def detect(self, image):
        return [row for row in image]


def threshold(image, limit=3):
    return image
";

/// Most of it is Python 2.
const OLD: &str = "\
#- README.md
Edge detection for images, since 2009.
#- edges.py
print 'edges'
#- images.py
print 'images'
#- setup.py
detect = 1
";

const SEARCH: &str = "/search/repositories";

/// Two pages of a search, and the READMEs of what they list.
fn good_replies() -> Vec<(&'static str, Vec<Reply>)> {
    let first = json!({
        "total_count": 4, "incomplete_results": false,
        "items": [item("ann/old", 4_000, "edge detection in images"), item("../up", 1, "edges")],
    });
    let second = json!({
        "items": [item("bob/edges", 120, "detects edges"), item("cy/gone", 3, "edges of images, detected")],
    });
    let next = "link: <HERE/search/repositories?page=2>; rel=\"next\"\r\n";
    vec![
        (SEARCH, vec![Some((200, next, first.to_string()))]),
        ("/search/repositories?page=2", vec![ok(&second)]),
        ("/repos/ann/old/readme", vec![readme("Edge detection for images, since 2009.\n")]),
        (
            "/repos/bob/edges/readme",
            vec![readme(EDGES.split("#- ").nth(1).unwrap().split_once('\n').unwrap().1)],
        ),
        ("/repos/cy/gone/readme", vec![Some((451, "", r#"{"message": "blocked"}"#.to_owned()))]),
    ]
}

#[test]
fn an_api_is_searched_and_the_best_are_opened() {
    let (user, bare) = hosting(&[("edges", EDGES), ("old", OLD)]);
    let api = Api::start(&good_replies(), &bare);
    let ran = find(&user, &api, &["-o", "found.json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report = parsed(&ran);
    assert_eq!(names(&report), ["bob/edges", "ann/old", "cy/gone"], "{report:#}");
    let [edges, old, gone] = [0, 1, 2].map(|at| &report["repositories"][at]);
    assert_eq!((&edges["rank"], &edges["stars"]), (&json!(1), &json!(120)));
    assert_eq!(edges["url"], "API/bob/edges");
    assert_eq!(
        edges["solution_approach"],
        "Detects the edges of images by gradients. Reaches an f1 score of 0.81."
    );
    assert_eq!(edges["performance"], "Reaches an f1 score of 0.81.");
    let map = &edges["validation"];
    assert_eq!(
        (&map["opened"], &map["modules"], &map["broken"]),
        (&json!(true), &json!(2), &json!(0))
    );
    assert_eq!((&map["classes"], &map["functions"]), (&json!(1), &json!(2)));
    assert_eq!(map["words_found"], json!(["detect", "images", "edges"]));
    assert_eq!(map["top_classes"], json!(["edges.detect.EdgeDetector"]));
    // More stars do not help who does not parse.
    assert_eq!(old["can_solve_task"], false);
    assert_eq!(old["validation"]["problem"], "2 of its 3 modules do not parse");
    assert!(old["reason"].as_str().unwrap().starts_with("Validation failed: 2 of its 3 modules"));
    assert_eq!(gone["reason"], "Unable to retrieve information.");
    assert!(gone["solution_approach"].as_str().unwrap().contains("451"), "{gone}");
    assert_eq!(gone["validation"], Value::Null);
    let start = "The repository 'bob/edges' is recommended.";
    assert!(report["recommendation"].as_str().unwrap().starts_with(start), "{report}");
    let phases = report["log"].as_array().unwrap();
    let titles: Vec<&str> = phases.iter().map(|one| one["phase"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        ["task-definition", "intent-analysis", "searching", "browsing", "analysing"]
    );
    assert!(phases[2]["lines"].to_string().contains("left out"), "{}", phases[2]);
    let written: Value = serde_json::from_str(&read(&user.here().join("found.json"))).unwrap();
    assert_eq!(written.to_string().replace(&api.address, "API"), report.to_string());

    let first = &api.seen()[0].to_lowercase();
    assert!(
        first.starts_with("get /search/repositories?q=detect+images+edges&per_page=30 "),
        "{first}"
    );
    assert!(first.contains("accept: application/vnd.github+json"), "{first}");
    assert!(!first.contains("authorization") && !first.contains("if-none-match"), "{first}");

    // The second time the server is asked whether its answers still hold.
    let before = api.seen().len();
    let again = find(&user, &api, &[]);
    assert_eq!(parsed(&again)["repositories"], report["repositories"]);
    let later = api.seen().split_off(before);
    let tagged = later.iter().filter(|head| head.to_lowercase().contains("if-none-match")).count();
    // The README that is refused has none.
    assert_eq!((later.len(), tagged), (before, before - 1));
    let out = find(&user, &api, &["-o", "found.json"]);
    assert_eq!(
        (out.code, out.last_error_line()),
        (3, "gistify: output found.json exists (replace it with --force)")
    );
}

#[test]
fn rate_limits_are_waited_for_or_named() {
    let user = User::new();
    let nothing = json!({ "total_count": 0, "items": [] });
    let limited =
        |headers| Some((403, headers, r#"{"message": "API rate limit exceeded"}"#.to_owned()));
    let replies = vec![
        limited("retry-after: 0\r\n"),
        Some((429, "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1\r\n", String::new())),
        ok(&nothing),
    ];
    let api = Api::start(&[(SEARCH, replies)], &user.here());
    let ran = find(&user, &api, &["--query", "edges", "--validate", "0"]);
    // Nothing was found, which is no failure of anybody.
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let report = parsed(&ran);
    assert_eq!(report["recommendation"], "The source has no repository for this task.");
    let searching = report["log"][2]["lines"].as_array().unwrap();
    let waits =
        searching.iter().filter(|line| line.as_str().unwrap().starts_with("waiting")).count();
    assert_eq!(waits, 2, "{searching:?}");
    let paths = api.paths();
    assert_eq!(paths[..3], vec![paths[0].clone(); 3][..]);
    assert!(paths[0].starts_with("/search/repositories?q=edges&"), "{paths:?}");
    assert!(paths[3].starts_with("/search/repositories?q=detect+images+edges&"), "{paths:?}");

    let check = |reply: Reply, expected: &str| {
        let api = Api::start(&[(SEARCH, vec![reply])], &user.here());
        let ran = find(&user, &api, &["--query", "edges", "--validate", "0", "--wait", "5"]);
        assert_eq!((ran.code, ran.last_error_line()), (4, expected), "{}", ran.err);
        assert_eq!(ran.out, "");
    };
    let at = "gistify: ask API/search/repositories?q=edges&per_page=30:";
    let wait = "(wait, give a token, or allow more with --wait)";
    let secondary = r#"{"message": "You have exceeded a secondary rate limit."}"#;
    check(
        Some((403, "", secondary.to_owned())),
        &format!("{at} its rate limit ends in 60 s {wait}"),
    );
    check(limited("retry-after: 3600\r\n"), &format!("{at} its rate limit ends in 3600 s {wait}"));
    let far = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 784111877\r\n";
    check(limited(far), &format!("{at} its rate limit ends in 100 s {wait}"));
    check(Some((404, "", String::new())), &format!("{at} it has no search"));
    let malformed = "no answer to a search: missing field `items` at line 1 column 2";
    check(Some((200, "", "{}".to_owned())), &format!("{at} {malformed}"));
}

#[test]
fn refusals_name_the_address_and_the_cause() {
    let user = User::new();
    let bad = Some((401, "", r#"{"message": "Bad credentials"}"#.to_owned()));
    let api = Api::start(&[(SEARCH, vec![bad])], &user.here());
    let ran = find(&user, &api, &["--validate", "0"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    let expected = "401 Unauthorized: Bad credentials";
    assert!(
        ran.last_error_line().starts_with("gistify: ask API/search/repositories?q="),
        "{}",
        ran.err
    );
    assert!(ran.last_error_line().ends_with(expected), "{}", ran.err);
    // Each query was refused, narrow and wide.
    assert_eq!(api.seen().len(), 3);

    // Nobody listens there.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let ran = user.gistify(&["-q", "find", "edges", "--api", &url, "--validate", "0"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    let line = ran.last_error_line();
    let expected = format!("gistify: download {url}/search/repositories: Connection refused");
    assert!(line.starts_with(&expected), "{line}");
}

#[test]
fn tokens_go_where_the_user_sends_them() {
    let user = User::new();
    let nothing = ok(&json!({ "items": [] }));
    let api = Api::start(&[(SEARCH, vec![nothing])], &user.here());
    let run = |more: &[&str]| {
        let args = ["-q", "find", "edges", "--validate", "0"];
        let mut command = user.command(&[&args[..], more].concat());
        let variables = [("GITHUB_TOKEN", "ghp_own"), ("OTHER", "other"), ("WRONG", "a b")];
        Ran::of(command.envs(variables).output().unwrap(), &user)
    };
    assert_eq!(run(&["--api", &api.address]).code, 1);
    let sent = |head: &String| head.to_lowercase().contains("authorization: bearer other");
    assert!(!api.seen().iter().any(|head| head.contains("ghp_own")));
    let ran = run(&["--api", &api.address, "--token-variable", "OTHER"]);
    assert_eq!(ran.code, 1);
    assert!(api.seen().last().is_some_and(sent), "{:?}", api.seen());
    assert!(!(ran.out + &ran.err).contains("other"));
    for (more, expected) in [
        (&["--token-variable", "NONE"][..], "--token-variable NONE: it is not set"),
        (&["--token-variable", "WRONG"], "the token has characters that no token has"),
    ] {
        let ran = run(&[&["--api", &api.address], more].concat());
        assert_eq!((ran.code, ran.last_error_line()), (2, &*format!("gistify: {expected}")));
    }
    let ran = run(&["--api", "http://x.invalid", "--token-variable", "OTHER"]);
    let expected = "gistify: --token-variable: a token is not sent over plain http";
    assert_eq!((ran.code, ran.last_error_line()), (2, expected));
}

#[test]
fn nothing_is_asked_without_a_source() {
    let user = User::new();
    let ran = user.gistify(&["find", "restore a photo"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--api [<URL>]|--source <FILE>"), "{}", ran.err);
    let ran = user.gistify(&["find", "edges", "--api", "restore a photo"]);
    let expected = "gistify: --api restore a photo: no http address (as in https://api.github.com)";
    assert_eq!((ran.code, ran.last_error_line()), (2, expected));
    fs::write(user.here().join("list.jsonl"), "").unwrap();
    let ran = user.gistify(&["-q", "find", "find a repository", "--source", "list.jsonl"]);
    let expected = "gistify: the task has no word to search by (add a query with --query)";
    assert_eq!((ran.code, ran.last_error_line()), (2, expected));
    let ran = user.gistify(&["-q", "find", "edges", "--source", "none.jsonl"]);
    let expected = "gistify: read catalogue none.jsonl: No such file or directory (os error 2)";
    assert_eq!((ran.code, ran.last_error_line()), (3, expected));
}

#[test]
fn a_catalogue_of_git_repositories_is_searched_without_a_network() {
    let user = User::new();
    let root = committed(&user, "edges", EDGES);
    // What is not committed is not what was searched for.
    fs::write(root.join("edges/more.py"), "x = 1\n").unwrap();
    committed(&user, "old@2009", OLD);
    user.repository("none", "#- README.md\nDetects edges in images.\n");
    user.repository("plain", "#- images.py\ndef detect(image):\n    pass\n");
    let lines = [
        json!({ "name": "edges", "path": "edges", "stars": 3 }),
        json!({ "name": "old", "path": "old@2009", "stars": 900 }),
        json!({ "name": "none", "path": "none", "stars": 7 }),
        json!({ "name": "plain", "path": "plain", "description": "edges of images, detected" }),
        json!({ "name": "lost", "path": "lost", "description": "detects edges in images" }),
        json!({ "name": "words", "path": "plain", "description": "counts words" }),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(user.here().join("list.jsonl"), lines.join("\n")).unwrap();
    let args = ["find", "Detect edges in images", "--source", "list.jsonl"];
    let ran = user.gistify(&[&args[..], &["--json", "-q"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report = parsed(&ran);
    let solving: Vec<(&str, bool)> = report["repositories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["can_solve_task"].as_bool().unwrap()))
        .collect();
    let names: Vec<&str> = solving.iter().map(|one| one.0).collect();
    assert_eq!(solving.iter().filter(|one| one.1).count(), 2, "{report:#}");
    assert!(names[..2].contains(&"edges") && names[..2].contains(&"plain"), "{names:?}");
    let of = |name: &str| {
        let all = report["repositories"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()
    };
    assert_eq!(of("edges")["validation"]["modules"], 2);
    assert_eq!(of("old")["validation"]["problem"], "2 of its 3 modules do not parse");
    let problem = |name: &str| of(name)["validation"]["problem"].as_str().unwrap().to_owned();
    assert_eq!(problem("none"), "read repository none: it has no python file");
    let lost = problem("lost");
    assert!(lost.starts_with("open repository lost: no such file or directory"), "{lost}");
    assert_eq!(of("plain")["stars"], "N/A");

    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("rank  solves     stars  modules  classes  repository\n   1  yes "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("2 modules (all parse), 1 classes, 2 functions"), "{}", ran.out);
    assert!(ran.out.ends_with(
        "Ranked by the task's words in name, description and README, with a small bonus for stars; no model judged.\n"
    ));
    for title in ["Task Definition", "Intent Analysis", "Searching", "Browsing", "Analysing"] {
        assert!(ran.err.contains(&format!("/* {title} Phase */\n")), "{}", ran.err);
    }
    assert!(ran.err.contains("browsing: README of edges (3 stars): "), "{}", ran.err);
    let none = user.gistify(&["-q", "find", "sing songs", "--source", "list.jsonl"]);
    assert_eq!(
        (none.code, none.out.lines().next()),
        (1, Some("The source has no repository for this task."))
    );
}

/// Answers each phase by its first words, and keeps what it was asked.
const MODEL: &str = "\
import json, sys
request = json.load(sys.stdin)
text = request['messages'][1]['content']
with open('asked.txt', 'a') as file:
    file.write(text + '\\n')
phase = text.split('.')[0]
script = json.load(open('script.json'))
answers = script[phase]
step = sum(message['role'] == 'assistant' for message in request['messages'])
answer = answers[min(step, len(answers) - 1)]
print(json.dumps({'content': answer, 'usage': {'input': 100, 'output': 10}}))
";

/// The five repositories of Listing 2 in our own words: name, README, and the judgement of the listing.
fn listing() -> Value {
    let unspecified = "Not specified.";
    json!([
        {
            "name": "filipmu/Kaggle-APTOS-2019-Blindness",
            "readme": "# APTOS 2019\n\nAn ensemble of ResNet34 and EfficientNetB6, trained on the images and on \
                       prepared copies of them. On the test set the kappa is 0.904.\n",
            "can_solve_task": true,
            "solution_approach": "Ensemble of deep learning classifiers (ResNet34)",
            "performance": "Kappa metric of 0.904 on a test set.",
            "reason": "Provides a detailed solution approach with specific performance metrics.",
        },
        {
            "name": "nitesh585/APTOS-2019-Blindness-Detection",
            "readme": "Models that tell diseases of the eye from pictures of the retina.\n",
            "can_solve_task": true,
            "solution_approach": "Machine learning models for disease detection using retinal images.",
            "performance": unspecified,
            "reason": "Focuses on the competition task with a machine learning approach, but lacks detailed performance metrics.",
        },
        {
            "name": "PrasunDatta/APTOS-2019-Blindness-Detection",
            "readme": "Screens pictures of the retina for diabetic retinopathy, automatically.\n",
            "can_solve_task": true,
            "solution_approach": "Detect diabetic retinopathy using retina images with deep learning.",
            "performance": unspecified,
            "reason": "Provides a comprehensive approach but lacks detailed performance metrics.",
        },
        {
            "name": "gdineshk6174/APTOS-2019-Blindness-Detection",
            "readme": "A model that finds diabetic retinopathy without a doctor.\n",
            "can_solve_task": true,
            "solution_approach": "Machine learning model to identify diabetic retinopathy from retinal images.",
            "performance": unspecified,
            "reason": "Focuses on automatic identification but lacks detailed performance metrics.",
        },
        {
            "name": "tahsin314/40th_place_solution_aptos2019-blindness-detection",
            "readme": null,
            "can_solve_task": false,
            "solution_approach": "Information unavailable due to connection error.",
            "performance": "Information unavailable.",
            "reason": "Unable to retrieve information.",
        },
    ])
}

const RECOMMENDED: &str = "The repository 'filipmu/Kaggle-APTOS-2019-Blindness' is recommended as it provides a \
                           detailed solution approach with specific performance metrics.";
const TASK: &str = "Search for GitHub repositories related to \"aptos2019-blindness-detection\".";

/// A user with a scripted model, and the server of the listing.
fn listing_of(user: &User) -> Api {
    let all = listing();
    let all = all.as_array().unwrap();
    // The order of the listing's browsing phase.
    let order = [1, 2, 3, 0, 4];
    let items: Vec<Value> = order
        .iter()
        .map(|at| {
            let name = all[*at]["name"].as_str().unwrap();
            json!({ "full_name": name, "html_url": format!("HERE/{name}") })
        })
        .collect();
    let readmes = all.iter().map(|one| {
        let path = format!("/repos/{}/readme", one["name"].as_str().unwrap());
        (path, vec![one["readme"].as_str().and_then(readme)])
    });
    let mut replies: Vec<(String, Vec<Reply>)> = readmes.collect();
    replies.push((SEARCH.to_owned(), vec![ok(&json!({ "items": items }))]));
    let replies: Vec<(&str, Vec<Reply>)> =
        replies.iter().map(|(path, all)| (path.as_str(), all.clone())).collect();
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    Api::start(&replies, &user.here())
}

fn script(judged: &Value) -> Value {
    let briefs: Vec<Value> = judged
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!({ "name": one["name"], "brief": one["solution_approach"] }))
        .collect();
    let text = |value: Value| json!([value.to_string()]);
    json!({
        "Task definition": text(json!({
            "task": "Find repositories that solve the competition aptos2019-blindness-detection.",
            "criteria": ["it solves the competition's task", "it publishes its result"],
        })),
        "Intent analysis": text(json!({
            "entities": ["aptos2019-blindness-detection"],
            "keywords": ["retina", "blindness"],
            "queries": ["aptos2019-blindness-detection"],
        })),
        "Browsing": text(json!({ "briefs": briefs })),
        // Prose around the object, and fields that are nobody's, are no fault.
        "Analysing": [format!(
            "There is enough information:\n```json\n{}\n```\n",
            json!({ "repositories": judged, "recommendation": RECOMMENDED })
        )],
    })
}

#[test]
fn the_published_search_is_replayed_with_a_scripted_model() {
    let Some(python) = python() else { return };
    let user = User::new();
    let api = listing_of(&user);
    fs::write(user.here().join("script.json"), script(&listing()).to_string()).unwrap();
    let model = format!("command/{python} model.py");
    let args =
        ["-q", "find", TASK, "--api", &api.address, "-m", &model, "--validate", "0", "--json"];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report = parsed(&ran);
    let expected: Vec<Value> = (1..)
        .zip(listing().as_array().unwrap())
        .map(|(rank, one)| {
            json!({
                "rank": rank, "name": one["name"],
                "url": format!("{}/{}", api.address, one["name"].as_str().unwrap()),
                "stars": "N/A", "can_solve_task": one["can_solve_task"],
                "solution_approach": one["solution_approach"],
                "performance": one["performance"], "reason": one["reason"],
            })
        })
        .collect();
    let fields = expected[0].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let published: Vec<Value> = report["repositories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| fields.iter().map(|field| (field.clone(), one[field].clone())).collect())
        .collect();
    assert_eq!(published, expected);
    assert_eq!(report["recommendation"], RECOMMENDED);
    assert_eq!(report["effort"]["requests"], 4);
    assert_eq!(report["effort"]["usage"]["input"], 400);
    assert_eq!(report["analyst"], model);
    assert_eq!(report["intent"]["queries"], json!(["aptos2019-blindness-detection"]));
    let browsed = report["log"][3]["lines"].as_array().unwrap();
    assert_eq!(browsed.len(), 5, "{browsed:?}");
    assert!(browsed[4].as_str().unwrap().contains("tahsin314"), "{browsed:?}");
    assert!(browsed[4].as_str().unwrap().contains("not given: download "), "{browsed:?}");
    let asked = read(&user.here().join("asked.txt"));
    assert!(asked.contains("On the test set the kappa is 0.904."), "{asked}");
    assert!(asked.contains("(not available: download "), "{asked}");
}

#[test]
fn a_model_that_errs_is_asked_again_and_invents_nothing() {
    let Some(python) = python() else { return };
    let user = User::new();
    let api = listing_of(&user);
    let invented = json!([
        { "name": "x/invented", "can_solve_task": true, "solution_approach": "a", "performance": "b", "reason": "c" },
        {
            "name": "prasundatta/aptos-2019-blindness-detection", "can_solve_task": true,
            "solution_approach": "a", "performance": "b", "reason": "c",
        },
    ]);
    let mut answers = script(&invented);
    let chosen = [
        "gdineshk6174/APTOS-2019-Blindness-Detection",
        "x/none",
        "prasundatta/APTOS-2019-blindness-detection",
    ];
    answers["Searching"] = json!([json!({ "browse": chosen }).to_string()]);
    answers["Intent analysis"] = json!(["retina", "{\"queries\": 1}"]);
    answers["Task definition"] = json!(["I think", "{\"task\": \"t\", \"criteria\": []}"]);
    fs::write(user.here().join("script.json"), answers.to_string()).unwrap();
    let model = format!("command/{python} model.py");
    let args = ["-q", "find", TASK, "--api", &api.address, "-m", &model, "--json", "--browse", "3"];
    let ran = user.gistify(&[&args[..], &["--validate", "1"]].concat());
    let report = parsed(&ran);
    let first = &report["repositories"][0];
    assert_eq!(first["name"], "PrasunDatta/APTOS-2019-Blindness-Detection");
    // Its page is no repository of git: what cannot be opened solves nothing, whatever a model says.
    assert_eq!((ran.code, &first["can_solve_task"]), (1, &json!(false)), "{report:#}");
    assert_eq!(report["recommendation"], "None of the repositories is recommended.");
    // It chose two of five for a look, and one that is not there.
    assert_eq!(names(&report).len(), 2, "{report:#}");
    assert!(report["log"][2]["lines"].to_string().contains("x/none"), "{report:#}");
    assert_eq!(report["repositories"][1]["reason"], "The model did not judge it.");
    assert_eq!(report["effort"]["by_rule"], json!(["find/intent.md"]));
    assert_eq!(report["criteria"], json!([]));
    let analysing = report["log"][4]["lines"].to_string();
    assert!(analysing.contains("x/invented") && analysing.contains("was not among"), "{analysing}");
}
