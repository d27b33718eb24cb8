//! `gistify help`: the help of a command, or the text of a topic.
//!
//! Topics are the reference of the program: files in `agent/help`, whose first line is their title. The
//! manual page has them as well. A topic with the name of a command is printed after that command's help.

use clap::Args;
use include_dir::{Dir, include_dir};

use super::{Exit, Failure};

static TOPICS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/help");

#[derive(Debug, Args)]
pub struct Help {
    /// A command, or a topic.
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

impl Help {
    pub fn act(self) -> Result<Exit, Failure> {
        let mut command = super::command();
        command.build();
        let mut at = &mut command;
        for word in &self.words {
            let Some(inner) = at.find_subcommand_mut(word) else { return topic(&self.words) };
            at = inner;
        }
        print!("{}", at.render_long_help());
        // A topic may have the name of a command.
        let name = self.words.join(" ");
        if let Some((_, _, text)) = topics().into_iter().find(|(topic, ..)| *topic == name) {
            print!("\n{text}");
        }
        if self.words.is_empty() {
            print!("\nTopics (gistify help TOPIC):\n{}", table());
        }
        Ok(Exit::Success)
    }
}

/// The name, title and text of each topic, by name.
pub fn topics() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut topics: Vec<_> = TOPICS
        .files()
        .filter_map(|file| {
            let text = file.contents_utf8()?;
            let title = text.lines().next()?.trim_start_matches("# ");
            Some((file.path().file_stem()?.to_str()?, title, text))
        })
        .collect();
    topics.sort_unstable();
    topics
}

/// Returns the known word most similar to `word`, if their Jaro-Winkler similarity exceeds 0.8.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::jaro_winkler(word, known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

fn topic(words: &[String]) -> Result<Exit, Failure> {
    let topics = topics();
    let word = words.join(" ");
    let Some((_, _, text)) = topics.iter().find(|(name, ..)| *name == word) else {
        let hint = nearest(&word, topics.iter().map(|(name, ..)| *name)).map_or_else(
            || "`gistify help` lists both".to_owned(),
            |name| format!("did you mean {name}?"),
        );
        let message = format!("no command and no topic {word:?} ({hint})");
        return Err(Failure::new(Exit::Usage, message));
    };
    print!("{text}");
    Ok(Exit::Success)
}

/// A line for each topic.
fn table() -> String {
    let topics = topics();
    topics.iter().map(|(name, title, _)| format!("  {name:<12}  {title}\n")).collect()
}
