//! Any instructions, run on any packet, come to an end without panic, where the
//! kernel would take them; and what is wanted compiles to what it takes.
#![no_main]

use std::net::IpAddr;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use windlass_wire::filter::{Instruction, IpNet, Link, PacketFilter, PacketMetadata, Program};

#[derive(Arbitrary, Debug)]
struct Input {
    instructions: Vec<(Code, u8, u8, Value)>,
    second: Vec<(Code, u8, u8, Value)>,
    packet: Vec<u8>,
    protocol: u16,
    kind: u8,
    interface: u32,
    hosts: Vec<IpAddr>,
    nets: Vec<(IpAddr, u8)>,
    ports: Vec<u16>,
    tcp: bool,
}

/// Any code, or one that is likely to be known.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Code {
    Any(u16),
    Low(u8),
}

/// Any number, a small one, or one at which the kernel tells about a packet.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Value {
    Any(u32),
    Small(u8),
    About(u8),
}

fn program(instructions: &[(Code, u8, u8, Value)]) -> Vec<Instruction> {
    let instruction = |&(code, if_true, if_false, value): &(Code, u8, u8, Value)| {
        let code = match code {
            Code::Any(code) => code,
            Code::Low(code) => code.into(),
        };
        let value = match value {
            Value::Any(value) => value,
            Value::Small(value) => value.into(),
            Value::About(value) => 0xffff_f000 + u32::from(value),
        };
        Instruction { code, if_true, if_false, value }
    };
    let mut all: Vec<Instruction> = instructions.iter().map(instruction).collect();
    // What A is at the end is kept.
    all.push(Instruction { code: 0x16, if_true: 0, if_false: 0, value: 0 });
    all
}

fuzz_target!(|input: Input| {
    let Input { instructions, second, packet, protocol, kind, interface, .. } = &input;
    let about = PacketMetadata { protocol: *protocol, kind: *kind, interface: *interface };
    let checked = [instructions, second].map(|one| Program::check(program(one)));
    if let [Ok(first), Ok(second)] = &checked {
        let Ok(both) = first.and_then(second) else { return };
        assert!(Program::check(both.instructions().to_vec()).is_ok());
        let expected = match first.keeps(packet, &about) {
            0 => 0,
            _ => second.keeps(packet, &about),
        };
        assert_eq!(both.keeps(packet, &about), expected);
    } else if let [Ok(one), _] | [_, Ok(one)] = &checked {
        let _ = one.keeps(packet, &about);
    }
    let net = |(address, prefix): (IpAddr, u8)| Some(IpNet::new(address, prefix).ok()?.trunc());
    let nets = input.nets.into_iter().filter_map(net).collect();
    let wanted = PacketFilter { hosts: input.hosts, nets, ports: input.ports, tcp: input.tcp };
    for link in [Link::Ethernet, Link::Ip, Link::Cooked] {
        if let Ok(program) = wanted.compile(link, 99) {
            assert!(Program::check(program.instructions().to_vec()).is_ok());
            assert!(matches!(program.keeps(&input.packet, &about), 0 | 99));
        }
    }
});
