//! Settings of IP packets, for each command that sends.

use std::net::IpAddr;

use clap::Args;
use windlass_drive::ip::{Bind, CODE_POINTS, Ip};

/// The arguments.
#[derive(Args, Clone, Debug, Default)]
pub struct IpArgs {
    /// Type of service of IP packets, as a byte: 0x10, 184
    #[arg(long, short = 'S', value_name = "N", value_parser = tos, conflicts_with = "dscp")]
    #[arg(help_heading = "IP")]
    pub tos: Option<u8>,

    /// DSCP of IP packets: af11 to af43, cs0 to cs7, ef, or 0 to 63
    #[arg(long, value_name = "NAME", value_parser = dscp, help_heading = "IP")]
    pub dscp: Option<u8>,

    /// Time to live of IP packets, in hops
    #[arg(long, value_name = "N", help_heading = "IP")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    pub ttl: Option<u8>,

    /// Source address and interface.
    #[arg(help = "Source address, interface, or both: 192.0.2.1, %eth0, fe80::1%eth0")]
    #[arg(long, short = 'B', value_name = "ADDRESS[%DEVICE]", value_parser = bind)]
    #[arg(help_heading = "IP")]
    pub bind: Option<Bind>,
}

impl IpArgs {
    /// Returns whether anything is set.
    pub fn is_set(&self) -> bool {
        self.ip() != Ip::default()
    }

    /// Returns the settings.
    pub fn ip(&self) -> Ip {
        Ip {
            tos: self.tos.or_else(|| self.dscp.map(|point| point << 2)),
            ttl: self.ttl,
            bind: self.bind.clone().unwrap_or_default(),
        }
    }
}

/// Parses a number in decimal, hexadecimal (0x) or octal (0), as iperf3 and ping do.
fn number(text: &str) -> Option<u32> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    // A sign is none of its digits.
    let is_number = digits.starts_with(|first: char| first.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, radix).ok())?
}

/// Parses a type of service: a byte.
fn tos(text: &str) -> Result<u8, String> {
    let byte = number(text).and_then(|number| u8::try_from(number).ok());
    byte.ok_or_else(|| {
        "a type of service is 0 to 255, as 184 or 0xb8; --dscp takes names".to_owned()
    })
}

/// Parses a code point: its name or its number.
fn dscp(text: &str) -> Result<u8, String> {
    let lower = text.to_ascii_lowercase();
    let named = CODE_POINTS.iter().find(|(name, _)| *name == lower).map(|(_, point)| *point);
    let numbered = || number(text).and_then(|number| u8::try_from(number).ok());
    named.or_else(numbered).filter(|point| *point < 64).ok_or_else(|| {
        let names: Vec<&str> = CODE_POINTS.iter().map(|(name, _)| *name).collect();
        format!("a DSCP is 0 to 63, or one of {}", names.join(", "))
    })
}

/// Parses an address, an interface, or both.
pub(super) fn bind(text: &str) -> Result<Bind, String> {
    let (address, device) = match text.split_once('%') {
        Some((address, device)) => (address, Some(device)),
        None => (text, None),
    };
    let allowed = || {
        "write an address, an interface or both as 192.0.2.1, %eth0 or 192.0.2.1%eth0".to_owned()
    };
    if device.is_some_and(str::is_empty) {
        return Err(allowed());
    }
    let address: Option<IpAddr> = match address {
        "" if device.is_some() => None,
        address => Some(address.parse().map_err(|_| allowed())?),
    };
    Ok(Bind { address, device: device.map(str::to_owned), port: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_those_of_iperf3() {
        for (text, point) in
            [("ef", 46), ("AF11", 10), ("cs1", 8), ("0x2e", 46), ("056", 46), ("0", 0)]
        {
            assert_eq!(dscp(text), Ok(point), "{text}");
        }
        for wrong in ["", "64", "af14", "cs8", "-1", "+1", "0x", "ef "] {
            assert!(dscp(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            [tos("184"), tos("0xb8"), tos("0270"), tos("0")],
            [Ok(184), Ok(184), Ok(184), Ok(0)]
        );
        for wrong in ["256", "ef", "-1", "0xfff", "08"] {
            assert!(tos(wrong).is_err(), "{wrong}");
        }
        let args = IpArgs { dscp: Some(46), ..IpArgs::default() };
        assert_eq!(args.ip().tos, Some(0xb8));
    }

    #[test]
    fn an_address_may_have_an_interface() {
        let of = |text: &str| bind(text).map(|bind| (bind.address, bind.device));
        let address = |text: &str| text.parse::<IpAddr>().ok();
        assert_eq!(of("192.0.2.1"), Ok((address("192.0.2.1"), None)));
        assert_eq!(of("%eth0"), Ok((None, Some("eth0".to_owned()))));
        assert_eq!(of("fe80::1%eth0"), Ok((address("fe80::1"), Some("eth0".to_owned()))));
        for wrong in ["", "%", "192.0.2.1%", "eth0", "192.0.2.300"] {
            assert!(bind(wrong).is_err(), "{wrong}");
        }
    }
}
