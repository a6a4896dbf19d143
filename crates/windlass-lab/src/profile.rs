//! Profiles: how a device behaves, as a TOML file. `docs/profiles.md` describes
//! the format.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use windlass_base::{Bytes, Failure};
use windlass_sim::device::{
    AckPolicy, Close, Drain, SmallSegments, StallEvery, Stalls, Window, WindowUpdates,
};
use windlass_sim::{Habits, Latency};
use windlass_wire::target::Protocol;

use super::file::{Kind, ReadText, Share, Size, Source, Time, Wrong};

/// A device.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What it is called on the command line.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Who makes it.
    pub maker: Option<String>,
    /// What it puts the data out on: USB, parallel, …
    pub interface: Option<String>,
    /// What it is, and what is known of it.
    pub about: String,
    /// Where the parameters come from.
    pub source: String,
    /// Its raw port.
    pub raw: Option<u16>,
    /// Its LPR port.
    pub lpr: Option<u16>,
    /// Its IPP port.
    pub ipp: Option<u16>,
    /// How it behaves.
    pub habits: Habits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
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

/// The receiver of a path: a device without services, whose window the sweep
/// sets.
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
    /// The habits, with the window of a healthy host.
    pub(super) fn habits(&self) -> Result<Habits, Wrong> {
        let Self { tcp, ack, reading } = self;
        let swept = "a sweep sets the receiver's window, and the scale that it takes";
        let window = tcp.window.as_ref().map(Spanned::span);
        let scale = tcp.window_scale.as_ref().map(Spanned::span);
        match window.or(scale) {
            Some(at) => Err(Wrong::new(at, swept)),
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
    close: Option<Close>,
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
    /// The data after which the device stalls; `None` where it does not, or by the clock.
    pub fn stalls_after(&self) -> Option<Bytes> {
        match self.habits.stalls?.every {
            StallEvery::Bytes(bytes) => Some(bytes),
            StallEvery::Time(_) => None,
        }
    }

    /// The built-in profile of this name.
    pub fn built_in(id: &str) -> Option<Result<Self, Failure>> {
        Some(Self::read(id, &Kind::PROFILE.built_in(id)?))
    }

    /// The profile that a name on the command line means: one that is built in, or
    /// a file of the user's.
    ///
    /// # Errors
    /// Fails where there is none of this name, or its file cannot be read or says what
    /// cannot be.
    pub fn named(name: &str, read: ReadText<'_>) -> Result<Self, Failure> {
        let (id, source) = Source::named(Kind::PROFILE, name, read)?;
        Self::read(&id, &source)
    }

    /// The profile that a name in `file` means; nothing where none is called so.
    pub(super) fn find(
        name: &str,
        file: Option<&Path>,
        read: ReadText<'_>,
    ) -> Option<Result<Self, Failure>> {
        let found = Source::find(Kind::PROFILE, file, name, read)?;
        Some(found.and_then(|(id, source)| Self::read(&id, &source)))
    }

    pub(super) fn read(id: &str, source: &Source) -> Result<Self, Failure> {
        source.read(|file: File| {
            let services = file.services.get_ref();
            let ports: Vec<u16> =
                [services.raw, services.lpr, services.ipp].into_iter().flatten().collect();
            if ports.is_empty() {
                let wrong = "a device serves something: `raw = 9100`, `lpr = 515`, `ipp = 631` \
                             or some of them";
                return Err(Wrong::new(file.services.span(), wrong));
            }
            if (1..ports.len()).any(|place| ports[..place].contains(&ports[place])) {
                let wrong = "a port has one service";
                return Err(Wrong::new(file.services.span(), wrong));
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

    /// The names of what it serves.
    pub fn services(&self) -> Vec<&'static str> {
        let services = Protocol::ALL.into_iter().zip([self.raw, self.lpr, self.ipp]);
        services.filter_map(|(protocol, port)| port.map(|_| protocol.id())).collect()
    }

    /// The maker and the name.
    pub fn full_name(&self) -> String {
        match &self.maker {
            Some(maker) => format!("{maker} {}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The least MSS that makes sense: every host must take datagrams of 576 bytes,
/// but some announce less. A segment of 64 bytes still is more than header.
const MIN_MSS: u16 = 64;

fn habits(tcp: &Tcp, ack: &Ack, reading: &Reading) -> Result<Habits, Wrong> {
    let healthy = Habits::HEALTHY;
    if let Some(mss) = tcp.mss.as_ref().filter(|mss| *mss.get_ref() < MIN_MSS) {
        return Err(Wrong::new(mss.span(), format!("an MSS is from {MIN_MSS} to 65535")));
    }
    if let Some(scale) = tcp.window_scale.as_ref().filter(|scale| *scale.get_ref() > 14) {
        return Err(Wrong::new(scale.span(), "a window scale is from 0 to 14 (RFC 7323)"));
    }
    let scale = tcp.window_scale.as_ref().map(|scale| *scale.get_ref());
    let most = 65_535_u64 << scale.unwrap_or(0);
    let window = tcp.window.as_ref();
    if let Some(window) = window.filter(|window| window.get_ref().most() > Bytes::new(most)) {
        let why = format!("with this `window-scale`, or none, a window is at most {most} bytes");
        return Err(Wrong::new(window.span(), why));
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
