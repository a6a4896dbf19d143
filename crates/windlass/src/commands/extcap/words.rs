//! Arguments of Wireshark for an extcap program.
//!
//! Wireshark does not ask for the known arguments: unknown ones are ignored, with the value that
//! follows.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use windlass_base::Failure;

/// Parsed arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExtcapArguments {
    pub(super) lists_interfaces: bool,
    pub(super) asks_version: bool,
    pub(super) interface: Option<String>,
    pub(super) lists_links: bool,
    pub(super) lists_options: bool,
    pub(super) capture: bool,
    pub(super) cleans_up: bool,
    pub(super) fifo: Option<PathBuf>,
    /// `None` if empty.
    pub(super) filter: Option<String>,
    /// Of the ring.
    pub(super) captured: Option<String>,
    pub(super) snap_length: Option<String>,
    pub(super) direction: Option<String>,
    pub(super) promiscuous: bool,
    /// Of the device.
    pub(super) profile: Option<String>,
    pub(super) bytes: Option<String>,
    pub(super) rate: Option<String>,
    pub(super) rtt: Option<String>,
}

impl ExtcapArguments {
    /// Reads words, each with its value in the same word behind a `=`, or in the
    /// next. Of two of a kind the last counts.
    pub(super) fn read(words: &[OsString]) -> Result<Self, Failure> {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(word) = word.to_str() else { continue };
            let (name, own) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let switch = match name {
                "--extcap-interfaces" => Some(&mut read.lists_interfaces),
                // With a value, the option states the caller's version.
                "--extcap-version" => Some(&mut read.asks_version),
                "--extcap-dlts" => Some(&mut read.lists_links),
                "--extcap-config" => Some(&mut read.lists_options),
                "--extcap-cleanup-postkill" => Some(&mut read.cleans_up),
                "--capture" => Some(&mut read.capture),
                "--promiscuous" => Some(&mut read.promiscuous),
                _ => None,
            };
            if let Some(switch) = switch {
                *switch = own != Some("false");
                continue;
            }
            let mut value =
                || own.map(OsStr::new).or_else(|| words.next().map(OsString::as_os_str));
            if name == "--fifo" {
                read.fifo = Some(value().ok_or_else(|| missing(name))?.into());
                continue;
            }
            let place = match name {
                "--extcap-interface" => &mut read.interface,
                "--extcap-capture-filter" => &mut read.filter,
                "--interface" => &mut read.captured,
                "--snap-length" => &mut read.snap_length,
                "--direction" => &mut read.direction,
                "--profile" => &mut read.profile,
                "--bytes" => &mut read.bytes,
                "--rate" => &mut read.rate,
                "--rtt" => &mut read.rtt,
                _ => continue,
            };
            let value = value().ok_or_else(|| missing(name))?;
            let Some(value) = value.to_str() else {
                let shown = value.to_string_lossy();
                return Err(Failure::usage(
                    format!("cannot take {name} {shown}"),
                    "the value is not valid text",
                ));
            };
            // An option with an empty value counts as absent.
            *place = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
        Ok(read)
    }
}

fn missing(name: &str) -> Failure {
    Failure::usage(format!("cannot take {name}"), "its value is missing")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> ExtcapArguments {
        ExtcapArguments::read(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_value_is_in_its_word_or_in_the_next() {
        let one = read("--capture --extcap-interface windlass-ring --fifo /tmp/x --interface lo");
        let other = read("--capture --extcap-interface=windlass-ring --fifo=/tmp/x --interface=lo");
        assert_eq!(one, other);
        assert_eq!(
            one,
            ExtcapArguments {
                capture: true,
                interface: Some("windlass-ring".into()),
                fifo: Some("/tmp/x".into()),
                captured: Some("lo".into()),
                ..ExtcapArguments::default()
            }
        );
        // A filter may hold a `=`.
        let words = read("--extcap-capture-filter tcp[13]=2");
        assert_eq!(words.filter.as_deref(), Some("tcp[13]=2"));
        assert_eq!(read("--extcap-capture-filter=tcp[13]=2").filter, words.filter);
    }

    #[test]
    fn unknown_words_are_passed_over_with_their_values() {
        let known = read("--extcap-config --extcap-interface windlass-ring");
        for line in [
            "--log-level debug --extcap-config --extcap-interface windlass-ring",
            "--extcap-config --extcap-reload-option interface --extcap-interface windlass-ring",
            "--extcap-control-in /tmp/a --extcap-config --new --extcap-interface=windlass-ring -x",
        ] {
            assert_eq!(read(line), known, "{line}");
        }
        assert!(read("--extcap-interfaces --extcap-version=4.7").lists_interfaces);
    }

    #[test]
    fn what_is_empty_is_not_there() {
        let words =
            [OsString::from("--extcap-capture-filter"), OsString::new(), OsString::from("--rtt= ")];
        assert_eq!(ExtcapArguments::read(&words).unwrap(), ExtcapArguments::default());
        assert!(!read("--promiscuous=false").promiscuous);
        assert!(read("--promiscuous true").promiscuous);
        for name in ["--fifo", "--extcap-interface", "--bytes"] {
            let error = ExtcapArguments::read(&[name.into()]).unwrap_err().to_string();
            assert_eq!(error, format!("cannot take {name}: its value is missing"));
        }
    }

    proptest! {
        #[test]
        fn no_words_end_it(words in prop::collection::vec(any::<String>(), 0..8)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            let _ = ExtcapArguments::read(&words);
        }
    }
}
