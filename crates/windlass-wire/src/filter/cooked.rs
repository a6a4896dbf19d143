//! Programs for packets behind Linux's own header (`LINKTYPE_LINUX_SLL`), for a
//! socket that has no such header: the kernel gives packets without any
//! (`SOCK_DGRAM`), and says apart what would stand in it.

use super::{Instruction, Program, Unsound, op};

/// The bytes of the header, and what stands in it: which way a packet goes, and
/// the protocol that follows
/// (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>).
const HEADER: u32 = 16;
const KIND: u32 = 0;
const PROTOCOL: u32 = 14;

impl Program {
    /// A program that somebody else compiled for [`crate::LinkType::LINUX_SLL`],
    /// made one for [`super::Link::Cooked`]. It asks the kernel for the direction
    /// and the protocol, which have the same numbers there, and finds what is
    /// behind the header 16 bytes before.
    ///
    /// # Errors
    /// Where it asks for other parts of the header, and as for [`Program::check`].
    pub fn cooked(mut instructions: Vec<Instruction>) -> Result<Self, Unsound> {
        for (at, one) in instructions.iter_mut().enumerate() {
            match (one.code, one.value) {
                // What the kernel knows is asked for as it is.
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
                ) => one.value = place.checked_sub(HEADER).ok_or(Unsound::Link(at))?,
                _ => {}
            }
        }
        Self::check(instructions)
    }
}
