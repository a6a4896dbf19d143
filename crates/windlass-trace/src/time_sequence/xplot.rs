//! A time-sequence graph as xplot draws it, by tcptrace's conventions.
//!
//! The format is that of xplot(1) by Tim Shepard: a heading, then commands with one
//! point of the graph or two, and colours that hold until the next. What is drawn is in
//! the manual of tcptrace, "Time Sequence Graphs": a white line with arrows at its ends
//! for a segment, `R` and red where it was sent before, a green line for the ACK and a
//! yellow one for the right edge of the window, each with a tick where it is said again,
//! purple for what is held beyond a gap.

use std::fmt::Write;

use windlass_base::{Bytes, Named, Timestamp};
use windlass_wire::Flags;

use super::{Answer, Block, Mark, Point, SentBytes};

/// Writer of the points of one direction as commands of xplot.
#[derive(Clone, Copy, Debug)]
pub struct Xplot {
    /// Side that sends the bytes.
    side: usize,
    color: Color,
    /// The last ACK of them, and its repetitions so far.
    acked: Option<i64>,
    repeated: u32,
}

/// The colours of tcptrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
enum Color {
    White,
    Red,
    Pink,
    Blue,
    Orange,
    Green,
    Yellow,
    Purple,
    Magenta,
}

/// The repetitions of an ACK at which a sender repairs (RFC 5681 section 3.2).
const REPAIRS: u32 = 3;

impl Xplot {
    /// Begins a graph of the bytes that side 0 or 1 sends, under a title, without its control
    /// characters. A title names sender and receiver.
    pub fn begin(out: &mut String, side: usize, title: &str) -> Self {
        let title: String = title.chars().filter(|letter| !letter.is_control()).collect();
        out.push_str("timeval double\ntitle\n");
        out.push_str(&title);
        out.push_str("\nxlabel\ntime\nylabel\nsequence number\nwhite\n");
        Self { side, color: Color::White, acked: None, repeated: 0 }
    }

    /// Draws the points of a packet.
    pub fn point(&mut self, out: &mut String, point: &Point) {
        let own = point.from == self.side;
        if own && let Some(sent) = &point.sent {
            self.sent(out, point.flags, point.time, sent);
        }
        if !own && let Some(answer) = &point.answer {
            self.answer(out, point.flags, answer);
            self.acked = Some(answer.now.ack);
        }
        if point.flags.has(Flags::RST) {
            let place = if own { point.sent.map(|sent| sent.start) } else { self.acked };
            let word = if own { "RST_OUT" } else { "RST_IN" };
            if let Some(place) = place {
                self.letter(out, Color::Magenta, "atext", (point.time, place), word);
            }
        }
    }

    /// Ends the graph.
    pub fn end(self, out: &mut String) {
        out.push_str("go\n");
    }

    fn color(&mut self, out: &mut String, color: Color) {
        if self.color != color {
            self.color = color;
            out.push_str(color.id());
            out.push('\n');
        }
    }

    fn sent(&mut self, out: &mut String, flags: Flags, time: Timestamp, sent: &SentBytes) {
        let SentBytes { start, end, mark } = *sent;
        if flags.has(Flags::SYN) {
            self.control(out, mark);
            one(out, "diamond", time, start);
            one(out, "uarrow", time, start + 1);
            across(out, (time, start), (time, start + 1));
            text(out, "atext", time, start + 1, &label(mark, "SYN"));
            return;
        }
        let color = match mark {
            Mark::First | Mark::OutOfOrder | Mark::Probe => Color::White,
            Mark::Again => Color::Red,
            Mark::Copy => Color::Blue,
        };
        match mark {
            Mark::First => {}
            Mark::Again => self.letter(out, Color::Red, "atext", (time, end), "R"),
            Mark::Copy => self.letter(out, Color::Blue, "atext", (time, end), "HD"),
            Mark::OutOfOrder => self.letter(out, Color::Pink, "atext", (time, end), "O"),
            Mark::Probe => self.letter(out, Color::Orange, "btext", (time, end), "P"),
        }
        if end > start || !flags.has(Flags::FIN) {
            self.color(out, color);
            one(out, "darrow", time, start);
        }
        if end > start {
            across(out, (time, start), (time, end));
            if flags.has(Flags::PSH) {
                one(out, "diamond", time, end);
                one(out, "dot", time, end);
            } else {
                one(out, "uarrow", time, end);
            }
        } else if !flags.has(Flags::FIN) {
            // Both arrows at one place: a cross.
            one(out, "uarrow", time, start);
        }
        if flags.has(Flags::FIN) {
            self.control(out, mark);
            one(out, "darrow", time, end);
            across(out, (time, end), (time, end + 1));
            one(out, "box", time, end + 1);
            text(out, "atext", time, end + 1, &label(mark, "FIN"));
        }
    }

    fn letter(
        &mut self,
        out: &mut String,
        color: Color,
        command: &str,
        at: (Timestamp, i64),
        letter: &str,
    ) {
        self.color(out, color);
        text(out, command, at.0, at.1, letter);
    }

    /// Writes the colour of a SYN or a FIN.
    fn control(&mut self, out: &mut String, mark: Mark) {
        let color = match mark {
            Mark::Again => Color::Red,
            Mark::Copy => Color::Blue,
            _ => Color::Orange,
        };
        self.color(out, color);
    }

    fn answer(&mut self, out: &mut String, flags: Flags, answer: &Answer) {
        let now = answer.now;
        if answer.window == Bytes::ZERO {
            self.letter(out, Color::Magenta, "atext", (now.time, now.edge), "Z");
        }
        if let Some(before) = answer.before {
            self.color(out, Color::Green);
            across(out, (before.time, before.ack), (now.time, before.ack));
            if answer.repeats_ack() {
                one(out, "dtick", now.time, now.ack);
                let repeats = flags == Flags::ACK && answer.repeats_edge();
                self.repeated += u32::from(repeats);
                if repeats && self.repeated == REPAIRS {
                    text(out, "atext", now.time, now.ack, "3");
                }
            } else {
                self.repeated = 0;
                across(out, (now.time, before.ack), (now.time, now.ack));
            }
            self.color(out, Color::Yellow);
            across(out, (before.time, before.edge), (now.time, before.edge));
            if answer.repeats_edge() {
                one(out, "utick", now.time, now.edge);
            } else {
                across(out, (now.time, before.edge), (now.time, now.edge));
            }
        }
        self.sacks(out, now.time, answer.sacks());
    }

    fn sacks(&mut self, out: &mut String, time: Timestamp, blocks: &[Block]) {
        let Some(top) = blocks.iter().map(|block| block.right).max() else { return };
        self.color(out, Color::Purple);
        for (count, block) in (1_u32..).zip(blocks) {
            across(out, (time, block.left), (time, block.right));
            one(out, "htick", time, block.left);
            one(out, "htick", time, block.right);
            if blocks.len() > 1 {
                text(out, "rtext", time, block.right, &count.to_string());
            }
        }
        text(out, "atext", time, top, "S");
    }
}

fn label(mark: Mark, name: &str) -> String {
    match mark {
        Mark::Again => format!("R {name}"),
        Mark::Copy => format!("HD {name}"),
        _ => name.to_owned(),
    }
}

/// Writes a time as tcptrace does: seconds and microseconds, finer digits cut off.
fn seconds(out: &mut String, time: Timestamp) {
    let micros = time.as_nanos().div_euclid(1_000);
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    // Writing to a string does not fail.
    _ = write!(out, "{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000);
}

fn one(out: &mut String, command: &str, time: Timestamp, place: i64) {
    out.push_str(command);
    out.push(' ');
    seconds(out, time);
    _ = writeln!(out, " {place}");
}

fn across(out: &mut String, from: (Timestamp, i64), to: (Timestamp, i64)) {
    out.push_str("line ");
    seconds(out, from.0);
    _ = write!(out, " {} ", from.1);
    seconds(out, to.0);
    _ = writeln!(out, " {}", to.1);
}

/// Writes a word at a place: behind the command, on a line of its own.
fn text(out: &mut String, command: &str, time: Timestamp, place: i64, word: &str) {
    one(out, command, time, place);
    out.push_str(word);
    out.push('\n');
}
