//! Senders in scenarios: which TCP, and what it is set to.

use serde::Deserialize;
use windlass_base::{Bytes, Named};
use windlass_sim::SenderSettings;
use windlass_sim::sender::{self, Announced, Congestion, Leave};

use super::file::{Size, Time};

/// How data gets to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Nothing but the data, as to port 9100.
    Raw,
    /// A job by LPR (RFC 1179).
    Lpr,
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
    /// What these say, of which the latter counts where two say the same; and where they say
    /// nothing, what their kind has.
    pub(super) fn settings(texts: &[Self], method: Method, bytes: Bytes) -> SenderSettings {
        let kind = texts.iter().rev().find_map(|text| text.kind);
        let mut settings = match kind.unwrap_or(Kind::Linux) {
            Kind::Linux => SenderSettings::new(bytes),
            Kind::Linux22 => SenderSettings::linux_2_2(bytes),
            Kind::Bsd42 => SenderSettings::bsd_4_2(bytes),
        };
        settings.method = match method {
            Method::Raw => sender::Method::Raw,
            // As the document's program has it, and most.
            Method::Lpr => sender::Method::Lpr { data_first: true, announced: Announced::Exactly },
        };
        texts.iter().fold(settings, |settings, text| text.over(settings))
    }

    /// These settings, and where they say nothing, those of `base`.
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
