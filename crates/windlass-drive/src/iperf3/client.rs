//! The client of a test with an iperf3 server.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sys::socket::is_pause;
use windlass_sys::wait::ready;
use windlass_wire::iperf3::client::{Client, Input, Output};
use windlass_wire::iperf3::hello::{HELLO, is_welcome};
use windlass_wire::iperf3::{Cookie, Failure, Phase};

use super::convert::{FORMAT, asked};
use super::link::{Link, Reception};
use super::running::RunningTest;
use crate::driven::TestSide;
use crate::error::Error;
use crate::report::{Interval, Latency, Outcome, SideReport};
use crate::server::random;
use crate::side::{Side, ThreadSettings};
use crate::socket::{Options, connect, round_trips};
use crate::stream::CloseSignal;
use crate::transfer::{Direction, End, EndCondition, Role, Transfer};
use crate::udp::{self, UdpSide};

/// Longest time between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest time between two checks while the last data arrives.
const SOON: Duration = Duration::from_millis(2);

/// Time for a stock server to read what its kernel has acknowledged. A stock server never counts
/// data that it has not read when it hears that the test is over.
const READING: Duration = Duration::from_millis(100);

/// Longest silence of a server that has said that it sends no more.
const QUIET: Duration = Duration::from_secs(1);

/// Longest time that the last bytes may take after the test's duration.
const GRACE: Duration = Duration::from_secs(8);

/// Longest time without progress while a test of bytes runs.
const IDLE: Duration = Duration::from_secs(60);

/// Longest time that the results may take after this end was told to stop.
const LAST_WORD: Duration = Duration::from_secs(3);

/// Longest wait for the server's answer to the first datagram of a flow before it is sent again. It
/// is this time or a number of round trips, whichever is longer.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_ROUND_TRIPS: u32 = 4;

/// Longest time to open a flow.
const OPENING: Duration = Duration::from_secs(10);

/// Longest pause before a UDP test of bytes is considered complete, because datagrams may be lost.
/// It is this time or the time of several datagrams at their pace, whichever is longer.
const LAST_DATAGRAM: Duration = Duration::from_secs(2);

/// Checks that an iperf3 server can be asked for a transfer.
pub(crate) fn check(transfer: &Transfer) -> Result<(), Error> {
    asked(transfer).map(|_| ())
}

/// Makes a test over a newly opened connection to a server. `tell` is called with the intervals of
/// this end; `stop` ends the test.
///
/// # Errors
/// Fails if the test does not begin. A later failure is reported with the measurements, in
/// [`Outcome::failure`].
pub fn run(
    (control, to): (TcpStream, SocketAddr),
    transfer: &Transfer,
    ends: ThreadSettings,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    transfer.check()?;
    let parameters = asked(transfer)?;
    let cookie = Cookie::from_random(random()?);
    let mut machine = Client::new(cookie, parameters);
    let mut link = Link::new(control, Phase::Greeting)?;
    let side: Box<dyn TestSide> = if transfer.udp {
        let patience = AGAIN.max(round_trips(&link.stream, AGAIN_ROUND_TRIPS));
        let flows = open(&mut machine, &mut link, stop, || {
            let open = |number| Ok((number, open_flow(to, transfer, number, patience, stop)?));
            (0..transfer.connections()).map(open).collect()
        })?;
        Box::new(UdpSide::start(End::Client, transfer, flows, FORMAT)?)
    } else {
        let streams = open(&mut machine, &mut link, stop, || open_streams(to, transfer, cookie))?;
        Box::new(Side::start_with(End::Client, transfer, streams, ends, CloseSignal::Elsewhere)?)
    };
    let own = RunningTest::new(transfer, link, side);
    let mut test = ClientTest { machine, own, over: None, stopped: None };
    let failure = test.run(stop, tell).err();
    let ClientTest { own, over, stopped, .. } = test;
    let (near, far, failure) = own.end(End::Server, failure);
    let far = far.map(|far| without_wait(far, transfer, over));
    let stopped = stopped.is_some();
    let broken = near.directions.iter().find_map(|direction| direction.error.clone());
    let failure = failure.or_else(|| broken.filter(|_| !stopped).map(Error::Stream));
    Ok(Outcome { near, far, latency: Latency::default(), failure, stopped })
}

/// Makes a test like [`run`], with a server that had a test a moment ago. A stock server closes its
/// port between two tests and turns an early client away. This function tries again for `patience`.
///
/// # Errors
/// Fails like [`run`], and if the server does not answer in that time.
pub fn run_after_another(
    to: SocketAddr,
    transfer: &Transfer,
    patience: Duration,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    let until = Instant::now() + patience;
    loop {
        let connected = connect(to, &Options::beside(&transfer.ip));
        let ran = connected.and_then(|control| {
            run((control, to), transfer, ThreadSettings::default(), stop, tell)
        });
        match ran {
            Err(error) if is_too_early(&error) && Instant::now() < until && !stop() => {
                thread::sleep(POLL_INTERVAL);
            }
            ran => return ran,
        }
    }
}

/// Returns whether the error may come from a server that was not ready yet.
fn is_too_early(error: &Error) -> bool {
    match error {
        Error::Connect { source, .. } => source.kind() == io::ErrorKind::ConnectionRefused,
        Error::Iperf3(Failure::Busy) => true,
        Error::Iperf3(Failure::Gone { during }) => *during == Phase::Greeting,
        _ => false,
    }
}

/// Removes the final wait from the server's time. A server's clock runs until it hears that the
/// test is over, but all that it received was acknowledged before.
fn without_wait(mut far: SideReport, transfer: &Transfer, over: Option<TestEnd>) -> SideReport {
    let Some(TestEnd { after, .. }) = over else { return far };
    let after = after - transfer.omit;
    for direction in far.directions.iter_mut().filter(|one| one.role == Role::Receiver) {
        direction.seconds = direction.seconds.min(after);
        direction.bytes_per_second = direction.bytes.per(direction.seconds);
    }
    far
}

/// Runs the protocol until the test begins.
fn open<S>(
    machine: &mut Client,
    link: &mut Link,
    stop: &dyn Fn() -> bool,
    mut open_streams: impl FnMut() -> Result<Vec<(u16, S)>, Error>,
) -> Result<Vec<(u16, S)>, Error> {
    let mut streams = Vec::new();
    loop {
        while let Some(output) = machine.poll_output() {
            match output {
                Output::Send(bytes) => link.say(&bytes)?,
                Output::OpenStreams => {
                    streams = open_streams()?;
                    machine.handle(Input::StreamsOpen)?;
                }
                Output::Begin => return Ok(streams),
                // Outputs of a test that has begun.
                Output::Collect | Output::Told(_) | Output::Finished => {}
            }
        }
        if stop() {
            let stopped = machine.handle(Input::Stop);
            while let Some(Output::Send(bytes)) = machine.poll_output() {
                link.say(&bytes)?;
            }
            stopped?;
        }
        hear(machine, link, Instant::now() + POLL_INTERVAL)?;
    }
}

/// Handles the messages that come until `until`.
fn hear(machine: &mut Client, link: &mut Link, until: Instant) -> Result<(), Error> {
    match link.hear(machine.phase(), until)? {
        Reception::Bytes(bytes) => machine.handle(Input::Bytes(bytes))?,
        Reception::Closed => machine.handle(Input::Closed)?,
        Reception::Nothing => {}
    }
    Ok(())
}

fn open_streams(
    to: SocketAddr,
    transfer: &Transfer,
    cookie: Cookie,
) -> Result<Vec<(u16, TcpStream)>, Error> {
    let mut options = Options::of(transfer, transfer.client);
    let open = |number| {
        options.ip.bind = transfer.ip.bind.of_stream(number);
        let mut stream = connect(to, &options)?;
        stream.write_all(&cookie.bytes()).map_err(Error::io("cannot open a stream"))?;
        Ok((number, stream))
    };
    (0..transfer.connections()).map(open).collect()
}

/// Opens a flow: its first datagram tells the server, which answers. Either may be lost, so the
/// first datagram is repeated. A server that has received it takes a repetition for unreadable
/// data, so it is not repeated soon.
fn open_flow(
    to: SocketAddr,
    transfer: &Transfer,
    number: u16,
    again: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<UdpSocket, Error> {
    let failed = Error::io("cannot open a flow");
    let socket = udp::open(to, transfer.client, &transfer.ip, number)?;
    let (began, mut said) = (Instant::now(), None::<Instant>);
    let mut answer = [0; 16];
    while began.elapsed() < OPENING && !stop() {
        if said.is_none_or(|said| said.elapsed() >= again) {
            said = Some(Instant::now());
            // An error of a host or a firewall on the path may have passed by the next attempt.
            let _ = socket.send(&HELLO);
        }
        if !ready(&[socket.as_fd()], Some(POLL_INTERVAL)).map_err(&failed)? {
            continue;
        }
        match socket.recv(&mut answer) {
            // Data may come after the answer, or before it on another path.
            Ok(length) if is_welcome(&answer[..length]) => return Ok(socket),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Error::Silent { during: "a flow was opened by UDP", after: began.elapsed() })
}

/// A running test.
struct ClientTest<'a> {
    machine: Client,
    own: RunningTest<'a>,
    /// Time when this end had sent, or had received, what was requested.
    over: Option<TestEnd>,
    stopped: Option<Instant>,
}

#[derive(Clone, Copy)]
struct TestEnd {
    at: Instant,
    /// Duration of the test until then.
    after: Span,
}

impl ClientTest<'_> {
    fn run(
        &mut self,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&Interval),
    ) -> Result<(), Error> {
        while self.machine.phase() != Phase::Finished {
            let stopped = self.step(stop, tell);
            // The machine may have a last message to send, whatever happened.
            let done = self.act();
            stopped?;
            done?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&Interval),
    ) -> Result<(), Error> {
        if self.stopped.is_none() && stop() {
            self.stopped = Some(Instant::now());
            self.own.side.stop();
        }
        if self.stopped.is_some_and(|since| since.elapsed() > LAST_WORD) {
            let during = "its results were waited for";
            return Err(Error::Silent { during, after: LAST_WORD });
        }
        self.own.tick(tell);
        match self.machine.phase() {
            Phase::Running => self.look_whether_over()?,
            Phase::Ending | Phase::Collecting => self.receive_the_rest()?,
            _ => {}
        }
        let next = self.own.next_time(if self.over.is_some() { SOON } else { POLL_INTERVAL });
        hear(&mut self.machine, &mut self.own.link, next)
    }

    /// Tells the machine that the test is over, once it is.
    fn look_whether_over(&mut self) -> Result<(), Error> {
        let side = &self.own.side;
        let transfer = self.own.transfer;
        let sent = side.senders_ended();
        let is_over = match (transfer.direction, transfer.until) {
            _ if self.stopped.is_some() => true,
            (Direction::Reverse, EndCondition::Time(_)) => side.is_past_deadline(),
            // A file is sent to the server.
            (Direction::Forward, _)
            | (Direction::Both, EndCondition::Time(_))
            | (_, EndCondition::SourceEnds) => sent,
            (Direction::Reverse | Direction::Both, EndCondition::Bytes(bytes)) => {
                let received = side.each().filter(|(_, role, _)| *role == Role::Receiver);
                let received = received.map(|(_, _, bytes)| bytes.get()).sum::<u64>();
                let lost = transfer.udp
                    && received > 0
                    && self.own.moved.1.elapsed() > LAST_DATAGRAM.max(transfer.time_until_next());
                sent && (received >= bytes.get() || lost)
            }
        };
        if !is_over {
            let after = self.own.moved.1.elapsed();
            let is_stuck = match transfer.until {
                EndCondition::Time(_) => side.is_late(GRACE),
                EndCondition::Bytes(_) => after > IDLE,
                // A source may pause for a while.
                EndCondition::SourceEnds => false,
            };
            let during = "the test ran";
            return if is_stuck { Err(Error::Silent { during, after }) } else { Ok(()) };
        }
        let over = *self.over.get_or_insert_with(|| TestEnd {
            at: Instant::now(),
            after: Span::from_duration(side.runs_for()),
        });
        let sends = side.each().any(|(_, role, _)| role == Role::Sender);
        let wait = if sends && self.stopped.is_none() { READING } else { Duration::ZERO };
        if over.at.elapsed() >= wait {
            self.machine.handle(Input::Over)?;
        }
        Ok(())
    }

    /// Waits for the server's last data, and makes the report.
    fn receive_the_rest(&mut self) -> Result<(), Error> {
        let side = &self.own.side;
        if !side.is_done() {
            let said = self.machine.phase() == Phase::Collecting;
            let since = self.over.map_or(Duration::MAX, |over| over.at.elapsed());
            if since > GRACE || said && self.own.moved.1.elapsed() > QUIET {
                side.end_receiving(&|_, _| true);
            }
            return Ok(());
        }
        if self.machine.phase() != Phase::Collecting {
            return Ok(());
        }
        let over = self.over.filter(|_| self.own.counts_all());
        let results =
            self.own.results(Span::ZERO, |one| over.map_or(one.seconds, |over| over.after));
        results.map_or(Ok(()), |results| Ok(self.machine.handle(Input::Results(results))?))
    }

    /// Carries out the outputs of the machine.
    fn act(&mut self) -> Result<(), Error> {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Send(bytes) => self.own.link.say(&bytes)?,
                Output::Told(results) => self.own.far = Some(results),
                // The report is made after all streams have ended.
                Output::Collect | Output::OpenStreams | Output::Begin | Output::Finished => {}
            }
        }
        Ok(())
    }
}
