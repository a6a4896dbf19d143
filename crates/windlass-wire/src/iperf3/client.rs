//! State machine of a client's control connection.

use std::collections::VecDeque;

use super::code::Code;
use super::cookie::Cookie;
use super::failure::{Failure, Phase};
use super::inbox::Inbox;
use super::parameters::Parameters;
use super::results::Results;
use super::state::TestState;
use super::{LONGEST_RESULTS, framed};

/// Inputs of the state machine.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// These bytes arrived.
    Bytes(&'a [u8]),
    /// The server closed the connection.
    Closed,
    /// All streams are open, and each has the cookie.
    StreamsOpen,
    /// The time is over, or all data is sent or received.
    Over,
    /// Results that this end measured.
    Results(Results),
    /// This end must stop.
    Stop,
}

/// Actions that the caller must take.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Open the streams, each of which begins with the cookie. Then pass [`Input::StreamsOpen`].
    OpenStreams,
    /// Send and receive data, up to [`Input::Over`].
    Begin,
    /// Pass the results of this end ([`Input::Results`]).
    Collect,
    /// Take the results that the server measured.
    Told(Results),
    /// The exchange is complete.
    Finished,
}

/// A client's control connection.
#[derive(Clone, Debug)]
pub struct Client {
    phase: Phase,
    /// Failure of the connection, if it failed.
    failed: Option<Failure>,
    parameters: Parameters,
    /// True once the server has announced the test's start.
    started: bool,
    inbox: Inbox,
    outputs: VecDeque<Output>,
}

impl Client {
    /// Creates the state of a newly opened connection, for a test with these parameters.
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

    /// Returns the phase of the test, or the phase in which it failed.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the next action, if any.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Handles an input.
    ///
    /// # Errors
    /// Fails with the reason for which the test failed. All later calls return the same failure.
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
            // Both ends have both results, so nothing is missing.
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

    /// Returns the failure of a closed connection. An old server sends only its error number before
    /// it closes.
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

    /// Processes the bytes that have arrived.
    fn read(&mut self) -> Result<(), Failure> {
        while let Some(first) = self.inbox.first() {
            let during = self.phase;
            match during {
                Phase::Finished => return Ok(()),
                // No message is this long: any other byte is a state.
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

    /// Handles a state. Returns `false` if more of its bytes must arrive first.
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

    /// Returns the number of bytes held.
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
