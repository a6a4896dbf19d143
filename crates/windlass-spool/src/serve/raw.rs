//! Raw data, as to port 9100: all that comes up to the end is a job.

use std::sync::Arc;

use windlass_spool_core::{Event, Ticket};

use super::client::{Client, Gone, No};
use crate::spooler::Spooler;
use crate::spooler::intake::Intake;

/// Serves a connection to its end.
pub(super) fn serve(mut client: Client, place: usize, spooler: &Arc<Spooler>) {
    let peer = client.peer;
    let what = match job(&mut client, place, spooler) {
        Ok(()) | Err(No::Gone(Gone::Ending)) => return,
        // The connection is closed: raw data has no other word for no.
        Err(No::Refused(refusal)) => format!("its raw data was refused: {refusal}"),
        Err(no) => format!("its raw data was not whole, and is dropped: {no}"),
    };
    spooler.committer.tell(Event::Client { peer, what });
}

fn job(client: &mut Client, place: usize, spooler: &Arc<Spooler>) -> Result<(), No> {
    // Who connects and says nothing looks whether there is somebody.
    match client.fill(client.gate.limits.patience) {
        Err(Gone::Closed | Gone::Silent(_)) => return Ok(()),
        filled => filled?,
    }
    let admission = spooler.admit(place)?;
    let mut intake = Intake::new(spooler, None);
    // It may come slowly: a program makes it, and prints as it does.
    let by = client.deadline(client.gate.limits.longest);
    loop {
        let data = client.data();
        intake.append(data)?;
        client.used(data.len());
        match client.fill_by(by) {
            Err(Gone::Closed) => break,
            filled => filled?,
        }
    }
    let filed = intake.finish("raw data")?;
    let host = client.peer.ip().to_canonical().to_string();
    let ticket = Ticket::new("raw data", "anonymous", host);
    // The end of the connection tells the client that its job is safe.
    spooler.file(admission, ticket, vec![filed])?;
    Ok(())
}
