//! Learning a profile from a capture: the behavior of a receiver on the wire, as the parameters of
//! an emulated device.
//!
//! A [`Recorder`] reduces the segments of one connection to a [`Conversation`]. Each module then
//! analyses one part of it: the handshake (`opening`), the `path`, the ACKs (`replies`, `policy`,
//! `latency`), the window and the reader (`reading`, `closures`), and other habits (`manners`). The
//! result is a list of [`Parameter`]s, which `toml` writes as a profile.

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

/// Parameters of a receiver, learned from a conversation.
#[derive(Debug, serde::Serialize)]
pub struct LearnedParameters {
    /// Capture point of the capture.
    pub capture_point: CapturePoint,
    /// Estimate of the path.
    pub path: Path,
    /// Number of ACKs whose time could be measured.
    pub samples: u64,
    /// The parameters, unknown ones included.
    pub parameters: Vec<Parameter>,
}

/// Learns the parameters of a receiver; `None` if no ACK of data can be measured.
pub fn learn(conversation: &Conversation, known: KnownPath) -> Option<LearnedParameters> {
    let mut replies = replies::of(conversation);
    let path = Path::of(conversation, &mut replies, known);
    let acks = policy::Fit::of(&replies, &path, known.is_ack_withheld)?;
    let closures = closures::of(conversation);
    let reading = reading::ReaderAnalysis::of(conversation, &closures);
    let mut parameters = opening::parameters(conversation, &path, &reading);
    parameters.extend(manners::parameters(conversation));
    parameters.push(closures::updates(&closures));
    parameters.extend(latency::parameters(conversation, &replies, &path, &acks));
    parameters.extend(reading.parameters());
    parameters.push(closures::stalls(&closures));
    parameters.push(manners::answers(conversation, &path, reading.is_buffer()));
    parameters.sort_by_key(|parameter| parameter.table);
    Some(LearnedParameters {
        capture_point: opening::capture_point(conversation),
        path,
        samples: acks.samples(),
        parameters,
    })
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
