//! Every device × sender × congestion control: the verdict by packets, by the kernel, and in
//! virtual time.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::common::{Bound, Part};
use crate::program::{is_there, windlass};
use crate::setup::{DEVICES, Device, allowed, beside, cause, explained, print};

/// Sending program.
#[derive(Clone, Copy)]
enum Sender {
    /// A shell's line: `$1` has so many bytes, `$2` is a file for them, and `$3` the
    /// congestion control.
    Other(&'static str, &'static str),
    /// `windlass print`, to this.
    Print(&'static str, &'static str),
}

const PYTHON: &str = r#"exec python3 -c 'import socket, sys
left = int(sys.argv[1])
to = socket.socket()
to.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
to.connect(("192.0.2.2", 9100))
while left > 0:
    part = min(left, 65536)
    to.sendall(bytes(part))
    left -= part
to.shutdown(socket.SHUT_WR)
while to.recv(65536):
    pass' "$1" "$3""#;

const NC: &str = r#"head -c "$1" /dev/zero | nc -N 192.0.2.2 9100"#;

const SOCKET: &str = r#"head -c "$1" /dev/zero > "$2" && DEVICE_URI=socket://192.0.2.2:9100 exec /usr/lib/cups/backend/socket 1 ann test 1 "" "$2""#;

const LPD: &str = r#"head -c "$1" /dev/zero > "$2" && DEVICE_URI=lpd://192.0.2.2/lp exec /usr/lib/cups/backend/lpd 1 ann test 1 "" "$2""#;

const IPP: &str = r#"head -c "$1" /dev/zero > "$2" && DEVICE_URI=ipp://192.0.2.2/ipp/print CONTENT_TYPE=application/octet-stream exec /usr/lib/cups/backend/ipp 1 ann test 1 "" "$2""#;

const SENDERS: [Sender; 8] = [
    Sender::Print("print raw", "socket://192.0.2.2:9100"),
    Sender::Print("print lpr", "lpd://192.0.2.2/lp"),
    Sender::Print("print ipp", "ipp://192.0.2.2"),
    Sender::Other("python3", PYTHON),
    Sender::Other("nc", NC),
    Sender::Other("cups socket", SOCKET),
    Sender::Other("cups lpd", LPD),
    Sender::Other("cups ipp", IPP),
];

/// Results of the cells of a device.
#[derive(Default)]
struct Counts {
    cells: u32,
    right: u32,
    wrong_and_high: u32,
    kernel: u32,
    kernel_right: u32,
    kernel_open: u32,
    kernel_wrong_and_high: u32,
}

impl Sender {
    const fn name(self) -> &'static str {
        match self {
            Self::Other(name, _) | Self::Print(name, _) => name,
        }
    }

    /// Returns whether the sender chooses its congestion control itself.
    fn chooses(self) -> bool {
        matches!(self, Self::Print(..) | Self::Other("python3", _))
    }

    fn is_there(self) -> bool {
        match self {
            Self::Print(..) => true,
            Self::Other(name, _) => match name.strip_prefix("cups ") {
                Some(backend) => {
                    let is_there = Path::new("/usr/lib/cups/backend").join(backend).exists();
                    if !is_there {
                        println!("skipped: {name}: CUPS's backends are not installed");
                    }
                    is_there
                }
                None => is_there(name),
            },
        }
    }

    /// The verdicts by packets and by the kernel.
    fn send(self, device: &Device, congestion: &str, folder: &Path) -> Result<(Value, Value)> {
        let keep = folder.join("kept.pcapng");
        let _ = std::fs::remove_file(&keep);
        match self {
            Self::Print(_, to) => {
                let device = ((device.profile, device.link), device.bytes);
                let mut report = print(device.0, congestion, (to, device.1), &[], &keep)?;
                let packets = report["packets"]["connection"]["verdict"].take();
                Ok((packets, report["kernel_verdict"].take()))
            }
            Self::Other(_, script) => {
                let (bytes, file) = (device.bytes.to_string(), folder.join("job"));
                let file = file.to_str().context("the folder is no text")?;
                let command = ["sh", "-c", script, "sh", &bytes, file, congestion];
                let by_system = Some(congestion).filter(|_| !self.chooses());
                beside(device.profile, device.link, by_system, &command, &keep)?;
                Ok((explained(&keep, &[])?["verdict"].take(), Value::Null))
            }
        }
    }
}

/// Returns the verdict on each profile in virtual time.
fn in_virtual_time() -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for scenario in ["print-servers", "imagen", "small-stacks"] {
        let output = windlass().args(["lab", "--json", scenario]).output()?;
        let record: Value = serde_json::from_slice(&output.stdout)?;
        for row in record["rows"].as_array().context("no rows")? {
            let profile = row["profile"].as_str().unwrap_or_default().to_owned();
            // Of several settings the last is the one without a small send buffer.
            all.insert(profile, cause(&row["verdict"]));
        }
    }
    Ok(all)
}

pub(crate) fn measure(quick: bool) -> Result<Part> {
    let folder = tempfile::tempdir()?;
    let controls: &[&str] = if quick { &["cubic"] } else { &["cubic", "reno", "bbr"] };
    let wanted = if quick { &SENDERS[..4] } else { &SENDERS[..] };
    let senders: Vec<Sender> = wanted.iter().copied().filter(|one| one.is_there()).collect();
    let names: Vec<&str> = senders.iter().map(|one| one.name()).collect();
    let about = format!(
        "{} × {}: how many of the cells are right, by the packets; of windlass print's own jobs \
         also by its kernel, right or left open between causes of which one is right",
        names.join(", "),
        controls.join(", ")
    );
    let columns = ["", "holds it", "virtual time", "packets", "kernel", "kernel open"];
    let mut part = Part::new("square", about, &columns);
    let virtual_time = in_virtual_time()?;
    let allowed = allowed();
    let left_out = |control: &&&str| allowed.iter().all(|one| one != *control);
    for control in controls.iter().filter(left_out) {
        part.note(format!(
            "this system lets no namespace choose {control}: nc and CUPS's backends are not run \
             with it"
        ));
    }
    let (mut sum, mut others) = (Counts::default(), Vec::new());
    for device in &DEVICES {
        let mut counts = Counts::default();
        for sender in &senders {
            let possible =
                |control: &&&str| sender.chooses() || allowed.iter().any(|one| one == *control);
            for congestion in controls.iter().filter(possible) {
                let (packets, kernel) = sender.send(device, congestion, folder.path())?;
                let cell = format!("{}, {}, {congestion}", device.profile, sender.name());
                counts.add(device.cause, &packets, &kernel, &cell, &mut others);
            }
        }
        part.row([
            device.profile.to_owned(),
            device.cause.to_owned(),
            virtual_time.get(device.profile).cloned().unwrap_or_default(),
            format!("{} of {}", counts.right, counts.cells),
            format!("{} of {}", counts.kernel_right, counts.kernel),
            counts.kernel_open.to_string(),
        ]);
        sum.join(&counts);
    }
    let share = f64::from(sum.right) / f64::from(sum.cells.max(1));
    part.figure("right by the packets, as a share", share, Some(Bound::Least(0.97)));
    part.figure(
        "wrong and high by the packets",
        f64::from(sum.wrong_and_high),
        Some(Bound::Most(0.0)),
    );
    let told = f64::from(sum.kernel_right + sum.kernel_open);
    let share = told / f64::from(sum.kernel.max(1));
    part.figure("right or left open by the kernel, as a share", share, Some(Bound::Least(0.97)));
    part.figure(
        "wrong and high by the kernel",
        f64::from(sum.kernel_wrong_and_high),
        Some(Bound::Most(0.0)),
    );
    others.into_iter().for_each(|other| part.note(other));
    Ok(part)
}

impl Counts {
    fn add(
        &mut self,
        truth: &str,
        packets: &Value,
        kernel: &Value,
        cell: &str,
        others: &mut Vec<String>,
    ) {
        self.cells += 1;
        if cause(packets) == truth {
            self.right += 1;
        } else {
            self.wrong_and_high += u32::from(packets["confidence"] == "high");
            let sure = packets["confidence"].as_str().unwrap_or("-");
            others.push(format!("{cell}: {}, {sure}", cause(packets)));
        }
        if kernel.is_null() {
            return;
        }
        self.kernel += 1;
        let between = kernel["between"].as_array();
        if cause(kernel) == truth {
            self.kernel_right += 1;
        } else if between.is_some_and(|all| all.iter().any(|one| cause(one) == truth)) {
            self.kernel_open += 1;
        } else {
            self.kernel_wrong_and_high += u32::from(kernel["confidence"] == "high");
            let sure = kernel["confidence"].as_str().unwrap_or("-");
            others.push(format!("{cell}, by the kernel: {}, {sure}", cause(kernel)));
        }
    }

    fn join(&mut self, other: &Self) {
        self.cells += other.cells;
        self.right += other.right;
        self.wrong_and_high += other.wrong_and_high;
        self.kernel += other.kernel;
        self.kernel_right += other.kernel_right;
        self.kernel_open += other.kernel_open;
        self.kernel_wrong_and_high += other.kernel_wrong_and_high;
    }
}
