//! Axes: map values to positions, with readable ticks.

/// Axis between two values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity of the scale.
    pub label: String,
    low: f64,
    /// Value at the high end.
    pub high: f64,
    logarithmic: bool,
    /// Values with a line and a label.
    pub ticks: Vec<(f64, String)>,
    /// Values with a fine line.
    pub minor: Vec<f64>,
}

/// Maximum number of labels on an axis.
const MAX_LABELS: usize = 9;
/// Ratio of values from which an axis is logarithmic.
const WIDE: f64 = 12.0;

impl Axis {
    /// Returns an axis of doublings: windows, numbers of streams.
    pub fn doublings(label: &str, values: &[f64], name: impl Fn(f64) -> String) -> Self {
        let (low, high) = bounds(values).unwrap_or((1.0, 2.0));
        let (low, high) = if low == high { (low / 2.0, high * 2.0) } else { (low, high) };
        let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
        let count = usize::try_from(last - first + 1).unwrap_or(0);
        let stride = count.div_ceil(MAX_LABELS).max(1);
        let powers = (first..=last).map(|power| 2_f64.powi(power));
        let (mut ticks, mut minor) = (Vec::new(), Vec::new());
        for (place, value) in powers.enumerate() {
            if place % stride == 0 {
                ticks.push((value, name(value)));
            } else {
                minor.push(value);
            }
        }
        Self { label: label.to_owned(), low, high, logarithmic: true, ticks, minor }
    }

    /// Returns an axis of amounts: from zero up, or logarithmic if they differ widely. On a
    /// logarithmic axis, zero lies at the low end.
    pub fn amounts(label: &str, values: &[f64], name: impl Fn(f64) -> String) -> Self {
        let Some((low, high)) = bounds(values) else { return Self::linear(label, values, name) };
        let label = label.to_owned();
        if high / low < WIDE {
            return Self::linear(&label, values, name);
        }
        let (below, above) = (round(low, false), round(high, true));
        let decades = (below.log10().floor() as i32, above.log10().ceil() as i32);
        let labelled = if above / below > 1e3 { &[1.0][..] } else { &[1.0, 2.0, 5.0] };
        let (mut ticks, mut minor) = (Vec::new(), Vec::new());
        for decade in decades.0..=decades.1 {
            for part in 1..10 {
                let value = f64::from(part) * 10_f64.powi(decade);
                // Accept the end in spite of rounding.
                if value < below * 0.999 || value > above * 1.001 {
                    continue;
                }
                if labelled.contains(&f64::from(part)) {
                    ticks.push((value, name(value)));
                } else {
                    minor.push(value);
                }
            }
        }
        Self { label, low: below, high: above, logarithmic: true, ticks, minor }
    }

    /// Returns an axis from zero up.
    pub fn linear(label: &str, values: &[f64], name: impl Fn(f64) -> String) -> Self {
        let (low, label) = (0.0, label.to_owned());
        let (high, ticks) = match bounds(values) {
            None => (1.0, vec![(0.0, name(0.0))]),
            Some((_, high)) => {
                let step = step(high);
                let ticks = (0..=MAX_LABELS).map(|place| step * place as f64);
                // The last tick is the first one that is high enough.
                let below = ticks.clone().take_while(|tick| *tick < high * 0.999).count();
                let ticks = ticks.take(below + 1).map(|value| (value, name(value)));
                (step * below as f64, ticks.collect())
            }
        };
        Self { label, low, high, logarithmic: false, ticks, minor: Vec::new() }
    }

    /// Returns an axis with these ends, and ticks at even steps between them.
    pub fn between(label: &str, (low, high): (f64, f64), name: impl Fn(f64) -> String) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = step(high - low);
        let first = (low / step).ceil();
        let ticks = (0..=2 * MAX_LABELS).map(|place| (first + place as f64) * step);
        let ticks = ticks.take_while(|tick| *tick <= high * (1.0 + 1e-9));
        let ticks = ticks.map(|value| (value, name(value))).collect();
        let label = label.to_owned();
        Self { label, low, high, logarithmic: false, ticks, minor: Vec::new() }
    }

    /// Returns the value at the low end; above zero on a logarithmic axis.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high one. Values outside lie at
    /// the ends.
    pub fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns whether a value is on the scale.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns this many values from end to end, at even distances on the page.
    pub fn along(&self, count: u32) -> impl Iterator<Item = f64> + '_ {
        (0..=count).map(move |place| {
            let share = f64::from(place) / f64::from(count.max(1));
            if self.logarithmic {
                self.low * (self.high / self.low).powf(share)
            } else {
                self.low + (self.high - self.low) * share
            }
        })
    }
}

/// Returns the smallest and the largest of the values above zero.
fn bounds(values: &[f64]) -> Option<(f64, f64)> {
    let some = values.iter().copied().filter(|value| value.is_finite() && *value > 0.0);
    some.fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// Returns a step of 1, 2, 2.5 or 5 times a power of ten; about five steps reach `high`.
fn step(high: f64) -> f64 {
    let rough = high / 5.0;
    let unit = 10_f64.powf(rough.log10().floor());
    let fits = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| step * unit >= rough * 0.999);
    fits.unwrap_or(10.0) * unit
}

/// Returns the next of 1, 2 and 5 times a power of ten, above or below.
fn round(value: f64, up: bool) -> f64 {
    let unit = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = if up {
        steps.into_iter().find(|step| step * unit >= value * 0.999)
    } else {
        steps.into_iter().rev().find(|step| step * unit <= value * 1.001)
    };
    fits.unwrap_or(1.0) * unit
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn amounts_begin_at_nothing_or_go_by_decades() {
        let name = |value: f64| format!("{value}");
        let near = Axis::amounts("x", &[172.0, 946.0], name);
        assert_eq!(labels(&near), ["0", "200", "400", "600", "800", "1000"]);
        assert!((near.place(500.0) - 0.5).abs() < 1e-9);
        let far = Axis::amounts("x", &[3.0, 0.0, 946.0], name);
        assert_eq!(labels(&far), ["2", "5", "10", "20", "50", "100", "200", "500", "1000"]);
        assert_eq!(far.place(0.0), 0.0);
        let wide = Axis::amounts("x", &[0.05, 946.0], name);
        assert_eq!(labels(&wide), ["0.1", "1", "10", "100", "1000"]);
    }

    #[test]
    fn an_axis_may_end_where_its_values_do() {
        let axis = Axis::between("x", (0.0, 2.394), |value| format!("{value}"));
        assert_eq!(labels(&axis), ["0", "0.5", "1", "1.5", "2"]);
        assert_eq!((axis.high, axis.place(2.394)), (2.394, 1.0));
        assert_eq!(Axis::between("x", (0.0, 0.0), |value| format!("{value}")).high, 1.0);
    }

    #[test]
    fn doublings_have_no_more_labels_than_fit() {
        let name = |value: f64| format!("{value}");
        let axis = Axis::doublings("x", &[1.0, 6.0, 32.0], name);
        assert_eq!(labels(&axis), ["1", "2", "4", "8", "16", "32"]);
        assert!((axis.place(4.0) - 0.4).abs() < 1e-9);
        assert_eq!(Axis::doublings("x", &[512.0, 4_194_304.0], name).ticks.len(), 7);
        assert_eq!(labels(&Axis::doublings("x", &[4.0], name)), ["2", "4", "8"]);
    }

    proptest! {
        #[test]
        fn any_values_give_an_axis_that_holds_them(
            values in prop::collection::vec(prop_oneof![Just(0.0), 1e-9_f64..1e15], 0..20),
        ) {
            let name = |value: f64| format!("{value}");
            for axis in [Axis::amounts("x", &values, name), Axis::doublings("x", &values, name)] {
                prop_assert!(axis.ticks.len() <= 24, "{:?}", axis.ticks);
                for value in values.iter().copied().chain([f64::NAN, f64::INFINITY, -1.0]) {
                    prop_assert!((0.0..=1.0).contains(&axis.place(value)));
                }
                for (tick, _) in &axis.ticks {
                    prop_assert!(tick.is_finite());
                }
            }
        }
    }
}
