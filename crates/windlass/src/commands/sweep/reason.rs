//! Why a window or a number of streams is recommended, in words.

use windlass_base::figures::{Count, Counted, Share, Size, fixed};
use windlass_base::{BitRate, Sentence, laws, sentence};
use windlass_drive::sweep::{Findings, Point, StreamsAdvice, Sweep, WindowAdvice};

/// Round trips under load that are this much above the idle one: the queue shows.
const SHORT_QUEUE: f64 = 1.25;

fn size(point: &Point) -> Size {
    Size(point.setting.window)
}

fn rate(point: &Point) -> BitRate {
    point.rate.in_bits()
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: &[Sentence]) -> Sentence {
    let mut list = Sentence::new();
    for (place, item) in items.iter().enumerate() {
        match items.len() - place {
            _ if place == 0 => {}
            1 => list.push(" and "),
            _ => list.push(", "),
        }
        list.push(item);
    }
    list
}

fn retransmissions(count: u64) -> Sentence {
    match count {
        0 => "none".into(),
        count => sentence!("{}", Count(count)),
    }
}

/// Why this window.
pub(super) fn window(advice: &WindowAdvice, found: &Findings) -> Sentence {
    let WindowAdvice { point, weighed, best, noise, below, above } = advice;
    let mut said = match (below, above.is_empty()) {
        (None, true) => "It is the only window that was measured.".into(),
        (Some(below), true) => sentence!(
            "It is the largest that was measured, and the rate still grew up to it, from {} with \
             {} to {}: sweep larger ones.",
            rate(below),
            size(below),
            rate(point)
        ),
        (below, false) => {
            let mut said = if *weighed {
                sentence!(
                    "It is the smallest with about the most rate for its delay, {}. The best rate, \
                     {} with {}, comes with a queue",
                    rate(point),
                    rate(best),
                    size(best)
                )
            } else if point == best {
                sentence!("It is the smallest with the best rate, {}", rate(point))
            } else {
                sentence!(
                    "It is the smallest whose rate, {}, lies within {} of the best, {} with {}",
                    rate(point),
                    Share(*noise),
                    rate(best),
                    size(best)
                )
            };
            said.push(&match below {
                Some(below) => sentence!("; {} gives {}.", size(below), rate(below)),
                None => ", and the smallest that was measured.".into(),
            });
            said
        }
    };
    if let Some((mean, base)) = point.mean_rtt.zip(found.base_rtt) {
        let short = mean.as_seconds() <= base.as_seconds() * SHORT_QUEUE;
        let how = if short { "Queues stay short: the" } else { "The" };
        said.push(&sentence!(" {how} round trip is {mean} under load and {base} idle."));
    }
    if !above.is_empty() {
        said.push(" ");
        said.push(&larger(point, above, *weighed));
    }
    said
}

/// What larger windows bring.
fn larger(point: &Point, above: &[Point], weighed: bool) -> Sentence {
    let names: Vec<Sentence> = above.iter().map(|point| sentence!("{}", size(point))).collect();
    let one = names.len() == 1;
    let what = match (weighed, one) {
        (true, true) => "gives more rate",
        (true, false) => "give more rate",
        (false, true) => "gives no more",
        (false, false) => "give no more",
    };
    let names = match &names[..] {
        [first, .., last] if names.len() > 3 => sentence!("{first} to {last}"),
        _ => list(&names),
    };
    // What shows most of it.
    let Some(worst) = above.iter().max_by_key(|point| (point.mean_rtt, point.retransmissions))
    else {
        return Sentence::new();
    };
    let again = above.iter().max_by_key(|point| point.retransmissions).unwrap_or(worst);
    let mut rises = Vec::new();
    if let (Some(here), Some(there)) = (point.mean_rtt, worst.mean_rtt)
        && there > here
    {
        rises.push(sentence!("the round trip rises to {there} with {}", size(worst)));
    }
    if again.retransmissions > point.retransmissions {
        rises.push(sentence!(
            "segments sent again rise from {} to {} with {}",
            retransmissions(point.retransmissions),
            retransmissions(again.retransmissions),
            size(again)
        ));
    }
    if rises.is_empty() {
        sentence!("{names} {what}.")
    } else {
        sentence!("{names} {what}, but {}.", list(&rises))
    }
}

/// Why this window for low delay.
pub(super) fn low_delay(found: &Findings) -> Option<Sentence> {
    let point = found.low_delay.as_ref()?;
    let delay = point.delivery_delay(found.base_rtt?)?;
    let mut said = sentence!(
        "A packet waits {delay} beyond the path's own latency, about the least of all, at {}.",
        rate(point)
    );
    match &found.window {
        Some(advice) if advice.point.setting == point.setting => {
            said.push(" It is the recommended window: that costs no delay.");
        }
        Some(advice) => {
            if let Some(other) = advice.point.delivery_delay(found.base_rtt?) {
                said.push(&sentence!(" With the recommended window it waits {other}."));
            }
        }
        None => {}
    }
    Some(said)
}

/// Why so many streams, and what they cost.
pub(super) fn streams(advice: &StreamsAdvice, found: &Findings, sweep: &Sweep) -> Sentence {
    let StreamsAdvice { point, best, noise, is_within, memory } = advice;
    let (count, alone) = (point.setting.streams, point.setting.streams == 1);
    let reach = if alone { "reaches" } else { "reach" };
    let mut said =
        sentence!("{} of {} {reach} {}", Counted(count.into(), "stream"), size(point), rate(point));
    if point != best {
        said.push(&sentence!(
            ", within {} of the best, {} with {}",
            Share(*noise),
            rate(best),
            best.setting.streams
        ));
    }
    said.push(".");
    if !is_within {
        said.push(" It is the most that was measured: sweep more.");
    }
    let points = sweep.points();
    let one = points.iter().find(|other| {
        let same = (other.setting.direction, other.setting.window);
        other.setting.streams == 1 && same == (point.setting.direction, point.setting.window)
    });
    if let (Some(one), Some(base), false) = (one, found.base_rtt, alone) {
        let law = laws::window_rate(point.setting.window, base).in_bits();
        said.push(&sentence!(" One gets {}; a window per round trip is {law}.", rate(one)));
        if let Some(wanted) = laws::streams_for(found.capacity, point.setting.window, base) {
            said.push(&sentence!(" By the law min(C, n · W / T) it takes {wanted}."));
        }
    }
    if !alone {
        said.push(&sentence!(" They take {} of window memory at each end", Size(*memory)));
        said.push(&match &found.window {
            Some(window) if window.point.rate.bytes_per_second() >= enough(advice) => {
                sentence!("; one stream with {} does as much.", size(&window.point))
            }
            _ => ".".into(),
        });
    }
    if let (Some(here), Some(one)) = (cpu(point), found.window.as_ref().and_then(|w| cpu(&w.point)))
    {
        let who = if alone { "It takes" } else { "They take" };
        said.push(&sentence!(
            " {who} {} s of processor time for each GB, one stream with the recommended window \
             {} s.",
            fixed(here, 2),
            fixed(one, 2)
        ));
    }
    said
}

/// The rate that counts as that of the streams.
fn enough(advice: &StreamsAdvice) -> f64 {
    advice.best.rate.bytes_per_second() * (1.0 - advice.noise)
}

/// The processor time of both ends for 10⁹ bytes.
pub(super) fn cpu(point: &Point) -> Option<f64> {
    let per_byte = point.cpu?.as_seconds() / point.bytes.get() as f64;
    per_byte.is_finite().then_some(per_byte * 1e9)
}
