//! A test, on the server's side.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use windlass_wire::numbered::DatagramFormat;

use super::flows::{FlowKey, OpenedFlow};
use super::registry::{StreamRegistration, random};
use super::{Event, ServerState, Slot};
use crate::control::{Control, PATIENCE, Reply, TestId, Word};
use crate::driven::TestSide;
use crate::error::Error;
use crate::protocol::Protocol;
use crate::report::{Interval, Outcome};
use crate::session::attend;
use crate::side::Side;
use crate::socket::{Options, round_trips};
use crate::transfer::{Buffers, End, Transfer};
use crate::udp::{self, UdpSide};
use socket2::SockRef;

/// Interval between two checks for a departed client while streams are awaited.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Number of round trips that may pass until the next stream comes, if this is longer than
/// [`PATIENCE`]. Clients of other versions open one stream after the other, each in two round
/// trips.
const ROUND_TRIPS: u32 = 16;

/// Longest time until all streams are open. A client that opens one now and then keeps its slot no
/// longer.
const OPENING: Duration = Duration::from_secs(120);

/// Duration of a check for a message.
const GLANCE: Duration = Duration::from_millis(1);

/// Serves a test that a client requested.
pub(super) fn serve(
    own: &Arc<ServerState>,
    control: &mut Control,
    client: SocketAddr,
    transfer: &Transfer,
) -> Result<(), Error> {
    let most = own.settings.most_tests;
    let Some(_place) = Slot::take(&own.tests, most) else {
        let why = format!("{most} tests run, and no more are taken; try again later");
        return Err(control.refuse(Error::Asked(why)));
    };
    if transfer.udp {
        return over_udp(own, control, client, transfer);
    }
    let options = Options::of(transfer, transfer.server);
    let waiting = own.registry.wait(TestId(random()?), transfer.connections());
    let Some(waiting) = waiting else {
        let why = "a test of the same name runs".to_owned();
        return Err(control.refuse(Error::Asked(why)));
    };
    // The client's own MSS holds both ways: it announces it, and sends no larger segments.
    let turn = own.door.turn(options.buffers.window);
    control.say(&Reply::Accepted { test: waiting.id, asleep: None })?;
    let prepare = |stream: &TcpStream| turn.prepare(stream, &options);
    let streams = match gather(&waiting, control, transfer, &prepare) {
        Ok(streams) => streams,
        Err(error) => {
            let _ = control.say(&Word::Failed { why: error.to_string() });
            return Err(error);
        }
    };
    drop((waiting, turn));
    control.say(&Word::Begin)?;
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    let protocol = Protocol::Windlass;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let side = Side::start(End::Server, transfer, streams, own.ends())?;
    let Outcome { near, far, failure, .. } = attended(own, control, test, side);
    let failure = failure.map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far, failure });
    Ok(())
}

/// Serves a test over UDP.
fn over_udp(
    own: &Arc<ServerState>,
    control: &mut Control,
    client: SocketAddr,
    transfer: &Transfer,
) -> Result<(), Error> {
    if let Err(error) = udp::check(transfer, udp::SHORTEST) {
        return Err(control.refuse(error));
    }
    let (id, flows) = open_flows(own, control, transfer.connections(), transfer.server)?;
    for (_, flow) in &flows {
        transfer.ip.set(&SockRef::from(flow))?;
    }
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    let protocol = Protocol::Windlass;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let format = DatagramFormat::Windlass { tag: id.tag() };
    // It receives before the client is told to begin.
    let side = UdpSide::start(End::Server, transfer, flows, format)?;
    control.say(&Word::Begin)?;
    let Outcome { near, far, failure, .. } = attended(own, control, test, side);
    let failure = failure.map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far, failure });
    Ok(())
}

/// Runs a test to its end. The gauge gets the client's intervals, which have its kernel's figures.
fn attended(
    own: &ServerState,
    control: &mut Control,
    test: u64,
    side: impl TestSide + 'static,
) -> Outcome {
    let gauge = own.gauge(test);
    let mut tell = |interval: &Interval| {
        if let Some(gauge) = &gauge {
            gauge.tells(interval);
        }
    };
    attend(control, Box::new(own.gauged(test, side)), &|| own.stops(), &mut tell)
}

/// Accepts a client's request, and waits until `wanted` flows have come. The client does not know
/// yet that they have.
pub(super) fn open_flows(
    own: &ServerState,
    control: &mut Control,
    wanted: u16,
    buffers: Buffers,
) -> Result<(TestId, Vec<OpenedFlow>), Error> {
    let Some(port) = own.flows.get() else {
        let why = "this server has no UDP port; another program may use it";
        return Err(control.refuse(Error::Asked(why.to_owned())));
    };
    let id = TestId(random()?);
    let at = control.stream.local_addr().map_err(Error::io("cannot open a port for the test"))?;
    let Some(awaiting) = port.wait(FlowKey::Test(id), at.ip(), wanted, buffers) else {
        let why = "a test of the same name runs".to_owned();
        return Err(control.refuse(Error::Asked(why)));
    };
    control.say(&Reply::Accepted { test: id, asleep: None })?;
    let until = Instant::now() + PATIENCE;
    let gathered = awaiting.gather(wanted, until, &mut || {
        let glance = Instant::now() + GLANCE;
        match control.hear::<Word>(glance, "the streams were waited for")? {
            Some(word) => Err(Error::Protocol(format!("it says {word:?} before the test"))),
            None => Ok(()),
        }
    });
    match gathered {
        Ok(flows) => Ok((id, flows)),
        Err(error) => {
            let _ = control.say(&Word::Failed { why: error.to_string() });
            Err(error)
        }
    }
}

/// Waits until all streams are open.
fn gather(
    waiting: &StreamRegistration<'_, TestId>,
    control: &mut Control,
    transfer: &Transfer,
    prepare: &dyn Fn(&TcpStream) -> Result<(), Error>,
) -> Result<Vec<(u16, TcpStream)>, Error> {
    let patience = PATIENCE.max(round_trips(&control.stream, ROUND_TRIPS)).min(OPENING);
    let (began, mut last) = (Instant::now(), Instant::now());
    let wanted = usize::from(transfer.connections());
    let mut streams = Vec::<(u16, TcpStream)>::with_capacity(wanted);
    while streams.len() < wanted {
        match waiting.arrivals.recv_timeout(POLL_INTERVAL) {
            Ok((number, stream)) => {
                let wanted = u16::try_from(number).ok().filter(|number| {
                    let known = streams.iter().any(|(known, _)| known == number);
                    !known && *number < transfer.connections()
                });
                let Some(number) = wanted else {
                    return Err(Error::Protocol(format!("stream {number} is not to be opened")));
                };
                prepare(&stream)?;
                streams.push((number, stream));
                last = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {
                // This detects a client that has gone. With no time to wait, nothing would be read,
                // and the client would keep its slot for the whole time.
                let glance = Instant::now() + GLANCE;
                let word = control.hear::<Word>(glance, "the streams were waited for")?;
                if let Some(word) = word {
                    return Err(Error::Protocol(format!("it says {word:?} before the test")));
                }
                if last.elapsed() > patience || began.elapsed() > OPENING {
                    let why = format!("{} of {wanted} streams arrived", streams.len());
                    return Err(Error::Protocol(why));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Protocol("the test is not known any more".to_owned()));
            }
        }
    }
    Ok(streams)
}
