//! The pages of a bench, as a browser shows them: every one opened, sorted, searched and keyed through,
//! with hostile text in every foreign field.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;

use super::{
    GIST_OF_SMALL, SMALL, User,
    benching::{MODEL, finished},
    browser::Browser,
    python, read,
};

/// A text that executes code wherever it is taken for markup or code.
const EVIL: &str = "</script><img src=x onerror=\"window.hacked=1\"><svg onload=alert(1)>'\"`${1}";

/// A bench of two solvers, one of whose gists is wrong.
fn benched(user: &User, python: &str) -> PathBuf {
    let source = user.repository("small", SMALL);
    fs::write(user.here().join("model.py"), MODEL).unwrap();
    fs::write(user.here().join("bad.py"), GIST_OF_SMALL.replace("value * FACTOR", "value"))
        .unwrap();
    let suite = format!(
        "source = '{}'\npython = '{python}'\n[[task]]\nid = 'small::double'\ntest = 't'\ncommand = \
         'pytest tests/test_numbers.py::test_double'\n",
        source.display()
    );
    fs::write(user.here().join("s.toml"), suite).unwrap();
    let bad = format!("command/{python} model.py bad.py");
    let ran = user.gistify(&[
        "bench",
        "s.toml",
        "-m",
        "offline",
        "-m",
        &bad,
        "--with",
        "edit",
        "--run-dir",
        "run",
    ]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    user.here().join("run")
}

/// Replaces every text of a JSON value that is one of the foreign ones.
fn poison(value: &mut Value) {
    const FOREIGN: [&str; 14] = [
        "task", "solver", "suite", "evidence", "case", "expected", "found", "text", "block",
        "content", "tool", "path", "outcome", "command",
    ];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if FOREIGN.contains(&name.as_str()) => text.push_str(EVIL),
                    other => poison(other),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(poison),
        _ => {}
    }
}

/// A copy of an attempt's directory, and of what is beside it, with other contents.
fn copy(from: &Path, to: &Path, change: impl Fn(&str, String) -> String) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        fs::write(to.join(&name), change(&name, read(&entry.path()))).unwrap();
    }
    let beside = from.with_file_name("touched.json");
    fs::write(to.with_file_name("touched.json"), change("touched.json", read(&beside))).unwrap();
}

fn poisoned(name: &str, text: String) -> String {
    let line = |text: &str| {
        let mut value: Value = serde_json::from_str(text).unwrap();
        poison(&mut value);
        value.to_string()
    };
    match name {
        "concise.py" => format!("x = '{}'  # {EVIL}\n{text}", EVIL.replace('\'', "")),
        "trajectory.jsonl" => text.lines().map(|one| line(one) + "\n").collect(),
        name if name.ends_with(".json") => line(&text),
        _ => text,
    }
}

/// Writes the hash of the attempt's changed gist into its record.
fn vouch(attempt: &Path) {
    let gist = fs::read(attempt.join("concise.py")).unwrap();
    let mut result: Value = serde_json::from_str(&read(&attempt.join("result.json"))).unwrap();
    result["attempt"]["gist"] = blake3::hash(&gist).to_hex().as_str().into();
    fs::write(attempt.join("result.json"), result.to_string()).unwrap();
}

#[test]
fn l04_pages_show_everything_and_run_nothing_foreign() {
    let Some(python) = python() else { return };
    let Some(browser) = Browser::start(1400, 900, false) else { return };
    let user = User::new();
    let run = benched(&user, &python);
    for result in finished(&run) {
        let attempt = result.parent().unwrap();
        let evil = run.join("tasks/s/evil-00000000").join(attempt.file_name().unwrap());
        copy(attempt, &evil, poisoned);
        vouch(&evil);
    }
    let ran = user.gistify(&["report", "run", "-o", "pages"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = format!("file://{}", user.here().join("pages/index.html").display());
    browser.open(&page);
    let clean = |browser: &Browser| {
        let state = "return [window.hacked ?? null, document.images.length, \
                     document.querySelectorAll('main script, [onerror], [onload]').length]";
        assert_eq!(browser.run(state), serde_json::json!([null, 0, 0]));
        assert_eq!(browser.complaints(), Vec::<String>::new());
    };
    let rows = "return document.querySelectorAll('main tbody tr').length";
    // A page is drawn some time after its address has changed.
    let has = |part: &str| {
        let part = Value::from(part);
        browser.wait(&format!("return document.getElementById('main').innerText.includes({part})"));
    };

    // Overview: suites, solvers, intervals, and what is not faithful.
    browser.wait("return document.querySelector('main table') !== null");
    for part in ["4 attempts at 2 tasks", "offline", "Wilson", "run-time error", EVIL] {
        has(part);
    }
    // The charts come with their library, and obey the page's policy.
    browser.wait("return document.querySelectorAll('.chart .plot').length > 4");
    browser.picture("overview");
    clean(&browser);
    // A head sorts, and sorts the other way.
    let sorted = |at: usize| {
        let script = format!(
            "const head = document.querySelectorAll('main th[role=button]')[{at}]; head.click(); \
             return [head.getAttribute('aria-sort'), [...head.closest('table').querySelectorAll('tbody \
             tr')].map(row => row.children[{at}].textContent)]"
        );
        browser.run(&script)
    };
    let (down, up) = (sorted(4), sorted(4));
    assert_eq!((&down[0], &up[0]), (&"descending".into(), &"ascending".into()));
    let reversed: Vec<Value> = up[1].as_array().unwrap().iter().rev().cloned().collect();
    assert_eq!(down[1].as_array().unwrap(), &reversed);
    clean(&browser);

    // The search leads to the matrix, by key as by mouse.
    browser.press("/run-time");
    browser.wait("return location.hash.startsWith('#/tasks?run-time')");
    browser.wait("return document.querySelectorAll('main tbody .chip.bad').length > 0");
    browser.wait(&format!("{rows} === 2"));
    browser.press("zzz");
    browser.wait("return document.querySelectorAll('main tbody tr').length === 0");
    browser.run("location.hash = '#/tables'");
    browser.wait("return document.querySelectorAll('main h2').length >= 5");
    has("Effort and cost");
    clean(&browser);

    // A task: each tab, by its key.
    browser.run("location.hash = '#/tasks'");
    let matrix = "return document.querySelector('main tbody .chip.bad') !== null && \
                  document.querySelector('.tabs, h2') === null";
    browser.wait(matrix);
    for (kind, finding) in [("bad", true), ("good", false)] {
        browser.run("location.hash = '#/tasks'");
        browser.wait(matrix);
        for (evil, row) in
            [(false, "!row.textContent.includes('img')"), (true, "row.textContent.includes('img')")]
        {
            browser.run("location.hash = '#/tasks'");
            browser.wait(matrix);
            let open = format!(
                "const row = [...document.querySelectorAll('main tbody tr')].find(row => {row}); \
                 row.querySelector('.chip.{kind}').click()"
            );
            browser.run(&open);
            browser.wait("return document.querySelector('.tabs') !== null");
            let name = format!("{kind}{}", if evil { "-evil" } else { "" });
            for (key, tab, part) in [
                ("1", "steps", "tokens in"),
                ("2", "verdict", "existence"),
                ("3", "gist", "def test_double"),
                ("4", "modules", "calc/numbers.py"),
            ] {
                browser.press(key);
                browser.wait(&format!("return location.hash.endsWith('/{tab}')"));
                browser.wait(&format!(
                    "return [...document.querySelectorAll('.tabs a[aria-current]')].some(a => \
                     a.hash.endsWith('/{tab}'))"
                ));
                has(part);
                browser.picture(&format!("{name}-{tab}"));
                clean(&browser);
                if finding && tab == "verdict" {
                    has("call failed");
                    browser.press("n");
                    let state = browser.run("return document.getElementById('state').textContent");
                    assert!(state.as_str().unwrap().starts_with("finding 1 of "), "{state}");
                    assert_eq!(browser.run("return document.querySelectorAll('.here').length"), 1);
                    browser.press("pp");
                }
                if tab == "gist" {
                    let apart = "const row = document.querySelector('.code .line'), text = row.querySelector('.text'); \
                                 text.textContent += ' '.repeat(300) + '#'; const said = document.createRange(); \
                                 said.selectNodeContents(text); return said.getBoundingClientRect().left >= \
                                 row.querySelector('.origin').getBoundingClientRect().right";
                    assert_eq!(browser.run(apart), true, "a long line covers where it is from");
                }
                if tab == "gist" && kind == "good" && !evil {
                    // The line beside its source.
                    browser.run("[...document.querySelectorAll('.code .line')].find(line => line.textContent.includes('value * FACTOR')).click()");
                    browser.wait("return document.querySelectorAll('.source .line').length > 0");
                    let beside = browser.run(
                        "const pane = document.querySelector('.source'); return \
                         [pane.previousElementSibling.textContent, pane.innerText]",
                    );
                    assert!(
                        beside[0].as_str().unwrap().starts_with("calc/numbers.py:"),
                        "{beside}"
                    );
                    // All of it, what the gist leaves out too.
                    assert!(beside[1].as_str().unwrap().contains("def halve"), "{beside}");
                    let back = "document.querySelector('.source .used').click(); return \
                                document.querySelectorAll('.code > div:first-child .here').length";
                    assert_eq!(browser.run(back), 1);
                    assert_eq!(
                        browser.run("return document.querySelectorAll('.source .here').length"),
                        1
                    );
                }
                if tab == "gist" && kind == "bad" && !evil {
                    // Whoever wrote it said nothing of where its lines come from.
                    has("matched by their text");
                    browser.wait("return document.querySelectorAll('.source .used').length > 3");
                }
                if tab == "gist" {
                    browser.wait("return document.querySelector('.code .py-keyword') !== null");
                    // The address of a line opens at it.
                    let line = "const row = document.querySelectorAll('.code .line')[1]; row.click(); \
                                return location.hash.endsWith('/gist/2')";
                    assert_eq!(browser.run(line), true);
                }
                if tab == "modules" {
                    browser.wait("return document.querySelectorAll('.flame .kept').length > 1");
                    // Functions have a part of their file. Hostile records have other names.
                    let called = "return [...document.querySelectorAll('.flame g')].some(cell => \
                                  /numbers\\.py\\/\\w+: [1-9]/.test(cell.lastChild.textContent))";
                    assert!(evil || browser.run(called) == true);
                    assert!(
                        browser
                            .run("return document.querySelectorAll('svg circle').length")
                            .as_u64()
                            >= Some(2)
                    );
                    assert!(
                        browser.run("return document.querySelectorAll('svg line').length").as_u64()
                            >= Some(1)
                    );
                }
            }
            // Two runs aligned.
            browser.run("document.querySelector('.tabs a:last-child').click()");
            browser.wait("return location.hash.endsWith('/align')");
            browser.wait("return document.querySelectorAll('.pair').length > 1");
            browser.picture(&format!("{name}-align"));
            clean(&browser);
        }
    }
    // The next task and back.
    let hash = browser.run("return location.hash");
    browser.press("[");
    browser.press("]");
    browser.press("]");
    browser.wait("return document.querySelector('.tabs') !== null");
    clean(&browser);
    assert!(hash.as_str().unwrap().contains("/align"));

    // Dark, and narrow.
    for (name, width, dark) in [("narrow", 480, false), ("dark", 1400, true)] {
        let Some(browser) = Browser::start(width, 900, dark) else { return };
        browser.open(&page);
        browser.wait("return document.querySelector('main table') !== null");
        browser.picture(&format!("overview-{name}"));
        let wide = "return document.documentElement.scrollWidth <= innerWidth + 1";
        assert_eq!(browser.run(wide), true, "{name} scrolls sideways");
        browser.run("document.querySelector('.chip.bad') && (location.hash = '#/tasks')");
        browser.wait("return location.hash === '#/tasks' && document.querySelector('main .chip.good') !== null");
        browser.run("document.querySelector('main .chip.good').click()");
        browser.wait("return document.querySelector('.tabs') !== null");
        browser.press("3");
        browser.wait("return document.querySelector('.code') !== null");
        browser.picture(&format!("gist-{name}"));
        assert_eq!(browser.run(wide), true, "the gist, {name}, scrolls sideways");
        let color = browser.run("return getComputedStyle(document.body).backgroundColor");
        assert_eq!(color == "rgb(20, 24, 29)", dark, "{color}");
    }
}

#[test]
fn a_thousand_tasks_open_at_once() {
    let Some(python) = python() else { return };
    let Some(browser) = Browser::start(1400, 900, false) else { return };
    let user = User::new();
    let run = benched(&user, &python);
    let results = finished(&run);
    for at in 0..999 {
        for result in &results {
            let attempt = result.parent().unwrap();
            let name = attempt.file_name().unwrap();
            let other = run.join(format!("tasks/s/task-{at:08}")).join(name);
            copy(attempt, &other, |name, text| match name {
                "result.json" => text.replace("small::double", &format!("small::task {at}")),
                _ => text,
            });
        }
    }
    let began = std::time::Instant::now();
    let ran = user.gistify(&["report", "run"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let wrote = began.elapsed();
    browser.open(&format!("file://{}", run.join("report/index.html").display()));
    let shown = "const main = document.getElementById('main'); return main.querySelector('table') && \
                 performance.getEntriesByType('navigation')[0].loadEventEnd";
    let opened = browser.wait(shown);
    let matrix = browser.run(
        "const began = performance.now(); location.hash = '#/tasks'; \
         dispatchEvent(new HashChangeEvent('hashchange')); document.body.offsetHeight; \
         return [performance.now() - began, document.querySelectorAll('main tbody tr').length]",
    );
    // Of all rows only those near the window are there, wherever it stands.
    let rows = matrix[1].as_u64().unwrap();
    assert!((20..200).contains(&rows), "{rows} rows");
    assert_eq!(browser.run("return document.querySelector('main table').ariaRowCount"), "1001");
    let texts = |browser: &Browser| {
        let script = "return [...document.querySelectorAll('main tbody tr:not(.gap)')].map(row => \
                      row.children[1].textContent)";
        let texts = browser.run(script).as_array().unwrap().clone();
        texts.into_iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (first, all) = (texts(&browser), "document.querySelector('main .tall').scrollHeight");
    assert_eq!(first[0], "small::double");
    for (place, name) in [("half", format!("{all} / 2")), ("end", all.to_owned())] {
        browser.run(&format!("document.querySelector('main .tall').scrollTo(0, {name})"));
        // Rows are drawn once the browser has told of the scroll: until then the window shows the gap.
        browser.wait(
            "const at = document.querySelector('main .tall').getBoundingClientRect(); const row = \
             document.elementFromPoint(at.left + 40, at.bottom - 30)?.closest('tbody tr'); return row && \
             row.className !== 'gap' && document.querySelector('main tbody tr').className === 'gap'",
        );
        let shown = texts(&browser);
        assert!(shown.len() < 200 && !shown.contains(&first[0]), "{place}: {shown:?}");
        // Its head stays, with the page's own.
        let head = "const at = name => document.querySelector(name).getBoundingClientRect(); return \
                    at('main thead th').top >= at('header').bottom && at('main .tall').bottom <= innerHeight";
        assert_eq!(browser.run(head), true, "{place}: the head is out of view");
        if place == "end" {
            assert_eq!(shown.last().unwrap(), "small::task 998");
            let seen = "const rows = [...document.querySelectorAll('main tbody tr')]; const last = \
                        rows.at(-1).getBoundingClientRect(); return last.bottom <= innerHeight && \
                        last.height < 60";
            assert_eq!(browser.run(seen), true);
        }
    }
    browser.picture("matrix-end");
    // Sorted the other way round.
    browser.run("document.querySelector('main .tall').scrollTo(0, 0); const head = document.querySelectorAll('main th')[1]; head.click(); head.click()");
    browser.wait("return document.querySelector('main tbody tr').className !== 'gap'");
    assert_eq!(texts(&browser)[0], "small::task 998");
    eprintln!(
        "1,000 tasks: pages written in {wrote:.1?}, opened in {opened} ms, matrix in {} ms",
        matrix[0]
    );
    // Only what is looked at is loaded.
    assert_eq!(browser.run("return document.querySelectorAll('script[src*=task-]').length"), 0);
    browser.run("document.querySelector('main .chip').click()");
    browser.wait("return document.querySelector('.tabs') !== null");
    assert_eq!(browser.run("return document.querySelectorAll('script[src*=task-]').length"), 1);
}

#[test]
fn pages_are_served_while_a_bench_goes_on() {
    let Some(python) = python() else { return };
    let user = User::new();
    let run = benched(&user, &python);
    let mut child = user.command(&["view", "run"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let get = |path: &str, host: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(get("/", &address).contains("<!doctype html>"));
    assert!(get("/data/index.js", &address).contains("gistify.index({"));
    for (path, host, status) in [
        ("/data/index.js", "evil.example", "403"),
        ("/data/task-zz.js", &address, "404"),
        ("/../../etc/passwd", &address, "404"),
        ("/plan.json", &address, "404"),
    ] {
        let answer = get(path, host);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
    let version = |answer: String| answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned();
    let before = version(get("/data/version", &address));
    let first = finished(&run).remove(0);
    copy(first.parent().unwrap(), &run.join("tasks/s/new-00000000/offline.1"), |name, text| {
        match name {
            "result.json" => text.replace("small::double", "small::new"),
            _ => text,
        }
    });
    assert_ne!(version(get("/data/version", &address)), before);
    if let Some(browser) = Browser::start(1200, 800, false) {
        browser.open(line.trim());
        browser.wait("return document.querySelector('main table') !== null");
        let shown = browser.run("return document.getElementById('main').innerText");
        assert!(shown.as_str().unwrap().contains("3 attempts at 2 tasks"), "{shown}");
    }
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    assert!(child.wait().unwrap().success());
}
