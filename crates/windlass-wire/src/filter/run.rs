//! Execution of a program as in the kernel.

use super::{Instruction, Program, op};

/// The kernel's metadata of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketMetadata {
    /// Protocol behind the link header, as an `EtherType`.
    pub protocol: u16,
    /// Type of the packet by its direction: 4 is from this host ([`PacketMetadata::OUTGOING`]).
    pub kind: u8,
    /// Index of its interface.
    pub interface: u32,
}

impl PacketMetadata {
    /// Type of a packet that this host sends (`PACKET_OUTGOING` in `linux/if_packet.h`).
    pub const OUTGOING: u8 = 4;
}

impl Program {
    /// Returns the number of bytes of a packet that the program keeps; 0 if the packet does not
    /// match. The number may exceed the packet's length.
    ///
    /// A load from behind the packet's end and a division by zero end a program with 0, as in the
    /// kernel. Metadata that [`PacketMetadata`] does not hold is 0. A load relative to the link or
    /// network header (`SKF_LL_OFF`, `SKF_NET_OFF`) counts as a load from behind the end.
    pub fn keeps(&self, packet: &[u8], about: &PacketMetadata) -> u32 {
        run(&self.0, packet, about).unwrap_or(0)
    }
}

fn run(program: &[Instruction], packet: &[u8], about: &PacketMetadata) -> Option<u32> {
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; op::MEMORY]);
    let mut at = 0_usize;
    loop {
        let Instruction { code, if_true, if_false, value } = *program.get(at)?;
        at += 1;
        let word = value as usize;
        let jump = |so: bool| usize::from(if so { if_true } else { if_false });
        match code {
            op::LD_W_ABS | op::LD_H_ABS | op::LD_B_ABS if value >= op::about::START => {
                a = match value {
                    op::about::PROTOCOL => about.protocol.into(),
                    op::about::KIND => about.kind.into(),
                    op::about::INTERFACE => about.interface,
                    op::about::XOR_X => a ^ x,
                    _ => 0,
                };
            }
            op::LD_W_ABS => a = u32::from_be_bytes(bytes(packet, value)?),
            op::LD_H_ABS => a = u16::from_be_bytes(bytes(packet, value)?).into(),
            op::LD_B_ABS => a = u8::from_be_bytes(bytes(packet, value)?).into(),
            op::LD_W_IND => a = u32::from_be_bytes(bytes(packet, x.wrapping_add(value))?),
            op::LD_H_IND => a = u16::from_be_bytes(bytes(packet, x.wrapping_add(value))?).into(),
            op::LD_B_IND => a = u8::from_be_bytes(bytes(packet, x.wrapping_add(value))?).into(),
            op::LD_IMM => a = value,
            op::LD_MEM => a = *memory.get(word)?,
            op::LD_LEN => a = packet.len() as u32,
            op::LDX_IMM => x = value,
            op::LDX_MEM => x = *memory.get(word)?,
            op::LDX_LEN => x = packet.len() as u32,
            op::LDX_MSH => x = u32::from(bytes::<1>(packet, value)?[0] & 15) << 2,
            op::ST => *memory.get_mut(word)? = a,
            op::STX => *memory.get_mut(word)? = x,
            op::TAX => x = a,
            op::TXA => a = x,
            op::JA => at = at.checked_add(word)?,
            op::JEQ_K => at += jump(a == value),
            op::JEQ_X => at += jump(a == x),
            op::JGT_K => at += jump(a > value),
            op::JGT_X => at += jump(a > x),
            op::JGE_K => at += jump(a >= value),
            op::JGE_X => at += jump(a >= x),
            op::JSET_K => at += jump(a & value != 0),
            op::JSET_X => at += jump(a & x != 0),
            op::RET_K => return Some(value),
            op::RET_A => return Some(a),
            _ => a = reckoned(code, a, if code & 8 == 0 { value } else { x })?,
        }
    }
}

/// Computes an arithmetic operation.
fn reckoned(code: u16, a: u32, by: u32) -> Option<u32> {
    Some(match code {
        op::ADD_K | op::ADD_X => a.wrapping_add(by),
        op::SUB_K | op::SUB_X => a.wrapping_sub(by),
        op::MUL_K | op::MUL_X => a.wrapping_mul(by),
        op::DIV_K | op::DIV_X => a.checked_div(by)?,
        op::MOD_K | op::MOD_X => a.checked_rem(by)?,
        op::OR_K | op::OR_X => a | by,
        op::AND_K | op::AND_X => a & by,
        op::XOR_K | op::XOR_X => a ^ by,
        // Only the lower five bits of a shift count.
        op::LSH_K | op::LSH_X => a.wrapping_shl(by),
        op::RSH_K | op::RSH_X => a.wrapping_shr(by),
        op::NEG => a.wrapping_neg(),
        _ => return None,
    })
}

/// Returns `N` bytes of the packet from an offset on.
fn bytes<const N: usize>(packet: &[u8], at: u32) -> Option<[u8; N]> {
    packet.get(at as usize..)?.first_chunk().copied()
}
