//! Repositories that are proposed for a task, and the trait of what proposes them.

use std::path::PathBuf;

use serde::Serialize;
use tools::RepositoryError;

/// A repository that a source proposes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FoundRepository {
    /// Its name, as `owner/name` or as the catalogue has it; unique among those of one search.
    pub name: String,
    /// Its page, or its path.
    pub url: String,
    /// The name by which `Repository::open` opens it; `None` if the source gives no address that is allowed.
    pub place: Option<String>,
    /// Stars, where they are counted.
    pub stars: Option<u64>,
    /// Its description, with its topics.
    pub description: String,
    /// Its README, where the source has it at hand.
    pub readme: Option<String>,
}

/// The README of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadmeText {
    /// Its text.
    Text(String),
    /// The repository has none.
    Missing,
    /// The source does not give it, for this reason.
    Unavailable(String),
}

/// A place where repositories are searched.
pub trait RepositorySource {
    /// Its name for records: an address or a path.
    fn label(&self) -> String;

    /// Returns the repositories of a query, the best first, `most` at most.
    ///
    /// # Errors
    /// The source refuses the query or cannot be asked.
    fn search(&self, query: &str, most: usize) -> Result<Vec<FoundRepository>, SearchSourceError>;

    /// Returns the README of a repository of the source.
    ///
    /// # Errors
    /// The user stopped it.
    fn readme(&self, repository: &FoundRepository) -> Result<ReadmeText, SearchSourceError>;
}

/// Why a source gives no answer.
#[derive(Debug, thiserror::Error)]
pub enum SearchSourceError {
    /// The server cannot be asked, or the cache cannot be used.
    #[error(transparent)]
    Transport(#[from] RepositoryError),
    /// The server refuses.
    #[error("ask {url}: {reason}")]
    Refused {
        /// The address.
        url: String,
        /// Its message.
        reason: String,
    },
    /// The server allows no further request for longer than the user waits.
    #[error(
        "ask {url}: its rate limit ends in {seconds} s (wait, give a token, or allow more with --wait)"
    )]
    RateLimited {
        /// The address.
        url: String,
        /// Seconds until it answers again.
        seconds: u64,
    },
    /// The server's answer has another form.
    #[error("ask {url}: {reason}")]
    Malformed {
        /// The address.
        url: String,
        /// The difference.
        reason: String,
    },
    /// A catalogue cannot be read.
    #[error("read catalogue {path}: {reason}")]
    Catalogue {
        /// The file.
        path: PathBuf,
        /// The line and the cause.
        reason: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}
