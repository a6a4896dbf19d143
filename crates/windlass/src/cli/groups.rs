//! The groups of commands in the help.

use clap::Command;

/// The groups, and the commands of each.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Explain a capture", &["explain", "show", "report", "capture", "archive", "extcap"]),
    ("Measure a path", &["send", "serve", "sweep", "ping", "top", "watch", "law"]),
    ("Emulate", &["lab", "device", "link"]),
    ("Print", &["print", "spool"]),
    ("Keep and serve", &["runs", "ui", "exporter"]),
    ("More", &["completions", "man"]),
];

/// Returns the help of the program as a template of clap, with the commands in groups.
pub(super) fn template(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (purpose, names) in GROUPS {
        let present = names.iter().filter_map(|name| command.find_subcommand(name));
        let lines: Vec<String> = present
            .map(|known| {
                let about = known.get_about().map(ToString::to_string).unwrap_or_default();
                format!("  {literal}{:<12}{literal:#} {about}\n", known.get_name())
            })
            .collect();
        if !lines.is_empty() {
            text.push_str(&format!("\n{header}{purpose}:{header:#}\n{}", lines.concat()));
        }
    }
    text.push_str("\nwindlass help COMMAND shows its help; windlass FILE explains a capture.\n");
    text.push_str("\n{options}{after-help}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let command = crate::cli::command();
        for known in command.get_subcommands().filter(|known| !known.is_hide_set()) {
            let named = GROUPS.iter().flat_map(|(_, names)| *names);
            assert_eq!(named.filter(|name| **name == known.get_name()).count(), 1, "{known}");
        }
    }
}
