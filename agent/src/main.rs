//! The `gistify` command.

fn main() {}
