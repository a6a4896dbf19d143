//! The control file: lines of a letter and its text (RFC 1179, section 7).

/// The most bytes of the text behind a letter, where the RFC has a limit
/// (sections 7.2 to 7.17).
pub const fn most(letter: u8) -> Option<usize> {
    match letter {
        b'C' | b'H' | b'L' | b'P' => Some(31),
        b'J' => Some(99),
        b'N' => Some(131),
        b'T' => Some(79),
        _ => None,
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is: `H` the host, `P` the user, `J` the job, `N` the name of the
    /// file, `l` and `f` how a data file is printed, `U` that it is removed.
    pub letter: u8,
    /// Its text.
    pub text: Vec<u8>,
}

/// A control file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFile {
    /// Its lines.
    pub lines: Vec<Line>,
}

impl ControlFile {
    /// Reads one. Daemons take what they know and leave the rest, so nothing is
    /// wrong; an end of the file before that of the line ends it, too.
    pub fn decode(bytes: &[u8]) -> Self {
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
            let (letter, text) = line.split_first()?;
            Some(Line { letter: *letter, text: text.to_vec() })
        });
        Self { lines: lines.collect() }
    }

    /// Adds a line: cut to the RFC's limit at the end of a character, with spaces
    /// for control characters, which would begin lines of their own.
    pub fn push(&mut self, letter: u8, text: &str) {
        let clean: String =
            text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
        let mut end = clean.len().min(most(letter).unwrap_or(usize::MAX));
        while !clean.is_char_boundary(end) {
            end -= 1;
        }
        self.lines.push(Line { letter, text: clean.as_bytes()[..end].to_vec() });
    }

    /// The text behind the first line of this letter.
    pub fn text(&self, letter: u8) -> Option<&[u8]> {
        self.lines.iter().find(|line| line.letter == letter).map(|line| line.text.as_slice())
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for line in &self.lines {
            out.push(line.letter);
            out.extend(&line.text);
            out.push(b'\n');
        }
        out
    }
}
