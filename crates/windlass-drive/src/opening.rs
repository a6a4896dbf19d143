//! Opening of the flows of windlass's own tests over UDP.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::control::{Control, Preamble, TestId, Word};
use crate::error::Error;
use crate::ip::Ip;
use crate::transfer::Buffers;
use crate::udp;

/// Wait for the server before the first datagram of each flow is sent again.
const AGAIN: Duration = Duration::from_millis(200);

/// Longest time to open all flows.
const OPENING: Duration = Duration::from_secs(20);

/// Opens the flows of a test over UDP. Their first datagrams may be lost. They are therefore
/// repeated until the server says that all have arrived.
pub(crate) fn open_flows(
    to: SocketAddr,
    (wanted, buffers, ip): (u16, Buffers, &Ip),
    test: TestId,
    control: &mut Control,
) -> Result<Vec<(u16, UdpSocket)>, Error> {
    let during = "the streams were opened";
    let open = |number| Ok((number, udp::open(to, buffers, ip, number)?));
    let flows: Vec<(u16, UdpSocket)> = (0..wanted).map(open).collect::<Result<_, Error>>()?;
    let until = Instant::now() + OPENING;
    while Instant::now() < until {
        for (stream, socket) in &flows {
            // An error of a host or a firewall on the path may have passed by the next attempt.
            let _ = socket.send(&Preamble::Datagrams { test, stream: *stream }.bytes());
        }
        match control.hear(Instant::now() + AGAIN, during)? {
            Some(Word::Begin) => return Ok(flows),
            Some(Word::Failed { why }) => return Err(Error::Refused(why)),
            Some(_) => {
                return Err(Error::Protocol("it speaks of a test that has not begun".to_owned()));
            }
            None => {}
        }
    }
    Err(Error::Silent { during, after: OPENING })
}
