//! What the kernel refuses (`bpf_check_classic` in `net/core/filter.c`).

use super::{Instruction, MAX, Program, op};

/// Why the kernel would not take a program. Instructions count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// There are no instructions.
    #[error("a filter of no instructions")]
    Empty,
    /// There are too many.
    #[error("the filter has {0} instructions, and the kernel takes {MAX} at most")]
    TooLong(usize),
    /// The code of this one is unknown.
    #[error("instruction {at} of the filter has the unknown code {code:#06x}")]
    Code {
        /// Which one.
        at: usize,
        /// Its code.
        code: u16,
    },
    /// This one jumps beyond the end.
    #[error("instruction {0} of the filter jumps beyond its end")]
    Jump(usize),
    /// This one divides by zero, or shifts out all bits.
    #[error("instruction {0} of the filter divides by zero or shifts by more than 31 bits")]
    Number(usize),
    /// This one uses memory that is not there.
    #[error("instruction {0} of the filter uses memory that is not there")]
    Memory(usize),
    /// This one reads memory to which nothing may have been written.
    #[error("instruction {0} of the filter reads memory before it is written")]
    Unwritten(usize),
    /// This one asks about a packet what the kernel does not know.
    #[error("instruction {0} of the filter asks the kernel what it does not know")]
    About(usize),
    /// This one asks for a part of the link's header that is not there.
    #[error("instruction {0} of the filter reads the header of the link, which is not there")]
    Link(usize),
    /// The last one is no end.
    #[error("the filter's last instruction does not end it")]
    NoEnd,
}

impl Program {
    /// A program of these instructions, where the kernel would take it.
    ///
    /// # Errors
    /// Says what the kernel would refuse.
    pub fn check(instructions: Vec<Instruction>) -> Result<Self, Unsound> {
        let length = instructions.len();
        if length > MAX {
            return Err(Unsound::TooLong(length));
        }
        for (at, instruction) in instructions.iter().enumerate() {
            alone(at, instruction, length)?;
        }
        match instructions.last() {
            None => return Err(Unsound::Empty),
            Some(last) if !matches!(last.code, op::RET_K | op::RET_A) => {
                return Err(Unsound::NoEnd);
            }
            Some(_) => {}
        }
        memory(&instructions)?;
        Ok(Self(instructions))
    }
}

/// Checks an instruction by itself.
fn alone(at: usize, instruction: &Instruction, length: usize) -> Result<(), Unsound> {
    let Instruction { code, if_true, if_false, value } = *instruction;
    let behind = length - at - 1;
    match code {
        op::DIV_K | op::MOD_K if value == 0 => Err(Unsound::Number(at)),
        op::LSH_K | op::RSH_K if value > 31 => Err(Unsound::Number(at)),
        op::LD_MEM | op::LDX_MEM | op::ST | op::STX if value as usize >= op::MEMORY => {
            Err(Unsound::Memory(at))
        }
        op::JA if value as usize >= behind => Err(Unsound::Jump(at)),
        _ if op::compares(code) && usize::from(if_true.max(if_false)) >= behind => {
            Err(Unsound::Jump(at))
        }
        op::LD_W_ABS | op::LD_H_ABS | op::LD_B_ABS
            if value >= op::about::START && (value > op::about::LAST || value % 4 != 0) =>
        {
            Err(Unsound::About(at))
        }
        _ if op::KNOWN.contains(&code) || op::compares(code) => Ok(()),
        _ => Err(Unsound::Code { at, code }),
    }
}

/// Checks that memory is written before it is read, whatever way the program
/// takes (`check_load_and_stores`). The jumps have been checked.
fn memory(instructions: &[Instruction]) -> Result<(), Unsound> {
    // What has been written on each way to an instruction: a bit for each word.
    let mut before = vec![u16::MAX; instructions.len()];
    let mut written = 0;
    for (at, instruction) in instructions.iter().enumerate() {
        written &= before[at];
        let word = 1_u16 << (instruction.value % op::MEMORY as u32);
        match instruction.code {
            op::ST | op::STX => written |= word,
            op::LD_MEM | op::LDX_MEM if written & word == 0 => return Err(Unsound::Unwritten(at)),
            op::JA => {
                before[at + 1 + instruction.value as usize] &= written;
                written = u16::MAX;
            }
            code if op::compares(code) => {
                for over in [instruction.if_true, instruction.if_false] {
                    before[at + 1 + usize::from(over)] &= written;
                }
                written = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}
