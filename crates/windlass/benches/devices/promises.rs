//! Changes that are made to a device, its path or its sender, and what `--what-if` had said.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::common::{Bound, Part};
use crate::program::{is_there, number};
use crate::setup::{DEVICES, Device, beside, explained, print};

/// Maximum error of promises: of nine in ten, and of all.
const NEAR: f64 = 0.15;
const FAR: f64 = 0.3;

/// Possible changes, as `--what-if` takes them.
const CHANGES: [&str; 28] = [
    "window=1460",
    "window=2048",
    "window=2920",
    "window=4096",
    "window=8760",
    "window=16384",
    "window=32768",
    "window=65535",
    "ack-latency=200us",
    "ack-latency=1ms",
    "ack-latency=5ms",
    "ack-latency=20ms",
    "ack-latency=50ms",
    "rtt=1ms",
    "rtt=5ms",
    "rtt=20ms",
    "loss=0",
    "loss=1%",
    "loss=3%",
    "mss=536",
    "mss=1000",
    "read-rate=50kB/s",
    "read-rate=400kB/s",
    "send-buffer=1460",
    "send-buffer=4096",
    "send-buffer=16384",
    "streams=2",
    "streams=4",
];

/// A sender of `$1` bytes over `$2` connections, of which each holds at most `$3` that are not
/// acknowledged: by what the kernel says of its queue. It says what passed in each second, from
/// the first byte written to the last acknowledged, or to that of eight seconds.
const SENDER: &str = r#"
import fcntl, socket, struct, sys, termios, time
total, streams, most = (int(word) for word in sys.argv[1:4])
left = [total // streams] * streams
connections = []
for _ in left:
    to = socket.socket()
    to.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    to.connect(("192.0.2.2", 9100))
    to.setblocking(False)
    connections.append(to)
queued = lambda to: struct.unpack("i", fcntl.ioctl(to, termios.TIOCOUTQ, bytes(4)))[0]
began = time.monotonic()
bytes_in = lambda: total // streams * streams - sum(left) - sum(map(queued, connections))
while (any(left) or any(map(queued, connections))) and time.monotonic() < began + 8:
    for place, to in enumerate(connections):
        room = min(most - queued(to), left[place], 1 << 20)
        if room > 0:
            try:
                left[place] -= to.send(bytes(room))
            except BlockingIOError:
                pass
    time.sleep(20e-6)
print(bytes_in() / (time.monotonic() - began))
"#;

/// Value for no bound.
const NO_BOUND: u64 = 1 << 30;

/// A sequence of numbers from a seed (`SplitMix64`, Steele, Lea and Flood 2014).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).unwrap_or(0)
    }
}

/// A device's profile as text, with its raw port at 9100.
fn profile(name: &str) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../windlass-lab/profiles");
    let text = fs::read_to_string(path.join(format!("{name}.toml")))?;
    let lines = text.lines().filter(|line| !line.starts_with("raw = "));
    let text: Vec<&str> = lines.collect();
    Ok(text.join("\n").replace("[services]", "[services]\nraw = 9100"))
}

/// The value behind a key of a line, without its quotes and what follows.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    line.split('"').nth(1)
}

/// The profile with a change made to it; the same where it is none of the device.
fn changed(text: &str, key: &str, value: &str) -> String {
    let edit = |change: &dyn Fn(&str) -> Option<String>| {
        let lines = text.lines().filter_map(change);
        lines.collect::<Vec<_>>().join("\n")
    };
    match key {
        "window" if !text.contains("window = {") => {
            format!("{text}\n[tcp]\nwindow = {{ buffer = \"{value}\" }}\n")
        }
        "window" => edit(&|line| {
            let kind = line.strip_prefix("window = { ").and_then(|rest| rest.split(' ').next());
            Some(kind.map_or_else(
                || line.to_owned(),
                |kind| format!("window = {{ {kind} = \"{value}\" }}"),
            ))
        }),
        "ack-latency" => {
            // What the device takes for a SYN, too, an analysis has for the path's.
            let own = value_of(text, "handshake-delay").and_then(|span| span.strip_suffix(" ms"));
            let own: f64 = own.and_then(|own| own.parse().ok()).unwrap_or(0.0);
            let wanted = match value.strip_suffix("us") {
                Some(micros) => micros.parse::<f64>().unwrap_or(0.0),
                None => value.trim_end_matches("ms").parse::<f64>().unwrap_or(0.0) * 1e3,
            };
            let latency = format!("{} us", wanted + own * 1e3);
            if text.contains("share = \"100 %\"") {
                // Its latency is that of its timer.
                return text.replace("timer = \"100 ms\"", &format!("timer = \"{latency}\""));
            }
            let text = edit(&|line| {
                let is_own = line.starts_with("latency = ") || line.starts_with("small-segments");
                (!is_own).then(|| line.to_owned())
            });
            let text = if text.contains("[ack]") { text } else { format!("{text}\n[ack]\n") };
            text.replace("[ack]", &format!("[ack]\nlatency = \"{latency}\""))
        }
        "read-rate" => {
            let drain =
                format!("drain = {{ at-rate = {{ rate = \"{value}\", chunk = \"1460\" }} }}");
            let text = edit(&|line| (!line.starts_with("drain = ")).then(|| line.to_owned()));
            let has_table = text.contains("[reading]");
            let text = if has_table { text } else { format!("{text}\n[reading]\n") };
            text.replace("[reading]", &format!("[reading]\n{drain}"))
        }
        _ => text.to_owned(),
    }
}

/// Loss of a path before a change to no loss.
const LOSS: &str = "2%";

/// The links before and after a change.
fn links(link: &str, key: &str, value: &str) -> [String; 2] {
    let lossy = |share: &str| format!("{link} --loss {share}");
    match (key, value) {
        ("rtt", _) => [link.to_owned(), with_rtt(link, value)],
        ("loss", "0") => [lossy(LOSS), link.to_owned()],
        ("loss", _) => [link.to_owned(), lossy(value)],
        _ => [link.to_owned(), link.to_owned()],
    }
}

/// The link with another round trip.
fn with_rtt(link: &str, rtt: &str) -> String {
    let mut words: Vec<&str> = link.split_whitespace().collect();
    if let Some(place) = words.iter().position(|word| *word == "--rtt") {
        words.drain(place..place + 2);
    }
    format!("{} --rtt {rtt}", words.join(" "))
}

/// Promise for a change, and its effect.
struct TriedRemedy {
    expected: Option<f64>,
    is_promise: bool,
    measured: f64,
}

fn tried(device: &Device, change: &str, folder: &Path) -> Result<TriedRemedy> {
    let (key, value) = change.split_once('=').context("a change has a value")?;
    let text = profile(device.profile)?;
    let (before, after) = (folder.join("before.toml"), folder.join("after.toml"));
    fs::write(&before, &text)?;
    fs::write(&after, changed(&text, key, value))?;
    let keep = folder.join("kept.pcapng");
    let to = ("socket://192.0.2.2:9100", device.bytes);
    let named = |path: &Path| path.to_str().unwrap_or_default().to_owned();
    let links = links(device.link, key, value);
    let _ = fs::remove_file(&keep);
    // A promise is of the sender that was seen.
    if is_by_script(key) {
        by_script(device, 1, NO_BOUND, &keep)?;
    } else {
        print((&named(&before), &links[0]), "cubic", to, &[], &keep)?;
    }
    let answer = explained(&keep, &["--what-if", change])?["what_if"].take();
    let more: &[&str] = if key == "mss" { &["--mss", value] } else { &[] };
    let _ = fs::remove_file(&keep);
    let measured = match key {
        "send-buffer" => by_script(device, 1, value.parse()?, &keep)?,
        "streams" => by_script(device, value.parse()?, NO_BOUND, &keep)?,
        _ => {
            let report = print((&named(&after), &links[1]), "cubic", to, more, &keep)?;
            number(&report, "/transfer/bytes_per_second")?
        }
    };
    Ok(TriedRemedy {
        expected: answer["expected_bytes_per_second"].as_f64(),
        is_promise: answer["promise"] == Value::Bool(true),
        measured,
    })
}

/// Returns whether the change is the sender's, so that another sender than `windlass print` is
/// used.
fn is_by_script(key: &str) -> bool {
    matches!(key, "send-buffer" | "streams")
}

/// The rate, in bytes per second, of another sender over so many connections.
fn by_script(device: &Device, streams: u64, most: u64, keep: &Path) -> Result<f64> {
    let [total, streams, most] = [device.bytes, streams, most].map(|number| number.to_string());
    let command = ["python3", "-c", SENDER, &total, &streams, &most];
    let output = beside(device.profile, device.link, None, &command, keep)?;
    String::from_utf8(output.stdout)?.trim().parse().context("the sender says no rate")
}

pub(crate) fn measure(changes: u64, seed: u64) -> Result<Part> {
    let folder = tempfile::tempdir()?;
    let about = format!(
        "{changes} changes, drawn from the seed {seed}, four to a device at the most: each is made to the \
         device, its path or its sender, and run with cubic by windlass print, or where it is the \
         send buffer or the streams by a sender in Python"
    );
    let mut part = Part::new("promises", about, &["change", "said", "measured", "off", ""]);
    let mut draw = Draw(seed);
    // It says by name that python3 is not there.
    let has_python = is_there("python3");
    let by_python = |change: &str| change.split('=').next().is_some_and(is_by_script);
    let mut possible = CHANGES.to_vec();
    possible.retain(|change| has_python || !by_python(change));
    let (mut promised, mut near, mut far, mut open) = (0.0, 0.0, 0.0, 0.0);
    let each = usize::try_from(changes).unwrap_or(usize::MAX).div_ceil(DEVICES.len());
    for device in &DEVICES {
        let mut left = possible.clone();
        for _ in 0..each.min(left.len()) {
            let change = left.swap_remove(draw.below(left.len()));
            let TriedRemedy { expected, is_promise, measured } =
                tried(device, change, folder.path())?;
            let off = expected.map(|expected| expected / measured - 1.0);
            if is_promise {
                promised += 1.0;
                near += f64::from(u8::from(off.is_some_and(|off| off.abs() <= NEAR)));
                far += f64::from(u8::from(off.is_some_and(|off| off.abs() > FAR)));
            } else {
                open += 1.0;
            }
            let rate = |rate: f64| format!("{:.1} kB/s", rate / 1e3);
            part.row([
                format!("{} {change}", device.profile),
                expected.map_or_else(|| "-".to_owned(), rate),
                rate(measured),
                off.map_or_else(|| "-".to_owned(), |off| format!("{:+.0} %", off * 100.0)),
                (if is_promise { "" } else { "no promise" }).to_owned(),
            ]);
        }
    }
    part.figure("without a promise", open, None);
    part.figure(
        "kept within 15 %, as a share",
        near / f64::max(promised, 1.0),
        Some(Bound::Least(0.9)),
    );
    part.figure("further off than 30 %", far, Some(Bound::Most(0.0)));
    Ok(part)
}
