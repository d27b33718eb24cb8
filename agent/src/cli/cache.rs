//! `gistify cache`: what is kept on disk, and its removal.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use tools::{Cache as Store, CacheEntry, Prune};

use super::{
    Exit, Failure, OrExit,
    progress::{printable, size},
    surroundings::Surroundings,
};

#[derive(Debug, Args)]
pub struct CacheCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List downloads, repositories, environments and answers of servers with their sizes.
    List,
    /// Delete what is not in use.
    Prune(Rules),
}

#[derive(Debug, Args)]
struct Rules {
    /// Only what was not used for so many days [default: everything].
    #[arg(long, value_name = "DAYS")]
    days: Option<u32>,
    /// Only the longest unused, until so much is left.
    #[arg(long, value_name = "MIB")]
    mib: Option<u64>,
}

impl CacheCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let store = around.store()?;
        match self.action {
            Action::List => list(store, around.json),
            Action::Prune(rules) => prune(store, &rules, around.json),
        }
    }
}

fn list(store: &Store, json: bool) -> Result<Exit, Failure> {
    let entries = store.list().or_exit(Exit::Infrastructure)?;
    if json {
        println!("{:#}", json!({ "directory": store.root(), "entries": entries }));
    } else {
        for entry in &entries {
            println!("{}", line(entry));
        }
        println!(
            "{:>9}  in {}",
            size(entries.iter().map(|entry| entry.bytes).sum()),
            store.root().display()
        );
    }
    Ok(Exit::Success)
}

fn prune(store: &Store, rules: &Rules, json: bool) -> Result<Exit, Failure> {
    let all = rules.days.is_none() && rules.mib.is_none();
    let day = Duration::from_secs(24 * 60 * 60);
    let rules = Prune {
        unused_for: if all { Some(Duration::ZERO) } else { rules.days.map(|days| day * days) },
        max_bytes: rules.mib.map(|mib| mib.saturating_mul(1 << 20)),
        kinds: Vec::new(),
    };
    let pruned = store.prune(&rules).or_exit(Exit::Infrastructure)?;
    if json {
        println!("{:#}", json!({ "removed": pruned.removed, "in_use": pruned.in_use }));
    } else {
        for entry in &pruned.removed {
            println!("{}", line(entry));
        }
        let bytes = pruned.removed.iter().map(|entry| entry.bytes).sum();
        let left = match pruned.in_use.len() {
            0 => String::new(),
            n => format!(" ({n} in use stay)"),
        };
        println!("{:>9}  removed{left}", size(bytes));
    }
    Ok(Exit::Success)
}

fn line(entry: &CacheEntry) -> String {
    let torn = if entry.complete { "" } else { " (incomplete)" };
    format!("{:>9}  {}{torn}", size(entry.bytes), printable(&entry.label))
}
