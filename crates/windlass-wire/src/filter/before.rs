//! Programs that run before another one. They check the kernel's metadata of a packet, not its
//! bytes.

use super::assembly::{Assembly, JumpTarget};
use super::{MAX, PacketMetadata, Program, ProgramTooLong, op};

/// Bytes kept by a program that leaves the decision to the next one.
const ALL: u32 = u32::MAX;

impl Program {
    /// Returns a program that keeps the packets that this host sends.
    pub fn only_outgoing() -> Self {
        one_of(op::about::KIND, &[PacketMetadata::OUTGOING.into()], true)
    }

    /// Returns a program that keeps the packets that this host does not send: packets to this host,
    /// and packets between other hosts.
    pub fn only_incoming() -> Self {
        one_of(op::about::KIND, &[PacketMetadata::OUTGOING.into()], false)
    }

    /// Returns a program that drops the outgoing copies of packets on the loopback interface, which
    /// has this number. The interface receives each packet that it sends, so a capture of all
    /// interfaces has each twice.
    pub fn without_loopback_copies(loopback: u32) -> Self {
        let mut code = Assembly::default();
        let (keep, drop) = (code.label(), code.label());
        code.run(op::LD_W_ABS, op::about::INTERFACE);
        code.compare(op::JEQ_K, loopback, JumpTarget::Next, JumpTarget::At(keep));
        code.run(op::LD_W_ABS, op::about::KIND);
        code.compare(
            op::JEQ_K,
            PacketMetadata::OUTGOING.into(),
            JumpTarget::At(drop),
            JumpTarget::Next,
        );
        code.here(keep);
        code.run(op::RET_K, ALL);
        code.here(drop);
        code.run(op::RET_K, 0);
        Self(code.finish())
    }

    /// Returns a program that keeps the packets that both this program and the next keep, cut to
    /// the length of the next. The next program finds its registers as at the start of a program.
    ///
    /// # Errors
    /// Fails if both programs together are too long.
    pub fn and_then(&self, next: &Self) -> Result<Self, ProgramTooLong> {
        let mut code = Assembly::default();
        let labels: Vec<_> = self.0.iter().map(|_| code.label()).collect();
        let (on, drop) = (code.label(), code.label());
        for (at, instruction) in self.0.iter().enumerate() {
            // A valid program jumps only to its own instructions.
            let to = |over: usize| labels.get(at + 1 + over).copied().unwrap_or(drop);
            code.here(labels[at]);
            match instruction.code {
                op::RET_K if instruction.value == 0 => code.run(op::RET_K, 0),
                op::RET_K => code.go(on),
                op::RET_A => code.compare(op::JEQ_K, 0, JumpTarget::At(drop), JumpTarget::At(on)),
                op::JA => code.go(to(instruction.value as usize)),
                name if op::compares(name) => {
                    let yes = JumpTarget::At(to(instruction.if_true.into()));
                    let no = JumpTarget::At(to(instruction.if_false.into()));
                    code.compare(name, instruction.value, yes, no);
                }
                name => code.run(name, instruction.value),
            }
        }
        code.here(drop);
        code.run(op::RET_K, 0);
        code.here(on);
        code.run(op::LD_IMM, 0);
        code.run(op::LDX_IMM, 0);
        let mut both = code.finish();
        both.extend(&next.0);
        finished(both)
    }
}

/// Returns a program that keeps packets whose metadata has one of these numbers, or none of them.
fn one_of(what: u32, numbers: &[u32], wanted: bool) -> Program {
    let mut code = Assembly::default();
    let (one, none) = (code.label(), code.label());
    code.run(op::LD_W_ABS, what);
    for number in numbers {
        code.compare(op::JEQ_K, *number, JumpTarget::At(one), JumpTarget::Next);
    }
    code.go(none);
    code.here(one);
    code.run(op::RET_K, if wanted { ALL } else { 0 });
    code.here(none);
    code.run(op::RET_K, if wanted { 0 } else { ALL });
    Program(code.finish())
}

/// Makes a program of these instructions, which must be valid.
///
/// # Errors
/// Fails if there are too many.
pub(super) fn finished(instructions: Vec<super::Instruction>) -> Result<Program, ProgramTooLong> {
    let length = instructions.len();
    if length > MAX {
        Err(ProgramTooLong { instructions: length })
    } else {
        Ok(Program(instructions))
    }
}
