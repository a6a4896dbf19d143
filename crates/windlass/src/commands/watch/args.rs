//! What may be said to `windlass watch`.

use clap::Args;
use windlass_base::values::span;
use windlass_base::{Failure, Span};
use windlass_host::{LEAST, Settings, WatchTarget};

use crate::arguments::JsonArgs;
use crate::keeping::KeepArgs;
use crate::live::LiveArgs;

/// What to watch, how often and for how long.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass watch                           a line a second, until Ctrl-C
  windlass watch --process cupsd --disk sda --interval 5s
                                           a print server: its daemon and its disk as well
  windlass watch --process 4711 --duration 1min --json
                                           a minute of one process, as one record
  windlass watch --process cupsd --syscalls --duration 10s
                                           what it asks of the kernel, as strace -c -f tells
  windlass watch --count 60 --csv > hour.csv
                                           a table for a spreadsheet

Columns:
  r b            threads that run or could, and threads that wait for a disk
  free cache     memory that nothing is in, and files; wide: buffers, swap used
  si so          from swap and to swap, per second
  bi bo          from disks and to disks, per second
  in cs          interrupts and context switches per second
  us sy wa st id the time of all processors in %: programs, kernel, waiting for a disk, taken by
                 the host of a virtual machine, rest; wide: nice, irq and softirq stand apart
  max            the busiest core, in %: one thread can use no more than one core

  K, M and G are 1,024s. On 100 columns and more there are more figures; JSON and CSV have all.
  docs/watch.md has the source and the formula of each.

Values:
  time  ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct WatchArgs {
    /// A process to watch, by its number or its exact name; a name may come later
    #[arg(long = "process", short = 'p', value_name = "NAME|PID", value_parser = wanted)]
    #[arg(help_heading = "What to watch")]
    pub processes: Vec<WatchTarget>,

    /// Count the system calls of the processes, of their threads and of what they start
    ///
    /// It traces them (ptrace), which makes each call slower: the report says by how much. Other
    /// users' processes take root.
    #[arg(long, requires = "processes", conflicts_with = "csv", help_heading = "What to watch")]
    pub syscalls: bool,

    /// A disk to show in each interval, or a part of one, as sda or nvme0n1p2
    ///
    /// Without it the summary has all disks that move something.
    #[arg(long = "disk", short = 'd', value_name = "NAME", help_heading = "What to watch")]
    pub disks: Vec<String>,

    /// From one look to the next, 100ms at least
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "How often and how long")]
    pub interval: Span,

    /// How many intervals; without it and without --duration until Ctrl-C
    #[arg(long, short = 'c', value_name = "N", help_heading = "How often and how long")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// For how long
    #[arg(long, short = 't', value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "How often and how long")]
    pub duration: Option<Span>,

    /// Begin with what happened on average since the system started, as vmstat does
    #[arg(long, help_heading = "Output", conflicts_with = "csv")]
    pub since_boot: bool,

    /// Print a table of comma-separated values as it goes on (RFC 4180)
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "live"])]
    pub csv: bool,

    /// Whether and how this run is kept.
    #[command(flatten)]
    pub keep_run: KeepArgs,

    /// A view on the terminal.
    #[command(flatten)]
    pub live: LiveArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl WatchArgs {
    /// What is to be watched.
    pub(super) fn settings(&self, keeps: bool) -> Result<Settings, Failure> {
        if self.interval < LEAST {
            let wrong = format!("an interval is {LEAST} at least");
            return Err(Failure::usage("cannot watch so often", wrong)
                .advise("The kernel counts the time of processors in ticks of 10 ms."));
        }
        Ok(Settings {
            interval: self.interval.to_duration(),
            count: self.count,
            duration: self.duration.map(Span::to_duration),
            processes: self.processes.clone(),
            disks: self.disks.clone(),
            syscalls: self.syscalls,
            since_boot: self.since_boot,
            keep: self.json.json || keeps,
            live: true,
            ..Settings::default()
        })
    }
}

/// Reads a process.
pub(crate) fn wanted(text: &str) -> Result<WatchTarget, String> {
    match text {
        "" => Err("a process has a number or a name".to_owned()),
        text => Ok(WatchTarget::new(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_a_number_or_a_name() {
        assert_eq!(wanted("4711"), Ok(WatchTarget::Pid(4_711)));
        assert_eq!(wanted("cupsd"), Ok(WatchTarget::Name("cupsd".to_owned())));
        for name in ["+7", "-7", "7z", "99999999999", " "] {
            assert_eq!(wanted(name), Ok(WatchTarget::Name(name.to_owned())));
        }
        assert!(wanted("").is_err());
    }
}
