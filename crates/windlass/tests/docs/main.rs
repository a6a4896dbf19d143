//! The documentation holds: links lead somewhere, paths are there, commands
//! parse, the pictures of the README show what the program makes, and the pages
//! on judging have the rules of the code.
//!
//! `cargo test -p windlass --test docs -- --ignored write_pictures` makes the
//! pictures again, `write_limits` the tables of rules and thresholds, `write_benchmarks` the
//! headline figures of the benches.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod architecture;
mod benches;
mod judging;
mod running;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use windlass_testkit::{repository, windlass};
use windlass_wire::LinkType;

/// The capture that the README explains.
const EXPLAINED: &str = "tests/corpus/receiver-window-ack-latency.snd.pcap.gz";

/// The capture that it shows charts of.
const CHARTED: &str = "tests/corpus/zero-window-device-stall.snd.pcap.gz";

const PICTURES: [&str; 2] = ["docs/explain.svg", "docs/report.svg"];

/// The beginnings of lines that may run windlass or cargo.
const STARTS: [&str; 6] = ["windlass ", "sudo windlass ", "cargo ", "tcpdump ", "curl ", "podman "];

/// The most bytes of pages that have to stay short.
const SHORT_PAGES: [(&str, u64); 5] = [
    ("README.md", 10_000),
    ("CHANGELOG.md", 12_000),
    ("CONTRIBUTING.md", 10_000),
    ("docs/limits.md", 20_000),
    ("docs/benchmarks.md", 12_000),
];

/// The pages in `docs` that are written from the code, and the most bytes of all others together.
const GENERATED: [&str; 3] = ["rules.md", "tables.md", "thresholds.md"];
const MOST_OF_ALL: u64 = 324_000;

/// Top folders of paths in the text.
const FOLDERS: [&str; 10] = [
    "archive/",
    "crates/",
    "docs/",
    "fuzz/",
    "packaging/",
    "python/",
    "schemas/",
    "scripts/",
    "tests/corpus",
    ".ci/",
];

/// A page of the repository.
struct Document {
    path: PathBuf,
    text: String,
}

/// Checked parts of a page.
#[derive(Default)]
struct Parts {
    links: Vec<String>,
    /// Texts in backticks.
    code: Vec<String>,
    /// The lines of code blocks that are no other language.
    lines: Vec<String>,
    /// Link targets of headings.
    anchors: BTreeSet<String>,
}

impl Document {
    fn name(&self) -> String {
        let root = repository("").canonicalize().unwrap();
        let path = self.path.canonicalize().unwrap();
        path.strip_prefix(root).unwrap().display().to_string()
    }

    fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let (mut heading, mut shell) = (None::<String>, None::<String>);
        for event in Parser::new_ext(&self.text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    parts.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    parts.anchors.extend(heading.take().map(|text| anchor(&text)));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let is_shell = match kind {
                        CodeBlockKind::Indented => true,
                        CodeBlockKind::Fenced(language) => {
                            matches!(&*language, "" | "sh" | "console")
                        }
                    };
                    shell = is_shell.then(String::new);
                }
                Event::End(TagEnd::CodeBlock) => {
                    let whole = shell.take().unwrap_or_default().replace("\\\n", " ");
                    parts.lines.extend(whole.lines().map(str::to_owned));
                }
                Event::Code(code) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&code);
                    }
                    parts.code.push(code.into_string());
                }
                Event::Text(text) => {
                    if let Some(whole) = heading.as_mut().or(shell.as_mut()) {
                        whole.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        parts
    }
}

/// Returns GitHub's anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|one| one.is_alphanumeric() || " -_".contains(*one));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// All pages of the repository.
fn documents() -> Vec<Document> {
    let mut found = Vec::new();
    let mut folders = vec![repository("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Document { path, text });
            }
        }
    }
    assert!(found.len() > 30, "{} pages", found.len());
    found
}

/// Fails with everything that is wrong.
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for document in documents() {
        for link in document.parts().links {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => document.path.clone(),
                path => document.path.parent().unwrap().join(path),
            };
            if !target.exists() {
                wrong.push(format!("{}: {link} is not there", document.name()));
            } else if !anchor.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                if !(Document { path: target, text }).parts().anchors.contains(anchor) {
                    wrong.push(format!("{}: {link} is no heading", document.name()));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn paths_are_there() {
    let mut wrong = Vec::new();
    // What was is told of in the past's words.
    for document in documents().into_iter().filter(|one| one.name() != "CHANGELOG.md") {
        for code in document.parts().code {
            let path = code.split("::").next().unwrap_or_default();
            let is_path = FOLDERS.iter().any(|folder| path.starts_with(folder))
                && !path.contains(|one: char| " <>*{}…".contains(one));
            if is_path && !repository(path).exists() {
                wrong.push(format!("{}: {code} is not there", document.name()));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn short_pages_stay_short() {
    for (page, most) in SHORT_PAGES {
        let bytes = fs::metadata(repository(page)).unwrap().len();
        assert!(bytes <= most, "{page} has {bytes} bytes, of {most}");
    }
}

#[test]
fn all_pages_together_stay_short() {
    let mut bytes = 0;
    for entry in fs::read_dir(repository("docs")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && !GENERATED.contains(&name.as_str()) {
            bytes += entry.metadata().unwrap().len();
        }
    }
    assert!(bytes <= MOST_OF_ALL, "the pages in docs have {bytes} bytes, of {MOST_OF_ALL}");
}

#[test]
fn each_page_and_each_decision_is_listed() {
    let mut wrong = Vec::new();
    for (folder, list) in [
        ("docs", "docs/README.md"),
        ("docs/decisions", "docs/decisions/README.md"),
        ("docs/development", "CONTRIBUTING.md"),
    ] {
        let text = fs::read_to_string(repository(list)).unwrap();
        let listed = Document { path: repository(list), text }.parts().links;
        for entry in fs::read_dir(repository(folder)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let is_page = Path::new(&name).extension().is_some_and(|end| end == "md");
            if is_page && name != "README.md" && !listed.iter().any(|link| link.contains(&name)) {
                wrong.push(format!("{list} does not link to {folder}/{name}"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn each_link_type_that_is_read_has_its_number_on_the_page() {
    let page = fs::read_to_string(repository("docs/captures.md")).unwrap();
    let part = page.split("## Link types").nth(1).unwrap().split("\n###").next().unwrap();
    let last = |row: &str| row.split('|').nth_back(1).unwrap_or_default().to_owned();
    let numbers = part.lines().map(last).flat_map(|cell| {
        cell.split(',').filter_map(|number| number.trim().parse().ok()).collect::<Vec<u16>>()
    });
    let listed: BTreeSet<u16> = numbers.collect();
    let read: BTreeSet<u16> = LinkType::READ.iter().map(|link| link.0).collect();
    assert_eq!(listed, read);
}

#[test]
fn commands_parse() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents().into_iter().filter(|one| one.name() != "CHANGELOG.md") {
        let parts = document.parts();
        let lines = parts.lines.iter().map(|line| (line, true));
        for (line, is_whole) in lines.chain(parts.code.iter().map(|code| (code, false))) {
            let text = line.trim_start().trim_start_matches("$ ");
            let program = text.split(' ').next().unwrap_or_default();
            if is_whole && program.starts_with("scripts/") && !repository(program).exists() {
                wrong.push(format!("{}: {program} is not there", document.name()));
            }
            if !STARTS.iter().any(|start| text.starts_with(start)) {
                continue;
            }
            // A table's cell escapes what would end it.
            let Some(words) = shlex::split(&text.replace("\\|", "|")) else {
                wrong.push(format!("{}: {line}: quotes do not match", document.name()));
                continue;
            };
            for command in commands(&words) {
                count += 1;
                if let Err(why) = parses(command, is_whole) {
                    wrong.push(format!("{}: {}: {why}", document.name(), command.join(" ")));
                }
            }
            for missing in targets(&words) {
                wrong.push(format!("{}: {line}: there is no {missing}", document.name()));
            }
        }
    }
    assert!(count > 100, "{count} commands were found");
    assert_none(&wrong);
}

/// The commands of windlass in a line: at its beginning, behind a pipe, and behind
/// `--`, `sudo` and the name of an image.
fn commands(words: &[String]) -> Vec<&[String]> {
    let ends = |word: &String| ["|", "||", "&&", "&", ";", ">", "<", "2>"].contains(&word.as_str());
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| words[before].as_str());
        let is_run = before == Some("--")
            && words[0] == "cargo"
            && words[1] == "run"
            && !words[..place].iter().any(|word| word == "--example" || word == "-p");
        let is_named =
            word == "windlass" && matches!(before, None | Some("|" | "--" | "&&" | "sudo"));
        // A container's program is windlass.
        let is_contained = word == "IMAGE" && words[0] == "podman";
        if is_run || is_named || is_contained {
            let from = if is_run { place } else { place + 1 };
            let length = words[from..].iter().position(ends).unwrap_or(words.len() - from);
            found.push(&words[from..from + length]);
        }
    }
    found
}

/// Parses a command line. A text within a sentence may be the name of a command or of an option
/// alone.
fn parses(words: &[String], is_whole: bool) -> Result<(), String> {
    let command = windlass::cli::command();
    let all = std::iter::once("windlass").chain(words.iter().map(String::as_str));
    let is_capture = |word: &OsString| word.to_string_lossy().contains(".pcap");
    let all = windlass::cli::translated(all.map(OsString::from).collect(), &command, is_capture);
    let Err(error) = command.try_get_matches_from(all) else { return Ok(()) };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(()),
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if !is_whole =>
        {
            Ok(())
        }
        // The option that is spoken of, without its value.
        ErrorKind::InvalidValue
            if !is_whole && words.last().is_some_and(|last| last.starts_with("--")) =>
        {
            Ok(())
        }
        _ => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

/// The benches, tests and examples that a line names and that are not there.
fn targets(words: &[String]) -> Vec<String> {
    let mut crates: Vec<PathBuf> =
        fs::read_dir(repository("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.push(repository("archive"));
    let of = |flag: &str, folder: &str| {
        let named = words.windows(2).filter(|two| two[0] == flag).map(|two| two[1].clone());
        let is_there = |name: &String| {
            crates.iter().any(|one| {
                let place = one.join(folder);
                let files = [format!("{name}.rs"), format!("{name}/main.rs")];
                files.iter().any(|file| place.join(file).exists())
            })
        };
        named.filter(|name| !is_there(name)).map(|name| format!("{folder}/{name}")).collect()
    };
    let all: [Vec<String>; 3] =
        [of("--bench", "benches"), of("--test", "tests"), of("--example", "examples")];
    all.concat()
}

/// Returns the program's output on a terminal, as a picture.
fn explained() -> String {
    let output = windlass()
        .current_dir(repository(""))
        .args(["--color", "always", "explain", EXPLAINED])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let screen = format!("\x1b[2m$\x1b[0m \x1b[1mwindlass explain {EXPLAINED}\x1b[0m\n{printed}");
    anstyle_svg::Term::new().render_svg(&screen)
}

/// Two charts of a report.
fn charted() -> String {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("report.svg");
    let output = windlass()
        .current_dir(repository(""))
        .args(["report", CHARTED, "--chart", "throughput", "--chart", "sequence", "-o"])
        .arg(&to)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(to).unwrap()
}

#[test]
fn the_pictures_show_what_the_program_makes() {
    let again = "cargo test -p windlass --test docs -- --ignored write_pictures";
    for (file, made) in PICTURES.iter().zip([explained(), charted()]) {
        let kept = fs::read_to_string(repository(file)).unwrap_or_default();
        assert!(kept == made, "{file} shows something else; to make it again: {again}");
    }
}

#[test]
#[ignore = "it writes into the repository"]
fn write_pictures() {
    for (file, made) in PICTURES.iter().zip([explained(), charted()]) {
        fs::write(repository(file), made).unwrap();
    }
}
