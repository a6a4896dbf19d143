//! The program on top of the sender: the data that it writes, and when.
//!
//! The stream is mostly zeros. LPR's command lines and control file have bytes, which are kept
//! until they are acknowledged.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};

use super::settings::{AnnouncedSize, Method, SenderSettings, WritePattern};
use crate::segment::Payload;

/// One step of the program.
#[derive(Clone, Debug)]
pub enum SupplyStep {
    /// Writes these bytes at once.
    Line(Payload),
    /// Writes this number of bytes in the pattern that [`WritePattern`] sets.
    Data(u64),
    /// Waits for this number of bytes of answer, then thinks.
    Answer(u64),
}

/// State of the program: its reason to write nothing, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgramState {
    /// The program writes as much as the buffer takes.
    Nothing,
    /// A pause, or the time to think, until this moment.
    Time(Timestamp),
    /// An answer, of which this number of bytes is missing.
    Answer(u64),
    /// The program has done everything.
    Done,
}

/// The program on top of the sender.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    steps: VecDeque<SupplyStep>,
    writes: WritePattern,
    think: Span,
    holds: ProgramState,
    /// Bytes left of the piece of data that the program is writing.
    piece: u64,
    /// True if this piece has its full length.
    whole: bool,
    /// True once the first piece was written.
    begun: bool,
    /// True once no more answers will come.
    cut_off: bool,
    /// Bytes of answer that arrived before the program waited for them.
    early: u64,
    /// Position after the last byte that was written.
    pub(super) written: u64,
    /// Parts of the stream that are not zeros, by their first position.
    lines: VecDeque<(u64, Payload)>,
}

impl Supply {
    /// Returns a program whose stream begins at `position`.
    pub(super) fn new(settings: &SenderSettings, position: u64) -> Self {
        Self {
            steps: steps(settings),
            writes: settings.writes,
            think: settings.think,
            holds: ProgramState::Nothing,
            piece: 0,
            whole: true,
            begun: false,
            cut_off: false,
            early: 0,
            written: position,
            lines: VecDeque::new(),
        }
    }

    /// Starts the program: the connection is open.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.holds = ProgramState::Time(now + self.think);
    }

    /// Returns whether everything is written and every answer has arrived.
    pub(super) fn is_done(&self) -> bool {
        self.holds == ProgramState::Done
    }

    /// Returns whether the program would write if the buffer had room.
    pub(super) fn wants_room(&self) -> bool {
        self.holds == ProgramState::Nothing
    }

    /// Returns the time at which the program continues by itself.
    pub(super) const fn next_time(&self) -> Option<Timestamp> {
        match self.holds {
            ProgramState::Time(time) => Some(time),
            _ => None,
        }
    }

    /// Records that `bytes` bytes of answer arrived.
    pub(super) fn answered(&mut self, bytes: u64, now: Timestamp) {
        self.early += bytes;
        if let ProgramState::Answer(wanted) = self.holds
            && self.early >= wanted
        {
            self.early -= wanted;
            // After the last answer there is nothing to think about.
            self.holds = if self.steps.is_empty() {
                ProgramState::Done
            } else {
                ProgramState::Time(now + self.think)
            };
        } else if self.cut_off {
            self.cut_off();
        }
    }

    /// Records that no more answers will come: a program that waits for one gives up.
    pub(super) fn cut_off(&mut self) {
        self.cut_off = true;
        if let ProgramState::Answer(_) = self.holds {
            self.steps.clear();
            self.holds = ProgramState::Done;
        }
    }

    /// Records that everything before `position` is acknowledged: its bytes are dropped.
    pub(super) fn acknowledged(&mut self, position: u64) {
        while let Some((start, line)) = self.lines.front()
            && start + u64::from(line.len()) <= position
        {
            self.lines.pop_front();
        }
    }

    /// Writes as much as it can into a buffer with `room`.
    pub(super) fn write(&mut self, now: Timestamp, mut room: u64) {
        loop {
            match self.holds {
                ProgramState::Time(time) if time <= now => self.holds = ProgramState::Nothing,
                ProgramState::Nothing => {}
                ProgramState::Time(_) | ProgramState::Answer(_) | ProgramState::Done => return,
            }
            match self.steps.front_mut() {
                Some(SupplyStep::Data(0)) => drop(self.steps.pop_front()),
                Some(SupplyStep::Data(_)) if room == 0 => return,
                Some(&mut SupplyStep::Data(left)) => {
                    let taken = self.write_data(now, left, room);
                    room -= taken;
                    self.written += taken;
                    match self.steps.front_mut() {
                        Some(SupplyStep::Data(left)) if *left > taken => *left -= taken,
                        _ => drop(self.steps.pop_front()),
                    }
                }
                Some(SupplyStep::Line(line)) => {
                    let taken = u64::from(line.len()).min(room);
                    if taken == 0 {
                        return;
                    }
                    let cut = u32::try_from(taken).unwrap_or(u32::MAX);
                    self.lines.push_back((self.written, line.slice(0, cut)));
                    *line = line.slice(cut, u32::MAX);
                    room -= taken;
                    self.written += taken;
                    if line.is_empty() {
                        self.steps.pop_front();
                    }
                }
                Some(SupplyStep::Answer(bytes)) => {
                    let wanted = *bytes;
                    self.steps.pop_front();
                    self.holds = ProgramState::Answer(wanted);
                    self.answered(0, now);
                }
                _ => self.holds = ProgramState::Done,
            }
        }
    }

    /// Writes data of which `left` bytes are left, and returns how many the pattern wrote.
    fn write_data(&mut self, now: Timestamp, left: u64, room: u64) -> u64 {
        if self.piece == 0 {
            self.piece = match self.writes {
                WritePattern::Bulk => left,
                WritePattern::Paced { first, .. } if !self.begun => first.get(),
                WritePattern::Paced { piece, .. } => piece.get(),
                WritePattern::Bursts { bytes, .. } | WritePattern::Requests { bytes, .. } => {
                    bytes.get()
                }
            }
            .max(1);
            self.whole = self.piece <= left;
            self.piece = self.piece.min(left);
            self.begun = true;
        }
        let taken = self.piece.min(room);
        self.piece -= taken;
        if self.piece == 0 {
            let last = taken >= left;
            self.holds = match self.writes {
                WritePattern::Paced { every, .. } if !last => ProgramState::Time(now + every),
                WritePattern::Bursts { pause, .. } if !last => ProgramState::Time(now + pause),
                // A request that is cut short gets no answer.
                WritePattern::Requests { answer, .. } if self.whole => {
                    ProgramState::Answer(answer.get())
                }
                _ => ProgramState::Nothing,
            };
            self.answered(0, now);
        }
        taken
    }

    /// Returns the part `from..to` of the stream.
    pub(super) fn payload(&self, from: u64, to: u64) -> Payload {
        let length = u32::try_from(to - from).unwrap_or(u32::MAX);
        let touches =
            |start: u64, line: &Payload| start < to && start + u64::from(line.len()) > from;
        let mut lines = self.lines.iter().filter(|(start, line)| touches(*start, line));
        let Some((start, line)) = lines.next() else { return Payload::Zeros(length) };
        let offset = |position: u64| u32::try_from(position).unwrap_or(u32::MAX);
        if *start <= from && start + u64::from(line.len()) >= to {
            return line.slice(offset(from - start), offset(to - start));
        }
        let mut bytes = vec![0; length as usize];
        for (start, line) in self.lines.iter().filter(|(start, line)| touches(*start, line)) {
            let Payload::Bytes(shared) = line else { continue };
            for (at, byte) in (*start..).zip(shared.as_slice()) {
                if let Some(slot) = at
                    .checked_sub(from)
                    .and_then(|at| bytes.get_mut(usize::try_from(at).unwrap_or(usize::MAX)))
                {
                    *slot = *byte;
                }
            }
        }
        Payload::copy_of(&bytes)
    }
}

/// Returns the steps of the program for its method. A program above another TCP that follows the
/// same steps writes the same stream.
///
/// The lines have the lengths of the H-PS1U's trace: 5 bytes of command, 34 and
/// 28 of subcommands with a file of 22,226,432 bytes, and a control file of 60.
pub fn steps(settings: &SenderSettings) -> VecDeque<SupplyStep> {
    let bytes = settings.bytes.get();
    let Method::Lpr { data_first, announced } = settings.method else {
        return VecDeque::from([SupplyStep::Data(bytes)]);
    };
    let line = |text: &str| SupplyStep::Line(Payload::copy_of(text.as_bytes()));
    let control_text = "Hlinux.example\nPwindlass\nJnul\nldfA001linux.example\nNnul.raw\n";
    let control_file = format!("{control_text}\0");
    let control = [
        line(&format!("\x02{} cfA001linux.example.net\n", control_text.len())),
        SupplyStep::Answer(1),
        line(&control_file),
        SupplyStep::Answer(1),
    ];
    // A size of 0 lasts to the end, so an empty file cannot be announced.
    let announced = if bytes == 0 { AnnouncedSize::ToTheEnd } else { announced };
    let size = if announced == AnnouncedSize::Exactly { bytes } else { 0 };
    let name = line(&format!("\x03{size} dfA001linux.example.net\n"));
    let mut steps = VecDeque::from([line("\x02raw\n"), SupplyStep::Answer(1)]);
    match announced {
        AnnouncedSize::Exactly => {
            // The zero that ends the file leaves with the file's last bytes, as in the trace.
            let data =
                [name, SupplyStep::Answer(1), SupplyStep::Data(bytes + 1), SupplyStep::Answer(1)];
            if data_first {
                steps.extend(data.into_iter().chain(control));
            } else {
                steps.extend(control.into_iter().chain(data));
            }
        }
        AnnouncedSize::ToTheEnd => {
            steps.extend(control);
            steps.extend([name, SupplyStep::Answer(1), SupplyStep::Data(bytes)]);
        }
    }
    steps
}

#[cfg(test)]
#[path = "supply_tests.rs"]
mod tests;
