//! What the places of a run hold on disk: bytes and files, of all its processes together. Directories in
//! memory have limits of their own, which the kernel keeps.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::Request;

/// What an entry counts at least: an empty file takes room as well, and files must not be without number.
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
    /// Those of a request that begins now.
    pub(super) fn of(request: &Request) -> Disk {
        let (places, limit) = (request.writable.clone(), request.limits.disk);
        Disk { places, limit, next: Instant::now() + PAUSE }
    }

    /// Whether they hold more than they may; looked at only as often as that is cheap.
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
