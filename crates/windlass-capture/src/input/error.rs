//! Why a capture cannot be read.

use std::io;

use windlass_base::{Bytes, Failure};
use windlass_wire::capture::Foreign;

use super::STANDARD_INPUT;
use super::member::{Archive, ArchiveFormat, BETWEEN, Name, Why};

/// Why what was read cannot be believed.
#[derive(Debug)]
pub(super) enum Lost {
    /// The file was cut while it was read.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "none is mapped there"))]
    Shrank { was: u64, is: u64 },
    /// The system failed to read at this place.
    Failed { at: u64, cause: io::Error },
}

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
    /// It is a zip, and its end cannot be read before the rest.
    Unseekable { name: String },
    /// It is an archive, and is to be followed as it grows.
    Followed { name: String },
    /// A member is named of what is no archive.
    NoArchive { name: String },
    /// An archive has no such member, or no capture where none is named.
    NoMember { archive: Box<Archive>, member: Option<Name> },
    /// It has several: captures where none is named, or members of the name.
    Several { archive: Box<Archive>, first: Name, second: Name },
}

impl InputError {
    /// What was lost of the file `name`.
    pub(super) fn lost(lost: Lost, name: String) -> Self {
        match lost {
            Lost::Shrank { was, is } => Self::Shrank { name, was, is },
            Lost::Failed { at, cause } => Self::Read { name, bytes: at, cause },
        }
    }

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
            Self::Unseekable { name } => Failure::usage(
                to(&name),
                "it is a zip archive, whose list of members stands at its end",
            )
            .advise("Save it to a file as it is, and name that. A tar can be read as it comes."),
            Self::Followed { name } => {
                Failure::usage(to(&name), "it is an archive, which is read once it is whole")
                    .advise("Leave --follow out.")
            }
            Self::NoArchive { name } => {
                Failure::usage(to(&name), "a member of it is named, and it is no archive")
                    .advise("Name the file alone. What is read as an archive: tar and zip.")
            }
            Self::NoMember { archive, member } => no_member(doing, &archive, member.as_ref()),
            Self::Several { archive, first, second } => several(doing, &archive, &first, &second),
        }
    }
}

/// The command that lists an archive's members.
fn listing(archive: &Archive) -> String {
    let command = match archive.format {
        ArchiveFormat::Tar => "tar -tf",
        ArchiveFormat::Zip => "unzip -l",
    };
    format!("List its members: `{command} {}`.", archive.file)
}

/// Why the member that is wanted, or the one that is a capture, is not there.
fn no_member(doing: &str, archive: &Archive, member: Option<&Name>) -> Failure {
    let name = member.map_or_else(|| archive.file.clone(), |member| archive.member(member));
    let doing = format!("cannot {doing} {name}");
    let passed_over = archive.passed_over.first();
    let wrong = match (member, passed_over, &archive.damage) {
        (Some(_), Some(unread), _) => match &unread.what {
            Some(what) if unread.why != Why::Archive => what.clone(),
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

/// Why it is not clear which capture is meant.
fn several(doing: &str, archive: &Archive, first: &Name, second: &Name) -> Failure {
    let file = &archive.file;
    if first == second {
        let doing = format!("cannot {doing} {}", archive.member(first));
        return Failure::usage(doing, "the archive has several members of this name")
            .advise("Unpack the one that is meant, and name the file.");
    }
    let wrong = format!("it is an archive of several captures, as {first} and {second}");
    Failure::usage(format!("cannot {doing} {file}"), wrong).advise(format!(
        "Name one of them: {file}{BETWEEN}{first}. `windlass explain {file}` explains all."
    ))
}
