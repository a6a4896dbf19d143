//! Figures of a measurement: RFC 6349's, and the packet-delivery delay.

use windlass_base::{Bytes, Rate, Span};

/// Returns the transfer time ratio: the duration of a transfer over the duration at the ideal rate,
/// so 1 at best. For the same bytes it is the ideal rate over the measured one. `None` if nothing
/// arrived.
///
/// Source: RFC 6349 section 4.1.
pub fn transfer_time_ratio(measured: Rate, ideal: Rate) -> Option<f64> {
    let ratio = ideal.bytes_per_second() / measured.bytes_per_second();
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// Returns the TCP efficiency in per cent: the share of transmitted bytes that were no
/// retransmission. `None` if nothing was transmitted.
///
/// Source: RFC 6349 section 4.2.
pub fn tcp_efficiency_percent(transmitted: Bytes, retransmitted: Bytes) -> Option<f64> {
    let (all, again) = (transmitted.get(), retransmitted.get());
    (all > 0).then(|| all.saturating_sub(again) as f64 / all as f64 * 100.0)
}

/// Returns the buffer delay in per cent: the excess of the mean RTT under load over the base RTT,
/// as a share of the base RTT. `None` without a base RTT.
///
/// Source: RFC 6349 section 4.3.
pub fn buffer_delay_percent(mean_rtt: Span, base_rtt: Span) -> Option<f64> {
    let (mean, base) = (mean_rtt.as_seconds(), base_rtt.as_seconds());
    (base > 0.0).then(|| ((mean - base) / base * 100.0).max(0.0))
}

/// Returns the packet-delivery delay, `n · W / B − t_R`, and not below zero. It is the time that a
/// byte waits between sender and receiver beyond the path's own latency.
///
/// With windows of `W` bytes full on `n` streams, and a total rate of `B`, a byte and its ACK take
/// the equivalent latency, `n · W / B` (Little's law). The path's own share, its base RTT `t_R`, is
/// excluded. The remainder is the time that the byte waits. It waits in a queue, on the line behind
/// other bytes of its window, for a window that holds a full segment, or for a delayed ACK.
///
/// `None` if nothing moved.
///
/// Source: Sebopetse et al., "Throughput and Estimated Packet Delivery Delay vs TCP Window Size"
/// (about 2021), method step D ("the TCP window size and measured throughput values are used to
/// calculate the equivalent latency", with the acknowledgement "taken into account") and section B
/// ("excluding the latency"); J. Little, "A Proof for the Queuing Formula L = λW" (1961).
pub fn delivery_delay(window: Bytes, streams: u16, rate: Rate, base_rtt: Span) -> Option<Span> {
    let flight = window.get() as f64 * f64::from(streams);
    let equivalent = flight / rate.bytes_per_second();
    // A rate of zero gives no time, and a very slow one more than a span holds.
    equivalent.is_finite().then(|| (Span::from_seconds(equivalent) - base_rtt).or_zero())
}
