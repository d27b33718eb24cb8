//! Repros that leave the machine: as a block for an issue, to other reducers, over the releases of a package.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::Child,
};

use super::*;

const TILL: &str = "\
#- pyproject.toml
[project]
name = 'till'
version = '0.3'
license = 'MIT'
#- LICENSE
MIT License
#- .env
# What the till is opened with.
TILL_CODE=\"open-4711-sesame\"
#- till.py
import os

CODE = 'open-4711-sesame'


def rate(currency):
    if currency == 'eur':
        return 1.19
    raise LookupError(f'no rate of {currency}')


def opened(code):
    if code != CODE:
        raise ValueError('wrong')
    return {}[code + 'drawer']
#- sell.py
from till import rate

print(rate('eur'))
print(rate('usd'))
#- open.py
from till import CODE, opened

opened(CODE)
";

fn repro(user: &User, python: &str, options: &[&str], script: &str) -> Ran {
    let args = [&["repro", "till", "--python", python, "--force"], options, &["--"]].concat();
    user.gistify(&[&args[..], &["python", script]].concat())
}

#[test]
fn a_repro_is_a_block_for_an_issue() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("till", TILL);
    let ran = repro(&user, &python, &["--markdown"], "sell.py");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let text = read(&user.here().join("repro.py"));
    for part in [
        "- **Versions**: `till 0.3` (Python 3.",
        "- **Command**: `python sell.py`\n",
        "- **Seen**: `LookupError: no rate of usd`\n",
        &format!("```python\n{}\n```\n\n</details>\n", text.trim_end()),
        "Reproduced 3 of 3 in a sandbox without the repository",
        "SHA-256 of the file: `",
        "Its code is copied from `till 0.3`: MIT (LICENSE).\n",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn a_secret_is_not_printed_until_told() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("till", TILL);
    let ran = repro(&user, &python, &["--markdown", "--same", "type"], "open.py");
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.last_error_line().contains(": value of TILL_CODE (open...)"), "{}", ran.err);
    assert!(!ran.last_error_line().contains("4711"), "{}", ran.err);
    let ran = repro(&user, &python, &["--markdown", "--allow-secrets"], "open.py");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("open-4711-sesame"), "{}", ran.out);
}

#[test]
fn a_repro_is_printed_in_each_format() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("till", TILL);
    for (format, part) in [
        ("junit", "<testcase name=\"python sell.py\""),
        ("markdown", "| `python sell.py` | passed | lines "),
        ("json", "\"reproduced\": 3"),
    ] {
        let ran = repro(&user, &python, &["--output-format", format], "sell.py");
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains(part), "{format}: {}", ran.out);
    }
}

#[test]
fn a_script_tells_other_reducers_what_is_of_interest() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("till", TILL);
    let ran = repro(&user, &python, &["--run-dir", "run"], "sell.py");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let ran = user.gistify(&["oracle", "run", "-o", "interesting.sh"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let script = user.here().join("interesting.sh");
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o755);
    let is_interesting = |text: &str| {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("repro.py"), text).unwrap();
        Command::new(&script).current_dir(directory.path()).status().unwrap().success()
    };
    assert!(is_interesting(&read(&user.here().join("repro.py"))));
    assert!(is_interesting("raise LookupError('no rate of usd')\n"));
    assert!(!is_interesting("raise LookupError('no rate of eur')\n"));
    assert!(!is_interesting("print('LookupError: no rate of usd')\n"));
    let ran = user.gistify(&["oracle", "till"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
}

/// Writes wheels of a package whose 1.3 and later fail, one of which cannot be installed, and serves them.
const INDEX: &str = "\
import functools, http.server, os, sys, zipfile

def wheel(name, version, text, needs=''):
    os.makedirs(f'simple/{name}', exist_ok=True)
    info, path = f'{name}-{version}.dist-info', f'{name}-{version}-py3-none-any.whl'
    with zipfile.ZipFile(f'simple/{name}/{path}', 'w') as file:
        file.writestr(f'{name}.py', text)
        file.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n{needs}')
        file.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        file.writestr(f'{info}/RECORD', '')
    with open(f'simple/{name}/index.html', 'a') as page:
        page.write(f'<a href=\"{path}\">{path}</a>\\n')

# Every environment has pytest.
wheel('pytest', '8.4.2', '')
for minor in range(6):
    needs = 'Requires-Dist: no-such-package-anywhere\\n' if minor == 2 else ''
    wheel('till', f'1.{minor}', f'def total(prices): return sum(prices) // {int(minor < 3)}', needs)
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=os.getcwd())
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
";

/// A process that ends with its test.
pub(super) struct Serving(pub(super) Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn bisecting_names_the_release_since_which_a_file_fails() {
    let Some(python) = python() else { return };
    let user = User::new();
    let directory = tempfile::tempdir().unwrap();
    let mut serving = Command::new(&python);
    serving.args(["-c", INDEX]).current_dir(directory.path());
    let child = serving.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut serving = Serving(child);
    let mut port = String::new();
    let mut printed = BufReader::new(serving.0.stdout.take().unwrap());
    printed.read_line(&mut port).unwrap();
    let index = format!("http://127.0.0.1:{}/simple", port.trim());
    fs::write(user.here().join("gist.py"), "import till\n\nprint(till.total([1, 2]))\n").unwrap();
    let bisect = |good: &str, bad: &str, options: &[&str]| {
        let args = ["bisect", "gist.py", "--package", "till", "--good", good, "--bad", bad];
        let mut command = user.command(&[&args[..], options].concat());
        Ran::of(command.env("PIP_INDEX_URL", &index).output().unwrap(), &user)
    };
    let ran = bisect("1.0", "1.5", &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("first bad: till 1.3 (the last good one is 1.1)\n"), "{}", ran.out);
    assert!(ran.out.contains("  undecided   1.2\n"), "{}", ran.out);
    let told = "  1.3         ZeroDivisionError: integer division or modulo by zero\n";
    assert!(ran.out.contains(told), "{}", ran.out);
    let ran = bisect("1.5", "1.0", &["--json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("\"first_bad\": \"1.1\""), "{}", ran.out);
    let ran = bisect("1.0", "1.1", &["-q"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(
        ran.last_error_line().contains("it ends in the same way with both releases"),
        "{}",
        ran.err
    );
    let ran = bisect("1.0", "1.9", &["-q"]);
    assert_ne!(ran.code, 0, "{}", ran.out);
    assert!(ran.last_error_line().contains("1.9"), "{}", ran.err);
}
