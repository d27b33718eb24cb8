//! Limits the disk usage of a run: bytes and files of its writable places, for all processes
//! together. The kernel limits directories in memory.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::Request;

/// The least size that an entry counts: an empty file takes space as well, and the number of files
/// needs a limit.
const ENTRY: u64 = 4096;
/// Time until the first look, and between two of them at least.
const PAUSE: Duration = Duration::from_millis(200);
/// A look may take so much of the time: one part of so many.
const SHARE: u32 = 20;

/// The writable places of a run.
#[derive(Debug)]
pub(super) struct Disk {
    places: Vec<PathBuf>,
    limit: u64,
    next: Instant,
}

impl Disk {
    /// Returns the usage limits of a request that begins now.
    pub(super) fn of(request: &Request) -> Disk {
        let (places, limit) = (request.writable.clone(), request.limits.disk);
        Disk { places, limit, next: Instant::now() + PAUSE }
    }

    /// Returns true if the places hold more than the limit. Skips the check if the last one was too
    /// recent for its cost.
    pub(super) fn is_over(&mut self) -> bool {
        let began = Instant::now();
        if began < self.next {
            return false;
        }
        let over = self.holds_more();
        let took = began.elapsed();
        self.next = began + took + PAUSE.max(took * SHARE);
        over
    }

    fn holds_more(&self) -> bool {
        let mut bytes = 0u64;
        let mut pending = self.places.clone();
        while let Some(directory) = pending.pop() {
            // What goes away meanwhile holds nothing.
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                // Of the entry itself, never of what a link leads to.
                let Ok(metadata) = entry.metadata() else { continue };
                let held = metadata.blocks().saturating_mul(512);
                bytes = bytes.saturating_add(held.max(ENTRY));
                if bytes > self.limit {
                    return true;
                }
                if metadata.is_dir() {
                    pending.push(entry.path());
                }
            }
        }
        false
    }
}
