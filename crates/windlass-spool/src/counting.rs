//! Page counts of jobs. The thread of a printer counts the pages before the device gets the
//! documents: no client waits for the count. Parts of a document that the count does not need are
//! not read.

use std::io::{self, Read};

use windlass_wire::pages::{Counter, DocumentFormat, HEAD, Pages, UnknownReason};

use crate::store::Document;
use crate::table::Job;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Maximum distance that is read rather than skipped: below it, reading costs less than a seek.
const NEAR: u64 = 16 << 10;

/// Counts the pages of a job's documents, while `goes_on` returns true.
pub(crate) fn pages(job: &Job, goes_on: &dyn Fn() -> bool) -> Pages {
    let mut all = Pages::Counted(0);
    for filed in &job.documents {
        // A failing disk also fails the delivery, which reports it.
        let pages = of(&filed.document, &job.ticket.format, goes_on);
        all = all.and(pages.unwrap_or(Pages::Unknown(UnknownReason::Damaged)));
        if matches!(all, Pages::Unknown(_)) {
            break;
        }
    }
    all
}

fn of(document: &Document, media_type: &str, goes_on: &dyn Fn() -> bool) -> io::Result<Pages> {
    // The format was detected on reception, unless another server received the document.
    let format = match document.format().get() {
        Some(format) => *format,
        None => {
            let mut head = Vec::new();
            document.reader().take(HEAD as u64).read_to_end(&mut head)?;
            *document.format().get_or_init(|| DocumentFormat::of(&head))
        }
    };
    let mut counter = Counter::new(media_type);
    if format.or_else(|| DocumentFormat::said(media_type)).is_none() && document.size() > 0 {
        return Ok(Pages::Unknown(UnknownReason::Format));
    }
    let (mut reader, mut buffer) = (document.reader(), Vec::new());
    loop {
        if !goes_on() {
            return Ok(Pages::Unknown(UnknownReason::Unsaid));
        }
        let skips = counter.skips();
        if skips > NEAR {
            let passed = reader.pass(skips);
            counter.skip(passed);
        }
        // After a skip, little is needed before the next skip.
        buffer.resize(if skips > NEAR { PIECE / 16 } else { PIECE }, 0);
        let got = reader.read(&mut buffer)?;
        if got == 0 {
            return Ok(counter.finish());
        }
        counter.feed(&buffer[..got]);
    }
}
