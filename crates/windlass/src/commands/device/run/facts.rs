//! What a device is, for reports: where it listens, and its habits in words.

use std::net::Ipv4Addr;

use serde::Serialize;
use windlass_base::{Bytes, Span};
use windlass_sim::device::{AckPolicy, Drain, StallEvery, Window};
use windlass_sim::{Habits, Latency};

use crate::failure::Failure;
use crate::lab::{DEVICE, Profile};
use crate::print::figures;

/// The ports of a method that a profile does not have.
const RAW: u16 = 9_100;
const LPR: u16 = 515;

/// A device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceFacts {
    /// The name of its profile.
    pub profile: String,
    /// Its own name.
    pub name: String,
    /// Who makes it.
    pub maker: Option<String>,
    /// What it is, and what is known of it.
    pub about: String,
    /// Where its parameters come from.
    pub source: String,
    /// Where it is.
    pub address: Ipv4Addr,
    /// Where it listens.
    pub services: Services,
    /// The MSS that it announces.
    pub mss: u16,
    /// The window that it offers when nothing waits.
    pub window_bytes: Bytes,
    /// The connections that it holds at once.
    pub connections: u64,
    /// Its window, ACKs, reading and stalls in words.
    pub window: String,
    /// See [`Self::window`].
    pub acknowledges: String,
    /// See [`Self::window`].
    pub reads: String,
    /// See [`Self::window`]; nothing where it never stalls.
    pub stalls: Option<String>,
}

/// Where a device listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Services {
    /// The ports for raw data; the first is the profile's, or 9100.
    pub raw: Vec<u16>,
    /// The port for LPR.
    pub lpr: u16,
    /// Whether the profile has raw data.
    pub raw_in_profile: bool,
    /// Whether the profile has LPR.
    pub lpr_in_profile: bool,
}

impl Services {
    /// Those of a profile, the usual ones that it does not have, and raw data on
    /// `more` ports.
    ///
    /// # Errors
    /// Where one port is to have two services.
    pub fn new(profile: &Profile, more: &[u16]) -> Result<Self, Failure> {
        let lpr = profile.lpr.unwrap_or(if profile.raw == Some(LPR) { RAW } else { LPR });
        let first = profile.raw.unwrap_or(if lpr == RAW { LPR } else { RAW });
        let mut raw = vec![first];
        for port in more {
            if !raw.contains(port) {
                raw.push(*port);
            }
        }
        if raw.contains(&lpr) {
            let doing = format!("cannot take raw data on port {lpr}");
            return Err(Failure::usage(doing, format!("{} has LPR there", profile.name))
                .advise("Give --port another number."));
        }
        let (raw_in_profile, lpr_in_profile) = (profile.raw.is_some(), profile.lpr.is_some());
        Ok(Self { raw, lpr, raw_in_profile, lpr_in_profile })
    }

    /// What a port is called: `raw 9100`, `LPR 515`, and `port 80` where nobody
    /// listens.
    #[must_use]
    pub fn called(&self, port: u16) -> String {
        if port == self.lpr {
            format!("LPR {port}")
        } else if self.raw.contains(&port) {
            format!("raw {port}")
        } else {
            format!("port {port}")
        }
    }
}

impl DeviceFacts {
    /// The device of a profile.
    #[must_use]
    pub fn new(profile: &Profile, services: Services) -> Self {
        let habits = &profile.habits;
        Self {
            profile: profile.id.clone(),
            name: profile.name.clone(),
            maker: profile.maker.clone(),
            about: profile.about.clone(),
            source: profile.source.clone(),
            address: DEVICE,
            services,
            mss: habits.mss,
            window_bytes: habits.window.most(),
            connections: habits.connections as u64,
            window: window(habits),
            acknowledges: acknowledges(habits),
            reads: reads(habits),
            stalls: stalls(habits),
        }
    }

    /// The maker and the name.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.maker {
            Some(maker) => format!("{maker} {}", self.name),
            None => self.name.clone(),
        }
    }
}

fn window(habits: &Habits) -> String {
    let kind = match habits.window {
        Window::Fixed(_) => "in every ACK",
        Window::Buffer(_) => "a buffer, of which the free part is offered",
    };
    let mut text = format!("{}, {kind}; MSS {}", habits.window.most(), habits.mss);
    if let Some(shift) = habits.window_scale {
        text.push_str(&format!("; scale {shift}"));
    }
    text
}

fn acknowledges(habits: &Habits) -> String {
    let when = match habits.ack {
        AckPolicy::EverySegment => "every segment".to_owned(),
        AckPolicy::EverySecond { timer } => {
            format!("every second segment, or {} after a lone one", exact(timer))
        }
        AckPolicy::ShareOfWindow { share, timer } => format!(
            "what takes more than {} of the window, or {} after the first data",
            figures::fine_percent(share).plain(),
            exact(timer)
        ),
    };
    let mut text = match around(habits.ack_latency) {
        Some(latency) => format!("{when}; it takes {latency} for that"),
        None => when,
    };
    if let Some(small) = habits.small_segments {
        let latency = around(small.latency).unwrap_or_else(|| "no time".to_owned());
        text.push_str(&match small.up_to.get() {
            0 => format!(", and {latency} for a probe"),
            most => format!(", and {latency} for {} or less", Bytes::new(most)),
        });
    }
    text
}

fn reads(habits: &Habits) -> String {
    match habits.drain {
        Drain::AtOnce => "at once".to_owned(),
        Drain::Rate { rate, chunk } => format!("{rate}, at most {chunk} at a time"),
        Drain::AfterAck(latency) => match around(latency) {
            Some(latency) => format!("what it has acknowledged, {latency} after the ACK"),
            None => "what it has acknowledged, with the ACK".to_owned(),
        },
    }
}

fn stalls(habits: &Habits) -> Option<String> {
    let stalls = habits.stalls?;
    let lasting = around(stalls.lasting).unwrap_or_else(|| "no time".to_owned());
    Some(match stalls.every {
        StallEvery::Bytes(bytes) => format!("for {lasting}, after each {bytes}"),
        StallEvery::Time(time) => format!("for {lasting}, every {}", exact(time)),
    })
}

/// A time that varies; nothing where it is none.
fn around(latency: Latency) -> Option<String> {
    let Latency { typical, spread } = latency;
    match (typical, spread) {
        (Span::ZERO, Span::ZERO) => None,
        (typical, Span::ZERO) => Some(exact(typical)),
        (typical, spread) => Some(format!("{} ± {}", exact(typical), exact(spread))),
    }
}

fn exact(span: Span) -> String {
    figures::exact(span).plain()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services(profile: &str, more: &[u16]) -> Result<Services, Failure> {
        Services::new(&Profile::named(profile).unwrap(), more)
    }

    #[test]
    fn a_method_that_the_profile_lacks_is_on_its_usual_port() {
        let all = services("netgear-ps101", &[9_101, 9_100, 9_101]).unwrap();
        assert_eq!((all.raw.as_slice(), all.lpr), (&[9_100, 9_101][..], 515));
        assert!(all.raw_in_profile && !all.lpr_in_profile);
        let all = services("hawking-h-ps1u", &[]).unwrap();
        assert!(all.lpr_in_profile);
        assert_eq!(
            [515, 9_100, 80].map(|port| all.called(port)),
            ["LPR 515", "raw 9100", "port 80"]
        );
    }

    #[test]
    fn a_port_has_one_service() {
        assert!(services("hawking-h-ps1u", &[515]).is_err());
        let mut odd = Profile::named("healthy").unwrap();
        (odd.raw, odd.lpr) = (Some(515), None);
        let all = Services::new(&odd, &[]).unwrap();
        assert_eq!((all.raw.as_slice(), all.lpr), (&[515][..], 9_100));
        (odd.raw, odd.lpr) = (None, Some(9_100));
        let all = Services::new(&odd, &[]).unwrap();
        assert_eq!((all.raw.as_slice(), all.lpr), (&[515][..], 9_100));
    }

    #[test]
    fn habits_are_put_into_words() {
        let words = |name: &str| {
            let profile = Profile::named(name).unwrap();
            let facts = DeviceFacts::new(&profile, Services::new(&profile, &[]).unwrap());
            [facts.window, facts.acknowledges, facts.reads, facts.stalls.unwrap_or_default()]
        };
        assert_eq!(
            words("netgear-ps101"),
            [
                "1,024 B, a buffer, of which the free part is offered; MSS 1460",
                "every segment; it takes 10.387 ms ± 16 µs for that, and 2.76 ms for a probe",
                "what it has acknowledged, 1.749 ms ± 12 µs after the ACK",
                "for 2.022 s, after each 390,000 B",
            ]
        );
        // Each profile gives whole sentences, whatever it sets.
        for (name, _) in crate::lab::built_in::PROFILES {
            let [window, acknowledges, reads, _] = words(name);
            assert!(![window, acknowledges, reads].iter().any(String::is_empty), "{name}");
        }
        assert_eq!(words("healthy")[1], "every second segment, or 40 ms after a lone one");
    }
}
