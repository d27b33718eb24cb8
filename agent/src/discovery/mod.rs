//! Repository search (RepoMaster, section 3.1 and Listing 2): from a task in words to a ranking of repositories.
//!
//! Five phases, each logged: task definition, intent analysis, searching, browsing, analysing. A [`RepositorySource`]
//! proposes repositories, an [`Analyst`] decides, by rule or by a model, and the best are opened and mapped. Nothing
//! of a repository is executed here, and nothing is sent anywhere but to the source that the caller names.

mod analyst;
mod brief;
mod catalogue;
mod finder;
mod github;
mod intent;
mod mapping;
mod model_analyst;
mod rate_limit;
mod report;
mod search_log;
mod source;
mod terms;

pub use analyst::{Analyst, AnalystError, RuleAnalyst};
pub use catalogue::Catalogue;
pub use finder::{FindError, FindLimits, FindSpec, find};
pub use github::{ApiAddress, GithubSearch};
pub use mapping::Validation;
pub use model_analyst::ModelAnalyst;
pub use report::FindReport;
pub use search_log::SearchLog;
pub use source::{FoundRepository, RepositorySource, SearchSourceError};
