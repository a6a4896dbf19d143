//! Raw data, as to port 9100: all that comes up to the end is a job.
//!
//! It has no word for yes but the end of the connection, and none for no but its reset.
//! So a connection is reset, by whatever ends it, until its job is safe. And clients that
//! have sent all may not heed a reset (CUPS's `socket` does not): where there is no room
//! now, nothing is taken, and the client waits as it does for a printer that is at work.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use windlass_spool_core::{ANONYMOUS, Refusal, Right, Ticket};

use super::client::{Client, Deadline, Gone, No};
use crate::spooler::Spooler;
use crate::spooler::intake::Intake;
use crate::table::Filed;

/// How much is gathered of a job before any of it is kept. What has no more can wait for
/// room, as nothing of it is half in the spool.
const GATHER: usize = 64 << 10;

/// How often it is looked whether there is room.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Serves a connection to its end.
pub(super) fn serve(mut client: Client, place: usize, spooler: &Arc<Spooler>) {
    let peer = client.peer();
    let what = match job(&mut client, place, spooler) {
        Ok(()) | Err(No::Gone(Gone::Ending)) => return,
        // The connection is reset: raw data has no other word for no.
        Err(No::Refused(refusal)) => format!("its raw data was refused: {refusal}"),
        Err(no @ (No::Forbidden(_) | No::Garbled(_))) => format!("its raw data was refused: {no}"),
        Err(no) => format!("its raw data was not whole, and is dropped: {no}"),
    };
    client.gate.tell_each(&peer, what, spooler);
}

fn job(client: &mut Client, place: usize, spooler: &Arc<Spooler>) -> Result<(), No> {
    match client.fill(client.limits.patience) {
        // Who connects and says nothing looks whether there is somebody.
        Err(Gone::Closed) => {
            client.settle();
            return Ok(());
        }
        Err(Gone::Silent(_) | Gone::Crowded) => return Ok(()),
        filled => filled?,
    }
    if !client.requester.rights.has(Right::Print) {
        return Err(No::Forbidden(Right::Print));
    }
    let room_by = client.deadline(client.limits.raw_wait);
    let admission = when_there_is_room(client, room_by, |_, is_last_try| {
        spooler.try_admit(place, is_last_try)
    })?;
    // It may come slowly: a program makes it, and prints as it does.
    let by = client.deadline(client.limits.longest);
    let is_whole = gather(client, by)?;
    let kept = when_there_is_room(client, room_by, |client, _| {
        let mut intake = Intake::new(spooler, is_whole.then_some(client.data().len() as u64));
        intake.append(client.data())?;
        if is_whole { intake.finish("raw data").map(Kept::Whole) } else { Ok(Kept::Part(intake)) }
    })?;
    client.used(client.data().len());
    let filed = match kept {
        Kept::Whole(filed) => filed,
        Kept::Part(intake) => rest(client, intake, by)?,
    };
    let ticket = Ticket::new("raw data", ANONYMOUS, client.requester.peer.host());
    spooler.file(admission, ticket, vec![filed])?;
    // The end of the connection tells the client that its job is safe.
    client.settle();
    Ok(())
}

/// What was kept of a job when some of it had come.
enum Kept {
    Whole(Filed),
    Part(Intake),
}

/// Reads until there is a good piece, and tells whether that is all.
fn gather(client: &mut Client, by: Deadline) -> Result<bool, No> {
    loop {
        if is_http(client.data()) {
            return Err(No::Garbled("it is a request of HTTP, as of a web page".to_owned()));
        }
        if client.data().len() >= GATHER {
            return Ok(false);
        }
        match client.fill_by(by) {
            Err(Gone::Closed) => return Ok(true),
            filled => filled?,
        }
    }
}

/// Returns whether data begins with a request line of HTTP (RFC 9112, section 3): a browser can be
/// made to send any text to any port, and no printer's language begins so.
fn is_http(data: &[u8]) -> bool {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return false };
    let line = data[..end].strip_suffix(b"\r").unwrap_or(&data[..end]);
    let method = line.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let version = line.iter().rposition(|byte| *byte == b' ').map(|at| &line[at + 1..]);
    method > 0
        && line.get(method) == Some(&b' ')
        && version.is_some_and(|version| version.starts_with(b"HTTP/"))
}

/// Takes all that follows. What has begun cannot wait for room: so would others that
/// have, and none of them would end.
fn rest(client: &mut Client, mut intake: Intake, by: Deadline) -> Result<Filed, No> {
    loop {
        match client.fill_by(by) {
            Err(Gone::Closed) => return Ok(intake.finish("raw data")?),
            filled => filled?,
        }
        let data = client.data();
        intake.append(data)?;
        client.used(data.len());
    }
}

/// Does something as soon as there is room for it. The client is not read from meanwhile:
/// where it has more than the kernel takes, it cannot send it.
fn when_there_is_room<T>(
    client: &Client,
    by: Deadline,
    mut done: impl FnMut(&Client, bool) -> Result<T, Refusal>,
) -> Result<T, No> {
    loop {
        let is_last_try = client.is_over(by);
        match done(client, is_last_try) {
            Err(refusal) if refusal.passes() && !is_last_try => {
                if client.gate.stops() {
                    return Err(Gone::Ending.into());
                }
                thread::sleep(POLL_INTERVAL);
            }
            done => return Ok(done?),
        }
    }
}
