//! The handshake: the device's options, and the window that it offers.

use serde::Serialize;
use windlass_base::Span;

use super::conversation::Conversation;
use super::parameter::{Parameter, size, time};
use super::path::{self, Path, PathSource};
use super::reading::ReaderAnalysis;

/// Capture point of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturePoint {
    /// At the sender.
    Sender,
    /// At the device.
    Device,
    /// Between the two.
    Between,
    /// Unknown, without a handshake.
    Unknown,
}

/// Ratio of the handshake's two halves above which the capture point is at one end.
const BESIDE: i64 = 10;

/// Returns the capture point, from the ratio of the handshake's two halves.
pub(super) fn capture_point(talk: &Conversation) -> CapturePoint {
    let Some(device) = path::handshake(talk) else { return CapturePoint::Unknown };
    let (Some(third), Some(answered)) = (talk.third, talk.answered) else {
        return CapturePoint::Unknown;
    };
    let sender = third.since(answered.time);
    if sender < Span::ZERO {
        CapturePoint::Unknown
    } else if sender * BESIDE <= device {
        CapturePoint::Sender
    } else if device * BESIDE <= sender {
        CapturePoint::Device
    } else {
        CapturePoint::Between
    }
}

/// Returns the parameters that the handshake shows.
pub(super) fn parameters(
    talk: &Conversation,
    path: &Path,
    reading: &ReaderAnalysis,
) -> Vec<Parameter> {
    let mut found = vec![mss(talk), window(talk, reading)];
    found.extend(announced(talk));
    found.push(delay(talk, path));
    found
}

fn mss(talk: &Conversation) -> Parameter {
    let announced = talk.answered.and_then(|syn| syn.options.mss).filter(|mss| *mss >= 64);
    match announced {
        Some(mss) => Parameter::seen("tcp", "mss", mss.to_string(), 1, "Its SYN."),
        None => {
            let how = match talk.answered {
                Some(_) => "Its SYN does not tell.",
                None => "Not seen: its SYN was not captured.",
            };
            Parameter::unseen("tcp", "mss", 0, how)
        }
    }
}

fn window(talk: &Conversation, reading: &ReaderAnalysis) -> Parameter {
    // A profile without a window scale can offer no more than the field holds.
    let most = reading.most.max(1);
    let (kind, how) = if reading.is_buffer() {
        let how = format!(
            "The maximum that it offered; {} of {} ACKs of data offered less.",
            reading.shrunk, reading.answers
        );
        ("buffer", how)
    } else {
        ("fixed", format!("{} ACKs of data, each with the same window.", reading.answers))
    };
    let value = format!("{{ {kind} = {} }}", size(most));
    let how = match talk.answered {
        Some(_) => how,
        None => format!("{how} Its SYN was not captured: a window scale would be missing."),
    };
    Parameter::seen("tcp", "window", value, reading.answers, how)
}

fn announced(talk: &Conversation) -> Vec<Parameter> {
    let Some(syn) = talk.answered else {
        let how = "Not seen: its SYN was not captured.";
        let unseen = |key| Parameter::unseen("tcp", key, 0, how);
        return vec![unseen("window-scale"), unseen("sack"), unseen("timestamps")];
    };
    let asked = talk.asked.map(|asked| asked.options).unwrap_or_default();
    // A device announces only options of its peer, so their absence proves nothing then.
    let option = |key, has: bool, asked: bool| match (has, asked) {
        (true, _) => Parameter::seen("tcp", key, "true", 1, "Its SYN."),
        (false, true) => {
            Parameter::seen("tcp", key, "false", 1, "Its SYN has none, the sender's has it.")
        }
        (false, false) => {
            let how = "Its SYN has none, nor has the sender's, so the device had no choice.";
            Parameter::seen("tcp", key, "false", 1, how)
        }
    };
    let scale = match syn.options.window_scale {
        Some(scale) if asked.window_scale.is_some() => {
            Parameter::seen("tcp", "window-scale", scale.min(14).to_string(), 1, "Its SYN.")
        }
        _ => Parameter::unseen("tcp", "window-scale", 1, "Its SYN has none."),
    };
    vec![
        scale,
        option("sack", syn.options.sack_permitted, asked.sack_permitted),
        option("timestamps", syn.options.timestamps.is_some(), asked.timestamps.is_some()),
    ]
}

/// Shortest delay that is reported.
const MIN: Span = Span::from_micros(20);

fn delay(talk: &Conversation, path: &Path) -> Parameter {
    let unseen = |how: &str| Parameter::unseen("tcp", "handshake-delay", 0, how);
    let Some(handshake) = path::handshake(talk) else {
        return unseen("Not seen: the handshake was not captured, or was repeated.");
    };
    let own = (handshake - path.rtt).or_zero();
    if own < MIN {
        return Parameter::unseen(
            "tcp",
            "handshake-delay",
            1,
            format!("{handshake} from SYN to SYN, which all counts as the path's share."),
        );
    }
    let how = match path.source {
        PathSource::SameNetwork | PathSource::Unknown => {
            format!("{handshake} from SYN to SYN, of which nothing counts as the path's share.")
        }
        PathSource::Given | PathSource::QuickestAnswer => {
            format!("{handshake} from SYN to SYN, without the path's {}.", path.rtt)
        }
    };
    Parameter::seen("tcp", "handshake-delay", time(own), 1, how)
}
