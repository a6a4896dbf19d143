//! Two namespaces with a wire between them, for tests.

use crate::namespace::Namespace;

/// The namespaces of the interfaces `left` and `right`. Both interfaces are up and have no address:
/// only a test's packets pass.
pub(crate) struct Pair {
    pub(crate) left: Namespace,
    pub(crate) right: Namespace,
}

impl Pair {
    /// Makes the pair; if that is not allowed, says what is skipped.
    pub(crate) fn make(test: &str) -> Option<Self> {
        let made = Namespace::new().and_then(|left| {
            let right = left.beside()?;
            left.add_veth("left", &right, "right")?;
            for (namespace, name) in [(&left, "left"), (&right, "right")] {
                // A system without IPv6 has no such setting, and sends nothing.
                let _ = namespace.set(c"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
                namespace.bring_up(name)?;
            }
            Ok(Self { left, right })
        });
        made.inspect_err(|refused| eprintln!("skipped: {test}: {refused}")).ok()
    }
}

/// Offset at which a [`datagram`] has room for its number.
pub(crate) const NUMBER_AT: usize = 42;

/// Makes a frame of this many bytes with a UDP datagram from this port, to no host.
pub(crate) fn datagram(bytes: u16, port: u16) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00];
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(bytes - 14).to_be_bytes());
    header[8..10].copy_from_slice(&[64, 17]);
    header[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    frame.extend(header);
    // From this port to port 9, discard. UDP may omit its checksum (RFC 768).
    frame.extend(port.to_be_bytes());
    frame.extend([0, 9]);
    frame.extend((bytes - 34).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(bytes.into(), 0);
    frame
}
