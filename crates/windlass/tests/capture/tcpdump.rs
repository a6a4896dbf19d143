//! Comparison with tcpdump, at the same time and on the same interface.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use windlass_sys::generator::{self, Frame, Generator, Load, LoadEnd};
use windlass_sys::process::{Process, Signal};

use super::rotated::until;
use super::{AtomicBool, BTreeSet, Wire, count, held, schema, windlass};
use windlass_testkit::{has, skipped, told};

/// A tcpdump that captures.
pub(super) struct Tcpdump {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Tcpdump {
    /// Starts it in `right`, and waits until it listens.
    pub(super) fn start(wire: &Wire, arguments: &[&str]) -> Self {
        let mut command = Command::new("tcpdump");
        command.args(["-n", "-Z", "root"]).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        wire.right.enter(&mut command);
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("listening on") {
            let read = stderr.read_line(&mut told).unwrap();
            assert!(read > 0, "tcpdump {arguments:?}: {told}");
        }
        Self { child, stderr }
    }

    /// Ends it; gives how many packets its filter let through, as the kernel
    /// counted them.
    pub(super) fn received(mut self) -> u64 {
        Process::of_child(self.child.id()).unwrap().signal(Signal::INT);
        self.told()
    }

    /// Returns tcpdump's count after it ends by itself.
    pub(super) fn told(&mut self) -> u64 {
        let mut told = String::new();
        self.stderr.read_to_string(&mut told).unwrap();
        self.child.wait().unwrap();
        let line = told.lines().find(|line| line.contains("received by filter"));
        let number = line.and_then(|line| line.split(' ').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("{told}"))
    }
}

/// A frame with tags behind its addresses.
fn tagged(mut frame: Vec<u8>, tags: &[(u16, u16)]) -> Vec<u8> {
    let bytes = tags.iter().flat_map(|(kind, tag)| [kind.to_be_bytes(), tag.to_be_bytes()]);
    let at = 12;
    frame.splice(at..at, bytes.flatten());
    frame
}

/// A short frame, in which there is room for tags. Nobody looks at its checksums.
fn short(protocol: u8) -> Vec<u8> {
    let mut frame = Wire::frame();
    frame.truncate(14 + 20 + 20 + 6);
    frame[14 + 9] = protocol;
    frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
    frame
}

/// Sends the traffic. The interface of a VLAN adds the tag to its packets.
fn traffic(wire: &Wire, vlan: Option<&str>) -> u64 {
    let (udp, tcp) = (short(17), short(6));
    let five = [(0x8100, 5)];
    let frames = [
        (1, "left", udp.clone()),
        (2, "left", tcp.clone()),
        (4, "left", tagged(udp.clone(), &five)),
        (8, "left", tagged(tcp, &five)),
        (16, "left", tagged(udp.clone(), &[(0x8100, 0x6007)])),
        (32, "left", tagged(udp.clone(), &[(0x88a8, 5), (0x8100, 6)])),
        match vlan {
            Some(vlan) => (64, vlan, udp),
            None => (64, "left", tagged(udp, &[(0x8100, OTHER)])),
        },
    ];
    let send = |(packets, interface, bytes): &(u64, &str, Vec<u8>)| {
        let mut generator = Generator::open(interface, Some(&wire.left)).unwrap();
        let frame = Frame { bytes, number_at: None };
        let load = Load { frame, rate: None, until: LoadEnd::Packets(*packets) };
        let sent = generator::run(&mut generator, &load, &AtomicBool::new(false));
        assert!(sent.failure.is_none(), "{:?}", sent.failure);
        sent.packets
    };
    frames.iter().map(send).sum()
}

/// 261 is 5 in its lower eight bits: a filter that looked at fewer than twelve
/// would take it.
const OTHER: u16 = 261;

#[test]
fn a_vlan_is_filtered_as_by_tcpdump() {
    let test = "a_vlan_is_filtered_as_by_tcpdump";
    if !has("tcpdump", test) {
        return;
    }
    let Some(wire) = Wire::make(test) else { return };
    let vlan = wire.left.add_vlan("left", "left.261", OTHER);
    let vlan = vlan.and_then(|()| wire.left.bring_up("left.261")).map(|()| "left.261");
    let vlan = vlan.inspect_err(|refused| {
        skipped(test, &format!("tags are put in by the sender, not by Linux: {refused}"));
    });
    let vlan = vlan.ok();
    let cases = [
        ("vlan", 124),
        ("vlan 5", 44),
        ("vlan 5 and tcp", 8),
        ("vlan 5 and udp dst port 9", 4),
        ("vlan 261", 64),
        // Each `vlan` looks behind the tag of the one before (man pcap-filter).
        ("vlan 7 or vlan 261", 16),
        ("vlan 5 and vlan 6", 32),
        ("not vlan", 3),
        ("tcp or vlan 7", 26),
        ("udp and not vlan 5", 81),
        ("vlan and host 192.0.2.2", 92),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (number, (expression, expected)) in cases.into_iter().enumerate() {
        let file = folder.path().join(format!("{number}.pcapng"));
        let arguments = ["right", "-w", file.to_str().unwrap(), "--json", expression];
        let running = wire.capture(&arguments, &file);
        let theirs = Tcpdump::start(&wire, &["-i", "right", "-w", "/dev/null", expression]);
        assert_eq!(traffic(&wire, vlan), 127);
        let theirs = theirs.received();
        let report = running.stop(Signal::INT);
        let ours = count(&report, "received");
        assert_eq!((ours, theirs), (expected, expected), "{expression}: ours and theirs");
        assert_eq!(held(&file).packets, expected, "{expression}");
    }
}

#[test]
fn the_interfaces_are_those_that_tcpdump_lists() {
    let test = "the_interfaces_are_those_that_tcpdump_lists";
    let Some(wire) = Wire::make(test) else { return };
    wire.right.add_address("right", [192, 0, 2, 2].into(), 24).unwrap();
    wire.right.add_veth("down", &wire.right, "other").unwrap();
    let listed = |program: &mut Command| {
        wire.right.enter(program);
        told(&program.output().unwrap())
    };
    // The kernel notices a carrier a moment after the interface is up.
    let is_running = || {
        let (json, _, _) = listed(windlass().args(["capture", "-D", "--json"]));
        let record: serde_json::Value = serde_json::from_str(&json).unwrap();
        let all = record["interfaces"].as_array().unwrap();
        all.iter().any(|one| one["name"] == "right" && one["running"] == true)
    };
    until(is_running, || ());
    let (text, stderr, code) = listed(windlass().args(["capture", "-D"]));
    assert_eq!((stderr.as_str(), code), ("", 0));
    let line = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    assert!(line("right").contains("192.0.2.2/24, link "), "{text}");
    assert!(line("down").contains("down") && !line("lo").contains("link"), "{text}");
    let (json, _, _) = listed(windlass().args(["capture", "--list-interfaces", "--json"]));
    let record = schema::checked("capture-interfaces", &json);
    let all = record["interfaces"].as_array().unwrap();
    let of = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(of("right")["addresses"], serde_json::json!(["192.0.2.2/24"]));
    let state = |name: &str| (of(name)["up"].clone(), of(name)["running"].clone());
    assert_eq!(state("right"), (true.into(), true.into()));
    assert_eq!(state("down"), (false.into(), false.into()));
    assert_eq!((&of("lo")["loopback"], &of("right")["mtu_bytes"]), (&true.into(), &1_500.into()));
    if !has("tcpdump", test) {
        return;
    }
    // tcpdump lists what is no interface of the network, too: it says of what kind.
    let (theirs, _, _) = listed(Command::new("tcpdump").arg("-D"));
    let theirs: BTreeSet<(&str, bool)> = theirs
        .lines()
        .filter(|line| !line.contains(" ("))
        .map(|line| {
            let (name, state) = line.split_once(' ').unwrap_or((line, ""));
            (name.split_once('.').unwrap().1, state.contains("Up"))
        })
        .collect();
    let ours: BTreeSet<(&str, bool)> =
        all.iter().map(|one| (one["name"].as_str().unwrap(), one["up"] == true)).collect();
    assert_eq!(ours, theirs);
}
