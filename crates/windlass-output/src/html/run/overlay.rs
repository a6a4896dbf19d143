//! Overlay of several runs: rates of tests over time, and rates of sweeps by window.

use serde_json::Value;
use windlass_base::figures::fixed;
use windlass_base::{Bytes, Rate, whole_part};

use super::shown;
use crate::figures;
use crate::html::Figure;
use crate::html::plot::{Dot, Plot, Series, SeriesStyle};
use crate::html::scale::Axis;

/// Maximum number of runs in an overlay: one for each colour.
const MOST: usize = 8;

/// Runs of one kind.
#[derive(Debug, Default)]
struct Layers {
    series: Vec<Series>,
    left_out: usize,
}

impl Layers {
    fn push(&mut self, name: &str, points: Vec<Dot>, drawn: SeriesStyle) {
        if self.series.len() == MOST {
            self.left_out += 1;
            return;
        }
        let color = self.series.len();
        self.series.push(Series { name: name.to_owned(), color, drawn, points });
    }

    /// Returns the figure; `None` for fewer than two runs.
    fn figure(self, is_sweep: bool) -> Option<Figure> {
        let Self { series, left_out } = self;
        if series.len() < 2 {
            return None;
        }
        let all = |of: fn(&Dot) -> f64| -> Vec<f64> {
            series.iter().flat_map(|one| one.points.iter().map(of)).collect()
        };
        let (xs, rates) = (all(|dot| dot.x), all(|dot| dot.y));
        let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
        let says = format!("The rates of {}.", names.join(", "));
        let bits = |rate: f64| Rate::from_bits_per_second(rate).in_bits().to_string();
        let mut caption = if is_sweep {
            "Rate of one stream by its receive window, in the first direction.".to_owned()
        } else {
            "Rate over time of each run, from its start.".to_owned()
        };
        if left_out > 0 {
            caption.push_str(&format!(" {left_out} more runs are not drawn."));
        }
        let (id, title, x) = if is_sweep {
            let window = |value: f64| figures::size(Bytes::new(whole_part(value.round()))).plain();
            let x = Axis::doublings("Receive window", &xs, window);
            ("windows-over-each-other", "Rates by receive window", x)
        } else {
            let end = xs.iter().copied().fold(0.0, f64::max);
            let decimals = if end <= 4.0 { 1 } else { 0 };
            let x = Axis::between("Seconds", (0.0, end), |value| fixed(value, decimals));
            ("rates-over-each-other", "Rates over time", x)
        };
        let y = Axis::linear("Rate", &rates, bits);
        let (guides, band, title) = (Vec::new(), Vec::new(), title.to_owned());
        let plot = Plot { id, title, says, x, y, series, guides, band, height: Plot::HIGH };
        Some(Figure { plot, caption, keys: Vec::new() })
    }
}

/// Returns the overlay of runs, each given by its name and its record. Only records of `send` and
/// `sweep` are drawn.
pub fn figures(runs: &[(String, Value)]) -> Vec<Figure> {
    let (mut tests, mut sweeps) = (Layers::default(), Layers::default());
    for (name, record) in runs {
        match shown::points(record, name) {
            Some((true, points)) => sweeps.push(name, points, SeriesStyle::Measured),
            Some((false, points)) => tests.push(name, points, SeriesStyle::Through),
            None => {}
        }
    }
    [tests.figure(false), sweeps.figure(true)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sweep(rate: f64) -> Value {
        let point = |window: u64| {
            json!({"direction": "up", "window_bytes": window, "streams": 1,
                "bits_per_second": rate * window as f64, "rtt_seconds": null})
        };
        json!({"schema": "windlass.sweep/2", "base_rtt_seconds": null, "points":
            [point(16_384), point(65_536)], "directions": [{"direction": "up",
            "capacity_bits_per_second": null, "bdp_bytes": null, "recommendation": null,
            "recommended_window_bytes": null}]})
    }

    #[test]
    fn runs_of_one_kind_are_laid_over_each_other() {
        let named = |count: usize| -> Vec<(String, Value)> {
            (0..count).map(|place| (format!("run{place}"), sweep(place as f64 + 1.0))).collect()
        };
        assert!(figures(&named(1)).is_empty(), "one lies over nothing");
        let two = figures(&named(2));
        assert_eq!(two.len(), 1);
        let colors: Vec<usize> = two[0].plot.series.iter().map(|one| one.color).collect();
        assert_eq!(colors, [0, 1]);
        assert!(two[0].plot.svg().contains("run1, 16 KiB: "), "{}", two[0].plot.svg());
        let many = figures(&named(11));
        assert_eq!(many[0].plot.series.len(), MOST);
        assert!(many[0].caption.contains("3 more runs"), "{}", many[0].caption);
        let other = [("a".to_owned(), json!({"schema": "windlass.lab/2"})), named(1).remove(0)];
        assert!(figures(&other).is_empty());
    }
}
