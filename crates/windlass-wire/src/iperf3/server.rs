//! The server's end of a control connection.

use std::collections::VecDeque;

use super::code::Code;
use super::failure::{Failure, Phase};
use super::inbox::Inbox;
use super::parameters::Parameters;
use super::results::Results;
use super::state::State;
use super::{LONGEST_PARAMETERS, LONGEST_RESULTS, framed};

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// These bytes came, behind the cookie.
    Bytes(&'a [u8]),
    /// The client closed the connection.
    Closed,
    /// The test that was asked for is served.
    Accept,
    /// It is not.
    Refuse {
        /// Why.
        code: Code,
        /// The system's error number; 0 where there is none.
        errno: i32,
    },
    /// All streams are there.
    StreamsOpen,
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
    /// The client wants this: [`Input::Accept`] or [`Input::Refuse`] it.
    Asked(Box<Parameters>),
    /// The streams are to be awaited, up to [`Input::StreamsOpen`].
    AwaitStreams,
    /// Data is sent from now on.
    Begin,
    /// The client sends no more, and wants no more.
    Over,
    /// What the client measured. What this end did is wanted
    /// ([`Input::Results`]).
    Told(Results),
    /// All is said.
    Finished,
}

/// Where a test is.
#[derive(Clone, Debug)]
enum Stage {
    Parameters,
    Judging,
    Opening,
    Running,
    Results,
    Collecting,
    Closing,
    Finished,
    Failed(Failure),
}

/// A server's control connection, from behind the cookie on.
#[derive(Clone, Debug)]
pub struct Server {
    stage: Stage,
    inbox: Inbox,
    outputs: VecDeque<Output>,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A connection whose cookie has come.
    #[must_use]
    pub fn new() -> Self {
        let mut server =
            Self { stage: Stage::Parameters, inbox: Inbox::default(), outputs: VecDeque::new() };
        server.say(State::ParamExchange);
        server
    }

    /// What to send to a client that is not served at all, whatever it wants.
    #[must_use]
    pub fn busy() -> [u8; 1] {
        [State::AccessDenied.byte()]
    }

    /// Where the test is; where it was, once it has failed.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        match &self.stage {
            Stage::Parameters => Phase::Parameters,
            Stage::Judging => Phase::Judging,
            Stage::Opening => Phase::Opening,
            Stage::Running => Phase::Running,
            Stage::Results => Phase::Results,
            Stage::Collecting => Phase::Collecting,
            Stage::Closing => Phase::Closing,
            Stage::Finished => Phase::Finished,
            Stage::Failed(failure) => failure.phase(),
        }
    }

    /// What is to be done next, if anything. It is to be asked until there is
    /// nothing, after a failure too: the client may have to be told.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Takes what happened.
    ///
    /// # Errors
    /// Why the test came to nothing. From then on it is the same always.
    pub fn handle(&mut self, input: Input<'_>) -> Result<(), Failure> {
        if let Stage::Failed(failure) = &self.stage {
            return Err(failure.clone());
        }
        let phase = self.phase();
        let done = match (input, &self.stage) {
            (Input::Bytes(_) | Input::Closed | Input::Stop, Stage::Finished) => Ok(()),
            (Input::Bytes(bytes), _) => {
                self.inbox.take(bytes);
                self.read()
            }
            (Input::Closed, Stage::Closing) => {
                self.finish();
                Ok(())
            }
            (Input::Closed, _) => Err(Failure::Gone { during: phase }),
            (Input::Stop, _) => {
                self.say(State::ServerTerminate);
                Err(Failure::Ended { during: phase })
            }
            (Input::Accept, Stage::Judging) => {
                self.stage = Stage::Opening;
                self.say(State::CreateStreams);
                self.outputs.push_back(Output::AwaitStreams);
                Ok(())
            }
            (Input::Refuse { code, errno }, Stage::Judging | Stage::Opening) => {
                self.say_error(code, errno);
                Err(Failure::Ended { during: phase })
            }
            (Input::StreamsOpen, Stage::Opening) => {
                self.stage = Stage::Running;
                self.outputs.push_back(Output::Send(vec![
                    State::TestStart.byte(),
                    State::TestRunning.byte(),
                ]));
                self.outputs.push_back(Output::Begin);
                Ok(())
            }
            (Input::Results(results), Stage::Collecting) => self.tell(&results),
            (input, _) => Err(Failure::OutOfTurn { what: input.name(), during: phase }),
        };
        done.inspect_err(|failure| self.fail(failure))
    }

    fn fail(&mut self, failure: &Failure) {
        if let Some(code) = failure.code() {
            self.say_error(code, 0);
        }
        self.stage = Stage::Failed(failure.clone());
        self.inbox = Inbox::default();
    }

    fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.inbox = Inbox::default();
        self.outputs.push_back(Output::Finished);
    }

    fn say(&mut self, state: State) {
        self.outputs.push_back(Output::Send(vec![state.byte()]));
    }

    fn say_error(&mut self, code: Code, errno: i32) {
        let mut bytes = vec![State::ServerError.byte()];
        bytes.extend_from_slice(&code.0.to_be_bytes());
        bytes.extend_from_slice(&errno.to_be_bytes());
        self.outputs.push_back(Output::Send(bytes));
    }

    fn tell(&mut self, results: &Results) -> Result<(), Failure> {
        let mut bytes = framed(results).map_err(|error| Failure::Unreadable {
            during: Phase::Collecting,
            why: error.to_string(),
        })?;
        bytes.push(State::DisplayResults.byte());
        self.outputs.push_back(Output::Send(bytes));
        self.stage = Stage::Closing;
        self.read()
    }

    /// Goes as far as the bytes that are there.
    fn read(&mut self) -> Result<(), Failure> {
        while let Some(first) = self.inbox.first() {
            let during = self.phase();
            match &self.stage {
                // A length this great there is not: the byte is a state.
                Stage::Parameters | Stage::Results if first != 0 => self.state(first)?,
                Stage::Parameters => {
                    let message = self.inbox.message(LONGEST_PARAMETERS, during)?;
                    let Some(parameters) = message else { return Ok(()) };
                    self.stage = Stage::Judging;
                    self.outputs.push_back(Output::Asked(Box::new(parameters)));
                }
                Stage::Results => {
                    let message = self.inbox.message(LONGEST_RESULTS, during)?;
                    let Some(results) = message else { return Ok(()) };
                    self.stage = Stage::Collecting;
                    self.outputs.push_back(Output::Told(results));
                }
                Stage::Finished | Stage::Failed(_) => return Ok(()),
                Stage::Judging
                | Stage::Opening
                | Stage::Running
                | Stage::Collecting
                | Stage::Closing => self.state(first)?,
            }
        }
        Ok(())
    }

    fn state(&mut self, byte: u8) -> Result<(), Failure> {
        let during = self.phase();
        match (State::read(byte), &self.stage) {
            (Some(State::TestEnd), Stage::Running) => {
                self.inbox.skip();
                self.stage = Stage::Results;
                self.outputs.push_back(Output::Over);
                self.say(State::ExchangeResults);
                Ok(())
            }
            (Some(State::IperfDone), Stage::Closing) => {
                self.finish();
                Ok(())
            }
            // iperf3 says the second where a stream cannot be had.
            (Some(State::ClientTerminate | State::IperfDone), _) => Err(Failure::Left { during }),
            _ => Err(Failure::Unexpected { byte, during }),
        }
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
            Self::Accept => "a test that is served",
            Self::Refuse { .. } => "a test that is not served",
            Self::StreamsOpen => "open streams",
            Self::Results(_) => "results",
            Self::Stop => "the end",
        }
    }
}
