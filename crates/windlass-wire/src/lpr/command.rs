//! Commands to a daemon (RFC 1179, section 5), and subcommands for a job (section 6).

/// Longest line of a command, in bytes. The RFC has no limit; BSD's daemon accepts 1,024.
pub const MAX_LINE: usize = 1_024;

/// A command to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// 1: print the waiting jobs.
    PrintWaiting {
        /// The queue.
        queue: Vec<u8>,
    },
    /// 2: a job follows.
    ReceiveJob {
        /// The queue.
        queue: Vec<u8>,
    },
    /// 3 and 4: report the state of the queue.
    State {
        /// The queue.
        queue: Vec<u8>,
        /// True for the long form.
        long: bool,
        /// Requested users and job numbers; empty for all.
        list: Vec<Vec<u8>>,
    },
    /// 5: remove jobs.
    Remove {
        /// The queue.
        queue: Vec<u8>,
        /// User that asks for the removal.
        agent: Vec<u8>,
        /// Users and job numbers.
        list: Vec<Vec<u8>>,
    },
}

/// A subcommand of receive-job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobCommand {
    /// 1: forget the job.
    Abort,
    /// 2: a control file follows.
    ControlFile {
        /// Its bytes.
        size: u64,
        /// Its name: `cfA001host`.
        name: Vec<u8>,
    },
    /// 3: a data file follows.
    DataFile {
        /// Its bytes. 0 and [`super::ENDLESS`] say that it is not known.
        size: u64,
        /// Its name: `dfA001host`.
        name: Vec<u8>,
    },
}

/// Errors of parsing or encoding a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The line is too long.
    #[error("a command has more than {MAX_LINE} bytes")]
    TooLong,
    /// The line is empty.
    #[error("a command is empty")]
    Empty,
    /// The command number is unknown.
    #[error("there is no command {0}")]
    Unknown(u8),
    /// The queue or the name is missing.
    #[error("a command lacks an operand")]
    Operand,
    /// The size is no number.
    #[error("the size of a file is no number")]
    Size,
    /// An operand has a byte that would end the line or the operand.
    #[error("an operand has a space or a control character in it")]
    Unspeakable,
}

/// Returns the first line of these bytes without its end, and its length with the end. Returns
/// `None` if the line is incomplete.
///
/// # Errors
/// Fails if the line is too long.
pub fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Error> {
    let within = &bytes[..bytes.len().min(MAX_LINE + 1)];
    match within.iter().position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some((&bytes[..end], end + 1))),
        None if within.len() > MAX_LINE => Err(Error::TooLong),
        None => Ok(None),
    }
}

/// Iterates over the words between white space (section 5: space, tab, vertical tab, form feed).
fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r');
    bytes.split(is_space).filter(|word| !word.is_empty())
}

/// Checks that an operand has no byte that would end it.
fn word(bytes: &[u8]) -> Result<&[u8], Error> {
    if bytes.is_empty() {
        return Err(Error::Operand);
    }
    if bytes.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return Err(Error::Unspeakable);
    }
    Ok(bytes)
}

fn parts(line: &[u8]) -> Result<(u8, &[u8]), Error> {
    if line.len() > MAX_LINE {
        return Err(Error::TooLong);
    }
    line.split_first().map(|(code, rest)| (*code, rest)).ok_or(Error::Empty)
}

impl Command {
    /// Reads a line without its end.
    ///
    /// # Errors
    /// Fails if the line is no command.
    pub fn decode(line: &[u8]) -> Result<Self, Error> {
        let (code, rest) = parts(line)?;
        let mut words = words(rest).map(<[u8]>::to_vec);
        if !(1..=5).contains(&code) {
            return Err(Error::Unknown(code));
        }
        let queue = words.next().ok_or(Error::Operand)?;
        Ok(match code {
            1 => Self::PrintWaiting { queue },
            2 => Self::ReceiveJob { queue },
            3 | 4 => Self::State { queue, long: code == 4, list: words.collect() },
            _ => {
                let agent = words.next().ok_or(Error::Operand)?;
                Self::Remove { queue, agent, list: words.collect() }
            }
        })
    }

    /// Encodes the line with its end.
    ///
    /// # Errors
    /// Fails if an operand would be read as another one.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let none = &[][..];
        let (code, queue, agent, list) = match self {
            Self::PrintWaiting { queue } => (1, queue, None, none),
            Self::ReceiveJob { queue } => (2, queue, None, none),
            Self::State { queue, long, list } => (3 + u8::from(*long), queue, None, &list[..]),
            Self::Remove { queue, agent, list } => (5, queue, Some(agent), &list[..]),
        };
        let mut out = vec![code];
        out.extend(word(queue)?);
        for operand in agent.into_iter().chain(list) {
            out.push(b' ');
            out.extend(word(operand)?);
        }
        // Daemons expect a space behind the queue of a state request (section 5.3).
        if matches!(self, Self::State { list, .. } if list.is_empty()) {
            out.push(b' ');
        }
        ended(out)
    }
}

impl JobCommand {
    /// Reads a line without its end.
    ///
    /// # Errors
    /// Fails if the line is no command.
    pub fn decode(line: &[u8]) -> Result<Self, Error> {
        let (code, rest) = parts(line)?;
        match code {
            1 => Ok(Self::Abort),
            2 | 3 => {
                let mut words = words(rest);
                let size = words.next().ok_or(Error::Operand)?;
                let name = words.next().ok_or(Error::Operand)?.to_vec();
                let size = number(size).ok_or(Error::Size)?;
                Ok(match code {
                    2 => Self::ControlFile { size, name },
                    _ => Self::DataFile { size, name },
                })
            }
            _ => Err(Error::Unknown(code)),
        }
    }

    /// Encodes the line with its end.
    ///
    /// # Errors
    /// Fails if the name would be read as another operand.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let (code, size, name) = match self {
            Self::Abort => return Ok(vec![1, b'\n']),
            Self::ControlFile { size, name } => (2, size, name),
            Self::DataFile { size, name } => (3, size, name),
        };
        let mut out = vec![code];
        out.extend(size.to_string().as_bytes());
        out.push(b' ');
        out.extend(word(name)?);
        ended(out)
    }
}

fn ended(mut out: Vec<u8>) -> Result<Vec<u8>, Error> {
    if out.len() > MAX_LINE {
        return Err(Error::TooLong);
    }
    out.push(b'\n');
    Ok(out)
}

/// Reads a number of digits alone, without sign or space.
fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Answer of a server, of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// 0: success, continue.
    Done,
    /// 1: refused for good. Servers answer this for unknown and disabled queues.
    Refused,
    /// 2: refused for now. BSD's daemon answers this if no space is left.
    Later,
    /// 3: this job is refused, by LPRng. Text may follow.
    Failed,
    /// Another byte; the RFC knows only zero and the rest.
    Other(u8),
}

impl Ack {
    /// Returns the answer of this byte.
    pub const fn new(byte: u8) -> Self {
        match byte {
            0 => Self::Done,
            1 => Self::Refused,
            2 => Self::Later,
            3 => Self::Failed,
            other => Self::Other(other),
        }
    }

    /// Returns its byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Later => 2,
            Self::Failed => 3,
            Self::Other(other) => other,
        }
    }

    /// Returns its meaning, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "go on",
            Self::Refused => "refused",
            Self::Later => "refused for now, for example for lack of space",
            Self::Failed => "this job is refused",
            Self::Other(_) => "refused, with a byte of unknown meaning",
        }
    }
}
