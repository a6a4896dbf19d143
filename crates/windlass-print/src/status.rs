//! State of a printer by its SNMP agent, while it has a job.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use windlass_wire::snmp::{MAX_ANSWER, StatusQuery, Step};
use windlass_wire::status_source::StatusSource;

/// Time between two readings, and before the first one: shorter jobs cause no reading.
const INTERVAL: Duration = Duration::from_secs(2);

/// Longest time between two readings of an agent that does not answer.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// Longest time for an agent's answer: printers are in networks with an RTT of milliseconds.
const ANSWER: Duration = Duration::from_secs(1);

/// Number of unanswered readings after which the last answer is no longer valid.
const FORGOTTEN: u32 = 3;

/// Maximum number of datagrams read in one go, so that a flood does not delay data.
const MAX_DATAGRAMS: usize = 8;

/// Reader that asks an agent repeatedly, without waiting.
#[derive(Debug)]
pub(crate) struct StatusPoll {
    agent: SocketAddr,
    community: String,
    due: Instant,
    reading: Option<Reading>,
    unanswered: u32,
    /// Last reported reasons.
    reasons: Vec<&'static str>,
}

/// A reading in progress. Each has its own socket, so that no late answer to another one comes.
#[derive(Debug)]
struct Reading {
    socket: UdpSocket,
    query: StatusQuery,
    /// Deadline of the agent's answer.
    end: Instant,
}

impl StatusPoll {
    /// Asks the host that receives the data, if its state is read by SNMP.
    pub(crate) fn new(
        source: Option<&StatusSource>,
        peer: Option<SocketAddr>,
        now: Instant,
    ) -> Option<Self> {
        let (Some(StatusSource::Snmp { community, port }), Some(mut agent)) = (source, peer) else {
            return None;
        };
        agent.set_port(*port);
        let community = community.clone();
        let due = now + INTERVAL;
        Some(Self { agent, community, due, reading: None, unanswered: 0, reasons: Vec::new() })
    }

    /// Does the due work, and returns the reasons if they have changed.
    pub(crate) fn reasons_changed(&mut self, now: Instant) -> Option<Vec<String>> {
        let reasons = match self.reading.take() {
            None if now < self.due => return None,
            None => {
                // If no socket can be opened now, the next reading tries again.
                self.reading = Reading::begin(self.agent, &self.community, now).ok();
                if self.reading.is_some() {
                    return None;
                }
                None
            }
            Some(mut reading) => match reading.goes_on(now) {
                Progress::Waits => {
                    self.reading = Some(reading);
                    return None;
                }
                Progress::Ends(reasons) => reasons,
            },
        };
        self.unanswered = if reasons.is_some() { 0 } else { self.unanswered.saturating_add(1) };
        let doubled = INTERVAL.saturating_mul(1 << self.unanswered.min(16));
        let wait = if self.unanswered == 0 { INTERVAL } else { doubled.min(LONGEST_INTERVAL) };
        self.due = now + wait;
        let reasons = match reasons {
            None if self.unanswered < FORGOTTEN => return None,
            reasons => reasons.unwrap_or_default(),
        };
        if reasons == self.reasons {
            return None;
        }
        let told = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        self.reasons = reasons;
        Some(told)
    }
}

/// Progress of a reading.
enum Progress {
    /// An answer is awaited.
    Waits,
    /// The reading has ended, with the reasons if the agent answered.
    Ends(Option<Vec<&'static str>>),
}

impl Reading {
    fn begin(agent: SocketAddr, community: &str, now: Instant) -> io::Result<Self> {
        let any: SocketAddr = match agent {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        socket.connect(agent)?;
        // The keys of a hasher are random: only a host that sees the request can answer it.
        let random = RandomState::new().hash_one(agent);
        let query = StatusQuery::new(community, u32::try_from(random >> 32).unwrap_or_default());
        socket.send(&query.request())?;
        Ok(Self { socket, query, end: now + ANSWER })
    }

    /// Handles the answers that came, and sends the next questions.
    fn goes_on(&mut self, now: Instant) -> Progress {
        let mut datagram = [0; MAX_ANSWER];
        for _ in 0..MAX_DATAGRAMS {
            let got = match self.socket.recv(&mut datagram) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // There is no agent.
                Err(_) => return Progress::Ends(self.query.known()),
            };
            match self.query.take(&datagram[..got]) {
                Step::Ignored => {}
                Step::Asks if self.socket.send(&self.query.request()).is_ok() => {
                    self.end = now + ANSWER;
                }
                Step::Asks => return Progress::Ends(self.query.known()),
                Step::Done(reasons) => return Progress::Ends(Some(reasons)),
            }
        }
        if now < self.end { Progress::Waits } else { Progress::Ends(self.query.known()) }
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
