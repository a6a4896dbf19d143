//! Paths to sweep: the links between two hosts, and the hosts' TCP, as a TOML file. `docs/sweep.md`
//! describes the format.

use serde::Deserialize;
use toml::Spanned;
use windlass_base::laws::{self, Framing};
use windlass_base::{Bytes, Failure, Rate, Span, whole_part};
use windlass_sim::{Habits, Hop, LinkSettings, SenderSettings};

use super::file::{FileError, FileKind, ReadText, Source, Time};
use super::profile::ReceiverText;
use super::sender::{Method, SenderText};

/// Minimum queue in packets, as with `windlass link`: an initial window of 10 segments arrives as
/// one burst (RFC 6928).
const MIN_PACKETS: u64 = 10;
/// Maximum number of hops: the diameter of the Internet stays well below (RFC 1812 section 5.3.1
/// asks for a TTL of 64).
const MAX_HOPS: usize = 64;
/// Maximum bytes on a path's lines and in its queues: the largest TCP window (RFC 7323 section
/// 2.3). No sweep could fill more.
const MAX_HELD: Bytes = Bytes::new(1_073_725_440);

/// Segments that an ACK covers on a shared medium.
const SEGMENTS_PER_ACK: u32 = 2;

/// A path between two hosts in virtual time.
#[derive(Clone, Debug)]
pub struct PathScenario {
    /// Name on the command line.
    pub id: String,
    /// Title of the scenario.
    pub title: String,
    /// Purpose of the scenario.
    pub shows: String,
    /// Source of its figures.
    pub source: Option<String>,
    /// Maximum time of one measurement, if the scenario sets one.
    pub time: Option<Span>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The hops from the near end to the far end, which is their forward direction.
    pub hops: Vec<Hop>,
    /// The receivers, without their window.
    pub receiver: Habits,
    sender: SenderText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PathFile {
    title: String,
    shows: String,
    source: Option<String>,
    time: Option<Spanned<Time>>,
    seed: Option<u64>,
    #[serde(rename = "hop")]
    hops: Vec<Spanned<LinkSettings>>,
    #[serde(rename = "back", default)]
    backs: Vec<Spanned<LinkSettings>>,
    #[serde(default)]
    sender: SenderText,
    #[serde(default)]
    receiver: ReceiverText,
}

impl PathScenario {
    /// Maximum of [`Self::time`], in virtual time.
    pub const LONGEST: Span = Span::from_millis(600_000);

    /// Returns the scenario of this name, or in this file.
    ///
    /// # Errors
    /// Fails if there is no such scenario, or if it has an invalid value.
    pub fn named(name: &str, read: ReadText<'_>) -> Result<Self, Failure> {
        let (id, source) = Source::named(FileKind::PATH, name, read)?;
        Self::read(&id, &source)
    }

    pub(super) fn read(id: &str, source: &Source) -> Result<Self, Failure> {
        source.read(|file: PathFile| {
            let hops = hops(&file.hops, &file.backs)?;
            let time = match &file.time {
                Some(time) if time.get_ref().0 > Self::LONGEST => {
                    let why = format!("one measurement takes at most {}", Self::LONGEST);
                    return Err(FileError::new(time.span(), why));
                }
                Some(time) => Some(time.get_ref().0),
                None => None,
            };
            Ok(Self {
                id: id.to_owned(),
                title: file.title,
                shows: file.shows,
                source: file.source,
                time,
                seed: file.seed.unwrap_or(1),
                hops,
                receiver: file.receiver.habits()?,
                sender: file.sender,
            })
        })
    }

    /// Returns the settings of a sender of `bytes` bytes.
    pub(super) fn sender(&self, bytes: Bytes) -> SenderSettings {
        SenderText::settings(&[self.sender], Method::Raw, bytes)
    }

    /// Describes the behavior of the hosts, without the window, in one line. Scenarios with
    /// different hosts have different lines.
    pub fn hosts(&self) -> String {
        format!("{:?} {:?}", self.sender(Bytes::ZERO), self.receiver)
    }

    /// Returns the path as a sender at the far end sees it.
    pub fn reversed(&self) -> Vec<Hop> {
        let turned = |hop: &Hop| Hop { forward: hop.backward, backward: hop.forward };
        self.hops.iter().rev().map(turned).collect()
    }

    /// Returns whether both ways are alike, so that one measurement tells of both.
    pub fn is_alike(&self) -> bool {
        self.reversed() == self.hops
    }

    /// Returns whether anything on the path or at its receivers is left to chance.
    pub fn has_chance(&self) -> bool {
        let uncertain = |link: &LinkSettings| {
            let shares = link.loss + link.reorder + link.corrupt;
            shares > 0.0 || link.jitter > Span::ZERO || link.fading.is_some()
        };
        let receiver = &self.receiver;
        let strays = receiver.ack_latency.spread + receiver.handshake_delay.spread;
        self.hops.iter().any(|hop| uncertain(&hop.forward) || uncertain(&hop.backward))
            || receiver.loss + receiver.corruption > 0.0
            || receiver.stalls.is_some()
            || strays > Span::ZERO
    }

    /// Returns the goodput of the path when its slowest hop is always busy, with full segments (RFC
    /// 6349 section 4.1.1; the line law). A half-duplex hop carries the ACKs as well, one for two
    /// segments (RFC 1122 section 4.2.3.2), and waits before each frame.
    pub fn ideal(&self, reversed: bool) -> Rate {
        let (sender, receiver) = (self.sender(Bytes::ZERO), &self.receiver);
        let (payload, headers) = full_segment(&sender, receiver);
        let goodput = |hop: &Hop| {
            let link = if reversed { hop.backward } else { hop.forward };
            let rate = link.rate?;
            let shared = hop.forward.half_duplex.or(hop.backward.half_duplex);
            let at = |rate: Rate| {
                let wait = shared.map_or(0.0, |shared| shared.access.or_zero().as_seconds());
                let waited = rate.bytes_per_second() * wait;
                let waited = u32::try_from(whole_part(waited)).unwrap_or(u32::MAX);
                let per_packet = Framing::ETHERNET.per_packet.saturating_add(waited);
                let framing = Framing { per_packet, ..Framing::ETHERNET };
                let acks = shared.map(|_| SEGMENTS_PER_ACK);
                laws::line_rate(rate, payload, headers, framing, acks)
            };
            Some(link.fading.map_or_else(|| at(rate), |fading| fading.mean_of(rate, at)))
        };
        self.hops.iter().filter_map(goodput).reduce(Rate::min).unwrap_or(Rate::ZERO)
    }
}

/// Returns the bytes of data and of headers in a full segment.
pub(super) fn full_segment(sender: &SenderSettings, receiver: &Habits) -> (u32, u32) {
    let mss = u32::from(sender.mss.min(receiver.mss));
    let stamps = if sender.timestamps && receiver.timestamps { 12 } else { 0 };
    (mss.saturating_sub(stamps), 40 + stamps)
}

/// Returns the hops of both lists, which must have the same length. The default queue is a
/// bandwidth-delay product of its line.
fn hops(
    forward: &[Spanned<LinkSettings>],
    backward: &[Spanned<LinkSettings>],
) -> Result<Vec<Hop>, FileError> {
    let Some(last) = forward.last() else {
        let why = "missing hops: a path has at least one [[hop]]".to_owned();
        return Err(FileError { at: None, why });
    };
    if forward.len() > MAX_HOPS {
        return Err(FileError::new(last.span(), format!("a path has at most {MAX_HOPS} hops")));
    }
    if !backward.is_empty() && backward.len() != forward.len() {
        let at = backward.last().map_or(last.span(), Spanned::span);
        let why = format!(
            "[[back]] needs as many hops as [[hop]], {}, in the same order; without [[back]] both \
             directions are alike",
            forward.len()
        );
        return Err(FileError::new(at, why));
    }
    let backs = if backward.is_empty() { forward } else { backward };
    let delays = forward.iter().chain(backs).map(|link| link.get_ref().delay);
    let rtt: Span = delays.sum();
    let link = |text: &Spanned<LinkSettings>| {
        let link = *text.get_ref();
        let Some(rate) = link.rate else {
            let why = "missing `rate`: a path without a delay has no best window";
            return Err(FileError::new(text.span(), why));
        };
        if link.fading.is_some_and(|fading| fading.least > rate || fading.every <= Span::ZERO) {
            let why = "`fading` needs a `least` of at most the hop's `rate`, and an `every` above \
                       0";
            return Err(FileError::new(text.span(), why));
        }
        let product = laws::bandwidth_delay_product(rate, rtt);
        let queue = link.queue.unwrap_or_else(|| product.max(Bytes::new(MIN_PACKETS * 1_500)));
        if product + queue > MAX_HELD {
            let why = format!(
                "with a round trip of {rtt}, this link and its queue hold more than {MAX_HELD}, \
                 the largest TCP window"
            );
            return Err(FileError::new(text.span(), why));
        }
        Ok(LinkSettings { queue: Some(queue), ..link })
    };
    let pairs = forward.iter().zip(backs);
    pairs.map(|(there, back)| Ok(Hop { forward: link(there)?, backward: link(back)? })).collect()
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
