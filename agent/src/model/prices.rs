//! Computes the price of an answer from a table of prices per token. A model missing from the table
//! is unpriced, which is not the same as free.

use std::{fs, path::Path};

use serde::Deserialize;
use toml::{Table, Value};

use crate::message::TokenUsage;

/// The embedded table.
const PRICES: &str = include_str!("../../../configs/models/prices.toml");

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    input: f64,
    output: f64,
    /// Read from the provider's cache.
    cached: f64,
    /// Put into the provider's cache; where it is not given, as any other input.
    stored: Option<f64>,
    /// Put there for an hour; where it is not given, twice the price of input, as Anthropic has it.
    stored_hour: Option<f64>,
}

impl Price {
    /// The price of a model: of `provider/model`, in the user's table or else in ours.
    ///
    /// # Errors
    /// The user's table cannot be read.
    pub fn of(name: &str, more: Option<&Path>) -> Result<Option<Self>, String> {
        let ours: Table = PRICES.parse().expect("configs/models/prices.toml is checked by a test");
        let theirs = match more {
            None => Table::new(),
            Some(path) => fs::read_to_string(path)
                .map_err(|error| error.to_string())
                .and_then(|text| text.parse().map_err(|error: toml::de::Error| error.to_string()))
                .map_err(|reason| {
                    format!("read prices {}: {}", path.display(), reason.trim_end())
                })?,
        };
        let entry: Option<&Value> = theirs.get(name).or_else(|| ours.get(name));
        entry
            .map(|entry| entry.clone().try_into())
            .transpose()
            .map_err(|error: toml::de::Error| format!("price of {name}: {}", error.message()))
    }

    /// The price of an answer.
    pub fn cost(&self, usage: TokenUsage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cached).saturating_sub(usage.stored);
        let stored = self.stored.unwrap_or(self.input);
        let sum = plain as f64 * self.input
            + usage.cached as f64 * self.cached
            + usage.stored.saturating_sub(usage.stored_hour) as f64 * stored
            + usage.stored_hour.min(usage.stored) as f64
                * self.stored_hour.unwrap_or(2.0 * self.input)
            + usage.output as f64 * self.output;
        sum / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_can_be_read() {
        let table: Table = PRICES.parse().unwrap();
        for name in table.keys() {
            assert!(Price::of(name, None).unwrap().is_some(), "{name}");
        }
    }

    #[test]
    fn a_model_without_a_price_is_unpriced() {
        assert_eq!(Price::of("ollama/anything", None), Ok(None));
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price =
            Price { input: 2.0, output: 8.0, cached: 0.5, stored: Some(2.5), stored_hour: None };
        let usage = TokenUsage {
            input: 3_000_000,
            output: 1_000_000,
            cached: 1_000_000,
            stored: 1_000_000,
            ..TokenUsage::default()
        };
        assert!((price.cost(usage) - 13.0).abs() < 1e-9);
        let usage = TokenUsage { stored_hour: 500_000, ..usage };
        assert!((price.cost(usage) - 13.75).abs() < 1e-9);
    }
}
