//! `windlass show --xplot`: the conversation as a time-sequence graph.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_base::values::PacketRange;
use windlass_base::{Failure, Schema};
use windlass_capture::{CaptureFacts, FirstPass, ReadSettings};
use windlass_output::{Page, Record, Text, figures};
use windlass_trace::time_sequence::{ConnectionFollower, Point, TimeSequence, Xplot};
use windlass_wire::{Endpoint, Observer, Segment};

use super::ShowArgs;
use crate::files::{self, WholeFile, check_output};
use crate::reading;

/// Size of the write buffer in bytes.
const GATHERED: usize = 1 << 16;

/// The record of `windlass show --xplot`.
#[derive(Debug, Serialize)]
pub(super) struct XplotReport {
    schema: Schema,
    capture: CaptureFacts,
    /// The connection that is drawn.
    connection: u64,
    /// The larger transfer first; the other direction only if it carried data.
    files: Vec<DrawnFile>,
}

/// A graph of one direction.
#[derive(Debug, Serialize)]
struct DrawnFile {
    file: String,
    /// Sender of the drawn bytes.
    sender: String,
    receiver: String,
    /// Segments with data.
    segments: u64,
    /// ACKs of these segments.
    acks: u64,
}

impl Record for XplotReport {
    fn text(&self, page: &mut Page) {
        for drawn in &self.files {
            page.paragraph(
                Text::from("Wrote ")
                    .strong(drawn.file.as_str())
                    .and(format!(
                        ": connection {}, {} → {}, ",
                        self.connection, drawn.sender, drawn.receiver
                    ))
                    .and(figures::counted(drawn.segments, "segment"))
                    .and(" with data, ")
                    .and(figures::counted(drawn.acks, "ACK"))
                    .and("."),
            );
        }
        page.paragraph("Open it with xplot.");
    }
}

/// Returns the file of the other direction: `upload.back.xpl` for `upload.xpl`.
fn back(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".back");
    if let Some(end) = path.extension() {
        name.push(".");
        name.push(end);
    }
    path.with_file_name(name)
}

/// A graph that is being written.
struct Graph {
    file: WholeFile,
    out: File,
    text: String,
    xplot: Option<Xplot>,
    segments: u64,
    acks: u64,
    failed: Option<io::Error>,
}

impl Graph {
    fn create(path: &Path) -> Result<Self, Failure> {
        let made = WholeFile::create(path).and_then(|file| Ok((file.writer()?, file)));
        let (out, file) = made.map_err(|error| unwritable(path, &error))?;
        let (text, xplot, failed) = (String::with_capacity(GATHERED + 4_096), None, None);
        Ok(Self { file, out, text, xplot, segments: 0, acks: 0, failed })
    }

    fn point(&mut self, side: usize, title: &str, point: &Point) {
        let text = &mut self.text;
        let xplot = self.xplot.get_or_insert_with(|| Xplot::begin(text, side, title));
        xplot.point(text, point);
        let has_data = point.sent.is_some_and(|sent| sent.end > sent.start);
        self.segments += u64::from(point.from == side && has_data);
        self.acks += u64::from(point.from != side && point.answer.is_some());
        if self.text.len() >= GATHERED {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(self.text.as_bytes()).err();
        }
        self.text.clear();
    }

    /// Ends the file and gives it its name.
    fn finish(mut self, ends: [&str; 2]) -> Result<DrawnFile, Failure> {
        if let Some(xplot) = self.xplot.take() {
            xplot.end(&mut self.text);
        }
        self.write();
        let path = self.file.path().to_owned();
        let written = self.failed.take().map_or(Ok(()), Err);
        written.and_then(|()| self.file.take_name()).map_err(|error| unwritable(&path, &error))?;
        let [sender, receiver] = ends.map(ToOwned::to_owned);
        let file = path.display().to_string();
        Ok(DrawnFile { file, sender, receiver, segments: self.segments, acks: self.acks })
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    files::unwritable(format!("cannot write {}", path.display()), error)
}

/// The second pass: draws.
struct XplotPass {
    follow: ConnectionFollower,
    range: Option<PacketRange>,
    /// Sender of the larger transfer; without data, the sender of the first packet.
    sender: Option<Endpoint>,
    /// Of the larger transfer, and of the other direction.
    graphs: [Graph; 2],
    /// The names of the sender and the receiver.
    names: [String; 2],
    name: Box<dyn Fn(Endpoint) -> String>,
}

impl Observer for XplotPass {
    fn segment(&mut self, segment: &Segment) {
        let Some((place, point)) = self.follow.segment(segment) else { return };
        let Some(ends) = self.follow.graph(place).and_then(TimeSequence::ends) else { return };
        let side = usize::from(self.sender.is_some_and(|sender| sender == ends[1]));
        if self.names[0].is_empty() {
            self.names = [(self.name)(ends[side]), (self.name)(ends[1 - side])];
        }
        if self.range.is_some_and(|range| !range.contains(segment.number)) {
            return;
        }
        let [sender, receiver] = &self.names;
        let title = |from: &str, to: &str| format!("{from}_==>_{to} (time sequence graph)");
        let [forth, back] = &mut self.graphs;
        forth.point(side, &title(sender, receiver), &point);
        back.point(1 - side, &title(receiver, sender), &point);
    }
}

/// Draws the connection that `args` names to `path`; `number` gives it after the first pass.
pub(super) fn draw(
    args: &ShowArgs,
    path: &Path,
    reading: &ReadSettings<'_>,
    first: FirstPass<()>,
    number: u64,
) -> Result<XplotReport, Failure> {
    let doing = format!("cannot write {}", path.display());
    let FirstPass { read, connections, again, .. } = first;
    let found = connections.iter().find(|connection| connection.number() == number);
    let capture = CaptureFacts::new(args.capture.name(), &read);
    let mut drawing = XplotPass {
        follow: ConnectionFollower::new([(number, TimeSequence::new())]),
        range: args.packets,
        sender: found.map(windlass_trace::Transfer::sender),
        graphs: [Graph::create(path)?, Graph::create(&back(path))?],
        names: Default::default(),
        name: Box::new(move |end| read.name(end)),
    };
    let mut interrupted = capture.interrupted;
    again.read(&mut drawing, |drawing| {
        let read = reading::read(reading, drawing)?;
        interrupted |= read.interrupted;
        Ok(read)
    })?;
    if interrupted {
        return Err(Failure::new(doing, "stopped by Ctrl-C; nothing was written"));
    }
    let XplotPass { graphs: [forth, back], names: [sender, receiver], .. } = drawing;
    if forth.xplot.is_none() {
        return Err(Failure::new(
            doing,
            "the range of --packets holds no packet of the connection",
        )
        .advise("Leave --packets out, or give another range."));
    }
    let mut files = vec![forth.finish([&sender, &receiver])?];
    if back.segments > 0 {
        files.push(back.finish([&receiver, &sender])?);
    }
    let schema = Schema { name: "windlass.show-xplot", version: 1 };
    Ok(XplotReport { schema, capture, connection: number, files })
}

/// Checks the output files before the capture is read.
pub(super) fn check(capture: &Path, path: &Path) -> Result<(), Failure> {
    check_output(capture, path, "the graph")?;
    check_output(capture, &back(path), "the graph")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_direction_has_a_file_beside() {
        for (path, other) in [("a/up.xpl", "a/up.back.xpl"), ("up", "up.back"), (".x", ".x.back")] {
            assert_eq!(back(Path::new(path)), Path::new(other));
        }
    }
}
