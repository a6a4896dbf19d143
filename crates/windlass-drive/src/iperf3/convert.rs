//! Our transfers and reports in iperf3's words, and back.

use windlass_base::{Bytes, Rate, Span};
use windlass_wire::iperf3::{Code, NO_RETRANSMITS, Parameters, Results, StreamResults, stream_id};

use crate::error::Error;
use crate::report::{Cpu, DirectionReport, SenderStream, SideReport, StreamReport};
use crate::transfer::{Buffers, Direction, End, LONGEST_WRITE, MAX_STREAMS, Role, Transfer, Until};

/// The longest block that iperf3 writes (`MAX_BLOCKSIZE`), in bytes.
const LONGEST_BLOCK: u32 = 1 << 20;

/// The block where a client names none (`DEFAULT_TCP_BLKSIZE`), in bytes.
const USUAL_BLOCK: u32 = 128 << 10;

/// The most streams of a stock server (`MAX_STREAMS`).
const STOCK_STREAMS: u16 = 128;

/// A transfer as iperf3 is asked for it.
pub(super) fn asked(transfer: &Transfer) -> Result<Parameters, Error> {
    let refuse = |why: &str| Err(Error::Asked(why.to_owned()));
    if transfer.streams > STOCK_STREAMS {
        return refuse("iperf3 has 128 streams at the most, each way");
    }
    if transfer.length > LONGEST_BLOCK {
        return refuse("iperf3 writes 1 MiB at a time at the most");
    }
    if transfer.omit.as_nanos() % 1_000_000_000 != 0 {
        return refuse("iperf3 leaves out whole seconds only");
    }
    let Buffers { window, send } = transfer.server;
    if window.zip(send).is_some_and(|(window, send)| window != send) {
        return refuse("an iperf3 server has one size for its window and its send buffer");
    }
    let (time, num) = match transfer.until {
        // The server uses it to know when to give up.
        Until::Time(time) => (seconds_up(time), 0),
        Until::Bytes(bytes) => (0, number(bytes)),
        // The client says when it is over.
        Until::SourceEnds => (0, 0),
    };
    Ok(Parameters {
        tcp: true,
        omit: seconds_up(transfer.omit),
        time,
        num,
        mss: transfer.mss.map_or(0, i64::from),
        nodelay: transfer.nodelay,
        parallel: transfer.streams.into(),
        reverse: transfer.direction == Direction::Reverse,
        bidirectional: transfer.direction == Direction::Both,
        window: window.or(send).map_or(0, number),
        len: transfer.length.into(),
        bandwidth: bits(transfer),
        fqrate: bits(transfer),
        congestion: transfer.congestion.clone(),
        client_version: Some(concat!("windlass ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..Parameters::default()
    })
}

/// The pace of one stream in bits per second; 0 without.
fn bits(transfer: &Transfer) -> i64 {
    let one = |pace: Rate| pace.bits_per_second() / f64::from(transfer.streams.max(1));
    transfer.pace.map_or(0, |pace| one(pace) as i64)
}

fn number(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}

fn seconds_up(span: Span) -> i64 {
    let nanos = span.as_nanos().max(0);
    nanos / 1_000_000_000 + i64::from(nanos % 1_000_000_000 > 0)
}

/// A test that a client of iperf3 asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// As it was asked for.
    pub(super) transfer: Transfer,
    /// As the streams here are to be run: the client says when it is over.
    pub(super) run: Transfer,
    /// Whether the client wants to print what this end says of it, too.
    pub(super) wants_output: bool,
}

/// Why a test is not served: in iperf3's number, and in words.
pub(super) type Refusal = (Code, String);

/// What a client asks for, where it can be done.
pub(super) fn judged(parameters: &Parameters) -> Result<Asked, Refusal> {
    let refuse = |code: Code, why: &str| Err((code, why.to_owned()));
    if parameters.udp || parameters.sctp {
        let name = if parameters.udp { "UDP" } else { "SCTP" };
        return Err((Code::PROTOCOL, format!("it asks for {name}, and only TCP is served")));
    }
    let streams = u16::try_from(parameters.parallel).unwrap_or(0);
    if streams == 0 || streams > MAX_STREAMS {
        return refuse(Code::STREAMS, "it asks for more streams than are served, or for none");
    }
    let length = match parameters.len {
        0 => Some(USUAL_BLOCK),
        length => u32::try_from(length).ok().filter(|length| *length <= LONGEST_WRITE),
    };
    let Some(length) = length else {
        return refuse(Code::BLOCK_SIZE, "it asks for blocks of a size that is not served");
    };
    let direction = match (parameters.reverse, parameters.bidirectional) {
        (true, true) => return refuse(Code::NOT_BUILT, "it asks for reverse and for both ways"),
        (true, false) => Direction::Reverse,
        (false, true) => Direction::Both,
        (false, false) => Direction::Forward,
    };
    let seconds = |seconds: i64| Span::from_millis(seconds.saturating_mul(1_000));
    let positive = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
    let blocks = positive(parameters.blockcount).map(|blocks| blocks.saturating_mul(length.into()));
    let bytes = positive(parameters.num);
    let until = match (bytes.or(blocks), parameters.time) {
        (Some(bytes), _) => Until::Bytes(Bytes::new(bytes)),
        (None, time) if time > 0 => Until::Time(seconds(time)),
        // `-t 0`: until the client is told to end.
        _ => Until::SourceEnds,
    };
    let rates = [positive(parameters.bandwidth), positive(parameters.fqrate)];
    let rate = rates.into_iter().flatten().min();
    let window = positive(parameters.window).map(Bytes::new);
    let transfer = Transfer {
        direction,
        streams,
        until,
        omit: seconds(parameters.omit),
        length,
        client: Buffers { window, send: window },
        server: Buffers { window, send: window },
        congestion: parameters.congestion.clone(),
        // The client's own handshake keeps segments to it, both ways.
        mss: u16::try_from(parameters.mss).ok().filter(|mss| *mss >= 88),
        nodelay: parameters.nodelay,
        pace: rate.map(|rate| Rate::from_bits_per_second(rate as f64 * f64::from(streams))),
        ..Transfer::default()
    };
    if let Err(error) = transfer.check() {
        return Err((Code::NOT_BUILT, error.to_string()));
    }
    // With all that was asked for on its way, the client has it to the byte. It
    // begins to count anew after what does not count, and nobody knows there.
    let run = match (bytes, transfer.omit) {
        (Some(bytes), Span::ZERO) => Until::Bytes(Bytes::new(bytes)),
        _ => Until::SourceEnds,
    };
    let run = Transfer { until: run, ..transfer.clone() };
    Ok(Asked { transfer, run, wants_output: parameters.get_server_output })
}

/// What this end measured, in iperf3's words. `seconds` is the time of a
/// direction that counts for the other end, and `bytes` are those of each stream,
/// where they are others than in the report.
pub(super) fn told(
    report: &SideReport,
    seconds: impl Fn(&DirectionReport) -> Span,
    bytes: impl Fn(u16, Role) -> Option<Bytes>,
) -> Results {
    let total: f64 = report.directions.iter().map(|direction| direction.cpu.share * 100.0).sum();
    let of = |part: fn(&Cpu) -> Span| {
        report.directions.iter().map(|direction| part(&direction.cpu)).sum::<Span>()
    };
    let (user, system) = (of(|cpu| cpu.user_seconds), of(|cpu| cpu.system_seconds));
    let user = total * user.share_of(user + system);
    let mut streams = Vec::new();
    let (mut sends, mut congestion) = (false, None);
    for direction in &report.directions {
        sends |= direction.role == Role::Sender;
        for stream in &direction.streams {
            congestion = congestion.or_else(|| Some(stream.congestion.clone()));
            let moved = bytes(stream.stream, direction.role)
                .map_or(stream.bytes, |moved| sent(stream).map_or(moved, |sent| sent.min(moved)));
            let again = stream.sender.map_or(NO_RETRANSMITS, |kernel| {
                i64::try_from(kernel.retransmissions).unwrap_or(i64::MAX)
            });
            streams.push(StreamResults {
                id: stream_id(stream.stream),
                bytes: number(moved),
                retransmits: again,
                omitted_errors: Some(0),
                omitted_packets: Some(0),
                end_time: seconds(direction).as_seconds(),
                ..StreamResults::default()
            });
        }
    }
    streams.sort_by_key(|stream| stream.id);
    Results {
        cpu_util_total: total,
        cpu_util_user: user,
        cpu_util_system: total - user,
        sender_has_retransmits: if sends { 1 } else { NO_RETRANSMITS },
        congestion_used: congestion,
        streams,
        server_output_text: None,
    }
}

/// The bytes of a stream that its sender's kernel has put on the wire, each counted once. What
/// a program has written and the kernel still holds is not sent: with a pace or on a slow
/// path that is a good part of a short test. Nothing of a receiver, and where the kernel does
/// not tell (before Linux 4.19).
fn sent(stream: &StreamReport) -> Option<Bytes> {
    let SenderStream { sent_bytes, retransmitted_bytes, .. } = stream.sender?;
    let once = sent_bytes.get().saturating_sub(retransmitted_bytes.get());
    (once > 0).then(|| Bytes::new(once))
}

/// What the other end measured, in our words: its kernel's figures are missing.
pub(super) fn heard(results: &Results, end: End, transfer: &Transfer) -> Result<SideReport, Error> {
    let mut directions = Vec::<DirectionReport>::new();
    let mut longest = Span::ZERO;
    for one in &results.streams {
        let place = (0..transfer.connections()).find(|place| stream_id(*place) == one.id);
        let Some(place) = place else {
            let why = format!("it tells of stream {}, which there is not", one.id);
            return Err(Error::Protocol(why));
        };
        let role = transfer.role(end, place);
        let bytes = Bytes::new(u64::try_from(one.bytes).unwrap_or(0));
        let seconds = span(one.end_time - one.start_time);
        longest = longest.max(seconds);
        let again = u64::try_from(one.retransmits)
            .ok()
            .filter(|_| role == Role::Sender && results.sender_has_retransmits > 0);
        match directions.iter_mut().find(|direction| direction.role == role) {
            Some(direction) => {
                direction.bytes += bytes;
                direction.seconds = direction.seconds.max(seconds);
                direction.retransmissions =
                    direction.retransmissions.zip(again).map(|(a, b)| a + b);
            }
            None => directions.push(DirectionReport {
                role,
                seconds,
                bytes,
                bytes_per_second: Rate::ZERO,
                total_bytes: Bytes::ZERO,
                cpu: Cpu::default(),
                streams: Vec::new(),
                retransmissions: again,
                datagrams: None,
                error: None,
            }),
        }
    }
    let share = |percent: f64| if percent.is_finite() { percent.max(0.0) / 100.0 } else { 0.0 };
    let time = |percent: f64| longest.scaled(share(percent));
    let total = share(results.cpu_util_total);
    let cpu = Cpu {
        user_seconds: time(results.cpu_util_user),
        system_seconds: time(results.cpu_util_system),
        share: total,
        // One thread moves one stream in all versions; of several it is the
        // least that the busiest can be.
        busiest_share: total / f64::from(transfer.connections().max(1)),
    };
    for direction in &mut directions {
        direction.bytes_per_second = direction.bytes.per(direction.seconds);
        direction.total_bytes = direction.bytes;
        direction.cpu = cpu;
    }
    Ok(SideReport {
        end,
        directions,
        processors: None,
        process_cpu_seconds: cpu.user_seconds + cpu.system_seconds,
    })
}

fn span(seconds: f64) -> Span {
    if seconds.is_finite() { Span::from_seconds(seconds.clamp(0.0, 1e9)) } else { Span::ZERO }
}
