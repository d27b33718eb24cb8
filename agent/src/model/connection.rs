//! All that it takes to ask one model of one provider, for one session.
//!
//! It is data; the protocols are in files of their own.

use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{provider::Provider, wire::Wire};
use crate::config::ModelSettings;

/// A model of a provider, and the way there.
#[derive(Clone)]
pub struct Connection {
    /// `provider/model`, as records name it.
    pub name: String,
    /// The model, as the provider names it.
    pub model: String,
    /// Where it is.
    pub provider: Provider,
    /// How it is asked.
    pub settings: ModelSettings,
    /// Further fields of each request.
    pub parameters: Map<String, Value>,
    /// What opens the provider's door.
    pub key: Option<SecretString>,
    /// The way there.
    pub wire: Arc<Wire>,
}
