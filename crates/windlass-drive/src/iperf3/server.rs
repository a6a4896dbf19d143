//! The end that a client of iperf3 asks for a test.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_wire::iperf3::server::{Input, Output, Server};
use windlass_wire::iperf3::{Code, Cookie, Parameters, Phase, Results, stream_id};

use super::convert::{Asked, Refusal, heard, judged, told};
use super::link::{Heard, Link};
use crate::error::Error;
use crate::protocol::Protocol;
use crate::report::SideReport;
use crate::server::{Event, Own, Place, Waiting};
use crate::side::{Ends, Side};
use crate::socket::Options;
use crate::stream::Closing;
use crate::transfer::{End, Role, Transfer, Until};

/// The longest that nobody looks whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The same while the last data comes.
const SOON: Duration = Duration::from_millis(2);

/// How long neither data nor a word may come from a client whose test runs.
const IDLE: Duration = Duration::from_secs(60);

/// How much longer than it said a client's test may run.
const OVERTIME: Duration = Duration::from_secs(60);

/// How long no data may come of what the client says to have sent.
const QUIET: Duration = Duration::from_secs(5);

/// The same where it does not say how much: it began to count anew.
const QUIET_UNKNOWN: Duration = Duration::from_millis(500);

/// How long the last data may take altogether.
const LAST_DATA: Duration = Duration::from_secs(30);

/// Serves the client whose control connection began with `cookie`.
pub(crate) fn serve(
    own: &Arc<Own>,
    stream: TcpStream,
    client: SocketAddr,
    cookie: Cookie,
) -> Result<(), Error> {
    let mut link = Link::new(stream, Phase::Parameters)?;
    let most = own.settings.most_tests;
    let Some(_place) = Place::take(&own.tests, most) else {
        link.say(&Server::busy())?;
        return Err(Error::Asked(format!("{most} tests run, and no more are taken")));
    };
    let mut opening = Opening { own, cookie, machine: Server::new(), link, asked: None };
    let opened = opening.run();
    if opened.is_err() {
        // The client has to be told; where it has gone it need not be.
        let _ = flush(&mut opening.machine, &mut opening.link);
    }
    let Some((Asked { transfer, run }, streams)) = opened? else { return Ok(()) };
    let Opening { machine, link, .. } = opening;
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    let protocol = Protocol::Iperf3;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let side = Side::start_with(End::Server, &run, streams, Ends::default(), Closing::Elsewhere)?;
    let mut running = Test {
        own,
        machine,
        link,
        transfer: &transfer,
        side: Some(side),
        moved: (Bytes::ZERO, Instant::now()),
        over: None,
        near: None,
        far: None,
    };
    let failure = running.run().err();
    let Test { side, near, far, .. } = running;
    let near = near.or_else(|| side.map(Side::finish)).unwrap_or_else(SideReport::nothing);
    let far = far.map(|results| heard(&results, End::Client, &transfer)).transpose();
    let (far, failure) = match far {
        Ok(far) => (far, failure),
        Err(error) => (None, failure.or(Some(error))),
    };
    let failure = failure.map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far, failure });
    Ok(())
}

/// Says what the machine has still to say.
fn flush(machine: &mut Server, link: &mut Link) -> Result<(), Error> {
    while let Some(output) = machine.poll_output() {
        if let Output::Send(bytes) = output {
            link.say(&bytes)?;
        }
    }
    Ok(())
}

/// Hears what comes until `until`.
fn hear(machine: &mut Server, link: &mut Link, until: Instant) -> Result<bool, Error> {
    match link.hear(machine.phase(), until)? {
        Heard::Bytes(bytes) => machine.handle(Input::Bytes(bytes))?,
        Heard::Closed => machine.handle(Input::Closed)?,
        Heard::Nothing => return Ok(false),
    }
    Ok(true)
}

/// A test that has not begun.
struct Opening<'a> {
    own: &'a Own,
    cookie: Cookie,
    machine: Server,
    link: Link,
    asked: Option<Asked>,
}

/// The streams of a test with their numbers.
type Streams = Vec<(u16, TcpStream)>;

impl<'a> Opening<'a> {
    /// Comes to the beginning of the test; nothing where the client only looked
    /// who is there.
    fn run(&mut self) -> Result<Option<(Asked, Streams)>, Error> {
        let mut waiting = None;
        let mut streams = Vec::new();
        loop {
            while let Some(output) = self.machine.poll_output() {
                match output {
                    Output::Send(bytes) => self.link.say(&bytes)?,
                    Output::Asked(parameters) => waiting = Some(self.judge(&parameters)?),
                    Output::AwaitStreams => {
                        // It says what is awaited before it is.
                        if let Some(waiting) = waiting.take() {
                            streams = self.gather(&waiting)?;
                        }
                        self.machine.handle(Input::StreamsOpen)?;
                    }
                    Output::Begin => return Ok(self.asked.take().map(|asked| (asked, streams))),
                    // They come of a test that has begun.
                    Output::Over | Output::Told(_) | Output::Finished => {}
                }
            }
            if self.own.stops() {
                self.machine.handle(Input::Stop)?;
            }
            hear(&mut self.machine, &mut self.link, Instant::now() + POLL_INTERVAL)?;
        }
    }

    /// Accepts what a client asks for, or refuses it.
    fn judge(&mut self, parameters: &Parameters) -> Result<Waiting<'a, Cookie>, Error> {
        let own = self.own;
        let judged = if own.settings.token.is_some() {
            let why = "this server asks for a token, and iperf3 knows none";
            Err((Code::LOGIN, why.to_owned()))
        } else {
            judged(parameters)
        };
        let waits = judged.and_then(|asked| {
            let taken = || (Code::BUSY, "a test of the same cookie runs".to_owned());
            let waiting = own.cookies.wait(self.cookie, asked.transfer.connections());
            Ok((asked, waiting.ok_or_else(taken)?))
        });
        match waits {
            Ok((asked, waiting)) => {
                self.asked = Some(asked);
                self.machine.handle(Input::Accept)?;
                Ok(waiting)
            }
            Err(refusal) => Err(self.refuse(refusal, 0)),
        }
    }

    fn refuse(&mut self, (code, why): Refusal, errno: i32) -> Error {
        // That it comes to its end is what is wanted.
        let _ = self.machine.handle(Input::Refuse { code, errno });
        Error::Asked(why)
    }

    /// Waits until all streams have come.
    fn gather(&mut self, waiting: &Waiting<'_, Cookie>) -> Result<Streams, Error> {
        let Some(Asked { transfer, .. }) = self.asked.clone() else { return Ok(Vec::new()) };
        let options = Options::of(&transfer, transfer.server);
        let wanted = usize::from(transfer.connections());
        let mut arrived = Vec::with_capacity(wanted);
        while arrived.len() < wanted {
            match waiting.arrivals.recv_timeout(POLL_INTERVAL) {
                Ok((number, stream)) => {
                    options.set_late(&stream).map_err(|error| self.refuse_option(error))?;
                    arrived.push((number, stream));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // A client that has gone is seen here, and one that is slow.
                    hear(&mut self.machine, &mut self.link, Instant::now())?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Protocol("the test is not known any more".to_owned()));
                }
            }
            if self.own.stops() {
                self.machine.handle(Input::Stop)?;
            }
        }
        // The client opens them one after the other: their order is their number.
        arrived.sort_by_key(|(number, _)| *number);
        Ok((0..).zip(arrived.into_iter().map(|(_, stream)| stream)).collect())
    }

    fn refuse_option(&mut self, error: Error) -> Error {
        let (code, errno) = match &error {
            Error::Option { option, source, .. } if option.contains("congestion") => {
                (Code::CONGESTION, source.raw_os_error())
            }
            Error::Option { source, .. } => (Code::ACCEPT, source.raw_os_error()),
            _ => (Code::ACCEPT, None),
        };
        self.refuse((code, String::new()), errno.unwrap_or(0));
        error
    }
}

/// A test that runs.
struct Test<'a> {
    own: &'a Own,
    machine: Server,
    link: Link,
    transfer: &'a Transfer,
    /// Until it has made its report.
    side: Option<Side>,
    /// The bytes that have moved, and when they last did.
    moved: (Bytes, Instant),
    /// When the client said that the data is over.
    over: Option<Instant>,
    near: Option<SideReport>,
    far: Option<Results>,
}

impl Test<'_> {
    fn run(&mut self) -> Result<(), Error> {
        while self.machine.phase() != Phase::Finished {
            let stepped = self.step();
            // It may have to say a last word, whatever happened.
            let done = self.act();
            stepped?;
            done?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Error> {
        if self.own.stops() {
            self.machine.handle(Input::Stop)?;
        }
        if let Some(side) = &mut self.side {
            side.tick();
            let moved = side.moved();
            if moved != self.moved.0 {
                self.moved = (moved, Instant::now());
            }
        }
        match self.machine.phase() {
            Phase::Running => self.wait_no_longer()?,
            Phase::Results | Phase::Collecting => self.receive_the_rest()?,
            _ => {}
        }
        let next =
            self.side.as_ref().map_or_else(|| Instant::now() + POLL_INTERVAL, Side::next_time);
        let look = if self.over.is_some() { SOON } else { POLL_INTERVAL };
        if hear(&mut self.machine, &mut self.link, next.min(Instant::now() + look))? {
            self.moved.1 = Instant::now();
        }
        Ok(())
    }

    /// Whether all bytes count, from the first to the last. Otherwise each end
    /// begins to count anew at a moment of its own.
    fn counts_all(&self) -> bool {
        self.transfer.omit == Span::ZERO
    }

    /// Gives up what does not end.
    fn wait_no_longer(&self) -> Result<(), Error> {
        let after = self.moved.1.elapsed();
        let during = "the test ran";
        if after > IDLE {
            return Err(Error::Silent { during, after });
        }
        let Some(side) = &self.side else { return Ok(()) };
        if let Until::Time(time) = self.transfer.until
            && side.runs_for() > (time + self.transfer.omit).to_duration() + OVERTIME
        {
            let why = "its test does not end at the time that it said";
            return Err(Error::Protocol(why.to_owned()));
        }
        Ok(())
    }

    /// Waits for what the client has sent still, and makes the report.
    fn receive_the_rest(&mut self) -> Result<(), Error> {
        let (Some(side), Some(over)) = (&self.side, self.over) else { return Ok(()) };
        let Some(far) = self.far.as_ref() else { return Ok(()) };
        if !side.is_done() {
            let whole = self.counts_all();
            let known: HashMap<i64, i64> =
                far.streams.iter().filter(|_| whole).map(|one| (one.id, one.bytes)).collect();
            let quiet = if whole { QUIET } else { QUIET_UNKNOWN };
            let gives_up = over.max(self.moved.1).elapsed() > quiet || over.elapsed() > LAST_DATA;
            side.end_receiving(|number, bytes| {
                let sent = known.get(&stream_id(number)).and_then(|sent| u64::try_from(*sent).ok());
                gives_up || sent.is_some_and(|sent| bytes.get() >= sent)
            });
            return Ok(());
        }
        let Some(side) = self.side.take() else { return Ok(()) };
        let totals: Vec<_> = side.each().collect();
        let report = side.finish();
        let whole = self.counts_all();
        let results = told(
            &report,
            |direction| direction.seconds,
            |number, role| {
                let of = |one: &&(u16, Role, Bytes)| one.0 == number && one.1 == role;
                totals.iter().find(of).map(|one| one.2).filter(|_| whole)
            },
        );
        self.near = Some(report);
        self.machine.handle(Input::Results(results))?;
        Ok(())
    }

    /// Does what the machine says.
    fn act(&mut self) -> Result<(), Error> {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Send(bytes) => self.link.say(&bytes)?,
                Output::Over => {
                    self.over = Some(Instant::now());
                    let whole = self.counts_all();
                    if let Some(side) = &mut self.side {
                        side.end_sending();
                        if !whole {
                            // What comes now may be what the client did not count.
                            side.stop();
                        }
                    }
                }
                Output::Told(results) => self.far = Some(results),
                Output::Asked(_) | Output::AwaitStreams | Output::Begin | Output::Finished => {}
            }
        }
        Ok(())
    }
}
