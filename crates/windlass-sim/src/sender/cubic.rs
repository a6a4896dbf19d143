//! CUBIC (RFC 9438): the window as a function of the time since the last loss.

use windlass_base::{Span, Timestamp};

/// C of RFC 9438 section 5, in segments per second cubed.
const C: f64 = 0.4;

/// The factor of the decrease (section 4.6).
pub(super) const BETA: f64 = 0.7;

/// The slope that makes the estimate as fast as Reno's (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of one connection. Windows are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    /// `W_max`: the window before the last loss.
    before: f64,
    /// `cwnd_prior`: the window before the last loss, without fast convergence.
    prior: f64,
    epoch: Option<Epoch>,
}

/// The time since congestion avoidance began.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Timestamp,
    /// K: seconds until the window is back at `before`.
    back: f64,
    /// `W_est`: the window that Reno would have.
    estimate: f64,
}

impl Cubic {
    /// Records a loss at this window.
    pub(super) fn lost(&mut self, window: f64) {
        // Fast convergence (section 4.7).
        self.before = if window < self.before { window * (1.0 + BETA) / 2.0 } else { window };
        self.prior = window;
        self.epoch = None;
    }

    /// Returns the window after an ACK of `acked` segments in congestion avoidance.
    pub(super) fn grown(
        &mut self,
        window: f64,
        acked: f64,
        now: Timestamp,
        round_trip: Span,
    ) -> f64 {
        let before = &mut self.before;
        let epoch = self.epoch.get_or_insert_with(|| {
            // Slow start may have ended above the window of the last loss.
            let back = if window < *before {
                cube_root((*before - window) / C)
            } else {
                *before = window;
                0.0
            };
            Epoch { began: now, back, estimate: window }
        });
        let before = *before;
        let since = now.since(epoch.began).as_seconds();
        let curve = |time: f64| {
            let off = time - epoch.back;
            C * off * off * off + before
        };
        let alpha = if epoch.estimate >= self.prior { 1.0 } else { ALPHA };
        epoch.estimate += alpha * acked / window;
        if curve(since) < epoch.estimate {
            return window.max(epoch.estimate);
        }
        let target = curve(since + round_trip.as_seconds()).clamp(window, 1.5 * window);
        window + (target - window) / window * acked
    }
}

/// Returns the cube root, by operations that are exact on every platform.
fn cube_root(of: f64) -> f64 {
    if of <= 0.0 {
        return 0.0;
    }
    // Newton's method from above: each step first takes away a third, then doubles the correct
    // digits. 64 steps suffice for anything below 10¹⁰.
    let mut root = of.max(1.0);
    for _ in 0..64 {
        root = (2.0 * root + of / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_right() {
        for root in [0.01, 0.5, 1.0, 3.0, 77.7, 2_000.0] {
            assert!((cube_root(root * root * root) / root - 1.0).abs() < 1e-12, "{root}");
        }
        assert_eq!(cube_root(0.0), 0.0);
    }

    #[test]
    fn the_window_is_back_after_k_seconds() {
        // K = ∛(W_max · (1 − β) / C) = ∛(1000 · 0.3 / 0.4) = 9.086 s.
        let mut cubic = Cubic::default();
        cubic.lost(1_000.0);
        let mut window = 700.0;
        let rtt = Span::from_millis(100);
        let mut now = Timestamp::ZERO;
        let mut at = Vec::new();
        for _ in 0..120 {
            window = cubic.grown(window, window, now, rtt);
            at.push(window);
            now = now + rtt;
        }
        assert!((950.0..1_000.5).contains(&at[60]), "plateau: {}", at[60]);
        assert!((at[90] - 1_000.0).abs() < 1.0, "at K: {}", at[90]);
        assert!(at[119] > 1_005.0, "beyond: {}", at[119]);
    }

    #[test]
    fn a_short_path_grows_as_fast_as_reno() {
        let mut cubic = Cubic::default();
        cubic.lost(20.0);
        let mut window = 14.0;
        let mut now = Timestamp::ZERO;
        for _ in 0..10 {
            window = cubic.grown(window, window, now, Span::from_millis(1));
            now = now + Span::from_millis(1);
        }
        assert!((window - 14.0 - 10.0 * ALPHA).abs() < 0.5, "{window}");
    }
}
