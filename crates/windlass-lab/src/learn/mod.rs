//! Learning a profile from a capture: what a receiver did on the wire, as the
//! parameters of an emulated device.
//!
//! A [`Recorder`] reduces the segments of one connection to a
//! [`Conversation`]. Each idea then looks at it by itself: the `opening`,
//! the `path`, the ACKs (`replies`, `policy`, `latency`), the window
//! and who reads (`reading`, `closures`), and the `manners`. What comes
//! out is a list of [`Parameter`]s, which `toml` writes as a profile.

mod closures;
mod conversation;
mod latency;
mod manners;
mod opening;
mod parameter;
mod path;
mod policy;
mod reading;
mod replies;
mod samples;
mod toml;

pub use conversation::{Conversation, Recorder};
pub use opening::CapturePoint;
pub use parameter::Parameter;
pub use path::{KnownPath, Path, PathSource};
pub use toml::{Heading, profile};

/// What a conversation tells of its receiver.
#[derive(Debug, serde::Serialize)]
pub struct Learned {
    /// Where the capture was taken.
    pub capture_point: CapturePoint,
    /// What of each time is taken for the path's.
    pub path: Path,
    /// ACKs whose time could be measured.
    pub samples: u64,
    /// What was learned, and what could not be.
    pub parameters: Vec<Parameter>,
}

/// Learns; `None` where no ACK of data has a time.
pub fn learn(conversation: &Conversation, known: KnownPath) -> Option<Learned> {
    let mut replies = replies::of(conversation);
    let path = Path::of(conversation, &mut replies, known);
    let acks = policy::Fit::of(&replies, &path, known.is_ack_withheld)?;
    let closures = closures::of(conversation);
    let reading = reading::Reading::of(conversation, &closures);
    let mut parameters = opening::parameters(conversation, &path, &reading);
    parameters.extend(manners::parameters(conversation));
    parameters.push(closures::updates(&closures));
    parameters.extend(latency::parameters(conversation, &replies, &path, &acks));
    parameters.extend(reading.parameters());
    parameters.push(closures::stalls(&closures));
    parameters.push(manners::answers(conversation, &path, reading.is_buffer()));
    parameters.sort_by_key(|parameter| parameter.table);
    Some(Learned {
        capture_point: opening::capture_point(conversation),
        path,
        samples: acks.samples(),
        parameters,
    })
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
