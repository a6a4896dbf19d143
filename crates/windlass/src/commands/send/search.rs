//! `windlass send --find-rate`: the rate at which a path begins to lose datagrams.

use std::net::SocketAddr;

use windlass_base::{Failure, Rate};
use windlass_drive::control::Token;
use windlass_drive::report::{Interval, Outcome};
use windlass_drive::side::ThreadSettings;
use windlass_drive::transfer::{Direction, End, Transfer};
use windlass_drive::udp::search::{Search, Trial};
use windlass_output::records::send::{SendReport, cells, search_table};
use windlass_output::{Format, Output};

use super::{SendArgs, broke_off, failure_with, make};
use crate::commands::unwritten;
use crate::commands::watched::WatchedRecord;

/// A finished test: address, settings, outcome and intervals.
type TestResult = (SocketAddr, Transfer, Outcome, Vec<Interval>);

/// Makes tests at one rate after the other. The report is that of the last one that was carried.
pub(super) fn run(
    args: &SendArgs,
    transfer: &Transfer,
    token: Option<&Token>,
    stopped: &dyn Fn() -> bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let is_text = output.format() == Format::Text;
    let running = args.measuring.watching.start(output.wants_intervals())?;
    let first = transfer.pace.unwrap_or_else(windlass_drive::udp::usual_pace);
    let mut search = Search::new(first);
    let (lines, mut best, mut last) = (search_table(), None::<TestResult>, None::<TestResult>);
    while let Some(rate) = search.next().filter(|_| !stopped()) {
        let one = Transfer { pace: Some(rate), ..transfer.clone() };
        let (made, trial) = once(args, one, token, stopped)?;
        if made.2.stopped {
            break;
        }
        let judged = search.take(&trial);
        if is_text {
            let (head, line) = (lines.head(), lines.line(&cells(&judged)));
            let told = output.say(|page| {
                if search.found().trials.len() == 1 {
                    page.line(head);
                }
                page.line(line);
            });
            told.map_err(unwritten)?;
        }
        match judged.limit {
            None => best = Some(made),
            Some(_) => last = Some(made),
        }
    }
    let doing = || format!("cannot find the rate to {}", args.host);
    let Some((to, transfer, outcome, intervals)) = best.or(last) else {
        return Err(Failure::new(doing(), "interrupted before the first test ended").into());
    };
    let report = SendReport::new(&args.host, to, args.protocol, &transfer, &outcome, intervals);
    let report = report.with_search(search.found());
    if is_text {
        output.raw(b"\n").map_err(unwritten)?;
    }
    output.print(&WatchedRecord::new(report, running)).map_err(unwritten)?;
    Ok(())
}

/// Makes one test.
fn once(
    args: &SendArgs,
    transfer: Transfer,
    token: Option<&Token>,
    stopped: &dyn Fn() -> bool,
) -> Result<(TestResult, Trial), Failure> {
    let (spoken, host, port) = ((args.protocol, true), &args.host, args.port());
    let mut intervals = Vec::new();
    let tell = &mut |interval: &Interval| intervals.push(*interval);
    let made = make(args, &transfer, token, ThreadSettings::default(), stopped, tell);
    let (to, mut outcome) = made.map_err(|error| failure_with(spoken, host, port, error))?;
    if let Some(error) = outcome.failure.take() {
        return Err(broke_off(spoken, host, port, error));
    }
    let asked = transfer.pace.unwrap_or(Rate::ZERO);
    let trial = trial(&transfer, asked, &outcome).ok_or_else(|| {
        let doing = format!("cannot find the rate to {host}");
        Failure::new(doing, "the receiver did not report the received datagrams")
    })?;
    Ok(((to, transfer, outcome, intervals), trial))
}

fn trial(transfer: &Transfer, asked: Rate, outcome: &Outcome) -> Option<Trial> {
    let from = if transfer.direction == Direction::Reverse { End::Server } else { End::Client };
    let [sender, receiver] = outcome.way(from);
    let (sender, receiver) = (sender?, receiver?);
    let found = receiver.datagrams.as_ref()?;
    // If the receiver's socket overflowed by an unknown count, no loss is certainly the path's. If
    // overflows are unknown, all losses may be the path's.
    let all = found.lost?;
    let (lost, overflowed) = match (found.lost_on_path(), found.overflowed) {
        (Some(path), overflowed) => (path, overflowed.unwrap_or(0)),
        (None, Some(_)) => (0, all),
        (None, None) => (all, 0),
    };
    Some(Trial {
        asked,
        sent: sender.bytes_per_second,
        datagrams: found.sent?,
        lost,
        overflowed,
        sending: sender.seconds,
        receiving: receiver.seconds,
    })
}
