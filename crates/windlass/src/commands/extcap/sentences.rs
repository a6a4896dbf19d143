//! Answers of an extcap program to Wireshark: sentences of extcap(4), one per line.

use std::fmt::Write;

use windlass_base::Failure;
use windlass_capture::live::{Framing, WHOLE, filter, machine};
use windlass_lab::{Profile, built_in};

/// Default size of a transfer to a device: some seconds for most devices.
pub(super) const BYTES: &str = "10MB";
/// The line and the round trip of `windlass device run`.
pub(super) const RATE: &str = "100mbit";
/// See [`RATE`].
pub(super) const RTT: &str = "10us";
/// Default profile: a fast device without faults.
pub(super) const PROFILE: &str = "healthy";

/// The interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    /// Packets as `windlass capture` takes them.
    Ring,
    /// A device of `windlass device run`, and a sender.
    Device,
}

/// Returns the version sentence.
pub(super) fn version() -> String {
    concat!("extcap {version=", env!("CARGO_PKG_VERSION"), "}{display=windlass}\n").to_owned()
}

/// Returns the sentences of the interfaces.
pub(super) fn interfaces() -> String {
    let mut text = version();
    for interface in [Interface::Ring, Interface::Device] {
        let (name, display) = (interface.name(), interface.display());
        text.push_str(&format!("interface {{value={name}}}{{display={display}}}\n"));
    }
    text
}

impl Interface {
    /// Returns the interface of this name.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        let all = [Self::Ring, Self::Device];
        all.into_iter().find(|interface| interface.name() == name).ok_or_else(|| {
            Failure::usage(format!("cannot answer for {name}"), "there is no such interface")
                .advise("The interfaces are windlass-ring and windlass-device.")
        })
    }

    /// Returns its name in the settings of Wireshark.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ring => "windlass-ring",
            Self::Device => "windlass-device",
        }
    }

    const fn display(self) -> &'static str {
        match self {
            Self::Ring => "windlass: ring",
            Self::Device => "windlass: emulated device",
        }
    }

    /// Returns its link type. The ring's may differ with the chosen interface; the file then
    /// has the right one.
    pub(super) fn link(self) -> String {
        // Numbers of libpcap on Linux.
        match self {
            Self::Ring => "dlt {number=1}{name=EN10MB}{display=Ethernet}\n",
            Self::Device => "dlt {number=12}{name=RAW}{display=Raw IP}\n",
        }
        .to_owned()
    }

    /// Returns its options.
    pub(super) fn options(self) -> String {
        match self {
            Self::Ring => ring(&machine::interfaces()),
            Self::Device => device(),
        }
    }

    /// Returns the error of a capture filter; empty if it is valid.
    pub(super) fn wrong_with(self, filter: &str) -> String {
        let framing = match self {
            Self::Ring => Framing::Ethernet,
            Self::Device => Framing::Ip,
        };
        match filter::compiled(filter, framing, WHOLE) {
            Ok(_) => String::new(),
            Err(failure) => format!("{}\n", failure.in_one_line()),
        }
    }
}

/// Returns the options of the ring.
fn ring(interfaces: &[String]) -> String {
    let mut text = String::from(
        "arg {number=0}{call=--interface}{display=Interface}{type=selector}\
         {tooltip=Interface to capture on}\n\
         value {arg=0}{value=any}{display=any: all interfaces}{default=true}\n",
    );
    // The grammar has no way to write a bracket.
    let plain = |name: &&String| !name.contains(['{', '}']);
    for name in interfaces.iter().filter(plain) {
        text.push_str(&format!("value {{arg=0}}{{value={name}}}{{display={name}}}\n"));
    }
    // Writing into a string cannot fail.
    let _ = write!(
        text,
        "arg {{number=1}}{{call=--snap-length}}{{display=Snap length}}{{type=unsigned}}\
         {{range=1,{WHOLE}}}{{default={WHOLE}}}{{tooltip=Maximum bytes to keep of a packet}}\n\
         arg {{number=2}}{{call=--direction}}{{display=Direction}}{{type=selector}}\
         {{tooltip=Direction of the packets}}\n\
         value {{arg=2}}{{value=usual}}{{display=both; in on the loopback, where each appears twice}}\
         {{default=true}}\n\
         value {{arg=2}}{{value=in}}{{display=in}}\n\
         value {{arg=2}}{{value=out}}{{display=out}}\n\
         value {{arg=2}}{{value=both}}{{display=both}}\n\
         arg {{number=3}}{{call=--promiscuous}}{{display=Promiscuous}}{{type=boolflag}}\
         {{default=false}}{{tooltip=Also packets for other hosts; not with any}}\n"
    );
    text
}

/// Returns the options of the device.
fn device() -> String {
    let mut text = String::from(
        "arg {number=0}{call=--profile}{display=Device}{type=selector}\
         {tooltip=The emulated device}\n",
    );
    for (id, _) in built_in::PROFILES {
        // Built-in profiles are readable; a test reads them all.
        let name = Profile::built_in(id).and_then(Result::ok).map(|profile: Profile| {
            let name = profile.full_name();
            if name == *id { name } else { format!("{name} ({id})") }
        });
        let display = name.unwrap_or_else(|| (*id).to_owned());
        let default = if *id == PROFILE { "{default=true}" } else { "" };
        text.push_str(&format!("value {{arg=0}}{{value={id}}}{{display={display}}}{default}\n"));
    }
    let _ = write!(
        text,
        "arg {{number=1}}{{call=--bytes}}{{display=Bytes to send}}{{type=string}}\
         {{default={BYTES}}}{{tooltip=500kB, 10MB or 64MiB}}\n\
         arg {{number=2}}{{call=--rate}}{{display=Link rate}}{{type=string}}\
         {{default={RATE}}}{{tooltip=100mbit, 1Gb/s or 10MB/s}}\n\
         arg {{number=3}}{{call=--rtt}}{{display=Link round trip time}}{{type=string}}\
         {{default={RTT}}}{{tooltip=10us, 2.5ms or 0.1s}}\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_and_every_interface_can_be_chosen() {
        let text = device();
        for (id, _) in built_in::PROFILES {
            assert!(text.contains(&format!("value {{arg=0}}{{value={id}}}{{display=")), "{id}");
        }
        assert_eq!(text.matches("{default=true}").count(), 1);
        let names = ["eth0".to_owned(), "a}{b".to_owned(), "lo".to_owned()];
        let text = ring(&names);
        assert!(text.contains("{value=eth0}") && text.contains("{value=lo}"));
        assert!(!text.contains("a}{b"), "it would break the sentence");
    }

    #[test]
    fn no_sentence_has_a_bracket_within_a_value() {
        let lines = [interfaces(), ring(&[]), device(), Interface::Ring.link()].concat();
        for line in lines.lines() {
            let (kind, rest) = line.split_once(' ').unwrap();
            assert!(["extcap", "interface", "arg", "value", "dlt"].contains(&kind), "{line}");
            let inner = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
            for part in inner.split("}{") {
                assert!(part.contains('=') && !part.contains(['{', '}']), "{line}");
            }
        }
    }
}
