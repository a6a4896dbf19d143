//! Commands of the program, from the definition of its command line.

use clap::{Arg, Command};

/// A command of the program.
pub struct KnownCommand {
    /// Words of the command, such as `law window`; empty for the program itself.
    pub path: String,
    /// Command with its arguments and subcommands. The arguments include the global arguments.
    pub command: Command,
}

impl KnownCommand {
    /// Returns the command line that calls the command.
    pub fn called(&self) -> String {
        format!("windlass {}", self.path).trim_end().to_owned()
    }

    /// Returns the arguments that the help shows.
    pub fn arguments(&self) -> impl Iterator<Item = &Arg> {
        self.command.get_arguments().filter(|argument| !argument.is_hide_set())
    }

    /// Returns the names of the direct subcommands that the help shows.
    pub fn below(&self) -> impl Iterator<Item = &str> {
        self.command.get_subcommands().filter(|below| !below.is_hide_set()).map(Command::get_name)
    }
}

/// Returns the root command of a program and all subcommands that the help shows.
pub fn commands(mut root: Command) -> Vec<KnownCommand> {
    fn walk(command: &Command, path: &str, known: &mut Vec<KnownCommand>) {
        known.push(KnownCommand { path: path.to_owned(), command: command.clone() });
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(below, format!("{path} {}", below.get_name()).trim_start(), known);
        }
    }
    root.build();
    let mut known = Vec::new();
    walk(&root, "", &mut known);
    known
}

/// Returns the possible values of an argument.
///
/// Returns no values if the argument takes no value, or accepts any value.
pub fn words(argument: &Arg) -> Vec<String> {
    if !argument.get_action().takes_values() {
        return Vec::new();
    }
    let values = argument.get_possible_values();
    values
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect()
}
