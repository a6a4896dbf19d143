//! Paths to sweep: the links between two hosts, and what TCP they have, as a
//! TOML file. `docs/sweep.md` describes the format.

use serde::Deserialize;
use toml::Spanned;
use windlass_base::laws::{self, Framing};
use windlass_base::{Bytes, Failure, Rate, Span, whole_part};
use windlass_sim::{Habits, Hop, LinkSettings, SenderSettings};

use super::file::{Kind, ReadText, Source, Time, Wrong};
use super::profile::ReceiverText;
use super::sender::{Method, SenderText};

/// The packets that a queue holds at least, as with `windlass link`: an initial
/// window of 10 segments comes as one burst (RFC 6928).
const MIN_PACKETS: u64 = 10;
/// The most hops: the diameter of the Internet stays well below (RFC 1812
/// section 5.3.1 asks for a TTL of 64).
const MAX_HOPS: usize = 64;
/// The most that a path may hold, on its lines and in its queues: the largest
/// TCP window (RFC 7323 section 2.3). No sweep could fill more.
const MAX_HELD: Bytes = Bytes::new(1_073_725_440);

/// The segments that an ACK answers where both ways share a medium.
const SEGMENTS_PER_ACK: u32 = 2;

/// A path between two hosts in virtual time.
#[derive(Clone, Debug)]
pub struct PathScenario {
    /// What it is called on the command line.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub shows: String,
    /// Where its figures come from.
    pub source: Option<String>,
    /// The time for which one measurement takes at most, where the scenario says that.
    pub time: Option<Span>,
    /// What decides all that is left to chance.
    pub seed: u64,
    /// The hops from the near end to the far one; what is forward goes there.
    pub hops: Vec<Hop>,
    /// The receivers, but for their window.
    pub receiver: Habits,
    sender: SenderText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
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
    /// The longest that one measurement may take, in virtual time.
    pub const LONGEST: Span = Span::from_millis(600_000);

    /// The scenario of this name, or in this file.
    ///
    /// # Errors
    /// Fails where there is none, or it says what cannot be.
    pub fn named(name: &str, read: ReadText<'_>) -> Result<Self, Failure> {
        let (id, source) = Source::named(Kind::PATH, name, read)?;
        Self::read(&id, &source)
    }

    pub(super) fn read(id: &str, source: &Source) -> Result<Self, Failure> {
        source.read(|file: File| {
            let hops = hops(&file.hops, &file.backs)?;
            let time = match &file.time {
                Some(time) if time.get_ref().0 > Self::LONGEST => {
                    let why = format!("one measurement takes {} at most", Self::LONGEST);
                    return Err(Wrong::new(time.span(), why));
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

    /// A sender of so many bytes.
    pub(super) fn sender(&self, bytes: Bytes) -> SenderSettings {
        SenderText::settings(&[self.sender], Method::Raw, bytes)
    }

    /// Everything that the hosts do, but for the window, as one line: two
    /// scenarios whose hosts differ have lines that differ.
    pub fn hosts(&self) -> String {
        format!("{:?} {:?}", self.sender(Bytes::ZERO), self.receiver)
    }

    /// The path as a sender at the far end sees it.
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

    /// The data that the path carries there when the hop that carries least is always busy,
    /// with full segments (RFC 6349 section 4.1.1; the line law). A half-duplex hop carries
    /// the ACKs as well, one for two segments (RFC 1122 section 4.2.3.2), and waits before
    /// each frame.
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

/// The hops of both lists, which must agree; queues that are not stated hold a
/// bandwidth-delay product of their line.
fn hops(
    forward: &[Spanned<LinkSettings>],
    backward: &[Spanned<LinkSettings>],
) -> Result<Vec<Hop>, Wrong> {
    let Some(last) = forward.last() else {
        let why = "missing hops: a path has one [[hop]] at least".to_owned();
        return Err(Wrong { at: None, why });
    };
    if forward.len() > MAX_HOPS {
        return Err(Wrong::new(last.span(), format!("a path has {MAX_HOPS} hops at most")));
    }
    if !backward.is_empty() && backward.len() != forward.len() {
        let at = backward.last().map_or(last.span(), Spanned::span);
        let why = format!(
            "the way back has as many hops as the way there, {}, in the same order; without any \
             [[back]] it is alike",
            forward.len()
        );
        return Err(Wrong::new(at, why));
    }
    let backs = if backward.is_empty() { forward } else { backward };
    let delays = forward.iter().chain(backs).map(|link| link.get_ref().delay);
    let rtt: Span = delays.sum();
    let link = |text: &Spanned<LinkSettings>| {
        let link = *text.get_ref();
        let Some(rate) = link.rate else {
            let why = "missing `rate`: a path that takes no time has no window that fits it";
            return Err(Wrong::new(text.span(), why));
        };
        if link.fading.is_some_and(|fading| fading.least > rate || fading.every <= Span::ZERO) {
            let why = "`fading` has a `least` of the hop's `rate` at most, and an `every` above 0";
            return Err(Wrong::new(text.span(), why));
        }
        let product = laws::bandwidth_delay_product(rate, rtt);
        let queue = link.queue.unwrap_or_else(|| product.max(Bytes::new(MIN_PACKETS * 1_500)));
        if product + queue > MAX_HELD {
            let why = format!(
                "with a round trip of {rtt} this line and its queue hold more than {MAX_HELD}, \
                 the largest TCP window"
            );
            return Err(Wrong::new(text.span(), why));
        }
        Ok(LinkSettings { queue: Some(queue), ..link })
    };
    let pairs = forward.iter().zip(backs);
    pairs.map(|(there, back)| Ok(Hop { forward: link(there)?, backward: link(back)? })).collect()
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
