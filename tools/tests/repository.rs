//! Repositories by name: releases of an index, real and of our own making, and git, hostile too.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use flate2::{Compression, write::GzEncoder};
use gistify_tools::{
    Artifact, Cache, CacheKind, Host, Interrupt, LocalSandbox, OpenOptions, Repository,
    RepositoryError,
};
use sha2::{Digest, Sha256};

/// The inputs for opening, in directories that are removed.
struct Setting {
    cache: Cache,
    sandbox: LocalSandbox,
    host: Host,
    interrupt: Interrupt,
    artifact: Option<Artifact>,
    refresh: bool,
    directory: tempfile::TempDir,
}

impl Setting {
    fn new() -> Setting {
        let directory = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        Setting {
            cache: Cache::open(&directory.path().join("cache"), interrupt.clone()).unwrap(),
            sandbox: sandbox(&interrupt),
            host: Host::from_variables(std::env::vars()),
            interrupt,
            artifact: None,
            refresh: false,
            directory,
        }
    }

    /// With an index of our own as the only one.
    fn with_index(server: &Server) -> Setting {
        let mut setting = Setting::new();
        setting.host.network =
            BTreeMap::from([("PIP_INDEX_URL".to_owned(), format!("{}/simple", server.address))]);
        setting
    }

    fn open(&self, spec: &str) -> Result<Repository, RepositoryError> {
        Repository::open(
            spec,
            &OpenOptions {
                cache: &self.cache,
                sandbox: &self.sandbox,
                host: &self.host,
                interrupt: &self.interrupt,
                artifact: self.artifact.as_ref(),
                python: Some((3, 11)),
                apart: &[],
                command: &[],
                refresh: self.refresh,
                progress: &|_| {},
            },
        )
    }

    fn error(&self, spec: &str) -> String {
        self.open(spec).unwrap_err().to_string()
    }

    /// No lock, scratch directory or part of an entry is left.
    fn assert_clean(&self) {
        for entry in fs::read_dir(self.cache.root()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with(".scratch"), "{name}");
        }
        assert!(self.cache.list().unwrap().iter().all(|entry| entry.complete));
    }
}

/// The isolated sandbox where it can be had.
fn sandbox(interrupt: &Interrupt) -> LocalSandbox {
    let host = Host::from_variables(std::env::vars());
    LocalSandbox::isolated(&host, interrupt.clone()).unwrap_or_else(|error| {
        println!("without isolation: {error}");
        LocalSandbox::new(interrupt.clone())
    })
}

/// A server of files over HTTP; each answer may be given a few times only.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<Answers>>,
}

/// Status, headers and body for each path; the first is used up, the last one stays.
type Answers = BTreeMap<String, Vec<(u16, String, Vec<u8>)>>;

impl Server {
    fn new() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answers: Arc<Mutex<Answers>> = Arc::default();
        let server = Server { address, requests: requests.clone(), answers: answers.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let Some(Ok(first)) = lines.next() else { continue };
                for line in lines.by_ref() {
                    if line.is_ok_and(|line| line.is_empty()) {
                        break;
                    }
                }
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                requests.lock().unwrap().push(path.clone());
                let mut answers = answers.lock().unwrap();
                let (status, headers, body) = match answers.get_mut(&path) {
                    Some(list) if list.len() > 1 => list.remove(0),
                    Some(list) => list[0].clone(),
                    None => (404, String::new(), Vec::new()),
                };
                let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}\r\n");
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(&body);
            }
        });
        server
    }

    fn answer(&self, path: &str, status: u16, headers: &str, body: &[u8]) {
        let mut answers = self.answers.lock().unwrap();
        let answer = (status, headers.to_owned(), body.to_vec());
        answers.entry(path.to_owned()).or_default().push(answer);
    }

    fn file(&self, path: &str, body: &[u8]) {
        self.answer(path, 200, &format!("Content-Length: {}\r\n", body.len()), body);
    }

    /// A project's page and its files.
    fn project(&self, name: &str, files: &[(&str, Vec<u8>)]) {
        let mut page = String::new();
        for (file, bytes) in files {
            let url = format!("/files/{file}");
            page += &format!("<a href=\"{url}#sha256={}\">{file}</a>\n", sha256(bytes));
            self.file(&url, bytes);
        }
        self.answer(
            &format!("/simple/{name}/"),
            200,
            "Content-Type: text/html\r\n",
            page.as_bytes(),
        );
    }

    fn count(&self, path: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| *request == path).count()
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sdist(top: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{top}/{path}"), text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn wheel(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, text) in files {
        writer.start_file(*path, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_real_release_is_opened() {
    let setting = Setting::new();
    let repository = match setting.open("pypi:iniconfig==2.3.1") {
        Ok(repository) => repository,
        Err(RepositoryError::Network { .. } | RepositoryError::Settings { .. }) => {
            println!("skipped: no package index is reached");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(repository.label, "pypi:iniconfig==2.3.1");
    assert!(repository.root.ends_with("iniconfig-2.3.1"));
    assert!(repository.root.join("testing/test_iniconfig.py").is_file());
    // The second time needs no network, and gives the same.
    let mut offline = Setting::new();
    offline.host.network =
        BTreeMap::from([("PIP_INDEX_URL".to_owned(), "http://127.0.0.1:1/".to_owned())]);
    offline.cache = Cache::open(setting.cache.root(), Interrupt::new()).unwrap();
    assert_eq!(offline.open("pypi:iniconfig==2.3.1").unwrap(), repository);
    setting.assert_clean();

    let error = setting.error("pypi:iniconfig==99.0");
    assert!(error.starts_with("find release iniconfig==99.0: "), "{error}");
    assert!(error.contains("(the newest is "), "{error}");
    let error = setting.error("pypi:iniconfig-no-such-project-exists==1");
    assert!(error.starts_with("find project iniconfig-no-such-project-exists: "), "{error}");
    setting.assert_clean();
}

const TEST: (&str, &str) = ("tests/test_a.py", "def test(): pass\n");
const CODE: (&str, &str) = ("a/__init__.py", "");

fn check_choice(files: &[(&str, Vec<u8>)], spec: &str, expected: &str) {
    let server = Server::new();
    server.project("a", files);
    let setting = Setting::with_index(&server);
    let repository = setting.open(spec).unwrap();
    let kept = setting.cache.list().unwrap();
    let mut kept = kept.iter().filter(|entry| repository.root.starts_with(&entry.path));
    assert_eq!(kept.next().unwrap().label, expected);
    setting.assert_clean();
}

#[test]
fn the_file_with_the_tests_is_taken() {
    let bare = || sdist("a-1.0", &[CODE]);
    let tested = || sdist("a-1.0", &[CODE, TEST]);
    let (bare_wheel, tested_wheel) = (|| wheel(&[CODE]), || wheel(&[CODE, TEST]));
    let (source, any) = ("a-1.0.tar.gz", "a-1.0-py3-none-any.whl");
    check_choice(&[(source, tested()), (any, tested_wheel())], "pypi:a==1.0", source);
    check_choice(&[(source, bare()), (any, tested_wheel())], "pypi:a==1.0", any);
    check_choice(&[(source, bare()), (any, bare_wheel())], "pypi:a==1.0", source);
    check_choice(&[(any, bare_wheel())], "pypi:a==1.0", any);
    let machine = std::env::consts::ARCH;
    let ours = format!("a-1.0-cp311-cp311-manylinux_2_17_{machine}.whl");
    let other = "a-1.0-cp311-cp311-win_amd64.whl";
    check_choice(&[(source, tested()), (&ours, tested_wheel())], "pypi:a==1.0", &ours);
    check_choice(&[(source, tested()), (&ours, bare_wheel())], "pypi:a==1.0", source);
    check_choice(&[(source, tested()), (other, tested_wheel())], "pypi:a==1.0", source);
    let newer = ("a-1.1.tar.gz", sdist("a-1.1", &[CODE, TEST]));
    let preliminary = ("a-2.0rc1.tar.gz", sdist("a-2.0rc1", &[CODE, TEST]));
    check_choice(&[(source, tested()), newer, preliminary], "pypi:A", "a-1.1.tar.gz");
}

#[test]
fn a_pinned_file_is_taken_and_checked() {
    let server = Server::new();
    let (first, second) = (sdist("a-1.0", &[CODE, TEST]), wheel(&[CODE, TEST]));
    server.project("a", &[("a-1.0.tar.gz", first), ("a-1.0-py3-none-any.whl", second.clone())]);
    let mut setting = Setting::with_index(&server);
    let file = "a-1.0-py3-none-any.whl".to_owned();
    setting.artifact =
        Some(Artifact { file: file.clone(), sha256: sha256(&second).to_uppercase() });
    assert!(setting.open("pypi:a==1.0").unwrap().root.join("tests/test_a.py").is_file());
    let wrong = "0".repeat(64);
    setting.artifact = Some(Artifact { file, sha256: wrong.clone() });
    let expected =
        format!("check a-1.0-py3-none-any.whl: its sha256 is {}, not {wrong}", sha256(&second));
    assert_eq!(setting.error("pypi:a==1.0"), expected);
    setting.artifact = Some(Artifact { file: "a-9.tar.gz".into(), sha256: wrong.clone() });
    assert_eq!(setting.error("pypi:a==1.0"), "find release a: the index has no file a-9.tar.gz");
    setting.artifact = Some(Artifact { file: "../x.tar.gz".into(), sha256: wrong });
    assert!(setting.error("pypi:a==1.0").contains("no name of a file"));
    setting.assert_clean();
}

#[test]
fn a_file_that_was_changed_is_refused() {
    let server = Server::new();
    let good = sdist("a-1.0", &[CODE, TEST]);
    let page = format!("<a href=\"/files/a-1.0.tar.gz#sha256={}\">x</a>", sha256(&good));
    server.answer("/simple/a/", 200, "Content-Type: text/html\r\n", page.as_bytes());
    server.file("/files/a-1.0.tar.gz", &sdist("a-1.0", &[CODE]));
    let setting = Setting::with_index(&server);
    assert!(matches!(setting.open("pypi:a==1.0"), Err(RepositoryError::Checksum { .. })));
    setting.assert_clean();
    assert_eq!(setting.cache.list().unwrap(), []);
}

#[test]
fn a_failing_server_is_asked_again() {
    let server = Server::new();
    let good = sdist("a-1.0", &[CODE, TEST]);
    for status in [503, 429] {
        server.answer("/simple/a/", status, "Retry-After: 0\r\n", b"");
    }
    // The first answer is cut.
    server.answer("/files/a-1.0.tar.gz", 200, "Content-Length: 100000\r\n", &good);
    server.project("a", &[("a-1.0.tar.gz", good)]);
    let setting = Setting::with_index(&server);
    setting.open("pypi:a==1.0").unwrap();
    assert_eq!((server.count("/simple/a/"), server.count("/files/a-1.0.tar.gz")), (3, 2));
    // What is known is not asked for again, unless that is wanted.
    setting.open("pypi:a==1.0").unwrap();
    assert_eq!(server.count("/simple/a/"), 3);
    let refreshed = Setting { refresh: true, ..setting };
    refreshed.open("pypi:a==1.0").unwrap();
    assert_eq!(server.count("/simple/a/"), 4);
}

#[test]
fn no_network_is_said() {
    let mut setting = Setting::new();
    let address = "http://me:secret@127.0.0.1:1/simple".to_owned();
    setting.host.network = BTreeMap::from([("PIP_INDEX_URL".to_owned(), address)]);
    let error = setting.open("pypi:a==1.0").unwrap_err();
    assert!(matches!(error, RepositoryError::Network { .. }));
    let text = error.to_string();
    assert!(text.starts_with("download http://127.0.0.1:1/simple/a/: "), "{text}");
    assert!(text.contains("is there a network?") && !text.contains("secret"), "{text}");
    let server = Server::new();
    server.answer("/simple/a/", 403, "", b"");
    let setting = Setting::with_index(&server);
    assert!(setting.error("pypi:a==1.0").contains("the server answers 403"));
    assert_eq!(server.count("/simple/a/"), 1);
    setting.interrupt.trigger();
    let error = setting.open("pypi:a==1.0").unwrap_err();
    assert!(matches!(error, RepositoryError::Interrupted), "{error}");
    setting.assert_clean();
}

#[test]
fn s23_hostile_archive() {
    let server = Server::new();
    let evil = wheel(&[CODE, ("../../evil.py", "")]);
    server.project("a", &[("a-1.0-py3-none-any.whl", evil)]);
    let setting = Setting::with_index(&server);
    let error = setting.error("pypi:a==1.0");
    assert!(error.ends_with("refused: ../../evil.py: path with `..`"), "{error}");
    setting.assert_clean();
}

/// Runs git with nothing of the user's; `None` where there is no git.
fn git(directory: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x.example",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output();
    let Ok(output) = output else {
        println!("skipped: no git on the path");
        return None;
    };
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// A repository with two commits; the first has the tag `v1`, the second is on `main`.
fn history(root: &Path) -> Option<(String, String)> {
    fs::create_dir_all(root.join("pkg")).unwrap();
    git(root, &["init", "--quiet"])?;
    fs::write(root.join("pkg/a.py"), "x = 1\n").unwrap();
    fs::write(root.join("data.txt"), "tested\n").unwrap();
    // What an archive would leave out belongs to the repository.
    fs::write(root.join(".gitattributes"), "data.txt export-ignore\n").unwrap();
    git(root, &["add", "."])?;
    git(root, &["commit", "--quiet", "-m", "one"])?;
    git(root, &["tag", "-a", "v1", "-m", "v1"])?;
    let first = git(root, &["rev-parse", "HEAD"])?;
    fs::write(root.join("pkg/a.py"), "x = 2\n").unwrap();
    git(root, &["commit", "--quiet", "-am", "two"])?;
    Some((first, git(root, &["rev-parse", "HEAD"])?))
}

fn text(repository: &Repository, path: &str) -> String {
    fs::read_to_string(repository.root.join(path)).unwrap()
}

#[test]
fn commits_of_each_file() {
    let setting = Setting::new();
    let root = setting.directory.path().join("repo");
    let Some(_) = history(&root) else { return };
    let scratch = setting.directory.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let read = |spec: &str| {
        let repository = setting.open(spec).unwrap();
        let (host, sandbox) = (&setting.host, &setting.sandbox);
        repository.history(host, sandbox, &scratch, 100).unwrap().commits
    };
    let path = root.to_str().unwrap();
    let bare = setting.directory.path().join("bare.git");
    git(setting.directory.path(), &["clone", "--quiet", "--bare", "repo", "bare.git"]).unwrap();
    // A revision has the commits up to it, though no git lies beside its files.
    for (spec, expected) in [
        (path.to_owned(), 2),
        (format!("{path}@main"), 2),
        (format!("{path}@v1"), 1),
        (format!("{}@v1", bare.display()), 1),
    ] {
        let commits = read(&spec);
        let (count, last) = commits["pkg/a.py"];
        assert!(commits.len() == 1 && count == expected && last > 0, "{spec}: {commits:?}");
    }
    assert!(read(&format!("{path}/pkg")).is_empty());
    let fresh = setting.directory.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    git(&fresh, &["init", "--quiet"]).unwrap();
    fs::write(fresh.join("a.py"), "").unwrap();
    assert!(read(fresh.to_str().unwrap()).is_empty());
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
}

#[test]
fn git_at_a_revision() {
    let setting = Setting::new();
    let base = setting.directory.path().to_path_buf();
    let root = base.join("repo");
    let Some((first, second)) = history(&root) else { return };
    let bare = base.join("bare.git");
    git(&base, &["clone", "--quiet", "--bare", "repo", "bare.git"]).unwrap();
    git(&root, &["worktree", "add", "--quiet", "--detach", "../tree", "v1"]).unwrap();
    fs::write(root.join("pkg/a.py"), "x = 'not committed'\n").unwrap();
    let check = |spec: String, expected: &str| {
        let repository = setting.open(&spec).unwrap();
        assert_eq!(text(&repository, "pkg/a.py"), expected, "{spec}");
        assert_eq!(text(&repository, "data.txt"), "tested\n");
        assert_eq!(repository.label, spec);
    };
    let root = root.display();
    check(format!("{root}"), "x = 'not committed'\n");
    assert!(!setting.open(&format!("{root}@HEAD")).unwrap().root.join(".git").exists());
    check(format!("{root}@HEAD"), "x = 2\n");
    check(format!("{root}@main"), "x = 2\n");
    check(format!("{root}@main~1"), "x = 1\n");
    check(format!("{root}@v1"), "x = 1\n");
    check(format!("{root}@{}", &first[..10]), "x = 1\n");
    check(format!("git+file://{root}@{second}"), "x = 2\n");
    check(format!("{}@v1", bare.display()), "x = 1\n");
    check(format!("git+{}", base.join("tree").display()), "x = 1\n");
    let error = setting.error(&format!("{root}@nothing"));
    assert_eq!(error, format!("open repository {root}: it has no revision nothing"));
    for revision in ["--output=x", "HEAD:pkg", "", "v1^{tree}"] {
        let error = setting.open(&format!("{root}@{revision}")).unwrap_err();
        assert!(matches!(error, RepositoryError::NoRevision { .. }), "{error}");
    }
    let plain = base.join("plain");
    fs::create_dir(&plain).unwrap();
    let error = setting.error(&format!("{}@main", plain.display()));
    assert!(error.ends_with("it is no git repository"), "{error}");
    setting.assert_clean();
    let kept = setting.cache.list().unwrap();
    assert_eq!(kept.iter().filter(|entry| entry.kind == CacheKind::Repository).count(), 4);
}

#[test]
fn git_by_address() {
    let setting = Setting::new();
    let base = setting.directory.path().to_path_buf();
    let Some((first, _)) = history(&base.join("repo")) else { return };
    git(&base, &["clone", "--quiet", "--bare", "repo", "served.git"]).unwrap();
    git(&base.join("served.git"), &["update-server-info"]).unwrap();
    // Files alone are the simplest server that git knows.
    let server = Server::new();
    let mut pending = vec![base.join("served.git")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(&base).unwrap().display().to_string();
            server.file(&format!("/{name}"), &fs::read(&path).unwrap());
        }
    }
    server.file(
        "/served.git/info/refs?service=git-upload-pack",
        &fs::read(base.join("served.git/info/refs")).unwrap(),
    );
    let address = format!("git+{}/served.git", server.address);
    let check = |revision: &str, expected: &str| {
        let repository = setting.open(&format!("{address}{revision}")).unwrap();
        assert_eq!(text(&repository, "pkg/a.py"), expected);
    };
    check("@v1", "x = 1\n");
    check("@main", "x = 2\n");
    check(&format!("@{first}"), "x = 1\n");
    let error = setting.error(&format!("{address}@nothing"));
    assert!(error.ends_with("it has no revision nothing"), "{error}");
    let error = setting.error(&format!("git+{}/nothing.git@v1", server.address));
    assert!(
        error.starts_with(&format!("open repository {}/nothing.git: ", server.address)),
        "{error}"
    );
    setting.assert_clean();
}

#[test]
fn s22_hostile_git() {
    let setting = Setting::new();
    let base = setting.directory.path().to_path_buf();
    let root = base.join("repo");
    if history(&root).is_none() {
        return;
    }
    let canary = base.join("canary");
    let evil = base.join("evil.sh");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", canary.display());
    let program = |path: &PathBuf| {
        fs::write(path, &script).unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    program(&evil);
    fs::write(root.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
    git(&root, &["add", "."]).unwrap();
    git(&root, &["commit", "--quiet", "-m", "evil"]).unwrap();
    let evil = evil.display();
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {evil}\n\thooksPath = {base}\n\
         \tsshCommand = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\tgitProxy = {evil}\n\
         \taskPass = {evil}\n\talternateRefsCommand = {evil}\n\
         [filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n\
         [diff \"evil\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n[diff]\n\texternal = {evil}\n\
         [uploadpack]\n\tpackObjectsHook = {evil}\n[credential]\n\thelper = !{evil}\n\
         [alias]\n\trev-parse = !{evil}\n\tcheckout-index = !{evil}\n\
         [include]\n\tpath = {base}/included\n[remote \"x\"]\n\tpromisor = true\n\turl = ext::{evil}\n\
         [extensions]\n\tpartialClone = x\n",
        base = base.display()
    );
    fs::write(root.join(".git/config"), config).unwrap();
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"] {
        program(&base.join(hook));
        program(&root.join(".git/hooks").join(hook));
    }
    let repository = setting.open(&format!("{}@main", root.display())).unwrap();
    assert_eq!(text(&repository, "pkg/a.py"), "x = 2\n");
    setting.open(&root.display().to_string()).unwrap();
    assert!(!canary.exists(), "a program of the repository was executed");
    // Git itself would have: the attack is real.
    let _ = Command::new("git").args(["status"]).current_dir(&root).output();
    assert!(canary.exists());
}

#[test]
fn git_bombs_are_refused() {
    let setting = Setting::new();
    let root = setting.directory.path().join("repo");
    if history(&root).is_none() {
        return;
    }
    // Ten trees, each of ten times the one before.
    let blob = git(&root, &["rev-parse", "HEAD:data.txt"]).unwrap();
    let mut entry = format!("100644 blob {blob}");
    for _ in 0..10 {
        let lines: String = (0..10).map(|number| format!("{entry}\tf{number}\n")).collect();
        let list = root.join("list");
        fs::write(&list, lines).unwrap();
        let output = Command::new("git")
            .arg("mktree")
            .current_dir(&root)
            .stdin(fs::File::open(&list).unwrap())
            .output()
            .unwrap();
        entry = format!("040000 tree {}", String::from_utf8(output.stdout).unwrap().trim());
    }
    let tree = entry.rsplit(' ').next().unwrap();
    let commit = git(&root, &["commit-tree", tree, "-m", "bomb"]).unwrap();
    let error = setting.open(&format!("{}@{commit}", root.display())).unwrap_err();
    assert!(matches!(error, RepositoryError::TooLarge { .. }), "{error}");
    setting.assert_clean();
}
