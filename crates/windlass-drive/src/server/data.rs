//! Streams that end only with their own connection.

use std::net::TcpStream;
use std::time::Duration;

use super::ServerState;
use crate::driven::TestSide;
use crate::error::Error;
use crate::plain::attend;
use crate::report::{Outcome, SideReport};
use crate::side::{Side, ThreadSettings};
use crate::stream::CloseSignal;
use crate::transfer::{End, EndCondition, Transfer};

/// Longest time without data from a client, at first and later. A client that sends a byte now and
/// then is slow, but honest: nobody knows when its data ends.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// Receives to the end; returns the report and the error.
pub(super) fn receive(
    own: &ServerState,
    test: u64,
    stream: TcpStream,
    closing: CloseSignal,
) -> Result<(SideReport, Option<Error>), Error> {
    let transfer = Transfer { until: EndCondition::SourceEnds, ..Transfer::default() };
    let ends = ThreadSettings { sink: own.settings.output.clone(), ..own.ends() };
    let side = Side::start_with(End::Server, &transfer, vec![(0, stream)], ends, closing)?;
    Ok(attended(own, test, side))
}

/// Runs streams to their end.
pub(super) fn attended(own: &ServerState, test: u64, side: Side) -> (SideReport, Option<Error>) {
    attended_for(own, test, side, IDLE)
}

/// Runs streams to their end, with `idle` as the longest time without progress.
pub(super) fn attended_for(
    own: &ServerState,
    test: u64,
    side: impl TestSide + 'static,
    idle: Duration,
) -> (SideReport, Option<Error>) {
    let mut side = own.gauged(test, side);
    let attended = attend(&mut side, Some(idle), &|| own.stops(), &mut |_| ());
    let Outcome { near, failure, stopped, .. } = attended;
    let ended = stopped.then(|| Error::Asked("the server was stopped".to_owned()));
    (near, failure.or(ended))
}
