//! Why a capture cannot be read.

use std::io;

use windlass_base::{Bytes, Failure};
use windlass_wire::capture::Foreign;

use super::STANDARD_INPUT;

/// Why a capture cannot be read.
#[derive(Debug)]
pub(crate) enum InputError {
    /// It could not be opened.
    Open { name: String, cause: io::Error, advice: &'static str },
    /// The name is that of a directory.
    Directory { name: String },
    /// Standard input is a keyboard.
    Terminal,
    /// Reading failed on the way.
    Read { name: String, bytes: u64, cause: io::Error },
    /// It was cut on the way, so that what was read may not have been there.
    Shrank { name: String, was: u64, is: u64 },
    /// It is no capture, or holds no packet that could be used.
    NoCapture { name: String, what: String, foreign: Option<Foreign> },
}

impl InputError {
    /// The same for people, while a capture was to be `doing`, as `explain`.
    pub(crate) fn failure(self, doing: &str) -> Failure {
        let to = |name: &str| format!("cannot {doing} {name}");
        match self {
            Self::Open { name, cause, advice } => Failure::new(to(&name), cause).advise(advice),
            Self::Directory { name } => {
                Failure::new(to(&name), "it is a directory").advise("Name a capture file in it.")
            }
            Self::Terminal => Failure::usage(to("standard input"), "it is a terminal")
                .advise("Name a capture file, or pipe one in: tcpdump -w - | windlass explain -"),
            Self::Read { name, bytes, cause } => {
                let wrong = format!("reading failed after {}: {cause}", Bytes::new(bytes));
                Failure::new(to(&name), wrong)
                    .advise("Copy the file to a sound disk and try again.")
            }
            Self::Shrank { name, was, is } => {
                let (was, is) = (Bytes::new(was), Bytes::new(is));
                let wrong = format!("it shrank from {was} to {is} while it was read");
                Failure::new(to(&name), wrong).advise("Wait until it is written, or copy it first.")
            }
            Self::NoCapture { name, what, foreign: Some(foreign) } => {
                let file = (name != STANDARD_INPUT).then_some(&name[..]);
                Failure::new(to(&name), what).advise(foreign.advice(file))
            }
            Self::NoCapture { name, what, foreign: None } => Failure::new(to(&name), what)
                .advise("Check that the capture was written and copied whole."),
        }
    }
}
