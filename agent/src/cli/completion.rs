//! `gistify completion`: a completion script on standard output.

use clap::Args;
use clap_complete::Shell;

use super::{Exit, Failure};

#[derive(Debug, Args)]
pub struct Completion {
    /// The shell.
    shell: Shell,
}

impl Completion {
    pub fn act(self) -> Result<Exit, Failure> {
        print!("{}", script(self.shell));
        Ok(Exit::Success)
    }
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "gistify", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of all subcommands and long options, at each depth.
    fn names(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(clap::Arg::get_long).map(str::to_owned);
        let inner = command.get_subcommands();
        own.chain(inner.flat_map(|one| [vec![one.get_name().to_owned()], names(one)].concat()))
            .collect()
    }

    #[test]
    fn scripts_complete_every_subcommand_and_option() {
        let mut command = super::super::command();
        command.build();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            let missing: Vec<String> = names(&command)
                .into_iter()
                .filter(|name| !script.contains(name.as_str()))
                .collect();
            assert_eq!(missing, Vec::<String>::new(), "{shell}");
        }
    }
}
