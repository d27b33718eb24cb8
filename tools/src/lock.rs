//! Locks on files and directories that end when they are dropped.

use std::{fs::File, ops::Deref};

/// An open file, whose lock is given up when this is dropped. To close it would not do: a process that is
/// being started has a copy of the descriptor until it runs its program, and holds the lock as long.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Of a file that is locked, or will be.
    pub fn new(file: File) -> Lock {
        Lock(file)
    }
}

impl Deref for Lock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What was never locked cannot be unlocked, and need not be.
        let _ = self.0.unlock();
    }
}
