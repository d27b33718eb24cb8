//! One file per measure: what was written and what happened in, a score with its evidence out.

mod category;
mod effort;
mod execution;
mod existence;
mod fidelity;
mod pass_rate;
mod size;
mod test_score;

pub use category::{Category, Cause, category};
pub use effort::Effort;
pub use execution::{Executed, ExecutionRate, Idle, IdleLine, execution};
pub use existence::{Existence, MissingLine, Reason, existence};
pub use fidelity::{Difference, Fidelity, What, fidelity};
pub use pass_rate::{PassRate, pass_rate};
pub use size::{Size, size};
pub use test_score::{TestScore, test_score};

pub(crate) use existence::within;
