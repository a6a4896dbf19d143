//! Tests over UDP with a server of iperf 2: numbered datagrams. The server answers the last
//! datagram of each flow with a report.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use windlass_base::{Bytes, Rate, Span};
use windlass_wire::iperf2::datagrams::Report;
use windlass_wire::numbered::DatagramFormat;

use crate::error::Error;
use crate::plain::attend;
use crate::protocol::Protocol;
use crate::report::{Cpu, Datagrams, DirectionReport, FlowReport, Interval, Outcome, SideReport};
use crate::transfer::{End, Role, Transfer};
use crate::udp::{self, ANSWERING, EndSignal, UdpSide};

/// Longest time without progress: the last datagram is repeated for 2.5 s.
const IDLE: Duration = Duration::from_secs(10);

/// Opens the flows of a test.
///
/// # Errors
/// Fails if there is no route to the server.
pub fn open(to: SocketAddr, transfer: &Transfer) -> Result<Vec<(u16, UdpSocket)>, Error> {
    Protocol::Iperf.check(transfer)?;
    let open = |number| Ok((number, udp::open(to, transfer.client, &transfer.ip, number)?));
    (0..transfer.streams).map(open).collect()
}

/// Makes a test over newly opened flows. `tell` is called with the intervals of this end; `stop`
/// ends the test.
///
/// # Errors
/// Fails if the test does not begin. A later failure is reported with the measurements, in
/// [`Outcome::failure`].
pub fn run(
    (flows, to): (Vec<(u16, UdpSocket)>, SocketAddr),
    transfer: &Transfer,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    transfer.check()?;
    Protocol::Iperf.check(transfer)?;
    let format = DatagramFormat::Iperf { wide: true };
    let ending = EndSignal::Answered { opens_late: false };
    let mut side = UdpSide::start_with(End::Client, transfer, flows, format, ending, &[])?;
    let idle = IDLE.max(transfer.time_until_next());
    let outcome = attend(&mut side, Some(idle), stop, tell);
    let far = side.answers().map(|answers| heard(&answers, &outcome.near, transfer));
    let unheard = || Error::Silent { during: "its report was awaited", after: ANSWERING };
    let failure = match outcome.failure {
        // A host without a listener on the port says so (ICMP).
        Some(Error::Stream(why)) if far.is_none() => Some(refused(to, why)),
        None if far.is_none() && !outcome.stopped => Some(unheard()),
        failure => failure,
    };
    Ok(Outcome { far, failure, ..outcome })
}

/// Returns the error of a flow, which may be that nothing listens on the port.
fn refused(to: SocketAddr, why: String) -> Error {
    let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let refused = std::io::Error::from_raw_os_error(libc::ECONNREFUSED);
    match why == refused.to_string() {
        true => Error::Connect { to: to.to_string(), source },
        false => Error::Stream(why),
    }
}

/// Converts the server's reports. The server also counts the last datagram of each flow, which
/// carries no data of the test.
fn heard(answers: &[(u16, Report)], near: &SideReport, transfer: &Transfer) -> SideReport {
    let sent = near.directions.iter().find_map(|one| one.datagrams.as_ref());
    let sent = |stream| sent.and_then(|all| all.flows.iter().find(|flow| flow.stream == stream));
    let flow = |(stream, report): &(u16, Report)| {
        let own = sent(*stream);
        let datagrams = own.map_or(report.datagrams.saturating_sub(1), |own| own.datagrams.count);
        let lost = report.lost.min(datagrams);
        FlowReport {
            stream: *stream,
            local: own.map_or_else(String::new, |own| own.remote.clone()),
            remote: own.map_or_else(String::new, |own| own.local.clone()),
            bytes: Bytes::new(report.bytes.saturating_sub(transfer.length.into())),
            datagrams: Datagrams {
                count: datagrams - lost,
                sent: Some(datagrams),
                lost: Some(lost),
                out_of_order: Some(report.out_of_order),
                jitter_seconds: Some(Span::from_duration(report.jitter)),
                ..Datagrams::default()
            },
            omitted: Some(0),
            omitted_lost: Some(0),
        }
    };
    let mut datagrams =
        Datagrams { flows: answers.iter().map(flow).collect(), ..Datagrams::default() };
    datagrams.add_up();
    let bytes: Bytes = datagrams.flows.iter().map(|flow| flow.bytes).sum();
    let lasted = answers.iter().map(|(_, report)| Span::from_duration(report.lasted)).max();
    let seconds = lasted.unwrap_or(Span::ZERO);
    let rate = if seconds > Span::ZERO { bytes.per(seconds) } else { Rate::ZERO };
    SideReport {
        end: End::Server,
        directions: vec![DirectionReport {
            role: Role::Receiver,
            seconds,
            bytes,
            bytes_per_second: rate,
            total_bytes: bytes,
            cpu: Cpu::default(),
            streams: Vec::new(),
            retransmissions: None,
            datagrams: Some(datagrams),
            delivery: None,
            machine: None,
            program_share: None,
            error: None,
        }],
        processors: None,
        process_cpu_seconds: Span::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_datagram_is_none_of_the_data() {
        let flow = FlowReport {
            stream: 0,
            local: "192.0.2.1:2000".to_owned(),
            remote: "192.0.2.2:5001".to_owned(),
            bytes: Bytes::new(100_000),
            datagrams: Datagrams { count: 100, ..Datagrams::default() },
            ..FlowReport::default()
        };
        let datagrams = Datagrams { flows: vec![flow], ..Datagrams::default() };
        let sender = crate::datagrams::direction(
            Role::Sender,
            Bytes::new(100_000),
            Span::from_millis(1_000),
            100,
        );
        let near = SideReport {
            end: End::Client,
            directions: vec![DirectionReport { datagrams: Some(datagrams), ..sender }],
            processors: None,
            process_cpu_seconds: Span::ZERO,
        };
        let report = Report {
            bytes: 96_000,
            lasted: Duration::from_secs(1),
            datagrams: 101,
            lost: 5,
            out_of_order: 2,
            jitter: Duration::from_micros(40),
        };
        let transfer = Transfer { udp: true, length: 1_000, ..Transfer::default() };
        let far = heard(&[(0, report)], &near, &transfer);
        let found = far.directions[0].datagrams.as_ref().unwrap();
        assert_eq!((found.count, found.sent, found.lost), (95, Some(100), Some(5)));
        assert_eq!((found.out_of_order, found.overflowed), (Some(2), None));
        assert_eq!(far.directions[0].bytes, Bytes::new(95_000));
        assert_eq!(found.flows[0].local, "192.0.2.2:5001");
    }
}
