//! `windlass: emulated device`: the packets of a transfer to a device, captured at the sender.

use std::path::Path;

use windlass_base::{Failure, values};
use windlass_capture::live::{
    CaptureOrigin, DescribedInterface, Framing, Target, WHOLE, Writer, filter, machine,
};
use windlass_lab::Profile;
use windlass_netlab::INTERFACE;
use windlass_netlab::real::{self, Job, MTU, send_into};
use windlass_wire::LinkType;
use windlass_wire::filter::Program;

use super::sentences::{BYTES, PROFILE, RATE, RTT};
use super::words::ExtcapArguments;
use crate::files::read_text;

/// Sends to a device until the transfer ends or is stopped.
pub(super) fn capture(words: &ExtcapArguments, fifo: &Path) -> Result<(), Failure> {
    let stop = super::stop(fifo)?;
    let (job, program) = wanted(words).inspect_err(|_| Target::let_go(fifo, &stop))?;
    let Some(target) = Target::open(fifo, stop)? else { return Ok(()) };
    let about = CaptureOrigin {
        interfaces: vec![DescribedInterface {
            name: INTERFACE.to_owned(),
            link: LinkType::RAW,
            snap_length: WHOLE,
        }],
        filter: words.filter.clone().unwrap_or_default(),
        hardware: machine::hardware(),
        system: machine::system(),
    };
    let writer = Writer::begin_in(&target.writing(), about)?;
    target.guard(super::give_up);
    match send_into(&job, program, writer, &target.stop)? {
        Some(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new("cannot go on writing to Wireshark", error))
        }
        _ => Ok(()),
    }
}

/// Returns the transfer and the packet filter.
fn wanted(words: &ExtcapArguments) -> Result<(Job, Option<Program>), Failure> {
    let program = words.filter.as_deref().map(|text| filter::compiled(text, Framing::Ip, WHOLE));
    Ok((job(words)?, program.transpose()?))
}

fn job(words: &ExtcapArguments) -> Result<Job, Failure> {
    let name = words.profile.as_deref().unwrap_or(PROFILE);
    let profile = Profile::named(name, &read_text)?;
    let wrong = |wrong| Failure::usage(format!("cannot send to the device {name}"), wrong);
    let bytes = values::bytes(words.bytes.as_deref().unwrap_or(BYTES)).map_err(wrong)?;
    let rate = values::rate_with_unit(words.rate.as_deref().unwrap_or(RATE)).map_err(wrong)?;
    let rtt = values::span_with_unit(words.rtt.as_deref().unwrap_or(RTT)).map_err(wrong)?;
    Ok(Job { profile, bytes, link: real::line(rate, rtt, MTU), seed: 1 })
}
