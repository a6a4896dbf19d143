//! Profiles: the behavior of a device, as a TOML file. `docs/profiles.md` describes the format.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use windlass_base::{Bytes, Failure};
use windlass_sim::device::{
    AckPolicy, ClosePolicy, Drain, SmallSegments, StallEvery, Stalls, Window, WindowUpdates,
};
use windlass_sim::{Habits, Latency};
use windlass_wire::target::Protocol;

use super::file::{FileError, FileKind, ReadText, Share, Size, Source, Time};

/// A device.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name on the command line.
    pub id: String,
    /// Name of the product.
    pub name: String,
    /// Maker.
    pub maker: Option<String>,
    /// Interface to the printer: USB, parallel, …
    pub interface: Option<String>,
    /// Description of the device.
    pub about: String,
    /// Source of the parameters.
    pub source: String,
    /// Raw port.
    pub raw: Option<u16>,
    /// LPR port.
    pub lpr: Option<u16>,
    /// IPP port.
    pub ipp: Option<u16>,
    /// Habits of the device.
    pub habits: Habits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProfileFile {
    name: String,
    maker: Option<String>,
    interface: Option<String>,
    about: String,
    source: String,
    services: Spanned<Services>,
    #[serde(default)]
    tcp: Tcp,
    #[serde(default)]
    ack: Ack,
    #[serde(default)]
    reading: Reading,
}

/// The receiver of a path: a device without services, whose window is set by the sweep.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReceiverText {
    #[serde(default)]
    tcp: Tcp,
    #[serde(default)]
    ack: Ack,
    #[serde(default)]
    reading: Reading,
}

impl ReceiverText {
    /// Returns the habits, with the window of a healthy host.
    pub(super) fn habits(&self) -> Result<Habits, FileError> {
        let Self { tcp, ack, reading } = self;
        let swept = "a sweep sets the receiver's window and window scale itself";
        let window = tcp.window.as_ref().map(Spanned::span);
        let scale = tcp.window_scale.as_ref().map(Spanned::span);
        match window.or(scale) {
            Some(at) => Err(FileError::new(at, swept)),
            None => habits(tcp, ack, reading),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Services {
    raw: Option<u16>,
    lpr: Option<u16>,
    ipp: Option<u16>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Tcp {
    mss: Option<Spanned<u16>>,
    window: Option<Spanned<Window>>,
    window_scale: Option<Spanned<u8>>,
    window_updates: Option<WindowUpdates>,
    least_opening: Option<Size>,
    takes_window_back: Option<bool>,
    sack: Option<bool>,
    d_sack: Option<bool>,
    timestamps: Option<bool>,
    handshake_delay: Option<Latency>,
    keeps_out_of_order: Option<bool>,
    retransmission: Option<Time>,
    connections: Option<usize>,
    idle: Option<Time>,
    close: Option<ClosePolicy>,
    loss: Option<Share>,
    corruption: Option<Share>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Ack {
    when: Option<AckPolicy>,
    latency: Option<Latency>,
    small_segments: Option<SmallSegments>,
    push: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Reading {
    drain: Option<Drain>,
    stalls: Option<Stalls>,
    answer_latency: Option<Latency>,
}

impl Profile {
    /// Returns the data after which the device stalls; `None` if it never stalls, or stalls by the
    /// clock.
    pub fn stalls_after(&self) -> Option<Bytes> {
        match self.habits.stalls?.every {
            StallEvery::Bytes(bytes) => Some(bytes),
            StallEvery::Time(_) => None,
        }
    }

    /// Returns the built-in profile of this name.
    pub fn built_in(id: &str) -> Option<Result<Self, Failure>> {
        Some(Self::read(id, &FileKind::PROFILE.built_in(id)?))
    }

    /// Returns the profile of a name on the command line: a built-in one, or a file of the user's.
    ///
    /// # Errors
    /// Fails if there is no such profile, or if its file cannot be read or has an invalid value.
    pub fn named(name: &str, read: ReadText<'_>) -> Result<Self, Failure> {
        let (id, source) = Source::named(FileKind::PROFILE, name, read)?;
        Self::read(&id, &source)
    }

    /// Returns the profile of a name in `file`; `None` if there is no such profile.
    pub(super) fn find(
        name: &str,
        file: Option<&Path>,
        read: ReadText<'_>,
    ) -> Option<Result<Self, Failure>> {
        let found = Source::find(FileKind::PROFILE, file, name, read)?;
        Some(found.and_then(|(id, source)| Self::read(&id, &source)))
    }

    pub(super) fn read(id: &str, source: &Source) -> Result<Self, Failure> {
        source.read(|file: ProfileFile| {
            let services = file.services.get_ref();
            let ports: Vec<u16> =
                [services.raw, services.lpr, services.ipp].into_iter().flatten().collect();
            if ports.is_empty() {
                let wrong = "a device needs at least one service: `raw = 9100`, `lpr = 515` or \
                             `ipp = 631`";
                return Err(FileError::new(file.services.span(), wrong));
            }
            if (1..ports.len()).any(|place| ports[..place].contains(&ports[place])) {
                let wrong = "two services have the same port";
                return Err(FileError::new(file.services.span(), wrong));
            }
            Ok(Self {
                id: id.to_owned(),
                raw: services.raw,
                lpr: services.lpr,
                ipp: services.ipp,
                habits: habits(&file.tcp, &file.ack, &file.reading)?,
                name: file.name,
                maker: file.maker,
                interface: file.interface,
                about: file.about,
                source: file.source,
            })
        })
    }

    /// Returns the names of the device's services.
    pub fn services(&self) -> Vec<&'static str> {
        let services = Protocol::ALL.into_iter().zip([self.raw, self.lpr, self.ipp]);
        services.filter_map(|(protocol, port)| port.map(|_| protocol.id())).collect()
    }

    /// Returns the maker and the name.
    pub fn full_name(&self) -> String {
        match &self.maker {
            Some(maker) => format!("{maker} {}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Smallest valid MSS. Every host must take datagrams of 576 bytes, but some announce less. A
/// segment of 64 bytes still is more than header.
const MIN_MSS: u16 = 64;

fn habits(tcp: &Tcp, ack: &Ack, reading: &Reading) -> Result<Habits, FileError> {
    let healthy = Habits::HEALTHY;
    if let Some(mss) = tcp.mss.as_ref().filter(|mss| *mss.get_ref() < MIN_MSS) {
        return Err(FileError::new(mss.span(), format!("an MSS is from {MIN_MSS} to 65535")));
    }
    if let Some(scale) = tcp.window_scale.as_ref().filter(|scale| *scale.get_ref() > 14) {
        return Err(FileError::new(scale.span(), "a window scale is from 0 to 14 (RFC 7323)"));
    }
    let scale = tcp.window_scale.as_ref().map(|scale| *scale.get_ref());
    let most = 65_535_u64 << scale.unwrap_or(0);
    let window = tcp.window.as_ref();
    if let Some(window) = window.filter(|window| window.get_ref().most() > Bytes::new(most)) {
        let why = format!("with this `window-scale`, or none, a window is at most {most} bytes");
        return Err(FileError::new(window.span(), why));
    }
    Ok(Habits {
        mss: tcp.mss.as_ref().map_or(healthy.mss, |mss| *mss.get_ref()),
        window: window.map_or(healthy.window, |window| *window.get_ref()),
        takes_window_back: tcp.takes_window_back.unwrap_or(healthy.takes_window_back),
        least_opening: tcp.least_opening.map(|size| size.0),
        window_scale: scale,
        sack: tcp.sack.unwrap_or(healthy.sack),
        d_sack: tcp.d_sack.unwrap_or(healthy.d_sack),
        timestamps: tcp.timestamps.unwrap_or(healthy.timestamps),
        handshake_delay: tcp.handshake_delay.unwrap_or_default(),
        ack: ack.when.unwrap_or(healthy.ack),
        ack_latency: ack.latency.unwrap_or_default(),
        small_segments: ack.small_segments,
        pushes_acks: ack.push.unwrap_or(healthy.pushes_acks),
        answer_latency: reading.answer_latency.unwrap_or_default(),
        drain: reading.drain.unwrap_or(healthy.drain),
        stalls: reading.stalls,
        updates: tcp.window_updates.unwrap_or(healthy.updates),
        keeps_out_of_order: tcp.keeps_out_of_order.unwrap_or(healthy.keeps_out_of_order),
        loss: tcp.loss.map_or(healthy.loss, |share| share.0),
        corruption: tcp.corruption.map_or(healthy.corruption, |share| share.0),
        close: tcp.close.unwrap_or(healthy.close),
        retransmission: tcp.retransmission.map_or(healthy.retransmission, |time| time.0),
        connections: tcp.connections.unwrap_or(healthy.connections),
        idle: tcp.idle.map(|time| time.0),
    })
}
