//! `gistify scaffolds`: the ways in which a model can work.

use clap::Args;
use serde_json::json;

use super::{Exit, Failure, surroundings::Surroundings};
use crate::config::scaffolds;

#[derive(Debug, Args)]
pub struct Scaffolds;

impl Scaffolds {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let all = scaffolds();
        if around.json {
            let entry = |scaffold: &crate::config::Scaffold| {
                json!({
                    "name": scaffold.name,
                    "description": scaffold.description,
                    "settings": scaffold.settings,
                })
            };
            println!("{:#}", all.iter().map(entry).collect::<serde_json::Value>());
        } else {
            let wide = all.iter().map(|scaffold| scaffold.name.len()).max().unwrap_or(0);
            for scaffold in all {
                println!("{:wide$}  {}", scaffold.name, scaffold.description);
            }
        }
        Ok(Exit::Success)
    }
}
