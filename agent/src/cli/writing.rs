//! The flags that say who writes a gist, and how.

use clap::Args;

use super::flags::Flags;

/// The writer and its way of working.
#[derive(Debug, Args)]
pub struct Writing {
    /// The writer: offline, human, command/PROGRAM, or PROVIDER/MODEL.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// The scaffold: one of those that `gistify scaffolds` lists.
    #[arg(long, value_name = "NAME")]
    scaffold: Option<String>,
    /// Tools besides the scaffold's, such as trace,slice,execute.
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    with: Vec<String>,
    /// Extent to which a gist of the slicer is made smaller: `learned`, from its own runs, or
    /// `full`, until no statement can be removed by itself, with one run for each.
    #[arg(long, value_name = "HOW")]
    minimize: Option<String>,
    /// The instruction that the writer receives first: base, reading or tracing.
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
}

impl Writing {
    /// The settings that its flags stand for.
    pub fn flags(&self, flags: &mut Flags) {
        flags.text("--model", "writer.model", self.model.as_deref());
        flags.text("--scaffold", "writer.scaffold", self.scaffold.as_deref());
        flags.names("--with", "writer.with", &self.with);
        flags.text("--minimize", "writer.minimize", self.minimize.as_deref());
        flags.text("--strategy", "writer.strategy", self.strategy.as_deref());
    }
}
