//! The `gistify` command: everything it does is in `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gistify::command_line(std::env::args_os())
}
