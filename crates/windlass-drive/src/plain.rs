//! Tests without a protocol, which are data only: ttcp's, and the plain ones of iperf 2. The client
//! sends and closes; the server reads to the end.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use windlass_wire::iperf2::plain_header;

use crate::driven::TestSide;
use crate::error::Error;
use crate::protocol::Protocol;
use crate::report::{Interval, Latency, Outcome};
use crate::side::{Side, ThreadSettings};
use crate::socket::{Options, connect_all};
use crate::stream::Source;
use crate::transfer::{End, EndCondition, Transfer};

/// Longest time between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest time that the last bytes may take after the test's duration.
const GRACE: Duration = Duration::from_secs(8);

/// Longest time without progress.
const IDLE: Duration = Duration::from_secs(60);

/// Size of PCATTCP's writes (`-l`), in bytes.
pub const TTCP_LENGTH: u32 = 8_192;

/// Number of PCATTCP's writes (`-n`).
pub const TTCP_WRITES: u64 = 2_048;

/// Makes a test over a connection to a server, newly opened with the options of the transfer, and
/// over further connections. `tell` is called with the intervals of this end; `stop` ends the test.
///
/// # Errors
/// Fails if the test does not begin. A later failure is reported with the measurements, in
/// [`Outcome::failure`].
pub fn run(
    (first, to): (TcpStream, SocketAddr),
    protocol: Protocol,
    transfer: &Transfer,
    ends: ThreadSettings,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    transfer.check()?;
    protocol.check(transfer)?;
    let options = Options::of(transfer, transfer.client);
    let ends = match (ends.source, protocol) {
        (None, Protocol::Iperf) => {
            let head = plain_header(transfer.streams, to.port());
            ThreadSettings { source: Some(Source::Headed(head.to_vec())), ..ends }
        }
        (source, _) => ThreadSettings { source, ..ends },
    };
    let others = connect_all(to, &options, 1..transfer.streams)?;
    let streams = (0..).zip([first].into_iter().chain(others)).collect();
    let mut side = Side::start(End::Client, transfer, streams, ends)?;
    // A pause of the source is not the other end's fault.
    let idle = (!matches!(transfer.until, EndCondition::SourceEnds)).then_some(IDLE);
    Ok(attend(&mut side, idle, stop, tell))
}

/// Runs streams to their end. If nothing moves for `idle`, gives up.
pub(crate) fn attend(
    side: &mut dyn TestSide,
    idle: Option<Duration>,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Outcome {
    let (mut moved, mut since, mut stopped) = (side.moved(), Instant::now(), false);
    let mut failure = None;
    loop {
        for interval in side.tick() {
            tell(&interval);
        }
        if side.is_done() {
            break;
        }
        if stop() {
            stopped = true;
            break;
        }
        let now = side.moved();
        if now != moved {
            (moved, since) = (now, Instant::now());
        }
        if side.is_late(GRACE) || idle.is_some_and(|idle| since.elapsed() > idle) {
            let during = "the test ran";
            failure = Some(Error::Silent { during, after: since.elapsed() });
            break;
        }
        let until = side.next_time().min(Instant::now() + POLL_INTERVAL);
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }
    let near = side.finish();
    let broken = near.directions.iter().find_map(|direction| direction.error.clone());
    let failure = failure.or_else(|| broken.filter(|_| !stopped).map(Error::Stream));
    Outcome { near, far: None, latency: Latency::default(), failure, stopped }
}
