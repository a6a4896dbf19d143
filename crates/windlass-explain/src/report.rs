//! Report of a connection, including the packets that its capture lost meanwhile.

use windlass_capture::ReadCapture;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Reasons, Transfer, WaitSelection};

/// Number of a capture's largest transfers whose remedies are tried by the fitted model. Each takes
/// some milliseconds. The other transfers have the rates of the laws.
pub const MODELLED: usize = 50;

/// Returns the report of a connection; its remedies have the rates of the laws.
pub fn report_of(connection: &Transfer, read: &ReadCapture) -> ConnectionReport {
    let (began, ended) = connection.lived();
    let drops = read.info().drops_between(began, ended);
    connection.report(|end| read.name(end), drops)
}

/// Returns the reasons for the verdict in a connection's report.
pub fn why_of(connection: &Transfer, read: &ReadCapture, which: WaitSelection) -> Reasons {
    let (began, ended) = connection.lived();
    let drops = read.info().drops_between(began, ended);
    connection.why(|end| read.name(end), drops, which)
}
