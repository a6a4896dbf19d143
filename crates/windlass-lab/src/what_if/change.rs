//! The changes that `--what-if` takes, as people write them.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Span, values};
use windlass_trace::report::Unit;

/// The keys, for help and messages.
const KEYS: &str = "window, ack-latency, read-rate, send-buffer, rtt, loss, ack-loss, reordering, \
    timer, streams, mss, reassembly, policer";

/// The largest window that TCP can offer: a field of 16 bits, scaled by 14
/// (RFC 7323 section 2.3).
const MAX_WINDOW: Bytes = Bytes::new(1 << 30);
/// The longest latency or round trip: beyond it a sender gives up.
const LONGEST: Span = Span::from_millis(60_000);
/// The shortest retransmission timer: a tick of a kernel's clock.
const MIN_TIMER: Span = Span::from_millis(1);
/// The most streams: what a browser or a copier opens, and more.
const MAX_STREAMS: u16 = 64;
/// The smallest segment that IPv4 lets a host ask for (RFC 879: 576 bytes of
/// packet are always taken; stacks accept less, Linux down to 88).
const MIN_MSS: u16 = 88;

/// Changes that apply together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    pub(super) window: Option<Bytes>,
    pub(super) ack_latency: Option<Span>,
    pub(super) read_rate: Option<Rate>,
    pub(super) send_buffer: Option<Bytes>,
    pub(super) rtt: Option<Span>,
    pub(super) loss: Option<f64>,
    /// The share of ACKs that the path loses.
    pub(super) ack_loss: Option<f64>,
    /// The share of segments that come so late that the sender takes them for lost.
    pub(super) reordering: Option<f64>,
    /// The least time after which the sender's timer sends again.
    pub(super) timer: Option<Span>,
    pub(super) streams: Option<u16>,
    pub(super) mss: Option<u16>,
    /// Whether the receiver keeps what comes behind a hole.
    pub(super) reassembly: Option<bool>,
    /// The rate beyond which something on the path drops.
    pub(super) policer: Option<Rate>,
}

/// A change as the record tells it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Told {
    /// What is changed.
    pub key: &'static str,
    /// To what.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Changes {
    /// Adds those of another `--what-if`.
    ///
    /// # Errors
    /// Where one is given twice.
    pub(super) fn and(self, other: &Self) -> Result<Self, String> {
        Ok(Self {
            window: once("window", self.window, other.window)?,
            ack_latency: once("ack-latency", self.ack_latency, other.ack_latency)?,
            read_rate: once("read-rate", self.read_rate, other.read_rate)?,
            send_buffer: once("send-buffer", self.send_buffer, other.send_buffer)?,
            rtt: once("rtt", self.rtt, other.rtt)?,
            loss: once("loss", self.loss, other.loss)?,
            ack_loss: once("ack-loss", self.ack_loss, other.ack_loss)?,
            reordering: once("reordering", self.reordering, other.reordering)?,
            timer: once("timer", self.timer, other.timer)?,
            streams: once("streams", self.streams, other.streams)?,
            mss: once("mss", self.mss, other.mss)?,
            reassembly: once("reassembly", self.reassembly, other.reassembly)?,
            policer: once("policer", self.policer, other.policer)?,
        })
    }

    /// Each change with its unit.
    pub(super) fn told(&self) -> Vec<Told> {
        let bytes = |bytes: Bytes| (bytes.get() as f64, Unit::Bytes);
        let seconds = |span: Span| (span.as_seconds(), Unit::Seconds);
        let share = |share: f64| (share, Unit::Share);
        let all = [
            ("window", self.window.map(bytes)),
            ("ack-latency", self.ack_latency.map(seconds)),
            (
                "read-rate",
                self.read_rate.map(|rate| (rate.bytes_per_second(), Unit::BytesPerSecond)),
            ),
            ("send-buffer", self.send_buffer.map(bytes)),
            ("rtt", self.rtt.map(seconds)),
            ("loss", self.loss.map(share)),
            ("ack-loss", self.ack_loss.map(share)),
            ("reordering", self.reordering.map(share)),
            ("timer", self.timer.map(seconds)),
            ("streams", self.streams.map(|count| (f64::from(count), Unit::Count))),
            ("mss", self.mss.map(|mss| (f64::from(mss), Unit::Bytes))),
            // 1 for on, 0 for off.
            ("reassembly", self.reassembly.map(|on| (f64::from(u8::from(on)), Unit::Count))),
            ("policer", self.policer.map(|rate| (rate.bytes_per_second(), Unit::BytesPerSecond))),
        ];
        all.into_iter()
            .filter_map(|(key, value)| value.map(|(value, unit)| Told { key, value, unit }))
            .collect()
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        let other = match key {
            "window" => Self { window: Some(window(value)?), ..Self::default() },
            "ack-latency" => Self { ack_latency: Some(latency(value)?), ..Self::default() },
            "read-rate" => Self { read_rate: Some(values::rate(value)?), ..Self::default() },
            "send-buffer" => Self { send_buffer: Some(values::bytes(value)?), ..Self::default() },
            "rtt" => Self { rtt: Some(latency(value)?), ..Self::default() },
            "loss" => Self { loss: Some(loss(value)?), ..Self::default() },
            "ack-loss" => Self { ack_loss: Some(loss(value)?), ..Self::default() },
            "reordering" => Self { reordering: Some(loss(value)?), ..Self::default() },
            "timer" => {
                let timer = latency(value)?;
                if timer < MIN_TIMER {
                    return Err(format!("a timer is {MIN_TIMER} at least"));
                }
                Self { timer: Some(timer), ..Self::default() }
            }
            "streams" => {
                let streams = whole(value, 1, MAX_STREAMS)
                    .ok_or_else(|| format!("streams are a number from 1 to {MAX_STREAMS}"))?;
                Self { streams: Some(streams), ..Self::default() }
            }
            "mss" => {
                let mss = whole(value, MIN_MSS, u16::MAX)
                    .ok_or_else(|| format!("an mss is bytes, from {MIN_MSS} to {}", u16::MAX))?;
                Self { mss: Some(mss), ..Self::default() }
            }
            "reassembly" => {
                let on = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err("reassembly is on or off".to_owned()),
                };
                Self { reassembly: Some(on), ..Self::default() }
            }
            "policer" => Self { policer: Some(values::rate(value)?), ..Self::default() },
            _ => return Err(format!("there is no {key:?} to change; there are {KEYS}")),
        };
        *self = std::mem::take(self).and(&other)?;
        Ok(())
    }
}

/// Changes as `window=64k,rtt=10ms`.
///
/// # Errors
/// What is allowed, where `text` is not that.
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
        all.take(key.trim(), value.trim())?;
    }
    Ok(all)
}

fn once<T: Clone>(key: &str, one: Option<T>, other: Option<T>) -> Result<Option<T>, String> {
    match (one, other) {
        (Some(_), Some(_)) => Err(format!("{key} is changed twice; give it once")),
        (one, other) => Ok(one.or(other)),
    }
}

fn window(text: &str) -> Result<Bytes, String> {
    let window = values::bytes(text)?;
    if window > MAX_WINDOW {
        return Err("no TCP window is larger than 1GiB".to_owned());
    }
    Ok(window)
}

/// A time that may be none at all.
fn latency(text: &str) -> Result<Span, String> {
    if matches!(text, "0" | "0s" | "0ms" | "0us") {
        return Ok(Span::ZERO);
    }
    let span = values::span(text)?;
    if span > LONGEST {
        return Err("a time here is at most 60s".to_owned());
    }
    Ok(span)
}

/// A share that may be nothing.
fn loss(text: &str) -> Result<f64, String> {
    if matches!(text, "0" | "0.0" | "0%") {
        return Ok(0.0);
    }
    let loss = values::share(text)?;
    // A sender gives up long before: nothing could be told of it.
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
        assert_eq!(all.window, Some(Bytes::new(65_535)));
        assert_eq!(all.ack_latency, Some(Span::from_millis(5)));
        assert_eq!(all.loss, Some(0.0));
        assert_eq!(all.streams, Some(4));
        let more = all.and(&changes("mss=536,read-rate=2MB/s").unwrap()).unwrap();
        assert_eq!(more.read_rate, Some(Rate::from_bytes_per_second(2e6)));
        assert_eq!(more.told().len(), 6);
        let all = changes("reassembly=on,policer=8mbit").unwrap();
        assert_eq!(all.reassembly, Some(true));
        assert_eq!(all.policer, Some(Rate::from_bits_per_second(8e6)));
        let all = changes("timer=200ms,ack-loss=0,reordering=1%").unwrap();
        assert_eq!(all.timer, Some(Span::from_millis(200)));
        assert_eq!((all.ack_loss, all.reordering), (Some(0.0), Some(0.01)));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_is_allowed() {
        let refused = |text: &str| changes(text).unwrap_err();
        assert!(refused("windows=64k").contains("there are window, ack-latency"));
        assert!(refused("window").contains("KEY=VALUE"));
        assert!(refused("read-rate=fast").contains("rate"));
        assert!(refused("window=-5").contains("a size is written"));
        assert!(refused("window=2GiB").contains("1GiB"));
        assert!(refused("loss=3").contains("3%"));
        assert!(refused("loss=90%").contains("50%"));
        assert!(refused("rtt=5").contains("with its unit"));
        assert!(refused("rtt=2h").contains("60s"));
        assert!(refused("timer=0").contains("1 ms at least"));
        assert!(refused("streams=0").contains("1 to 64"));
        assert!(refused("mss=20").contains("from 88"));
        assert!(refused("reassembly=1").contains("on or off"));
        assert!(refused("window=1k,window=2k").contains("twice"));
    }
}
