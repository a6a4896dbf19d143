//! Styled text: words, and their meaning.

use unicode_width::UnicodeWidthStr;
use windlass_base::figures::{
    Count, Difference, ExactSpan, FineShare, ItemCount, PerSecond, Share, Size, WholeNumber,
};
use windlass_base::{BitRate, Bytes, Piece, Rate, Sentence, Span};

/// Meaning of a piece of text. A style is invisible without colour, so no message may depend on it
/// alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Default colour of the terminal.
    #[default]
    Plain,
    /// Text that the reader should see first.
    Strong,
    /// Text that the reader may skip.
    Dim,
    /// Good state.
    Good,
    /// State that deserves attention.
    Warn,
    /// The limit of the transfer.
    Bad,
    /// One of the six colours of [`Style::HUES`], to tell neighbours apart.
    Hue(u8),
}

impl Style {
    /// Number of hues; a higher index wraps around.
    pub const HUES: u8 = 6;

    /// Returns the terminal's codes that start the style, without escape and `m`.
    fn codes(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "1;31",
            Self::Hue(hue) => match hue % Self::HUES {
                0 => "36",
                1 => "35",
                2 => "34",
                3 => "33",
                4 => "32",
                _ => "31",
            },
        }
    }
}

/// Line of text in pieces, each with its style.
///
/// ```
/// use windlass_output::Text;
/// use windlass_base::{Bytes, Span};
///
/// let text = Text::from("window ").strong(Bytes::new(2_920)).and(" per ").and(Span::from_millis(118));
/// assert_eq!(text.plain(), "window 2,920 B per 118 ms");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pieces: Vec<(Style, String)>,
}

impl Text {
    /// Character that holds words together until the text is printed. Then it becomes a space, so
    /// that text copied from a page can be searched.
    const NO_BREAK: &str = "\u{a0}";

    /// Creates an empty text.
    pub const fn new() -> Self {
        Self { pieces: Vec::new() }
    }

    /// Creates a text in one style.
    pub fn styled(style: Style, text: impl Into<Self>) -> Self {
        Self::new().with(style, text)
    }

    /// Creates a text without line breaks, such as a number and its unit.
    pub fn whole(text: &str) -> Self {
        text.replace(' ', Self::NO_BREAK).into()
    }

    /// Appends `more` in its own styles.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.pieces.append(&mut more.into().pieces);
        self
    }

    /// Appends `more` in `style`.
    #[must_use]
    pub fn with(mut self, style: Style, more: impl Into<Self>) -> Self {
        self.pieces.extend(more.into().pieces.into_iter().map(|(_, piece)| (style, piece)));
        self
    }

    /// Appends `more` for the reader to see first.
    #[must_use]
    pub fn strong(self, more: impl Into<Self>) -> Self {
        self.with(Style::Strong, more)
    }

    /// Appends `more` that the reader may skip.
    #[must_use]
    pub fn dim(self, more: impl Into<Self>) -> Self {
        self.with(Style::Dim, more)
    }

    /// Returns a known value, or a dash.
    pub fn known(value: Option<impl Into<Self>>) -> Self {
        value.map_or_else(|| Self::styled(Style::Dim, "-"), Into::into)
    }

    /// Returns a count that should be zero, in `style` if it is not.
    pub fn rare(count: u64, style: Style) -> Self {
        Self::styled(if count == 0 { Style::Plain } else { style }, count)
    }

    /// Joins the parts with `between`.
    pub fn joined(parts: impl IntoIterator<Item = impl Into<Self>>, between: &str) -> Self {
        let mut text = Self::new();
        for (place, part) in parts.into_iter().enumerate() {
            text = text.and(if place > 0 { between } else { "" }).and(part);
        }
        text
    }

    /// Returns the pieces with their styles. A space that holds words together is U+00A0.
    pub fn pieces(&self) -> impl Iterator<Item = (Style, &str)> {
        self.pieces.iter().map(|(style, piece)| (*style, piece.as_str()))
    }

    /// Returns the text without styles.
    pub fn plain(&self) -> String {
        self.render(false)
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|(_, piece)| piece.is_empty())
    }

    /// Returns the number of columns on a terminal.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, piece)| columns(piece)).sum()
    }

    /// Appends `spaces` spaces and a copy of `more`.
    pub(super) fn add(&mut self, spaces: usize, more: &Self) {
        if spaces > 0 {
            self.pieces.push((Style::Plain, " ".repeat(spaces)));
        }
        self.pieces.extend_from_slice(&more.pieces);
    }

    /// Returns the text for the terminal.
    pub fn render(&self, color: bool) -> String {
        let mut out = String::new();
        // Neighbouring pieces of one style share its codes.
        for pieces in self.pieces.chunk_by(|(style, _), (next, _)| style == next) {
            let style = pieces.first().map_or(Style::Plain, |(style, _)| *style);
            let is_seen = pieces.iter().any(|(_, piece)| !piece.is_empty());
            let codes = if color && is_seen { style.codes() } else { "" };
            if !codes.is_empty() {
                out.extend(["\x1b[", codes, "m"]);
            }
            out.extend(pieces.iter().map(|(_, piece)| piece.as_str()));
            if !codes.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
        if out.contains(Self::NO_BREAK) { out.replace(Self::NO_BREAK, " ") } else { out }
    }

    /// Cuts the text to `width` columns; `…` marks the cut.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut cut = Self::new();
        for (style, mut piece) in self.pieces {
            // The width of a character may depend on the next one, as in a coloured emoji.
            let ends = piece.char_indices().map(|(at, letter)| at + letter.len_utf8());
            let fits = ends.take_while(|end| piece[..*end].width() <= left).last().unwrap_or(0);
            let whole = fits == piece.len();
            piece.truncate(fits);
            left -= piece.width();
            cut.pieces.push((style, piece));
            if !whole {
                break;
            }
        }
        if width > 0 { cut.and("…") } else { cut }
    }

    /// Breaks the text at spaces into lines of at most `width` columns. A longer word has a line of
    /// its own.
    pub fn wrap(&self, width: usize) -> Vec<Self> {
        // Text that fits keeps its own spaces.
        if self.width() <= width && !self.pieces.iter().any(|(_, piece)| piece.contains('\n')) {
            return vec![self.clone()];
        }
        let mut lines = vec![Self::new()];
        let mut used = 0;
        for word in self.words() {
            let columns = word.width();
            let line = lines.len() - 1;
            if used > 0 && used + 1 + columns > width {
                lines.push(word);
                used = columns;
            } else {
                if used > 0 {
                    lines[line].space_before(&word);
                    used += 1;
                }
                used += columns;
                lines[line] = std::mem::take(&mut lines[line]).and(word);
            }
        }
        lines
    }

    /// Appends the space before `word`, in the style of both sides if they agree.
    fn space_before(&mut self, word: &Self) {
        let next = word.pieces.first().map(|(style, _)| *style);
        match self.pieces.last_mut() {
            Some((style, piece)) if Some(*style) == next => piece.push(' '),
            _ => self.pieces.push((Style::Plain, " ".to_owned())),
        }
    }

    /// Returns the words between spaces. A word may span pieces: `2,920 B` in bold and the comma
    /// after it stay together.
    fn words(&self) -> Vec<Self> {
        let mut words = Vec::new();
        let mut word = Self::new();
        for (style, piece) in &self.pieces {
            for (place, part) in piece.split([' ', '\n']).enumerate() {
                if place > 0 && !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if !part.is_empty() {
                    word.pieces.push((*style, part.to_owned()));
                }
            }
        }
        if !word.is_empty() {
            words.push(word);
        }
        words
    }
}

/// Returns the number of columns of a piece. Most pieces have only letters of one column each.
fn columns(piece: &str) -> usize {
    let is_plain = piece.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { piece.len() } else { piece.width() }
}

/// Escapes control characters in text from outside, such as a file's name or a comment in a
/// capture. So no input can control the terminal.
impl From<String> for Text {
    fn from(text: String) -> Self {
        let tame = |letter: char| !letter.is_control() || letter == '\n';
        let text = if text.chars().all(tame) {
            text
        } else {
            let spell = |letter: char| {
                if tame(letter) { letter.to_string() } else { letter.escape_default().to_string() }
            };
            text.chars().map(spell).collect()
        };
        Self { pieces: vec![(Style::Plain, text)] }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

/// Converts a sentence, without line breaks between a number and its unit.
impl From<&Sentence> for Text {
    fn from(sentence: &Sentence) -> Self {
        sentence.pieces().iter().fold(Self::new(), |text, piece| match piece {
            Piece::Words(words) => text.and(words),
            Piece::Figure(figure) => text.and(Self::whole(&figure.to_string())),
        })
    }
}

/// Converts a count, with thousands separated.
impl From<u64> for Text {
    fn from(count: u64) -> Self {
        Self::whole(&Count(count).to_string())
    }
}

macro_rules! as_it_reads {
    ($($type:ty),*) => {$(
        impl From<$type> for Text {
            fn from(value: $type) -> Self {
                Self::whole(&value.to_string())
            }
        }
    )*};
}

as_it_reads!(Bytes, Rate, BitRate, Span);
as_it_reads!(
    Size,
    ItemCount<'_>,
    PerSecond<'_>,
    WholeNumber,
    Share,
    FineShare,
    Difference,
    ExactSpan
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_base::sentence;

    use super::*;

    #[test]
    fn styles_vanish_without_colour() {
        let text = Text::from("a ").with(Style::Bad, "b").dim(" c");
        assert_eq!(text.render(false), "a b c");
        assert_eq!(text.render(true), "a \x1b[1;31mb\x1b[0m\x1b[2m c\x1b[0m");
    }

    #[test]
    fn width_counts_columns_and_not_bytes() {
        assert_eq!(Text::from("7 µs → 3 ×").width(), 10);
        assert_eq!(Text::from("漢字").width(), 4);
    }

    #[test]
    fn words_wrap_and_stay_with_their_commas() {
        let text = Text::from("the window is ").strong("2,920").and(", no more than two frames");
        let lines: Vec<String> = text.wrap(20).iter().map(Text::plain).collect();
        assert_eq!(lines, ["the window is 2,920,", "no more than two", "frames"]);
        let text = Text::from("a window of ").and(Bytes::new(2_920));
        let lines: Vec<String> = text.wrap(17).iter().map(Text::plain).collect();
        assert_eq!(lines, ["a window of", "2,920 B"]);
    }

    #[test]
    fn a_cut_shows() {
        assert_eq!(Text::from("printer.example").cut(8).plain(), "printer…");
        assert_eq!(Text::from("漢字漢字").cut(6).plain(), "漢字…");
        assert_eq!(Text::from("short").cut(8).plain(), "short");
        // A candle takes one column, and two as an emoji.
        assert_eq!(Text::from("ab\u{1f56f}\u{fe0f}cd").cut(4).width(), 4);
    }

    proptest! {
        #[test]
        fn wrapping_loses_no_word(words in "[a-zµ→ ]{0,80}", width in 1_usize..40) {
            let lines: Vec<String> = Text::from(&words).wrap(width).iter().map(Text::plain).collect();
            for line in &lines {
                prop_assert!(line.width() <= width || !line.contains(' '), "{}", line);
            }
            let joined = lines.join(" ");
            let wrapped: Vec<&str> = joined.split_whitespace().collect();
            prop_assert_eq!(wrapped, words.split_whitespace().collect::<Vec<_>>());
        }

        #[test]
        fn a_cut_fits(text in "\\PC{0,30}", width in 0_usize..20) {
            prop_assert!(Text::from(&text).cut(width).width() <= width);
        }
    }

    #[test]
    fn control_characters_are_spelt_out() {
        assert_eq!(Text::from("a\x1b[31mb\x07").plain(), "a\\u{1b}[31mb\\u{7}");
    }

    #[test]
    fn a_number_of_a_sentence_keeps_its_unit() {
        let (share, rtt) = (Share(1.0), Span::from_micros(1_080));
        let sentence =
            sentence!("the window held it {share}, a round trip of {rtt}: {} segments", 5_u64);
        let text = sentence.to_string();
        let lines = |width| {
            let lines = Text::from(&sentence).wrap(width);
            lines.iter().map(Text::plain).collect::<Vec<_>>()
        };
        for width in 10..60 {
            let lines = lines(width);
            assert_eq!(lines.join(" "), text);
            let apart = |line: &String| line.starts_with(['%', 'm']);
            assert!(!lines.iter().any(apart), "{width}: {lines:?}");
        }
        assert_eq!(lines(21)[0], "the window held it");
    }
}
