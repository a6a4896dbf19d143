//! What came of a job, as text.

use serde::Serialize;
use windlass_base::{Bytes, Span};
use windlass_drive::transfer::Buffers;
use windlass_measure::job::{By, Choice, Outcome, PrintReport, TransferReport};
use windlass_print::{Answer, Compression, IppAnswer, LprAnswer, RawAnswer, RawEnd};
use windlass_wire::ipp::JobState;
use windlass_wire::pjl::Status;

use crate::records::explain;
use crate::records::send as sent;
use crate::{Page, Record, Rows, Style, Text, figures, verdict as verdicts};

/// The most of a printer's own words that is shown.
const MAX_WORDS: usize = 200;

/// What came of a job, and whether its packets are explained in full.
#[derive(Serialize)]
pub struct Printed {
    #[serde(flatten)]
    /// What came of it.
    pub report: PrintReport,
    /// Whether its packets are explained in full.
    #[serde(skip)]
    pub explained: bool,
}

impl Record for Printed {
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
            // What the packets say stands in what explains them.
            let told = explained.is_some() && report.verdict_by == Some(By::Packets);
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

/// Who says what held the job back, and what the other measure of it says.
fn told_by(report: &PrintReport) -> Rows {
    let mut rows = Rows::new();
    let packets = report.packets.as_ref();
    match report.verdict_by {
        Some(By::Packets) => {
            rows.push("told by", "the job's packets");
            if let Some(kernel) = &report.kernel_verdict {
                rows.push("the kernel", verdicts::beside(kernel, report.verdict.as_ref()));
            }
        }
        Some(By::Kernel | By::File) => {
            rows.push("told by", "this end's kernel");
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
                None => captured.and(Text::styled(Style::Warn, "; none of the job's data")),
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
                text = text.and(": ").and(rate).and(" from the first byte to the answer");
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
        rows.push("document", "0 B: there is nothing in it to print");
    } else if !report.transfer.as_ref().is_some_and(|transfer| transfer.complete) {
        let mut text = Text::styled(Style::Warn, "not all of it: ").and(read);
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
                " more were in this host's kernel: the connection is reset, and they are not \
                     sent"
            }
            false => {
                " more are in this host's kernel, which goes on to send them: the printer \
                      may print what it gets. With --reset the connection ends at once"
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

/// Times beside the whole.
fn shares(times: &[(Span, &str)], whole: Span) -> Text {
    let share = |(time, what): &(Span, &str)| {
        let share = figures::percent(time.share_of(whole));
        Text::from(*what).and(" ").and(*time).and(" (").and(share).and(")")
    };
    Text::joined(times.iter().map(share), ", ")
}

/// What was learned, what was done, and what came of it.
fn learned(choice: &Choice) -> Rows {
    let mut rows = Rows::new();
    let mut learned = match (&choice.by, &choice.file) {
        (None, _) => Text::from("nothing: too little was sent to tell what held it back"),
        (Some(by), file) => {
            let text = match (by, file) {
                (By::File, Some(file)) => Text::from(file.display().to_string()).and(" says: "),
                (By::Kernel, _) => Text::from("this end's kernel says: "),
                (By::Packets | By::File, _) => Text::from("the job's packets say: "),
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
        Outcome::Enough => Text::from(
            "to leave the send buffer: by then the kernel had made \
                                       it ",
        )
        .and(before)
        .and(", and ")
        .strong(needed)
        .and(" of data are needed"),
        Outcome::Refused => Text::styled(Style::Warn, "the kernel grants no more than it has, ")
            .and(before)
            .and("; ")
            .strong(needed)
            .and(" of data are needed. Raise net.core.wmem_max"),
        Outcome::TooLate => Text::from("nothing: the job was over. Give the next one ")
            .strong(format!("--send-buffer {}", needed.get())),
        Outcome::NotTheLimit => Text::from("to leave the send buffer: it is not the limit"),
        Outcome::Unknown => Text::from("to leave the send buffer"),
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
        rows.push("came of it", text);
    } else if let Some(expected) = choice.expected_bytes_per_second {
        rows.push("to expect", Text::from(expected));
    }
    rows
}

/// What a printer said of itself.
fn status(status: &Status) -> Text {
    let mut parts = Vec::new();
    parts.extend(status.display.as_ref().map(|display| format!("{display:?}")));
    parts.extend(status.code.map(|code| format!("code {code}")));
    let online = |online| if online { "online" } else { "offline" };
    parts.extend(status.online.map(|is_on| online(is_on).to_owned()));
    if status.by_itself {
        parts.push("told by itself".to_owned());
    }
    parts.join(", ").into()
}

/// What the server said.
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
        RawEnd::Reset => "it reset the connection once it had all",
        RawEnd::LeftOpen => "it has all, and left the connection open",
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
        let text = "it closed the connection and did not say that it has the data";
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
        true => "the server keeps no history, and knows nothing of it any more",
        false => end.state.map_or("not known", JobState::id),
    });
    if !end.reasons.is_empty() {
        text = text.and(format!(" ({})", end.reasons.join(", ")));
    }
    rows.push("ended", text.and(", ").and(end.seconds).and(" after its last byte was accepted"));
}
