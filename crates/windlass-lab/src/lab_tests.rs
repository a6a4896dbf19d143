use std::collections::BTreeSet;
use std::path::Path;

use windlass_base::{Bytes, Span};
use windlass_sim::Habits;
use windlass_sim::device::{AckPolicy, Drain, Window};

use super::file::{FileKind, Source};
use super::*;

const HEAD: &str = "name = \"x\"\nabout = \"x\"\nsource = \"x\"\n[services]\nraw = 9100\n";

fn profile(text: &str) -> Result<Profile, String> {
    let source = Source::built_in(FileKind::PROFILE, "x.toml", &format!("{HEAD}{text}"));
    Profile::read("x", &source).map_err(|failure| failure.to_string())
}

/// A reader without files: built-in profiles and scenarios need none.
fn no_files(path: &Path) -> std::io::Result<String> {
    panic!("{}", path.display())
}

fn scenario(text: &str) -> String {
    Scenario::named("./x.toml", &|_| Ok(text.to_owned())).unwrap_err().to_string()
}

#[test]
fn everything_that_is_built_in_can_be_read_and_is_told_apart() {
    let mut names = BTreeSet::new();
    for (id, _) in built_in::PROFILES {
        let profile = Profile::built_in(id).unwrap().unwrap();
        assert!(names.insert((profile.full_name(), profile.raw, profile.lpr)), "{id}");
    }
    for (id, _) in built_in::SCENARIOS {
        assert!(!Scenario::named(id, &no_files).unwrap().rows.is_empty(), "{id}");
    }
}

/// The files are what `include_str!` names: none is forgotten.
#[test]
fn every_file_is_built_in() {
    let files = |folder: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.to_str().unwrap().trim_end_matches(".toml").to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let known = |list: &[(&str, &str)]| list.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(files("profiles"), known(built_in::PROFILES));
    assert_eq!(files("scenarios"), known(built_in::SCENARIOS));
    assert_eq!(files("paths"), known(built_in::PATHS));
}

#[test]
fn what_a_profile_leaves_out_is_as_it_should_be() {
    assert_eq!(profile("").unwrap().habits, Habits::HEALTHY);
}

#[test]
fn a_profile_says_each_habit() {
    let text = "[tcp]\nmss = 512\nwindow = { buffer = \"1MB\" }\nwindow-scale = 5\n\
        window-updates = \"never\"\nleast-opening = 1\ntakes-window-back = true\nsack = false\nd-sack = true\n\
        timestamps = true\nhandshake-delay = \"1 ms\"\nkeeps-out-of-order = false\n\
        retransmission = \"3s\"\nconnections = 1\nidle = \"1min\"\nclose = { keep-open = \"5s\" }\n\
        loss = \"1%\"\ncorruption = \"2%\"\n\
        [ack]\nwhen = { every-second = { timer = \"200ms\" } }\nlatency = \"3 ms ± 1 ms\"\n\
        small-segments = { up-to = \"0\", latency = \"1 ms\" }\npush = true\n\
        [reading]\ndrain = { at-rate = { rate = \"1MB/s\", chunk = \"4096\" } }\n\
        stalls = { every = { time = \"10s\" }, lasting = \"1s\" }\nanswer-latency = \"2ms\"\n";
    let habits = profile(text).unwrap().habits;
    assert_eq!(habits.window, Window::Buffer(Bytes::new(1_000_000)));
    assert_eq!(habits.ack, AckPolicy::EverySecond { timer: Span::from_millis(200) });
    assert_eq!(habits.ack_latency.spread, Span::from_millis(1));
    assert!(matches!(habits.drain, Drain::Rate { .. }));
    // No two habits got mixed up, and none was forgotten.
    let shown = format!("{habits:?}");
    let healthy = format!("{:?}", Habits::HEALTHY);
    let fields = |text: &str| -> Vec<String> {
        text.split(", ")
            .filter_map(|part| part.split_once(": "))
            .map(|(_, value)| value.to_owned())
            .collect()
    };
    assert_ne!(fields(&shown), fields(&healthy));
    insta::assert_snapshot!(format!("{habits:#?}"));
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_what_is_allowed() {
    for (text, told) in [
        (
            "[tcp]\nwindw = 1\n",
            "line 7, `windw = 1`: unknown field `windw`, expected one of `mss`,",
        ),
        (
            "[ack]\nlatency = \"117\"\n",
            "line 7, `latency = \"117\"`: `117` is not allowed: write a time with its unit",
        ),
        (
            "[ack]\nlatency = 117\n",
            "line 7, `latency = 117`: `117` is not allowed: expected a time with its unit",
        ),
        (
            "[ack]\nwhen = \"often\"\n",
            "line 7, `when = \"often\"`: unknown variant `often`, expected one of `every-segment`,",
        ),
        ("[ack]\n\n\nlatency = \"1ms ± 2ms\"\n", "line 9,"),
        (
            "[tcp]\nwindow = { fixed = \"70000\" }\n",
            "line 7, `window = { fixed = \"70000\" }`: with this `window-scale`, or none, a window is at most 65535 bytes",
        ),
        (
            "[tcp]\nwindow-scale = 15\n",
            "line 7, `window-scale = 15`: a window scale is from 0 to 14",
        ),
        ("[tcp]\nmss = 20\n", "line 7, `mss = 20`: an MSS is from 64 to 65535"),
        ("[tcp]\nloss = 5\n", "line 7,"),
        ("[tcp]\nmss = \n", "line 7,"),
    ] {
        let wrong = profile(text).unwrap_err();
        assert!(wrong.starts_with("cannot read the profile x.toml: "), "{wrong}");
        assert!(wrong.contains(told), "{text}: {wrong}");
        assert!(!wrong.contains('\n'), "{wrong}");
    }
    let nothing = Source::built_in(FileKind::PROFILE, "x.toml", "name = \"x\"\n");
    let wrong = Profile::read("x", &nothing).unwrap_err().to_string();
    assert_eq!(wrong, "cannot read the profile x.toml: missing field `about`");
    let mute = HEAD.replace("raw = 9100\n", "");
    let wrong =
        Profile::read("x", &Source::built_in(FileKind::PROFILE, "x.toml", &mute)).unwrap_err();
    assert!(
        wrong.to_string().contains("line 4, `[services]`: a device needs at least one service"),
        "{wrong}"
    );
}

#[test]
fn a_scenario_is_checked_as_well() {
    let head = "title = \"x\"\nshows = \"x\"\nbytes = \"1kB\"\n";
    let row = |device: &str, method: &str| {
        format!("[[row]]\ndevice = \"{device}\"\nmethod = \"{method}\"\n")
    };
    for (text, told) in [
        (
            row("teapot", "raw"),
            "line 5, `device = \"teapot\"`: there is no profile `teapot`; a device is one of hawking-h-ps1u,",
        ),
        (
            row("hawking-h-ps1u", "raw"),
            "line 6, `method = \"raw\"`: Hawking H-PS1U serves only lpr",
        ),
        (
            row("healthy", "ipp"),
            "line 6, `method = \"ipp\"`: unknown variant `ipp`, expected `raw` or `lpr`",
        ),
        (
            row("healthy", "raw").repeat(2),
            "line 8, `device = \"healthy\"`: another row has the same device and method",
        ),
        (row("./none.toml", "raw"), "cannot read the profile "),
        (String::new(), "missing field `row`"),
        ("row = []\n".to_owned(), "a scenario has at least one [[row]]"),
        (
            "[sender]\nkind = \"windows\"\n".to_owned() + &row("healthy", "raw"),
            "line 5, `kind = \"windows\"`: unknown variant `windows`",
        ),
    ] {
        let wrong = scenario(&format!("{head}{text}"));
        assert!(wrong.contains(told), "{text}: {wrong}");
    }
}

#[test]
fn a_row_takes_what_it_does_not_say_from_its_scenario() {
    let scenario = Scenario::named("imagen", &no_files).unwrap();
    let buffers: Vec<Option<Bytes>> =
        scenario.rows.iter().map(|row| row.sender_settings(row.bytes).send_buffer).collect();
    let (small, large) = (Some(Bytes::new(2_048)), Some(Bytes::new(6_144)));
    assert_eq!(buffers, [small, large, small, large]);
    assert!(scenario.rows.iter().all(|row| row.link.rate.is_some()));
    let names: Vec<String> = scenario.rows.iter().map(Row::file_name).collect();
    assert_eq!(names[0], "imagen-v2-raw-send-buffer-2048.pcap");
    let printers = Scenario::named("print-servers", &no_files).unwrap();
    assert_eq!(printers.rows[0].file_name(), "hawking-h-ps1u-lpr.pcap");
    assert_eq!(printers.rows[5].file_name(), "hp-laserjet-4100n-raw.pcap");
}

fn manual() -> &'static str {
    include_str!("../../../docs/profiles.md")
}

#[test]
fn the_manuals_examples_are_right() {
    let manual = manual();
    let blocks: Vec<&str> = manual.split("```toml\n").skip(1).collect();
    let [profile, scenario] = blocks[..] else { panic!("{} examples", blocks.len()) };
    let example = |block: &str| block.split("```").next().unwrap().to_owned();
    // Paths are the same with a "." in them and without.
    let files = [("folder/my-printer.toml", profile), ("folder/mine.toml", scenario)];
    let read = |path: &Path| {
        let (_, text) = files.iter().find(|(name, _)| path == Path::new(name)).unwrap();
        Ok(example(text))
    };
    assert_eq!(Scenario::named("folder/mine.toml", &read).unwrap().rows.len(), 2);
}

#[test]
fn the_manual_has_every_field() {
    let manual = manual();
    let row = "[[row]]\ndevice = \"healthy\"\nmethod = \"raw\"\n";
    let of_scenario = |text: &str| {
        scenario(&format!("title = \"x\"\nshows = \"x\"\nbytes = \"1kB\"\n{row}{text}"))
    };
    let wrongs = [
        profile("[tcp]\nx = 1\n").unwrap_err(),
        profile("[ack]\nx = 1\n").unwrap_err(),
        profile("[reading]\nx = 1\n").unwrap_err(),
        profile("[ack]\nwhen = \"x\"\n").unwrap_err(),
        profile("[tcp]\nwindow-updates = \"x\"\n").unwrap_err(),
        profile("[reading]\ndrain = \"x\"\n").unwrap_err(),
        of_scenario("x = 1\n"),
        of_scenario("documented = { x = 1 }\n"),
        of_scenario("[sender]\nx = 1\n"),
        of_scenario("[link]\nx = 1\n"),
    ];
    for wrong in wrongs {
        let (_, fields) = wrong.split_once("expected").unwrap();
        for field in fields.split('`').skip(1).step_by(2) {
            assert!(manual.contains(field), "{field}: {wrong}");
        }
    }
}

#[test]
fn a_change_is_made_where_a_row_has_the_setting() {
    let row = &Scenario::named("imagen", &no_files).unwrap().rows[0];
    let made = |text: &str| {
        let (mut row, mut sender) = (row.clone(), row.sender_settings(row.bytes));
        what_if::changes(text).unwrap().make(&mut row, &mut sender).map(|()| (row, sender))
    };
    let (changed, sender) = made("window=8192,send-buffer=6144,ack-latency=0").unwrap();
    let habits = changed.profile.habits;
    assert_eq!(habits.window, Window::Fixed(Bytes::new(8_192)));
    assert_eq!((habits.ack, habits.window_scale), (AckPolicy::EverySegment, None));
    assert_eq!(sender.send_buffer, Some(Bytes::new(6_144)));
    // One connection, a link that is alike both ways, a reader and a policer that are not there,
    // and a window beyond what a sender without window scaling reads.
    for text in ["streams=4", "ack-loss=0", "read-rate=1MB/s", "policer=1MB/s", "window=100000"] {
        assert!(made(text).is_none(), "{text}");
    }
}
