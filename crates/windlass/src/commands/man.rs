//! `windlass man`: manual pages.

use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::{Arg, Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use windlass_base::Failure;
use windlass_output::Output;

use super::unwritten;

/// The arguments of `windlass man`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass man | man -l -
  windlass man law window | man -l -
  windlass man --dir /usr/local/share/man/man1")]
pub struct ManArgs {
    /// Command of the page to print [default: windlass itself]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Write the pages of all commands into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub dir: Option<PathBuf>,
}

/// Runs the command: the pages are those of `root`.
pub fn run(args: &ManArgs, mut root: Command, output: &mut Output) -> anyhow::Result<()> {
    root.build();
    match &args.dir {
        Some(dir) => write_all(&root, dir),
        None => output.raw(&render(find(&root, &args.command)?)).map_err(unwritten),
    }
}

/// Writes the page of a command and of all commands below it.
fn write_all(command: &Command, dir: &Path) -> anyhow::Result<()> {
    let path = dir.join(format!("{}.1", full_name(command)));
    std::fs::write(&path, render(command)).map_err(|error| {
        Failure::new(format!("cannot write the manual page {}", path.display()), error)
            .advise("Give an existing directory that you may write to.")
    })?;
    command.get_subcommands().try_for_each(|below| write_all(below, dir))
}

fn find<'a>(root: &'a Command, path: &[String]) -> Result<&'a Command, Failure> {
    path.iter().try_fold(root, |command, name| {
        command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let advice = if known.is_empty() {
                format!("{} has no commands of its own.", command.get_name())
            } else {
                format!("The commands of {} are {}.", command.get_name(), known.join(", "))
            };
            let doing = format!("cannot print the page of {}", path.join(" "));
            Failure::usage(doing, format!("there is no command {name}")).advise(advice)
        })
    })
}

fn render(command: &Command) -> Vec<u8> {
    let mut page = Vec::new();
    let closing = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let told = command.clone().after_long_help(Resettable::Reset).mut_args(with_other_names);
    let written = Man::new(told)
        .title(full_name(command))
        .source(concat!("windlass ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands")
        .render(&mut page)
        .and_then(|()| sections(&closing).to_writer(&mut page));
    debug_assert!(written.is_ok(), "memory takes all that is written");
    page
}

/// Adds the other names of an argument to its help: clap prints them, and `clap_mangen` leaves them
/// out.
fn with_other_names(argument: Arg) -> Arg {
    // A page is the long help.
    let argument = argument.hide_short_help(false);
    let names: Vec<String> = argument
        .get_visible_aliases()
        .into_iter()
        .flatten()
        .map(|name| format!("\n\n[alias: --{name}]"))
        .collect();
    if names.is_empty() {
        return argument;
    }
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    argument.long_help(help + &names.concat())
}

/// Formats the end of a command's help as sections of a page. A line such as `Examples:` opens a
/// section; indented lines keep their form, and the rest is filled.
fn sections(help: &str) -> Roff {
    let mut roff = Roff::new();
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        if line.starts_with(' ') {
            roff.control("PP", []).control("nf", []);
            roff.text([roman(line.trim_start())]);
            while let Some(more) = lines.next_if(|more| more.starts_with(' ')) {
                roff.text([roman(more.strip_prefix("  ").unwrap_or(more))]);
            }
            roff.control("fi", []);
        } else if let Some(title) = line.strip_suffix(':') {
            roff.control("SH", [title.to_uppercase().as_str()]);
        } else {
            roff.control("PP", []).text([roman(line)]);
        }
    }
    roff
}

/// Returns the full name, such as `windlass-law-window`.
fn full_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}
