//! The report of a connection, with what its capture lost meanwhile.

use windlass_capture::Read;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Reasons, Transfer, WhichWaits};

/// The largest transfers of a capture, whose remedies are tried by the fitted model; it takes
/// some milliseconds for each. The others have the laws' rates.
pub const MODELLED: usize = 50;

/// The report of a connection; its remedies have the laws' rates.
pub fn report_of(connection: &Transfer, read: &Read) -> ConnectionReport {
    let (began, ended) = connection.lived();
    let drops = read.info().drops_between(began, ended);
    connection.report(|end| read.name(end), drops)
}

/// Tells why a connection was judged as its report says.
pub fn why_of(connection: &Transfer, read: &Read, which: WhichWaits) -> Reasons {
    let (began, ended) = connection.lived();
    let drops = read.info().drops_between(began, ended);
    connection.why(|end| read.name(end), drops, which)
}
