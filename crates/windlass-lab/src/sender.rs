//! Senders in scenarios: which TCP, and what it is set to.

use serde::{Deserialize, Serialize};
use windlass_base::Bytes;
use windlass_sim::SenderSettings;
use windlass_sim::sender::{self, Announced, Congestion, Leave};

use super::values::{Size, Time};

/// How data gets to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Nothing but the data, as to port 9100.
    Raw,
    /// A job by LPR (RFC 1179).
    Lpr,
}

impl Method {
    /// Its name.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Lpr => "lpr",
        }
    }
}

/// Which TCP sends.
#[derive(Clone, Copy, Debug, Deserialize)]
enum Kind {
    #[serde(rename = "linux")]
    Linux,
    #[serde(rename = "linux-2.2")]
    Linux22,
    #[serde(rename = "bsd-4.2")]
    Bsd42,
}

/// A sender; what is left out is as its kind has it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SenderText {
    kind: Option<Kind>,
    send_buffer: Option<Size>,
    mss: Option<u16>,
    initial_window: Option<Size>,
    congestion: Option<Congestion>,
    nagle: Option<bool>,
    sack: Option<bool>,
    timestamps: Option<bool>,
    least_timeout: Option<Time>,
    size_probing: Option<u16>,
    /// The time that the program takes to go on after an answer.
    think: Option<Time>,
    leave: Option<Leave>,
}

impl SenderText {
    /// These settings, and where they say nothing, those of `base`.
    pub(super) fn over(self, base: Self) -> Self {
        Self {
            kind: self.kind.or(base.kind),
            send_buffer: self.send_buffer.or(base.send_buffer),
            mss: self.mss.or(base.mss),
            initial_window: self.initial_window.or(base.initial_window),
            congestion: self.congestion.or(base.congestion),
            nagle: self.nagle.or(base.nagle),
            sack: self.sack.or(base.sack),
            timestamps: self.timestamps.or(base.timestamps),
            least_timeout: self.least_timeout.or(base.least_timeout),
            size_probing: self.size_probing.or(base.size_probing),
            think: self.think.or(base.think),
            leave: self.leave.or(base.leave),
        }
    }

    pub(super) fn settings(self, method: Method, bytes: Bytes) -> SenderSettings {
        let kind = match self.kind {
            None | Some(Kind::Linux) => SenderSettings::new(bytes),
            Some(Kind::Linux22) => SenderSettings::linux_2_2(bytes),
            Some(Kind::Bsd42) => SenderSettings::bsd_4_2(bytes),
        };
        SenderSettings {
            method: match method {
                Method::Raw => sender::Method::Raw,
                // As the document's program has it, and most.
                Method::Lpr => {
                    sender::Method::Lpr { data_first: true, announced: Announced::Exactly }
                }
            },
            send_buffer: self.send_buffer.map(|size| size.0).or(kind.send_buffer),
            mss: self.mss.unwrap_or(kind.mss),
            initial_window: self.initial_window.map_or(kind.initial_window, |size| size.0),
            congestion: self.congestion.unwrap_or(kind.congestion),
            nagle: self.nagle.unwrap_or(kind.nagle),
            sack: self.sack.unwrap_or(kind.sack),
            timestamps: self.timestamps.unwrap_or(kind.timestamps),
            least_timeout: self.least_timeout.map_or(kind.least_timeout, |time| time.0),
            size_probing: self.size_probing.or(kind.size_probing),
            think: self.think.map_or(kind.think, |time| time.0),
            leave: self.leave.unwrap_or(kind.leave),
            ..kind
        }
    }
}
