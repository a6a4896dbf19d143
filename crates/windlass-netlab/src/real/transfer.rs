//! Transfers of a scenario's rows in real time.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};
use windlass_lab::{DEVICE, Keeper, Method, Outcome, Row, SENDER, TransferEnd};
use windlass_sim::{SenderSettings, Service, sender};
use windlass_sys::namespace::{Namespace, Refusal};
use windlass_sys::tcp::Socket;
use windlass_sys::tun::Tun;

use super::device::DeviceHost;
use super::watch::{ObservedTransfer, SharedProgress, TransferObserver};
use super::{broken, emulator, program, twin};
use crate::ends::EndNetwork;
use crate::refused;

/// Headers of IPv4 and TCP without options: the packet minus its MSS.
const HEADERS: u16 = 40;

/// Congestion control of the sender: Linux's default, set explicitly so that all hosts give the
/// same result.
const CONGESTION: &str = "cubic";

/// `SOCK_MIN_SNDBUF` of a 64-bit Linux, the least that `SO_SNDBUF` gives.
const MIN_BUFFER: u64 = 4_608;

/// Interval at which the transfer is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time that a device may take to close after the delivery.
const CLOSING: Duration = Duration::from_secs(1);

/// Factor of the simulated time, and extra time, after which a transfer will never end.
const PATIENCE: (f64, Duration) = (3.0, Duration::from_secs(20));

/// Progress of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct TransferProgress {
    /// Acknowledged bytes.
    pub done: Bytes,
    /// Bytes of the whole transfer.
    pub whole: Bytes,
    /// Time so far.
    pub time: Span,
}

/// Result of a row in real time.
pub struct Transfer {
    /// Outcome of the real transfer.
    pub real: Outcome,
    /// Outcome of the same bytes in virtual time.
    pub simulated: Outcome,
    /// Send buffer that the row asks for.
    pub asked: Option<Bytes>,
    /// Send buffer that the kernel granted, its overhead included.
    pub granted: Option<Bytes>,
    /// Most data that was observed in it.
    pub held: Option<Bytes>,
    /// The capture.
    pub keeper: Option<Keeper>,
}

/// Runs the transfer of a row. Returns `None` if `stop` ended it.
///
/// # Errors
/// Fails if the system allows no private network, or if a system call fails.
pub fn run(
    row: &Row,
    seed: u64,
    keeper: Option<Keeper>,
    stop: &AtomicBool,
    mut tell: impl FnMut(TransferProgress),
) -> Result<Option<Transfer>, Failure> {
    let asked = twin::asked_buffer(row);
    let settings = twin::settings(row, row.bytes, asked);
    let (namespace, tun) = place(&settings, asked).map_err(refused::failure)?;
    let socket = Socket::open_in(&namespace).map_err(refused::failure)?;
    let granted = set(&socket, &settings, asked)?;

    let steps = sender::steps(&settings);
    let whole = program::whole(&steps);
    let shared = Arc::new(SharedProgress::default());
    let watch = TransferObserver::new(whole, keeper, Arc::clone(&shared));
    let service = match row.method {
        Method::Raw => Service::Raw,
        Method::Lpr => Service::Lpr,
    };
    let side =
        DeviceHost::new((DEVICE, SENDER), row.profile.habits, vec![(row.port, service)], seed);
    let running = emulator::start(tun, [row.link; 2], side, watch, seed, None).map_err(broken)?;

    let to = SocketAddrV4::new(DEVICE, row.port);
    let patience = {
        let (times, more) = PATIENCE;
        let simulated = twin::run(row, seed, asked);
        // A transfer that gives up in virtual time does so after a quarter of an hour.
        let finished = simulated.ended == TransferEnd::Finished;
        let expected = if finished { simulated.time } else { twin::LASTING };
        let expected = expected.as_seconds() * times;
        Duration::try_from_secs_f64(expected).unwrap_or(Duration::MAX).saturating_add(more)
    };
    let most = thread::scope(|scope| {
        let sending = scope.spawn(|| program::send(&socket, to, steps, || ()));
        let began = Instant::now();
        // The most data observed in the send buffer.
        let mut most = 0;
        attend(
            || {
                let ended = sending.is_finished() || running.has_ended();
                ended || stop.load(Ordering::Relaxed) || began.elapsed() >= patience
            },
            || {
                // An unconnected socket holds no data.
                most = most.max(socket.unacknowledged().unwrap_or(0));
                let done = Bytes::new(shared.acknowledged.load(Ordering::Relaxed)).min(row.bytes);
                let time = Span::from_duration(began.elapsed());
                tell(TransferProgress { done, whole: row.bytes, time });
                shared.delivered.load(Ordering::Relaxed)
            },
        );
        socket.cut();
        // The packets show the end of the transfer better than the program's result.
        let _ = sending.join();
        Bytes::new(most)
    });
    let watch = running.stop().map_err(broken)?.observer;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let delivered = shared.delivered.load(Ordering::Relaxed);
    let reset = shared.reset.load(Ordering::Relaxed);
    let (seen, keeper) = watch.finish();
    let held = asked.map(|_| most.max(Bytes::new(shared.flight.load(Ordering::Relaxed))));
    let ended = if delivered {
        TransferEnd::Finished
    } else if reset {
        TransferEnd::Reset
    } else {
        TransferEnd::Unfinished
    };
    let simulated = twin::run(row, seed, held);
    let real = outcome(row, ended, seen);
    Ok(Some(Transfer { real, simulated, asked, granted, held, keeper }))
}

fn outcome(row: &Row, ended: TransferEnd, seen: ObservedTransfer) -> Outcome {
    let bytes = if ended == TransferEnd::Finished { row.bytes } else { seen.acknowledged };
    Outcome {
        ended,
        bytes,
        time: seen.time,
        rate: bytes.per(seen.time),
        segments: seen.segments,
        report: seen.report,
    }
}

/// Makes the sender's network.
fn place(settings: &SenderSettings, buffer: Option<Bytes>) -> Result<(Namespace, Tun), Refusal> {
    let mtu = settings.mss.saturating_add(HEADERS);
    let (EndNetwork { namespace }, tun) = EndNetwork::beside_a_device(mtu)?;
    let yes_or_no = |value: bool| if value { "1" } else { "0" };
    namespace.set(c"/proc/sys/net/ipv4/tcp_sack", yes_or_no(settings.sack))?;
    namespace.set(c"/proc/sys/net/ipv4/tcp_timestamps", yes_or_no(settings.timestamps))?;
    if let Some(buffer) = buffer.filter(|buffer| doubled(*buffer) < MIN_BUFFER) {
        // SO_SNDBUF has a minimum, which holds half as much again as 4.2BSD's 2,048 bytes. The
        // initial size of a socket has no minimum, and cannot grow beyond the third of these
        // numbers. The socket accepts one more segment while its count, with the kernel's overhead,
        // is below: so it holds this much data, and not twice as much.
        let memory = buffer.get();
        let three = format!("{memory} {memory} {memory}");
        namespace.set(c"/proc/sys/net/ipv4/tcp_wmem", &three)?;
    }
    Ok((namespace, tun))
}

/// Configures the socket for the row. Returns the send buffer that was granted.
fn set(
    socket: &Socket,
    settings: &SenderSettings,
    buffer: Option<Bytes>,
) -> Result<Option<Bytes>, Failure> {
    socket.set_congestion(CONGESTION).map_err(|error| {
        Failure::new(format!("cannot choose the congestion control {CONGESTION}"), error)
            .advise("Load it: modprobe tcp_cubic.")
    })?;
    socket.stream().set_nodelay(!settings.nagle).map_err(broken)?;
    let Some(buffer) = buffer else { return Ok(None) };
    if doubled(buffer) >= MIN_BUFFER {
        socket.set_send_buffer(buffer.get()).map_err(broken)?;
    }
    socket.send_buffer().map(|granted| Some(Bytes::new(granted))).map_err(broken)
}

/// Returns the size that Linux makes of an `SO_SNDBUF` value (socket(7)).
const fn doubled(buffer: Bytes) -> u64 {
    buffer.get().saturating_mul(2)
}

/// Attends a transfer until it is over, or has been delivered for a while.
pub(super) fn attend(is_over: impl Fn() -> bool, mut is_delivered: impl FnMut() -> bool) {
    let mut delivered: Option<Instant> = None;
    while !is_over() && delivered.is_none_or(|since| since.elapsed() <= CLOSING) {
        if is_delivered() {
            delivered.get_or_insert_with(Instant::now);
        }
        thread::sleep(POLL_INTERVAL);
    }
}
