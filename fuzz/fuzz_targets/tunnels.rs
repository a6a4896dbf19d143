//! Tunnels in IP: any protocol, and UDP to any of the ports where tunnels are looked
//! for. The first byte of the input picks which.
#![no_main]

use windlass_wire::LinkType;

const PROTOCOLS: [u8; 6] = [4, 41, 47, 51, 97, 137];
const PORTS: [u16; 10] = [1701, 2152, 3544, 4754, 4789, 4790, 5072, 6081, 8472, 9999];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let choice = usize::from(*choice) % (PROTOCOLS.len() + PORTS.len());
    // No length: the packet's own holds.
    let mut ip = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    match PROTOCOLS.get(choice) {
        Some(protocol) => ip[9] = *protocol,
        None => {
            let port = PORTS[choice - PROTOCOLS.len()].to_be_bytes();
            ip.extend([port[0], port[1], port[0], port[1], 0, 0, 0, 0]);
        }
    }
    windlass_fuzz::packets::decode(LinkType::RAW, &ip, rest);
});
