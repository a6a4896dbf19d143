//! Names of files that tell a place and a time: `{site}/{date}/*`.

use std::borrow::Cow;
use std::path::Path;

use crate::captures;
use crate::column::{Column, Get};
use crate::date::Date;
use crate::rows::{CaptureRow, FileNameFields};

/// Name of the field that is a date.
const DATE: &str = "date";

/// Maximum number of fields, far more than names have parts.
const MOST_FIELDS: usize = 64;

/// A piece of the pattern of one part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    Literal(&'a str),
    /// Any text, even an empty one: `*`.
    Any,
    /// The field of this name: any text that is not empty.
    Field(&'a str),
}

/// A field of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathField(String);

impl PathField {
    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns whether the field is a date.
    pub fn is_date(&self) -> bool {
        self.0 == DATE
    }
}

/// The form of files' names: the last parts of a path must match, or all of them if the pattern
/// begins with `/`. `*` stands for any text within a part. `{name}` stands for a field, which takes
/// as little as fits; `{date}` takes a date only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    fields: Vec<PathField>,
}

/// Returns the columns of `captures`, followed by the fields of a pattern.
pub(crate) fn columns(pattern: Option<&PathPattern>) -> Vec<Column<CaptureRow>> {
    let mut columns = captures::own();
    for (place, field) in pattern.into_iter().flat_map(PathPattern::fields).enumerate() {
        columns.push(if field.is_date() {
            let date =
                |row: &CaptureRow, place| row.taken.as_ref().and_then(|taken| taken.date(place));
            Column::own(field.name().to_owned(), OF_NAME, Get::DateAt(place, date))
        } else {
            Column::own(field.name().to_owned(), OF_NAME, Get::TextAt(place, text_at))
        });
    }
    columns
}

fn text_at(row: &CaptureRow, place: usize) -> Option<Cow<'_, str>> {
    row.taken.as_ref().and_then(|taken| taken.text(place)).map(Cow::Borrowed)
}

const OF_NAME: &str = "What the file's name has there; null where it does not match.";

/// Returns the pieces of a part, or the reason why it is wrong.
fn pieces(part: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = part;
    while !rest.is_empty() {
        let at = rest.find(['*', '{', '}']).unwrap_or(rest.len());
        let (literal, behind) = rest.split_at(at);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        let open = match behind.bytes().next() {
            None => break,
            Some(b'}') => return Err(format!("{part:?} closes a brace that it did not open")),
            Some(b'*') => {
                pieces.push(Piece::Any);
                rest = &behind[1..];
                None
            }
            Some(_) => Some(&behind[1..]),
        };
        if let Some(open) = open {
            let closed = open.split_once('}');
            let (name, behind) =
                closed.ok_or_else(|| format!("{part:?} does not close its brace"))?;
            pieces.push(Piece::Field(name));
            rest = behind;
        }
    }
    let is_open = |piece: &Piece<'_>| !matches!(piece, Piece::Literal(_));
    if pieces.windows(2).any(|two| two.iter().all(is_open)) {
        let wrong = "has two fields or * beside each other, and nothing tells where one ends";
        return Err(format!("{part:?} {wrong}"));
    }
    Ok(pieces)
}

/// Checks that a name can be that of a column.
fn check_name(name: &str) -> Result<(), String> {
    let mut letters = name.bytes();
    let begins = letters.next().is_some_and(|first| first.is_ascii_lowercase());
    if !begins || !letters.all(|one| matches!(one, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
        let form = "small letters, digits and _, with a letter first";
        return Err(format!("{{{name}}} cannot be a column: its name has {form}"));
    }
    if captures::own().iter().any(|column| column.name == name) {
        return Err(format!("captures has a column {name} already"));
    }
    Ok(())
}

impl std::str::FromStr for PathPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut fields: Vec<PathField> = Vec::new();
        for part in parts(text) {
            for piece in pieces(part)? {
                let Piece::Field(name) = piece else { continue };
                check_name(name)?;
                if fields.iter().any(|field| field.0 == name) {
                    return Err(format!("it has {{{name}}} twice"));
                }
                fields.push(PathField(name.to_owned()));
            }
        }
        match fields.len() {
            0 => Err("it has no field, as {site}".to_owned()),
            MOST_FIELDS.. => Err(format!("it has more than {MOST_FIELDS} fields")),
            _ => Ok(Self { text: text.to_owned(), fields }),
        }
    }
}

/// Returns the parts of a path.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

impl PathPattern {
    /// Returns its fields, in their order.
    pub fn fields(&self) -> &[PathField] {
        &self.fields
    }

    /// Returns the values of the fields in a file's name; `None` if the name does not match.
    pub fn take(&self, file: &Path) -> Option<FileNameFields> {
        let file = file.to_string_lossy();
        let (wanted, there) = (parts(&self.text), parts(&file));
        let before = there.len().checked_sub(wanted.len())?;
        if self.text.starts_with('/') && (before > 0 || !file.starts_with('/')) {
            return None;
        }
        let mut taken = Vec::with_capacity(self.fields.len());
        for (wanted, there) in wanted.into_iter().zip(&there[before..]) {
            // The pattern was checked when it was made.
            let pieces = pieces(wanted).ok()?;
            taken.extend(matched(&pieces, there)?);
        }
        Some(FileNameFields(taken))
    }
}

/// Returns the text that each field of a part takes; `None` if the text does not match.
fn matched(pieces: &[Piece<'_>], text: &str) -> Option<Vec<String>> {
    let ends = || (0..=text.len()).filter(|end| text.is_char_boundary(*end));
    let takes = |piece: &Piece<'_>, from: usize, to: usize| {
        let taken = &text[from..to];
        match piece {
            Piece::Literal(literal) => taken == *literal,
            Piece::Any => true,
            Piece::Field(DATE) => Date::named(taken).is_some(),
            Piece::Field(_) => !taken.is_empty(),
        }
    };
    // For each piece and each start: true if the piece and those behind it match the text from
    // there.
    let mut fits = vec![vec![false; text.len() + 1]; pieces.len() + 1];
    fits[pieces.len()][text.len()] = true;
    for (at, piece) in pieces.iter().enumerate().rev() {
        for from in ends() {
            let mut to = ends().filter(|to| *to >= from && fits[at + 1][*to]);
            fits[at][from] = to.any(|to| takes(piece, from, to));
        }
    }
    let mut from = 0;
    let mut fields = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut to = ends().filter(|to| *to >= from && fits[at + 1][*to]);
        let to = to.find(|to| takes(piece, from, *to)).filter(|_| fits[at][from])?;
        if matches!(piece, Piece::Field(_)) {
            fields.push(text[from..to].to_owned());
        }
        from = to;
    }
    (from == text.len()).then_some(fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> PathPattern {
        text.parse().unwrap()
    }

    fn taken(text: &str, file: &str) -> Option<Vec<String>> {
        pattern(text).take(Path::new(file)).map(|FileNameFields(fields)| fields)
    }

    #[test]
    fn the_last_parts_of_a_path_are_taken_apart() {
        let simple = "{site}/{date}/*";
        let fields = Some(vec!["ams".to_owned(), "2026-11-23".to_owned()]);
        for file in ["ams/2026-11-23/a.pcap", "/data/ams/2026-11-23/a.pcap", "./ams//2026-11-23/x"]
        {
            assert_eq!(taken(simple, file), fields, "{file}");
        }
        for file in ["2026-11-23/a.pcap", "ams/2026-11-31/a.pcap", "ams/today/a.pcap", "", "/"] {
            assert_eq!(taken(simple, file), None, "{file}");
        }
        assert_eq!(taken("/{site}/*", "/ams/a"), Some(vec!["ams".to_owned()]));
        assert_eq!(taken("/{site}/*", "/data/ams/a"), None);
        assert_eq!(taken("/{site}/*", "ams/a"), None);
        let day = pattern(simple).take(Path::new("ams/20261123/a")).unwrap();
        assert_eq!((day.date(0), day.date(1).map(Date::days)), (None, Some(20_780)));
        assert_eq!(pattern(simple).fields()[1].name(), "date");
    }

    #[test]
    fn a_field_takes_as_little_as_fits_and_a_date_is_one() {
        let one = |text, file| taken(text, file).map(|fields| fields.join("|"));
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(one("{site}-{host}.pcap*", "a-b-c.pcap.gz"), is("a|b-c"));
        assert_eq!(one("{site}-{date}.pcap", "ams-1-2026-11-23.pcap"), is("ams-1|2026-11-23"));
        assert_eq!(one("site={site}/date={date}/*", "site=x/date=20261123/y"), is("x|20261123"));
        assert_eq!(one("*-{host}", "-b"), is("b"));
        assert_eq!(one("{host}.*", "."), None);
        assert_eq!(one("{host}.*", "ü\n.x"), is("ü\n"));
        assert_eq!(one("x{a}x", "xx"), None);
        assert_eq!(one("{a}", "aa"), is("aa"));
    }

    #[test]
    fn a_wrong_pattern_says_why() {
        for (text, why) in [
            ("", "no field"),
            ("*/x", "no field"),
            ("{site", "does not close"),
            ("site}", "did not open"),
            ("{a}{b}", "where one ends"),
            ("{a}/**", "where one ends"),
            ("{a}*", "where one ends"),
            ("{}", "small letters"),
            ("{Site}", "small letters"),
            ("{1a}", "small letters"),
            ("{a b}", "small letters"),
            ("{a}/{a}", "twice"),
            ("{capture}/*", "already"),
            ("{file}", "already"),
        ] {
            let wrong = text.parse::<PathPattern>().unwrap_err();
            assert!(wrong.contains(why), "{text}: {wrong}");
        }
        let many: Vec<String> = (0..65).map(|place| format!("{{f{place}}}")).collect();
        assert!(many.join("/").parse::<PathPattern>().unwrap_err().contains("more than 64"));
    }

    proptest! {
        #[test]
        fn any_pattern_meets_any_name(text in "[*{}a-c/.=-]{0,16}", file in ".{0,40}") {
            if let Ok(pattern) = text.parse::<PathPattern>()
                && let Some(FileNameFields(fields)) = pattern.take(Path::new(&file))
            {
                prop_assert_eq!(fields.len(), pattern.fields().len());
                prop_assert!(fields.iter().all(|field| !field.is_empty()));
            }
        }

        #[test]
        fn what_was_put_together_is_taken_apart(site in "[a-z]{1,8}", host in "[a-z0-9-]{1,8}") {
            let file = format!("{site}/2026-11-23/{host}.pcap");
            let fields = taken("{site}/{date}/{host}.pcap", &file);
            prop_assert_eq!(fields, Some(vec![site, "2026-11-23".to_owned(), host]));
        }
    }
}
