//! `gistify man`: the manual page, as roff on standard output.

use clap::Args;

use super::{Exit, Failure, OrExit};

#[derive(Debug, Args)]
pub struct Man {
    /// The subcommand that it describes, such as `run` or `issues solve` [default: the whole program].
    subcommand: Vec<String>,
}

impl Man {
    pub fn act(self) -> Result<Exit, Failure> {
        let mut command = super::command();
        command.build();
        let whole = self.subcommand.is_empty();
        for name in &self.subcommand {
            command = command.find_subcommand(name).cloned().ok_or_else(|| {
                let message = format!("no subcommand {name:?} (`gistify help` lists all)");
                Failure::new(Exit::Usage, message)
            })?;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).or_exit(Exit::Infrastructure)?;
        if whole {
            for (_, title, text) in super::help::topics() {
                page.extend(section(title, text).bytes());
            }
        }
        print!("{}", String::from_utf8_lossy(&page));
        Ok(Exit::Success)
    }
}

/// A topic as a section of the page: its lines as they are.
fn section(title: &str, text: &str) -> String {
    let lines = text.lines().skip(1).map(|line| match line.replace('\\', "\\e") {
        // A line that begins with a dot or a quote is a request to the formatter.
        line if line.starts_with(['.', '\'']) => format!("\\&{line}\n"),
        line => format!("{line}\n"),
    });
    format!(
        ".SH \"{}\"\n.nf\n{}.fi\n",
        title.to_uppercase().replace('"', "'"),
        lines.collect::<String>()
    )
}
