//! The server of a test with a client of iperf3.

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
use super::running::RunningTest;
use crate::control::PATIENCE;
use crate::driven::TestSide;
use crate::error::Error;
use crate::protocol::Protocol;
use crate::server::flows::{FlowKey, FlowRegistration, GLANCE};
use crate::server::{Event, GaugedSide, ServerState, Slot, StreamRegistration, Turn};
use crate::side::Side;
use crate::socket::Options;
use crate::stream::CloseSignal;
use crate::transfer::{End, EndCondition, Role};
use crate::udp::UdpSide;

/// Longest time between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest time between two checks while the last data arrives.
const SOON: Duration = Duration::from_millis(2);

/// Longest time without data or a message from the client of a running test.
const IDLE: Duration = Duration::from_secs(60);

/// Time by which a client's test may exceed its announced duration.
const OVERTIME: Duration = Duration::from_secs(60);

/// Longest pause while data that the client says to have sent is missing.
const QUIET: Duration = Duration::from_secs(5);

/// Longest such pause if the number of bytes is unknown, because the client began to count anew.
const QUIET_UNKNOWN: Duration = Duration::from_millis(500);

/// Longest time for the last data of a timed test. On a slow path the sender's kernel holds seconds
/// of it, and the user asked for a short test.
const LAST_OF_A_TIME: Duration = Duration::from_secs(1);

/// Longest time for the last data of a test that ends with a number of bytes.
const LAST_DATA: Duration = Duration::from_secs(30);

/// Serves the client whose control connection began with `cookie`.
pub(crate) fn serve(
    own: &Arc<ServerState>,
    stream: TcpStream,
    client: SocketAddr,
    cookie: Cookie,
) -> Result<(), Error> {
    let local = stream.local_addr().map_err(Error::io("cannot serve a client"))?;
    let mut link = Link::new(stream, Phase::Parameters)?;
    let most = own.settings.most_tests;
    let Some(_place) = Slot::take(&own.tests, most) else {
        link.say(&Server::busy())?;
        return Err(Error::Asked(format!("{most} tests run, and no more are taken")));
    };
    let host = (client.ip(), local.ip());
    let mut opening =
        TestSetup { own, cookie, host, machine: Server::default(), link, asked: None };
    let opened = opening.run();
    if opened.is_err() {
        // The client has to be told; if it has gone, it need not be.
        let _ = flush(&mut opening.machine, &mut opening.link);
    }
    let Some((asked, streams)) = opened? else { return Ok(()) };
    let RequestedTest { transfer, run, wants_output, format } = asked;
    let TestSetup { machine, link, .. } = opening;
    let test = own.number.fetch_add(1, Ordering::Relaxed) + 1;
    let protocol = Protocol::Iperf3;
    own.say(Event::Begins { test, client, protocol, transfer: transfer.clone() });
    let side: Box<dyn TestSide> = match streams {
        Streams::Tcp(streams) => Box::new(Side::start_with(
            End::Server,
            &run,
            streams,
            own.ends(),
            CloseSignal::Elsewhere,
        )?),
        Streams::Udp(flows) => Box::new(UdpSide::start(End::Server, &run, flows, format)?),
    };
    let side = Box::new(GaugedSide::new(side, own.gauge(test)));
    let running = RunningTest::new(&transfer, link, side);
    let mut running = ServerTest { server: own, machine, own: running, wants_output, over: None };
    let failure = running.run().err();
    let (near, far, failure) = running.own.end(End::Client, failure);
    let failure = failure.map(|error| error.to_string());
    own.say(Event::Ends { test, client, protocol, near, far, failure });
    Ok(())
}

/// Sends the remaining messages of the machine.
fn flush(machine: &mut Server, link: &mut Link) -> Result<(), Error> {
    while let Some(output) = machine.poll_output() {
        if let Output::Send(bytes) = output {
            link.say(&bytes)?;
        }
    }
    Ok(())
}

/// Handles the messages that come until `until`.
fn hear(machine: &mut Server, link: &mut Link, until: Instant) -> Result<bool, Error> {
    match link.hear(machine.phase(), until)? {
        Reception::Bytes(bytes) => machine.handle(Input::Bytes(bytes))?,
        Reception::Closed => machine.handle(Input::Closed)?,
        Reception::Nothing => return Ok(false),
    }
    Ok(true)
}

/// A test that has not begun.
struct TestSetup<'a> {
    own: &'a ServerState,
    cookie: Cookie,
    /// Address of the client, and the address of this host that it connected to.
    host: (IpAddr, IpAddr),
    machine: Server,
    link: Link,
    asked: Option<RequestedTest>,
}

/// Streams of a test with their numbers.
enum Streams {
    Tcp(Vec<(u16, TcpStream)>),
    Udp(Vec<(u16, UdpSocket)>),
}

/// Registration under which streams are awaited.
enum Registration<'a> {
    Tcp(StreamRegistration<'a, Cookie>, Turn<'a>),
    Udp(FlowRegistration<'a>),
}

impl<'a> TestSetup<'a> {
    /// Runs the protocol until the test begins; returns nothing if the client only checked for a
    /// server.
    fn run(&mut self) -> Result<Option<(RequestedTest, Streams)>, Error> {
        let mut waiting = None;
        let mut streams = Streams::Tcp(Vec::new());
        loop {
            while let Some(output) = self.machine.poll_output() {
                match output {
                    Output::Send(bytes) => self.link.say(&bytes)?,
                    Output::Asked(parameters) => waiting = Some(self.judge(&parameters)?),
                    Output::AwaitStreams => {
                        // The machine first says which streams are awaited.
                        match waiting.take() {
                            Some(Registration::Tcp(waiting, turn)) => {
                                streams = self.gather(&waiting, &turn)?;
                            }
                            Some(Registration::Udp(awaiting)) => streams = self.flows(&awaiting)?,
                            None => {}
                        }
                        self.machine.handle(Input::StreamsOpen)?;
                    }
                    Output::Begin => return Ok(self.asked.take().map(|asked| (asked, streams))),
                    // Outputs of a test that has begun.
                    Output::Over | Output::Told(_) | Output::Finished => {}
                }
            }
            if self.own.stops() {
                self.machine.handle(Input::Stop)?;
            }
            hear(&mut self.machine, &mut self.link, Instant::now() + POLL_INTERVAL)?;
        }
    }

    /// Accepts a client's request, or refuses it.
    fn judge(&mut self, parameters: &Parameters) -> Result<Registration<'a>, Error> {
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
                let turn = own.door.turn(asked.transfer.server.window);
                self.asked = Some(asked);
                self.machine.handle(Input::Accept)?;
                Ok(Registration::Tcp(waiting, turn))
            }
            Err(refusal) => Err(self.refuse(refusal, 0)),
        }
    }

    /// Accepts a request for a UDP test, or refuses it. Nothing tells which test of a host a flow
    /// belongs to. The next test of the same host therefore waits until all flows of this one are
    /// open.
    fn judge_flows(&mut self, asked: RequestedTest) -> Result<Registration<'a>, Error> {
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
                return Ok(Registration::Udp(awaiting));
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

    /// Waits until all flows are open.
    fn flows(&mut self, awaiting: &FlowRegistration<'_>) -> Result<Streams, Error> {
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
        // The machine is meant to end here.
        let _ = self.machine.handle(Input::Refuse { code, errno });
        Error::Asked(why)
    }

    /// Waits until all streams are open.
    fn gather(
        &mut self,
        waiting: &StreamRegistration<'_, Cookie>,
        turn: &Turn<'_>,
    ) -> Result<Streams, Error> {
        let Some(RequestedTest { transfer, .. }) = self.asked.clone() else {
            return Ok(Streams::Tcp(Vec::new()));
        };
        let options = Options::of(&transfer, transfer.server);
        let wanted = usize::from(transfer.connections());
        let mut arrived = Vec::with_capacity(wanted);
        while arrived.len() < wanted {
            match waiting.arrivals.recv_timeout(POLL_INTERVAL) {
                Ok((number, stream)) => {
                    let prepared = turn.prepare(&stream, &options);
                    prepared.map_err(|error| self.refuse_option(error))?;
                    arrived.push((number, stream));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // This detects a client that has gone or is too slow.
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
        // The client opens the streams one after the other: their order gives their numbers.
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

/// A running test.
struct ServerTest<'a> {
    server: &'a ServerState,
    machine: Server,
    own: RunningTest<'a>,
    wants_output: bool,
    /// Time when the client said that the data is over.
    over: Option<DataEnd>,
}

#[derive(Clone, Copy)]
struct DataEnd {
    at: Instant,
    /// Counted duration until then.
    after: Span,
}

impl ServerTest<'_> {
    fn run(&mut self) -> Result<(), Error> {
        while self.machine.phase() != Phase::Finished {
            let stepped = self.step();
            // The machine may have a last message to send, whatever happened.
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

    /// Gives up a test that is silent or does not end in time.
    fn wait_no_longer(&self) -> Result<(), Error> {
        let RunningTest { side, transfer, moved, .. } = &self.own;
        let after = moved.1.elapsed();
        let during = "the test ran";
        if after > IDLE {
            return Err(Error::Silent { during, after });
        }
        if let EndCondition::Time(time) = transfer.until
            && side.runs_for() > (time + transfer.omit).to_duration() + OVERTIME
        {
            let why = "its test does not end at the time that it said";
            return Err(Error::Protocol(why.to_owned()));
        }
        Ok(())
    }

    /// Waits for the client's last data, and makes the report.
    fn receive_the_rest(&mut self) -> Result<(), Error> {
        let RunningTest { side, far: Some(far), moved, .. } = &self.own else {
            return Ok(());
        };
        let Some(over) = self.over else { return Ok(()) };
        if !side.is_done() && self.own.transfer.udp {
            // The UDP side knows how many datagrams are to come, and limits the wait itself.
            return Ok(());
        }
        if !side.is_done() {
            let whole = self.own.counts_all();
            let known: HashMap<i64, i64> =
                far.streams.iter().filter(|_| whole).map(|one| (one.id, one.bytes)).collect();
            let quiet = if whole { QUIET } else { QUIET_UNKNOWN };
            let last = match self.own.transfer.until {
                EndCondition::Time(_) => LAST_OF_A_TIME,
                EndCondition::Bytes(_) | EndCondition::SourceEnds => LAST_DATA,
            };
            let gives_up = over.at.max(moved.1).elapsed() > quiet || over.at.elapsed() > last;
            side.end_receiving(&|number, bytes| {
                let sent = known.get(&stream_id(number)).and_then(|sent| u64::try_from(*sent).ok());
                gives_up || sent.is_some_and(|sent| bytes.get() >= sent)
            });
            return Ok(());
        }
        // A client of a timed test may send nothing at its end, and this time counts, too.
        let least = match self.own.transfer.until {
            EndCondition::Time(_) | EndCondition::SourceEnds => over.after,
            EndCondition::Bytes(_) => Span::ZERO,
        };
        // Data that arrived was sent, even if this kernel was sampled before. A client cannot raise
        // the number above the bytes that were written.
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

    /// Carries out the outputs of the machine.
    fn act(&mut self) -> Result<(), Error> {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Send(bytes) => self.own.link.say(&bytes)?,
                Output::Over => {
                    let runs = Span::from_duration(self.own.side.runs_for());
                    let after = (runs - self.own.transfer.omit).or_zero();
                    self.over = Some(DataEnd { at: Instant::now(), after });
                    let whole = self.own.counts_all();
                    self.own.side.end_sending();
                    if !whole {
                        // Later data may be data that the client did not count.
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
