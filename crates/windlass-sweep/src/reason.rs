//! Reasons of a recommendation, in words.

use windlass_base::figures::{
    Count, Difference, FineShare, ItemCount, Percent, Share, Size, fixed,
};
use windlass_base::{BitRate, Bytes, Sentence, Span, laws, sentence};

use crate::choose::best_assured;
use crate::{Choice, Direction, Findings, Point, Setting, StreamsAdvice, Sweep, WindowAdvice};

/// Ratio of the RTT under load to the idle one from which the queue is noticeable.
const SHORT_QUEUE: f64 = 1.25;

/// Half of an interval up to which a difference is known.
const SURE: f64 = 0.05;
/// Ratio of the capacities of two directions from which the path is asymmetric. The ACKs of one may
/// be too many for the other (RFC 3449 section 1.2 has paths of 10 and more).
const UNEVEN: f64 = 4.0;
/// Largest bandwidth-delay product that a window without scaling fills, in bytes (RFC 7323 section
/// 1.1).
const UNSCALED: u64 = 65_535;
/// Full segment on Ethernet with timestamps.
const SEGMENT: Bytes = Bytes::new(1_448);

fn size(point: &Point) -> Size {
    Size(point.setting.window.unwrap_or_default())
}

/// Returns the setting of a point in words: `4 streams with bbr`.
pub(crate) fn setting(point: &Point) -> Sentence {
    let set = point.setting;
    let mut said = match set.window {
        None if set.streams == 1 => "one autotuned stream".into(),
        None => sentence!("{set.streams} autotuned streams"),
        Some(_) if set.streams == 1 => sentence!("a window of {}", size(point)),
        Some(_) => sentence!("{set.streams} streams of {}", size(point)),
    };
    if let Some(congestion) = set.congestion {
        said.push(&sentence!(" with {}", congestion.name()));
    }
    said
}

fn queue(point: &Point, found: &Findings) -> Option<Span> {
    point.queueing_delay(found.base_rtt?)
}

/// Returns the rate with its interval: `94.1 Mbit/s ± 0.5 %`.
fn rate_within(point: &Point) -> Sentence {
    match point.half_width {
        Some(width) if width > 0.0 => sentence!("{} ± {}", rate(point), Percent(width, 1)),
        _ => sentence!("{}", rate(point)),
    }
}

/// Explains the recommendation.
pub(crate) fn choice(choice: &Choice, found: &Findings) -> Sentence {
    let mut said = if choice.is_nothing() {
        Sentence::from("The kernel by itself gets ")
    } else {
        let gets = if choice.point.setting.streams == 1 { "gets" } else { "get" };
        sentence!("{} {gets} ", capital(&setting(&choice.point)))
    };
    said.push(&brings(choice));
    said.push(" ");
    said.push(&costs(choice, found));
    said
}

/// Describes the rate of the recommended setting, with its interval.
pub(crate) fn brings(choice: &Choice) -> Sentence {
    let Choice { point, autotuned, best, noise, gain } = choice;
    let mut said = sentence!("{} = {}", point.rate, rate_within(point));
    said.push(&against(point, best, *noise));
    let (Some(gain), Some(own), false) = (gain, autotuned, choice.is_nothing()) else {
        return said;
    };
    said.push(" ");
    let by = match gain.half_width {
        Some(width) if width > 0.0 => {
            sentence!("{} ± {}", Difference(gain.share), Percent(width, 1))
        }
        _ => sentence!("{}", Difference(gain.share)),
    };
    let own = rate(own);
    let is_close = gain.half_width.is_none_or(|width| width <= SURE);
    said.push(&if gain.share.abs() <= *noise && is_close {
        sentence!("It is about as fast as the kernel by itself, {own} ({by}).")
    } else if gain.half_width.is_none_or(|width| gain.share.abs() > width) {
        sentence!("That is {by} compared with the kernel by itself, {own}.")
    } else {
        sentence!("The kernel by itself got {own} ({by}): the difference is not certain.")
    });
    said
}

/// Describes the cost of the recommended setting: delay, small messages and processor time.
pub(crate) fn costs(choice: &Choice, found: &Findings) -> Sentence {
    let Choice { point, autotuned, .. } = choice;
    let mut all = Vec::new();
    if let Some(delay) = queue(point, found) {
        let other = autotuned.as_ref().filter(|own| own.setting != point.setting);
        all.push(match other.and_then(|own| queue(own, found)) {
            Some(own) => sentence!(
                "Packets wait {delay} in queues; with the kernel by itself they wait {own}."
            ),
            None => sentence!("Packets wait {delay} in queues."),
        });
    }
    if let Some(small) = point.small_rtt {
        let worst = point.small_rtt_p99.map(|worst| sentence!(", at the 99th percentile {worst}"));
        let worst = worst.unwrap_or_default();
        all.push(sentence!("The RTT of small messages is {small}{worst}."));
    }
    if let (Some(here), Some(own)) =
        (point.cpu_per_gigabyte, autotuned.and_then(|own| own.cpu_per_gigabyte))
        && !choice.is_nothing()
    {
        all.push(sentence!(
            "It takes {} s of CPU time for each GB; the kernel by itself takes {} s.",
            fixed(here.as_seconds(), 2),
            fixed(own.as_seconds(), 2)
        ));
    }
    let mut said = Sentence::new();
    for (place, one) in all.iter().enumerate() {
        said.push(if place > 0 { " " } else { "" });
        said.push(one);
    }
    if said.is_empty() { "The delay was not measured.".into() } else { said }
}

/// Names the requested congestion controls that were not granted; nothing if all were.
pub(crate) fn not_granted(sweep: &Sweep, way: Direction) -> Option<Sentence> {
    let mut all: Vec<Sentence> = sweep
        .refused(way)
        .iter()
        .map(|name| sentence!("{}: the sender does not offer it", name.name()))
        .collect();
    for point in sweep.points() {
        let Setting { direction, congestion, .. } = point.setting;
        let Some((asked, had)) = congestion.zip(point.congestion) else { continue };
        if direction != way || asked == had {
            continue;
        }
        let said = sentence!("{}: the sender used {} in its place", asked.name(), had.name());
        if !all.contains(&said) {
            all.push(said);
        }
    }
    if all.is_empty() {
        return None;
    }
    let mut said = list(&all);
    said.push(
        ". Sender: see net.ipv4.tcp_available_congestion_control for those that Linux offers; add \
         others with modprobe.",
    );
    Some(said)
}

/// Compares a point with the best.
fn against(point: &Point, best: &Point, noise: f64) -> Sentence {
    if point.setting == best.setting {
        return ", the best of all.".into();
    }
    sentence!(
        ", within {} of the best of all, {} with {}.",
        Percent(noise, 1),
        rate_within(best),
        setting(best)
    )
}

/// Returns a sentence that begins with a capital letter.
fn capital(said: &Sentence) -> Sentence {
    let text = said.to_string();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if first.is_lowercase() => {
            let upper: String = first.to_uppercase().chain(letters).collect();
            upper.as_str().into()
        }
        _ => said.clone(),
    }
}

/// Describes the path.
pub(crate) fn path(found: &Findings, sweep: &Sweep) -> Vec<Sentence> {
    let mut notes = Vec::new();
    let path = found.path;
    if let Some(queue) = path.queue {
        let holds = if queue.is_full { "holds" } else { "held" };
        let most = if queue.is_full { ", and drops further packets" } else { " at its longest" };
        notes.push(sentence!(
            "The queue {holds} {queue.time} of data, {queue.bytes} at this capacity{most}."
        ));
    }
    if path.is_bloated {
        notes.push(
            "That is bufferbloat: all other traffic on the path waits as long. A smaller window, \
             bbr, or an AQM in the router (RFC 8289, RFC 8290) keeps the queue short."
                .into(),
        );
    }
    if let Some(loss) = path.loss {
        let mut said = sentence!(
            "The path loses {} of the data at random: no window prevents that.",
            FineShare(loss)
        );
        let law = found.base_rtt.and_then(|rtt| laws::mathis_rate(SEGMENT, rtt, loss));
        if let Some(law) = law.filter(|law| *law < found.capacity) {
            said.push(&sentence!(
                " One stream with Reno gets MSS / T · √(3/2p), {}; n streams get n times as much. \
                 bbr does not react to random loss.",
                law.in_bits()
            ));
        }
        notes.push(said);
    }
    if path.is_policed {
        notes.push(sentence!(
            "The path is policed to {}: after a burst, excess packets are dropped almost without a \
             queue. A paced sender (bbr) loses least. The operator of the policer can shape \
             instead.",
            found.capacity.in_bits()
        ));
    } else if path.drops_early {
        notes.push(
            "Excess packets are dropped almost without a queue, as short buffers and policers do: \
             a paced sender (bbr) loses least."
                .into(),
        );
    }
    if let Some(width) = path.varies {
        notes.push(sentence!(
            "The path's rate changes with time: no measurement is more certain than ± {}. Longer \
             measurements (--time and --within) would be.",
            Percent(width, 1)
        ));
    }
    if found.product.is_some_and(|product| product.get() > UNSCALED) {
        notes.push(
            "The path holds more than 64 KiB: without window scaling (RFC 7323) one stream cannot \
             fill it."
                .into(),
        );
    }
    let other = match found.direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
    };
    if sweep.plan().directions.contains(&other) {
        let ratio =
            found.capacity.bytes_per_second() / sweep.findings(other).capacity.bytes_per_second();
        if ratio.is_finite() && ratio >= UNEVEN {
            notes.push(sentence!(
                "This direction carries {} times as much as the opposite one, which carries its \
                 ACKs (RFC 3449).",
                fixed(ratio, 1)
            ));
        }
    }
    notes
}

/// Returns the result in one line, for a ticket.
pub(crate) fn summary(name: &str, found: &Findings) -> Sentence {
    let Some(choice) = &found.choice else {
        return sentence!("{name}, {}: nothing got through.", found.direction.id());
    };
    let mut said = sentence!("{name}, {}: {}", found.direction.id(), found.capacity.in_bits());
    if let Some(base) = found.base_rtt {
        said.push(&sentence!(" over {base}"));
    }
    if let Some(loss) = found.path.loss {
        said.push(&sentence!(", {} lost", FineShare(loss)));
    }
    if let Some(queue) = found.path.queue {
        said.push(&sentence!(", queue of {queue.time}"));
    }
    if found.path.is_policed {
        said.push(", policed");
    } else if found.path.drops_early {
        said.push(", drops almost without a queue");
    }
    said.push(&if choice.is_nothing() {
        sentence!("; set nothing: {}", rate_within(&choice.point))
    } else {
        sentence!("; set {}: {}", setting(&choice.point), rate_within(&choice.point))
    });
    if let (Some(own), false) = (choice.autotuned, choice.is_nothing()) {
        said.push(&sentence!(", by itself {}", rate(&own)));
    }
    said.push(".");
    said
}

fn rate(point: &Point) -> BitRate {
    point.rate.in_bits()
}

/// Joins items to a list: `a`, `a and b`, `a, b and c`.
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

/// Explains the window, or why there is none.
pub(crate) fn window(found: &Findings, sweep: &Sweep) -> Option<Sentence> {
    let Some(advice) = &found.window else { return no_window(found, sweep) };
    let WindowAdvice { point, best, noise, below, above } = advice;
    let mut said = match (below, above.is_empty()) {
        (None, true) => "It is the only window that was measured.".into(),
        (Some(below), true) => {
            sentence!("It is the largest that was measured; {} gives {}.", size(below), rate(below))
        }
        (below, false) => {
            let mut said = if point.setting == best.setting {
                sentence!("It is the smallest with the best rate, {}", rate(point))
            } else {
                sentence!(
                    "It is the smallest with the best rate of one stream, {}, within {} of {} with \
                     {}",
                    rate(point),
                    Percent(*noise, 1),
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
        said.push(&sentence!(" {how} RTT is {mean} under load and {base} idle."));
    }
    if let Some(offered) = point.offered.filter(|_| point.is_clamped()) {
        said.push(&sentence!(" The receiver offered only {offered} of it."));
    }
    if !above.is_empty() {
        said.push(" ");
        said.push(&larger(point, above));
    }
    Some(said)
}

/// Explains why no window is recommended.
fn no_window(found: &Findings, sweep: &Sweep) -> Option<Sentence> {
    let alone = sweep.alone(found.direction);
    let most = best_assured(&alone)?;
    let sized: Vec<Point> =
        alone.iter().filter(|point| point.setting.window.is_some()).copied().collect();
    let best = best_assured(&sized)?;
    // The window with the best rate is among those compared with the best of one stream.
    let mut said = sentence!(
        "None: with one stream, {} is certainly faster, {}. The best window is {}, with {}.",
        setting(most),
        rate_within(most),
        size(best),
        rate_within(best)
    );
    if let Some(offered) = best.offered.filter(|_| best.is_clamped()) {
        said.push(&sentence!(
            " The receiver offered only {offered} of it. Receiver: check net.core.rmem_max."
        ));
    }
    Some(said)
}

/// Describes the effect of larger windows.
fn larger(point: &Point, above: &[Point]) -> Sentence {
    let names: Vec<Sentence> = above.iter().map(|point| sentence!("{}", size(point))).collect();
    let one = names.len() == 1;
    let what = if one { "gives no more" } else { "give no more" };
    let names = match &names[..] {
        [first, .., last] if names.len() > 3 => sentence!("{first} to {last}"),
        _ => list(&names),
    };
    // The window with the largest effect.
    let Some(worst) = above.iter().max_by_key(|point| (point.mean_rtt, point.retransmissions))
    else {
        return Sentence::new();
    };
    let again = above.iter().max_by_key(|point| point.retransmissions).unwrap_or(worst);
    let mut rises = Vec::new();
    if let (Some(here), Some(there)) = (point.mean_rtt, worst.mean_rtt)
        && there > here
    {
        rises.push(sentence!("the RTT rises to {there} with {}", size(worst)));
    }
    if again.retransmissions > point.retransmissions {
        rises.push(sentence!(
            "retransmissions rise from {} to {} with {}",
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

/// Explains the window for low delay.
pub(crate) fn low_delay(found: &Findings) -> Option<Sentence> {
    let point = found.low_delay.as_ref()?;
    let delay = point.delivery_delay(found.base_rtt?)?;
    let mut said = sentence!(
        "A packet waits {delay} beyond the path's own latency, about the minimum, at {}.",
        rate(point)
    );
    match &found.window {
        Some(advice) if advice.point.setting == point.setting => {
            said.push(" It is also the smallest window with the best rate.");
        }
        Some(advice) => {
            if let Some(other) = advice.point.delivery_delay(found.base_rtt?) {
                said.push(&sentence!(
                    " With the smallest window of the best rate it waits {other}."
                ));
            }
        }
        None => {}
    }
    Some(said)
}

/// Explains the number of streams, and their cost.
pub(crate) fn streams(advice: &StreamsAdvice, found: &Findings, sweep: &Sweep) -> Sentence {
    let StreamsAdvice { point, best, noise, is_within, memory } = advice;
    let (count, alone) = (point.setting.streams, point.setting.streams == 1);
    let reach = if alone { "reaches" } else { "reach" };
    let mut said = sentence!(
        "{} of {} {reach} {}",
        ItemCount(count.into(), "stream"),
        size(point),
        rate(point)
    );
    if point != best {
        said.push(&sentence!(
            ", within {} of the best, {} with {best.setting.streams}",
            Share(*noise),
            rate(best)
        ));
    }
    said.push(".");
    if !is_within {
        said.push(" No larger number was measured: sweep more streams.");
    }
    let points = sweep.points();
    let one = points.iter().find(|other| other.setting == Setting { streams: 1, ..point.setting });
    if let (Some(one), Some(base), false) = (one, found.base_rtt, alone) {
        let window = point.setting.window.unwrap_or_default();
        let law = laws::window_rate(window, base).in_bits();
        said.push(&sentence!(" One stream gets {}; one window per RTT is {law}.", rate(one)));
        if let Some(wanted) = laws::streams_for(found.capacity, window, base) {
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
    let one = found.window.as_ref().and_then(|window| window.point.cpu_per_gigabyte);
    if let Some((here, one)) = point.cpu_per_gigabyte.zip(one) {
        let who = if alone { "It takes" } else { "They take" };
        said.push(&sentence!(
            " {who} {} s of CPU time for each GB; one stream with the smallest window of the best \
             rate takes {} s.",
            fixed(here.as_seconds(), 2),
            fixed(one.as_seconds(), 2)
        ));
    }
    said
}

/// Returns the rate that is enough for the streams.
fn enough(advice: &StreamsAdvice) -> f64 {
    advice.best.rate.bytes_per_second() * (1.0 - advice.noise)
}
