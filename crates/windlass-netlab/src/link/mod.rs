//! Commands at the two ends of an emulated link.

mod emulator;
mod end;
mod report;

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end::End;
pub use report::{
    Addresses, Delay, LinkDirectionReport, LinkDirectionSnapshot, LinkRunReport, LinkSnapshot,
    PeerReport,
};
use windlass_base::{Bytes, Failure, Span};
pub use windlass_sim::{Fading, HalfDuplex, LinkSettings, Policer, Queue};
use windlass_sys::capture::SentPackets;
use windlass_sys::process::Terminal;
use windlass_sys::tun::OffloadTun;
use windlass_sys::wait::ready;

use crate::ends::{
    EndNetwork, Ending, INTERFACE, Onlooker, Program, Signals, SnapshotReceiver, Streams, attend,
    command_line, start,
};
use crate::refused;

/// Addresses of the ends, near and far. They are for documentation (RFC 5737, RFC 3849), so they
/// hide no real host.
const ENDS: [Addresses; 2] = [
    Addresses {
        ipv4: Ipv4Addr::new(192, 0, 2, 1),
        ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    },
    Addresses {
        ipv4: Ipv4Addr::new(192, 0, 2, 2),
        ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
    },
];

/// Time that the peer may take to end by itself after the command.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Interval at which the peer's ports are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Plan of a link, and of the programs at its ends.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Links from the command to the peer, and back.
    pub ways: [LinkSettings; 2],
    /// MTU of both ends.
    pub mtu: u16,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Time before a due packet at which the emulator stops sleeping.
    pub spin: Span,
    /// Command at the far end, for the shell.
    pub peer: Option<String>,
    /// Maximum time for which the command waits for the peer to listen.
    pub peer_wait: Span,
    /// Command at the near end; empty for the user's shell.
    pub command: Vec<OsString>,
    /// Standard streams of the programs.
    pub streams: Streams,
}

/// Runs the command, and reports on the link meanwhile. Calls `begin` when everything is ready, and
/// returns its result. `onlooker` gets snapshots.
///
/// # Errors
/// Fails if the link or a command cannot be started. A command that fails is no error.
pub fn run<B>(
    plan: &LinkPlan,
    begin: impl FnOnce() -> Result<B, Failure>,
    onlooker: Option<Onlooker<'_, LinkSnapshot>>,
) -> Result<(LinkRunReport, B), Failure> {
    let broken = |error| Failure::new("cannot emulate the link", error);
    let terminal = Terminal::own();
    let signals = Signals::listen().map_err(broken)?;
    let ((near, near_end), (far, far_end)) = (end(ENDS[0], plan.mtu)?, end(ENDS[1], plan.mtu)?);
    let spin = plan.spin.to_duration();
    let (looks, mut looking) = SnapshotReceiver::of(onlooker);
    let running =
        emulator::start([near_end, far_end], plan.ways, plan.seed, spin, looks).map_err(broken)?;

    let mut peer = match &plan.peer {
        Some(line) => Some(start_peer(&far, line, &plan.streams)?),
        None => None,
    };
    if let Some(peer) = &mut peer {
        await_peer(peer, &far, plan.peer_wait.to_duration(), &signals).map_err(broken)?;
    }
    let begun = begin()?;
    let command = command_line(&plan.command);
    let mut program = start(&near, &command, names(0), &plan.streams)?;
    let ending =
        attend(&mut program, &signals, running.as_fd(), looking.as_mut()).map_err(broken)?;
    if let Some(terminal) = terminal {
        terminal.take_back();
    }
    let interrupted = signals.came();
    // The peer's ending is read before windlass ends it: only an ending by itself counts.
    let peer_ending = match &mut peer {
        Some(peer) => {
            if !interrupted {
                // A server for one transfer is about to end.
                ready(&[peer.as_fd()], Some(LAST_WORDS)).map_err(broken)?;
            }
            peer.ending().map_err(broken)?.unwrap_or_default()
        }
        None => Ending::default(),
    };
    drop((program, peer));
    let outcome = running.stop().map_err(broken)?;
    let Some(ending) = ending else {
        return Err(Failure::new("cannot emulate the link", "the link ended before the command"));
    };

    let [up, down] = [0, 1].map(|way| {
        LinkDirectionReport::new(way, &outcome.channel, &outcome.ways[way], outcome.took)
    });
    let command: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let report = LinkRunReport {
        schema: LinkRunReport::SCHEMA,
        command,
        ending,
        interrupted,
        peer: plan
            .peer
            .as_ref()
            .map(|line| PeerReport { command: line.clone(), ending: peer_ending }),
        local_addresses: ENDS[0],
        peer_addresses: ENDS[1],
        seconds: outcome.took,
        mtu_bytes: plan.mtu,
        seed: plan.seed,
        scheduling: outcome.scheduling,
        lengthened: lengthened([&up, &down], plan.mtu),
        up,
        down,
    };
    Ok((report, begun))
}

/// Makes an end.
fn end(addresses: Addresses, mtu: u16) -> Result<(EndNetwork, End), Failure> {
    let (place, tun) =
        EndNetwork::new(addresses.ipv4, Some(addresses.ipv6), mtu, OffloadTun::open_in)
            .map_err(refused::failure)?;
    let sent = SentPackets::of(&place.namespace, INTERFACE, mtu).map_err(|refused| {
        Failure::new("cannot receive the packets of the link's ends", refused)
            .advise("Load packet sockets into the kernel: modprobe af_packet.")
    })?;
    Ok((place, End::new(tun, sent)))
}

fn start_peer(far: &EndNetwork, line: &str, streams: &Streams) -> Result<Program, Failure> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).envs(names(1));
    // Standard input and output belong to the command at the near end.
    command.stdin(Stdio::null());
    let cannot = |error| Failure::new(format!("cannot run the peer `{line}`"), error);
    match &streams.error {
        Some(error) => {
            let error = || error.try_clone().map_err(cannot);
            command.stdout(error()?).stderr(error()?);
        }
        None => {
            let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(cannot)?;
            command.stdout(stderr);
        }
    }
    Program::start(far, &mut command).map_err(cannot)
}

/// Returns the environment of a program: its own addresses, and those of the other end.
fn names(own: usize) -> [(&'static str, String); 4] {
    let (local, peer) = (ENDS[own], ENDS[1 - own]);
    [
        ("WINDLASS_LOCAL", local.ipv4.to_string()),
        ("WINDLASS_LOCAL6", local.ipv6.to_string()),
        ("WINDLASS_PEER", peer.ipv4.to_string()),
        ("WINDLASS_PEER6", peer.ipv6.to_string()),
    ]
}

/// Waits until the peer listens or has ended, or takes too long.
fn await_peer(
    peer: &mut Program,
    far: &EndNetwork,
    patience: Duration,
    signals: &Signals,
) -> std::io::Result<()> {
    let began = Instant::now();
    while began.elapsed() < patience && !signals.came() {
        if far.listens() || peer.ending()?.is_some() {
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Returns the relative increase of a full packet's idle round trip; `None` if the round trip takes
/// no time, or if a direction had no packets.
fn lengthened(ways: [&LinkDirectionReport; 2], mtu: u16) -> Option<f64> {
    let full = Bytes::new(mtu.into());
    let idle: Span = ways
        .iter()
        .map(|way| {
            let on_line = way.settings.rate.map_or(Span::ZERO, |rate| rate.time_for(full));
            way.settings.delay + on_line
        })
        .sum();
    let mut late = Span::ZERO;
    for way in ways {
        late += way.late_seconds.as_ref()?.mean;
    }
    (idle > Span::ZERO).then(|| late.as_seconds() / idle.as_seconds())
}
