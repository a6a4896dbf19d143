//! The client's end of a control connection.

use std::collections::VecDeque;

use super::code::Code;
use super::cookie::Cookie;
use super::failure::{Failure, Phase};
use super::inbox::Inbox;
use super::parameters::Parameters;
use super::results::Results;
use super::state::TestState;
use super::{LONGEST_RESULTS, framed};

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// These bytes came.
    Bytes(&'a [u8]),
    /// The server closed the connection.
    Closed,
    /// All streams are open, and each has the cookie.
    StreamsOpen,
    /// The time is over, or all is sent or received.
    Over,
    /// What this end measured.
    Results(Results),
    /// This end is to stop.
    Stop,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Open the streams; each begins with the cookie. Then say
    /// [`Input::StreamsOpen`].
    OpenStreams,
    /// Send and receive, up to [`Input::Over`].
    Begin,
    /// What this end measured is wanted ([`Input::Results`]).
    Collect,
    /// What the server measured.
    Told(Results),
    /// All is said.
    Finished,
}

/// A client's control connection.
#[derive(Clone, Debug)]
pub struct Client {
    phase: Phase,
    /// Why it is over, once it has failed.
    failed: Option<Failure>,
    parameters: Parameters,
    /// The server has said that the test begins.
    started: bool,
    inbox: Inbox,
    outputs: VecDeque<Output>,
}

impl Client {
    /// A connection that was just opened, for such a test.
    pub fn new(cookie: Cookie, parameters: Parameters) -> Self {
        let greeting = Output::Send(cookie.bytes().to_vec());
        Self {
            phase: Phase::Greeting,
            failed: None,
            parameters,
            started: false,
            inbox: Inbox::default(),
            outputs: VecDeque::from([greeting]),
        }
    }

    /// Where the test is; where it was, once it has failed.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// What is to be done next, if anything.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Takes what happened.
    ///
    /// # Errors
    /// Why the test came to nothing. From then on it is the same always.
    pub fn handle(&mut self, input: Input<'_>) -> Result<(), Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        let during = self.phase;
        let done = match (input, during) {
            (Input::Bytes(_) | Input::Closed | Input::Stop, Phase::Finished) => Ok(()),
            (Input::Bytes(bytes), _) => {
                self.inbox.take(bytes);
                self.read()
            }
            // Both have both results: nothing is missed.
            (Input::Closed, Phase::Closing) => {
                self.finish();
                Ok(())
            }
            (Input::Closed, _) => Err(self.closed()),
            (Input::Stop, _) => {
                self.say(TestState::ClientTerminate);
                Err(Failure::Ended { during })
            }
            (Input::StreamsOpen, Phase::Opening) => {
                self.phase = Phase::Starting;
                Ok(())
            }
            (Input::Over, Phase::Running) => {
                self.say(TestState::TestEnd);
                self.phase = Phase::Ending;
                Ok(())
            }
            (Input::Results(results), Phase::Collecting) => {
                self.phase = Phase::Results;
                self.send(framed(&results))
            }
            (input, _) => Err(Failure::OutOfTurn { what: input.name(), during }),
        };
        done.inspect_err(|failure| self.fail(failure))
    }

    /// The connection has ended. An old server says of an error only its own
    /// number before.
    fn closed(&self) -> Failure {
        let during = self.phase;
        match (self.inbox.first().and_then(TestState::read), self.inbox.number(1)) {
            (Some(TestState::ServerError), Some(code)) => {
                Failure::Server { during, code: Code(code), errno: 0 }
            }
            _ => Failure::Gone { during },
        }
    }

    fn fail(&mut self, failure: &Failure) {
        self.failed = Some(failure.clone());
        self.inbox = Inbox::default();
    }

    fn finish(&mut self) {
        self.phase = Phase::Finished;
        self.inbox = Inbox::default();
        self.outputs.push_back(Output::Finished);
    }

    fn say(&mut self, state: TestState) {
        self.outputs.push_back(Output::Send(vec![state.byte()]));
    }

    fn send(&mut self, message: Result<Vec<u8>, serde_json::Error>) -> Result<(), Failure> {
        let during = self.phase;
        let bytes =
            message.map_err(|error| Failure::Unreadable { during, why: error.to_string() })?;
        self.outputs.push_back(Output::Send(bytes));
        Ok(())
    }

    /// Goes as far as the bytes that are there.
    fn read(&mut self) -> Result<(), Failure> {
        while let Some(first) = self.inbox.first() {
            let during = self.phase;
            match during {
                Phase::Finished => return Ok(()),
                // A length this great there is not: another byte is a state.
                Phase::Results if first == 0 => {
                    let message = self.inbox.message(LONGEST_RESULTS, during)?;
                    let Some(results) = message else { return Ok(()) };
                    self.phase = Phase::Closing;
                    self.outputs.push_back(Output::Told(results));
                }
                _ => {
                    if !self.state(first)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a state; says no where more bytes belong to it.
    fn state(&mut self, byte: u8) -> Result<bool, Failure> {
        let during = self.phase;
        let unexpected = Failure::Unexpected { byte, during };
        let Some(state) = TestState::read(byte) else { return Err(unexpected) };
        match (state, during) {
            (TestState::ServerError, _) => {
                let (code, errno) = (self.inbox.number(1), self.inbox.number(5));
                let (Some(code), Some(errno)) = (code, errno) else { return Ok(false) };
                return Err(Failure::Server { during, code: Code(code), errno });
            }
            (TestState::ServerTerminate, _) => return Err(Failure::Left { during }),
            (TestState::AccessDenied, Phase::Greeting) => return Err(Failure::Busy),
            (TestState::ParamExchange, Phase::Greeting) => {
                let message = framed(&self.parameters);
                self.phase = Phase::Asking;
                self.send(message)?;
            }
            (TestState::CreateStreams, Phase::Asking) => {
                self.phase = Phase::Opening;
                self.outputs.push_back(Output::OpenStreams);
            }
            (TestState::TestStart, Phase::Starting) if !self.started => self.started = true,
            (TestState::TestRunning, Phase::Starting) if self.started => {
                self.phase = Phase::Running;
                self.outputs.push_back(Output::Begin);
            }
            (TestState::ExchangeResults, Phase::Ending) => {
                self.phase = Phase::Collecting;
                self.outputs.push_back(Output::Collect);
            }
            (TestState::DisplayResults, Phase::Closing) => {
                self.say(TestState::IperfDone);
                self.finish();
                return Ok(true);
            }
            _ => return Err(unexpected),
        }
        self.inbox.skip();
        Ok(true)
    }

    /// How many bytes are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.inbox.len()
    }
}

impl Input<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Closed => "the end of the connection",
            Self::StreamsOpen => "open streams",
            Self::Over => "the end of the data",
            Self::Results(_) => "results",
            Self::Stop => "the end",
        }
    }
}
