//! Errors of reading a capture.

use std::io;

use windlass_base::{Bytes, Failure};
use windlass_wire::capture::ForeignFormat;

use super::STANDARD_INPUT;
use super::member::{Archive, ArchiveFormat, BETWEEN, Name, SkipReason};

/// Loss of the input during reading, which makes the packets already read untrustworthy.
#[derive(Debug)]
pub(super) enum InputLoss {
    /// The file was cut while it was read.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "none is mapped there"))]
    Shrank { was: u64, is: u64 },
    /// The system failed to read at offset `at`.
    Failed { at: u64, cause: io::Error },
}

/// Errors of reading a capture.
#[derive(Debug)]
pub(crate) enum InputError {
    /// The file could not be opened.
    Open { name: String, cause: io::Error, advice: &'static str },
    /// The name is that of a directory.
    Directory { name: String },
    /// Standard input is a keyboard.
    Terminal,
    /// Reading failed midway.
    Read { name: String, bytes: u64, cause: io::Error },
    /// The file was cut during reading, so some packets may not have been real.
    Shrank { name: String, was: u64, is: u64 },
    /// The input is not a capture, or has no usable packet.
    NoCapture { name: String, what: String, foreign: Option<ForeignFormat> },
    /// The input is a zip, and its end cannot be read before the rest.
    Unseekable { name: String },
    /// The input is an archive, and following was asked for.
    Followed { name: String },
    /// A member was named, but the file is not an archive.
    NoArchive { name: String },
    /// The archive has no such member, or no capture if none is named.
    NoMember { archive: Box<Archive>, member: Option<Name> },
    /// The archive has several members of the name, or several captures if none is named.
    Several { archive: Box<Archive>, first: Name, second: Name },
}

impl InputError {
    /// Returns the failure for the file `name`.
    pub(super) fn lost(lost: InputLoss, name: String) -> Self {
        match lost {
            InputLoss::Shrank { was, is } => Self::Shrank { name, was, is },
            InputLoss::Failed { at, cause } => Self::Read { name, bytes: at, cause },
        }
    }

    /// Returns the message; `doing` is the action, such as `explain`.
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
                .advise("Check that the capture was written and copied completely."),
            Self::Unseekable { name } => Failure::usage(
                to(&name),
                "it is a zip archive, whose list of members is at its end",
            )
            .advise("Save it to a file, and name that file. A tar can be read from a pipe."),
            Self::Followed { name } => {
                Failure::usage(to(&name), "it is an archive, and archives cannot be followed")
                    .advise("Leave --follow out.")
            }
            Self::NoArchive { name } => {
                Failure::usage(to(&name), "a member is named, but the file is not an archive")
                    .advise("Name only the file. windlass reads tar and zip archives.")
            }
            Self::NoMember { archive, member } => no_member(doing, &archive, member.as_ref()),
            Self::Several { archive, first, second } => several(doing, &archive, &first, &second),
        }
    }
}

/// Returns the command that lists an archive's members.
fn listing(archive: &Archive) -> String {
    let command = match archive.format {
        ArchiveFormat::Tar => "tar -tf",
        ArchiveFormat::Zip => "unzip -l",
    };
    format!("List its members: `{command} {}`.", archive.file)
}

/// Returns the failure of a missing member, or of an archive without a capture.
fn no_member(doing: &str, archive: &Archive, member: Option<&Name>) -> Failure {
    let name = member.map_or_else(|| archive.file.clone(), |member| archive.member(member));
    let doing = format!("cannot {doing} {name}");
    let passed_over = archive.passed_over.first();
    let wrong = match (member, passed_over, &archive.damage) {
        (Some(_), Some(unread), _) => match &unread.what {
            Some(what) if unread.why != SkipReason::Archive => what.clone(),
            _ => unread.why.one().to_owned(),
        },
        (_, None, Some(damage)) => format!("the archive is damaged {damage}"),
        (Some(_), None, None) => "the archive has no such member".to_owned(),
        (None, ..) if archive.members == 0 => "the archive is empty".to_owned(),
        (None, ..) => {
            let members = archive.members;
            let mut wrong = format!("none of its {members} members can be read as a capture");
            for unread in &archive.passed_over {
                wrong.push_str(&format!("; {}, as {}", unread.count(), unread.example));
            }
            if let Some(damage) = &archive.damage {
                wrong.push_str(&format!("; it is damaged {damage}"));
            }
            wrong
        }
    };
    Failure::new(doing, wrong).advise(listing(archive))
}

/// Returns the failure of an ambiguous choice between members.
fn several(doing: &str, archive: &Archive, first: &Name, second: &Name) -> Failure {
    let file = &archive.file;
    if first == second {
        let doing = format!("cannot {doing} {}", archive.member(first));
        return Failure::usage(doing, "the archive has several members of this name")
            .advise("Unpack the wanted member, and name that file.");
    }
    let wrong = format!("it is an archive of several captures, such as {first} and {second}");
    Failure::usage(format!("cannot {doing} {file}"), wrong).advise(format!(
        "Name one of them: {file}{BETWEEN}{first}. `windlass explain {file}` explains all."
    ))
}
