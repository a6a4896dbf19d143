//! Senders in scenarios: the kind of TCP, and its settings.

use serde::Deserialize;
use windlass_base::{Bytes, Named};
use windlass_sim::SenderSettings;
use windlass_sim::sender::{self, AnnouncedSize, Congestion, LeavePolicy};

use super::file::{Size, Time};

/// Protocol by which a device gets its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The data alone, as to port 9100.
    Raw,
    /// A job by LPR (RFC 1179).
    Lpr,
}

/// Kind of the sending TCP.
#[derive(Clone, Copy, Debug, Deserialize)]
enum SenderKind {
    #[serde(rename = "linux")]
    Linux,
    #[serde(rename = "linux-2.2")]
    Linux22,
    #[serde(rename = "bsd-4.2")]
    Bsd42,
}

/// A sender in a file. An omitted setting has the value of the sender's kind.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SenderText {
    kind: Option<SenderKind>,
    send_buffer: Option<Size>,
    mss: Option<u16>,
    initial_window: Option<Size>,
    congestion: Option<Congestion>,
    nagle: Option<bool>,
    sack: Option<bool>,
    timestamps: Option<bool>,
    least_timeout: Option<Time>,
    size_probing: Option<u16>,
    /// Time that the program needs to continue after an answer.
    think: Option<Time>,
    leave: Option<LeavePolicy>,
}

impl SenderText {
    /// Combines the settings of several texts. A later text overrides an earlier one; their kind
    /// gives the rest.
    pub(super) fn settings(texts: &[Self], method: Method, bytes: Bytes) -> SenderSettings {
        let kind = texts.iter().rev().find_map(|text| text.kind);
        let mut settings = match kind.unwrap_or(SenderKind::Linux) {
            SenderKind::Linux => SenderSettings::new(bytes),
            SenderKind::Linux22 => SenderSettings::linux_2_2(bytes),
            SenderKind::Bsd42 => SenderSettings::bsd_4_2(bytes),
        };
        settings.method = match method {
            Method::Raw => sender::Method::Raw,
            // The data file goes first, as with the document's program.
            Method::Lpr => {
                sender::Method::Lpr { data_first: true, announced: AnnouncedSize::Exactly }
            }
        };
        texts.iter().fold(settings, |settings, text| text.over(settings))
    }

    /// Returns these settings over `base`: those of `base` fill the gaps.
    fn over(self, base: SenderSettings) -> SenderSettings {
        SenderSettings {
            send_buffer: self.send_buffer.map(|size| size.0).or(base.send_buffer),
            mss: self.mss.unwrap_or(base.mss),
            initial_window: self.initial_window.map_or(base.initial_window, |size| size.0),
            congestion: self.congestion.unwrap_or(base.congestion),
            nagle: self.nagle.unwrap_or(base.nagle),
            sack: self.sack.unwrap_or(base.sack),
            timestamps: self.timestamps.unwrap_or(base.timestamps),
            least_timeout: self.least_timeout.map_or(base.least_timeout, |time| time.0),
            size_probing: self.size_probing.or(base.size_probing),
            think: self.think.map_or(base.think, |time| time.0),
            leave: self.leave.unwrap_or(base.leave),
            ..base
        }
    }
}
