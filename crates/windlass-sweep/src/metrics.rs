//! The figures of a measurement: RFC 6349's, and the packet-delivery delay.

use windlass_base::{Bytes, Rate, Span};

/// The transfer time ratio: the time that a transfer took over the time that it
/// would have taken at the ideal rate, so 1 at best. For the same bytes that is
/// the ideal rate over the measured one. `None` where nothing arrived.
///
/// Source: RFC 6349 section 4.1.
pub fn transfer_time_ratio(measured: Rate, ideal: Rate) -> Option<f64> {
    let ratio = ideal.bytes_per_second() / measured.bytes_per_second();
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// The TCP efficiency in per cent: of the bytes that were transmitted, those
/// that were no retransmission. `None` where nothing was transmitted.
///
/// Source: RFC 6349 section 4.2.
pub fn tcp_efficiency_percent(transmitted: Bytes, retransmitted: Bytes) -> Option<f64> {
    let (all, again) = (transmitted.get(), retransmitted.get());
    (all > 0).then(|| all.saturating_sub(again) as f64 / all as f64 * 100.0)
}

/// The buffer delay in per cent: how much the mean round trip under load lies
/// above the base round trip, as a share of it. `None` without a base.
///
/// Source: RFC 6349 section 4.3.
pub fn buffer_delay_percent(mean_rtt: Span, base_rtt: Span) -> Option<f64> {
    let (mean, base) = (mean_rtt.as_seconds(), base_rtt.as_seconds());
    (base > 0.0).then(|| ((mean - base) / base * 100.0).max(0.0))
}

/// The packet-delivery delay: how long a byte waits between sender and receiver
/// beyond the path's own latency, `n · W / B − t_R`, and not less than nothing.
///
/// With windows of `W` bytes full on `n` streams, and all of them together
/// moving at `B`, a byte and its acknowledgment take `n · W / B` (Little's law):
/// the equivalent latency. What the path itself takes, its base round trip `t_R`,
/// is excluded. What remains is the time for which the byte waits for others: in
/// a queue, on the line behind those of its own window, for a window that a full
/// segment does not fit into, or for an ACK that the receiver holds back.
///
/// `None` where nothing moved.
///
/// Source: Sebopetse et al., "Throughput and Estimated Packet Delivery Delay vs
/// TCP Window Size" (about 2021), method step D ("the TCP window size and
/// measured throughput values are used to calculate the equivalent latency",
/// with the acknowledgement "taken into account") and section B ("excluding the
/// latency"); J. Little, "A Proof for the Queuing Formula L = λW" (1961).
pub fn delivery_delay(window: Bytes, streams: u16, rate: Rate, base_rtt: Span) -> Option<Span> {
    let flight = window.get() as f64 * f64::from(streams);
    let equivalent = flight / rate.bytes_per_second();
    // A rate of nothing gives no time, and the slowest one more than a span holds.
    equivalent.is_finite().then(|| (Span::from_seconds(equivalent) - base_rtt).or_zero())
}
