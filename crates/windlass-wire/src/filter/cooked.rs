//! Conversion of programs for packets with Linux's cooked header (`LINKTYPE_LINUX_SLL`) to sockets
//! without this header. On such a socket (`SOCK_DGRAM`), the kernel gives packets without a link
//! header and its fields as metadata.

use super::{Instruction, Program, UnsoundProgram, op};

/// Bytes of the header, and offsets of its fields: the direction of the packet and the next
/// protocol (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>).
const HEADER: u32 = 16;
const KIND: u32 = 0;
const PROTOCOL: u32 = 14;

impl Program {
    /// Converts a program that was compiled elsewhere for [`crate::LinkType::LINUX_SLL`] to one for
    /// [`super::Link::Cooked`]. The result asks the kernel for direction and protocol, which have
    /// the same numbers there. Its offsets behind the header are 16 bytes smaller.
    ///
    /// # Errors
    /// Fails if the program reads other parts of the header, and like [`Program::check`].
    pub fn cooked(mut instructions: Vec<Instruction>) -> Result<Self, UnsoundProgram> {
        for (at, one) in instructions.iter_mut().enumerate() {
            match (one.code, one.value) {
                // Loads of the kernel's metadata stay as they are.
                (op::LD_W_ABS | op::LD_H_ABS | op::LD_B_ABS, op::about::START..) => {}
                (op::LD_H_ABS, KIND) => (one.code, one.value) = (op::LD_W_ABS, op::about::KIND),
                (op::LD_H_ABS, PROTOCOL) => {
                    (one.code, one.value) = (op::LD_W_ABS, op::about::PROTOCOL);
                }
                (
                    op::LD_W_ABS
                    | op::LD_H_ABS
                    | op::LD_B_ABS
                    | op::LD_W_IND
                    | op::LD_H_IND
                    | op::LD_B_IND
                    | op::LDX_MSH,
                    place,
                ) => one.value = place.checked_sub(HEADER).ok_or(UnsoundProgram::Link(at))?,
                _ => {}
            }
        }
        Self::check(instructions)
    }
}
