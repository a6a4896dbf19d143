//! Path scenarios: what they mean, and what they are refused for.

use windlass_sim::segment::line_bytes;

use super::*;
use crate::built_in;
use crate::bulk::{self, Load};

const HEAD: &str = "title = \"x\"\nshows = \"y\"\n";
const HOP: &str = "[[hop]]\nrate = \"100 Mb/s\"\ndelay = \"5 ms\"\n";

fn read(text: &str) -> Result<PathScenario, String> {
    let source = Source::built_in(FileKind::PATH, "x.toml", &format!("{HEAD}{text}"));
    PathScenario::read("x", &source).map_err(|failure| failure.to_string())
}

fn wrong(text: &str) -> String {
    read(text).expect_err(text)
}

#[test]
fn what_is_built_in_can_be_read() {
    for (id, _) in built_in::PATHS {
        let path = PathScenario::named(id, &|path| panic!("{}", path.display())).unwrap();
        assert_eq!(&path.id, id);
        assert!(path.is_alike(), "{id}");
        assert_eq!(path.has_chance(), id == &"fading-radio", "{id}");
    }
}

#[test]
fn the_papers_figures_are_in_its_scenarios() {
    let delays = |id: &str| -> Span {
        let path = PathScenario::named(id, &|path| panic!("{}", path.display())).unwrap();
        path.hops.iter().map(|hop| hop.forward.delay + hop.backward.delay).sum()
    };
    // The lines take the rest of 2.55 and 2.45 ms, for packets of 90 bytes.
    assert!((delays("gigabit").as_seconds() - 0.002_55).abs() < 2e-6);
    assert!((delays("white-space").as_seconds() - 0.002_45).abs() < 50e-6);
    let slowest = |id: &str| {
        let path = PathScenario::named(id, &|path| panic!("{}", path.display())).unwrap();
        let rates = path.hops.iter().filter_map(|hop| hop.forward.rate);
        rates.map(Rate::bits_per_second).fold(f64::INFINITY, f64::min)
    };
    assert!((slowest("gigabit") - 1e9).abs() < 1.0);
    assert!((slowest("white-space") - 89e6).abs() < 1.0);
    assert!((slowest("long-fat") - 500e6).abs() < 1.0);
}

/// Returns the data that a window that fills the path carries in this time.
fn carried(path: &PathScenario, seconds: i64) -> f64 {
    let load = Load {
        window: Some(Bytes::new(400_000)),
        congestion: None,
        streams: 1,
        reversed: false,
        time: Span::from_millis(1_000 * seconds),
        seed: path.seed,
    };
    let carried = bulk::run(path, &load, || true, |_| true).unwrap();
    carried.bytes.per(carried.time).bits_per_second()
}

/// Returns the built-in path with one text replaced.
fn changed(id: &str, from: &str, to: &str) -> PathScenario {
    let (_, text) = built_in::PATHS.iter().find(|(path, _)| path == &id).unwrap();
    assert!(text.contains(from));
    let source = Source::built_in(FileKind::PATH, "x.toml", &text.replace(from, to));
    PathScenario::read("x", &source).map_err(|failure| failure.to_string()).unwrap()
}

#[test]
fn a_radio_gets_what_the_paper_measured_and_less_with_its_distance() {
    let mut last = f64::INFINITY;
    for (kilometres, expected) in [(0_u32, 89.0), (10, 50.5), (20, 35.2), (30, 27.0)] {
        let access = 45.4 + 2.0 * f64::from(kilometres) * 1e3 / 299.792_458;
        let access = format!("access = \"{access} us\"");
        let path = changed("white-space-radio", "access = \"45.4 us\"", &access);
        let ideal = path.ideal(false).bits_per_second() / 1e6;
        assert!((ideal / expected - 1.0).abs() < 0.01, "{kilometres} km: {ideal}");
        let carried = carried(&path, 4) / 1e6;
        assert!((carried / ideal - 1.0).abs() < 0.04, "{kilometres} km: {carried} of {ideal}");
        assert!(carried < last);
        last = carried;
    }
}

#[test]
fn data_gets_what_its_acks_leave_of_a_shared_medium() {
    let shared = changed("white-space-radio", "x", "x");
    let apart = changed("white-space-radio", "half-duplex = { access = \"45.4 us\" }", "");
    // The cables carry 94.9 Mbit/s of data.
    assert!((apart.ideal(false).bits_per_second() / 1e6 - 94.9).abs() < 0.1);
    assert!(carried(&apart, 2) > carried(&shared, 2) * 1.04);
    assert_eq!(shared.ideal(false), shared.ideal(true));
}

#[test]
fn a_signal_that_comes_and_goes_gives_the_mean_of_its_rates() {
    let path = changed("fading-radio", "x", "x");
    let (ideal, carried) = (path.ideal(false).bits_per_second(), carried(&path, 60));
    assert!((35e6..60e6).contains(&ideal), "{ideal}");
    // 120 steps by chance.
    assert!((carried / ideal - 1.0).abs() < 0.12, "{carried} of {ideal}");
}

#[test]
fn what_is_left_out_is_filled_in() {
    let path = read(HOP).unwrap();
    assert_eq!((path.time, path.seed), (None, 1));
    let queue = path.hops[0].forward.queue;
    assert_eq!(queue, Some(Bytes::new(125_000)), "one bandwidth-delay product");
    let short = read("[[hop]]\nrate = \"1 Mb/s\"\n").unwrap();
    assert_eq!(short.hops[0].forward.queue, Some(Bytes::new(15_000)), "ten packets at least");
    // 1460 of 1538 bytes.
    let ideal = path.ideal(false).bits_per_second();
    assert!((ideal - 100e6 * 1_460.0 / 1_538.0).abs() < 1.0, "{ideal}");
    let stamps = "[sender]\ntimestamps = true\n[receiver.tcp]\ntimestamps = true\n";
    let ideal = read(&format!("{stamps}{HOP}")).unwrap().ideal(false).bits_per_second();
    assert!((ideal - 100e6 * 1_448.0 / 1_538.0).abs() < 1.0, "{ideal}");
}

#[test]
fn a_hop_counts_what_a_packet_takes_of_its_line() {
    let path = read(&format!("{HOP}mtu = 1500\ncorruption = \"1 %\"\n")).unwrap();
    let hop = path.hops[0].forward;
    assert_eq!(hop.largest, Some(Bytes::new(line_bytes(1_500).into())));
    assert!((hop.corrupt - 0.01).abs() < 1e-12, "{}", hop.corrupt);
}

#[test]
fn the_way_back_may_differ() {
    let path =
        read(&format!("{HOP}[[back]]\nrate = \"10 Mb/s\"\ndelay = \"15 ms\"\nloss = \"1%\"\n"));
    let path = path.unwrap();
    assert!(!path.is_alike() && path.has_chance());
    let (there, back) = (path.ideal(false), path.ideal(true));
    assert!((there.bits_per_second() / back.bits_per_second() - 10.0).abs() < 0.01);
    let back = path.reversed();
    assert_eq!(back[0].forward.delay, Span::from_millis(15));
    assert_eq!(back[0].backward, path.hops[0].forward);
    assert_eq!(path.hops[0].forward.queue, Some(Bytes::new(250_000)), "of the whole round trip");
    // A path of two hops is its own mirror image only if they are alike.
    let slower = "[[hop]]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n";
    assert!(!read(&format!("{HOP}{slower}")).unwrap().is_alike());
    assert!(read(&format!("{HOP}{slower}{HOP}")).unwrap().is_alike());
}

#[test]
fn chance_is_found_wherever_it_is() {
    let chance = |text: &str| read(text).unwrap().has_chance();
    assert!(!chance(HOP));
    for more in [
        "fading = { least = \"1 Mb/s\", every = \"1 s\" }",
        "jitter = \"1 ms\"",
        "reorder = \"1%\"\nreorder-by = \"1 ms\"",
        "corruption = \"1%\"",
    ] {
        assert!(chance(&format!("{HOP}{more}\n")), "{more}");
    }
    assert!(chance(&format!("[receiver.tcp]\nloss = \"1%\"\n{HOP}")));
    assert!(chance(&format!("[receiver.ack]\nlatency = \"2 ms ± 1 ms\"\n{HOP}")));
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    assert!(wrong("").contains("missing field `hop`"), "{}", wrong(""));
    assert!(wrong("hop = []\n").contains("at least one [[hop]]"), "{}", wrong("hop = []\n"));
    let no_rate = wrong("[[hop]]\ndelay = \"1 ms\"\n");
    assert!(no_rate.contains("line 3, `[[hop]]`: missing `rate`"), "{no_rate}");
    let unknown = wrong("[[hop]]\nspeed = \"1 Mb/s\"\n");
    assert!(unknown.contains("line 4") && unknown.contains("unknown field `speed`"), "{unknown}");
    let unit = wrong("[[hop]]\nrate = \"100\"\n");
    assert!(unit.contains("line 4, `rate = \"100\"`") && unit.contains("100mbit"), "{unit}");
    let backs = wrong(&format!("{HOP}{HOP}[[back]]\nrate = \"1 Mb/s\"\n"));
    assert!(backs.contains("line 9") && backs.contains("as many hops as [[hop]], 2"), "{backs}");
    let long = wrong(&format!("time = \"11 min\"\n{HOP}"));
    assert!(long.contains("line 3") && long.contains("at most 10 min 0 s"), "{long}");
    let window = wrong(&format!("[receiver.tcp]\nwindow = {{ fixed = 1000 }}\n{HOP}"));
    assert!(window.contains("line 4") && window.contains("a sweep sets"), "{window}");
    let scale = wrong(&format!("[receiver.tcp]\nwindow-scale = 3\n{HOP}"));
    assert!(scale.contains("a sweep sets"), "{scale}");
    let large = wrong("[[hop]]\nrate = \"1 Tb/s\"\ndelay = \"1 s\"\n");
    assert!(large.contains("line 3") && large.contains("1,073,725,440 B"), "{large}");
    let deep = wrong("[[hop]]\nrate = \"1 Mb/s\"\nqueue = \"2 GB\"\n");
    assert!(deep.contains("1,073,725,440 B"), "{deep}");
    let fading = wrong(&format!("{HOP}fading = {{ least = \"1 Gb/s\", every = \"1 s\" }}\n"));
    assert!(fading.contains("`least` of at most the hop's `rate`"), "{fading}");
    let many = wrong(&HOP.repeat(65));
    assert!(many.contains("at most 64 hops"), "{many}");
}

#[test]
fn the_example_of_the_documentation_can_be_read() {
    let text = include_str!("../../../docs/sweep.md");
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let path = PathScenario::read("x", &Source::built_in(FileKind::PATH, "docs", example));
    let path = path.map_err(|failure| failure.to_string()).unwrap();
    assert!(!path.is_alike());
}
