//! `windlass completions`: completion scripts.

use clap::{Args, Command};
use clap_complete::Shell;
use windlass_output::Output;

use super::unwritten;

/// The arguments of `windlass completions`.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish")]
pub struct CompletionsArgs {
    /// Shell to complete for
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Runs the command: the script completes the words of `root`.
pub fn run(args: &CompletionsArgs, mut root: Command, output: &mut Output) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut root, "windlass", &mut script);
    output.raw(&script).map_err(unwritten)
}
