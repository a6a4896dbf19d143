//! Clients that send data and nothing else: ttcp, and iperf 2 in its plain test.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use windlass_sys::socket::is_pause;
use windlass_wire::iperf2::{self, wish};

use super::data::{IDLE, receive};
use super::{Event, Own, Place, back, echo};
use crate::error::Error;
use crate::protocol::Protocol;
use crate::stream::Closing;
use crate::transfer::{Transfer, Until};

/// The longest time that the rest of what tells iperf 2 may take after the first bytes.
const HEADER: Duration = Duration::from_millis(50);

/// How often it is looked whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Takes all that a client sends, and sends what it asks for.
pub(super) fn serve(own: &Arc<Own>, stream: TcpStream, client: SocketAddr) -> Result<(), Error> {
    let Some((protocol, first)) = await_data(own, &stream)? else { return Ok(()) };
    let most = own.settings.most_tests;
    let Some(_place) = Place::take(&own.tests, most) else {
        return Err(Error::Asked(format!("{most} tests run, and no more are taken")));
    };
    if let Some(size) = iperf2::bounce_size(&first) {
        own.say(Event::Echoes { client });
        return echo::bounce(&stream, size, moment, &|| own.stops());
    }
    let wish = wish(&first).filter(|_| protocol == Protocol::Iperf);
    let plain = Transfer { until: Until::SourceEnds, ..Transfer::default() };
    let transfer = match wish {
        None => plain,
        Some(wish) => back::transfer(wish, &first)?,
    };
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let (near, failure) = match wish {
        None => receive(own, test, stream, Closing::Sender)?,
        Some(wish) => back::serve(own, (test, client), stream, wish, &first, &transfer)?,
    };
    let failure = failure.map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far: None, failure });
    Ok(())
}

/// Waits for the first data, and looks whose it is; nothing where none comes. A client that
/// asks who serves it is told.
fn await_data(own: &Own, stream: &TcpStream) -> Result<Option<(Protocol, Vec<u8>)>, Error> {
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
        // Data may be shorter than what would tell: then it is nobody's header.
        let since = *seen.get_or_insert_with(Instant::now);
        if filled < iperf2::wanted(&first[..filled]) && since.elapsed() < HEADER {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let first = &first[..filled];
        // The clients of before 2.0.10 have a header only where they want something.
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

/// This moment, as iperf 2 says it.
fn moment() -> iperf2::Moment {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    [now.as_secs() as u32, now.subsec_micros()]
}
