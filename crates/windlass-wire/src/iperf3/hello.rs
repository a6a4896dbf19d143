//! The first datagram of each flow over UDP, and its answer.
//!
//! UDP has no handshake, so iperf3 has its own. The client sends four bytes, from which the server
//! learns the client's port. The server answers with four bytes (`iperf_udp_connect` and
//! `iperf_udp_accept` of `iperf_udp.c`). Neither end retransmits a lost datagram.

/// Datagram of a client since 3.10, independent of its byte order.
pub const HELLO: [u8; 4] = *b"9876";

/// Answer of a server since 3.10. Older clients accept any datagram.
pub const WELCOME: [u8; 4] = *b"6789";

/// Answer of a server before 3.10.
const OLD_WELCOME: u32 = 987_654_321;

/// Returns whether a datagram begins a flow. Before 3.10 it held another number, in the client's
/// byte order. Servers never check the content.
pub const fn is_hello(datagram: &[u8]) -> bool {
    datagram.len() == HELLO.len()
}

/// Returns whether a datagram is a server's answer.
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
        // An early datagram of data, and this end's own hello.
        assert!(!is_welcome(&[0; 1_460]) && !is_welcome(&HELLO) && !is_welcome(b"67"));
    }
}
