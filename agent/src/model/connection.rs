//! Everything needed to query one model of one provider, for one session.
//!
//! It is data; the protocols have their own files.

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
    /// The provider.
    pub provider: Provider,
    /// The settings of the model.
    pub settings: ModelSettings,
    /// Further fields of each request.
    pub parameters: Map<String, Value>,
    /// The API key.
    pub key: Option<SecretString>,
    /// The way there.
    pub wire: Arc<Wire>,
}
