//! Streams that nothing but their own end ends.

use std::net::TcpStream;
use std::time::Duration;

use super::Own;
use crate::driven::Driven;
use crate::error::Error;
use crate::plain::attend;
use crate::report::{Outcome, SideReport};
use crate::side::{Ends, Side};
use crate::stream::Closing;
use crate::transfer::{End, Transfer, Until};

/// The time for which a client may send nothing, at first and later. One that sends a byte now
/// and then is slow, and honest: nobody knows when its data ends.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// Receives to the end, and says what came and what went wrong.
pub(super) fn receive(
    own: &Own,
    test: u64,
    stream: TcpStream,
    closing: Closing,
) -> Result<(SideReport, Option<Error>), Error> {
    let transfer = Transfer { until: Until::SourceEnds, ..Transfer::default() };
    let ends = Ends { sink: own.settings.output.clone(), ..own.ends() };
    let side = Side::start_with(End::Server, &transfer, vec![(0, stream)], ends, closing)?;
    Ok(attended(own, test, side))
}

/// Looks after streams to their end.
pub(super) fn attended(own: &Own, test: u64, side: Side) -> (SideReport, Option<Error>) {
    attended_for(own, test, side, IDLE)
}

/// The same of what may be silent for so long.
pub(super) fn attended_for(
    own: &Own,
    test: u64,
    side: impl Driven + 'static,
    idle: Duration,
) -> (SideReport, Option<Error>) {
    let mut side = own.gauged(test, side);
    let attended = attend(&mut side, Some(idle), &|| own.stops(), &mut |_| ());
    let Outcome { near, failure, stopped, .. } = attended;
    let ended = stopped.then(|| Error::Asked("the server was stopped".to_owned()));
    (near, failure.or(ended))
}
