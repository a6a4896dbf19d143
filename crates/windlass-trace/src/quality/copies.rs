//! Packets that the capture holds twice.

use windlass_base::Timestamp;
use windlass_base::thresholds::{
    HOST_DELAY, LOCAL_PATH, LONGER_THAN_PATHS, MORE_THAN_ONE, NEARLY_ALL,
};
use windlass_wire::{Flags, Host, Segment};

/// Number of packets back in the capture among which a second copy is searched for; a power of two.
/// They fit a second-level cache with their index.
const REMEMBERED: usize = 1 << 13;

/// Chains of the index; a power of two, and twice the packets.
const CHAINS: usize = 2 * REMEMBERED;

/// Maximum number of packets of a chain that are examined. Similar packets that are no copies
/// (keep-alives, duplicate ACKs) would make a long chain.
const STEPS: usize = 64;

/// A packet of the past.
#[derive(Clone, Copy, Debug)]
struct SeenPacket {
    /// Its number, and in the lowest bit whether its second copy came.
    number: u64,
    time: Timestamp,
    /// See [`fingerprint`].
    fingerprint: u64,
}

/// The last packets of a capture, for finding copies.
///
/// The packet remembered as number n is stored at index n, modulo the length.
#[derive(Debug)]
pub(crate) struct Copies {
    ring: Vec<SeenPacket>,
    index: Index,
    /// The packets that were ever remembered, without their overflow.
    remembered: u16,
    /// Packets identified by their index alone, and their second copies: those with data or a SYN.
    firsts: u32,
    seconds: u32,
}

impl Default for Copies {
    fn default() -> Self {
        let index = Index {
            heads: Box::new([Link::default(); CHAINS]),
            older: Box::new([Link::default(); REMEMBERED]),
        };
        Self { ring: Vec::new(), index, remembered: 0, firsts: 0, seconds: 0 }
    }
}

impl Copies {
    /// Returns the packet of which `segment` is a second copy, if it is one.
    ///
    /// A copy has the same IP identification and the same TCP header. If the identification says
    /// nothing (IPv6, or zero), only packets that follow within 100 µs count. Bare ACKs then count
    /// only in a capture that holds every packet twice: a receiver repeats them on purpose.
    pub(crate) fn first_copy(&mut self, segment: &Segment) -> Option<u64> {
        // Text does not tell: it leaves out what would tell copies apart.
        let sequence = segment.sequence?;
        let fingerprint = fingerprint(segment, sequence);
        if self.index.may_hold(fingerprint, self.remembered) {
            return self.compare(segment, fingerprint);
        }
        self.remember(segment, fingerprint);
        None
    }

    /// Compares a packet closely with its candidates. Few packets come here: out of line, the
    /// function leaves the others their registers.
    #[inline(never)]
    fn compare(&mut self, segment: &Segment, fingerprint: u64) -> Option<u64> {
        match self.oldest_alike(fingerprint, segment) {
            Some(place) => self.second(place, fingerprint, segment),
            None => {
                self.remember(segment, fingerprint);
                None
            }
        }
    }

    /// Returns the index of the oldest packet that a new one is a copy of.
    fn oldest_alike(&self, fingerprint: u64, segment: &Segment) -> Option<usize> {
        // The chain leads to ever older packets.
        let alike = self.index.chain(fingerprint, self.remembered);
        alike.filter(|place| self.is_first(*place, fingerprint, segment)).last()
    }

    /// Returns whether a new packet is a copy of the one at this place.
    fn is_first(&self, place: usize, fingerprint: u64, segment: &Segment) -> bool {
        let tells = identification(segment) != 0 || tells_by_itself(segment);
        self.ring.get(place).is_some_and(|old| {
            // A host sends all its packets with the same hop limit.
            let routed = old.fingerprint != fingerprint;
            same_header(old.fingerprint, fingerprint)
                && is_near(old, segment, tells, routed, self.holds_all_twice())
        })
    }

    /// Counts the second copy of the packet at this index, and returns the packet's number.
    fn second(&mut self, place: usize, fingerprint: u64, segment: &Segment) -> Option<u64> {
        let old = self.ring.get_mut(place)?;
        // Copies of another hop limit were taken elsewhere: they tell their ACKs too.
        if tells_by_itself(segment) && old.fingerprint == fingerprint {
            self.seconds = self.seconds.saturating_add(1);
        }
        old.number |= 1;
        Some(old.number >> 1)
    }

    /// Returns whether nearly every informative packet came twice. The last one may be a first
    /// copy.
    fn holds_all_twice(&self) -> bool {
        self.seconds >= MORE_THAN_ONE.to::<u32>()
            && f64::from(self.seconds)
                >= f64::from(self.firsts.saturating_sub(1)) * NEARLY_ALL.get()
    }

    #[inline]
    fn remember(&mut self, segment: &Segment, fingerprint: u64) {
        if tells_by_itself(segment) {
            self.firsts = self.firsts.saturating_add(1);
        }
        let this = self.remembered;
        let new = SeenPacket { number: segment.number << 1, time: segment.time, fingerprint };
        self.remembered = this.wrapping_add(1);
        self.index.add(fingerprint, this);
        match self.ring.get_mut(usize::from(this) % REMEMBERED) {
            Some(seen) => *seen = new,
            None => self.grow(new),
        }
    }

    #[cold]
    fn grow(&mut self, new: SeenPacket) {
        self.ring.push(new);
    }
}

/// Finds the packets of one fingerprint by chains, the newest first.
///
/// Its age reveals a packet that was overwritten since, so no packet has to be taken out of its
/// chain. If an old count overflowed and looks young again, the chain only holds more than it
/// should.
#[derive(Debug)]
struct Index {
    heads: Box<[Link; CHAINS]>,
    older: Box<[Link; REMEMBERED]>,
}

/// Link to a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Its count.
    count: u16,
    /// Some bits of its fingerprint: the packet itself is not looked at where they
    /// differ.
    tag: u16,
}

impl Index {
    fn head(fingerprint: u64) -> usize {
        (fingerprint >> HOP_LIMIT_BITS) as usize % CHAINS
    }

    /// Returns the bits that distinguish the packets of a chain.
    fn tag(fingerprint: u64) -> u16 {
        (fingerprint >> 48) as u16
    }

    /// Returns whether a chain may hold a packet with this fingerprint, after so many remembered
    /// packets. One of its first two links has the tag, or the chain has three links. The code has
    /// no branch for each link: no processor predicts their random number, and a wrong prediction
    /// would wait for memory outside the first-level cache.
    #[inline]
    fn may_hold(&self, fingerprint: u64, remembered: u16) -> bool {
        let tag = Self::tag(fingerprint);
        let age = |link: Link| remembered.wrapping_sub(link.count);
        let older = |link: Link| self.older[usize::from(link.count) % REMEMBERED];
        let first = self.heads[Self::head(fingerprint)];
        let second = older(first);
        let third = older(second);
        let has_three = (age(first) < age(second))
            & (age(second) < age(third))
            & (usize::from(age(third)) <= REMEMBERED);
        (first.tag == tag) | (second.tag == tag) | has_three
    }

    /// Returns the indices of a chain's packets that may have this fingerprint, after so many
    /// remembered packets.
    fn chain(&self, fingerprint: u64, remembered: u16) -> impl Iterator<Item = usize> {
        let tag = Self::tag(fingerprint);
        let mut link = self.heads[Self::head(fingerprint)];
        let (mut age, mut steps) = (0, 0);
        std::iter::from_fn(move || {
            loop {
                let next = remembered.wrapping_sub(link.count);
                if next <= age || usize::from(next) > REMEMBERED || steps == STEPS {
                    return None;
                }
                (age, steps) = (next, steps + 1);
                let place = usize::from(link.count) % REMEMBERED;
                let is_like = link.tag == tag;
                link = self.older[place];
                if is_like {
                    return Some(place);
                }
            }
        })
    }

    fn add(&mut self, fingerprint: u64, count: u16) {
        let head = &mut self.heads[Self::head(fingerprint)];
        let link = Link { count, tag: Self::tag(fingerprint) };
        self.older[usize::from(count) % REMEMBERED] = std::mem::replace(head, link);
    }
}

/// The hop limit takes the lowest bits of a fingerprint, as copies may differ
/// in it.
const HOP_LIMIT_BITS: u32 = 8;

/// Returns a word that distinguishes packets: 56 bits of a hash over the header, and the hop limit.
/// Two different headers with the same hash, close together, occur once in about 10¹⁴ packets.
fn fingerprint(segment: &Segment, sequence: u32) -> u64 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let identification = identification(segment);
    let (value, echo) = segment.options.timestamps.unwrap_or_default();
    let stamped = u64::from(segment.options.timestamps.is_some());
    let first_sack = segment.options.sack.as_slice().first().map_or(0, |block| block.right);
    let small = u64::from(segment.window) << 16 | u64::from(identification);
    // The constants are digits of pi. The three products wait for none of each other.
    let numbers = folded(
        pair(sequence, segment.acknowledgment) ^ 0x243f_6a88_85a3_08d3,
        pair(value, echo) ^ 0x1319_8a2e_0370_7344,
    );
    let rest = folded(
        (u64::from(segment.payload) << 32 | small) ^ 0xa409_3822_299f_31d0,
        (pair(first_sack, 0) | u64::from(segment.flags.0) << 1 | stamped) ^ 0x082e_fa98_ec4e_6c89,
    );
    let hash = ends(segment) ^ numbers.rotate_left(17) ^ rest.rotate_left(41);
    hash << HOP_LIMIT_BITS | u64::from(segment.hop_limit)
}

/// Returns a hash of both endpoints.
fn ends(segment: &Segment) -> u64 {
    let (source, destination) = (&segment.source, &segment.destination);
    // By reference: an IPv4 address was written a moment ago as four bytes, and a load of more
    // would wait for that.
    let word = |host: &Host| match host {
        Host::V4(address) => u64::from(u32::from(*address)),
        Host::V6(address) => {
            let bits = u128::from(*address);
            folded((bits >> 64) as u64 ^ 0xa458_fea3_f493_3d7e, bits as u64)
        }
        Host::Named(name) => (*name).into(),
    };
    folded(
        word(&source.host) ^ u64::from(source.port) << 48 ^ 0x3f84_d5b5_b547_0917,
        word(&destination.host) ^ u64::from(destination.port) << 48 ^ 0x9216_d5d9_8979_fb1b,
    )
}

/// Returns both halves of the product, mixed.
fn folded(one: u64, two: u64) -> u64 {
    let product = u128::from(one) * u128::from(two);
    product as u64 ^ (product >> 64) as u64
}

fn same_header(one: u64, two: u64) -> bool {
    (one ^ two) >> HOP_LIMIT_BITS == 0
}

/// Returns the IP identification; zero if it says nothing.
fn identification(segment: &Segment) -> u16 {
    segment.identification.unwrap_or(0)
}

/// Returns whether no host sends this packet twice in one moment, though it has no identification.
fn tells_by_itself(segment: &Segment) -> bool {
    identification(segment) == 0 && (segment.payload > 0 || segment.flags.has(Flags::SYN))
}

/// Returns whether a packet with the same header is near enough to be the same one.
fn is_near(
    old: &SeenPacket,
    segment: &Segment,
    tells: bool,
    routed: bool,
    all_twice: bool,
) -> bool {
    let apart = segment.time.since(old.time);
    let stamped = segment.options.timestamps.is_some();
    let identification = identification(segment);
    // Repeated ACKs of one moment are duplicates of each other on purpose.
    let on_purpose = !tells && !routed;
    let most = match (identification, !routed) {
        _ if on_purpose => LOCAL_PATH.get(),
        (0, same) if stamped || !same => LONGER_THAN_PATHS.get(),
        (0, _) => LOCAL_PATH.get(),
        (_, true) if !stamped => HOST_DELAY.get(),
        _ => LONGER_THAN_PATHS.get(),
    };
    let has_copy = old.number & 1 == 1;
    (!on_purpose || all_twice && !has_copy) && apart <= most && -apart <= most
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use windlass_base::Span;
    use windlass_wire::{Endpoint, Options};

    use super::*;

    fn packet(number: u64, identification: u16) -> Segment {
        let end = |port| Endpoint { host: Host::V4(Ipv4Addr::LOCALHOST), port };
        Segment {
            number,
            time: Timestamp::ZERO + Span::from_micros(number.cast_signed()),
            source: end(1),
            destination: end(2),
            sequence: Some(identification.into()),
            acknowledgment: 1,
            flags: Flags::ACK,
            window: 1,
            payload: 10,
            options: Options::default(),
            identification: Some(identification),
            hop_limit: 64,
            checksum: windlass_wire::Checksum::Unknown,
            ecn: windlass_wire::EcnField::NotEct,
            accurate_ecn: false,
        }
    }

    #[test]
    fn a_copy_is_found_among_the_last_packets_however_many_came() {
        let mut copies = Copies::default();
        for number in 1..=300_000_u64 {
            let identification = (number % 50_000) as u16 + 1;
            assert_eq!(copies.first_copy(&packet(number, identification)), None, "{number}");
            for back in [1, 17, 127, 1_900] {
                if number > back && number.is_multiple_of(97) {
                    let old = ((number - back) % 50_000) as u16 + 1;
                    assert_eq!(copies.first_copy(&packet(number, old)), Some(number - back));
                }
            }
        }
    }

    #[test]
    fn a_bare_ack_is_a_copy_where_all_is_twice() {
        let packet = |number: u64, payload| Segment {
            number,
            time: Timestamp::ZERO + Span::from_micros(number.cast_signed()),
            payload,
            identification: None,
            sequence: Some(number as u32 / 2),
            ..packet(1, 1)
        };
        let mut plain = Copies::default();
        let mut twice = Copies::default();
        for number in (0..20).step_by(2) {
            assert_eq!(plain.first_copy(&packet(number, 10)), None);
            assert_eq!(twice.first_copy(&packet(number, 10)), None);
            assert_eq!(twice.first_copy(&packet(number + 1, 10)), Some(number));
        }
        for copies in [&mut plain, &mut twice] {
            assert_eq!(copies.first_copy(&packet(20, 0)), None);
        }
        assert_eq!(plain.first_copy(&packet(21, 0)), None);
        assert_eq!(twice.first_copy(&packet(21, 0)), Some(20));
        // The receiver repeats it, and that comes twice too.
        let again = Segment { number: 22, ..packet(20, 0) };
        assert_eq!(twice.first_copy(&again), None);
        assert_eq!(twice.first_copy(&Segment { number: 23, ..again }), Some(22));
    }

    #[test]
    fn any_other_header_is_no_copy() {
        let mut copies = Copies::default();
        assert_eq!(copies.first_copy(&packet(1, 7)), None);
        let changes: [fn(&mut Segment); 9] = [
            |segment| segment.source.port = 3,
            |segment| segment.destination.host = Host::V4(Ipv4Addr::BROADCAST),
            |segment| segment.sequence = Some(8),
            |segment| segment.acknowledgment = 2,
            |segment| segment.window = 2,
            |segment| segment.payload = 11,
            |segment| segment.flags = Flags::ACK.with(Flags::PSH),
            |segment| segment.identification = Some(8),
            |segment| segment.options.timestamps = Some((0, 0)),
        ];
        for change in changes {
            let mut segment = packet(2, 7);
            change(&mut segment);
            assert_eq!(copies.first_copy(&segment), None, "{segment:?}");
        }
        let forwarded = Segment { hop_limit: 63, ..packet(3, 7) };
        assert_eq!(copies.first_copy(&forwarded), Some(1));
    }
}
