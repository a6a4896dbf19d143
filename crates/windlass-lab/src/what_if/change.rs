//! The changes of `--what-if`, and their syntax.

use std::mem::discriminant;

use serde::Serialize;
use windlass_base::{Bytes, Rate, Span, values};
use windlass_sim::device::{AckPolicy, Drain, Window};
use windlass_sim::{Latency, SenderSettings};
use windlass_trace::report::Unit;

use crate::scenario::Row;

/// Keys of the changes, for help and messages.
const KEYS: &str = "window, ack-latency, read-rate, send-buffer, rtt, loss, ack-loss, reordering, \
    timer, streams, mss, reassembly, policer";

/// Largest TCP window: a field of 16 bits, scaled by 14 (RFC 7323 section 2.3).
const MAX_WINDOW: Bytes = Bytes::new(1 << 30);
/// Longest latency or round trip: beyond it a sender gives up.
const LONGEST: Span = Span::from_millis(60_000);
/// Shortest retransmission timer: a tick of a kernel's clock.
const MIN_TIMER: Span = Span::from_millis(1);
/// Maximum number of streams: more than a browser or a copy tool opens.
const MAX_STREAMS: u16 = 64;
/// Smallest MSS that a host may announce (RFC 879: packets of 576 bytes are always accepted; stacks
/// accept less, Linux down to 88).
const MIN_MSS: u16 = 88;

/// A change. Reports list them in this order.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Change {
    Window(Bytes),
    AckLatency(Span),
    ReadRate(Rate),
    SendBuffer(Bytes),
    Rtt(Span),
    Loss(f64),
    /// Share of ACKs that the path loses.
    AckLoss(f64),
    /// Share of segments that arrive so late that the sender counts them as lost.
    Reordering(f64),
    /// Shortest retransmission timeout of the sender.
    Timer(Span),
    Streams(u16),
    Mss(u16),
    /// True if the receiver keeps data beyond a gap.
    Reassembly(bool),
    /// Rate of a policer on the path.
    Policer(Rate),
}

/// Changes that apply together, in their order and without duplicates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes(pub(super) Vec<Change>);

/// A change, as the record has it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReportedChange {
    /// Key of the change.
    pub key: &'static str,
    /// New value.
    pub value: f64,
    /// Unit of the value.
    pub unit: Unit,
}

impl Change {
    fn read(key: &str, value: &str) -> Result<Self, String> {
        Ok(match key {
            "window" => Self::Window(window(value)?),
            "ack-latency" => Self::AckLatency(latency(value)?),
            "read-rate" => Self::ReadRate(values::rate_with_unit(value)?),
            "send-buffer" => Self::SendBuffer(values::bytes(value)?),
            "rtt" => Self::Rtt(latency(value)?),
            "loss" => Self::Loss(loss(value)?),
            "ack-loss" => Self::AckLoss(loss(value)?),
            "reordering" => Self::Reordering(loss(value)?),
            "timer" => match latency(value)? {
                timer if timer < MIN_TIMER => {
                    return Err(format!("a timer is at least {MIN_TIMER}"));
                }
                timer => Self::Timer(timer),
            },
            "streams" => Self::Streams(
                whole(value, 1, MAX_STREAMS)
                    .ok_or_else(|| format!("streams are a number from 1 to {MAX_STREAMS}"))?,
            ),
            "mss" => Self::Mss(
                whole(value, MIN_MSS, u16::MAX)
                    .ok_or_else(|| format!("an mss is bytes, from {MIN_MSS} to {}", u16::MAX))?,
            ),
            "reassembly" => match value {
                "on" => Self::Reassembly(true),
                "off" => Self::Reassembly(false),
                _ => return Err("reassembly is on or off".to_owned()),
            },
            "policer" => Self::Policer(values::rate_with_unit(value)?),
            _ => return Err(format!("there is no {key:?} to change; there are {KEYS}")),
        })
    }

    /// Returns the change with its unit.
    pub(super) fn told(self) -> ReportedChange {
        let (key, value, unit) = match self {
            Self::Window(bytes) => ("window", bytes.get() as f64, Unit::Bytes),
            Self::AckLatency(span) => ("ack-latency", span.as_seconds(), Unit::Seconds),
            Self::ReadRate(rate) => ("read-rate", rate.bytes_per_second(), Unit::BytesPerSecond),
            Self::SendBuffer(bytes) => ("send-buffer", bytes.get() as f64, Unit::Bytes),
            Self::Rtt(span) => ("rtt", span.as_seconds(), Unit::Seconds),
            Self::Loss(share) => ("loss", share, Unit::Share),
            Self::AckLoss(share) => ("ack-loss", share, Unit::Share),
            Self::Reordering(share) => ("reordering", share, Unit::Share),
            Self::Timer(span) => ("timer", span.as_seconds(), Unit::Seconds),
            Self::Streams(count) => ("streams", f64::from(count), Unit::Count),
            Self::Mss(bytes) => ("mss", f64::from(bytes), Unit::Bytes),
            // 1 for on, 0 for off.
            Self::Reassembly(on) => ("reassembly", f64::from(u8::from(on)), Unit::Count),
            Self::Policer(rate) => ("policer", rate.bytes_per_second(), Unit::BytesPerSecond),
        };
        ReportedChange { key, value, unit }
    }

    /// Applies the change to a row of a scenario and its sender; `None` if these have no such
    /// setting.
    fn make(self, row: &mut Row, sender: &mut SenderSettings) -> Option<()> {
        let (device, link) = (&mut row.profile.habits, &mut row.link);
        match self {
            Self::Window(bytes) => {
                device.window = match device.window {
                    Window::Buffer(_) => Window::Buffer(bytes),
                    Window::Fixed(_) => Window::Fixed(bytes),
                };
                let least = device.window.least_scale();
                if least > 0 {
                    sender.window_scale?;
                    device.window_scale = Some(device.window_scale.unwrap_or(0).max(least));
                }
            }
            Self::AckLatency(latency) => {
                // The latency of a small segment is its processing time, since no device delays it.
                let handling = device.small_segments.map_or(Span::ZERO, |one| one.latency.typical);
                device.ack = AckPolicy::EverySegment;
                device.ack_latency = Latency::of(latency.max(handling));
            }
            Self::ReadRate(new) => match &mut device.drain {
                Drain::Rate { rate, .. } => *rate = new,
                Drain::AtOnce | Drain::AfterAck(_) => return None,
            },
            Self::SendBuffer(bytes) => sender.send_buffer = Some(bytes),
            Self::Rtt(rtt) => link.delay = rtt / 2,
            Self::Loss(share) => {
                link.loss = share;
                (link.corrupt, device.loss, device.corruption) = (0.0, 0.0, 0.0);
            }
            Self::Reordering(share) => link.reorder = share,
            Self::Timer(timer) => sender.least_timeout = timer,
            Self::Mss(mss) => (device.mss, sender.mss) = (mss, mss),
            Self::Reassembly(keeps) => device.keeps_out_of_order = keeps,
            Self::Policer(rate) => link.policer.as_mut()?.rate = rate,
            // A row has one connection, and a link that is alike both ways.
            Self::Streams(_) | Self::AckLoss(_) => return None,
        }
        Some(())
    }
}

impl Changes {
    /// Applies the changes to a row of a scenario and its sender; `None` if these lack one of the
    /// settings.
    pub(crate) fn make(&self, row: &mut Row, sender: &mut SenderSettings) -> Option<()> {
        self.0.iter().try_for_each(|change| change.make(row, sender))
    }

    /// Adds the changes of another `--what-if`.
    ///
    /// # Errors
    /// Fails if a change is given twice.
    pub(super) fn and(mut self, other: &Self) -> Result<Self, String> {
        other.0.iter().try_for_each(|change| self.add(*change))?;
        Ok(self)
    }

    fn add(&mut self, change: Change) -> Result<(), String> {
        let place = self.0.partition_point(|other| *other < change);
        if self.0.iter().any(|other| discriminant(other) == discriminant(&change)) {
            return Err(format!("{} is changed twice; give it once", change.told().key));
        }
        self.0.insert(place, change);
        Ok(())
    }
}

/// Parses changes such as `window=64k,rtt=10ms`.
///
/// # Errors
/// Returns the allowed syntax if `text` is something else.
pub fn changes(text: &str) -> Result<Changes, String> {
    let mut all = Changes::default();
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        match parts.last_mut() {
            // A comma may group digits, as this program prints them.
            Some(last) if !part.contains('=') => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    for part in &parts {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("a change is written KEY=VALUE, with a key of {KEYS}"))?;
        all.add(Change::read(key.trim(), value.trim())?)?;
    }
    Ok(all)
}

fn window(text: &str) -> Result<Bytes, String> {
    let window = values::bytes(text)?;
    if window > MAX_WINDOW {
        return Err("no TCP window is larger than 1GiB".to_owned());
    }
    Ok(window)
}

/// Parses a time that may be zero.
fn latency(text: &str) -> Result<Span, String> {
    if matches!(text, "0" | "0s" | "0ms" | "0us") {
        return Ok(Span::ZERO);
    }
    let span = values::span_with_unit(text)?;
    if span > LONGEST {
        return Err("a time here is at most 60s".to_owned());
    }
    Ok(span)
}

/// Parses a share that may be zero.
fn loss(text: &str) -> Result<f64, String> {
    if matches!(text, "0" | "0.0" | "0%") {
        return Ok(0.0);
    }
    let loss = values::share(text)?;
    // A sender gives up long before: there would be no rate to predict.
    if loss > 0.5 { Err("a loss here is at most 50%".to_owned()) } else { Ok(loss) }
}

fn whole(text: &str, least: u16, most: u16) -> Option<u16> {
    let digits = text.replace(',', "");
    let number = digits.parse().ok().filter(|_| !digits.starts_with('+'))?;
    (least..=most).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_together() {
        let all = changes("window=65,535,ack-latency=5ms,loss=0,streams=4").unwrap();
        let (window, latency) = (Bytes::new(65_535), Span::from_millis(5));
        let read = [Change::Window(window), Change::AckLatency(latency), Change::Loss(0.0)];
        assert_eq!(all.0, [&read[..], &[Change::Streams(4)]].concat());
        let more = all.and(&changes("mss=536,read-rate=2MB/s").unwrap()).unwrap();
        assert_eq!(more.0[2], Change::ReadRate(Rate::from_bytes_per_second(2e6)));
        assert_eq!(more.0.len(), 6);
        let all = changes("reassembly=on,policer=8mbit").unwrap();
        let rate = Rate::from_bits_per_second(8e6);
        assert_eq!(all.0, [Change::Reassembly(true), Change::Policer(rate)]);
        let all = changes("timer=200ms,ack-loss=0,reordering=1%").unwrap();
        let timer = Change::Timer(Span::from_millis(200));
        assert_eq!(all.0, [Change::AckLoss(0.0), Change::Reordering(0.01), timer]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_is_allowed() {
        let refused = |text: &str| changes(text).unwrap_err();
        assert!(refused("windows=64k").contains("there are window, ack-latency"));
        assert!(refused("window").contains("KEY=VALUE"));
        assert!(refused("read-rate=fast").contains("rate"));
        assert!(refused("window=-5").contains("write a size"));
        assert!(refused("window=2GiB").contains("1GiB"));
        assert!(refused("loss=3").contains("3%"));
        assert!(refused("loss=90%").contains("50%"));
        assert!(refused("rtt=5").contains("with its unit"));
        assert!(refused("rtt=2h").contains("60s"));
        assert!(refused("timer=0").contains("at least 1 ms"));
        assert!(refused("streams=0").contains("1 to 64"));
        assert!(refused("mss=20").contains("from 88"));
        assert!(refused("reassembly=1").contains("on or off"));
        assert!(refused("window=1k,window=2k").contains("twice"));
    }
}
