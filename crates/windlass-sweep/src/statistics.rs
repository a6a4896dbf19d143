//! Means and their confidence intervals.

/// The 0.975 quantiles of Student's t with 1 to 30 degrees of freedom. The mean of few values lies
/// within this many standard errors, 95 times in 100 (Student, "The Probable Error of a Mean",
/// 1908).
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The 0.975 quantile with more degrees of freedom.
const T_OF_MANY: f64 = 1.96;
/// Largest autocorrelation that is assumed: more would make the interval infinite.
const MAX_CORRELATION: f64 = 0.8;

/// Returns the mean; nothing for no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sum of the squared differences from the mean.
fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn t(values: usize) -> f64 {
    let degrees = values.saturating_sub(1);
    degrees.checked_sub(1).and_then(|place| T.get(place)).copied().unwrap_or(T_OF_MANY)
}

/// Returns half of the 95 % confidence interval of the mean of independent values, as a share of
/// the mean. Returns nothing for fewer than two values, or if the mean is not above zero.
pub(super) fn half_width(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0 && values.len() > 1)?;
    let count = values.len() as f64;
    let deviation = (squares(values, mean) / (count - 1.0)).sqrt();
    Some(t(values.len()) * deviation / count.sqrt() / mean)
}

/// Returns the half interval of consecutive values, each of which may depend on the one before: the
/// first autocorrelation widens it, as in a series of order one.
pub(super) fn half_width_of_series(values: &[f64]) -> Option<f64> {
    let independent = half_width(values)?;
    let mean = mean(values)?;
    let all = squares(values, mean);
    let neighbours: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    let correlation = if all > 0.0 { neighbours / all } else { 0.0 };
    let correlation = correlation.clamp(0.0, MAX_CORRELATION);
    Some(independent * ((1.0 + correlation) / (1.0 - correlation)).sqrt())
}

/// Returns the number of values to omit at the beginning, so that the mean of the rest has the
/// smallest standard error: at most half of them (MSER).
pub(super) fn warm_up(values: &[f64]) -> usize {
    let count = values.len();
    // From the end, adding one value at a time: sums of the values behind it.
    let (mut sum, mut sum_of_squares) = (0.0, 0.0);
    let mut least = (f64::INFINITY, 0);
    // Sums of squares of large numbers lose their last digits.
    let scale = values.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    for (place, value) in values.iter().enumerate().rev() {
        let value = value / scale;
        sum += value;
        sum_of_squares += value * value;
        let left = (count - place) as f64;
        if place <= count / 2 {
            let error = (sum_of_squares - sum * sum / left).max(0.0) / (left * left);
            // Of equals, the one that omits less.
            if error <= least.0 + 1e-12 {
                least = (error, place);
            }
        }
    }
    least.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_interval_is_students() {
        // 9, 10 and 11: a deviation of 1, and 4.303 standard errors of 1 / √3.
        let width = half_width(&[9.0, 10.0, 11.0]).unwrap();
        assert!((width - 4.303 / 3.0_f64.sqrt() / 10.0).abs() < 1e-9);
        assert_eq!(half_width(&[5.0]), None);
        assert_eq!(half_width(&[0.0, 0.0]), None);
        let swings: Vec<f64> =
            (0..40).map(|place| if place % 2 == 0 { 9.0 } else { 11.0 }).collect();
        let waves: Vec<f64> =
            (0..40).map(|place| if place / 10 % 2 == 0 { 9.0 } else { 11.0 }).collect();
        assert!(half_width_of_series(&waves) > half_width_of_series(&swings));
        assert_eq!(half_width_of_series(&swings), half_width(&swings));
    }

    #[test]
    fn what_grows_at_first_is_left_out() {
        assert_eq!(warm_up(&[1.0, 2.0, 4.0, 8.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]), 4);
        assert_eq!(warm_up(&[9.0; 10]), 0);
        assert_eq!(warm_up(&[]), 0);
        // At most half of the values: the last one alone has no error.
        assert!(warm_up(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]) <= 4);
    }

    proptest! {
        #[test]
        fn any_values_give_sane_figures(values in prop::collection::vec(0.0..1e12_f64, 0..60)) {
            prop_assert!(warm_up(&values) <= values.len() / 2);
            for width in [half_width(&values), half_width_of_series(&values)].into_iter().flatten() {
                prop_assert!(width.is_finite() && width >= 0.0);
            }
        }
    }
}
