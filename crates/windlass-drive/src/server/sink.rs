//! Clients that send data and nothing else: ttcp, and iperf 2 in its plain test.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use windlass_sys::socket::is_pause;
use windlass_wire::iperf2::{self, wish};

use super::{Event, Own, Place};
use crate::error::Error;
use crate::plain::attend;
use crate::protocol::Protocol;
use crate::report::Outcome;
use crate::side::{Ends, Side};
use crate::transfer::{End, Transfer, Until};

/// How long a client may send nothing, at first and later. One that sends a byte now
/// and then is slow, and honest: nobody knows when its data ends.
const IDLE: Duration = Duration::from_secs(60);

/// How long the rest of what tells iperf 2 may take after the first bytes.
const HEADER: Duration = Duration::from_millis(50);

/// How often it is looked whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Takes all that a client sends.
pub(super) fn serve(own: &Arc<Own>, stream: TcpStream, client: SocketAddr) -> Result<(), Error> {
    let Some(protocol) = await_data(own, &stream)? else { return Ok(()) };
    let most = own.settings.most_tests;
    let Some(_place) = Place::take(&own.tests, most) else {
        return Err(Error::Asked(format!("{most} tests run, and no more are taken")));
    };
    let transfer = Transfer { until: Until::SourceEnds, ..Transfer::default() };
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let ends = Ends { sink: own.settings.output.clone(), ..own.ends() };
    let side = Side::start(End::Server, &transfer, vec![(0, stream)], ends)?;
    let attended = attend(side, Some(IDLE), &|| own.stops(), &mut |_| ());
    let Outcome { near, failure, stopped, .. } = attended;
    let ended = stopped.then(|| Error::Asked("the server was stopped".to_owned()));
    let failure = failure.or(ended).map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far: None, failure });
    Ok(())
}

/// Waits for the first data, and looks whose it is; nothing where none comes.
fn await_data(own: &Own, stream: &TcpStream) -> Result<Option<Protocol>, Error> {
    let failed = Error::io("cannot read what it sends");
    stream.set_read_timeout(Some(POLL_INTERVAL)).map_err(&failed)?;
    let (began, mut seen) = (Instant::now(), None::<Instant>);
    let mut first = [0; iperf2::HEADER];
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
        if filled < first.len() && since.elapsed() < HEADER {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        if let Some(wish) = wish(&first[..filled]) {
            let why = format!(
                "it is iperf {}, which asks the server to send, and only data to the server is \
                 taken; iperf3 and windlass do both",
                wish.option()
            );
            return Err(Error::Asked(why));
        }
        let is_iperf = iperf2::is_header(&first[..filled]);
        return Ok(Some(if is_iperf { Protocol::Iperf } else { Protocol::Ttcp }));
    }
    Ok(None)
}
