//! Report on a print job, as text.

use serde::Serialize;
use windlass_base::{Bytes, Span};
use windlass_drive::transfer::Buffers;
use windlass_measure::job::{Choice, Outcome, PrintReport, TransferReport, VerdictSource};
use windlass_print::{Answer, Compression, IppAnswer, LprAnswer, RawAnswer, RawEnd};
use windlass_wire::ipp::JobState;
use windlass_wire::pjl::Status;

use crate::records::explain;
use crate::records::send as sent;
use crate::{Page, Record, Rows, Style, Text, figures, verdict as verdicts};

/// Maximum length of a printer's own text.
const MAX_WORDS: usize = 200;

/// Report on a print job, with or without the full explanation of its packets.
#[derive(Serialize)]
pub struct PrintJobReport {
    #[serde(flatten)]
    /// Report on the job.
    pub report: PrintReport,
    /// True if the packets are explained in full.
    #[serde(skip)]
    pub explained: bool,
}

impl Record for PrintJobReport {
    fn text(&self, page: &mut Page) {
        let report = &self.report;
        let job = format!("   {:?} of {}", report.job.name, report.job.user);
        page.heading(Text::from(format!("here → {}", report.target.uri)).dim(job));
        page.indented(|page| {
            page.rows(&head(report));
            page.gap();
        });
        let packets = report.packets.as_ref().and_then(|packets| packets.connection.as_ref());
        let explained = packets.filter(|_| self.explained);
        if let Some(connection) = explained {
            explain::connection(page, explain::Extent::Whole, connection, None, None);
            page.gap();
        }
        page.indented(|page| {
            // The full explanation already contains the verdict of the packets.
            let told = explained.is_some() && report.verdict_by == Some(VerdictSource::Packets);
            if let Some(verdict) = report.verdict.as_ref().filter(|_| !told) {
                verdicts::whole(page, verdict, |_| {});
            }
            page.rows(&told_by(report));
            page.gap();
            if let Some(choice) = &report.send_buffer {
                page.rows(&learned(choice));
                page.gap();
            }
            if let Some(transfer) = &report.transfer {
                page.rows(&facts(transfer, report));
            }
        });
    }
}

/// Returns the source of the verdict on the job, and the verdict of the other source.
fn told_by(report: &PrintReport) -> Rows {
    let mut rows = Rows::new();
    let packets = report.packets.as_ref();
    match report.verdict_by {
        Some(VerdictSource::Packets) => {
            rows.push("source", "the job's packets");
            if let Some(kernel) = &report.kernel_verdict {
                rows.push("the kernel", verdicts::beside(kernel, report.verdict.as_ref()));
            }
        }
        Some(VerdictSource::Kernel | VerdictSource::File) => {
            rows.push("source", "this end's kernel");
            let connection = packets.and_then(|packets| packets.connection.as_ref());
            if let Some(connection) = connection {
                rows.push("the packets", verdicts::beside(&connection.verdict, None));
            }
        }
        None => {}
    }
    if let Some(packets) = packets {
        let captured = figures::counted(packets.captured, "packet")
            .and(format!(" on {}, ", packets.interface))
            .and(Text::rare(packets.kernel_drops, Style::Warn))
            .and(" dropped");
        rows.push(
            "captured",
            match packets.connection {
                Some(_) => captured,
                None => captured.and(Text::styled(Style::Warn, "; none with data of the job")),
            },
        );
    }
    if let Some(why) = &report.without_packets {
        rows.push("no packets", Text::styled(Style::Warn, why));
    }
    rows
}

fn head(report: &PrintReport) -> Rows {
    let mut rows = Rows::new();
    if let Some(transfer) = &report.transfer {
        let moved =
            sent::moved(transfer.acknowledged_bytes, transfer.seconds, transfer.bytes_per_second);
        rows.push("acknowledged", moved);
        if let Some(time) = transfer.answered_seconds {
            let mut text = Text::from("after ").and(time);
            if let Some(rate) = transfer.answered_bytes_per_second {
                text = text
                    .and(": ")
                    .and(figures::both(rate))
                    .and(" from the first byte to the answer");
            }
            rows.push("answered", text);
        }
    }
    let read = report.document.read_bytes;
    let sent = report.transfer.as_ref().map_or(Bytes::ZERO, |transfer| transfer.sent_bytes);
    if let Some(kind) = report.document.compression.filter(|kind| *kind != Compression::None) {
        let text = Text::from(read).and(format!(" by {} to ", kind.id())).and(sent);
        rows.push("compressed", text);
    }
    if report.document.bytes == Some(Bytes::ZERO) {
        rows.push("document", "0 B: there is nothing to print");
    } else if !report.transfer.as_ref().is_some_and(|transfer| transfer.complete) {
        let mut text = Text::styled(Style::Warn, "incomplete: ").and(read);
        text = match report.document.bytes {
            Some(whole) => text.and(" of ").and(whole).and(" were read"),
            None => text.and(" were read"),
        };
        rows.push("document", text);
    }
    let left = report
        .transfer
        .as_ref()
        .filter(|transfer| report.interrupted && transfer.unacknowledged_bytes > Bytes::ZERO);
    if let Some(transfer) = left {
        let bytes = Text::styled(Style::Warn, transfer.unacknowledged_bytes);
        let what = match transfer.is_reset {
            true => {
                " more were in this host's kernel: the connection is reset, and they are not sent"
            }
            false => {
                " more are in this host's kernel, which still sends them, and the printer may \
                 print them. With --reset the connection ends at once"
            }
        };
        rows.push("the rest", bytes.and(what));
    }
    if let Some(answer) = &report.answer {
        answered(&mut rows, answer);
    }
    if let Some(failure) = &report.failure {
        rows.push("failed", Text::styled(Style::Bad, failure));
    }
    rows
}

fn facts(transfer: &TransferReport, report: &PrintReport) -> Rows {
    let mut rows = Rows::new();
    let streams = std::slice::from_ref(&transfer.connection);
    let buffers = Buffers { window: None, send: transfer.asked_send_buffer_bytes };
    if let Some(kernel) = &transfer.connection.sender {
        let mut window = match kernel.max_peer_window_bytes {
            Some(most) => Text::from("advertised at most ").strong(most),
            None => Text::styled(Style::Dim, "not known"),
        };
        if let Some(mean) = kernel.mean_peer_window_bytes {
            window = window.and(", on average ").and(mean);
        }
        rows.push("window", window);
        let times = [
            (kernel.times.busy_seconds, "busy"),
            (kernel.times.receiver_limited_seconds, "held by the window"),
            (kernel.times.buffer_limited_seconds, "by the send buffer"),
        ];
        rows.push("kernel", shares(&times, transfer.seconds));
    }
    rows.push("send buffer", sent::buffer(buffers, streams));
    rows.push("congestion", sent::congestion(&transfer.connection, streams));
    if let Some(kernel) = &transfer.connection.sender {
        rows.push("RTT", sent::rtt(kernel));
        rows.push("resent", sent::resent(kernel));
    }
    rows.push("processor", sent::processor(transfer.cpu));
    if let Some(address) = &report.target.address {
        rows.push("connection", format!("{} → {address}", transfer.connection.local));
    }
    rows
}

/// Returns times and their shares of the whole.
fn shares(times: &[(Span, &str)], whole: Span) -> Text {
    let share = |(time, what): &(Span, &str)| {
        let share = figures::percent(time.share_of(whole));
        Text::from(*what).and(" ").and(*time).and(" (").and(share).and(")")
    };
    Text::joined(times.iter().map(share), ", ")
}

/// Returns the finding of the learning phase, the choice, and its effect.
fn learned(choice: &Choice) -> Rows {
    let mut rows = Rows::new();
    let mut learned = match (&choice.by, &choice.file) {
        (None, _) => Text::from("nothing: too little was sent to find the limit"),
        (Some(by), file) => {
            let text = match (by, file) {
                (VerdictSource::File, Some(file)) => {
                    Text::from(file.display().to_string()).and(" says: ")
                }
                (VerdictSource::Kernel, _) => Text::from("this end's kernel says: "),
                (VerdictSource::Packets | VerdictSource::File, _) => {
                    Text::from("the job's packets say: ")
                }
            };
            let share = choice.share.unwrap_or(0.0);
            let cause = match choice.limit {
                Some(limit) => verdicts::limit_and_cause(limit, choice.because),
                None => "unknown".to_owned(),
            };
            text.strong(cause).and(", ").and(figures::percent(share)).and(" of the time")
        }
    };
    if let (Some(bytes), Some(seconds)) = (choice.bytes, choice.seconds) {
        learned = learned.and(", in the first ").and(bytes).and(" and ").and(seconds);
    }
    rows.push("learned", learned);
    if let Some(sentence) = &choice.sentence {
        rows.push("", sentence);
    }
    if let Some(why) = &choice.without_packets {
        rows.push("no packets", Text::styled(Style::Warn, why));
    }
    let needed = choice.needed_bytes.unwrap_or_default();
    let before = choice.before_bytes.unwrap_or_default();
    let granted = choice.granted_bytes.unwrap_or_default();
    let chosen = match choice.outcome {
        Outcome::Set => Text::from("a send buffer of ")
            .strong(needed)
            .and(", from the beginning; granted ")
            .and(granted),
        Outcome::Raised => Text::from("a send buffer of ")
            .strong(needed)
            .and(" since then; granted ")
            .and(granted)
            .and(", before ")
            .and(before),
        Outcome::Enough => {
            Text::from("to keep the send buffer: the kernel had already raised it to ")
                .and(before)
                .and(", and ")
                .strong(needed)
                .and(" of data are needed")
        }
        Outcome::Refused => Text::styled(Style::Warn, "the kernel grants no more than it has, ")
            .and(before)
            .and("; ")
            .strong(needed)
            .and(" of data are needed. Raise net.core.wmem_max"),
        Outcome::TooLate => Text::from("nothing: the job was over. Run the next job with ")
            .strong(format!("--send-buffer {}", needed.get())),
        Outcome::NotTheLimit => Text::from("to keep the send buffer: it is not the limit"),
        Outcome::Unknown => Text::from("to keep the send buffer"),
    };
    rows.push("chosen", chosen);
    if let (Some(before), Some(after)) =
        (choice.bytes_per_second_before, choice.bytes_per_second_after)
    {
        let mut text = Text::default().strong(before).and(" before, ").strong(after);
        text = text.and(" after");
        if let Some(expected) = choice.expected_bytes_per_second {
            text = text.and("; expected ").and(expected);
        }
        rows.push("effect", text);
    } else if let Some(expected) = choice.expected_bytes_per_second {
        rows.push("to expect", Text::from(expected));
    }
    rows
}

/// Returns the status of a printer.
fn status(status: &Status) -> Text {
    let mut parts = Vec::new();
    parts.extend(status.display.as_ref().map(|display| format!("{display:?}")));
    parts.extend(status.code.map(|code| format!("code {code}")));
    let online = |online| if online { "online" } else { "offline" };
    parts.extend(status.online.map(|is_on| online(is_on).to_owned()));
    if status.by_itself {
        parts.push("unsolicited".to_owned());
    }
    parts.join(", ").into()
}

/// Adds the answers of the server.
fn answered(rows: &mut Rows, answer: &Answer) {
    match answer {
        Answer::Raw(raw) => answered_raw(rows, raw),
        Answer::Lpr(lpr) => answered_lpr(rows, lpr),
        Answer::Ipp(ipp) => answered_ipp(rows, ipp),
    }
}

fn answered_raw(rows: &mut Rows, raw: &RawAnswer) {
    if let Some(before) = &raw.status_before {
        rows.push("before", status(before));
    }
    rows.list("status", raw.statuses.iter().map(status));
    let end = match raw.ended {
        RawEnd::Closed => "it closed the connection",
        RawEnd::Reset => "it reset the connection after it received everything",
        RawEnd::LeftOpen => "it received everything, and left the connection open",
    };
    rows.push("printer", end);
    if raw.received_bytes > Bytes::ZERO {
        let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
        let words: String = raw.text.chars().map(printable).take(MAX_WORDS).collect();
        rows.push("it says", Text::from(raw.received_bytes).and(": ").and(words.trim()));
    }
}

fn answered_lpr(rows: &mut Rows, lpr: &LprAnswer) {
    rows.push("job", format!("{:03}", lpr.number));
    let steps = lpr.steps.iter();
    rows.list("accepted", steps.map(|step| Text::from(step.name).and(" after ").and(step.seconds)));
    if !lpr.confirmed {
        let text = "it closed the connection without confirming the data";
        rows.push("not sure", Text::styled(Style::Warn, text));
    }
}

fn answered_ipp(rows: &mut Rows, ipp: &IppAnswer) {
    for done in &ipp.operations {
        let mut text = Text::from(done.status.to_string()).and(" after ").and(done.seconds);
        if !done.message.is_empty() {
            text = text.and(": ").and(&done.message);
        }
        rows.push(done.operation.to_string(), text);
    }
    let mut text = match ipp.job_id {
        Some(id) => Text::from(id.to_string()),
        None => Text::styled(Style::Dim, "it has no number"),
    };
    if let Some(state) = ipp.state {
        text = text.and(", ").and(state.id());
    }
    if let Some(uri) = &ipp.job_uri {
        text = text.dim(format!("   {uri}"));
    }
    rows.push("job", text);
    let Some(end) = &ipp.end else { return };
    let mut text = Text::from(match end.is_forgotten {
        true => "the server keeps no history, and no longer knows the job",
        false => end.state.map_or("not known", JobState::id),
    });
    if !end.reasons.is_empty() {
        text = text.and(format!(" ({})", end.reasons.join(", ")));
    }
    rows.push("ended", text.and(", ").and(end.seconds).and(" after its last byte was accepted"));
}
