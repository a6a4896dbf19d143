//! Ports for programs that have to be told one.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{TcpListener, UdpSocket};

/// Those of which Linux gives none to who asks for any (`ip_local_port_range` begins at 32,768):
/// where other tests open thousands of connections, any of those may be taken a moment later.
const ASKED_FOR: std::ops::Range<u16> = 16_000..32_000;

/// A port that nobody had a moment ago, at any address of this host, for TCP or UDP.
pub fn free_port() -> u16 {
    loop {
        let place = RandomState::new().hash_one(()) % u64::from(ASKED_FOR.end - ASKED_FOR.start);
        let port = ASKED_FOR.start + u16::try_from(place).unwrap();
        let all = ("0.0.0.0", port);
        if TcpListener::bind(all).is_ok() && UdpSocket::bind(all).is_ok() {
            return port;
        }
    }
}
