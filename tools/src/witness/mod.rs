//! A second account of what a command does, which its program cannot write itself.
//!
//! The cases are run by a protocol of our own beside pytest's: fixtures are pytest's, but how a test
//! ended is seen at the test function. The account leaves the sandbox as it is made, each line signed
//! with a key that the program was never told and numbered, so that none can be taken back, slipped in or
//! left out unnoticed. What it means is for the `eval` crate to say.
//!
//! What it cannot do: keep a secret from a program that reads its own memory. The ways to it that Python
//! has are audited events, which are told before they happen, or name what the rules for texts refuse.

use std::{collections::BTreeMap, fs, io::Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::execute::{self, ExecuteError, Execution, Raised, RunSpec};

const WITNESS: &str = concat!(
    include_str!("clocks.py"),
    "\n\n",
    include_str!("watch.py"),
    "\n\n",
    include_str!("found.py"),
    "\n\n",
    include_str!("examples.py"),
    "\n\n",
    include_str!("events.py"),
    "\n\n",
    include_str!("channel.py"),
    "\n\n",
    include_str!("witness.py")
);
/// Largest text read of a stream, in bytes.
const STREAM: u64 = 1 << 24;

/// What is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watch {
    /// Test functions: path below the directory of the run, and spans of lines in it.
    pub functions: Vec<(String, Vec<(u32, u32)>)>,
    /// Functions that help them, told in the same way: only their lines are watched, what they raise, and who
    /// calls them.
    pub helpers: Vec<(String, Vec<(u32, u32)>)>,
    /// By how many seconds the clock is moved that Python code sees.
    pub shift: f64,
    /// Files of the repository's modules, from where their names begin: where one of that name is run
    /// from elsewhere, it is told.
    pub modules: Vec<String>,
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Testimony {
    /// Whether it was told to the end, nothing missing.
    pub complete: bool,
    /// Lines that claim to be of this account and are not.
    pub forged: u32,
    /// Node ids in order, for a command of pytest's.
    pub collected: Vec<String>,
    /// What each case did, in order.
    pub cases: Vec<WitnessedCase>,
    /// What code of the directory did that few programs do.
    pub events: Vec<WitnessedEvent>,
    /// Parts of pytest, unittest and the interpreter that are other objects than before: module or
    /// class, and attribute.
    pub changed: Vec<(String, String)>,
    /// Functions of the directory in modules outside of it: holder, attribute, path, line.
    pub strangers: Vec<(String, String, String, u32)>,
    /// How often each example of docstrings was executed, by its digest.
    pub examples: BTreeMap<String, u32>,
    /// Both streams, for commands other than pytest's.
    pub streams: (String, String),
}

/// One case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WitnessedCase {
    /// pytest's node id.
    pub id: String,
    /// Setup, call and teardown, those that ran.
    pub phases: Vec<WitnessedPhase>,
    /// Lines of the watched functions that it executed.
    pub lines: Vec<(String, u32)>,
    /// Those that its setup and its teardown executed.
    pub around: Vec<(String, u32)>,
    /// Values that functions of the directory returned to the watched ones, and what these contain: name
    /// of the type, and where its comparison is defined: path and line, or the module that is outside, or
    /// nothing where no Python code compares. Then the functions that comparisons called: `comparison` and
    /// the name, and where they are defined; `raised` and the type of what they raised or let pass; `caller` and
    /// where functions are defined that call the helpers; `called`, `called back` by the package, or
    /// `called at load` of a module, and where those are.
    pub values: Vec<(String, String, u32)>,
    /// What it finds by its names: key, what it is (`function`, a class and its name, where it is from
    /// outside, `own module`, a plain value, or `object`), and for what is of the directory path and line. A key
    /// says by which modules and in which function: `check of tests/kit in same`. Also what runs as the test, its
    /// fixtures, and what its parameters hold.
    pub used: Vec<(String, String, String, u32)>,
    /// Its parameters: names and texts of plain values, or the types of others.
    pub given: Vec<(String, String)>,
}

/// One phase of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WitnessedPhase {
    /// `setup`, `call` or `teardown`.
    pub when: String,
    /// How it ended, where it did not return.
    pub raised: Option<Raised>,
    /// What was written to standard output's descriptor meanwhile.
    pub stdout: String,
    /// What was written to standard error's.
    pub stderr: String,
}

/// Something that code of the directory did.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WitnessedEvent {
    /// `code` (made from text or data), `foreign` (code that claims to be a file's), `tracing`, `frames`,
    /// `attribute`, `reached` (the same by others on its behalf), `text` (of the tests), `process`, `memory`, `machinery`, `network`, `record`, `copy` (a module of the
    /// repository's name that lies elsewhere) or `written` (a module where the program can write).
    pub kind: String,
    /// Name of an attribute, or of a module's file.
    pub detail: String,
    /// The file that did it.
    pub path: String,
    /// The line.
    pub line: u32,
}

#[derive(Serialize)]
struct Settings<'a> {
    root: String,
    key: String,
    watched: &'a [(String, Vec<(u32, u32)>)],
    helpers: &'a [(String, Vec<(u32, u32)>)],
    shift: f64,
    modules: &'a [String],
}

#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Begin,
    Collected {
        ids: Vec<String>,
    },
    Case {
        id: String,
    },
    Phase {
        #[serde(flatten)]
        phase: WitnessedPhase,
    },
    Lines {
        lines: BTreeMap<String, Vec<u32>>,
        around: BTreeMap<String, Vec<u32>>,
    },
    Values {
        values: Vec<(String, String, u32)>,
    },
    Given {
        given: Vec<(String, String)>,
    },
    Used {
        rows: Vec<(String, String, String, u32)>,
        used: Vec<usize>,
    },
    Examples {
        counts: BTreeMap<String, u32>,
    },
    Event(WitnessedEvent),
    Changed {
        holder: String,
        name: String,
    },
    Stranger {
        holder: String,
        name: String,
        path: String,
        line: u32,
    },
    Cut,
    End,
}

/// Runs a command and has it witnessed.
///
/// # Errors
/// As for [`execute`](crate::execute()).
pub fn witness(spec: &RunSpec<'_>, watch: &Watch) -> Result<(Execution, Testimony), ExecuteError> {
    let streams = spec.scratch.join("streams");
    execute::make_empty(&streams)?;
    execute::write(&spec.scratch.join("tracer.py"), WITNESS)?;
    let key = key().map_err(execute::scratch_error(spec.scratch))?;
    let settings = Settings {
        root: spec.directory.to_string_lossy().into_owned(),
        key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
        watched: &watch.functions,
        helpers: &watch.helpers,
        shift: watch.shift,
        modules: &watch.modules,
    };
    let execution = execute::run(spec, Some(&settings))?;
    let mut testimony = read(&execution.stdout, &key);
    testimony.complete &= execution.dropped == 0;
    if !spec.command.is_pytest() {
        let text = |name: &str| {
            let mut bytes = Vec::new();
            if let Ok(file) = execute::open_regular(&streams.join(name)) {
                let _ = file.take(STREAM).read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        testimony.streams = (text("out"), text("err"));
    }
    Ok((execution, testimony))
}

/// Reads what a program printed as an account that nobody signed: each text has a key of its own, since a fuzzer sees
/// with what its signatures are compared, and would write that next.
#[cfg(feature = "fuzzing")]
pub fn parse_account(output: &str) -> Testimony {
    read(output, &Sha256::digest(output))
}

/// A key that no program can guess.
fn key() -> std::io::Result<[u8; 32]> {
    let mut key = [0; 32];
    fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

fn read(output: &str, key: &[u8]) -> Testimony {
    let mut testimony = Testimony::default();
    let mut told: BTreeMap<u64, Record> = BTreeMap::new();
    for line in output.lines() {
        let Some(rest) = line.strip_prefix("witness ") else { continue };
        match signed(rest, key) {
            Some((number, record)) if !told.contains_key(&number) => {
                told.insert(number, record);
            }
            _ => testimony.forged += 1,
        }
    }
    let gapless = told.keys().copied().eq(0..told.len() as u64);
    let mut rows = Vec::new();
    let mut cut = false;
    let mut ended = false;
    for record in told.into_values() {
        let last = testimony.cases.last_mut();
        match (record, last) {
            (Record::Begin, _) => {}
            (Record::Collected { ids }, _) => testimony.collected = ids,
            (Record::Case { id }, _) => {
                testimony.cases.push(WitnessedCase { id, ..WitnessedCase::default() });
            }
            (Record::Phase { phase }, Some(case)) => case.phases.push(phase),
            (Record::Lines { lines, around }, Some(case)) => {
                case.lines = each(lines);
                case.around = each(around);
            }
            (Record::Values { values }, Some(case)) => case.values = values,
            (Record::Given { given }, Some(case)) => case.given = given,
            (Record::Used { rows: new, used }, Some(case)) => {
                rows.extend(new);
                case.used = used.into_iter().filter_map(|at| rows.get(at).cloned()).collect();
            }
            (Record::Examples { counts }, _) => testimony.examples = counts,
            (Record::Event(event), _) => testimony.events.push(event),
            (Record::Changed { holder, name }, _) => testimony.changed.push((holder, name)),
            (Record::Stranger { holder, name, path, line }, _) => {
                testimony.strangers.push((holder, name, path, line));
            }
            (Record::Cut, _) => cut = true,
            (Record::End, _) => ended = true,
            (
                Record::Phase { .. }
                | Record::Lines { .. }
                | Record::Values { .. }
                | Record::Given { .. }
                | Record::Used { .. },
                None,
            ) => {}
        }
    }
    testimony.complete = gapless && ended && !cut;
    testimony
}

/// Each line with its file.
fn each(lines: BTreeMap<String, Vec<u32>>) -> Vec<(String, u32)> {
    let each =
        |(path, lines): (String, Vec<u32>)| lines.into_iter().map(move |line| (path.clone(), line));
    lines.into_iter().flat_map(each).collect()
}

/// A line's number and record, where its signature is right.
fn signed(line: &str, key: &[u8]) -> Option<(u64, Record)> {
    let (number, rest) = line.split_once(' ')?;
    let (mac, data) = rest.split_once(' ')?;
    let inner = Sha256::new().chain_update(key).chain_update(number).chain_update(" ");
    let inner = inner.chain_update(data).finalize();
    let outer = Sha256::new().chain_update(key).chain_update(inner).finalize();
    let expected: String = outer.iter().map(|byte| format!("{byte:02x}")).collect();
    let number = number.parse().ok()?;
    (expected == mac).then(|| serde_json::from_str(data).ok()).flatten().map(|r| (number, r))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, data: &str, key: &[u8]) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let inner = Sha256::digest([key, format!("{number} {data}").as_bytes()].concat());
        let mac = Sha256::digest([key, inner.as_slice()].concat());
        format!("\nwitness {number} {} {data}\n", hex(&mac))
    }

    #[test]
    fn only_a_whole_account_is_complete() {
        let key = [7; 32];
        let all = [
            line(0, r#"{"record": "begin"}"#, &key),
            line(1, r#"{"record": "case", "id": "t.py::a"}"#, &key),
            line(
                2,
                r#"{"record": "phase", "id": "t.py::a", "when": "call", "raised": null, "stdout": "", "stderr": ""}"#,
                &key,
            ),
            line(3, r#"{"record": "end"}"#, &key),
        ];
        let told = read(&all.concat(), &key);
        assert!(told.complete);
        assert_eq!((told.cases.len(), told.cases[0].phases.len(), told.forged), (1, 1, 0));
        // One line less, one line twice, one line of another key.
        for missing in 0..4 {
            let rest: String = all
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != missing)
                .map(|(_, l)| &**l)
                .collect();
            assert!(!read(&rest, &key).complete, "without {missing}");
        }
        assert_eq!(read(&(all.concat() + &all[1]), &key).forged, 1);
        let other = line(4, r#"{"record": "end"}"#, &[8; 32]);
        assert_eq!(read(&(all.concat() + &other), &key).forged, 1);
    }
}
