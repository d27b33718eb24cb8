//! The index of a run's directory: one row a result, in SQLite, for readers while a bench writes.
//!
//! The result files are authoritative. The index is updated from them whenever it is opened, and
//! rebuilt if it is damaged or of another version. No data is lost with it.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, params};

use crate::{bench::TaskResult, row::Row, store::StoreError};

/// The index of one run.
#[derive(Debug)]
pub struct Index {
    directory: PathBuf,
    connection: Mutex<Connection>,
}

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("index {path}: {source}")]
pub struct IndexError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: rusqlite::Error,
}

/// Name of the index in a run's directory.
const NAME: &str = "index.sqlite";
/// Name of a result.
pub(crate) const RESULT: &str = "result.json";
/// Version of the tables and of the rows in them.
const VERSION: i64 = 2;

impl Index {
    /// Opens the index of a run and makes it good. Results that cannot be read are given apart.
    ///
    /// # Errors
    /// SQLite refuses, for a reason other than that the directory cannot be written to.
    pub fn open(directory: &Path) -> Result<(Self, Vec<StoreError>), IndexError> {
        let path = directory.join(NAME);
        let failed = |source| IndexError { path: path.clone(), source };
        let connection = match connect(&path) {
            Ok(connection) => connection,
            Err(_) => {
                for ending in ["", "-wal", "-shm"] {
                    // What cannot be removed shows itself at the second try.
                    let _: io::Result<()> =
                        fs::remove_file(directory.join(format!("{NAME}{ending}")));
                }
                // Somebody else's directory can be read all the same.
                connect(&path).or_else(|_| connect(Path::new(":memory:"))).map_err(failed)?
            }
        };
        Self::with(directory, connection)
    }

    /// Opens an index for a reader: the directory's if there is one, else one in memory. While workers fill a
    /// directory it has none, and only who finishes makes one. Results that cannot be read are given apart.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn open_for_reading(directory: &Path) -> Result<(Self, Vec<StoreError>), IndexError> {
        let path = directory.join(NAME);
        if path.exists() {
            return Self::open(directory);
        }
        let connection =
            connect(Path::new(":memory:")).map_err(|source| IndexError { path, source })?;
        Self::with(directory, connection)
    }

    fn with(
        directory: &Path,
        connection: Connection,
    ) -> Result<(Self, Vec<StoreError>), IndexError> {
        let index = Self { directory: directory.to_path_buf(), connection: Mutex::new(connection) };
        let unread = index.refresh()?;
        Ok((index, unread))
    }

    /// Adds results written since the last refresh, and removes vanished ones. Returns the errors
    /// of unreadable results.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn refresh(&self) -> Result<Vec<StoreError>, IndexError> {
        let mut known: BTreeMap<String, i64> = BTreeMap::new();
        {
            let connection = self.lock();
            let mut query = connection
                .prepare("SELECT place, stamp FROM results")
                .map_err(|source| self.failed(source))?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
            for row in rows.map_err(|source| self.failed(source))? {
                known.extend([row.map_err(|source| self.failed(source))?]);
            }
        }
        let mut unread = Vec::new();
        for place in places(&self.directory) {
            let path = self.directory.join(&place);
            let Some(stamp) = stamp_of_attempt(&path) else { continue };
            if known.remove(&*place.to_string_lossy()) == Some(stamp) {
                continue;
            }
            match TaskResult::read(&path) {
                Ok(result) => self.put(&Row::of(&result, &place), stamp)?,
                Err(error) => {
                    self.remove(&place.to_string_lossy())?;
                    unread.push(error);
                }
            }
        }
        known.keys().try_for_each(|place| self.remove(place))?;
        Ok(unread)
    }

    /// Notes a result that is on disk.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn add(&self, row: &Row) -> Result<(), IndexError> {
        let stamp = stamp_of_attempt(&self.directory.join(&row.place)).unwrap_or(0);
        self.put(row, stamp)
    }

    /// All rows, sorted by suite, task, solver and repetition.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn rows(&self) -> Result<Vec<Row>, IndexError> {
        let connection = self.lock();
        let mut query = connection
            .prepare("SELECT row FROM results ORDER BY suite, task, solver, repetition")
            .map_err(|source| self.failed(source))?;
        let rows = query.query_map([], |row| row.get::<_, String>(0));
        let rows = rows.map_err(|source| self.failed(source))?;
        let mut found = Vec::new();
        for row in rows {
            let text = row.map_err(|source| self.failed(source))?;
            // The version says that it can be read.
            found.extend(serde_json::from_str::<Row>(&text));
        }
        Ok(found)
    }

    fn put(&self, row: &Row, stamp: i64) -> Result<(), IndexError> {
        let text = serde_json::to_string(row).expect("texts and numbers serialise");
        let scores = serde_json::to_string(&row.scores).expect("texts and numbers serialise");
        let connection = self.lock();
        let insert = "INSERT OR REPLACE INTO results VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)";
        let put = connection.prepare_cached(insert).and_then(|mut query| {
            query.execute(params![
                row.place.to_string_lossy(),
                stamp,
                row.suite,
                row.task,
                row.solver,
                row.repetition,
                row.standing.name(),
                row.what(),
                scores,
                row.seconds,
                text
            ])
        });
        put.map(|_| ()).map_err(|source| self.failed(source))
    }

    fn remove(&self, place: &str) -> Result<(), IndexError> {
        let gone = self.lock().execute("DELETE FROM results WHERE place = ?1", [place]);
        gone.map(|_| ()).map_err(|source| self.failed(source))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: rusqlite::Error) -> IndexError {
        IndexError { path: self.directory.join(NAME), source }
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    // Readers see a whole state while a bench writes; a crash loses the last rows at most.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        connection.execute_batch("DROP TABLE IF EXISTS results")?;
    }
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS results (
           place TEXT PRIMARY KEY, stamp INTEGER NOT NULL,
           suite TEXT NOT NULL, task TEXT NOT NULL, solver TEXT NOT NULL,
           repetition INTEGER NOT NULL, standing TEXT NOT NULL, what TEXT,
           scores TEXT NOT NULL, seconds REAL NOT NULL,
           row TEXT NOT NULL);",
    )?;
    connection.pragma_update(None, "user_version", VERSION)?;
    // A damaged file often shows itself only when it is read.
    connection.query_row("SELECT count(*), max(length(row)) FROM results", [], |_| Ok(()))?;
    Ok(connection)
}

/// Directories of results, relative to the run's: `tasks/SUITE/TASK/SOLVER.REPETITION`.
pub(crate) fn places(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("tasks")];
    for _ in 0..3 {
        let below = |place: &PathBuf| {
            let entries = fs::read_dir(directory.join(place)).into_iter().flatten().flatten();
            // A name with a dot in front is that of an attempt that is being written.
            let inner = entries.filter(|entry| {
                entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && !entry.file_name().as_encoded_bytes().starts_with(b".")
            });
            inner.map(|entry| place.join(entry.file_name())).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).collect();
    }
    found.sort();
    found
}

/// Returns a stamp that changes when the result or the gist of an attempt does; nothing without a result.
fn stamp_of_attempt(directory: &Path) -> Option<i64> {
    let gist = stamp(&directory.join(tools::GIST_NAME)).unwrap_or(0);
    Some(stamp(&directory.join(RESULT))? ^ gist.rotate_left(16))
}

/// Returns a stamp that changes when a file is replaced or rewritten.
fn stamp(path: &Path) -> Option<i64> {
    let known = fs::metadata(path).ok()?;
    let time = known.mtime().wrapping_mul(1_000_000_000).wrapping_add(known.mtime_nsec());
    Some(time ^ i64::try_from(known.ino()).unwrap_or(0).rotate_left(32))
}
