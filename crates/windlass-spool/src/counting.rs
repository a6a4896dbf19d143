//! How many pages the documents of a job have. The thread of a printer looks through them
//! before the device gets them: no client waits for that, and what it need not see of
//! them is not read.

use std::io::{self, Read};

use windlass_wire::pages::{Counter, Format, HEAD, Pages, Unknown};

use crate::store::Document;
use crate::table::Job;

/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// Up to so many bytes it reads what it need not see: that costs less than to look for
/// what follows.
const NEAR: u64 = 16 << 10;

/// How many pages the documents of a job have, as long as it is to go on.
pub(crate) fn pages(job: &Job, goes_on: &dyn Fn() -> bool) -> Pages {
    let mut all = Pages::Counted(0);
    for filed in &job.documents {
        // A disk that does not give them fails the delivery, which tells of it.
        let pages = of(&filed.document, &job.ticket.format, goes_on);
        all = all.and(pages.unwrap_or(Pages::Unknown(Unknown::Damaged)));
        if matches!(all, Pages::Unknown(_)) {
            break;
        }
    }
    all
}

fn of(document: &Document, media_type: &str, goes_on: &dyn Fn() -> bool) -> io::Result<Pages> {
    // It was looked at as it came, unless another server took it.
    let format = match document.format().get() {
        Some(format) => *format,
        None => {
            let mut head = Vec::new();
            document.reader().take(HEAD as u64).read_to_end(&mut head)?;
            *document.format().get_or_init(|| Format::of(&head))
        }
    };
    let mut counter = Counter::new(media_type);
    if format.or_else(|| Format::said(media_type)).is_none() && document.size() > 0 {
        return Ok(Pages::Unknown(Unknown::Format));
    }
    let (mut reader, mut buffer) = (document.reader(), Vec::new());
    loop {
        if !goes_on() {
            return Ok(Pages::Unknown(Unknown::Unsaid));
        }
        let skips = counter.skips();
        if skips > NEAR {
            let passed = reader.pass(skips);
            counter.skip(passed);
        }
        // Behind what was passed over little is to be seen before the next of it.
        buffer.resize(if skips > NEAR { PIECE / 16 } else { PIECE }, 0);
        let got = reader.read(&mut buffer)?;
        if got == 0 {
            return Ok(counter.finish());
        }
        counter.feed(&buffer[..got]);
    }
}
