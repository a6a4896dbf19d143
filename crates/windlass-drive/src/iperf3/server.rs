//! The end that a client of iperf3 asks for a test.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_wire::iperf3::server::{Input, Output, Server};
use windlass_wire::iperf3::{Code, Cookie, Parameters, Phase, stream_id};

use super::convert::{Refusal, RequestedTest, flows_sent, judged};
use super::link::{Link, Reception};
use super::output::text;
use super::running::Running;
use crate::control::PATIENCE;
use crate::driven::Driven;
use crate::error::Error;
use crate::protocol::Protocol;
use crate::server::flows::{Awaiting, FlowKey, GLANCE};
use crate::server::{Event, Gauged, Own, Place, Waiting};
use crate::side::Side;
use crate::socket::Options;
use crate::stream::Closing;
use crate::transfer::{End, Role, Until};
use crate::udp::UdpSide;

/// The longest that nobody looks whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The same while the last data comes.
const SOON: Duration = Duration::from_millis(2);

/// The time for which neither data nor a word may come from a client whose test runs.
const IDLE: Duration = Duration::from_secs(60);

/// How much longer than it said a client's test may run.
const OVERTIME: Duration = Duration::from_secs(60);

/// The time for which no data may come of what the client says to have sent.
const QUIET: Duration = Duration::from_secs(5);

/// The same where it does not say how much: it began to count anew.
const QUIET_UNKNOWN: Duration = Duration::from_millis(500);

/// The longest time that the last data of a test of a time may take. On a slow path a sender's
/// kernel holds seconds of it, and who asked for three seconds waits for no more than one beside.
const LAST_OF_A_TIME: Duration = Duration::from_secs(1);

/// The longest time that the last data may take altogether, where it ends with so many bytes.
const LAST_DATA: Duration = Duration::from_secs(30);

/// Serves the client whose control connection began with `cookie`.
pub(crate) fn serve(
    own: &Arc<Own>,
    stream: TcpStream,
    client: SocketAddr,
    cookie: Cookie,
) -> Result<(), Error> {
    let local = stream.local_addr().map_err(Error::io("cannot serve a client"))?;
    let mut link = Link::new(stream, Phase::Parameters)?;
    let most = own.settings.most_tests;
    let Some(_place) = Place::take(&own.tests, most) else {
        link.say(&Server::busy())?;
        return Err(Error::Asked(format!("{most} tests run, and no more are taken")));
    };
    let host = (client.ip(), local.ip());
    let mut opening = Opening { own, cookie, host, machine: Server::default(), link, asked: None };
    let opened = opening.run();
    if opened.is_err() {
        // The client has to be told; where it has gone it need not be.
        let _ = flush(&mut opening.machine, &mut opening.link);
    }
    let Some((asked, streams)) = opened? else { return Ok(()) };
    let RequestedTest { transfer, run, wants_output, format } = asked;
    let Opening { machine, link, .. } = opening;
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    let protocol = Protocol::Iperf3;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let side: Box<dyn Driven> = match streams {
        Streams::Tcp(streams) => {
            Box::new(Side::start_with(End::Server, &run, streams, own.ends(), Closing::Elsewhere)?)
        }
        Streams::Udp(flows) => Box::new(UdpSide::start(End::Server, &run, flows, format)?),
    };
    let side = Box::new(Gauged::new(side, own.gauge(test)));
    let running = Running::new(&transfer, link, side);
    let mut running = Test { server: own, machine, own: running, wants_output, over: None };
    let failure = running.run().err();
    let (near, far, failure) = running.own.end(End::Client, failure);
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
        Reception::Bytes(bytes) => machine.handle(Input::Bytes(bytes))?,
        Reception::Closed => machine.handle(Input::Closed)?,
        Reception::Nothing => return Ok(false),
    }
    Ok(true)
}

/// A test that has not begun.
struct Opening<'a> {
    own: &'a Own,
    cookie: Cookie,
    /// The address of the client, and the one of this host that it knows.
    host: (IpAddr, IpAddr),
    machine: Server,
    link: Link,
    asked: Option<RequestedTest>,
}

/// The streams of a test with their numbers.
enum Streams {
    Tcp(Vec<(u16, TcpStream)>),
    Udp(Vec<(u16, UdpSocket)>),
}

/// What waits for them.
enum Awaited<'a> {
    Tcp(Waiting<'a, Cookie>),
    Udp(Awaiting<'a>),
}

impl<'a> Opening<'a> {
    /// Comes to the beginning of the test; nothing where the client only looked
    /// who is there.
    fn run(&mut self) -> Result<Option<(RequestedTest, Streams)>, Error> {
        let mut waiting = None;
        let mut streams = Streams::Tcp(Vec::new());
        loop {
            while let Some(output) = self.machine.poll_output() {
                match output {
                    Output::Send(bytes) => self.link.say(&bytes)?,
                    Output::Asked(parameters) => waiting = Some(self.judge(&parameters)?),
                    Output::AwaitStreams => {
                        // It says what is awaited before it is.
                        match waiting.take() {
                            Some(Awaited::Tcp(waiting)) => streams = self.gather(&waiting)?,
                            Some(Awaited::Udp(awaiting)) => streams = self.flows(&awaiting)?,
                            None => {}
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
    fn judge(&mut self, parameters: &Parameters) -> Result<Awaited<'a>, Error> {
        let own = self.own;
        let judged = if own.settings.token.is_some() {
            let why = "this server asks for a token, and iperf3 knows none";
            Err((Code::LOGIN, why.to_owned()))
        } else {
            judged(parameters)
        };
        let asked = match judged {
            Ok(asked) if asked.transfer.udp => return self.judge_flows(asked),
            judged => judged,
        };
        let waits = asked.and_then(|asked| {
            let taken = || (Code::BUSY, "a test of the same cookie runs".to_owned());
            let waiting = own.cookies.wait(self.cookie, asked.transfer.connections());
            Ok((asked, waiting.ok_or_else(taken)?))
        });
        match waits {
            Ok((asked, waiting)) => {
                self.asked = Some(asked);
                self.machine.handle(Input::Accept)?;
                Ok(Awaited::Tcp(waiting))
            }
            Err(refusal) => Err(self.refuse(refusal, 0)),
        }
    }

    /// The same of a test over UDP. Nothing tells whose flows come from a host, so the next
    /// test of the same host waits until all flows of this one are there.
    fn judge_flows(&mut self, asked: RequestedTest) -> Result<Awaited<'a>, Error> {
        let own = self.own;
        let Some(port) = own.flows.get() else {
            let why = "it asks for UDP, and this server does not take UDP on its port";
            return Err(self.refuse((Code::PROTOCOL, why.to_owned()), 0));
        };
        let (known, at) = (FlowKey::Host(self.host.0), self.host.1);
        let (streams, buffers) = (asked.transfer.connections(), asked.transfer.server);
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(awaiting) = port.wait(known, at, streams, buffers) {
                self.asked = Some(asked);
                self.machine.handle(Input::Accept)?;
                return Ok(Awaited::Udp(awaiting));
            }
            if Instant::now() > until {
                let why = "the flows of another test of its host are still to come";
                return Err(self.refuse((Code::BUSY, why.to_owned()), 0));
            }
            if own.stops() {
                self.machine.handle(Input::Stop)?;
            }
            hear(&mut self.machine, &mut self.link, Instant::now() + GLANCE)?;
        }
    }

    /// Waits until all flows have come.
    fn flows(&mut self, awaiting: &Awaiting<'_>) -> Result<Streams, Error> {
        let wanted = self.asked.as_ref().map_or(0, |asked| asked.transfer.connections());
        let until = Instant::now() + PATIENCE;
        let gathered = awaiting.gather(wanted, until, &mut || {
            if self.own.stops() {
                self.machine.handle(Input::Stop)?;
            }
            hear(&mut self.machine, &mut self.link, Instant::now()).map(drop)
        });
        gathered.map(Streams::Udp).inspect_err(|error| {
            let _ = self.refuse((Code::ACCEPT, error.to_string()), 0);
        })
    }

    fn refuse(&mut self, (code, why): Refusal, errno: i32) -> Error {
        // That it comes to its end is what is wanted.
        let _ = self.machine.handle(Input::Refuse { code, errno });
        Error::Asked(why)
    }

    /// Waits until all streams have come.
    fn gather(&mut self, waiting: &Waiting<'_, Cookie>) -> Result<Streams, Error> {
        let Some(RequestedTest { transfer, .. }) = self.asked.clone() else {
            return Ok(Streams::Tcp(Vec::new()));
        };
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
        Ok(Streams::Tcp((0..).zip(arrived.into_iter().map(|(_, stream)| stream)).collect()))
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
    server: &'a Own,
    machine: Server,
    own: Running<'a>,
    wants_output: bool,
    /// The time when the client said that the data is over.
    over: Option<Over>,
}

#[derive(Clone, Copy)]
struct Over {
    at: Instant,
    /// The length of the time that counts, by then.
    after: Span,
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
        if self.server.stops() {
            self.machine.handle(Input::Stop)?;
        }
        self.own.tick(&mut |_| ());
        match self.machine.phase() {
            Phase::Running => self.wait_no_longer()?,
            Phase::Results | Phase::Collecting => self.receive_the_rest()?,
            _ => {}
        }
        let next = self.own.next_time(if self.over.is_some() { SOON } else { POLL_INTERVAL });
        if hear(&mut self.machine, &mut self.own.link, next)? {
            self.own.moved.1 = Instant::now();
        }
        Ok(())
    }

    /// Gives up what does not end.
    fn wait_no_longer(&self) -> Result<(), Error> {
        let Running { side, transfer, moved, .. } = &self.own;
        let after = moved.1.elapsed();
        let during = "the test ran";
        if after > IDLE {
            return Err(Error::Silent { during, after });
        }
        if let Until::Time(time) = transfer.until
            && side.runs_for() > (time + transfer.omit).to_duration() + OVERTIME
        {
            let why = "its test does not end at the time that it said";
            return Err(Error::Protocol(why.to_owned()));
        }
        Ok(())
    }

    /// Waits for what the client has sent still, and makes the report.
    fn receive_the_rest(&mut self) -> Result<(), Error> {
        let Running { side, far: Some(far), moved, .. } = &self.own else {
            return Ok(());
        };
        let Some(over) = self.over else { return Ok(()) };
        if !side.is_done() && self.own.transfer.udp {
            // It knows how many are to come, and waits for no more than those.
            return Ok(());
        }
        if !side.is_done() {
            let whole = self.own.counts_all();
            let known: HashMap<i64, i64> =
                far.streams.iter().filter(|_| whole).map(|one| (one.id, one.bytes)).collect();
            let quiet = if whole { QUIET } else { QUIET_UNKNOWN };
            let last = match self.own.transfer.until {
                Until::Time(_) => LAST_OF_A_TIME,
                Until::Bytes(_) | Until::SourceEnds => LAST_DATA,
            };
            let gives_up = over.at.max(moved.1).elapsed() > quiet || over.at.elapsed() > last;
            side.end_receiving(&|number, bytes| {
                let sent = known.get(&stream_id(number)).and_then(|sent| u64::try_from(*sent).ok());
                gives_up || sent.is_some_and(|sent| bytes.get() >= sent)
            });
            return Ok(());
        }
        // A client that has a time may send nothing at its end, and that was time, too.
        let least = match self.own.transfer.until {
            Until::Time(_) | Until::SourceEnds => over.after,
            Until::Bytes(_) => Span::ZERO,
        };
        // What has come was sent, whenever the own kernel was asked last; but no client makes it
        // more than what was written.
        let come: HashMap<i64, i64> = far.streams.iter().map(|one| (one.id, one.bytes)).collect();
        let most: HashMap<i64, i64> = side
            .each()
            .filter(|(_, role, _)| *role == Role::Sender)
            .map(|(number, _, bytes)| {
                (stream_id(number), i64::try_from(bytes.get()).unwrap_or(i64::MAX))
            })
            .collect();
        let Some(mut results) = self.own.results(least, |direction| direction.seconds) else {
            return Ok(());
        };
        for stream in &mut results.streams {
            if let (Some(come), Some(most)) = (come.get(&stream.id), most.get(&stream.id)) {
                stream.bytes = stream.bytes.max(*come.min(most));
            }
        }
        if self.wants_output {
            results.server_output_text = self.own.near.as_ref().map(text);
        }
        Ok(self.machine.handle(Input::Results(results))?)
    }

    /// Does what the machine says.
    fn act(&mut self) -> Result<(), Error> {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Send(bytes) => self.own.link.say(&bytes)?,
                Output::Over => {
                    let runs = Span::from_duration(self.own.side.runs_for());
                    let after = (runs - self.own.transfer.omit).or_zero();
                    self.over = Some(Over { at: Instant::now(), after });
                    let whole = self.own.counts_all();
                    self.own.side.end_sending();
                    if !whole {
                        // What comes now may be what the client did not count.
                        self.own.side.stop();
                    }
                }
                Output::Told(results) => {
                    let sent = flows_sent(&results, End::Client, self.own.transfer);
                    self.own.side.heard(&sent);
                    self.own.far = Some(results);
                }
                Output::Asked(_) | Output::AwaitStreams | Output::Begin | Output::Finished => {}
            }
        }
        Ok(())
    }
}
