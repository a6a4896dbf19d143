//! The kernel takes the programs, and runs them as the interpreter does.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use socket2::{Domain, SockFilter, Socket, Type};
use windlass_sys::capture::{self, Capture, CaptureEvent, Settings};
use windlass_sys::namespace::Namespace;
use windlass_wire::filter::{Instruction, Link, PacketFilter, PacketMetadata, Program};

use super::against_libpcap::{LINUX_SLL, library, theirs};
use windlass_testkit::skipped;

const SNAP: u32 = 262_144;
/// The ports to which a datagram is sent in each test.
const SENT: [u16; 3] = [9, 10, 11];
/// The number of `lo` in a namespace of its own.
const LOOPBACK: u32 = 1;

fn instructions(program: &Program) -> Vec<capture::Instruction> {
    let own = |one: &Instruction| capture::Instruction {
        code: one.code,
        if_true: one.if_true,
        if_false: one.if_false,
        value: one.value,
    };
    program.instructions().iter().map(own).collect()
}

/// Sends a datagram to each port in the namespace, while a capture runs; gives
/// the ports that it has seen, and whether the packet was on its way out.
fn seen(namespace: &Namespace, interface: &str, program: &Program) -> BTreeSet<(u16, bool)> {
    let filter = instructions(program);
    let settings = Settings {
        source: capture::Source::Single { buffer: None },
        filter: Some(&filter),
        namespace: Some(namespace),
        ..Settings::default()
    };
    let mut capture = Capture::open(interface, &settings).unwrap();
    let mut command = Command::new("bash");
    namespace.enter(&mut command);
    let script = "for port in 9 10 11; do printf hello > /dev/udp/127.0.0.1/$port; done";
    assert!(command.args(["-c", script]).status().unwrap().success());
    capture.stop().unwrap();
    // Behind the addresses, or from the start on.
    let from = if interface == "any" { 0 } else { 14 };
    let mut seen = BTreeSet::new();
    while let CaptureEvent::Batch(mut batch) = capture.next(Duration::from_secs(1)).unwrap() {
        while let Some(packet) = batch.next() {
            let ip = &packet.data[from..];
            assert_eq!((ip[0], ip[9]), (0x45, 17), "{ip:02x?}");
            let port = u16::from_be_bytes([ip[22], ip[23]]);
            assert!(seen.insert((port, packet.way.is_outgoing())), "{port} twice");
        }
    }
    seen
}

#[test]
fn the_kernel_filters_by_them() {
    let test = "the_kernel_filters_by_them";
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(refused) => return skipped(test, &refused.to_string()),
    };
    let ports = |ports: &[u16], link| {
        let wanted = PacketFilter { ports: ports.to_vec(), ..PacketFilter::default() };
        wanted.compile(link, SNAP).unwrap()
    };
    let both = |ports: &[u16]| -> BTreeSet<(u16, bool)> {
        ports.iter().flat_map(|port| [(*port, true), (*port, false)]).collect()
    };
    let on_lo = |program: &Program| seen(&namespace, "lo", program);
    assert_eq!(on_lo(&ports(&[9], Link::Ethernet)), both(&[9]));
    assert_eq!(on_lo(&ports(&SENT, Link::Ethernet)), both(&SENT));
    assert_eq!(on_lo(&ports(&[12], Link::Ethernet)), both(&[]));

    // Before it, what the kernel knows.
    let one = ports(&[10, 11], Link::Ethernet);
    let then = |first: Program| on_lo(&first.and_then(&one).unwrap());
    assert_eq!(then(Program::only_outgoing()), [(10, true), (11, true)].into());
    assert_eq!(then(Program::only_incoming()), [(10, false), (11, false)].into());
    assert_eq!(then(Program::without_loopback_copies(LOOPBACK)), [(10, false), (11, false)].into());
    assert_eq!(then(Program::without_loopback_copies(LOOPBACK + 1)), both(&[10, 11]));

    // Lists that only long jumps get over. The host is the last.
    let mut wanted = PacketFilter { ports: (10..=300).collect(), ..PacketFilter::default() };
    let others = (1..300).map(|number| Ipv4Addr::from_bits(0x0a00_0000 + number).into());
    wanted.hosts = others.chain([Ipv4Addr::LOCALHOST.into()]).collect();
    let long = wanted.compile(Link::Ethernet, SNAP).unwrap();
    assert!(long.instructions().len() > 1_000);
    assert_eq!(on_lo(&long), both(&[10, 11]));
    wanted.hosts.pop();
    assert_eq!(on_lo(&wanted.compile(Link::Ethernet, SNAP).unwrap()), both(&[]));

    // On all interfaces, without the header of the link.
    let copies = Program::without_loopback_copies(LOOPBACK);
    let on_any = |program: &Program| seen(&namespace, "any", &copies.and_then(program).unwrap());
    assert_eq!(on_any(&ports(&[9], Link::Cooked)), [(9, false)].into());
    let Some(library) = library(test) else { return };
    let program = theirs(&library, "udp dst port 11", LINUX_SLL).unwrap();
    let program = Program::cooked(program.instructions().to_vec()).unwrap();
    assert_eq!(on_any(&program), [(11, false)].into());
}

/// A program in a socket of the kernel, and one that sends to it.
struct InKernel {
    from: Socket,
    to: Socket,
}

impl InKernel {
    fn new() -> Self {
        let (from, to) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
        to.set_nonblocking(true).unwrap();
        Self { from, to }
    }

    /// Returns whether the kernel accepts a program.
    fn takes(&self, program: &[Instruction]) -> bool {
        let filter =
            |one: &Instruction| SockFilter::new(one.code, one.if_true, one.if_false, one.value);
        let program: Vec<SockFilter> = program.iter().map(filter).collect();
        match self.to.attach_filter(&program) {
            Ok(()) => true,
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the bytes that the kernel keeps of a packet.
    fn keeps(&self, packet: &[u8]) -> usize {
        self.from.send(packet).unwrap();
        let mut kept = [0; 256];
        (&self.to).read(&mut kept).unwrap_or(0)
    }
}

const CODES: [u16; 51] = [
    0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x00, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1, 0x02, 0x03, 0x04,
    0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0x84,
    0x94, 0x9c, 0xa4, 0xac, 0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x06, 0x16, 0x07,
    0x87, 0x0e, 0x10,
];

/// An instruction that may be sound. Of what the kernel knows it asks only what
/// a socket without an interface knows, too, and is the same each time.
fn instruction() -> impl Strategy<Value = Instruction> {
    let code = prop_oneof![60 => select(CODES.to_vec()), 1 => any::<u16>()];
    let value = prop_oneof![
        6 => 0_u32..20,
        3 => 0_u32..70,
        1 => any::<u32>().prop_filter("not of the kernel", |value| *value < 0x8000_0000),
        1 => select(vec![0xffff_f000, 0xffff_f004, 0xffff_f028, 0xffff_f040, 0xffff_f001, u32::MAX]),
    ];
    (code, 0_u8..4, 0_u8..4, value).prop_map(|(code, if_true, if_false, value)| Instruction {
        code,
        if_true,
        if_false,
        value,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_program_is_taken_and_runs_as_in_the_kernel(
        body in vec(instruction(), 0..10),
        end in prop_oneof![9 => select(vec![0x16_u16]), 1 => any::<u16>()],
        packets in vec(vec(any::<u8>(), 1..80), 1..4),
    ) {
        let kernel = InKernel::new();
        let mut program = body;
        program.push(Instruction { code: end, if_true: 0, if_false: 0, value: 0 });
        let taken = kernel.takes(&program);
        let checked = Program::check(program.clone());
        prop_assert_eq!(taken, checked.is_ok(), "{:?}: {:?}", program, checked);
        let Ok(program) = checked else { return Ok(()) };
        for packet in &packets {
            let kept = program.keeps(packet, &PacketMetadata::default()) as usize;
            prop_assert_eq!(kernel.keeps(packet), kept.min(packet.len()), "{:?}", program);
        }
    }
}

#[test]
fn the_longest_program_is_what_the_kernel_takes() {
    let end = Instruction { code: 6, if_true: 0, if_false: 0, value: 1 };
    for (length, sound) in [(0, false), (1, true), (1_000, true), (4_097, false)] {
        let program = vec![end; length];
        assert_eq!(InKernel::new().takes(&program), sound, "{length}");
        assert_eq!(Program::check(program).is_ok(), sound, "{length}");
    }
}
