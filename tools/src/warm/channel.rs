//! The channel to a waiting process: two named pipes that carry lines of JSON.
//!
//! The process opens the pipes by name. Their names are removed after that, so that the code of a run cannot open them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{execute::open_regular, sandbox::Captured};

/// Longest line that is taken, in bytes.
const LINE: usize = 1 << 16;

/// Our ends of the pipes.
#[derive(Debug)]
pub(super) struct Channel {
    directory: PathBuf,
    requests: File,
    replies: File,
    pending: Vec<u8>,
}

/// A line that arrived in time, or none.
pub(super) enum Heard {
    Line(Vec<u8>),
    Nothing,
}

impl Channel {
    /// Makes the pipes in a directory.
    pub(super) fn make(directory: &Path) -> io::Result<Self> {
        let open = |name: &str| -> io::Result<File> {
            let path = directory.join(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
            // Open on both sides, so that neither end has to wait for the other.
            let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
        };
        let (requests, replies) = (open("asked")?, open("replies")?);
        Ok(Self { directory: directory.to_path_buf(), requests, replies, pending: Vec::new() })
    }

    /// Removes the pipes' names from the directory; open ends still work.
    pub(super) fn hide(&self) {
        for name in ["asked", "replies"] {
            let _ = fs::remove_file(self.directory.join(name));
        }
    }

    /// Sends one line. Waits without a limit while the pipe is full.
    pub(super) fn ask(&mut self, text: &[u8]) -> io::Result<()> {
        // Unread replies belong to an earlier run.
        self.pending.clear();
        let mut rest = [text, b"\n"].concat();
        while !rest.is_empty() {
            match self.requests.write(&rest) {
                Ok(count) => {
                    rest.drain(..count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait(&self.requests, libc::POLLOUT, Duration::from_millis(50))?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits up to `patience` for bytes and returns the next line, if it is complete. Fails if more than [`LINE`] bytes
    /// arrive without a line break.
    pub(super) fn hear(&mut self, patience: Duration) -> io::Result<Heard> {
        if !self.pending.contains(&b'\n') {
            wait(&self.replies, libc::POLLIN, patience)?;
            let mut buffer = [0; 4096];
            match self.replies.read(&mut buffer) {
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        let end = self.pending.iter().position(|byte| *byte == b'\n');
        let Some(end) = end else {
            return match self.pending.len() > LINE {
                true => Err(io::Error::other("a line without an end")),
                false => Ok(Heard::Nothing),
            };
        };
        let rest = self.pending.split_off(end + 1);
        Ok(Heard::Line(std::mem::replace(&mut self.pending, rest)))
    }
}

fn wait(file: &File, events: i16, patience: Duration) -> io::Result<()> {
    let mut entry = libc::pollfd { fd: file.as_raw_fd(), events, revents: 0 };
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: polls one descriptor of ours.
    if unsafe { libc::poll(&raw mut entry, 1, milliseconds) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the first `limit` bytes of a run's output file; empty if it cannot be opened.
pub(super) fn captured(path: &Path, limit: u64) -> Captured {
    let mut bytes = Vec::new();
    if let Ok(file) = open_regular(path) {
        let _ = file.take(limit).read_to_end(&mut bytes);
    }
    Captured { gap: bytes.len(), bytes, dropped: 0 }
}
