//! The first datagram of each flow over UDP, and its answer.
//!
//! UDP has no handshake, so iperf3 has one of its own: the client says four bytes, by which the
//! server learns its port, and the server answers with four (`iperf_udp_connect` and
//! `iperf_udp_accept` of `iperf_udp.c`). Neither is said again where it is lost.

/// What a client says: since 3.10, whatever the order of its machine's bytes.
pub const HELLO: [u8; 4] = *b"9876";

/// What a server answers since then. Clients of before take anything.
pub const WELCOME: [u8; 4] = *b"6789";

/// What it answered before.
const OLD_WELCOME: u32 = 987_654_321;

/// Whether a datagram begins a flow. What it holds was another number before 3.10, in the order
/// of the client's machine, and servers never looked at it.
pub const fn is_hello(datagram: &[u8]) -> bool {
    datagram.len() == HELLO.len()
}

/// Whether a datagram is a server's answer.
pub fn is_welcome(datagram: &[u8]) -> bool {
    let old = [OLD_WELCOME.to_be_bytes(), OLD_WELCOME.to_le_bytes()];
    datagram == WELCOME || old.iter().any(|old| datagram == old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_are_known() {
        assert!(is_hello(&HELLO) && is_hello(&123_456_789_u32.to_le_bytes()));
        assert!(!is_hello(&[]) && !is_hello(&[0; 5]));
        assert!(is_welcome(&WELCOME) && is_welcome(&[0xb1, 0x68, 0xde, 0x3a]));
        // A datagram of data that is quicker, and one's own word.
        assert!(!is_welcome(&[0; 1_460]) && !is_welcome(&HELLO) && !is_welcome(b"67"));
    }
}
