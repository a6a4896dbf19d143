//! `windlass completions`: completion scripts.

use clap::Args;
use clap_complete::Shell;

use super::unwritten;
use crate::cli;
use crate::print::Output;

/// The arguments of `windlass completions`.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_long_help = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// Where the script cannot be written.
pub fn run(args: &CompletionsArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "windlass", &mut script);
    output.raw(&script).map_err(unwritten)
}
