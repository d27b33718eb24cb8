//! Reads what the recorder wrote. A record that is cut or garbled is skipped, never an error: the
//! program that was recorded may have died, or have written into the file itself.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
};

use serde::Deserialize;

use super::{CaseReport, DecidedFailure, Ended, OpenedFile, PhaseReport, Raised};

/// Everything that one run recorded.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) began: bool,
    pub(super) complete: bool,
    pub(super) missing: Option<String>,
    pub(super) collected: Vec<String>,
    pub(super) checks: Vec<String>,
    pub(super) collection_errors: Vec<(String, Raised)>,
    pub(super) cases: Vec<CaseReport>,
    pub(super) raised: Option<Raised>,
    pub(super) caught: Vec<Raised>,
    /// Functions that got other code.
    pub(super) changed: u64,
    pub(super) ended: Vec<Ended>,
    pub(super) opened: Vec<OpenedFile>,
    pub(super) decided: Vec<DecidedFailure>,
}

#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Begin,
    Collected {
        ids: Vec<String>,
        #[serde(default)]
        checks: Vec<String>,
    },
    CollectionError {
        id: String,
        raised: Raised,
    },
    Case {
        id: String,
    },
    Phase {
        id: String,
        #[serde(flatten)]
        report: PhaseReport,
    },
    Raised {
        raised: Raised,
    },
    Caught {
        raised: Raised,
    },
    Ended {
        #[serde(flatten)]
        ended: Ended,
    },
    Missing {
        module: String,
    },
    Changed {
        functions: u64,
    },
    Opened(OpenedFile),
    Decided(DecidedFailure),
    Complete,
}

/// A file as it was before a run. The kernel alone sets the time of its last change, so what was
/// changed and put back is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Untouched {
    file: (u64, u64),
    changed: (i64, i64),
}

impl Untouched {
    fn of(file: &File) -> io::Result<Untouched> {
        let data = file.metadata()?;
        Ok(Untouched { file: (data.dev(), data.ino()), changed: (data.ctime(), data.ctime_nsec()) })
    }
}

/// Most bytes of a record that are read.
const RECORD_BYTES: u64 = 1 << 28;

impl Records {
    /// Makes the file of a run, empty.
    pub(super) fn prepare(path: &Path) -> io::Result<Untouched> {
        Untouched::of(&File::create_new(path)?)
    }

    /// Reads the file of a run. A program that changed it in any way has begun, whatever it left.
    pub(super) fn read(path: &Path, before: Untouched) -> io::Result<Records> {
        let mut records = Records::default();
        let mut bytes = Vec::new();
        match open_regular(path) {
            Ok(file) => {
                records.began = Untouched::of(&file)? != before;
                file.take(RECORD_BYTES).read_to_end(&mut bytes)?;
            }
            Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                return Err(error);
            }
            Err(_) => {
                records.began = true;
                return Ok(records);
            }
        };
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(record) = serde_json::from_slice(line) {
                records.add(record);
            }
        }
        Ok(records)
    }

    fn add(&mut self, record: Record) {
        match record {
            Record::Begin => {}
            Record::Collected { ids, checks } => {
                self.collected = ids;
                self.checks = checks;
            }
            Record::CollectionError { id, raised } => self.collection_errors.push((id, raised)),
            Record::Case { id } => self.cases.push(CaseReport { id, phases: Vec::new() }),
            Record::Phase { id, report } => {
                // The same id may run again (repeated or retried cases): the last start is meant.
                match self.cases.iter_mut().rev().find(|case| case.id == id) {
                    Some(case) => case.phases.push(report),
                    None => self.cases.push(CaseReport { id, phases: vec![report] }),
                }
            }
            Record::Raised { raised } => self.raised = Some(raised),
            Record::Caught { raised } => self.caught.push(raised),
            Record::Ended { ended } => self.ended.push(ended),
            Record::Missing { module } => self.missing = Some(module),
            Record::Changed { functions } => self.changed += functions,
            Record::Opened(opened) => self.opened.push(opened),
            Record::Decided(decided) => self.decided.push(decided),
            Record::Complete => self.complete = true,
        }
    }
}

/// Reads a file that nobody prepared.
#[cfg(feature = "fuzzing")]
pub(super) fn parse(path: &Path) -> io::Result<()> {
    let before = Untouched::of(&File::open(path)?)?;
    Records::read(path, before).map(drop)
}

/// Opens a file that a program under test may have replaced: never through a link, never a pipe.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
    }
}
