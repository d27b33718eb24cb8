//! `gistify config`: all settings as they apply, each with its origin.

use clap::Args;
use serde_json::json;

use super::{Exit, Failure, surroundings::Surroundings};

#[derive(Debug, Args)]
pub struct ConfigCommand {
    /// Print the defaults with their comments, as a file to begin with.
    #[arg(long)]
    defaults: bool,
}

impl ConfigCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let entries = around.config.entries();
        if self.defaults {
            print!("{}", crate::config::DEFAULTS);
        } else if around.json {
            let entries: serde_json::Map<_, _> = entries
                .into_iter()
                .map(|(key, value, origin)| (key, json!({ "value": value, "origin": origin })))
                .collect();
            println!("{:#}", serde_json::Value::Object(entries));
        } else {
            let wide = entries.iter().map(|(key, value, _)| key.len() + value.to_string().len());
            let wide = wide.max().unwrap_or(0).min(60) + 3;
            for (key, value, origin) in entries {
                println!("{:wide$}  # {origin}", format!("{key} = {value}"));
            }
        }
        Ok(Exit::Success)
    }
}
