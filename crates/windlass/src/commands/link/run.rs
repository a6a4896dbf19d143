//! The run of a link from its namespaces to its report.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::Span;
use windlass_sim::LinkSettings;
use windlass_sys::process::Terminal;
use windlass_sys::wait::ready;

use super::args::LinkArgs;
use super::emulator::{Outcome, Running, WayOutcome};
use super::place::Place;
use super::programs::{Program, Signals, attend};
use super::report::{Addresses, Delay, Ending, Late, PeerReport, Report, Settings, WayReport};
use super::settings::ways;
use crate::failure::Failure;
use crate::print::Output;
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
    let mut report = report_printer(args, output)?;
    let broken = |error| Failure::new("cannot emulate the link", error);
    let terminal = Terminal::own();
    let signals = Signals::listen().map_err(broken)?;
    let place = |end: Addresses| Place::new(&end, args.mtu).map_err(|no| refused::failure(&no));
    let ((near, near_tun), (far, far_tun)) = (place(ENDS[0])?, place(ENDS[1])?);
    let (settings, spin) = (ways(args), duration(args.spin));
    let running = Running::start([near_tun, far_tun], settings, args.seed, spin).map_err(broken)?;

    let mut peer = match &args.peer {
        Some(line) => Some(start_peer(&far, line)?),
        None => None,
    };
    if let Some(peer) = &mut peer {
        await_peer(peer, &far, duration(args.peer_wait), &signals).map_err(broken)?;
    }
    let command = command_line(args);
    let mut program = start_command(&near, &command)?;
    let ending = attend(&mut program, &signals, running.ended.as_fd()).map_err(broken)?;
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
    report.print(&record).map_err(|error| Failure::new("cannot write the report", error))?;
    if ending.is_success() {
        Ok(())
    } else {
        Err(Failure::new(format!("the command `{name}` failed"), format!("it {ending}")).into())
    }
}

/// Where the report goes. Its file is made first: a run of an hour must not end
/// with a path that is wrong.
fn report_printer(args: &LinkArgs, output: &Output) -> Result<Output, Failure> {
    let Some(path) = &args.report else { return Ok(output.on_stderr()) };
    let file = File::create(path).map_err(|error| {
        Failure::new(format!("cannot write the report to {}", path.display()), error)
            .advise("Give a path that can be written, or leave --report out.")
    })?;
    Ok(output.on(file))
}

/// The command, or the user's shell.
fn command_line(args: &LinkArgs) -> Vec<OsString> {
    if !args.command.is_empty() {
        return args.command.clone();
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    vec![shell.unwrap_or_else(|| "/bin/sh".into()), "-i".into()]
}

fn start_command(near: &Place, line: &[OsString]) -> Result<Program, Failure> {
    let (program, arguments) = line
        .split_first()
        .map_or((OsStr::new(""), line), |(program, rest)| (program.as_os_str(), rest));
    let mut command = Command::new(program);
    command.args(arguments);
    environment(&mut command, 0);
    Program::start(near, &mut command).map_err(|error| {
        Failure::new(format!("cannot run `{}`", program.display()), error)
            .advise("Give a program that is there, with its arguments, behind `--`.")
    })
}

fn start_peer(far: &Place, line: &str) -> Result<Program, Failure> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    environment(&mut command, 1);
    // Standard input and output belong to the command at the near end.
    command.stdin(Stdio::null());
    let cannot = |error| Failure::new(format!("cannot run the peer `{line}`"), error);
    let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(cannot)?;
    command.stdout(stderr);
    Program::start(far, &mut command).map_err(cannot)
}

/// Tells a program its own addresses and those of the other end.
fn environment(command: &mut Command, own: usize) {
    let (local, peer) = (ENDS[own], ENDS[1 - own]);
    command
        .env("WINDLASS_LOCAL", local.ipv4.to_string())
        .env("WINDLASS_LOCAL6", local.ipv6.to_string())
        .env("WINDLASS_PEER", peer.ipv4.to_string())
        .env("WINDLASS_PEER6", peer.ipv6.to_string());
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

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos().max(0).unsigned_abs())
}
