//! Conversion of the arguments to the settings of each direction.

use windlass_base::{Bytes, Span, laws};
use windlass_netlab::link::{Fading, HalfDuplex, LinkSettings, Policer};

use super::args::LinkArgs;

/// Minimum packets of a queue: an initial window of 10 segments comes as one burst (RFC 6928).
const MIN_QUEUE_PACKETS: u64 = 10;

/// Returns the settings of both directions: up, then down.
pub(super) fn ways(args: &LinkArgs) -> [LinkSettings; 2] {
    let LinkArgs { up, down, .. } = args;
    let rtt = args.rtt.unwrap_or(Span::ZERO);
    // The halves of an odd number of nanoseconds still add up to the RTT.
    let delays = [up.delay.unwrap_or(rtt / 2), down.delay.unwrap_or(rtt - rtt / 2)];
    let rates = [up.rate, down.rate].map(|own| own.or(args.rate));
    let queues = [up.queue, down.queue].map(|own| own.or(args.queue));
    let losses = [up.loss, down.loss].map(|own| own.or(args.loss).unwrap_or(0.0));
    let jitters = [up.jitter, down.jitter].map(|own| own.or(args.jitter).unwrap_or(Span::ZERO));
    let reorders = [up.reorder, down.reorder].map(|own| own.or(args.reorder).unwrap_or(0.0));
    [0, 1].map(|way| {
        let rate = rates[way];
        let queue = queues[way].or_else(|| {
            let product = laws::bandwidth_delay_product(rate?, delays[0] + delays[1]);
            Some(product.max(Bytes::new(MIN_QUEUE_PACKETS * u64::from(args.mtu))))
        });
        LinkSettings {
            rate,
            delay: delays[way],
            // Without a rate nothing waits.
            queue: rate.and(queue),
            loss: losses[way],
            jitter: jitters[way],
            reorder: reorders[way],
            reorder_by: if reorders[way] > 0.0 { args.reorder_by } else { Span::ZERO },
            mark: args.mark.filter(|_| rate.is_some()),
            policer: args.policer.map(|rate| Policer { rate, burst: args.burst }),
            half_duplex: args.half_duplex.map(|access| HalfDuplex { access }),
            // A way that is slower than that has its own rate all the time.
            fading: args
                .fade_to
                .zip(rate)
                .filter(|(least, rate)| least < rate)
                .map(|(least, _)| Fading { least, every: args.fade_every }),
            ..LinkSettings::PERFECT
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use windlass_base::Rate;

    use super::*;
    use crate::cli::{Cli, Command, DriveCommands};

    fn asked(line: &str) -> [LinkSettings; 2] {
        let words = ["windlass", "link"].into_iter().chain(line.split_whitespace());
        match Cli::parse_from(words).command {
            Command::Driving(DriveCommands::Link(args)) => ways(&args),
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn both_ways_are_alike_unless_they_are_told_apart() {
        let [up, down] = asked("--rate 100mbit --rtt 2.45ms --loss 0.1%");
        assert_eq!(up, down);
        assert_eq!(up.delay, Span::from_micros(1_225));
        assert_eq!(up.queue, Some(Bytes::new(30_625)), "one bandwidth-delay product");
        let [up, down] = asked("--rate 1gbit --up-rate 1mbit --rtt 1ms --down-delay 9.5ms");
        assert_eq!(up.rate, Some(Rate::from_bits_per_second(1e6)));
        assert_eq!((up.delay, down.delay), (Span::from_micros(500), Span::from_micros(9_500)));
        assert_eq!(up.queue, Some(Bytes::new(15_000)), "ten packets at least");
        assert_eq!(down.queue, Some(Bytes::new(1_250_000)), "of the whole round trip");
    }

    #[test]
    fn what_is_not_asked_for_is_not_done() {
        assert_eq!(asked(""), [LinkSettings::PERFECT; 2]);
        assert_eq!(asked("--queue 64k"), [LinkSettings::PERFECT; 2], "without a rate");
        let [up, down] = asked("--rate 1mbit --down-rate 9mbit --fade-to 2mbit --policer 5mbit");
        assert_eq!((up.fading, up.policer), (None, down.policer), "it is slower than that");
        assert_eq!(down.fading.map(|fading| fading.every), Some(Span::from_millis(200)));
        assert_eq!(up.policer.map(|policer| policer.burst), Some(Bytes::new(65_536)));
        let [up, down] = asked("--up-reorder 1% --rtt 3ns");
        assert_eq!((up.reorder, up.reorder_by), (0.01, Span::from_millis(1)));
        assert_eq!((down.reorder, down.reorder_by), (0.0, Span::ZERO));
        assert_eq!(up.delay + down.delay, Span::from_nanos(3));
    }
}
