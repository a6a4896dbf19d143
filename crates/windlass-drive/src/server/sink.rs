//! Clients that send only data: ttcp, and iperf 2 in its plain test.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use windlass_sys::socket::is_pause;
use windlass_wire::iperf2::{self, wish};

use super::data::{IDLE, receive};
use super::{Event, ServerState, Slot, back, echo};
use crate::error::Error;
use crate::protocol::Protocol;
use crate::stream::CloseSignal;
use crate::transfer::{EndCondition, Transfer};

/// Longest time for the rest of an iperf 2 header after its first bytes.
const HEADER: Duration = Duration::from_millis(50);

/// Longest time between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Receives all data of a client, and sends the data that it requests.
pub(super) fn serve(
    own: &Arc<ServerState>,
    stream: TcpStream,
    client: SocketAddr,
) -> Result<(), Error> {
    let Some((protocol, first)) = await_data(own, &stream)? else { return Ok(()) };
    let most = own.settings.most_tests;
    let Some(_place) = Slot::take(&own.tests, most) else {
        return Err(Error::Asked(format!("{most} tests run, and no more are taken")));
    };
    if let Some(size) = iperf2::bounce_size(&first) {
        own.say(Event::Echoes { client });
        return echo::bounce(&stream, size, moment, &|| own.stops());
    }
    let wish = wish(&first).filter(|_| protocol == Protocol::Iperf);
    let plain = Transfer { until: EndCondition::SourceEnds, ..Transfer::default() };
    let transfer = match wish {
        None => plain,
        Some(wish) => back::transfer(wish, &first)?,
    };
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let (near, failure) = match wish {
        None => receive(own, test, stream, CloseSignal::Sender)?,
        Some(wish) => back::serve(own, (test, client), stream, wish, &first, &transfer)?,
    };
    let failure = failure.map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far: None, failure });
    Ok(())
}

/// Waits for the first data, and determines the protocol; returns nothing if no data comes.
/// Acknowledges a client that asks for the server's version.
fn await_data(own: &ServerState, stream: &TcpStream) -> Result<Option<(Protocol, Vec<u8>)>, Error> {
    let failed = Error::io("cannot read what it sends");
    stream.set_read_timeout(Some(POLL_INTERVAL)).map_err(&failed)?;
    let (began, mut seen) = (Instant::now(), None::<Instant>);
    let mut first = [0; iperf2::LONGEST];
    while !own.stops() {
        let filled = match stream.peek(&mut first) {
            Ok(0) => return Ok(None),
            Ok(filled) => filled,
            Err(error) if is_pause(&error) => 0,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if filled == 0 {
            if began.elapsed() > IDLE {
                return Err(Error::Silent { during: "its data was awaited", after: IDLE });
            }
            continue;
        }
        // Data may be shorter than a header: then it has none.
        let since = *seen.get_or_insert_with(Instant::now);
        if filled < iperf2::wanted(&first[..filled]) && since.elapsed() < HEADER {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let first = &first[..filled];
        // Clients before 2.0.10 have a header only if they request something.
        let is_iperf = iperf2::is_header(first) || wish(first).is_some();
        let came = moment();
        if let Some(told) = iperf2::acknowledgement(first, came, moment()) {
            let mut stream = stream;
            stream.write_all(&told).map_err(Error::io("cannot answer"))?;
        }
        let protocol = if is_iperf { Protocol::Iperf } else { Protocol::Ttcp };
        return Ok(Some((protocol, first.to_vec())));
    }
    Ok(None)
}

/// Returns the current time in iperf 2's format.
fn moment() -> iperf2::Moment {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    [now.as_secs() as u32, now.subsec_micros()]
}
