//! Description of a device for reports: its ports, and its habits in words.

use std::net::Ipv4Addr;

use serde::Serialize;
use windlass_base::figures::{ExactSpan, FineShare};
use windlass_base::{Bytes, Failure, Span};
use windlass_lab::{DEVICE, Profile};
use windlass_sim::device::{AckPolicy, Drain, StallEvery, Window};
use windlass_sim::{Habits, Latency};
use windlass_wire::target::Protocol;

/// Description of a device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceFacts {
    /// Name of the profile.
    pub profile: String,
    /// Name of the product.
    pub name: String,
    /// Maker.
    pub maker: Option<String>,
    /// Description from the profile.
    pub about: String,
    /// Source of the parameters.
    pub source: String,
    /// Address of the device.
    pub address: Ipv4Addr,
    /// Services and their ports.
    pub services: Services,
    /// Announced MSS.
    pub mss: u16,
    /// Window with an empty buffer.
    pub window_bytes: Bytes,
    /// Maximum number of connections.
    pub connections: u64,
    /// Window, ACKs, reads and stalls in words.
    pub window: String,
    /// See [`Self::window`].
    pub acknowledges: String,
    /// See [`Self::window`].
    pub reads: String,
    /// See [`Self::window`]; null without stalls.
    pub stalls: Option<String>,
}

/// Services of a device and their ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Services {
    /// Ports for raw data; the first is the profile's, or 9100.
    pub raw: Vec<u16>,
    /// Port for LPR: the profile's, or 515.
    pub lpr: u16,
    /// Port for IPP: the profile's, or 631.
    pub ipp: u16,
    /// Further ports for LPR.
    pub more_lpr: Vec<u16>,
    /// Further ports for IPP.
    pub more_ipp: Vec<u16>,
    /// True if the profile has raw data.
    pub raw_in_profile: bool,
    /// True if the profile has LPR.
    pub lpr_in_profile: bool,
    /// True if the profile has IPP.
    pub ipp_in_profile: bool,
}

/// Ports in addition to those of the profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraPorts<'a> {
    /// Ports for raw data.
    pub raw: &'a [u16],
    /// Ports for LPR.
    pub lpr: &'a [u16],
    /// Ports for IPP.
    pub ipp: &'a [u16],
}

impl Services {
    /// Returns the services of a profile, those that it lacks on their usual ports, and `more`.
    ///
    /// # Errors
    /// Fails if a port would have two services.
    pub fn new(profile: &Profile, more: ExtraPorts<'_>) -> Result<Self, Failure> {
        let in_profile = [profile.raw, profile.lpr, profile.ipp];
        let mut first = in_profile;
        for place in 0..first.len() {
            if first[place].is_none() {
                // The service's usual port, unless the profile has another service there.
                let usual = Protocol::ALL.map(Protocol::port);
                let mut free = usual.into_iter().cycle().skip(place).take(usual.len());
                first[place] = free.find(|port| !first.contains(&Some(*port)));
            }
        }
        let [raw, lpr, ipp] = first.map(Option::unwrap_or_default);
        let all = Self {
            raw: [vec![raw], beside(raw, more.raw)].concat(),
            lpr,
            ipp,
            more_lpr: beside(lpr, more.lpr),
            more_ipp: beside(ipp, more.ipp),
            raw_in_profile: profile.raw.is_some(),
            lpr_in_profile: profile.lpr.is_some(),
            ipp_in_profile: profile.ipp.is_some(),
        };
        let data = |served| match served {
            Protocol::Raw => "raw data".to_owned(),
            Protocol::Lpr | Protocol::Ipp => served.to_string(),
        };
        for (served, ports) in Protocol::ALL.into_iter().zip([more.raw, more.lpr, more.ipp]) {
            let other = |port: &u16| all.listening().find(|(one, by)| one == port && *by != served);
            if let Some((port, by)) = ports.iter().find_map(other) {
                let doing = format!("cannot serve {} on port {port}", data(served));
                let wrong = format!("{} has {} there", profile.name, data(by));
                return Err(Failure::usage(doing, wrong).advise("Give it another port."));
            }
        }
        Ok(all)
    }

    /// Returns the ports for raw data, LPR and IPP.
    pub fn ports(&self) -> [Vec<u16>; 3] {
        let lpr = [&[self.lpr][..], &self.more_lpr].concat();
        [self.raw.clone(), lpr, [&[self.ipp][..], &self.more_ipp].concat()]
    }

    /// Returns each port with its service.
    pub(super) fn listening(&self) -> impl Iterator<Item = (u16, Protocol)> {
        let all = Protocol::ALL.into_iter().zip(self.ports());
        all.flat_map(|(served, ports)| ports.into_iter().map(move |port| (port, served)))
    }

    /// Returns the name of a port: `raw 9100`, `LPR 515`, `IPP 631`, and `port 80` for one without
    /// a service.
    pub fn called(&self, port: u16) -> String {
        let served = self.listening().find(|(other, _)| *other == port);
        served.map_or_else(|| format!("port {port}"), |(_, served)| format!("{served} {port}"))
    }
}

/// Returns the ports other than the first, without duplicates.
fn beside(first: u16, more: &[u16]) -> Vec<u16> {
    let mut ports = Vec::new();
    for port in more {
        if *port != first && !ports.contains(port) {
            ports.push(*port);
        }
    }
    ports
}

impl DeviceFacts {
    /// Describes the device of a profile.
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

    /// Returns the maker and the name.
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
        Window::Buffer(_) => "a buffer, whose free part is offered",
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
            "after more than {} of the window, or {} after the first data",
            FineShare(share),
            exact(timer)
        ),
    };
    let mut text = match around(habits.ack_latency) {
        Some(latency) => format!("{when}, {latency} later"),
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
            Some(latency) => format!("acknowledged data, {latency} after the ACK"),
            None => "acknowledged data, with the ACK".to_owned(),
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

/// Formats a varying time; `None` for zero.
fn around(latency: Latency) -> Option<String> {
    let Latency { typical, spread } = latency;
    match (typical, spread) {
        (Span::ZERO, Span::ZERO) => None,
        (typical, Span::ZERO) => Some(exact(typical)),
        (typical, spread) => Some(format!("{} ± {}", exact(typical), exact(spread))),
    }
}

fn exact(span: Span) -> String {
    ExactSpan(span).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: ExtraPorts<'_> = ExtraPorts { raw: &[], lpr: &[], ipp: &[] };

    fn services(profile: &str, more: ExtraPorts<'_>) -> Result<Services, Failure> {
        Services::new(&Profile::named(profile, &|path| panic!("{}", path.display())).unwrap(), more)
    }

    #[test]
    fn a_method_that_the_profile_lacks_is_on_its_usual_port() {
        let more = ExtraPorts { raw: &[9_101, 9_100, 9_101], ipp: &[80, 631], ..NONE };
        let all = services("netgear-ps101", more).unwrap();
        assert_eq!((all.raw.as_slice(), all.lpr, all.ipp), (&[9_100, 9_101][..], 515, 631));
        assert_eq!((all.more_lpr.as_slice(), all.more_ipp.as_slice()), (&[][..], &[80][..]));
        assert!(all.raw_in_profile && !all.lpr_in_profile && !all.ipp_in_profile);
        let all = services("hawking-h-ps1u", ExtraPorts { lpr: &[1_515], ..NONE }).unwrap();
        assert!(all.lpr_in_profile);
        assert_eq!(
            [515, 1_515, 9_100, 631, 80].map(|port| all.called(port)),
            ["LPR 515", "LPR 1515", "raw 9100", "IPP 631", "port 80"]
        );
    }

    #[test]
    fn a_port_has_one_service() {
        let told = |more| {
            let failure = services("hawking-h-ps1u", more).unwrap_err();
            failure.to_string().lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            told(ExtraPorts { raw: &[515], ..NONE }),
            "cannot serve raw data on port 515: H-PS1U has LPR there"
        );
        assert_eq!(
            told(ExtraPorts { ipp: &[80], raw: &[80], ..NONE }),
            "cannot serve raw data on port 80: H-PS1U has IPP there"
        );
        assert!(services("hawking-h-ps1u", ExtraPorts { lpr: &[631], ..NONE }).is_err());
        let mut odd = Profile::named("healthy", &|path| panic!("{}", path.display())).unwrap();
        let mut ports = |raw, lpr, ipp| {
            (odd.raw, odd.lpr, odd.ipp) = (raw, lpr, ipp);
            let all = Services::new(&odd, NONE).unwrap();
            (all.raw, all.lpr, all.ipp)
        };
        assert_eq!(ports(Some(515), None, None), (vec![515], 631, 9_100));
        assert_eq!(ports(None, Some(9_100), None), (vec![515], 9_100, 631));
        assert_eq!(ports(None, None, Some(9_100)), (vec![515], 631, 9_100));
        assert_eq!(ports(Some(80), None, Some(631)), (vec![80], 515, 631));
    }

    #[test]
    fn habits_are_put_into_words() {
        let words = |name: &str| {
            let profile = Profile::named(name, &|path| panic!("{}", path.display())).unwrap();
            let facts = DeviceFacts::new(&profile, Services::new(&profile, NONE).unwrap());
            [facts.window, facts.acknowledges, facts.reads, facts.stalls.unwrap_or_default()]
        };
        assert_eq!(
            words("netgear-ps101"),
            [
                "1,024 B, a buffer, whose free part is offered; MSS 1460",
                "every segment, 10.387 ms ± 16 µs later, and 2.76 ms for a probe",
                "acknowledged data, 1.749 ms ± 12 µs after the ACK",
                "for 2.022 s, after each 390,000 B",
            ]
        );
        // Each profile gives whole sentences, whatever it sets.
        for (name, _) in windlass_lab::built_in::PROFILES {
            let [window, acknowledges, reads, _] = words(name);
            assert!(![window, acknowledges, reads].iter().any(String::is_empty), "{name}");
        }
        assert_eq!(words("healthy")[1], "every second segment, or 40 ms after a lone one");
    }
}
