//! Why a window or a number of streams is recommended, in words.

use windlass_base::figures::fixed;
use windlass_base::laws;
use windlass_drive::sweep::{Findings, Point, StreamsAdvice, Sweep, WindowAdvice};

use crate::print::{Text, figures};

/// Round trips under load that are this much above the idle one: the queue shows.
const SHORT_QUEUE: f64 = 1.25;

/// A text as one string, with its spaces that do not break.
fn plain(text: &Text) -> String {
    text.plain()
}

fn size(point: &Point) -> String {
    plain(&figures::size(point.setting.window))
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn retransmissions(count: u64) -> String {
    match count {
        0 => "none".to_owned(),
        count => figures::count(count),
    }
}

/// Why this window.
pub(super) fn window(advice: &WindowAdvice, found: &Findings) -> String {
    let WindowAdvice { point, weighed, best, noise, below, above } = advice;
    let rate = |point: &Point| point.rate.in_bits();
    let mut said = match (below, above.is_empty()) {
        (None, true) => "It is the only window that was measured.".to_owned(),
        (Some(below), true) => format!(
            "It is the largest that was measured, and the rate still grew up to it, from {} with \
             {} to {}: sweep larger ones.",
            rate(below),
            size(below),
            rate(point)
        ),
        (below, false) => {
            let noise = plain(&figures::percent(*noise));
            let same = if *weighed {
                format!(
                    "It is the smallest with about the most rate for its delay, {}. The best rate, \
                     {} with {}, comes with a queue",
                    rate(point),
                    rate(best),
                    size(best)
                )
            } else if point == best {
                format!("It is the smallest with the best rate, {}", rate(point))
            } else {
                format!(
                    "It is the smallest whose rate, {}, lies within {noise} of the best, {} with {}",
                    rate(point),
                    rate(best),
                    size(best)
                )
            };
            match below {
                Some(below) => format!("{same}; {} gives {}.", size(below), rate(below)),
                None => format!("{same}, and the smallest that was measured."),
            }
        }
    };
    if let Some((mean, base)) = point.mean_rtt.zip(found.base_rtt) {
        let short = mean.as_seconds() <= base.as_seconds() * SHORT_QUEUE;
        let how = if short { "Queues stay short: the" } else { "The" };
        said.push_str(&format!(" {how} round trip is {mean} under load and {base} idle."));
    }
    if !above.is_empty() {
        said.push(' ');
        said.push_str(&larger(point, above, *weighed));
    }
    said
}

/// What larger windows bring.
fn larger(point: &Point, above: &[Point], weighed: bool) -> String {
    let names: Vec<String> = above.iter().map(size).collect();
    let one = names.len() == 1;
    let what = match (weighed, one) {
        (true, true) => "gives more rate",
        (true, false) => "give more rate",
        (false, true) => "gives no more",
        (false, false) => "give no more",
    };
    let names = match &names[..] {
        [first, .., last] if names.len() > 3 => format!("{first} to {last}"),
        _ => list(&names),
    };
    // What shows most of it.
    let Some(worst) = above.iter().max_by_key(|point| (point.mean_rtt, point.retransmissions))
    else {
        return String::new();
    };
    let again = above.iter().max_by_key(|point| point.retransmissions).unwrap_or(worst);
    let mut rises = Vec::new();
    if let (Some(here), Some(there)) = (point.mean_rtt, worst.mean_rtt)
        && there > here
    {
        rises.push(format!("the round trip rises to {there} with {}", size(worst)));
    }
    if again.retransmissions > point.retransmissions {
        rises.push(format!(
            "segments sent again rise from {} to {} with {}",
            retransmissions(point.retransmissions),
            retransmissions(again.retransmissions),
            size(again)
        ));
    }
    if rises.is_empty() {
        format!("{names} {what}.")
    } else {
        format!("{names} {what}, but {}.", list(&rises))
    }
}

/// Why this window for low delay.
pub(super) fn low_delay(found: &Findings) -> Option<String> {
    let point = found.low_delay.as_ref()?;
    let delay = point.delivery_delay(found.base_rtt?)?;
    let mut said = format!(
        "A packet waits {delay} beyond the path's own latency, about the least of all, at {}.",
        point.rate.in_bits()
    );
    match &found.window {
        Some(advice) if advice.point.setting == point.setting => {
            said.push_str(" It is the recommended window: that costs no delay.");
        }
        Some(advice) => {
            if let Some(other) = advice.point.delivery_delay(found.base_rtt?) {
                said.push_str(&format!(" With the recommended window it waits {other}."));
            }
        }
        None => {}
    }
    Some(said)
}

/// Why so many streams, and what they cost.
pub(super) fn streams(advice: &StreamsAdvice, found: &Findings, sweep: &Sweep) -> String {
    let StreamsAdvice { point, best, noise, is_within, memory } = advice;
    let rate = |point: &Point| point.rate.in_bits();
    let count =
        |point: &Point| plain(&figures::counted(u64::from(point.setting.streams), "stream"));
    let mut said = if point == best {
        format!("{} of {} reach {}", count(point), size(point), rate(point))
    } else {
        let noise = plain(&figures::percent(*noise));
        format!(
            "{} of {} reach {}, within {noise} of the best, {} with {}",
            count(point),
            size(point),
            rate(point),
            rate(best),
            best.setting.streams
        )
    };
    if point.setting.streams == 1 {
        said = said.replacen(" reach ", " reaches ", 1);
    }
    said.push('.');
    if !is_within {
        said.push_str(" It is the most that was measured: sweep more.");
    }
    let points = sweep.points();
    let one = points.iter().find(|other| {
        let same = (other.setting.direction, other.setting.window);
        other.setting.streams == 1 && same == (point.setting.direction, point.setting.window)
    });
    if let (Some(one), Some(base), true) = (one, found.base_rtt, point.setting.streams > 1) {
        let law = laws::window_rate(point.setting.window, base);
        said.push_str(&format!(
            " One gets {}; a window per round trip is {}.",
            rate(one),
            law.in_bits()
        ));
        if let Some(wanted) = laws::streams_for(found.capacity, point.setting.window, base) {
            said.push_str(&format!(" By the law min(C, n · W / T) it takes {wanted}."));
        }
    }
    if point.setting.streams > 1 {
        said.push_str(&format!(
            " They take {} of window memory at each end",
            plain(&figures::size(*memory))
        ));
        match &found.window {
            Some(window) if window.point.rate.bytes_per_second() >= enough(advice) => {
                said.push_str(&format!("; one stream with {} does as much.", size(&window.point)));
            }
            _ => said.push('.'),
        }
    }
    if let (Some(here), Some(one)) = (cpu(point), found.window.as_ref().and_then(|w| cpu(&w.point)))
    {
        let who = if point.setting.streams == 1 { "It takes" } else { "They take" };
        said.push_str(&format!(
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
