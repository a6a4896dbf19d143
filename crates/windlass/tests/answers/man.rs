//! Manual pages: each says all that the command's definition says, in its place, in
//! roff that groff takes.
//!
//! What help says is under snapshot (`help.rs`). The pages come from the same
//! definition, so they are held against that, and not kept a second time.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use clap::Arg;

use windlass_testkit::commands::{KnownCommand, commands};
use windlass_testkit::{has, run, told};

/// A page, as one reads it.
struct Page {
    roff: String,
    /// The paragraphs of each section, as lines without what tells roff how to set
    /// them. An option is a paragraph with its help.
    sections: BTreeMap<String, Vec<Vec<String>>>,
}

impl Page {
    fn of(known: &KnownCommand) -> Self {
        let (roff, stderr, code) = told(&run(&format!("man {}", known.path)));
        assert_eq!((stderr.as_str(), code), ("", 0), "{}", known.called());
        let mut sections = BTreeMap::new();
        let mut paragraphs = vec![Vec::new()];
        let mut title = String::new();
        for line in roff.lines() {
            if let Some(next) = line.strip_prefix(".SH ") {
                let next = next.trim_matches('"').to_owned();
                // Options and what is below them may have the same title.
                let of: &mut Vec<_> =
                    sections.entry(std::mem::replace(&mut title, next)).or_default();
                of.extend(std::mem::replace(&mut paragraphs, vec![Vec::new()]));
            } else if line == ".TP" {
                paragraphs.push(Vec::new());
            } else if !line.starts_with('.') {
                paragraphs.last_mut().unwrap().push(read(line));
            }
        }
        sections.entry(title).or_default().extend(paragraphs);
        Self { roff, sections }
    }

    fn section(&self, title: &str) -> &[Vec<String>] {
        self.sections.get(title).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a section has some words, wherever its lines end.
    fn says(&self, title: &str, words: &str) -> bool {
        flat(&self.section(title).concat().join(" ")).contains(&flat(words))
    }

    /// Returns whether a section has exactly this line.
    fn has_line(&self, title: &str, line: &str) -> bool {
        self.section(title).iter().flatten().any(|other| other == line)
    }
}

/// A text whose lines end elsewhere.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of roff without its escapes.
fn read(line: &str) -> String {
    let fonts =
        ["\\fB", "\\fI", "\\fR"].iter().fold(line.to_owned(), |line, font| line.replace(font, ""));
    [("\\-", "-"), ("\\*(Aq", "'"), ("\\&", ""), ("\\e", "\\"), ("\\\\", "\\")]
        .iter()
        .fold(fonts, |line, (escape, sign)| line.replace(escape, sign))
}

/// All that is said of an argument.
fn said_of(argument: &Arg) -> Vec<String> {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string);
    let mut said: Vec<String> = help.into_iter().collect();
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    said.extend(aliases.iter().map(|alias| format!("--{alias}")));
    if !argument.get_action().takes_values() {
        return said;
    }
    said.extend(argument.get_value_names().into_iter().flatten().map(ToString::to_string));
    let defaults = argument.get_default_values();
    if !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        said.push(format!("[default: {}]", defaults.join(" ")));
    }
    if !argument.is_hide_possible_values_set() {
        let values = argument.get_possible_values();
        said.extend(values.iter().filter(|value| !value.is_hide_set()).map(|value| {
            let help = value.get_help().map(|help| format!(": {help}")).unwrap_or_default();
            format!("{}{help}", value.get_name())
        }));
    }
    said
}

/// Check of a page against its command.
struct PageCheck<'a> {
    known: &'a KnownCommand,
    page: &'a Page,
    found: &'a mut Vec<String>,
}

impl PageCheck<'_> {
    fn check(&mut self, section: &str, words: &str) {
        if !self.page.says(section, words) {
            self.found.push(format!("{}: {section}: {words}", self.known.called()));
        }
    }

    /// An argument: its names, and below them all that is said of it.
    fn argument(&mut self, argument: &Arg) {
        let heading = argument.get_help_heading().unwrap_or("Options").to_uppercase();
        let short = argument.get_short().map(|name| format!("-{name}"));
        let long = argument.get_long().map(|name| format!("--{name}"));
        let names: Vec<String> = short.into_iter().chain(long).collect();
        let values = argument.get_value_names().unwrap_or_default();
        let begins = |first: &String| {
            if names.is_empty() {
                let value = values.first().map_or("", |value| value.as_str());
                return !first.starts_with('-') && first.contains(value);
            }
            let words = first.split([',', ' ', '[']);
            words.filter(|word| word.starts_with('-')).eq(names.iter().map(String::as_str))
        };
        let paragraphs = self.page.section(&heading);
        let Some(told) = paragraphs.iter().find(|lines| lines.first().is_some_and(begins)) else {
            self.found.push(format!("{}: {heading}: {names:?} {values:?}", self.known.called()));
            return;
        };
        let told = flat(&told.join(" "));
        for words in said_of(argument) {
            if !told.contains(&flat(&words)) {
                self.found.push(format!("{}: {names:?}: {words}", self.known.called()));
            }
        }
    }

    /// Checks the synopsis: each option, or the command's own text.
    fn synopsis(&mut self) {
        let usage = self.known.command.clone().render_usage().to_string();
        let forms: Vec<&str> =
            usage.strip_prefix("Usage:").unwrap().lines().map(str::trim).collect();
        if forms.iter().all(|form| self.page.says("SYNOPSIS", form)) {
            return;
        }
        self.check("SYNOPSIS", &self.known.called());
        for argument in self.known.arguments() {
            match (argument.get_long(), argument.get_value_names()) {
                (Some(long), _) => self.check("SYNOPSIS", &format!("--{long}")),
                (None, values) => {
                    values
                        .iter()
                        .copied()
                        .flatten()
                        .for_each(|value| self.check("SYNOPSIS", value));
                }
            }
        }
    }

    /// Checks the sections below the options, which a line such as `Examples:` opens.
    fn closing(&mut self, help: &str) {
        let mut section = String::new();
        for line in help.lines().filter(|line| !line.is_empty()) {
            match line.strip_suffix(':') {
                Some(title) if !line.starts_with(' ') => section = title.to_uppercase(),
                _ if line.starts_with(' ') => {
                    let kept = line.strip_prefix("  ").unwrap();
                    let begins = self.page.has_line(&section, kept.trim_start());
                    if !begins && !self.page.has_line(&section, kept) {
                        self.found.push(format!("{}: {section}: {line}", self.known.called()));
                    }
                }
                _ => self.check(&section, line),
            }
        }
    }
}

#[test]
fn every_page_says_what_the_command_line_says() {
    let mut found = Vec::new();
    for known in commands(windlass::cli::command()) {
        let page = Page::of(&known);
        let command = &known.command;
        let name = known.called().replace(' ', "-");
        let version = env!("CARGO_PKG_VERSION");
        let header = format!(".TH {name} 1  \"windlass {version}\" \"User Commands\"");
        assert!(page.roff.contains(&header), "{header}");
        let mut lacks = PageCheck { known: &known, page: &page, found: &mut found };
        let about = command.get_about().unwrap().to_string();
        lacks.check("NAME", &format!("{name} - {about}"));
        lacks.synopsis();
        let long = command.get_long_about().map_or(about, ToString::to_string);
        lacks.check("DESCRIPTION", &long);
        known.arguments().for_each(|argument| lacks.argument(argument));
        for below in known.below() {
            let about = command.find_subcommand(below).unwrap().get_about().unwrap();
            lacks.check("SUBCOMMANDS", &format!("{name}-{below}(1) {about}"));
        }
        let closing = command.get_after_long_help().unwrap().to_string();
        assert!(closing.contains("Examples:"), "{name}");
        lacks.closing(&closing);
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn all_manual_pages_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, stderr, code) = told(&run(&format!("man --dir {}", folder.path().display())));
    assert_eq!((stdout.as_str(), stderr.as_str(), code), ("", "", 0));
    for known in commands(windlass::cli::command()) {
        let file = known.called().replace(' ', "-") + ".1";
        let written = std::fs::read_to_string(folder.path().join(&file)).unwrap();
        assert_eq!(written, Page::of(&known).roff, "{file}");
    }
}

#[test]
fn roff_takes_the_manual_pages() {
    if !has("groff", "roff_takes_the_manual_pages") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for known in commands(windlass::cli::command()) {
        let page = folder.path().join("page.1");
        std::fs::write(&page, Page::of(&known).roff).unwrap();
        let output = Command::new("groff")
            .args(["-man", "-Tutf8", "-Kutf8", "-z", "-wmac"])
            .arg(&page)
            .stdout(Stdio::null())
            .output()
            .unwrap();
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{}: {warnings}", known.called());
    }
}
