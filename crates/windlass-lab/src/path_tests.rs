//! Path scenarios: what they mean, and what they are refused for.

use windlass_sim::segment::line_bytes;

use super::*;
use crate::built_in;

const HEAD: &str = "title = \"x\"\nshows = \"y\"\n";
const HOP: &str = "[[hop]]\nrate = \"100 Mb/s\"\ndelay = \"5 ms\"\n";

fn read(text: &str) -> Result<PathScenario, String> {
    let source = Source::built_in(Kind::PATH, "x.toml", &format!("{HEAD}{text}"));
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
        assert!(path.is_alike() && !path.has_chance(), "{id}");
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
    let bottleneck = |id: &str| {
        PathScenario::named(id, &|path| panic!("{}", path.display()))
            .unwrap()
            .bottleneck(false)
            .bits_per_second()
    };
    assert!((bottleneck("gigabit") - 1e9).abs() < 1.0);
    assert!((bottleneck("white-space") - 89e6).abs() < 1.0);
    assert!((bottleneck("long-fat") - 500e6).abs() < 1.0);
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
    assert!((path.bottleneck(true).bits_per_second() - 10e6).abs() < 1.0);
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
    for more in
        ["jitter = \"1 ms\"", "reorder = \"1%\"\nreorder-by = \"1 ms\"", "corruption = \"1%\""]
    {
        assert!(chance(&format!("{HOP}{more}\n")), "{more}");
    }
    assert!(chance(&format!("[receiver.tcp]\nloss = \"1%\"\n{HOP}")));
    assert!(chance(&format!("[receiver.ack]\nlatency = \"2 ms ± 1 ms\"\n{HOP}")));
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    assert!(wrong("").contains("missing field `hop`"), "{}", wrong(""));
    assert!(wrong("hop = []\n").contains("one [[hop]] at least"), "{}", wrong("hop = []\n"));
    let no_rate = wrong("[[hop]]\ndelay = \"1 ms\"\n");
    assert!(no_rate.contains("line 3, `[[hop]]`: missing `rate`"), "{no_rate}");
    let unknown = wrong("[[hop]]\nspeed = \"1 Mb/s\"\n");
    assert!(unknown.contains("line 4") && unknown.contains("unknown field `speed`"), "{unknown}");
    let unit = wrong("[[hop]]\nrate = \"100\"\n");
    assert!(unit.contains("line 4, `rate = \"100\"`") && unit.contains("100mbit"), "{unit}");
    let backs = wrong(&format!("{HOP}{HOP}[[back]]\nrate = \"1 Mb/s\"\n"));
    assert!(
        backs.contains("line 9") && backs.contains("as many hops as the way there, 2"),
        "{backs}"
    );
    let long = wrong(&format!("time = \"11 min\"\n{HOP}"));
    assert!(long.contains("line 3") && long.contains("10 min 0 s at most"), "{long}");
    let window = wrong(&format!("[receiver.tcp]\nwindow = {{ fixed = 1000 }}\n{HOP}"));
    assert!(window.contains("line 4") && window.contains("a sweep sets"), "{window}");
    let scale = wrong(&format!("[receiver.tcp]\nwindow-scale = 3\n{HOP}"));
    assert!(scale.contains("a sweep sets"), "{scale}");
    let large = wrong("[[hop]]\nrate = \"1 Tb/s\"\ndelay = \"1 s\"\n");
    assert!(large.contains("line 3") && large.contains("1,073,725,440 B"), "{large}");
    let deep = wrong("[[hop]]\nrate = \"1 Mb/s\"\nqueue = \"2 GB\"\n");
    assert!(deep.contains("1,073,725,440 B"), "{deep}");
    let many = wrong(&HOP.repeat(65));
    assert!(many.contains("64 hops at most"), "{many}");
}

#[test]
fn the_example_of_the_documentation_can_be_read() {
    let text = include_str!("../../../docs/sweep.md");
    let example = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let path = PathScenario::read("x", &Source::built_in(Kind::PATH, "docs", example));
    let path = path.map_err(|failure| failure.to_string()).unwrap();
    assert!(!path.is_alike());
}
