//! A UDP flow of iperf 2. Like iperf's own server, it counts the datagrams, answers the last one
//! with a report, and sends the data that the client requests.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::Rate;
use windlass_sys::socket::is_pause;
use windlass_sys::wait::ready;
use windlass_wire::iperf2::datagrams::{Report, first};
use windlass_wire::iperf2::{Terms, Wish};
use windlass_wire::numbered::DatagramFormat;

use super::back::{TestOutcome, joined, terms, transfer};
use super::data::attended_for;
use super::{Event, ServerState, Slot};
use crate::error::Error;
use crate::ip::Ip;
use crate::protocol::Protocol;
use crate::report::SideReport;
use crate::transfer::{Buffers, Direction, End, EndCondition, Role, Transfer};
use crate::udp::{self, EarlyDatagram, EndSignal, UdpSide, usual_pace};

/// Silence after which a flow is over whose last datagrams were lost.
const IDLE: Duration = Duration::from_secs(10);

/// Silence after which the client must have received the answer.
const HEARD: Duration = Duration::from_secs(1);

/// Maximum number of answers: a client repeats its last datagram ten times.
const ANSWERS: usize = 10;

/// Longest time between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A flow that has begun.
#[derive(Debug)]
pub(super) struct IperfFlow {
    /// Socket, connected to its client.
    pub(super) socket: UdpSocket,
    pub(super) client: SocketAddr,
    pub(super) wanted: TestRequest,
    /// Datagrams that came before the socket was connected, with the first of the flow at the
    /// beginning.
    pub(super) early: Vec<EarlyDatagram>,
}

/// Request of the client.
#[derive(Debug)]
pub(super) struct TestRequest {
    format: DatagramFormat,
    wish: Option<Wish>,
    transfer: Transfer,
    /// Address on which the client listens, for `-d` and `-r`.
    back: SocketAddr,
}

impl TestRequest {
    /// Reads the request from the client's first datagram.
    ///
    /// # Errors
    /// Fails if the request cannot be served.
    pub(super) fn of(client: SocketAddr, begin: &[u8]) -> Result<Self, Error> {
        let length = u32::try_from(begin.len()).unwrap_or(u32::MAX);
        let no = || Error::Protocol("it is no datagram of iperf's".to_owned());
        let first = first(begin).ok_or_else(no)?;
        let rate = terms(first.header).ok().and_then(|terms| terms.bits_per_second);
        let plain = Transfer {
            udp: true,
            until: EndCondition::SourceEnds,
            length,
            pace: rate.map(|bits| Rate::from_bits_per_second(bits as f64)),
            ..Transfer::default()
        };
        let (transfer, port) = match first.wish {
            None => (plain, 0),
            Some(wish) => {
                let Terms { port, write, .. } = terms(first.header)?;
                let asked = transfer(wish, first.header)?;
                let pace = asked.pace.or_else(|| Some(usual_pace()));
                // If the client names no length, it is the length of its first datagram.
                let length = if write == 0 { length } else { write };
                (Transfer { udp: true, length, pace, ..asked }, port)
            }
        };
        let shortest = u32::try_from(first.format.shortest()).unwrap_or(u32::MAX);
        udp::check(&transfer, shortest)?;
        let back = SocketAddr::new(client.ip(), port);
        Ok(Self { format: first.format, wish: first.wish, transfer, back })
    }
}

impl IperfFlow {
    /// Serves the flow to its end.
    pub(super) fn serve(self, own: &ServerState) {
        let client = self.client;
        if let Err(error) = self.served(own) {
            own.say(Event::Refused { client, why: error.to_string() });
        }
    }

    fn served(self, own: &ServerState) -> Result<(), Error> {
        let most = own.settings.most_tests;
        let full = || Error::Asked("as many tests run as may".to_owned());
        let _flowing = Slot::take(&own.flowing, most.div_ceil(2)).ok_or_else(full)?;
        let _place = Slot::take(&own.tests, most).ok_or_else(full)?;
        let (client, protocol) = (self.client, Protocol::Iperf);
        let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
        let transfer = self.wanted.transfer.clone();
        own.say(Event::Begins { test, client, protocol, transfer });
        let (near, failure) = self.both(own, test)?;
        let failure = failure.map(|error| error.to_string());
        own.say(Event::Ends { test, client, protocol, near, far: None, failure });
        Ok(())
    }

    fn both(self, own: &ServerState, test: u64) -> TestOutcome {
        let Self { socket, wanted, early, .. } = self;
        let wanted = &wanted;
        let share = || socket.try_clone().map_err(Error::io("cannot share a socket"));
        match wanted.wish {
            None => receive((own, test), wanted, &socket, &early, true),
            Some(Wish::Reverse) => send((own, test), wanted, share()?, EndSignal::Said),
            Some(Wish::FullDuplex) => {
                let back = share()?;
                let receive = || receive((own, test), wanted, &socket, &early, false);
                at_once(receive, || send((own, test), wanted, back, EndSignal::Said))
            }
            Some(Wish::DualTest) => {
                let receive = || receive((own, test), wanted, &socket, &early, true);
                at_once(receive, || back((own, test), wanted))
            }
            Some(Wish::TradeOff | Wish::BounceBack) => {
                let received = receive((own, test), wanted, &socket, &early, true)?;
                Ok(joined(received, back((own, test), wanted)))
            }
        }
    }
}

/// Receives, and sends at the same time.
fn at_once(
    receive: impl FnOnce() -> TestOutcome,
    send: impl FnOnce() -> TestOutcome + Send,
) -> TestOutcome {
    thread::scope(|scope| {
        let sending = thread::Builder::new().name("back".to_owned()).spawn_scoped(scope, send);
        let received = receive();
        let broke = || Error::Stream("its thread broke off".to_owned());
        let sent = sending
            .map_err(Error::io("cannot start a thread"))
            .and_then(|sending| sending.join().unwrap_or_else(|_| Err(broke())));
        Ok(joined(received?, sent))
    })
}

/// Receives to the end, and answers with a report.
fn receive(
    (own, test): (&ServerState, u64),
    wanted: &TestRequest,
    socket: &UdpSocket,
    early: &[EarlyDatagram],
    is_answered: bool,
) -> TestOutcome {
    let receiving = socket.try_clone().map_err(Error::io("cannot share a socket"))?;
    let came = Transfer {
        direction: Direction::Forward,
        until: EndCondition::SourceEnds,
        // Whatever the length of the first datagram.
        length: udp::LONGEST,
        ..wanted.transfer.clone()
    };
    let (flows, format) = (vec![(0, receiving)], wanted.format);
    let side = UdpSide::start_with(End::Server, &came, flows, format, EndSignal::Silent, early)?;
    let (near, failure) = attended_for(own, test, side, IDLE);
    if is_answered && failure.is_none() {
        answer(own, socket, format, &near)?;
    }
    let failure = failure.map(|error| match error {
        Error::Silent { after, .. } => {
            Error::Silent { during: "the last datagram was awaited", after }
        }
        error => error,
    });
    Ok((near, failure))
}

/// Sends the data that a client requests.
fn send(
    (own, test): (&ServerState, u64),
    wanted: &TestRequest,
    socket: UdpSocket,
    ending: EndSignal,
) -> TestOutcome {
    let transfer = Transfer { direction: Direction::Reverse, ..wanted.transfer.clone() };
    let (flows, format) = (vec![(0, socket)], wanted.format);
    let side = UdpSide::start_with(End::Server, &transfer, flows, format, ending, &[])?;
    Ok(attended_for(own, test, side, IDLE.max(transfer.time_until_next())))
}

/// Sends the requested data to the port on which the client listens.
fn back(of: (&ServerState, u64), wanted: &TestRequest) -> TestOutcome {
    let socket = udp::open(wanted.back, Buffers::default(), &Ip::default(), 0)?;
    send(of, wanted, socket, EndSignal::Answered { opens_late: true })
}

/// Answers with the report until the client has received it.
fn answer(
    own: &ServerState,
    socket: &UdpSocket,
    format: DatagramFormat,
    near: &SideReport,
) -> Result<(), Error> {
    let failed = Error::io("cannot answer");
    let report = report(near).bytes(format == DatagramFormat::Iperf { wide: true });
    let (mut answers, mut asked) = (0, true);
    let mut heard = Instant::now();
    let mut buffer = vec![0; 1 << 16];
    while !own.stops() && heard.elapsed() < HEARD {
        if std::mem::take(&mut asked) && answers < ANSWERS {
            answers += 1;
            match socket.send(&report) {
                // The client has received the answer, and has gone.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => break,
                Err(error) if is_pause(&error) => {}
                sent => drop(sent.map_err(&failed)?),
            }
        }
        if !ready(&[socket.as_fd()], Some(POLL_INTERVAL)).map_err(&failed)? {
            continue;
        }
        match socket.recv(&mut buffer) {
            Ok(length) if format.read(&buffer[..length]).is_some_and(|stamp| stamp.is_last) => {
                (asked, heard) = (true, Instant::now());
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => break,
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Returns the report of an iperf server.
fn report(near: &SideReport) -> Report {
    let received = near.directions.iter().find(|one| one.role == Role::Receiver);
    let datagrams = received.and_then(|one| one.datagrams.as_ref());
    let Some((one, datagrams)) = received.zip(datagrams) else { return Report::default() };
    Report {
        bytes: one.bytes.get(),
        lasted: one.seconds.to_duration(),
        datagrams: datagrams.sent.unwrap_or(0),
        lost: datagrams.lost.unwrap_or(0),
        out_of_order: datagrams.out_of_order.unwrap_or(0),
        jitter: datagrams.jitter_seconds.unwrap_or_default().to_duration(),
    }
}
