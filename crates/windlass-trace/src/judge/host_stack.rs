//! The TCP stacks of both hosts, by the headers of their packets: which systems' settings a remedy
//! names first.

use windlass_base::tuning::{Host, Stack};
use windlass_base::verdict::{Remedy, Side};

use super::facts::Facts;
use crate::follow::flow::INITIAL_WINDOW;
use crate::follow::handshake::Offer;
use crate::follow::windows::UNSCALED;

/// The hop limits with which systems send: RFC 1700's, which Unix has; that of Windows; and the
/// most, which lwIP has (`IP_DEFAULT_TTL`).
const UNIX_HOPS: u8 = 64;
const WINDOWS_HOPS: u8 = 128;

/// The largest window scale in SYNs of Apple's systems, whose first window is the largest without
/// scaling (XNU `tcp_input.c`: buffers of up to 4 MiB).
const APPLE_SCALE: u8 = 6;

/// The MSS of a SYN without that option (RFC 9293 section 3.7.1), and that of Ethernet: a larger
/// one is that of a virtual machine's network.
const DEFAULT_MSS: u16 = 536;
const ETHERNET_MSS: u16 = 1_460;

/// Tells each remedy which host has to change.
pub(crate) fn name_hosts(facts: &Facts, remedies: &mut [Remedy]) {
    let sender = facts.opening.direction;
    let host = |direction: usize, hop_limit| {
        let ports = facts.opening.ports;
        let [port, peer_port] = if direction == sender { ports } else { [ports[1], ports[0]] };
        let handshake = &facts.opening.handshake;
        let [offer, peer] = [direction, 1 - direction].map(|side| handshake.offers[side]);
        let may_have_sack =
            handshake.opener == Some(direction) || peer.is_some_and(|peer| peer.sack_permitted);
        let declines_sack = may_have_sack && offer.is_some_and(|offer| !offer.sack_permitted);
        Host { stack: stack(offer.as_ref(), declines_sack, hop_limit), port, peer_port }
    };
    for remedy in remedies {
        remedy.how.host = match remedy.side {
            Side::Sender => host(sender, facts.capture.hop_limit),
            Side::Receiver => host(1 - sender, facts.capture.receiver_hop_limit),
            Side::Path => Host::default(),
        };
    }
}

/// Returns the stack that sent this SYN, to or after the peer's, and packets that came with this
/// hop limit, zero where it is not known.
fn stack(offer: Option<&Offer>, declines_sack: bool, hop_limit: u8) -> Stack {
    let Some(offer) = offer.filter(|offer| !offer.options_cut) else {
        let is_windows = (UNIX_HOPS + 1..=WINDOWS_HOPS).contains(&hop_limit);
        return if is_windows { Stack::Windows } else { Stack::Unknown };
    };
    let window = offer.first_window_bytes.get();
    match (hop_limit, is_small(offer, declines_sack)) {
        // This stack offers a window scale, though its window needs none.
        (_, true) if offer.window_scale.is_some() => Stack::Smoltcp,
        (..=UNIX_HOPS, true) => Stack::Small,
        (..=WINDOWS_HOPS, true) => Stack::FreeRtos,
        (_, true) => Stack::Lwip,
        (0, false) => Stack::Unknown,
        (..=UNIX_HOPS, false) => match offer.window_scale {
            Some(scale) if window == UNSCALED && scale <= APPLE_SCALE => Stack::Apple,
            Some(_) => Stack::Linux,
            None => Stack::Unknown,
        },
        (..=WINDOWS_HOPS, false) => Stack::Windows,
        (_, false) => Stack::Unknown,
    }
}

/// Returns whether a SYN is that of a small stack: no scaling, no timestamps, and either no SACK
/// where it could have it, or a window below the ten segments that Linux offers at least.
fn is_small(offer: &Offer, declines_sack: bool) -> bool {
    let mss = offer.mss.unwrap_or(DEFAULT_MSS);
    let is_plain = offer.window_scale.unwrap_or(0) == 0 && !offer.timestamps;
    let is_narrow = offer.first_window_bytes.get() < INITIAL_WINDOW * u64::from(mss);
    is_plain && mss <= ETHERNET_MSS && (is_narrow || declines_sack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::OrdinaryTransfer;
    use crate::judge::remedy::advice;
    use windlass_base::Bytes;

    /// An offer with this scale and first window, and an MSS of 1,460 bytes.
    fn offer(window_scale: Option<u8>, window: u64) -> Offer {
        let offer = OrdinaryTransfer::new().facts.opening.handshake.offers[0].unwrap();
        let first_window_bytes = Bytes::new(window);
        Offer { window_scale, first_window_bytes, timestamps: false, ..offer }
    }

    #[test]
    fn headers_tell_the_stack() {
        let of = |scale, window, hops| stack(Some(&offer(scale, window)), false, hops);
        assert_eq!(of(Some(7), 64_240, 64), Stack::Linux);
        assert_eq!(of(Some(7), 64_240, 51), Stack::Linux);
        assert_eq!(of(Some(6), 65_535, 64), Stack::Apple);
        assert_eq!(of(Some(7), 65_535, 64), Stack::Linux);
        assert_eq!(of(Some(8), 64_240, 128), Stack::Windows);
        assert_eq!(of(Some(8), 64_240, 116), Stack::Windows);
        assert_eq!(of(Some(7), 64_240, 0), Stack::Unknown);
        assert_eq!(of(Some(7), 64_240, 255), Stack::Unknown);
        assert_eq!(of(None, 64_240, 64), Stack::Unknown);
        assert_eq!(of(None, 5_840, 64), Stack::Small);
        assert_eq!(of(None, 5_840, 0), Stack::Small);
        assert_eq!(of(None, 5_840, 128), Stack::FreeRtos);
        assert_eq!(of(None, 5_840, 255), Stack::Lwip);
        assert_eq!(of(Some(0), 5_840, 64), Stack::Smoltcp);
    }

    #[test]
    fn a_small_stack_offers_few_segments_or_few_options() {
        let most = INITIAL_WINDOW * 1_460;
        assert!(is_small(&offer(None, most - 1), false) && !is_small(&offer(None, most), false));
        assert!(is_small(&offer(None, most), true));
        assert!(!is_small(&offer(Some(1), 5_840), true));
        assert!(!is_small(&Offer { timestamps: true, ..offer(None, 5_840) }, true));
        let with_mss = |mss, window| Offer { mss, ..offer(None, window) };
        assert!(
            is_small(&with_mss(None, 5_359), false) && !is_small(&with_mss(None, 5_360), false)
        );
        assert!(is_small(&with_mss(Some(1_460), 5_840), false));
        assert!(!is_small(&with_mss(Some(1_461), 5_840), true));
    }

    #[test]
    fn without_options_the_hop_limit_tells_windows_alone() {
        use Stack::{Unknown, Windows};
        let cut = Offer { options_cut: true, ..offer(None, 5_840) };
        for offer in [None, Some(&cut)] {
            let told = [0, 64, 65, 128, 129].map(|hops| stack(offer, true, hops));
            assert_eq!(told, [Unknown, Unknown, Windows, Windows, Unknown]);
        }
    }

    #[test]
    fn each_side_has_its_own_host() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.opening.handshake.offers[1] = Some(offer(None, 2_920));
        transfer.facts.capture.receiver_hop_limit = 255;
        let mut remedies =
            [Side::Sender, Side::Receiver, Side::Path].map(|side| advice(side, "do"));
        name_hosts(&transfer.facts, &mut remedies);
        let hosts = remedies.map(|remedy| remedy.how.host);
        assert_eq!(hosts.map(|host| host.stack), [Stack::Linux, Stack::Lwip, Stack::Unknown]);
        assert_eq!((hosts[0].port, hosts[0].peer_port), (40_000, 9_100));
        assert_eq!((hosts[1].port, hosts[1].peer_port), (9_100, 40_000));
    }
}
