//! Questions to the spooler beside the jobs: counting waiting jobs, and stopping and starting
//! printers.

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
use crate::link::{Link, ReadOutcome};
use crate::monitor::Monitor;

/// Maximum number of listed jobs if they are not counted.
const MAX_LISTED: i32 = 1_000;

/// Maximum size of an LPR server's answer about a queue.
const MAX_LPQ: usize = 8 << 20;

/// Method of counting waiting jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountingMethod {
    /// One request for all printers of a CUPS server: `queued-job-count`.
    AllPrinters,
    /// One request for each queue: `queued-job-count`.
    EachPrinter,
    /// One list of jobs for each queue, counted up to 1,000.
    EachList,
    /// One LPR listing for each queue.
    Lpq,
}

/// Client that controls a spooler.
pub struct Control<'a> {
    /// Queues of the load.
    pub queues: &'a [Target],
    /// Index of each queue by its name in CUPS.
    names: HashMap<String, usize>,
    user: String,
    monitor: &'a Monitor,
    dial: &'a Dial<'a>,
    patience: Duration,
    /// Method of counting, once it is known.
    pub counting: Option<CountingMethod>,
    /// True for each queue that was stopped at the last count, as far as the server says.
    pub stopped: Vec<bool>,
}

impl std::fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("counting", &self.counting).finish_non_exhaustive()
    }
}

impl<'a> Control<'a> {
    /// Makes a client for these queues, all of one server. `patience` limits an answer.
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

    /// Counts the jobs that wait in these queues, of any sender.
    ///
    /// # Errors
    /// Fails if the server does not say.
    pub fn waiting(&mut self) -> Result<u64, Error> {
        if let Some(counting) = self.counting {
            return self.counted(counting);
        }
        let ways: &[CountingMethod] = match self.queues.first().map(|queue| queue.protocol) {
            Some(Protocol::Lpr) => &[CountingMethod::Lpq],
            Some(Protocol::Ipp) if self.queues.len() > 1 => &[
                CountingMethod::AllPrinters,
                CountingMethod::EachPrinter,
                CountingMethod::EachList,
            ],
            Some(Protocol::Ipp) => &[CountingMethod::EachPrinter, CountingMethod::EachList],
            Some(Protocol::Raw) | None => {
                return Err(Error::Asked("a raw port reports nothing about its jobs".to_owned()));
            }
        };
        let mut wrong = None;
        for way in ways {
            match self.counted(*way) {
                Ok(waiting) => {
                    self.counting = Some(*way);
                    return Ok(waiting);
                }
                // A server that refuses one method may support another.
                Err(error @ (Error::Ipp { .. } | Error::Http { .. } | Error::Protocol(_))) => {
                    wrong = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(wrong.unwrap_or(Error::Stopped))
    }

    fn counted(&mut self, counting: CountingMethod) -> Result<u64, Error> {
        let queues = self.count(counting)?;
        self.stopped = queues.iter().map(|(_, is_stopped)| *is_stopped).collect();
        Ok(queues.iter().map(|(waiting, _)| waiting).sum())
    }

    /// Returns the number of waiting jobs of each queue, and whether it is stopped.
    fn count(&self, counting: CountingMethod) -> Result<Vec<(u64, bool)>, Error> {
        if counting == CountingMethod::Lpq {
            return self.queues.iter().map(|queue| Ok((self.lpq(queue)?, false))).collect();
        }
        self.asking(|asker| match counting {
            CountingMethod::AllPrinters => self.count_all(asker),
            CountingMethod::EachPrinter => {
                let queue = |queue| {
                    let answer = ask_printer(asker, queue)?;
                    Ok((number(&answer)?, is_stopped(&answer)))
                };
                self.queues.iter().map(queue).collect()
            }
            CountingMethod::EachList | CountingMethod::Lpq => {
                self.queues.iter().map(|queue| Ok((count_list(asker, queue)?, false))).collect()
            }
        })
    }

    fn asking<T>(&self, work: impl FnOnce(&mut Asker<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let first = self.queues.first().ok_or(Error::Stopped)?;
        work(&mut Asker::new(first, &self.user, self.monitor, self.dial, self.patience))
    }

    /// Counts with one request for all printers.
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
        let missing = || Error::Protocol("the answer lacks some of the queues".to_owned());
        counts.ok_or_else(missing)
    }

    /// Counts the stopped printers.
    ///
    /// # Errors
    /// Fails if the server does not say.
    pub fn stopped(&self) -> Result<usize, Error> {
        if self.counting == Some(CountingMethod::Lpq) {
            return Err(Error::Asked("LPR does not report stopped printers".to_owned()));
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

    /// Stops the printers that are not stopped already. `paused` gets the printers that it stopped,
    /// even after an error.
    ///
    /// # Errors
    /// Fails if the server refuses.
    pub fn pause(&self, paused: &mut Vec<usize>) -> Result<(), Error> {
        self.asking(|asker| {
            for (place, queue) in self.queues.iter().enumerate() {
                let answer = ask_printer(asker, queue)?;
                if is_stopped(&answer) {
                    continue;
                }
                let request = asker.request_at(Operation::PAUSE_PRINTER, queue);
                // If the answer is lost, the printer may be stopped.
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

    /// Starts these printers again; `paused` keeps those that could not be started.
    ///
    /// # Errors
    /// Fails if the server refused one of them, after all others were tried; or if it does not
    /// answer any more.
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
                        // Otherwise each of hundreds would time out.
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

    /// Counts the jobs that an LPR server lists.
    fn lpq(&self, queue: &Target) -> Result<u64, Error> {
        const ASKING: &str = "windlass asked for the queue";
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
                return Err(Error::Protocol("the list of jobs has no end".to_owned()));
            }
            if link.more(ASKING)? == ReadOutcome::End {
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
        message: "the answer has no queued-job-count".to_owned(),
    })
}
