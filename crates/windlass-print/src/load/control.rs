//! Questions to the spooler beside the jobs: how many wait; and stopping and
//! starting its printers.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use windlass_wire::ipp::{Group, GroupTag, Message, Operation, PrinterState, Status, Value};
use windlass_wire::lpr::{Command, waiting};
use windlass_wire::target::{Protocol, Target};

use super::program::queue_name;
use crate::ask::Asker;
use crate::dial::{Dial, connected};
use crate::error::Error;
use crate::link::{Link, More};
use crate::monitor::Monitor;

/// The most jobs that are listed where they are not counted.
const MAX_LISTED: i32 = 1_000;

/// The most that a server of LPR may say of a queue.
const MAX_LPQ: usize = 8 << 20;

/// By what it is known how many jobs wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// One request for all printers of a server of CUPS: `queued-job-count`.
    AllPrinters,
    /// A request for each queue: `queued-job-count`.
    EachPrinter,
    /// A list of the jobs of each queue, of which 1,000 are counted at the most.
    EachList,
    /// What a server of LPR says of each queue.
    Lpq,
}

/// Asks a spooler.
pub struct Control<'a> {
    /// Those that are asked about.
    pub queues: &'a [Target],
    /// Each queue by the name that CUPS has for it.
    names: HashMap<String, usize>,
    user: String,
    monitor: &'a Monitor,
    dial: &'a Dial<'a>,
    patience: Duration,
    /// By what jobs are counted, once they were.
    pub counting: Option<Counting>,
    /// Whether each queue was stopped when jobs were counted last, as far as that is told.
    pub stopped: Vec<bool>,
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("counting", &self.counting).finish_non_exhaustive()
    }
}

impl<'a> Control<'a> {
    /// Of these queues, all of one server. An answer may take so long.
    pub fn new(
        queues: &'a [Target],
        user: &str,
        monitor: &'a Monitor,
        dial: &'a Dial<'a>,
        patience: Duration,
    ) -> Self {
        let names = queues.iter().enumerate().map(|(at, queue)| (queue_name(queue), at));
        Self {
            queues,
            names: names.collect(),
            user: user.to_owned(),
            monitor,
            dial,
            patience,
            counting: None,
            stopped: Vec::new(),
        }
    }

    /// How many jobs wait in these queues, whoever sent them.
    ///
    /// # Errors
    /// Where the server does not say.
    pub fn waiting(&mut self) -> Result<u64, Error> {
        if let Some(counting) = self.counting {
            return self.counted(counting);
        }
        let ways: &[Counting] = match self.queues.first().map(|queue| queue.protocol) {
            Some(Protocol::Lpr) => &[Counting::Lpq],
            Some(Protocol::Ipp) if self.queues.len() > 1 => {
                &[Counting::AllPrinters, Counting::EachPrinter, Counting::EachList]
            }
            Some(Protocol::Ipp) => &[Counting::EachPrinter, Counting::EachList],
            Some(Protocol::Raw) | None => {
                return Err(Error::Asked("a raw port tells nothing of its jobs".to_owned()));
            }
        };
        let mut wrong = None;
        for way in ways {
            match self.counted(*way) {
                Ok(waiting) => {
                    self.counting = Some(*way);
                    return Ok(waiting);
                }
                // A server that says no to one way may know another.
                Err(error @ (Error::Ipp { .. } | Error::Http { .. } | Error::Protocol(_))) => {
                    wrong = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(wrong.unwrap_or(Error::Stopped))
    }

    fn counted(&mut self, counting: Counting) -> Result<u64, Error> {
        let queues = self.count(counting)?;
        self.stopped = queues.iter().map(|(_, is_stopped)| *is_stopped).collect();
        Ok(queues.iter().map(|(waiting, _)| waiting).sum())
    }

    /// How many jobs wait in each queue, and whether it is stopped.
    fn count(&self, counting: Counting) -> Result<Vec<(u64, bool)>, Error> {
        if counting == Counting::Lpq {
            return self.queues.iter().map(|queue| Ok((self.lpq(queue)?, false))).collect();
        }
        self.asking(|asker| match counting {
            Counting::AllPrinters => self.count_all(asker),
            Counting::EachPrinter => {
                let queue = |queue| {
                    let answer = ask_printer(asker, queue)?;
                    Ok((number(&answer)?, is_stopped(&answer)))
                };
                self.queues.iter().map(queue).collect()
            }
            Counting::EachList | Counting::Lpq => {
                self.queues.iter().map(|queue| Ok((count_list(asker, queue)?, false))).collect()
            }
        })
    }

    fn asking<T>(&self, work: impl FnOnce(&mut Asker<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let first = self.queues.first().ok_or(Error::Stopped)?;
        work(&mut Asker::new(first, &self.user, self.monitor, self.dial, self.patience))
    }

    /// One request that gets all printers.
    fn count_all(&self, asker: &mut Asker<'_>) -> Result<Vec<(u64, bool)>, Error> {
        let first = self.queues.first().ok_or(Error::Stopped)?;
        let mut request = asker.request_at(Operation::CUPS_GET_PRINTERS, first);
        request.want(&["printer-name", "queued-job-count", "printer-state"]);
        let answer = asker.ask(&request)?;
        let mut seen = vec![None; self.queues.len()];
        for printer in answer.groups.iter().filter(|group| group.tag == GroupTag::PRINTER) {
            let place = printer.text("printer-name").and_then(|name| self.names.get(name.as_ref()));
            if let Some(place) = place {
                seen[*place] = count_of(printer).map(|waiting| {
                    let state = printer.number("printer-state").and_then(PrinterState::new);
                    (waiting, state == Some(PrinterState::Stopped))
                });
            }
        }
        let counts: Option<Vec<_>> = seen.into_iter().collect();
        let missing = || Error::Protocol("it does not tell of all of the queues".to_owned());
        counts.ok_or_else(missing)
    }

    /// How many of the printers are stopped.
    ///
    /// # Errors
    /// Where the server does not say.
    pub fn stopped(&self) -> Result<usize, Error> {
        if self.counting == Some(Counting::Lpq) {
            return Err(Error::Asked("LPR does not tell whether a printer is stopped".to_owned()));
        }
        self.asking(|asker| {
            let mut stopped = 0;
            for queue in self.queues {
                let answer = ask_printer(asker, queue)?;
                stopped += usize::from(is_stopped(&answer));
            }
            Ok(stopped)
        })
    }

    /// Stops those printers that are not stopped already. Those that it stopped
    /// are in `paused`, whatever else happens.
    ///
    /// # Errors
    /// Where the server says no.
    pub fn pause(&self, paused: &mut Vec<usize>) -> Result<(), Error> {
        self.asking(|asker| {
            for (place, queue) in self.queues.iter().enumerate() {
                let answer = ask_printer(asker, queue)?;
                if is_stopped(&answer) {
                    continue;
                }
                let request = asker.request_at(Operation::PAUSE_PRINTER, queue);
                // Where its answer is lost it may be stopped.
                paused.push(place);
                let asked = asker.ask(&request);
                if matches!(asked, Err(Error::Ipp { .. } | Error::Http { .. })) {
                    paused.pop();
                }
                asked?;
            }
            Ok(())
        })
    }

    /// Starts these printers again; what is left in `paused` could not be.
    ///
    /// # Errors
    /// Where the server says no to one, and all others were tried; or where it does
    /// not answer any more.
    pub fn resume(&self, paused: &mut Vec<usize>) -> Result<(), Error> {
        let (mut wrong, mut is_gone) = (None, false);
        self.asking(|asker| {
            paused.retain(|place| {
                if is_gone {
                    return true;
                }
                let queue = &self.queues[*place];
                let request = asker.request_at(Operation::RESUME_PRINTER, queue);
                match asker.ask(&request) {
                    Ok(_) => false,
                    Err(error) => {
                        // Each of hundreds would be waited for.
                        is_gone = !matches!(error, Error::Ipp { .. } | Error::Http { .. });
                        wrong = Some(error);
                        true
                    }
                }
            });
            Ok(())
        })?;
        wrong.map_or(Ok(()), Err)
    }

    /// How many jobs a server of LPR lists.
    fn lpq(&self, queue: &Target) -> Result<u64, Error> {
        const ASKING: &str = "it was asked for its queue";
        let connection = connected(self.dial, queue)?;
        let mut link = Link::new(connection, self.monitor, self.patience)?;
        let name = queue.queue.clone().into_bytes();
        let ask = Command::State { queue: name, long: false, list: Vec::new() };
        let ask = ask.encode().map_err(|wrong| Error::Asked(wrong.to_string()))?;
        link.say(&ask, ASKING)?;
        let mut text = Vec::new();
        loop {
            text.append(&mut link.inbox);
            if text.len() > MAX_LPQ {
                return Err(Error::Protocol("its list of jobs does not end".to_owned()));
            }
            if link.more(ASKING)? == More::End {
                return Ok(waiting(&text));
            }
        }
    }
}

fn ask_printer(asker: &mut Asker<'_>, queue: &Target) -> Result<Message, Error> {
    let mut request = asker.request_at(Operation::GET_PRINTER_ATTRIBUTES, queue);
    request.want(&["queued-job-count", "printer-state"]);
    asker.ask(&request)
}

fn count_list(asker: &mut Asker<'_>, queue: &Target) -> Result<u64, Error> {
    let mut request = asker.request_at(Operation::GET_JOBS, queue);
    request.add("limit", Value::Integer(MAX_LISTED));
    request.add("which-jobs", Value::keyword("not-completed"));
    request.want(&["job-id"]);
    let answer = asker.ask(&request)?;
    Ok(answer.groups.iter().filter(|group| group.tag == GroupTag::JOB).count() as u64)
}

fn is_stopped(answer: &Message) -> bool {
    let state = answer.number(GroupTag::PRINTER, "printer-state");
    state.and_then(PrinterState::new) == Some(PrinterState::Stopped)
}

fn count_of(printer: &Group) -> Option<u64> {
    u64::try_from(printer.number("queued-job-count")?).ok()
}

fn number(answer: &Message) -> Result<u64, Error> {
    let count = answer.group(GroupTag::PRINTER).and_then(count_of);
    count.ok_or_else(|| Error::Ipp {
        operation: Operation::GET_PRINTER_ATTRIBUTES,
        status: Status::OK,
        message: "it tells no queued-job-count".to_owned(),
    })
}
