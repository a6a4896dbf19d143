//! State machine of a server's control connection.

use std::collections::VecDeque;

use super::code::Code;
use super::failure::{Failure, Phase};
use super::inbox::Inbox;
use super::parameters::Parameters;
use super::results::Results;
use super::state::TestState;
use super::{LONGEST_PARAMETERS, LONGEST_RESULTS, framed};

/// Inputs of the state machine.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// These bytes arrived behind the cookie.
    Bytes(&'a [u8]),
    /// The client closed the connection.
    Closed,
    /// The server serves the requested test.
    Accept,
    /// The server refuses the requested test.
    Refuse {
        /// Reason.
        code: Code,
        /// The system's error number; 0 where there is none.
        errno: i32,
    },
    /// All streams are open.
    StreamsOpen,
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
    /// Decide on the client's request: [`Input::Accept`] or [`Input::Refuse`].
    Asked(Box<Parameters>),
    /// Await the streams, up to [`Input::StreamsOpen`].
    AwaitStreams,
    /// Send and receive data.
    Begin,
    /// Stop: the client neither sends nor receives any more.
    Over,
    /// Take the results that the client measured, and pass those of this end ([`Input::Results`]).
    Told(Results),
    /// The exchange is complete.
    Finished,
}

/// A server's control connection, from behind the cookie on.
#[derive(Clone, Debug)]
pub struct Server {
    phase: Phase,
    /// Failure of the connection, if it failed.
    failed: Option<Failure>,
    inbox: Inbox,
    outputs: VecDeque<Output>,
}

impl Default for Server {
    /// Creates the state of a connection whose cookie has arrived.
    fn default() -> Self {
        let (phase, failed, outputs) = (Phase::Parameters, None, VecDeque::new());
        let mut server = Self { phase, failed, inbox: Inbox::default(), outputs };
        server.say(TestState::ParamExchange);
        server
    }
}

impl Server {
    /// Returns the bytes to send to a client when the server is busy.
    pub fn busy() -> [u8; 1] {
        [TestState::AccessDenied.byte()]
    }

    /// Returns the phase of the test, or the phase in which it failed.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the next action, if any. The caller must poll until `None`, after a failure too,
    /// because the client may have to be told.
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
            (Input::Closed, Phase::Closing) => {
                self.finish();
                Ok(())
            }
            (Input::Closed, _) => Err(Failure::Gone { during }),
            (Input::Stop, _) => {
                self.say(TestState::ServerTerminate);
                Err(Failure::Ended { during })
            }
            (Input::Accept, Phase::Judging) => {
                self.phase = Phase::Opening;
                self.say(TestState::CreateStreams);
                self.outputs.push_back(Output::AwaitStreams);
                Ok(())
            }
            (Input::Refuse { code, errno }, Phase::Judging | Phase::Opening) => {
                self.say_error(code, errno);
                Err(Failure::Ended { during })
            }
            (Input::StreamsOpen, Phase::Opening) => {
                self.phase = Phase::Running;
                self.outputs.push_back(Output::Send(vec![
                    TestState::TestStart.byte(),
                    TestState::TestRunning.byte(),
                ]));
                self.outputs.push_back(Output::Begin);
                Ok(())
            }
            (Input::Results(results), Phase::Collecting) => self.tell(&results),
            (input, _) => Err(Failure::OutOfTurn { what: input.name(), during }),
        };
        done.inspect_err(|failure| self.fail(failure))
    }

    fn fail(&mut self, failure: &Failure) {
        if let Some(code) = failure.code() {
            self.say_error(code, 0);
        }
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

    fn say_error(&mut self, code: Code, errno: i32) {
        let mut bytes = vec![TestState::ServerError.byte()];
        bytes.extend_from_slice(&code.0.to_be_bytes());
        bytes.extend_from_slice(&errno.to_be_bytes());
        self.outputs.push_back(Output::Send(bytes));
    }

    fn tell(&mut self, results: &Results) -> Result<(), Failure> {
        let mut bytes = framed(results).map_err(|error| Failure::Unreadable {
            during: Phase::Collecting,
            why: error.to_string(),
        })?;
        bytes.push(TestState::DisplayResults.byte());
        self.outputs.push_back(Output::Send(bytes));
        self.phase = Phase::Closing;
        self.read()
    }

    /// Processes the bytes that have arrived.
    fn read(&mut self) -> Result<(), Failure> {
        while let Some(first) = self.inbox.first() {
            let during = self.phase;
            match during {
                // No message is this long: the byte is a state.
                Phase::Parameters | Phase::Results if first != 0 => self.state(first)?,
                Phase::Parameters => {
                    let message = self.inbox.message(LONGEST_PARAMETERS, during)?;
                    let Some(parameters) = message else { return Ok(()) };
                    self.phase = Phase::Judging;
                    self.outputs.push_back(Output::Asked(Box::new(parameters)));
                }
                Phase::Results => {
                    let message = self.inbox.message(LONGEST_RESULTS, during)?;
                    let Some(results) = message else { return Ok(()) };
                    self.phase = Phase::Collecting;
                    self.outputs.push_back(Output::Told(results));
                }
                Phase::Finished => return Ok(()),
                _ => self.state(first)?,
            }
        }
        Ok(())
    }

    fn state(&mut self, byte: u8) -> Result<(), Failure> {
        let during = self.phase;
        match (TestState::read(byte), during) {
            (Some(TestState::TestEnd), Phase::Running) => {
                self.inbox.skip();
                self.phase = Phase::Results;
                self.outputs.push_back(Output::Over);
                self.say(TestState::ExchangeResults);
                Ok(())
            }
            (Some(TestState::IperfDone), Phase::Closing) => {
                self.finish();
                Ok(())
            }
            // iperf3 sends the second state if a stream cannot be opened.
            (Some(TestState::ClientTerminate | TestState::IperfDone), _) => {
                Err(Failure::Left { during })
            }
            _ => Err(Failure::Unexpected { byte, during }),
        }
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
            Self::Accept => "a test that is served",
            Self::Refuse { .. } => "a test that is not served",
            Self::StreamsOpen => "open streams",
            Self::Results(_) => "results",
            Self::Stop => "the end",
        }
    }
}
