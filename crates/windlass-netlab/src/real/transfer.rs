//! Runs a row in real time.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};
use windlass_lab::{DEVICE, Keeper, Method, Outcome, Row, SENDER, TransferEnd};
use windlass_sim::{SenderSettings, Service, sender};
use windlass_sys::namespace::{Namespace, Refused};
use windlass_sys::tcp::Socket;
use windlass_sys::tun::Tun;

use super::device::Side;
use super::watch::{Shared, TransferSeen, Watch};
use super::{broken, emulator, program, twin};
use crate::ends::Place;
use crate::refused;

/// The headers of IPv4 and TCP without options: what a packet has beside its
/// MSS.
const HEADERS: u16 = 40;

/// The congestion control of the sender: Linux's own default, chosen so that a
/// host with another one gives the same.
const CONGESTION: &str = "cubic";

/// `SOCK_MIN_SNDBUF` of a 64-bit Linux, the least that `SO_SNDBUF` gives.
const MIN_BUFFER: u64 = 4_608;

/// How often the transfer is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a device may take to close after all was delivered.
const CLOSING: Duration = Duration::from_secs(1);

/// A transfer that takes so many times the simulated time, and this much more,
/// will not end.
const PATIENCE: (f64, Duration) = (3.0, Duration::from_secs(20));

/// How far a transfer is.
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    /// The bytes that are acknowledged.
    pub done: Bytes,
    /// All of them.
    pub whole: Bytes,
    /// The time that it has taken.
    pub time: Span,
}

/// What came of a row in real time.
pub struct Transfer {
    /// Of the real transfer.
    pub real: Outcome,
    /// Of the same bytes in virtual time.
    pub simulated: Outcome,
    /// The send buffer that the row asks for.
    pub asked: Option<Bytes>,
    /// What the kernel granted then, for data and what it keeps beside it.
    pub granted: Option<Bytes>,
    /// The most data that was seen in it.
    pub held: Option<Bytes>,
    /// The capture.
    pub keeper: Option<Keeper>,
}

/// Runs the transfer of a row. `None` where `stop` ended it.
///
/// # Errors
/// Where the system allows no private network, or something of it fails.
pub fn run(
    row: &Row,
    seed: u64,
    keeper: Option<Keeper>,
    stop: &AtomicBool,
    mut tell: impl FnMut(Lasting),
) -> Result<Option<Transfer>, Failure> {
    let asked = twin::asked_buffer(row);
    let settings = twin::settings(row, row.bytes, asked);
    let (namespace, tun) = place(&settings, asked).map_err(refused::failure)?;
    let socket = Socket::open_in(&namespace).map_err(refused::failure)?;
    let granted = set(&socket, &settings, asked)?;

    let steps = sender::steps(&settings);
    let whole = program::whole(&steps);
    let shared = Arc::new(Shared::default());
    let watch = Watch::new(whole, keeper, Arc::clone(&shared));
    let service = match row.method {
        Method::Raw => Service::Raw,
        Method::Lpr => Service::Lpr,
    };
    let side = Side::new((DEVICE, SENDER), row.profile.habits, vec![(row.port, service)], seed);
    let running = emulator::start(tun, [row.link; 2], side, watch, seed, None).map_err(broken)?;

    let to = SocketAddrV4::new(DEVICE, row.port);
    let patience = {
        let (times, more) = PATIENCE;
        let simulated = twin::run(row, seed, asked);
        // One that gives up in virtual time does so after a quarter of an hour.
        let finished = simulated.ended == TransferEnd::Finished;
        let expected = if finished { simulated.time } else { twin::LASTING };
        let expected = expected.as_seconds() * times;
        Duration::try_from_secs_f64(expected).unwrap_or(Duration::MAX).saturating_add(more)
    };
    let most = thread::scope(|scope| {
        let sending = scope.spawn(|| program::send(&socket, to, steps, || ()));
        let began = Instant::now();
        // The most data that was seen in the send buffer.
        let mut most = 0;
        attend(
            || {
                let ended = sending.is_finished() || running.has_ended();
                ended || stop.load(Ordering::Relaxed) || began.elapsed() >= patience
            },
            || {
                // A socket that is not connected yet holds nothing.
                most = most.max(socket.unacknowledged().unwrap_or(0));
                let done = Bytes::new(shared.acknowledged.load(Ordering::Relaxed)).min(row.bytes);
                let time = Span::from_duration(began.elapsed());
                tell(Lasting { done, whole: row.bytes, time });
                shared.delivered.load(Ordering::Relaxed)
            },
        );
        socket.cut();
        // What the program says of its end, the packets say better.
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

fn outcome(row: &Row, ended: TransferEnd, seen: TransferSeen) -> Outcome {
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
fn place(settings: &SenderSettings, buffer: Option<Bytes>) -> Result<(Namespace, Tun), Refused> {
    let mtu = settings.mss.saturating_add(HEADERS);
    let (Place { namespace }, tun) = Place::beside_a_device(mtu)?;
    let yes_or_no = |value: bool| if value { "1" } else { "0" };
    namespace.set(c"/proc/sys/net/ipv4/tcp_sack", yes_or_no(settings.sack))?;
    namespace.set(c"/proc/sys/net/ipv4/tcp_timestamps", yes_or_no(settings.timestamps))?;
    if let Some(buffer) = buffer.filter(|buffer| doubled(*buffer) < MIN_BUFFER) {
        // SO_SNDBUF gives no less than its least, which holds half as much again
        // as 4.2BSD's 2,048 bytes. What a socket begins with has no least, and
        // cannot grow beyond the third of these. It takes one more segment while
        // its count, with the kernel's own records, is below: so it holds as
        // much data as this says, and not twice of it.
        let memory = buffer.get();
        let three = format!("{memory} {memory} {memory}");
        namespace.set(c"/proc/sys/net/ipv4/tcp_wmem", &three)?;
    }
    Ok((namespace, tun))
}

/// Sets the socket as the row has it; tells the send buffer that was granted.
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

/// What Linux makes of a size that `SO_SNDBUF` asks for (socket(7)).
const fn doubled(buffer: Bytes) -> u64 {
    buffer.get().saturating_mul(2)
}

/// Looks at a transfer until it is over, or has been delivered for a while.
pub(super) fn attend(is_over: impl Fn() -> bool, mut is_delivered: impl FnMut() -> bool) {
    let mut delivered: Option<Instant> = None;
    while !is_over() && delivered.is_none_or(|since| since.elapsed() <= CLOSING) {
        if is_delivered() {
            delivered.get_or_insert_with(Instant::now);
        }
        thread::sleep(POLL_INTERVAL);
    }
}
