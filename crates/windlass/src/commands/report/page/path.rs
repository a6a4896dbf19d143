//! Curves as SVG paths, on a grid that every renderer has exactly.
//!
//! Coordinates are integers below 2²³, which a 32-bit float holds exactly (browsers draw with
//! these). So the steps of a path add up without an error, however many there are. The script of
//! the page reads values back from the paths, so each curve is in the page once.

use windlass_base::{Span, Timestamp};
use windlass_trace::curve::{SampleRange, Steps};

/// The places of the grid, across and down.
pub(super) const GRID: i64 = 1 << 23;

/// From times and values to places on the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
    /// Time of the left edge.
    pub(super) began: Timestamp,
    /// Time from the left edge to the right one.
    pub(super) span: Span,
    /// The value at the top edge.
    pub(super) top: f64,
    /// The value at the bottom edge. Above zero the values go by their logarithm.
    pub(super) low: f64,
}

impl Ground {
    /// Returns the position of a time, from the left.
    pub(super) fn across(&self, time: Timestamp) -> i64 {
        self.at(time.since(self.began))
    }

    /// Returns the position of a time after the left edge.
    pub(super) fn at(&self, after: Span) -> i64 {
        place(after.as_seconds() / self.span.as_seconds().max(1e-9), 0.0)
    }

    /// Returns the position of a value, from the top; negative if the value is above.
    pub(super) fn down(&self, value: f64) -> i64 {
        let up = if self.low > 0.0 {
            (value.max(self.low) / self.low).ln() / (self.top / self.low).ln()
        } else {
            value / self.top
        };
        place(1.0 - up, -BEYOND)
    }
}

/// Maximum position above the grid, in grid heights; higher values are drawn there.
const BEYOND: f64 = 250.0;

/// Converts a share to the grid; values outside are at the edge, or at `least`.
fn place(share: f64, least: f64) -> i64 {
    let share = if share.is_finite() { share.clamp(least, 1.0) } else { 0.0 };
    (share * GRID as f64).round() as i64
}

/// Writes a path by steps from point to point.
#[derive(Debug, Default)]
struct Pen {
    out: String,
    at: Option<(i64, i64)>,
}

impl Pen {
    fn go(&mut self, x: i64, y: i64) {
        match self.at {
            None => self.out.push_str(&format!("M{x} {y}")),
            Some((from_x, from_y)) => {
                let (across, down) = (x - from_x, y - from_y);
                // A minus keeps numbers apart as well.
                let gap = if down < 0 { "" } else { " " };
                self.out.push_str(&format!("m{across}{gap}{down}"));
            }
        }
        self.at = Some((x, y));
    }

    fn across(&mut self, x: i64) {
        let Some((from, y)) = self.at else { return };
        if x != from {
            self.out.push_str(&format!("h{}", x - from));
            self.at = Some((x, y));
        }
    }

    fn down(&mut self, y: i64) {
        let Some((x, from)) = self.at else { return };
        if y != from {
            // Outside the grid steps do not add up without an error.
            let step = if y < 0 || from < 0 { format!("V{y}") } else { format!("v{}", y - from) };
            self.out.push_str(&step);
            self.at = Some((x, y));
        }
    }

    /// Draws a vertical stroke; one without length becomes a dot.
    fn stroke(&mut self, y: i64) {
        let Some((x, from)) = self.at else { return };
        self.out.push_str(&format!("v{}", y - from));
        self.at = Some((x, y));
    }
}

/// Draws a level that lasts until the next sample. Groups of several samples reach from their
/// minimum to their maximum.
pub(super) fn levels(ground: &Ground, stretches: &[SampleRange]) -> String {
    let mut pen = Pen::default();
    for one in stretches {
        let (from, to) = (ground.across(one.from), ground.across(one.to));
        let down = |value: i64| ground.down(value as f64);
        if pen.at.is_none() {
            pen.go(from, down(if one.samples == 1 { one.last } else { one.least }));
        }
        pen.across(from);
        if one.samples > 1 {
            pen.down(down(one.least));
            pen.down(down(one.most));
            pen.across(to);
        }
        pen.down(down(one.last));
    }
    pen.out
}

/// Draws a stroke for each sample, from its low to its high end; a box for groups of several.
pub(super) fn strokes(ground: &Ground, stretches: &[SampleRange]) -> String {
    let mut pen = Pen::default();
    for one in stretches {
        let (from, to) = (ground.across(one.from), ground.across(one.to));
        let (foot, head) = (ground.down(one.least as f64), ground.down(one.most as f64));
        pen.go(from, foot);
        if to > from {
            pen.across(to);
            pen.stroke(head);
            pen.across(from);
        }
        pen.stroke(if to > from { foot } else { head });
    }
    pen.out
}

/// Draws the rate of each step, from the start of the first step. The curve begins and ends at
/// zero.
pub(super) fn rates(ground: &Ground, began: Timestamp, steps: &Steps) -> String {
    let mut pen = Pen::default();
    pen.go(ground.across(began), ground.down(0.0));
    for (end, rate) in steps.rates() {
        pen.down(ground.down(rate));
        pen.across(ground.across(began + end));
    }
    pen.down(ground.down(0.0));
    pen.out
}

/// Returns the numbers of packets as the script reads them. Each group has its distance on the grid
/// and its number, both as differences to the previous group, and the last number of several
/// packets.
pub(super) fn numbers(ground: &Ground, stretches: &[SampleRange]) -> String {
    let (mut x, mut number) = (0, 0);
    let words = stretches.iter().map(|one| {
        let at = ground.across(one.from);
        let (across, step) = (at - x, one.least - number);
        (x, number) = (at, one.least);
        match one.most - one.least {
            0 => format!("{across},{step}"),
            more => format!("{across},{step},{more}"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A step of a path, to a place on the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) x: i64,
    pub(super) y: i64,
    /// True if a line is drawn to this point.
    pub(super) draws: bool,
    /// True if that line has no length.
    pub(super) is_dot: bool,
}

/// Returns the steps of a path that this module has written.
pub(super) fn steps(path: &str) -> impl Iterator<Item = Step> + '_ {
    let (mut x, mut y) = (0, 0);
    let mut rest = path;
    std::iter::from_fn(move || {
        let kind = rest.chars().next()?;
        let numbers = &rest[kind.len_utf8()..];
        let end = numbers.find(|one: char| one.is_ascii_alphabetic()).unwrap_or(numbers.len());
        let (own, after) = numbers.split_at(end);
        rest = after;
        // A minus begins a number as well as a space does.
        let second = own.get(1..).and_then(|own| own.find([' ', '-'])).map(|at| at + 1);
        let (one, other) = own.split_at(second.unwrap_or(own.len()));
        let number = |text: &str| text.trim().parse::<i64>().unwrap_or(0);
        let (before, one, other) = ((x, y), number(one), number(other));
        match kind {
            'M' => (x, y) = (one, other),
            'm' => (x, y) = (x + one, y + other),
            'h' => x += one,
            'V' => y = one,
            _ => y += one,
        }
        let draws = !matches!(kind, 'M' | 'm');
        Some(Step { x, y, draws, is_dot: draws && before == (x, y) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use windlass_trace::curve::{Bins, Curve};

    const MILLI: i64 = 1_000_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * MILLI)
    }

    fn ground() -> Ground {
        Ground { began: at(0), span: Span::from_millis(8), top: 8.0, low: 0.0 }
    }

    /// Returns every point of a path.
    fn points(path: &str) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        let (mut x, mut y) = (0, 0);
        let mut rest = path;
        while let Some(letter) = rest.chars().next() {
            let end = rest[1..].find(|one: char| one.is_ascii_alphabetic());
            let (words, next) = rest[1..].split_at(end.unwrap_or(rest.len() - 1));
            let words = words.replace('-', " -");
            let numbers: Vec<i64> =
                words.split_whitespace().map(|one| one.parse().unwrap()).collect();
            match letter {
                'M' => (x, y) = (numbers[0], numbers[1]),
                'm' => (x, y) = (x + numbers[0], y + numbers[1]),
                'h' => x += numbers[0],
                'v' => y += numbers[0],
                'V' => y = numbers[0],
                other => panic!("{other}"),
            }
            found.push((x, y));
            rest = next;
        }
        found
    }

    #[test]
    fn a_level_holds_until_the_next_sample() {
        let mut curve = Curve::new(10);
        for (time, value) in [(0, 2), (4, 6), (8, 6)] {
            curve.add(at(time), value);
        }
        assert_eq!(levels(&ground(), curve.stretches()), "M0 6291456h4194304v-4194304h4194304");
        assert_eq!(strokes(&ground(), &[]), "");
    }

    #[test]
    fn what_is_beyond_the_chart_is_above_it() {
        let mut curve = Curve::new(10);
        for (time, value) in [(0, 4), (2, 16), (4, 4), (6, i64::MAX)] {
            curve.add(at(time), value);
        }
        let path = levels(&ground(), curve.stretches());
        assert_eq!(path, "M0 4194304h2097152V-8388608h2097152V4194304h2097152V-2097152000");
        assert_eq!(points(&path).len(), 7);
    }

    #[test]
    fn a_stroke_without_length_is_a_dot() {
        let mut curve = Curve::new(10);
        curve.add(at(8), 8);
        curve.add_range(at(4), 2, 4);
        assert_eq!(strokes(&ground(), curve.stretches()), "M8388608 0v0m-4194304 6291456v-2097152");
    }

    #[test]
    fn rates_begin_and_end_at_zero() {
        let mut bins = Bins::new(10);
        bins.add(at(0), 1_000);
        bins.add(Timestamp::from_nanos(MILLI / 10), 500);
        let ground = Ground { top: 1e7, span: Span::from_micros(400), ..ground() };
        let drawn = points(&rates(&ground, at(0), &bins.steps(Span::from_micros(100), Span::ZERO)));
        let half = GRID / 2;
        assert_eq!(
            drawn,
            [(0, GRID), (0, 0), (GRID / 4, 0), (GRID / 4, half), (half, half), (half, GRID)]
        );
    }

    #[test]
    fn a_logarithmic_ground_has_room_for_small_values() {
        let ground = Ground { top: 100.0, low: 1.0, ..ground() };
        assert_eq!((ground.down(100.0), ground.down(10.0)), (0, GRID / 2));
        assert_eq!((ground.down(1.0), ground.down(0.0)), (GRID, GRID));
    }

    #[test]
    fn numbers_of_packets_are_told_by_steps() {
        let mut curve = Curve::new(10);
        for (time, number) in [(0, 7), (4, 9), (8, 10)] {
            curve.add(at(time), number);
        }
        assert_eq!(numbers(&ground(), curve.stretches()), "0,7 4194304,2 4194304,1");
        let mut curve = Curve::new(1);
        for (time, number) in [(0, 7), (0, 9), (0, 12)] {
            curve.add(at(time), number);
        }
        assert_eq!(numbers(&ground(), curve.stretches()), "0,7,5");
    }

    proptest! {
        /// Every curve lies on the grid, and shows the minimum and the maximum of all values.
        #[test]
        fn extremes_are_drawn(
            samples in prop::collection::vec((0_i64..9, 0_i64..9), 1..200),
            kept in 1_usize..20,
        ) {
            let mut samples = samples;
            samples.sort_unstable();
            let mut curve = Curve::new(kept);
            for (time, value) in &samples {
                curve.add(at(*time), *value);
            }
            let ground = ground();
            let values = || samples.iter().map(|(_, value)| ground.down(*value as f64));
            for path in [levels(&ground, curve.stretches()), strokes(&ground, curve.stretches())] {
                let drawn = points(&path);
                prop_assert!(drawn.iter().all(|(x, y)| (0..=GRID).contains(x) && (0..=GRID).contains(y)));
                prop_assert_eq!(drawn.iter().map(|(_, y)| *y).min(), values().min());
                prop_assert_eq!(drawn.iter().map(|(_, y)| *y).max(), values().max());
            }
        }
    }

    #[test]
    fn steps_are_read_as_they_were_written() {
        let read: Vec<_> = steps("M10 20h5v-3m-4-2v0V-7m3 4").collect();
        let step = |x, y, draws, is_dot| Step { x, y, draws, is_dot };
        assert_eq!(
            read,
            [
                step(10, 20, false, false),
                step(15, 20, true, false),
                step(15, 17, true, false),
                step(11, 15, false, false),
                step(11, 15, true, true),
                step(11, -7, true, false),
                step(14, -3, false, false),
            ]
        );
        assert_eq!(steps("").count(), 0);
    }
}
