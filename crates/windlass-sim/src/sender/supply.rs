//! The program on top of the sender: what it writes, and when.
//!
//! The stream that it writes is mostly zeros. LPR's command lines and control
//! file have bytes, of which the ones that are not acknowledged are kept.

use std::collections::VecDeque;

use windlass_base::{Span, Timestamp};

use super::settings::{Announced, Method, SenderSettings, Writes};
use crate::segment::Payload;

/// What the program does, one thing after the other.
#[derive(Clone, Debug)]
pub enum SupplyStep {
    /// Writes these bytes at once.
    Line(Payload),
    /// Writes so many bytes of data as [`Writes`] has it.
    Data(u64),
    /// Waits for so many bytes of answer, then thinks.
    Answer(u64),
}

/// What holds the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// Nothing: it writes as much as the buffer takes.
    Nothing,
    /// Time: a pause, or thinking.
    Time(Timestamp),
    /// An answer, of which so many bytes have not come.
    Answer(u64),
    /// It has done everything.
    Done,
}

/// The program.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    steps: VecDeque<SupplyStep>,
    writes: Writes,
    think: Span,
    holds: Holds,
    /// What is left of the piece of data that it is writing.
    piece: u64,
    /// Whether that piece has its whole length.
    whole: bool,
    /// Whether the first piece was written.
    begun: bool,
    /// Whether no more answers will come.
    cut_off: bool,
    /// Bytes of answer that came before they were waited for.
    early: u64,
    /// How far the stream is written.
    pub(super) written: u64,
    /// Parts of the stream that are not zeros, by where they begin.
    lines: VecDeque<(u64, Payload)>,
}

impl Supply {
    /// A program whose stream begins at `position`.
    pub(super) fn new(settings: &SenderSettings, position: u64) -> Self {
        Self {
            steps: steps(settings),
            writes: settings.writes,
            think: settings.think,
            holds: Holds::Nothing,
            piece: 0,
            whole: true,
            begun: false,
            cut_off: false,
            early: 0,
            written: position,
            lines: VecDeque::new(),
        }
    }

    /// The connection is open: the program begins.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.holds = Holds::Time(now + self.think);
    }

    /// Whether everything is written, and every answer came.
    pub(super) fn is_done(&self) -> bool {
        self.holds == Holds::Done
    }

    /// Whether the program would write if there were room.
    pub(super) fn wants_room(&self) -> bool {
        self.holds == Holds::Nothing
    }

    /// When the program goes on by itself.
    pub(super) const fn next_time(&self) -> Option<Timestamp> {
        match self.holds {
            Holds::Time(time) => Some(time),
            _ => None,
        }
    }

    /// So many bytes of answer arrived.
    pub(super) fn answered(&mut self, bytes: u64, now: Timestamp) {
        self.early += bytes;
        if let Holds::Answer(wanted) = self.holds
            && self.early >= wanted
        {
            self.early -= wanted;
            // After the last answer there is nothing to think about.
            self.holds =
                if self.steps.is_empty() { Holds::Done } else { Holds::Time(now + self.think) };
        } else if self.cut_off {
            self.cut_off();
        }
    }

    /// No more answers will come: a program that waits for one gives up.
    pub(super) fn cut_off(&mut self) {
        self.cut_off = true;
        if let Holds::Answer(_) = self.holds {
            self.steps.clear();
            self.holds = Holds::Done;
        }
    }

    /// Everything before `position` is acknowledged: its bytes may go.
    pub(super) fn acknowledged(&mut self, position: u64) {
        while let Some((start, line)) = self.lines.front()
            && start + u64::from(line.len()) <= position
        {
            self.lines.pop_front();
        }
    }

    /// Writes what it can into a buffer with `room`.
    pub(super) fn write(&mut self, now: Timestamp, mut room: u64) {
        loop {
            match self.holds {
                Holds::Time(time) if time <= now => self.holds = Holds::Nothing,
                Holds::Nothing => {}
                Holds::Time(_) | Holds::Answer(_) | Holds::Done => return,
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
                    self.holds = Holds::Answer(wanted);
                    self.answered(0, now);
                }
                _ => self.holds = Holds::Done,
            }
        }
    }

    /// Writes data of which `left` bytes are left: how much, as the pattern has
    /// it.
    fn write_data(&mut self, now: Timestamp, left: u64, room: u64) -> u64 {
        if self.piece == 0 {
            self.piece = match self.writes {
                Writes::Bulk => left,
                Writes::Paced { first, .. } if !self.begun => first.get(),
                Writes::Paced { piece, .. } => piece.get(),
                Writes::Bursts { bytes, .. } | Writes::Requests { bytes, .. } => bytes.get(),
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
                Writes::Paced { every, .. } if !last => Holds::Time(now + every),
                Writes::Bursts { pause, .. } if !last => Holds::Time(now + pause),
                // Nobody answers a request that is cut short.
                Writes::Requests { answer, .. } if self.whole => Holds::Answer(answer.get()),
                _ => Holds::Nothing,
            };
            self.answered(0, now);
        }
        taken
    }

    /// The part `from..to` of the stream.
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

/// What the program does for its method. A program above another TCP that does
/// the same writes the same stream.
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
    let announced = if bytes == 0 { Announced::ToTheEnd } else { announced };
    let size = if announced == Announced::Exactly { bytes } else { 0 };
    let name = line(&format!("\x03{size} dfA001linux.example.net\n"));
    let mut steps = VecDeque::from([line("\x02raw\n"), SupplyStep::Answer(1)]);
    match announced {
        Announced::Exactly => {
            // The zero that ends the file leaves with its last bytes, as in the
            // trace.
            let data =
                [name, SupplyStep::Answer(1), SupplyStep::Data(bytes + 1), SupplyStep::Answer(1)];
            if data_first {
                steps.extend(data.into_iter().chain(control));
            } else {
                steps.extend(control.into_iter().chain(data));
            }
        }
        Announced::ToTheEnd => {
            steps.extend(control);
            steps.extend([name, SupplyStep::Answer(1), SupplyStep::Data(bytes)]);
        }
    }
    steps
}

#[cfg(test)]
#[path = "supply_tests.rs"]
mod tests;
