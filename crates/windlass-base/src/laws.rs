//! The laws: the rate that a limit allows, and what a given rate needs.
//!
//! Each function names the source of its formula. They are used both to
//! predict (`windlass law`) and to explain (`windlass explain`).

use crate::{Bytes, Rate, Span, whole_part};

/// Rate below which a line is no line of a bulk transfer: 1 Mbit/s, in bytes a second. A few
/// segments that wait for longer than such a line takes wait for a receiver.
pub const SLOW_LINE: f64 = 125_000.0;

/// The window law: a sender may have at most `window` bytes in flight, and
/// gets them acknowledged once per `cycle`, so rate ≤ W / T.
///
/// `cycle` is the path's round trip plus the receiver's own ACK latency.
///
/// Source: the print-server comparison (about 2000), which computes
/// 2,920 B / 117,695 µs as 24,801 B/s; RFC 9293 section 3.8.6 for the window.
pub fn window_rate(window: Bytes, cycle: Span) -> Rate {
    window.per(cycle)
}

/// Returns the window that the window law needs for `rate`, rounded up.
pub fn window_for(rate: Rate, cycle: Span) -> Bytes {
    bandwidth_delay_product(rate, cycle)
}

/// The send-buffer law. A receiver withholds its ACK until a share of its window has arrived, or
/// until a timer of `ack_delay` expires. The sender then sends one full send buffer per delay: rate
/// ≈ N / D while N is below that share.
///
/// Source: G. Cooper, "Throughput to IMAGEN TCP-IP Printers" (1986): 2,048 B
/// against 0.5 s gives about 4 kB/s, and the cure is N ≥ M, a buffer as large
/// as the offered window.
pub fn send_buffer_rate(buffer: Bytes, ack_delay: Span) -> Rate {
    buffer.per(ack_delay)
}

/// Returns the send buffer that the law needs: as large as the largest window that the receiver
/// offers, N ≥ M. A sender that has `held` bytes now gains nothing from less than twice as much. A
/// window of many megabytes does not justify such a buffer: the answer is then four times as much,
/// or 1 MiB.
/// Source: the same letter.
pub fn send_buffer_for(window: Bytes, held: Bytes) -> Bytes {
    let held = held.get().max(1);
    let most = held.saturating_mul(4).max(1 << 20);
    Bytes::new(window.get().max(held.saturating_mul(2)).min(most))
}

/// Returns a larger window or buffer than one that limits a transfer: four times as much, as a
/// power of two. Remedies ask for it, and the factor is their own.
pub fn larger(held: Bytes) -> Bytes {
    Bytes::new(held.get().saturating_mul(4).next_power_of_two())
}

/// The bandwidth-delay product: the smallest window that keeps a path of
/// `capacity` and round trip `rtt` full, `W = C · t_R / 8`, rounded up.
///
/// Source: Sebopetse et al., "Throughput and Estimated Packet Delivery Delay vs
/// TCP Window Size" (about 2021): 1 Gb/s × 2.55 ms is 319 kB.
pub fn bandwidth_delay_product(capacity: Rate, rtt: Span) -> Bytes {
    let bytes = capacity.bytes_per_second() * rtt.or_zero().as_seconds();
    // Half a byte of tolerance, so that 319,000.0000001 does not become 319,001.
    Bytes::new(whole_part((bytes - 1e-6).ceil()))
}

/// The streams law: `streams` connections with a window each share the path,
/// rate ≈ min(C, n · W / T).
///
/// Source: the same paper: about ten streams of 56 kB fill 1 Gb/s.
pub fn streams_rate(capacity: Rate, streams: u32, window: Bytes, cycle: Span) -> Rate {
    let one = window_rate(window, cycle).bytes_per_second();
    capacity.min(Rate::from_bytes_per_second(one * f64::from(streams)))
}

/// Returns the number of connections that the streams law needs to fill `capacity`, rounded up;
/// `None` if one connection moves nothing.
pub fn streams_for(capacity: Rate, window: Bytes, cycle: Span) -> Option<u64> {
    let one = window_rate(window, cycle).bytes_per_second();
    // This tolerance, as that of a window, keeps 6.0000000001 at 6.
    (one > 0.0).then(|| whole_part((capacity.bytes_per_second() / one - 1e-9).ceil()).max(1))
}

/// Framing of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Bytes per packet on the link beyond the IP packet itself: header, trailer, preamble and gap.
    pub per_packet: u32,
    /// Minimum IP packet on the link; shorter ones are padded.
    pub least_packet: u32,
}

impl Framing {
    /// Ethernet: 14 bytes of header, 4 of FCS, 8 of preamble and 12 of gap
    /// around at least 46 bytes (IEEE 802.3).
    pub const ETHERNET: Self = Self { per_packet: 38, least_packet: 46 };

    fn on_the_wire(self, packet: u32) -> f64 {
        f64::from(packet.max(self.least_packet)) + f64::from(self.per_packet)
    }
}

/// The line law: the goodput of a link that is always busy,
/// C · payload / (payload + headers + preamble + gap).
///
/// `headers` is IP plus TCP with options. With `shared` the ACKs (one per
/// `segments_per_ack`) take their time from the same medium, as on half-duplex
/// Ethernet or radio.
///
/// Source: Stevens, TCP/IP Illustrated vol. 1, ch. 24.8.
pub fn line_rate(
    capacity: Rate,
    payload: u32,
    headers: u32,
    framing: Framing,
    shared: Option<u32>,
) -> Rate {
    let mut wire = framing.on_the_wire(payload.saturating_add(headers));
    if let Some(segments_per_ack) = shared {
        wire += framing.on_the_wire(headers) / f64::from(segments_per_ack.max(1));
    }
    Rate::from_bytes_per_second(capacity.bytes_per_second() * f64::from(payload) / wire)
}

/// Mathis's loss law: rate ≤ MSS / RTT · C / √p with C = √(3/2), for loss that
/// fast recovery repairs, an ACK per segment and no window limit.
///
/// Source: Mathis, Semke, Mahdavi, Ott, "The Macroscopic Behavior of the TCP
/// Congestion Avoidance Algorithm" (1997), eq. 3. No loss gives no bound:
/// `None`.
pub fn mathis_rate(mss: Bytes, rtt: Span, loss: f64) -> Option<Rate> {
    let flight = mathis_flight(mss, loss).filter(|_| rtt > Span::ZERO)?;
    Some(Rate::from_bytes_per_second(flight / rtt.as_seconds()))
}

/// The mean flight under loss, in bytes: √(3/2) / √p segments, by the same equation.
pub fn mathis_flight(mss: Bytes, loss: f64) -> Option<f64> {
    (loss > 0.0).then(|| mss.get() as f64 * 1.5_f64.sqrt() / loss.min(1.0).sqrt())
}

/// The loss ratio at which Mathis's law gives `rate`.
pub fn mathis_loss(mss: Bytes, rtt: Span, rate: Rate) -> Option<f64> {
    if rate <= Rate::ZERO || rtt <= Span::ZERO {
        return None;
    }
    let root = mss.get() as f64 / rtt.as_seconds() * 1.5_f64.sqrt() / rate.bytes_per_second();
    Some((root * root).min(1.0))
}

/// The PFTK law: Mathis with the time that retransmission timers cost and the
/// receiver's window as a ceiling,
/// B ≈ min(W/RTT, 1 / (RTT √(2bp/3) + T₀ min(1, 3 √(3bp/8)) p (1 + 32p²))).
///
/// `segments_per_ack` is b, `timeout` is T₀.
///
/// Source: Padhye, Firoiu, Towsley, Kurose, "Modeling TCP Throughput: A Simple
/// Model and its Empirical Validation" (1998), eq. 30.
pub fn pftk_rate(
    mss: Bytes,
    rtt: Span,
    loss: f64,
    timeout: Span,
    segments_per_ack: u32,
    window: Option<Bytes>,
) -> Option<Rate> {
    if loss <= 0.0 || rtt <= Span::ZERO {
        return None;
    }
    let (p, b) = (loss.min(1.0), f64::from(segments_per_ack.max(1)));
    let recovery = rtt.as_seconds() * (2.0 * b * p / 3.0).sqrt();
    let waiting = timeout.or_zero().as_seconds()
        * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0)
        * p
        * (1.0 + 32.0 * p * p);
    let rate = Rate::from_bytes_per_second(mss.get() as f64 / (recovery + waiting));
    Some(window.map_or(rate, |window| rate.min(window_rate(window, rtt))))
}

/// The loss ratio at which the PFTK law gives `rate`, without a window; 1 where
/// even total loss would. Found by bisection: the law falls as loss grows.
pub fn pftk_loss(
    mss: Bytes,
    rtt: Span,
    rate: Rate,
    timeout: Span,
    segments_per_ack: u32,
) -> Option<f64> {
    if rate <= Rate::ZERO || rtt <= Span::ZERO {
        return None;
    }
    // Loss spans many orders of magnitude, so its logarithm is halved. 100
    // halvings exhaust an f64.
    let (mut low, mut high) = (-300.0_f64, 0.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        let loss = 10_f64.powf(middle);
        if pftk_rate(mss, rtt, loss, timeout, segments_per_ack, None)? > rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(10_f64.powf(high))
}

/// The time that slow start takes to send `bytes`: with a first window of
/// `initial` that grows by `growth` each round trip,
/// `n = log_g(1 + bytes · (g − 1) / IW)` rounds.
///
/// `growth` is 2 where each segment is acknowledged and 1.5 where every second
/// one is (RFC 5681 section 3.1; Cardwell, Savage, Anderson, "Modeling TCP
/// Latency" (2000), eq. 11).
pub fn slow_start_time(bytes: Bytes, initial: Bytes, growth: f64, rtt: Span) -> Span {
    if growth <= 1.0 || initial == Bytes::ZERO {
        return Span::MAX;
    }
    let ratio = bytes.get() as f64 / initial.get() as f64;
    rtt.or_zero().scaled((1.0 + ratio * (growth - 1.0)).log(growth).max(1.0))
}

#[cfg(test)]
#[path = "laws_tests.rs"]
mod tests;
