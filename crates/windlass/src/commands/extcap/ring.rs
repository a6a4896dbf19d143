//! `windlass: ring`: the packets of `windlass capture`, for Wireshark.

use std::num::NonZeroU16;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use windlass_base::Failure;
use windlass_capture::live::filter::CaptureFilter;
use windlass_capture::live::{
    CaptureResult, Direction, EndReason, Plan, ReaderKind, Session, Target, WHOLE,
};

use super::words::ExtcapArguments;

/// Captures until Wireshark stops the program.
pub(super) fn capture(words: &ExtcapArguments, fifo: &Path) -> Result<(), Failure> {
    let stop = super::stop(fifo)?;
    let mut plan = plan(words).inspect_err(|_| Target::let_go(fifo, &stop))?;
    let Some(target) = Target::open(fifo, stop)? else { return Ok(()) };
    plan.writing = Some(target.writing());
    let session = Session::open(&plan)?;
    target.guard(super::give_up);
    let done = session.run(&target.stop, &AtomicBool::new(false), |_, _| ())?;
    conclude(&plan.interfaces.join(", "), done)
}

fn plan(words: &ExtcapArguments) -> Result<Plan, Failure> {
    let interface = words.captured.clone().unwrap_or_else(|| "any".to_owned());
    let doing = || format!("cannot capture on {interface}");
    let snap_length = match words.snap_length.as_deref().map(str::parse::<u32>) {
        None => WHOLE,
        Some(Ok(bytes @ 1..=WHOLE)) => bytes,
        Some(_) => {
            let wrong = format!("a snap length is 1 to {WHOLE} bytes");
            return Err(Failure::usage(doing(), wrong));
        }
    };
    let direction = match words.direction.as_deref() {
        None | Some("usual") => None,
        Some("in") => Some(Direction::In),
        Some("out") => Some(Direction::Out),
        Some("both") => Some(Direction::Both),
        Some(other) => {
            let wrong = format!("there is no direction {other}");
            return Err(Failure::usage(doing(), wrong).advise("Use usual, in, out or both."));
        }
    };
    Ok(Plan {
        namespace: None,
        reader: ReaderKind::Ring,
        buffer: None,
        block: None,
        snap_length,
        direction,
        // All interfaces cannot be promiscuous at once; Wireshark offers both.
        promiscuous: words.promiscuous && interface != "any",
        threads: NonZeroU16::MIN,
        filter: CaptureFilter { expression: words.filter.clone(), ..CaptureFilter::default() },
        writing: None,
        explain: None,
        count: None,
        duration: None,
        interfaces: vec![interface],
    })
}

/// Returns the failure of the capture. Wireshark shows the packets that the kernel dropped from
/// the counts in the stream.
fn conclude(interface: &str, done: CaptureResult) -> Result<(), Failure> {
    let unwritten = done.outcome.and_then(|outcome| outcome.failed);
    match (done.ended_by, unwritten) {
        (EndReason::InterfaceGone, _) => {
            let doing = format!("cannot go on capturing on {interface}");
            Err(Failure::new(doing, "the interface no longer exists"))
        }
        (EndReason::WriteFailed, Some(error)) => {
            Err(Failure::new("cannot go on writing to Wireshark", error))
        }
        _ => Ok(()),
    }
}
