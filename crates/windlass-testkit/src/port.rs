//! Free ports for programs that take a fixed port.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{TcpListener, UdpSocket};

/// Ports below the range that Linux assigns automatically (`ip_local_port_range` begins at 32,768).
///
/// Other tests open thousands of connections, so an automatic port may be taken a moment later.
const ASKED_FOR: std::ops::Range<u16> = 16_000..32_000;

/// Returns a port that was free a moment ago, at any address of this host, for TCP and UDP.
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
