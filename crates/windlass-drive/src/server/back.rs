//! Clients of iperf 2 that request data in return. The data goes on the connection that they opened
//! (`-R`, `--full-duplex`), or on one that the server opens to them (`-d` at once, `-r` at their
//! end). Only data goes either way, so both ends count the same.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Rate, Span};
use windlass_wire::iperf2::{self, Amount, Terms, Wish};

use super::ServerState;
use super::data::{attended, receive};
use crate::error::Error;
use crate::report::SideReport;
use crate::side::Side;
use crate::socket::{Options, connect};
use crate::stream::CloseSignal;
use crate::transfer::{Direction, End, EndCondition, Transfer};

/// Longest time for the rest of a header.
const HEADER: Duration = Duration::from_secs(1);

/// Longest time until a client listens, and the interval between attempts to connect.
const LISTENING: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(10);

/// Report of a direction, and its error.
pub(super) type TestOutcome = Result<(SideReport, Option<Error>), Error>;

/// Returns the transfer that such a client requests.
///
/// # Errors
/// Fails if the transfer is not possible.
pub(super) fn transfer(wish: Wish, first: &[u8]) -> Result<Transfer, Error> {
    let Terms { amount, bits_per_second, .. } = terms(first)?;
    let direction = if wish == Wish::Reverse { Direction::Reverse } else { Direction::Both };
    let until = match amount {
        Amount::Hundredths(hundredths) => {
            EndCondition::Time(Span::from_millis(i64::from(hundredths) * 10))
        }
        Amount::Bytes(bytes) => EndCondition::Bytes(Bytes::new(bytes.into())),
    };
    let pace = bits_per_second.map(|bits| Rate::from_bits_per_second(bits as f64));
    let transfer = Transfer { direction, until, pace, ..Transfer::default() };
    transfer.check()?;
    Ok(transfer)
}

pub(super) fn terms(first: &[u8]) -> Result<Terms, Error> {
    let short = || Error::Protocol("its header is too short for what it asks for".to_owned());
    iperf2::terms(first).ok_or_else(short)
}

/// Serves the test.
pub(super) fn serve(
    own: &Arc<ServerState>,
    (test, client): (u64, SocketAddr),
    stream: TcpStream,
    wish: Wish,
    first: &[u8],
    transfer: &Transfer,
) -> TestOutcome {
    let Terms { port, length, .. } = terms(first)?;
    let options = Options::of(transfer, transfer.server);
    let own_way = |stream: TcpStream, closing| {
        let back = Transfer { direction: Direction::Reverse, ..transfer.clone() };
        let side = Side::start_with(End::Server, &back, vec![(0, stream)], own.ends(), closing)?;
        Ok(attended(own, test, side))
    };
    let other_way = || own_way(reach((client.ip(), port).into(), &options)?, CloseSignal::Sender);
    match wish {
        Wish::Reverse => {
            take(&stream, length)?;
            options.set_on_accepted(&stream)?;
            own_way(stream, CloseSignal::Sender)
        }
        Wish::FullDuplex => {
            let back = stream.try_clone().map_err(Error::io("cannot share a connection"))?;
            options.set_on_accepted(&back)?;
            both(own, test, stream, CloseSignal::Own, || own_way(back, CloseSignal::Own))
        }
        Wish::DualTest => both(own, test, stream, CloseSignal::Sender, other_way),
        // Another module serves a client that requests answers.
        Wish::TradeOff | Wish::BounceBack => {
            let received = receive(own, test, stream, CloseSignal::Sender)?;
            let before = received.0.process_cpu_seconds;
            // Each of the two, one after the other, measured its own processor time.
            let sent = other_way().map(|(mut sent, failure)| {
                sent.process_cpu_seconds += before;
                (sent, failure)
            });
            Ok(joined(received, sent))
        }
    }
}

/// Connects to a port of the client, which opens it at about the time when it begins to send.
fn reach(to: SocketAddr, options: &Options) -> Result<TcpStream, Error> {
    let until = Instant::now() + LISTENING;
    loop {
        match connect(to, options) {
            Err(Error::Connect { source, .. })
                if source.kind() == io::ErrorKind::ConnectionRefused && Instant::now() < until =>
            {
                thread::sleep(AGAIN);
            }
            connected => return connected,
        }
    }
}

/// Reads a header that no data follows: unread bytes would reset the connection at its end.
fn take(mut stream: &TcpStream, length: usize) -> Result<(), Error> {
    let failed = Error::io("cannot read what it asks for");
    stream.set_read_timeout(Some(HEADER)).map_err(&failed)?;
    stream.read_exact(&mut vec![0; length]).map_err(&failed)
}

/// Receives on a connection, and sends at the same time.
fn both(
    own: &ServerState,
    test: u64,
    stream: TcpStream,
    closing: CloseSignal,
    send: impl FnOnce() -> TestOutcome + Send,
) -> TestOutcome {
    let (received, sent) = thread::scope(|scope| {
        let sending = thread::Builder::new().name("back".to_owned()).spawn_scoped(scope, send);
        let received = receive(own, test, stream, closing);
        let broke = || Error::Stream("its thread broke off".to_owned());
        let sent = sending
            .map_err(Error::io("cannot start a thread"))
            .and_then(|sending| sending.join().unwrap_or_else(|_| Err(broke())));
        (received, sent)
    });
    let received = received?;
    let over_both = received.0.process_cpu_seconds;
    let (mut near, failure) = joined(received, sent);
    near.process_cpu_seconds = near.process_cpu_seconds.max(over_both);
    Ok((near, failure))
}

/// Joins both directions into one test. The received data is reported even if sending failed.
pub(super) fn joined(
    (mut near, failure): (SideReport, Option<Error>),
    sent: TestOutcome,
) -> (SideReport, Option<Error>) {
    match sent {
        Ok((sent, other)) => {
            near.directions.splice(0..0, sent.directions);
            near.process_cpu_seconds = sent.process_cpu_seconds;
            (near, failure.or(other))
        }
        Err(error) => (near, failure.or(Some(error))),
    }
}
