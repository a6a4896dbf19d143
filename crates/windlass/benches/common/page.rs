//! The page that the benches write: `docs/benchmarks.md`.
//!
//! A bench has one section of it, between `<!-- bench:NAME -->` and
//! `<!-- /bench:NAME -->`. There its parts stand in their order, and above them
//! the facts of their run. All else of the page is written by hand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How a line of facts begins.
pub(super) const FACTS: &str = "Measured on";

/// A part in the page: its facts, its name and its text.
struct Piece {
    facts: String,
    name: String,
    text: String,
}

fn page() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let place = folders.find(|folder| folder.join("docs").is_dir()).unwrap_or(Path::new("."));
    place.join("docs/benchmarks.md")
}

/// The page before a bench's section, in it, and behind it.
pub(super) fn section(bench: &str) -> io::Result<[String; 3]> {
    let text = fs::read_to_string(page())?;
    let [open, close] = [format!("<!-- bench:{bench} -->\n"), format!("<!-- /bench:{bench} -->\n")];
    let parts = text.split_once(&open).and_then(|(before, rest)| {
        let (own, behind) = rest.split_once(&close)?;
        Some([format!("{before}{open}"), own.to_owned(), format!("{close}{behind}")])
    });
    parts.ok_or_else(|| {
        io::Error::other(format!("docs/benchmarks.md has no section of {bench}: {}", open.trim()))
    })
}

/// Puts parts into a bench's section: in place of all that is there, or where the
/// run `is_whole` not in place of those of the same names.
pub(super) fn write(
    bench: &str,
    known: &[&str],
    is_whole: bool,
    facts: &str,
    told: impl Iterator<Item = (&'static str, String)>,
) -> io::Result<()> {
    let [before, own, behind] = section(bench)?;
    let mut pieces: Vec<Piece> = told
        .map(|(name, text)| Piece { facts: facts.to_owned(), name: name.to_owned(), text })
        .collect();
    if !is_whole {
        let kept = pieces_of(&own).into_iter();
        let kept = kept.filter(|old| pieces.iter().all(|new| new.name != old.name));
        let kept: Vec<Piece> = kept.collect();
        pieces.extend(kept);
        let place = |name: &str| known.iter().position(|known| *known == name);
        pieces.sort_by_key(|piece| place(&piece.name));
    }
    let (mut text, mut last) = (before, "");
    for piece in &pieces {
        if piece.facts != last {
            text.push_str(&format!("\n{}\n", piece.facts));
            last = &piece.facts;
        }
        text.push_str(&format!("\n### {}\n\n{}\n", piece.name, piece.text.trim()));
    }
    text.push('\n');
    text.push_str(&behind);
    fs::write(page(), text)
}

fn pieces_of(section: &str) -> Vec<Piece> {
    let (mut pieces, mut facts) = (Vec::<Piece>::new(), "");
    for line in section.lines() {
        if line.starts_with(FACTS) {
            facts = line;
        } else if let Some(name) = line.strip_prefix("### ") {
            let (facts, name) = (facts.to_owned(), name.to_owned());
            pieces.push(Piece { facts, name, text: String::new() });
        } else if let Some(piece) = pieces.last_mut() {
            piece.text.push_str(line);
            piece.text.push('\n');
        }
    }
    pieces
}
