//! How the flows of windlass's own tests over UDP are opened.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::control::{Control, Preamble, TestId, Word};
use crate::error::Error;
use crate::ip::Ip;
use crate::transfer::Buffers;
use crate::udp;

/// The longest time that the server may take before the first datagram of a flow is sent again.
const AGAIN: Duration = Duration::from_millis(200);

/// The longest time that it may take altogether.
const OPENING: Duration = Duration::from_secs(20);

/// Opens the flows of a test over UDP. Their first datagrams may be lost: each is sent again
/// until the server says that all have come.
pub(crate) fn open_flows(
    to: SocketAddr,
    (wanted, buffers, ip): (u16, Buffers, &Ip),
    test: TestId,
    control: &mut Control,
) -> Result<Vec<(u16, UdpSocket)>, Error> {
    let during = "the streams were opened";
    let open = |number| Ok((number, udp::open(to, buffers, ip)?));
    let flows: Vec<(u16, UdpSocket)> = (0..wanted).map(open).collect::<Result<_, Error>>()?;
    let until = Instant::now() + OPENING;
    while Instant::now() < until {
        for (stream, socket) in &flows {
            // What a host or a rule on the way says of it may be over at the next.
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
