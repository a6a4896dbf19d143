//! Conversion of transfers and reports to iperf3's messages and back.

use windlass_base::{Bytes, Rate, Span};
use windlass_wire::iperf3::{Code, NO_RETRANSMITS, Parameters, Results, StreamResults, stream_id};
use windlass_wire::numbered::DatagramFormat;

use crate::error::Error;
use crate::ip::Ip;
use crate::report::{
    Cpu, Datagrams, DirectionReport, FlowReport, SenderStream, SideReport, StreamReport,
};
use crate::transfer::{
    Buffers, Direction, End, EndCondition, LONGEST_WRITE, MAX_STREAMS, Role, Transfer,
};
use crate::udp::{self, MAX_FLOWS, USUAL_LENGTH};

/// The longest block that iperf3 writes (`MAX_BLOCKSIZE`), in bytes.
const LONGEST_BLOCK: u32 = 1 << 20;

/// Block length if a client names none (`DEFAULT_TCP_BLKSIZE`), in bytes.
const USUAL_BLOCK: u32 = 128 << 10;

/// Maximum number of streams of a stock server (`MAX_STREAMS`).
const STOCK_STREAMS: u16 = 128;

/// Number format of the datagrams that are requested. Numbers of 32 bits would last for only some
/// minutes on a fast path. Since 3.1, iperf3 has had the wider ones.
pub(super) const FORMAT: DatagramFormat = DatagramFormat::Iperf3 { wide: true };

/// The shortest datagrams of this format, in bytes.
fn shortest(format: DatagramFormat) -> u32 {
    u32::try_from(format.shortest()).unwrap_or(u32::MAX)
}

/// Returns a transfer as the parameters of an iperf3 request.
pub(super) fn asked(transfer: &Transfer) -> Result<Parameters, Error> {
    let refuse = |why: &str| Err(Error::Asked(why.to_owned()));
    if transfer.udp {
        udp::check_asked(transfer, shortest(FORMAT))?;
    }
    if transfer.streams > STOCK_STREAMS {
        return refuse("iperf3 has at most 128 streams, each way");
    }
    if transfer.length > LONGEST_BLOCK {
        return refuse("iperf3 writes at most 1 MiB at a time");
    }
    if transfer.omit.as_nanos() % 1_000_000_000 != 0 {
        return refuse("iperf3 omits whole seconds only");
    }
    let Buffers { window, send } = transfer.server;
    if window.zip(send).is_some_and(|(window, send)| window != send) {
        return refuse("an iperf3 server uses one size for its window and its send buffer");
    }
    let (time, num) = match transfer.until {
        // The server uses the time to know when to give up.
        EndCondition::Time(time) => (seconds_up(time), 0),
        EndCondition::Bytes(bytes) => (0, number(bytes)),
        // The client says when the test is over.
        EndCondition::SourceEnds => (0, 0),
    };
    Ok(Parameters {
        tcp: !transfer.udp,
        udp: transfer.udp,
        udp_counters_64bit: transfer.udp,
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
        // Otherwise the kernel would hold back datagrams that are due, and would lose them at this
        // end.
        fqrate: if transfer.udp { 0 } else { bits(transfer) },
        congestion: transfer.congestion.clone(),
        tos: transfer.ip.tos.map_or(0, i64::from),
        client_version: Some(concat!("windlass ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..Parameters::default()
    })
}

/// Returns the pace of one stream in bits per second; 0 without a pace.
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
pub(super) struct RequestedTest {
    /// The transfer as requested.
    pub(super) transfer: Transfer,
    /// The transfer as this end runs it: the client says when the test is over.
    pub(super) run: Transfer,
    /// True if the client wants to print this end's text output, too.
    pub(super) wants_output: bool,
    /// Number format of its datagrams, over UDP.
    pub(super) format: DatagramFormat,
}

/// Reason for refusing a test: iperf3's error number, and words.
pub(super) type Refusal = (Code, String);

/// Returns the requested test, if this server can run it.
pub(super) fn judged(parameters: &Parameters) -> Result<RequestedTest, Refusal> {
    let refuse = |code: Code, why: &str| Err((code, why.to_owned()));
    if parameters.sctp {
        let why = "it asks for SCTP, and only TCP and UDP are served";
        return refuse(Code::PROTOCOL, why);
    }
    if parameters.server_affinity.is_some_and(|processor| processor >= 0) {
        return refuse(Code::AFFINITY, "it asks this server to keep to a processor");
    }
    let udp = parameters.udp;
    let format = DatagramFormat::Iperf3 { wide: parameters.udp_counters_64bit };
    let streams = u16::try_from(parameters.parallel).unwrap_or(0);
    let most = if udp { MAX_FLOWS } else { MAX_STREAMS };
    if streams == 0 || streams > most {
        return refuse(Code::STREAMS, "it asks for more streams than are served, or for none");
    }
    let length = match parameters.len {
        0 => Some(if udp { USUAL_LENGTH } else { USUAL_BLOCK }),
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
        (Some(bytes), _) => EndCondition::Bytes(Bytes::new(bytes)),
        (None, time) if time > 0 => EndCondition::Time(seconds(time)),
        // `-t 0`: until the client is told to end.
        _ => EndCondition::SourceEnds,
    };
    let rates = [positive(parameters.bandwidth), positive(parameters.fqrate)];
    let rate = rates.into_iter().flatten().min();
    let window = positive(parameters.window).map(Bytes::new);
    let transfer = Transfer {
        direction,
        streams,
        udp,
        until,
        omit: seconds(parameters.omit),
        length,
        client: Buffers { window, send: window },
        server: Buffers { window, send: window },
        // UDP has none of these options, and a stock server ignores them, too.
        congestion: parameters.congestion.clone().filter(|_| !udp),
        // The client's handshake keeps segments to its MSS, both ways.
        mss: u16::try_from(parameters.mss).ok().filter(|mss| !udp && *mss >= 88),
        nodelay: parameters.nodelay && !udp,
        pace: rate.map(|rate| Rate::from_bits_per_second(rate as f64 * f64::from(streams))),
        ip: Ip { tos: u8::try_from(parameters.tos).ok().filter(|tos| *tos > 0), ..Ip::default() },
        ..Transfer::default()
    };
    if let Err(error) = transfer.check() {
        return Err((Code::NOT_BUILT, error.to_string()));
    }
    if udp {
        let fits = (shortest(format)..=udp::LONGEST).contains(&transfer.length);
        if !fits {
            return refuse(Code::DATAGRAM_SIZE, "it asks for datagrams of a size that is none");
        }
        // For a stock client, the window means its socket buffers, which are granted.
        let buffers = Buffers::default();
        let bare = Transfer { client: buffers, server: buffers, ..transfer.clone() };
        if let Err(error) = udp::check(&bare, shortest(format)) {
            return Err((Code::NOT_BUILT, error.to_string()));
        }
    }
    // Once everything requested is on its way, the client receives exactly this many bytes. After
    // an omitted time it counts anew, at a moment unknown here. Datagrams may be lost, and the
    // client continues until it has enough.
    let run = match (bytes.filter(|_| !udp), transfer.omit) {
        (Some(bytes), Span::ZERO) => EndCondition::Bytes(Bytes::new(bytes)),
        _ => EndCondition::SourceEnds,
    };
    let run = Transfer { until: run, ..transfer.clone() };
    Ok(RequestedTest { transfer, run, wants_output: parameters.get_server_output, format })
}

/// Returns this end's measurements as iperf3's results. `seconds` is the time of a direction that
/// counts for the other end. `bytes` are the bytes of each stream, if they differ from the
/// report's.
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
    streams.extend(report.directions.iter().flat_map(|one| flows_told(one, seconds(one))));
    streams.sort_by_key(|stream| stream.id);
    Results {
        cpu_util_total: total,
        cpu_util_user: user,
        cpu_util_system: total - user,
        // Datagrams are never retransmitted.
        sender_has_retransmits: match report.directions.first() {
            Some(first) if first.datagrams.is_some() => 0,
            _ if sends => 1,
            _ => NO_RETRANSMITS,
        },
        congestion_used: congestion,
        streams,
        server_output_text: None,
    }
}

/// Returns the flows of a UDP direction as iperf3's results. A receiver's packets are all that were
/// sent, and its errors the missing ones; both include the omitted time.
fn flows_told(
    direction: &DirectionReport,
    seconds: Span,
) -> impl Iterator<Item = StreamResults> + '_ {
    let flows = direction.datagrams.iter().flat_map(|datagrams| &datagrams.flows);
    flows.map(move |flow| {
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let Datagrams { count, sent, lost, jitter_seconds, .. } = &flow.datagrams;
        let [omitted, omitted_lost] =
            [flow.omitted, flow.omitted_lost].map(|count| count.unwrap_or(0));
        StreamResults {
            id: stream_id(flow.stream),
            bytes: number(flow.bytes),
            retransmits: NO_RETRANSMITS,
            jitter: jitter_seconds.map_or(0.0, Span::as_seconds),
            errors: whole(lost.unwrap_or(0) + omitted_lost),
            omitted_errors: Some(whole(omitted_lost)),
            packets: whole(sent.unwrap_or(*count) + omitted),
            omitted_packets: Some(whole(omitted)),
            end_time: seconds.as_seconds(),
            ..StreamResults::default()
        }
    })
}

/// Returns the other end's measurements of a flow. Its bytes are those that count, but its packets
/// and errors are all. Since 3.13, iperf3 says which of them count. For an older one, the packets
/// follow from the bytes, but the errors cannot be assigned.
fn flow_heard(place: u16, one: &StreamResults, role: Role, transfer: &Transfer) -> FlowReport {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let (packets, errors) = (count(one.packets), count(one.errors).min(count(one.packets)));
    let came = count(one.bytes) / u64::from(transfer.length.max(1));
    let (omitted, omitted_lost) = match (one.omitted_packets, one.omitted_errors) {
        (Some(omitted), Some(lost)) => (Some(count(omitted)), Some(count(lost))),
        _ if transfer.omit == Span::ZERO => (Some(0), Some(0)),
        _ if errors == 0 || role == Role::Sender => (Some(packets.saturating_sub(came)), Some(0)),
        _ => (None, None),
    };
    let sent = omitted.map(|omitted| packets.saturating_sub(omitted));
    let lost =
        sent.zip(omitted_lost).map(|(sent, omitted)| errors.saturating_sub(omitted).min(sent));
    let datagrams = match role {
        Role::Sender => Datagrams { count: sent.unwrap_or(packets), ..Datagrams::default() },
        Role::Receiver => Datagrams {
            count: sent.zip(lost).map_or(came, |(sent, lost)| sent - lost),
            sent,
            lost,
            jitter_seconds: (one.jitter >= 0.0).then(|| span(one.jitter)),
            ..Datagrams::default()
        },
    };
    // Its addresses are those of this end's flow, reversed.
    FlowReport {
        stream: place,
        bytes: Bytes::new(count(one.bytes)),
        datagrams,
        omitted,
        omitted_lost,
        ..FlowReport::default()
    }
}

/// Returns the number of datagrams that the other end says to have sent in each flow.
pub(super) fn flows_sent(results: &Results, end: End, transfer: &Transfer) -> Vec<(u16, u64)> {
    let place = |id| (0..transfer.connections()).find(|place| stream_id(*place) == id);
    let sends = |place: &u16| transfer.role(end, *place) == Role::Sender;
    let flows = results.streams.iter().filter_map(|one| {
        let place = place(one.id).filter(sends)?;
        Some((place, u64::try_from(one.packets).ok()?))
    });
    flows.filter(|_| transfer.udp).collect()
}

/// Returns the bytes of a stream that its sender's kernel has sent, each counted once. Bytes that
/// the kernel still holds are not sent: with a pace or on a slow path they are a good part of a
/// short test. Returns nothing for a receiver, and if the kernel does not say (before Linux 4.19).
fn sent(stream: &StreamReport) -> Option<Bytes> {
    let SenderStream { sent_bytes, retransmitted_bytes, .. } = stream.sender?;
    let once = sent_bytes.get().saturating_sub(retransmitted_bytes.get());
    (once > 0).then(|| Bytes::new(once))
}

/// Returns the other end's measurements as a report without its kernel's figures.
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
        let flow = transfer.udp.then(|| flow_heard(place, one, role, transfer));
        match directions.iter_mut().find(|direction| direction.role == role) {
            Some(direction) => {
                if let (Some(datagrams), Some(flow)) = (&mut direction.datagrams, flow) {
                    datagrams.flows.push(flow);
                }
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
                datagrams: flow.map(|flow| Datagrams { flows: vec![flow], ..Datagrams::default() }),
                delivery: None,
                machine: None,
                program_share: None,
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
        // In all versions one thread serves one stream. For several streams, the mean is the least
        // share that the busiest can have.
        busiest_share: total / f64::from(transfer.connections().max(1)),
        waiting_share: None,
    };
    for direction in &mut directions {
        if let Some(datagrams) = &mut direction.datagrams {
            datagrams.flows.sort_by_key(|flow| flow.stream);
            datagrams.add_up();
        }
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
