//! Text output of a server about a test, for a client that requests it (`--get-server-output`).
//!
//! A stock server's text is its table. This text has what a client cannot know: the figures of the
//! server's kernel for each stream.

use std::fmt::Write;

use windlass_base::figures::fixed;

use crate::report::{DirectionReport, FlowReport, SideReport, StreamReport};
use crate::transfer::Role;

/// Returns the text of a finished test.
pub(super) fn text(report: &SideReport) -> String {
    let mut text = concat!("windlass serve ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    for direction in &report.directions {
        direction_text(&mut text, direction);
    }
    text
}

fn direction_text(text: &mut String, direction: &DirectionReport) {
    let did = match direction.role {
        Role::Sender if direction.datagrams.is_some() => "sent",
        Role::Sender => "acknowledged",
        Role::Receiver => "received",
    };
    let DirectionReport { bytes, seconds, bytes_per_second, cpu, streams, .. } = direction;
    let percent = fixed(cpu.share * 100.0, 1);
    // Writing to a String never fails.
    let _ = writeln!(
        text,
        "{did} {bytes} in {seconds}: {}, {percent} % of a processor",
        bytes_per_second.in_bits()
    );
    for stream in streams {
        stream_text(text, stream);
    }
    for flow in direction.datagrams.iter().flat_map(|datagrams| &datagrams.flows) {
        flow_text(text, flow, direction.role);
    }
    if let Some(error) = &direction.error {
        let _ = writeln!(text, "{error}");
    }
}

fn stream_text(text: &mut String, stream: &StreamReport) {
    let StreamReport { local, remote, bytes, congestion, mss_bytes, .. } = stream;
    let (from, to) = match stream.sender {
        Some(_) => (local, remote),
        None => (remote, local),
    };
    let _ = write!(text, "  {from} to {to}: {bytes}, segments of {mss_bytes} B");
    if let Some(kernel) = &stream.sender {
        let again = kernel.retransmissions;
        let _ = write!(text, ", {congestion}, {again} of {} retransmitted", kernel.segments);
        if let Some((least, mean)) = kernel.min_rtt_seconds.zip(kernel.mean_rtt_seconds) {
            let _ = write!(text, ", RTT minimum {least}, mean {mean}");
        }
    }
    let _ = writeln!(text);
}

fn flow_text(text: &mut String, flow: &FlowReport, role: Role) {
    let FlowReport { local, remote, bytes, datagrams, .. } = flow;
    let (from, to) = if role == Role::Sender { (local, remote) } else { (remote, local) };
    let _ = write!(text, "  {from} to {to}: {bytes} in {} datagrams", datagrams.count);
    if let (Some(sent), Some(lost)) = (datagrams.sent, datagrams.lost) {
        let _ = write!(text, " of {sent}, {lost} lost");
    }
    if let Some(overflowed) = datagrams.overflowed.filter(|overflowed| *overflowed > 0) {
        let least = if datagrams.overflowed_is_least { "at least " } else { "" };
        let _ = write!(text, ", {least}{overflowed} dropped by this end's full socket");
    }
    if let (Some(late), Some(again)) = (datagrams.out_of_order, datagrams.duplicates) {
        let _ = write!(text, ", {late} out of order, {again} duplicate");
    }
    if let Some((mean, last)) = datagrams.mean_jitter_seconds.zip(datagrams.jitter_seconds) {
        let _ = write!(text, ", jitter mean {mean}, at the end {last}");
    }
    let _ = writeln!(text);
}
