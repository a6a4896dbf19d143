//! Verdict on a transfer from the measurements of its ends.
//!
//! The ends' figures become the facts that [`windlass_base::live`] judges.

use windlass_base::live::{
    Delivery, Facts, IdleMessages, LoadedMessages, Machine, Program, Sampling, Thread,
};
use windlass_base::verdict::Verdict;
use windlass_base::{Bytes, Rate, Span, live};

use crate::report::{self, Cpu, DirectionReport, Latency, SenderStream};

pub use windlass_base::live::{fills, flight, keeps};

/// Measurements of a direction of a transfer, and its settings.
#[derive(Clone, Copy, Debug)]
pub struct DirectionSeen<'a> {
    /// Sender's measurements.
    pub sender: &'a DirectionReport,
    /// Receiver's measurements, if it reported them.
    pub receiver: Option<&'a DirectionReport>,
    /// Latency beside the transfer.
    pub latency: Latency,
    /// Requested pace.
    pub pace: Option<Rate>,
    /// Requested receive window of each stream.
    pub window: Option<Bytes>,
    /// Number of processors that this end may use, if nothing else is known of its machine.
    pub processors: Option<usize>,
}

impl<'a> DirectionSeen<'a> {
    /// Returns the facts from the sender's measurements alone.
    pub fn by_sender(sender: &'a DirectionReport) -> Self {
        Self {
            sender,
            receiver: None,
            latency: Latency::default(),
            pace: None,
            window: None,
            processors: None,
        }
    }
}

/// Returns the limit of a direction of a transfer.
pub fn verdict(seen: &DirectionSeen<'_>) -> Verdict {
    live::verdict(&facts(seen))
}

/// Returns the facts of a direction.
pub fn facts(seen: &DirectionSeen<'_>) -> Facts {
    let DirectionSeen { sender, receiver, latency, .. } = *seen;
    let all = || {
        let streams = sender.streams.iter();
        streams.filter_map(|stream| Some((stream, stream.sender.as_ref()?)))
    };
    let sum = |of: fn(&SenderStream) -> Bytes| all().map(|(_, kernel)| of(kernel)).sum();
    let kernel = sender.kernel().unwrap_or_default();
    let lost = |kernel: &SenderStream| {
        kernel.retransmissions.saturating_sub(kernel.needless_retransmissions)
    };
    let outside = |kernel: &SenderStream| {
        lost(kernel).saturating_sub(kernel.timeout_retransmissions.unwrap_or(0))
    };
    let is_loopback = has_one_address(sender);
    let machine = |end: &DirectionReport| end.machine.as_ref().map(machine);
    let streams = all().count() as u64;
    Facts {
        sampling: Sampling::Often,
        seconds: sender.seconds,
        streams,
        bytes: sender.bytes,
        rate: sender.bytes_per_second,
        busy: kernel.times.busy_seconds,
        window_held: kernel.times.receiver_limited_seconds,
        buffer_held: kernel.times.buffer_limited_seconds,
        timeout: kernel.timeout_seconds.unwrap_or_default(),
        counts_idle: true,
        slow_start: kernel.slow_start_seconds,
        longest_silence: kernel.longest_silence_seconds,
        rtt: kernel.mean_rtt_seconds.filter(|rtt| *rtt > Span::ZERO),
        max_rtt: kernel.max_rtt_seconds,
        loss_rtt: kernel.loss_rtt_seconds,
        least_rtt: kernel.min_rtt_seconds,
        idle: latency.idle_seconds.map(|idle| IdleMessages { least: idle.min, p50: idle.p50 }),
        loaded: latency.loaded_seconds.map(|loaded| LoadedMessages {
            p10: latency.loaded_p10_seconds,
            p50: loaded.p50,
            p90: loaded.p90,
        }),
        window: kernel
            .mean_peer_window_bytes
            .map(|_| sum(|kernel| kernel.mean_peer_window_bytes.unwrap_or_default())),
        largest_window: all().filter_map(|(_, kernel)| kernel.max_peer_window_bytes).max(),
        open_share: kernel.open_share,
        closed_share: all().map(|(_, kernel)| kernel.closed_share).fold(0.0, f64::max),
        window_openings: kernel.window_openings,
        unprompted_openings: kernel.unprompted_window_openings,
        asked_window: seen.window,
        flight: sum(|kernel| kernel.mean_flight_bytes),
        congestion_window: sum(|kernel| kernel.mean_congestion_window_bytes),
        buffer: all().map(|(stream, _)| stream.granted_send_buffer_bytes).sum(),
        buffer_full: None,
        unsent: kernel.mean_unsent_bytes,
        is_application_limited: false,
        segment: all().map(|(stream, _)| stream.mss_bytes.into()).max().unwrap_or(0),
        segments: kernel.segments,
        retransmissions: kernel.retransmissions,
        lost: all().map(|(_, kernel)| lost(kernel)).sum(),
        lost_outside_timeouts: all().map(|(_, kernel)| outside(kernel)).sum(),
        marked: kernel.marked_segments.unwrap_or(0),
        reorderings: kernel.reorderings.unwrap_or(0),
        path_mtu: kernel
            .path_mtu_bytes
            .zip(kernel.max_path_mtu_bytes)
            .map(|(now, most)| (now.into(), most.into())),
        heeds_loss: !sender.streams.iter().any(|stream| stream.congestion.starts_with("bbr")),
        never_left_slow_start: kernel.never_left_slow_start,
        delivery: sender.delivery.map(|delivery| Delivery {
            slices: delivery.slices,
            p10: delivery.p10_bytes_per_second,
            usual: delivery.usual_bytes_per_second,
            p90: delivery.p90_bytes_per_second,
            most: delivery.most_bytes_per_second,
        }),
        best: kernel.max_delivery_bytes_per_second,
        pace: seen.pace,
        source_share: sender.program_share,
        sink_share: receiver.and_then(|receiver| receiver.program_share),
        sender: Some(thread(&sender.cpu)),
        receiver: receiver.map(|receiver| thread(&receiver.cpu)),
        // A test too short to sample its machine still knows the processors that it may use.
        sending_machine: machine(sender).or_else(|| {
            seen.processors.map(|processors| Machine { processors, ..Machine::default() })
        }),
        receiving_machine: receiver.and_then(machine),
        is_one_machine: is_loopback || receiver.is_some_and(|other| is_one_system(sender, other)),
        is_loopback,
    }
}

fn thread(cpu: &Cpu) -> Thread {
    Thread { all: cpu.share, share: cpu.busiest_share, waiting: cpu.waiting_share }
}

fn machine(seen: &report::Machine) -> Machine {
    let program = |other: &report::OtherProgram| Program {
        pid: other.pid,
        name: other.name.clone(),
        share: other.cpu_share,
    };
    Machine {
        processors: seen.processors,
        busy_share: seen.busy_share,
        busiest_core_share: seen.busiest_core_share,
        busiest_core_interrupt_share: seen.busiest_core_interrupt_share,
        others: seen.others.iter().map(program).collect(),
    }
}

/// Returns whether both ends report the same running system.
fn is_one_system(one: &DirectionReport, other: &DirectionReport) -> bool {
    let system = |end: &DirectionReport| end.machine.as_ref().and_then(|it| it.system.clone());
    system(one).zip(system(other)).is_some_and(|(one, other)| one == other)
}

/// Returns whether both ends have the same address.
fn has_one_address(sender: &DirectionReport) -> bool {
    let host = |address: &str| address.rsplit_once(':').map(|(host, _)| host.to_owned());
    sender.streams.first().is_some_and(|stream| {
        let local = host(&stream.local);
        local.is_some() && local == host(&stream.remote)
    })
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
