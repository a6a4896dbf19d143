//! Programs that go before another: they look at what the kernel knows about a
//! packet, not at its bytes.

use super::assembly::{Assembly, To};
use super::{About, MAX, Program, TooLong, op};

/// What a program keeps that leaves the rest to the next.
const ALL: u32 = u32::MAX;

impl Program {
    /// Packets that this host sends.
    pub fn only_outgoing() -> Self {
        one_of(op::about::KIND, &[About::OUTGOING.into()], true)
    }

    /// Packets that this host does not send: those to it, and those of others
    /// that it sees.
    pub fn only_incoming() -> Self {
        one_of(op::about::KIND, &[About::OUTGOING.into()], false)
    }

    /// All packets but those that the loopback interface, which has this number,
    /// is given to send: it hands each of them back, and so a capture of all
    /// interfaces has it twice.
    pub fn without_loopback_copies(loopback: u32) -> Self {
        let mut code = Assembly::default();
        let (keep, drop) = (code.label(), code.label());
        code.run(op::LD_W_ABS, op::about::INTERFACE);
        code.compare(op::JEQ_K, loopback, To::Next, To::At(keep));
        code.run(op::LD_W_ABS, op::about::KIND);
        code.compare(op::JEQ_K, About::OUTGOING.into(), To::At(drop), To::Next);
        code.here(keep);
        code.run(op::RET_K, ALL);
        code.here(drop);
        code.run(op::RET_K, 0);
        Self(code.finish())
    }

    /// Packets that this program and the next keep, as much of them as the next
    /// says. It finds its registers as at the start of a program.
    ///
    /// # Errors
    /// Where both together are too long.
    pub fn and_then(&self, next: &Self) -> Result<Self, TooLong> {
        let mut code = Assembly::default();
        let labels: Vec<_> = self.0.iter().map(|_| code.label()).collect();
        let (on, drop) = (code.label(), code.label());
        for (at, instruction) in self.0.iter().enumerate() {
            // A sound program jumps to instructions of its own only.
            let to = |over: usize| labels.get(at + 1 + over).copied().unwrap_or(drop);
            code.here(labels[at]);
            match instruction.code {
                op::RET_K if instruction.value == 0 => code.run(op::RET_K, 0),
                op::RET_K => code.go(on),
                op::RET_A => code.compare(op::JEQ_K, 0, To::At(drop), To::At(on)),
                op::JA => code.go(to(instruction.value as usize)),
                name if op::compares(name) => {
                    let yes = To::At(to(instruction.if_true.into()));
                    let no = To::At(to(instruction.if_false.into()));
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

/// Packets about which the kernel knows one of these numbers, or none of them.
fn one_of(what: u32, numbers: &[u32], wanted: bool) -> Program {
    let mut code = Assembly::default();
    let (one, none) = (code.label(), code.label());
    code.run(op::LD_W_ABS, what);
    for number in numbers {
        code.compare(op::JEQ_K, *number, To::At(one), To::Next);
    }
    code.go(none);
    code.here(one);
    code.run(op::RET_K, if wanted { ALL } else { 0 });
    code.here(none);
    code.run(op::RET_K, if wanted { 0 } else { ALL });
    Program(code.finish())
}

/// A program of these instructions, which are sound, unless they are too many.
pub(super) fn finished(instructions: Vec<super::Instruction>) -> Result<Program, TooLong> {
    let length = instructions.len();
    if length > MAX { Err(TooLong { instructions: length }) } else { Ok(Program(instructions)) }
}
