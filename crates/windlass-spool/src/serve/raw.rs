//! Raw data, as on port 9100: all data up to the end of the connection is one job.
//!
//! The only positive answer is the end of the connection, and the only negative one is its reset.
//! So any end of the connection is a reset until the job is safe. Clients that have sent everything
//! may ignore a reset (CUPS's `socket` does). So if there is no room, nothing is read, and the
//! client waits as it does for a busy printer.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use windlass_spool_core::{ANONYMOUS, Refusal, Right, Ticket};

use super::client::{Client, ConnectionEnd, Deadline, ReceiveError};
use crate::spooler::Spooler;
use crate::spooler::intake::Intake;
use crate::table::FiledDocument;

/// Bytes of a job that are gathered before any are stored. A smaller job can wait for room, as no
/// part of it is in the spool.
const GATHER: usize = 64 << 10;

/// Interval between checks for room.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Serves a connection to its end.
pub(super) fn serve(mut client: Client, place: usize, spooler: &Arc<Spooler>) {
    let peer = client.peer();
    let what = match job(&mut client, place, spooler) {
        Ok(()) | Err(ReceiveError::Gone(ConnectionEnd::Ending)) => return,
        // The connection is reset: raw data has no other negative answer.
        Err(ReceiveError::Refused(refusal)) => format!("its raw data was refused: {refusal}"),
        Err(no @ (ReceiveError::Forbidden(_) | ReceiveError::Garbled(_))) => {
            format!("its raw data was refused: {no}")
        }
        Err(no) => format!("its raw data was incomplete, and is discarded: {no}"),
    };
    client.gate.tell_each(&peer, what, spooler);
}

fn job(client: &mut Client, place: usize, spooler: &Arc<Spooler>) -> Result<(), ReceiveError> {
    match client.fill(client.limits.patience) {
        // A client that connects and sends nothing only checks whether the server is there.
        Err(ConnectionEnd::Closed) => {
            client.settle();
            return Ok(());
        }
        Err(ConnectionEnd::Silent(_) | ConnectionEnd::Crowded) => return Ok(()),
        filled => filled?,
    }
    if !client.requester.rights.has(Right::Print) {
        return Err(ReceiveError::Forbidden(Right::Print));
    }
    let room_by = client.deadline(client.limits.raw_wait);
    let admission = when_there_is_room(client, room_by, |_, is_last_try| {
        spooler.try_admit(place, is_last_try)
    })?;
    // The data may arrive slowly, from a program that prints while it runs.
    let by = client.deadline(client.limits.longest);
    let is_whole = gather(client, by)?;
    let kept = when_there_is_room(client, room_by, |client, _| {
        let mut intake = Intake::new(spooler, is_whole.then_some(client.data().len() as u64));
        intake.append(client.data())?;
        if is_whole {
            intake.finish("raw data").map(StoredPart::Whole)
        } else {
            Ok(StoredPart::Part(intake))
        }
    })?;
    client.used(client.data().len());
    let filed = match kept {
        StoredPart::Whole(filed) => filed,
        StoredPart::Part(intake) => rest(client, intake, by)?,
    };
    let ticket = Ticket::new("raw data", ANONYMOUS, client.requester.peer.host());
    spooler.file(admission, ticket, vec![filed])?;
    // The end of the connection tells the client that its job is safe.
    client.settle();
    Ok(())
}

/// Stored part of a job.
enum StoredPart {
    Whole(FiledDocument),
    Part(Intake),
}

/// Reads until [`GATHER`] bytes have arrived, or all. Returns whether that is all.
fn gather(client: &mut Client, by: Deadline) -> Result<bool, ReceiveError> {
    loop {
        if is_http(client.data()) {
            return Err(ReceiveError::Garbled(
                "it is a request of HTTP, such as from a web page".to_owned(),
            ));
        }
        if client.data().len() >= GATHER {
            return Ok(false);
        }
        match client.fill_by(by) {
            Err(ConnectionEnd::Closed) => return Ok(true),
            filled => filled?,
        }
    }
}

/// Returns whether data begins with a request line of HTTP (RFC 9112, section 3). A web page can
/// make a browser send text to any port, and no printer language begins so.
fn is_http(data: &[u8]) -> bool {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return false };
    let line = data[..end].strip_suffix(b"\r").unwrap_or(&data[..end]);
    let method = line.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let version = line.iter().rposition(|byte| *byte == b' ').map(|at| &line[at + 1..]);
    method > 0
        && line.get(method) == Some(&b' ')
        && version.is_some_and(|version| version.starts_with(b"HTTP/"))
}

/// Receives the rest of a job. A job that is partly stored cannot wait for room: several such jobs
/// would wait for each other forever.
fn rest(
    client: &mut Client,
    mut intake: Intake,
    by: Deadline,
) -> Result<FiledDocument, ReceiveError> {
    loop {
        match client.fill_by(by) {
            Err(ConnectionEnd::Closed) => return Ok(intake.finish("raw data")?),
            filled => filled?,
        }
        let data = client.data();
        intake.append(data)?;
        client.used(data.len());
    }
}

/// Calls `done` as soon as there is room. Meanwhile the client is not read from, so it cannot send
/// more than the kernel buffers.
fn when_there_is_room<T>(
    client: &Client,
    by: Deadline,
    mut done: impl FnMut(&Client, bool) -> Result<T, Refusal>,
) -> Result<T, ReceiveError> {
    loop {
        let is_last_try = client.is_over(by);
        match done(client, is_last_try) {
            Err(refusal) if refusal.passes() && !is_last_try => {
                if client.gate.stops() {
                    return Err(ConnectionEnd::Ending.into());
                }
                thread::sleep(POLL_INTERVAL);
            }
            done => return Ok(done?),
        }
    }
}
