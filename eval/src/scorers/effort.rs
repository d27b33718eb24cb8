//! Effort: what writing a gist cost. Recorded by the writer, only carried here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cost of writing a gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Effort {
    /// Steps of the loop.
    pub steps: u64,
    /// Tokens read.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// Tokens read from a cache.
    pub tokens_cached: u64,
    /// Price in US dollars, where it is known, vectors included.
    pub price: Option<f64>,
    /// The part of it that vectors of texts cost, where any were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding_price: Option<f64>,
    /// Wall-clock seconds from start to submission.
    pub wall_seconds: f64,
    /// CPU seconds from start to submission, where they are known.
    pub cpu_seconds: Option<f64>,
    /// CPU seconds of slicing alone, beyond parsing, where they are known.
    pub slicing_cpu_seconds: Option<f64>,
    /// Tool calls by group: view, search, execute, other.
    pub calls: BTreeMap<String, u64>,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}
