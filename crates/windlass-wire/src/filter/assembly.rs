//! Assembly of a program: from jumps to labels to jumps by numbers.
//!
//! A comparison jumps over 255 instructions at most; only `ja` goes further. To reach a label
//! farther away, the comparison jumps to a `ja` to this label: one of another comparison, or its
//! own right behind.
//!
//! All jumps go forward. So the program is built from its end, and the position of each label is
//! known before a jump to it is built.

use super::{Instruction, op};

/// A position in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Target of a comparison's jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JumpTarget {
    /// The next instruction.
    Next,
    /// A label that comes later.
    At(Label),
}

#[derive(Debug)]
enum Item {
    Do(Instruction),
    If { code: u16, value: u32, yes: JumpTarget, no: JumpTarget },
    Go(Label),
    Here(Label),
}

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    items: Vec<Item>,
    labels: usize,
}

impl Assembly {
    /// Creates a label without a position. A label that never gets a position is the end of the
    /// program.
    pub(super) const fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Sets the label to the current position.
    pub(super) fn here(&mut self, label: Label) {
        self.items.push(Item::Here(label));
    }

    /// Appends an instruction that does not jump.
    pub(super) fn run(&mut self, code: u16, value: u32) {
        self.items.push(Item::Do(Instruction { code, if_true: 0, if_false: 0, value }));
    }

    /// Appends a comparison.
    pub(super) fn compare(&mut self, code: u16, value: u32, yes: JumpTarget, no: JumpTarget) {
        self.items.push(Item::If { code, value, yes, no });
    }

    /// Appends a jump.
    pub(super) fn go(&mut self, label: Label) {
        self.items.push(Item::Go(label));
    }

    /// Returns the instructions.
    pub(super) fn finish(self) -> Vec<Instruction> {
        let mut back = ReverseAssembly {
            made: Vec::new(),
            labels: vec![0; self.labels],
            hops: vec![None; self.labels],
        };
        for item in self.items.into_iter().rev() {
            match item {
                Item::Do(instruction) => back.made.push(instruction),
                Item::Here(label) => back.labels[label.0] = back.made.len(),
                Item::Go(label) if back.labels[label.0] == back.made.len() => {}
                Item::Go(label) => back.hop(label),
                Item::If { code, value, yes, no } => back.compare(code, value, yes, no),
            }
        }
        back.made.reverse();
        back.made
    }
}

/// The program, built from its end. A position is the number of instructions from there to the end.
struct ReverseAssembly {
    made: Vec<Instruction>,
    labels: Vec<usize>,
    /// Position of the nearest `ja` to each label.
    hops: Vec<Option<usize>>,
}

impl ReverseAssembly {
    fn hop(&mut self, label: Label) {
        let value = (self.made.len() - self.labels[label.0]) as u32;
        self.made.push(Instruction { code: op::JA, if_true: 0, if_false: 0, value });
        self.hops[label.0] = Some(self.made.len());
    }

    fn compare(&mut self, code: u16, value: u32, yes: JumpTarget, no: JumpTarget) {
        let next = self.made.len();
        // A hop for one side moves the other one step away. Two hops are always enough: then both
        // are right behind.
        loop {
            match (self.reach(yes, next), self.reach(no, next)) {
                (Ok(if_true), Ok(if_false)) => {
                    return self.made.push(Instruction { code, if_true, if_false, value });
                }
                (Err(far), _) | (_, Err(far)) => self.hop(far),
            }
        }
    }

    /// Returns the number of instructions to skip, or the label that is out of reach.
    fn reach(&self, to: JumpTarget, next: usize) -> Result<u8, Label> {
        let over = |place: usize| u8::try_from(self.made.len() - place).ok();
        match to {
            // At most two hops are in between.
            JumpTarget::Next => Ok((self.made.len() - next) as u8),
            JumpTarget::At(label) => over(self.labels[label.0])
                .or_else(|| self.hops[label.0].and_then(over))
                .ok_or(label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{PacketMetadata, Program};

    /// Builds a comparison with each number. The last instructions tell whether one was equal.
    fn list(numbers: u32) -> Program {
        let mut code = Assembly::default();
        let (found, lost) = (code.label(), code.label());
        code.run(op::LD_W_ABS, 0);
        for number in 0..numbers {
            code.compare(op::JEQ_K, number, JumpTarget::At(found), JumpTarget::Next);
        }
        code.go(lost);
        code.here(found);
        code.run(op::RET_K, 1);
        code.here(lost);
        code.run(op::RET_K, 0);
        Program::check(code.finish()).unwrap()
    }

    #[test]
    fn a_list_of_any_length_finds_each_of_its_numbers() {
        for numbers in [0, 1, 253, 254, 255, 256, 257, 509, 510, 511, 512, 513, 1_100] {
            let program = list(numbers);
            let finds =
                |number: u32| program.keeps(&number.to_be_bytes(), &PacketMetadata::default());
            for number in 0..numbers {
                assert_eq!(finds(number), 1, "{number} of {numbers}");
            }
            assert_eq!(finds(numbers), 0, "{numbers}");
        }
    }

    #[test]
    fn hops_are_shared() {
        // A program without hops has the load, the comparisons, the jump to the end, and two ends.
        assert_eq!(list(250).instructions().len(), 250 + 4);
        assert_eq!(list(1_000).instructions().len(), 1_000 + 4 + 3);
    }

    #[test]
    fn both_ways_of_a_comparison_may_be_far() {
        let between = |code: &mut Assembly, count| {
            for _ in 0..count {
                code.run(op::ADD_K, 1);
            }
        };
        // Around 255 a hop for one takes the other out of reach.
        for count in 250..260 {
            let mut code = Assembly::default();
            let (even, odd) = (code.label(), code.label());
            code.run(op::LD_B_ABS, 0);
            code.compare(op::JSET_K, 1, JumpTarget::At(odd), JumpTarget::At(even));
            between(&mut code, count);
            code.here(even);
            code.run(op::RET_K, 7);
            between(&mut code, 3);
            code.here(odd);
            code.run(op::RET_K, 9);
            let program = Program::check(code.finish()).unwrap();
            assert_eq!(program.keeps(&[2], &PacketMetadata::default()), 7, "{count}");
            assert_eq!(program.keeps(&[3], &PacketMetadata::default()), 9, "{count}");
        }
    }
}
