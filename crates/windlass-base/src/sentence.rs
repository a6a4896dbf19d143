//! Sentences whose figures stay figures until they are printed.

use std::fmt;

use crate::figures::{
    Count, Difference, ExactSpan, FineShare, ItemCount, PerSecond, Percent, Share, Size,
};
use crate::{AsText, BitRate, Bytes, Cause, Limit, Rate, Span};

/// Words with figures in them, made by [`sentence!`](crate::sentence).
///
/// ```
/// use windlass_base::{Bytes, Span, sentence};
///
/// let (window, later) = (Bytes::new(2_920), Span::from_millis(118));
/// let sentence = sentence!("It takes {window} at a time and answers {later} later.");
/// assert_eq!(sentence.to_string(), "It takes 2,920 B at a time and answers 118 ms later.");
/// assert_eq!(sentence.pieces().len(), 5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, AsText)]
pub struct Sentence(Vec<Piece>);

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Words, between which a line may break.
    Words(String),
    /// A number and its unit, or another figure.
    Figure(Figure),
}

impl Sentence {
    /// Makes an empty sentence.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns its pieces, words and figures.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns whether the sentence is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends to the sentence.
    pub fn push(&mut self, more: &(impl Say + ?Sized)) {
        more.say(self);
    }

    fn words(&mut self, words: &str) {
        match self.0.last_mut() {
            Some(Piece::Words(before)) => before.push_str(words),
            _ if words.is_empty() => {}
            _ => self.0.push(Piece::Words(words.to_owned())),
        }
    }

    fn figure(&mut self, figure: Figure) {
        self.0.push(Piece::Figure(figure));
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Words(words) => f.write_str(words),
            Piece::Figure(figure) => write!(f, "{figure}"),
        })
    }
}

/// A value that can be part of a sentence.
pub trait Say {
    /// Appends the value to a sentence.
    fn say(&self, sentence: &mut Sentence);
}

impl<T: Say + ?Sized> Say for &T {
    fn say(&self, sentence: &mut Sentence) {
        T::say(self, sentence);
    }
}

impl Say for str {
    fn say(&self, sentence: &mut Sentence) {
        sentence.words(self);
    }
}

impl Say for String {
    fn say(&self, sentence: &mut Sentence) {
        sentence.words(self);
    }
}

impl Say for Sentence {
    fn say(&self, sentence: &mut Sentence) {
        for piece in &self.0 {
            match piece {
                Piece::Words(words) => sentence.words(words),
                Piece::Figure(figure) => sentence.figure(*figure),
            }
        }
    }
}

impl From<&str> for Sentence {
    fn from(words: &str) -> Self {
        let mut sentence = Self::new();
        sentence.words(words);
        sentence
    }
}

macro_rules! figures {
    ($($name:ident),*) => {
        /// A figure of a sentence.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Figure {
            /// A plain number: a port, an index.
            Number(u64),
            $(#[doc = concat!("As [`", stringify!($name), "`] reads.")] $name($name),)*
        }

        impl fmt::Display for Figure {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Number(number) => number.fmt(f),
                    $(Self::$name(figure) => figure.fmt(f),)*
                }
            }
        }

        $(impl Say for $name {
            fn say(&self, sentence: &mut Sentence) {
                sentence.figure(Figure::$name(*self));
            }
        })*
    };
}

figures!(Count, Bytes, Size, Rate, BitRate, Span, ExactSpan, Share, FineShare, Percent, Difference);

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Say for $type {
            fn say(&self, sentence: &mut Sentence) {
                sentence.figure(Figure::Number(*self as u64));
            }
        }
    )*};
}

numbers!(u64, u32, u16, u8, usize);

macro_rules! words {
    ($($type:ty),*) => {$(
        impl Say for $type {
            fn say(&self, sentence: &mut Sentence) {
                sentence.words(&self.to_string());
            }
        }
    )*};
}

words!(ItemCount<'_>, PerSecond<'_>, Limit, Cause);
