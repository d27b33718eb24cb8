//! Rebuilds the crate when an embedded file changes: a macro that reads a directory cannot say so.

fn main() {
    for directory in ["../prompts", "../configs", "help"] {
        println!("cargo::rerun-if-changed={directory}");
    }
}
