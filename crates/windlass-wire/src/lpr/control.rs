//! The control file, whose lines are a letter and a text (RFC 1179, section 7).

/// Returns the maximum bytes of the text behind a letter, if the RFC has a limit (sections 7.2 to
/// 7.17).
pub const fn most(letter: u8) -> Option<usize> {
    match letter {
        b'C' | b'H' | b'L' | b'P' => Some(31),
        b'J' => Some(99),
        b'N' => Some(131),
        b'T' => Some(79),
        _ => None,
    }
}

/// A line of a control file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlLine {
    /// Letter: `H` is the host, `P` the user, `J` the job, `N` the name of the file. `l` and `f`
    /// select how a data file is printed, and `U` removes it.
    pub letter: u8,
    /// Its text.
    pub text: Vec<u8>,
}

/// A control file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFile {
    /// Its lines.
    pub lines: Vec<ControlLine>,
}

impl ControlFile {
    /// Reads a control file. Daemons ignore unknown lines, so no content is an error. The end of
    /// the file also ends a line.
    pub fn decode(bytes: &[u8]) -> Self {
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
            let (letter, text) = line.split_first()?;
            Some(ControlLine { letter: *letter, text: text.to_vec() })
        });
        Self { lines: lines.collect() }
    }

    /// Adds a line, cut to the RFC's limit at the end of a character. Spaces replace control
    /// characters, because these would begin new lines.
    pub fn push(&mut self, letter: u8, text: &str) {
        let clean: String =
            text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
        let mut end = clean.len().min(most(letter).unwrap_or(usize::MAX));
        while !clean.is_char_boundary(end) {
            end -= 1;
        }
        self.lines.push(ControlLine { letter, text: clean.as_bytes()[..end].to_vec() });
    }

    /// Returns the text of the first line with this letter.
    pub fn text(&self, letter: u8) -> Option<&[u8]> {
        self.lines.iter().find(|line| line.letter == letter).map(|line| line.text.as_slice())
    }

    /// Encodes the control file.
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
