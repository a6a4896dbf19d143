//! The commands of the program, as its command line knows them.

use clap::{Arg, Command};

/// A command.
pub struct KnownCommand {
    /// As it is called: `law window`; empty for the program itself.
    pub path: String,
    /// Its arguments and the commands below it, those of all commands included.
    pub command: Command,
}

impl KnownCommand {
    /// The words that call it.
    pub fn called(&self) -> String {
        format!("windlass {}", self.path).trim_end().to_owned()
    }

    /// Its arguments that help tells of.
    pub fn arguments(&self) -> impl Iterator<Item = &Arg> {
        self.command.get_arguments().filter(|argument| !argument.is_hide_set())
    }

    /// The commands right below it, by name.
    pub fn below(&self) -> impl Iterator<Item = &str> {
        self.command.get_subcommands().filter(|below| !below.is_hide_set()).map(Command::get_name)
    }
}

/// Every command: a new one is here by itself.
pub fn commands() -> Vec<KnownCommand> {
    fn walk(command: &Command, path: &str, known: &mut Vec<KnownCommand>) {
        known.push(KnownCommand { path: path.to_owned(), command: command.clone() });
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            walk(below, format!("{path} {}", below.get_name()).trim_start(), known);
        }
    }
    let mut root = windlass::cli::command();
    root.build();
    let mut known = Vec::new();
    walk(&root, "", &mut known);
    known
}

/// The words that an argument takes, where it takes no others.
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
