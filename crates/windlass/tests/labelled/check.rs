//! Check that a transfer has the properties of its label.

use crate::figures::Figures;

/// A figure that must lie between two bounds.
pub(crate) struct Bound {
    pub(crate) figure: &'static str,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Bounds for every transfer: both captures are complete, and the link was punctual.
const PUNCTUAL: [Bound; 3] = [
    Bound { figure: "capture_lost", least: 0.0, most: 0.0 },
    Bound { figure: "missed", least: 0.0, most: 0.0 },
    Bound { figure: "lengthened", least: 0.0, most: 0.15 },
];

/// Minimum length of a labelled transfer.
const LONG: [Bound; 2] = [
    Bound { figure: "data_segments", least: 30.0, most: f64::MAX },
    Bound { figure: "seconds", least: 0.2, most: 14.0 },
];

/// The checked figures as words; the first that is out of bounds as an error.
pub(crate) fn checked(bounds: &[Bound], figures: &Figures) -> Result<String, String> {
    held(PUNCTUAL.iter().chain(&LONG).chain(bounds), figures)
}

/// Says why a transfer does not count that has no label.
pub(crate) fn punctual(figures: &Figures) -> Result<(), String> {
    held(PUNCTUAL.iter(), figures).map(drop)
}

fn held<'a>(bounds: impl Iterator<Item = &'a Bound>, figures: &Figures) -> Result<String, String> {
    let mut told = Vec::new();
    for Bound { figure, least, most } in bounds {
        let Some(value) = figures.get(*figure) else {
            return Err(format!("{figure} is not known"));
        };
        // Shares are sums of many times.
        if *value < least - 1e-6 || *value > most + 1e-6 {
            return Err(format!("{figure} is {value:.4}, not {least:.4} to {most:.4}"));
        }
        told.push(format!("{figure}={}", short(*value)));
    }
    Ok(told.join(" "))
}

/// A figure in few digits.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
