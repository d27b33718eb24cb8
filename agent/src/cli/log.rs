//! The log: spans and events of the whole program with their times, on standard error where the user wants them there,
//! and as `log.txt` beside the record of a run.
//!
//! ```text
//! 2026-11-28T10:00:01.480Z DEBUG write{test="tests/test_a.py::test_b"}:tool{name="execute"}:run: close time.busy=412ms
//! ```
//!
//! A run has no record when it begins: lines up to then are held in memory.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::{
    EnvFilter, Layer,
    filter::LevelFilter,
    fmt::{self, MakeWriter, format::FmtSpan},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// The name of the log beside a record.
pub const LOG: &str = "log.txt";

/// The spans and events of a log beside a record.
const BESIDE_RECORD: &str =
    "warn,gistify=debug,gistify_eval=debug,gistify_graph=debug,gistify_tools=debug";

/// Bytes of a log that no record has yet; later lines are dropped.
const HELD: usize = 1 << 20;

/// The place of the log: memory until a record is there, then the file beside it.
#[derive(Clone)]
pub struct RunLog(Arc<Mutex<Destination>>);

enum Destination {
    Memory(Vec<u8>),
    File(std::fs::File),
}

impl RunLog {
    /// Starts the log of this process; `filter` is the user's, for standard error, in the form of tracing's directives:
    /// `debug`, or `gistify_tools=trace,warn`.
    ///
    /// # Errors
    /// The filter is malformed.
    pub fn start(filter: Option<&str>) -> Result<Self, String> {
        let log = Self(Arc::new(Mutex::new(Destination::Memory(Vec::new()))));
        let spans = FmtSpan::CLOSE;
        let beside =
            fmt::layer().with_ansi(false).with_target(false).with_span_events(spans.clone());
        let beside = beside.with_writer(log.clone()).with_filter(EnvFilter::new(BESIDE_RECORD));
        let shown = match filter {
            None => None,
            Some(filter) => {
                check_words(filter)?;
                let filter = EnvFilter::try_new(filter).map_err(|error| error.to_string())?;
                let layer =
                    fmt::layer().with_ansi(false).with_target(false).with_span_events(spans);
                Some(layer.with_writer(io::stderr).with_filter(filter))
            }
        };
        // A second start in one process, as in a test, keeps the first log.
        let _ = tracing_subscriber::registry().with(beside).with(shown).try_init();
        Ok(log)
    }

    /// Writes the log into a directory from now on, with what was held; a log that is there is continued.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn continue_beside(&self, directory: &Path) -> io::Result<()> {
        let path = directory.join(LOG);
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut destination = self.lock();
        if let Destination::Memory(held) = &*destination {
            file.write_all(held)?;
        }
        *destination = Destination::File(file);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Destination> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses a filter with a bare word that is neither a level nor a crate of ours. The filter would take a misspelt level for
/// the name of a crate.
///
/// # Errors
/// The filter has such a word, as `debgu`.
fn check_words(filter: &str) -> Result<(), String> {
    let is_known = |word: &str| {
        word.is_empty()
            || word.contains(['=', '['])
            || word.starts_with("gistify")
            || word.parse::<LevelFilter>().is_ok()
    };
    match filter.split(',').map(str::trim).find(|word| !is_known(word)) {
        Some(word) => Err(format!("{word:?} is no level (off, error, warn, info, debug, trace)")),
        None => Ok(()),
    }
}

impl Write for RunLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.lock() {
            Destination::Memory(held) if held.len() + bytes.len() <= HELD => held.extend(bytes),
            Destination::Memory(_) => {}
            // A full disk ends no run: the log alone is incomplete.
            Destination::File(file) => drop(file.write_all(bytes)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for RunLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
