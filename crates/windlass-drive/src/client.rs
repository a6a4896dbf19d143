//! The end that asks for a test.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use windlass_wire::numbered::DatagramFormat;

use crate::control::{AcceptedTest, Control, Preamble, RequestedService, TestId, Token, Word};
use crate::driven::TestSide;
use crate::error::Error;
use crate::latency::{LoadedProber, Prober};
use crate::opening::open_flows;
use crate::report::{Interval, Latency, Outcome};
use crate::session::attend;
use crate::side::{Side, ThreadSettings};
use crate::socket::{Options, connect, connect_all, round_trips};
use crate::transfer::{End, Transfer};
use crate::udp::{self, UdpSide};

/// The port that `windlass serve` and iperf3 listen on.
pub const PORT: u16 = 5_201;

/// Longest time that the server may take until all streams are open: this time or a number of round
/// trips, whichever is longer. A lost SYN is retransmitted after 1, 3 and 7 seconds (RFC 6298
/// section 2). A late SYN needs one more round trip.
const OPENING: Duration = Duration::from_secs(20);
const OPENING_ROUND_TRIPS: u32 = 32;

/// A test to be made.
#[derive(Debug)]
pub struct Test<'a> {
    /// The server.
    pub to: SocketAddr,
    /// The token that it asks for.
    pub token: Option<&'a Token>,
    /// The transfer.
    pub transfer: &'a Transfer,
    /// True if the latency is measured, too: before, and during it.
    pub latency: bool,
}

/// Returns the address at which a host answers: the first of its addresses that accepts a
/// connection.
///
/// # Errors
/// Fails if the name does not resolve, or none of its addresses accepts a connection.
pub fn reach(host: &str, port: u16, options: &Options) -> Result<SocketAddr, Error> {
    dial(host, port, options).map(|(_, address)| address)
}

/// Connects to the first address of a host that accepts a connection. For many servers each
/// connection has a meaning, so the caller must use it.
///
/// # Errors
/// Fails if the name does not resolve, or none of its addresses accepts a connection.
pub fn dial(host: &str, port: u16, options: &Options) -> Result<(TcpStream, SocketAddr), Error> {
    let addresses = resolve(host, port)?;
    first(&addresses, |address| connect(address, options))
}

/// Returns the addresses of a host.
///
/// # Errors
/// Fails if the name does not resolve.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let failed = |source| Error::Resolve { host: host.to_owned(), source };
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    if found.is_empty() { Err(failed(io::ErrorKind::NotFound.into())) } else { Ok(found) }
}

/// Returns the result of the first address for which `connect` succeeds, and that address.
///
/// # Errors
/// Returns the error of the last address if all fail.
pub fn first<T>(
    addresses: &[SocketAddr],
    mut connect: impl FnMut(SocketAddr) -> Result<T, Error>,
) -> Result<(T, SocketAddr), Error> {
    let mut wrong = None;
    for address in addresses {
        match connect(*address) {
            Ok(made) => return Ok((made, *address)),
            Err(error) => wrong = Some(error),
        }
    }
    Err(wrong.unwrap_or_else(|| Error::Asked("the host has no address".to_owned())))
}

/// Makes a test. `tell` is called with the intervals of both ends; `stop` ends the test.
///
/// # Errors
/// Fails if the test does not begin. A later failure is reported with the measurements, in
/// [`Outcome::failure`].
pub fn run(
    test: &Test<'_>,
    ends: ThreadSettings,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    test.transfer.check()?;
    if test.transfer.udp {
        udp::check_asked(test.transfer, udp::SHORTEST)?;
    }
    let prober =
        test.latency.then(|| Prober::open(test.to, test.token, &test.transfer.ip)).transpose()?;
    let mut control = Control::open(test.to, &Options::beside(&test.transfer.ip))?;
    let ask = RequestedService::Transfer(Box::new(test.transfer.clone()));
    let AcceptedTest { test: id, .. } = control.ask(test.token, ask)?;
    let to = test.to;
    if test.transfer.udp {
        let (wanted, buffers) = (test.transfer.connections(), test.transfer.client);
        let flows = open_flows(to, (wanted, buffers, &test.transfer.ip), id, &mut control)?;
        return measure(control, prober, stop, tell, || {
            let format = DatagramFormat::Windlass { tag: id.tag() };
            Ok(Box::new(UdpSide::start(End::Client, test.transfer, flows, format)?))
        });
    }
    let streams = open_streams(to, test.transfer, id)?;
    await_begin(&mut control)?;
    measure(control, prober, stop, tell, || {
        Ok(Box::new(Side::start(End::Client, test.transfer, streams, ends)?))
    })
}

/// Makes the test, and measures the latency beside it.
fn measure(
    mut control: Control,
    prober: Option<Prober>,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
    start: impl FnOnce() -> Result<Box<dyn TestSide>, Error>,
) -> Result<Outcome, Error> {
    let idle_seconds = prober.as_ref().and_then(|prober| prober.idle);
    let probing = prober.map(Prober::under_load).transpose()?;
    let side = start()?;
    let outcome = attend(&mut control, side, stop, tell);
    let loaded = probing.and_then(LoadedProber::finish);
    let (loaded_seconds, loaded_p10_seconds) = loaded.unzip();
    let latency = Latency { idle_seconds, loaded_seconds, loaded_p10_seconds };
    Ok(Outcome { latency, ..outcome })
}

/// Opens all streams at once, so that many take no longer than one.
fn open_streams(
    to: SocketAddr,
    transfer: &Transfer,
    test: TestId,
) -> Result<Vec<(u16, TcpStream)>, Error> {
    let options = Options::of(transfer, transfer.buffers(End::Client));
    let connected = connect_all(to, &options, 0..transfer.connections())?;
    let name = |(stream, mut socket): (u16, TcpStream)| {
        socket
            .write_all(&Preamble::Data { test, stream }.bytes())
            .map_err(Error::io("cannot open a stream"))?;
        Ok((stream, socket))
    };
    (0..).zip(connected).map(name).collect()
}

fn await_begin(control: &mut Control) -> Result<(), Error> {
    let during = "the streams were opened";
    let patience = OPENING.max(round_trips(&control.stream, OPENING_ROUND_TRIPS));
    match control.hear(Instant::now() + patience, during)? {
        Some(Word::Begin) => Ok(()),
        Some(Word::Failed { why }) => Err(Error::Refused(why)),
        Some(_) => Err(Error::Protocol("it speaks of a test that has not begun".to_owned())),
        None => Err(Error::Silent { during, after: patience }),
    }
}
