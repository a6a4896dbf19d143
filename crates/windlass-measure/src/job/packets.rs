//! Packets of the job itself, captured while it is sent, and analysed.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;
use windlass_base::Failure;
use windlass_capture::live::{CaptureResult, KernelDrops, Plan, Session, interface_to};
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Keep, Transfer};
use windlass_wire::filter::PacketFilter;

/// Time for packets after the job: the last ACKs, and a block of the ring that is not full.
const LATE: Duration = Duration::from_millis(60);

/// Maximum number of analysed connections, by transferred bytes. Questions after the job may have
/// other connections.
const MAX: usize = 4;

/// Function that makes the report of a connection, with the number of packets dropped meanwhile.
pub type ReportMaker = fn(&Transfer, Option<u64>) -> ConnectionReport;

/// Returns a report whose remedies have the rates of the laws.
pub fn by_laws(connection: &Transfer, drops: Option<u64>) -> ConnectionReport {
    connection.report(|end| end.to_string(), drops)
}

/// Condition for capturing a job's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePolicy {
    /// Never capture.
    Never,
    /// Capture if it is allowed.
    WherePossible,
    /// Capture, or do not begin the job.
    Required,
}

impl CapturePolicy {
    /// Begins the capture, or returns the reason why it is not possible.
    pub(super) fn begin(
        self,
        to: &[SocketAddr],
    ) -> Result<(Option<Packets>, Option<String>), Failure> {
        match self {
            Self::Never => Ok((None, None)),
            Self::Required => Ok((Some(Packets::begin(to)?), None)),
            Self::WherePossible => Ok(match Packets::begin(to) {
                Ok(packets) => (Some(packets), None),
                Err(failure) => (None, Some(failure.in_one_line().to_string())),
            }),
        }
    }
}

/// A running capture.
pub(super) struct Packets {
    interface: String,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<CaptureResult, Failure>>,
}

/// Captured packets.
#[derive(Debug, Serialize)]
pub struct CapturedPackets {
    /// Interface of the capture.
    pub interface: String,
    /// Number of packets.
    pub captured: u64,
    /// Number of further packets that the kernel dropped.
    pub kernel_drops: u64,
    /// Report on the job's connection; nothing if none of its data was captured.
    pub connection: Option<ConnectionReport>,
}

impl Packets {
    /// Begins to capture the packets to and from a host's port.
    pub(super) fn begin(to: &[SocketAddr]) -> Result<Self, Failure> {
        let doing = "cannot capture the job's packets";
        let mut interfaces = Vec::new();
        for address in to {
            // An address without a route will not be the job's.
            interfaces.extend(interface_to(address.ip()));
        }
        interfaces.dedup();
        let interface = match interfaces.as_slice() {
            [] => return Err(Failure::new(doing, "there is no route to that host")),
            [one] => one.clone(),
            _ => "any".to_owned(),
        };
        let wanted = PacketFilter {
            hosts: to.iter().map(SocketAddr::ip).collect(),
            nets: Vec::new(),
            ports: to.first().map(SocketAddr::port).into_iter().collect(),
            tcp: true,
        };
        let plan = Plan::explaining(&interface, wanted, Keep::Largest(MAX));
        let stop = Arc::new(AtomicBool::new(false));
        let (told, opened) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        // The thread gives up its own privileges once the capture is open.
        let work = move || {
            let session = match Session::open(&plan) {
                Ok(session) => session,
                Err(failure) => {
                    // The caller learns of it from the end of the thread.
                    let _ = told.send(false);
                    return Err(failure);
                }
            };
            let _ = told.send(true);
            session.run(&stopped, &AtomicBool::new(false), |_, _| {})
        };
        let thread = thread::Builder::new().name("capture".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Failure::new(doing, error))?;
        match opened.recv() {
            Ok(true) => Ok(Self { interface, stop, thread }),
            _ => match thread.join() {
                Ok(Err(failure)) => Err(failure),
                _ => Err(Failure::new(doing, "its thread broke off")),
            },
        }
    }

    /// Ends the capture, and analyses the connection from this address.
    pub(super) fn end(
        self,
        from: Option<SocketAddr>,
        reported: ReportMaker,
    ) -> Result<CapturedPackets, Failure> {
        thread::sleep(LATE);
        self.stop.store(true, Ordering::Relaxed);
        let broke_off = || Failure::new("cannot capture the job's packets", "its thread broke off");
        let done = self.thread.join().map_err(|_| broke_off())??;
        let mut of_job = None;
        if let (Some(analysis), Some(from)) = (done.analysis, from) {
            let (connections, _) = analysis.observer.analyzer.finish();
            let reports = connections.iter().map(|connection| {
                let (began, ended) = connection.lived();
                let drops = KernelDrops::between(&done.dropping, began, ended);
                reported(connection, Some(drops))
            });
            let from = from.to_string();
            of_job = reports.into_iter().find(|report| report.sender == from);
        }
        Ok(CapturedPackets {
            interface: self.interface,
            captured: done.count.tally.taken,
            kernel_drops: done.count.kernel.dropped,
            connection: of_job,
        })
    }
}
