//! The progress messages of long steps.

/// A sign of life, for whoever shows it to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A step begins.
    Step(&'a str),
    /// A download goes on.
    Bytes {
        /// The name of the download.
        name: &'a str,
        /// Bytes until now.
        done: u64,
        /// Bytes in all, where the server says so.
        total: Option<u64>,
    },
    /// A gist is made smaller, one statement after the other.
    Reduced {
        /// Proposals that ran.
        tried: usize,
        /// Lines that went.
        removed: usize,
        /// Lines that are left.
        lines: usize,
        /// Time until the search has to end.
        left: std::time::Duration,
    },
}
