//! The commands to a daemon (RFC 1179, section 5), and those for a job (6).

/// The longest line of a command. The RFC has no limit; BSD's daemon takes 1,024.
pub const MAX_LINE: usize = 1_024;

/// A command to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// 1: print what waits.
    PrintWaiting {
        /// The queue.
        queue: Vec<u8>,
    },
    /// 2: a job follows.
    ReceiveJob {
        /// The queue.
        queue: Vec<u8>,
    },
    /// 3 and 4: tell of the queue.
    State {
        /// The queue.
        queue: Vec<u8>,
        /// Whether all is to be told.
        long: bool,
        /// Users and job numbers that are asked for; all where there are none.
        list: Vec<Vec<u8>>,
    },
    /// 5: take jobs away.
    Remove {
        /// The queue.
        queue: Vec<u8>,
        /// Who asks for it.
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

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No line of this length.
    #[error("a command has more than {MAX_LINE} bytes")]
    TooLong,
    /// An empty line.
    #[error("a command is empty")]
    Empty,
    /// A number that stands for nothing.
    #[error("there is no command {0}")]
    Unknown(u8),
    /// No queue, or no name.
    #[error("a command lacks an operand")]
    Operand,
    /// A size that is no number.
    #[error("the size of a file is no number")]
    Size,
    /// A byte that would end the line, or the operand.
    #[error("an operand has a space or a control character in it")]
    Unspeakable,
}

/// The first line of these bytes, without its end, and how many bytes it takes
/// with it. Nothing where it is not whole.
///
/// # Errors
/// Where it is too long.
pub fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Error> {
    let within = &bytes[..bytes.len().min(MAX_LINE + 1)];
    match within.iter().position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some((&bytes[..end], end + 1))),
        None if within.len() > MAX_LINE => Err(Error::TooLong),
        None => Ok(None),
    }
}

/// Words between white space (section 5: space, tab, vertical tab, form feed).
fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r');
    bytes.split(is_space).filter(|word| !word.is_empty())
}

/// An operand that keeps to its place.
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
    /// Of a line without its end.
    ///
    /// # Errors
    /// Where it is none.
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

    /// The line with its end.
    ///
    /// # Errors
    /// Where an operand would be read as something else.
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
        // Daemons look for the space behind the queue of a question (section 5.3).
        if matches!(self, Self::State { list, .. } if list.is_empty()) {
            out.push(b' ');
        }
        ended(out)
    }
}

impl JobCommand {
    /// Of a line without its end.
    ///
    /// # Errors
    /// Where it is none.
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

    /// The line with its end.
    ///
    /// # Errors
    /// Where the name would be read as something else.
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

/// A number of digits alone: neither sign nor space.
fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The byte by which a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// 0: go on.
    Done,
    /// 1: no, and trying again is of no use. Unknown and disabled queues are
    /// told so.
    Refused,
    /// 2: no, for now. BSD's daemon says so where there is no space left.
    Later,
    /// 3: no to this job, as LPRng says it. Text may follow.
    Failed,
    /// Another byte; the RFC knows only zero and the rest.
    Other(u8),
}

impl Ack {
    /// Of its byte.
    pub const fn new(byte: u8) -> Self {
        match byte {
            0 => Self::Done,
            1 => Self::Refused,
            2 => Self::Later,
            3 => Self::Failed,
            other => Self::Other(other),
        }
    }

    /// Its byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Later => 2,
            Self::Failed => 3,
            Self::Other(other) => other,
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "go on",
            Self::Refused => "refused",
            Self::Later => "refused for now, as where there is no space left",
            Self::Failed => "this job is refused",
            Self::Other(_) => "refused, by a byte that no server is known to mean anything by",
        }
    }
}
