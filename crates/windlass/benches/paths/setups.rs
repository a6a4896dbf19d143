//! The paths that are swept.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// An emulated path.
pub(super) struct Setup {
    pub(super) name: String,
    /// The rate of the line.
    mbit: f64,
    /// The rate that gets through, where that is less.
    passes: f64,
    pub(super) rtt_ms: f64,
    /// The other settings of the link.
    more: Vec<String>,
}

impl Setup {
    fn new(mbit: f64, rtt_ms: f64, more: &str) -> Self {
        let more: Vec<String> = more.split_whitespace().map(str::to_owned).collect();
        let words = more.join(" ").replace("--", "");
        let name = format!("{mbit} Mbit/s × {rtt_ms} ms {words}").trim().to_owned();
        Self { name, mbit, passes: mbit, rtt_ms, more }
    }

    /// Lets only this much of the link's rate pass.
    fn passing(self, mbit: f64) -> Self {
        Self { passes: mbit, ..self }
    }

    /// Returns the options of `windlass link`.
    pub(super) fn options(&self) -> Vec<String> {
        let rate = if self.more.iter().any(|one| one.starts_with("--down-rate")) {
            "--up-rate"
        } else {
            "--rate"
        };
        let own = [rate.to_owned(), format!("{}mbit", self.mbit), "--rtt".to_owned()];
        let mut all: Vec<String> = own.into_iter().chain([format!("{}ms", self.rtt_ms)]).collect();
        all.extend(self.more.iter().cloned());
        all
    }

    /// Returns the bandwidth-delay product in bytes.
    pub(super) fn product(&self) -> f64 {
        self.passes * 1e6 / 8.0 * self.rtt_ms / 1e3
    }
}

/// Paths from slow to fast and from short to long, with queues short and long, loss, jitter,
/// changed order, a slow way back, a policer, and the paper's radio.
pub(super) fn fixed() -> Vec<Setup> {
    let plain = [
        (100.0, 2.45, ""),
        (20.0, 600.0, ""),
        (100.0, 150.0, ""),
        (100.0, 40.0, "--loss 0.5%"),
        (50.0, 10.0, "--jitter 5ms"),
        (2.0, 30.0, ""),
        (20.0, 20.0, "--queue 2m"),
        (200.0, 20.0, "--queue 32k"),
        (50.0, 30.0, "--down-rate 2mbit"),
        (100.0, 20.0, "--reorder 1% --reorder-by 2ms"),
    ]
    .map(|(mbit, rtt, more)| Setup::new(mbit, rtt, more));
    let policed = Setup::new(100.0, 20.0, "--policer 20mbit --burst 64k").passing(20.0);
    let radio = Setup::new(200.0, 2.4, "--half-duplex 45us --queue 64k").passing(89.0);
    plain.into_iter().chain([policed, radio]).collect()
}

/// Paths of 1 Gbit/s, for which the link needs a processor to itself.
pub(super) fn fast() -> Vec<Setup> {
    vec![Setup::new(1000.0, 2.55, ""), Setup::new(1000.0, 20.0, "--queue 64k")]
}

/// Ten paths by chance: rates and round trips even by their logarithms, and one property more.
pub(super) fn drawn(seed: u64) -> Vec<Setup> {
    let mut chance = Pcg64Mcg::seed_from_u64(seed);
    let mut share = move || f64::from(chance.next_u32()) / f64::from(u32::MAX);
    let mut between =
        move |least: f64, most: f64| (least.ln() + share() * (most / least).ln()).exp();
    let rounded = |value: f64| {
        let unit = 10_f64.powf(value.log10().floor() - 1.0);
        ((value / unit).round() * unit * 1e3).round() / 1e3
    };
    (0..10)
        .map(|place| {
            let (mbit, rtt) = (rounded(between(1.0, 300.0)), rounded(between(1.0, 300.0)));
            let product = mbit * 1e6 / 8.0 * rtt / 1e3;
            let more = match place % 5 {
                0 => String::new(),
                1 => format!("--queue {:.0}", f64::max(15_000.0, product * between(0.1, 0.5))),
                2 => format!("--queue {:.0}", f64::max(30_000.0, product * between(3.0, 10.0))),
                3 => format!("--loss {:.2}%", between(0.05, 2.0)),
                _ => format!("--jitter {:.2}ms", rtt * between(0.05, 0.5)),
            };
            Setup::new(mbit, rtt, &more)
        })
        .collect()
}
