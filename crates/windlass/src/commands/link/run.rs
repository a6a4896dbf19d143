//! The run of a link from its namespaces to its report.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::Failure;
use windlass_sim::LinkSettings;
use windlass_sys::process::Terminal;
use windlass_sys::wait::ready;

use super::args::LinkArgs;
use super::emulator::{self, Outcome, WayOutcome};
use super::report::{Addresses, Delay, Late, PeerReport, Report, Settings, WayReport};
use super::settings::ways;
use crate::commands::watched::Watched;
use crate::ends::{Ending, Place, Program, Signals, attend, command_line, report_printer, start};
use crate::print::{Format, Output};
use crate::refused;

/// The ends' addresses, near and far. They are for documentation (RFC 5737,
/// RFC 3849), so nothing real is hidden by them.
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

/// How long the peer may take to end by itself after the command.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How often the peer's ports are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command.
///
/// # Errors
/// Where the link or a command cannot be started, the command fails, or the
/// report cannot be written.
pub fn run(args: &LinkArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut report = report_printer(args.report.as_deref(), output)?;
    let broken = |error| Failure::new("cannot emulate the link", error);
    let terminal = Terminal::own();
    let signals = Signals::listen().map_err(broken)?;
    let place = |end: Addresses| {
        Place::new(end.ipv4, Some(end.ipv6), args.mtu).map_err(|no| refused::failure(&no))
    };
    let ((near, near_tun), (far, far_tun)) = (place(ENDS[0])?, place(ENDS[1])?);
    let (settings, spin) = (ways(args), args.spin.to_duration());
    let running =
        emulator::start([near_tun, far_tun], settings, args.seed, spin).map_err(broken)?;

    let mut peer = match &args.peer {
        Some(line) => Some(start_peer(&far, line)?),
        None => None,
    };
    if let Some(peer) = &mut peer {
        await_peer(peer, &far, args.peer_wait.to_duration(), &signals).map_err(broken)?;
    }
    let watcher = args.watching.start(output.format() == Format::Json)?;
    let command = command_line(&args.command);
    let mut program = start(&near, &command, names(0))?;
    let ending = attend(&mut program, &signals, running.as_fd()).map_err(broken)?;
    if let Some(terminal) = terminal {
        terminal.take_back();
    }
    let interrupted = signals.came();
    // Known before it is ended: only what it did by itself is its own.
    let peer_ending = match &mut peer {
        Some(peer) => {
            if !interrupted {
                // A server of one transfer is about to end.
                ready(&[peer.as_fd()], Some(LAST_WORDS)).map_err(broken)?;
            }
            peer.ending().map_err(broken)?.unwrap_or_default()
        }
        None => Ending::default(),
    };
    drop((program, peer));
    // The interfaces go with the emulator.
    let missed = [near.dropped(), far.dropped()];
    let outcome = running.stop().map_err(broken)?;
    let Some(ending) = ending else {
        return Err(Failure::new("cannot emulate the link", "it ended before the command").into());
    };

    let [up, down] = [0, 1].map(|way| way_report(&settings[way], &outcome, way, missed[way]));
    let command: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = command.join(" ");
    let record = Report {
        schema: Report::SCHEMA,
        command,
        ending,
        interrupted,
        peer: args
            .peer
            .as_ref()
            .map(|line| PeerReport { command: line.clone(), ending: peer_ending }),
        local_addresses: ENDS[0],
        peer_addresses: ENDS[1],
        seconds: outcome.took,
        mtu_bytes: args.mtu,
        seed: args.seed,
        scheduling: outcome.scheduling,
        up,
        down,
    };
    let record = Watched::new(record, watcher);
    report.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    if ending.is_success() {
        Ok(())
    } else {
        Err(Failure::new(format!("the command `{name}` failed"), format!("it {ending}")).into())
    }
}

fn start_peer(far: &Place, line: &str) -> Result<Program, Failure> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).envs(names(1));
    // Standard input and output belong to the command at the near end.
    command.stdin(Stdio::null());
    let cannot = |error| Failure::new(format!("cannot run the peer `{line}`"), error);
    let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(cannot)?;
    command.stdout(stderr);
    Program::start(far, &mut command).map_err(cannot)
}

/// What the environment of a program says: its own addresses, and those of the
/// other end.
fn names(own: usize) -> [(&'static str, String); 4] {
    let (local, peer) = (ENDS[own], ENDS[1 - own]);
    [
        ("WINDLASS_LOCAL", local.ipv4.to_string()),
        ("WINDLASS_LOCAL6", local.ipv6.to_string()),
        ("WINDLASS_PEER", peer.ipv4.to_string()),
        ("WINDLASS_PEER6", peer.ipv6.to_string()),
    ]
}

/// Waits until the peer listens, or has ended, or takes too long.
fn await_peer(
    peer: &mut Program,
    far: &Place,
    patience: Duration,
    signals: &Signals,
) -> std::io::Result<()> {
    let began = Instant::now();
    while began.elapsed() < patience && !signals.came() {
        if far.listens() || peer.ending()?.is_some() {
            break;
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn way_report(
    settings: &LinkSettings,
    outcome: &Outcome,
    way: usize,
    missed: Option<u64>,
) -> WayReport {
    let WayOutcome { counters, late, refused } = &outcome.ways[way];
    let any = counters.passed > 0;
    WayReport {
        settings: Settings {
            bytes_per_second: settings.rate,
            delay_seconds: settings.delay,
            queue_bytes: settings.queue,
            loss: settings.loss,
            jitter_seconds: settings.jitter,
            reorder: settings.reorder,
            reorder_by_seconds: settings.reorder_by,
        },
        packets: counters.passed,
        bytes: counters.bytes,
        dropped_by_queue: counters.dropped_by_queue,
        lost: counters.lost,
        reordered: counters.reordered,
        missed,
        refused: *refused,
        queue_high_water_bytes: counters.queue_high_water,
        busy: counters.busy.share_of(outcome.took),
        delay_seconds: any.then(|| Delay {
            least: counters.least_delay,
            mean: counters.mean_delay(),
            most: counters.most_delay,
        }),
        late_seconds: any.then(|| Late {
            p50: late.within(0.5),
            p99: late.within(0.99),
            most: late.most(),
        }),
    }
}
