//! Validation of a program as in the kernel (`bpf_check_classic` in `net/core/filter.c`).

use super::{Instruction, MAX, Program, op};

/// Reason for which the kernel would refuse a program. Instructions count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundProgram {
    /// There are no instructions.
    #[error("a filter of no instructions")]
    Empty,
    /// There are too many instructions.
    #[error("the filter has {0} instructions, and the kernel takes {MAX} at most")]
    TooLong(usize),
    /// The code of this instruction is unknown.
    #[error("instruction {at} of the filter has the unknown code {code:#06x}")]
    Code {
        /// Index of the instruction.
        at: usize,
        /// Code of the instruction.
        code: u16,
    },
    /// This instruction jumps beyond the end.
    #[error("instruction {0} of the filter jumps beyond its end")]
    Jump(usize),
    /// This instruction divides by zero, or shifts out all bits.
    #[error("instruction {0} of the filter divides by zero or shifts by more than 31 bits")]
    Number(usize),
    /// This instruction uses memory that does not exist.
    #[error("instruction {0} of the filter uses memory that is not there")]
    Memory(usize),
    /// This instruction reads memory that may be unwritten.
    #[error("instruction {0} of the filter reads memory before it is written")]
    Unwritten(usize),
    /// This instruction asks for metadata that the kernel does not have.
    #[error("instruction {0} of the filter asks the kernel what it does not know")]
    About(usize),
    /// This instruction reads a part of the link's header that is not there.
    #[error("instruction {0} of the filter reads the header of the link, which is not there")]
    Link(usize),
    /// The last instruction does not end the program.
    #[error("the filter's last instruction does not end it")]
    NoEnd,
}

impl Program {
    /// Validates these instructions and makes a program of them.
    ///
    /// # Errors
    /// Fails with the reason for which the kernel would refuse the program.
    pub fn check(instructions: Vec<Instruction>) -> Result<Self, UnsoundProgram> {
        let length = instructions.len();
        if length > MAX {
            return Err(UnsoundProgram::TooLong(length));
        }
        for (at, instruction) in instructions.iter().enumerate() {
            alone(at, instruction, length)?;
        }
        match instructions.last() {
            None => return Err(UnsoundProgram::Empty),
            Some(last) if !matches!(last.code, op::RET_K | op::RET_A) => {
                return Err(UnsoundProgram::NoEnd);
            }
            Some(_) => {}
        }
        memory(&instructions)?;
        Ok(Self(instructions))
    }
}

/// Checks an instruction by itself.
fn alone(at: usize, instruction: &Instruction, length: usize) -> Result<(), UnsoundProgram> {
    let Instruction { code, if_true, if_false, value } = *instruction;
    let behind = length - at - 1;
    match code {
        op::DIV_K | op::MOD_K if value == 0 => Err(UnsoundProgram::Number(at)),
        op::LSH_K | op::RSH_K if value > 31 => Err(UnsoundProgram::Number(at)),
        op::LD_MEM | op::LDX_MEM | op::ST | op::STX if value as usize >= op::MEMORY => {
            Err(UnsoundProgram::Memory(at))
        }
        op::JA if value as usize >= behind => Err(UnsoundProgram::Jump(at)),
        _ if op::compares(code) && usize::from(if_true.max(if_false)) >= behind => {
            Err(UnsoundProgram::Jump(at))
        }
        op::LD_W_ABS | op::LD_H_ABS | op::LD_B_ABS
            if value >= op::about::START && (value > op::about::LAST || value % 4 != 0) =>
        {
            Err(UnsoundProgram::About(at))
        }
        _ if op::KNOWN.contains(&code) || op::compares(code) => Ok(()),
        _ => Err(UnsoundProgram::Code { at, code }),
    }
}

/// Checks that memory is written before it is read on every path (`check_load_and_stores`). The
/// jumps must be valid.
fn memory(instructions: &[Instruction]) -> Result<(), UnsoundProgram> {
    // The words written on every path to an instruction, with one bit for each word.
    let mut before = vec![u16::MAX; instructions.len()];
    let mut written = 0;
    for (at, instruction) in instructions.iter().enumerate() {
        written &= before[at];
        let word = 1_u16 << (instruction.value % op::MEMORY as u32);
        match instruction.code {
            op::ST | op::STX => written |= word,
            op::LD_MEM | op::LDX_MEM if written & word == 0 => {
                return Err(UnsoundProgram::Unwritten(at));
            }
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
