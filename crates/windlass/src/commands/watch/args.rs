//! Arguments of `windlass watch`.

use clap::Args;
use windlass_base::values::span;
use windlass_base::{Failure, Span};
use windlass_host::{LEAST, Settings, WatchTarget};

use crate::arguments::JsonArgs;
use crate::keeping::KeepArgs;
use crate::live::LiveArgs;

/// Disks and processes to watch, the interval and the duration.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass watch                           one line per second, until Ctrl-C
  windlass watch --process cupsd --disk sda --interval 5s
                                           a print server, with its daemon and its disk
  windlass watch --process 4711 --time 1min --json
                                           one process for a minute, as one JSON record
  windlass watch --process cupsd --syscalls --time 10s
                                           its system calls, counted like strace -c -f
  windlass watch --count 60 --csv > minute.csv
                                           a table for a spreadsheet, one minute long

Columns:
  r b            runnable threads, and threads waiting for a disk
  free cache     free memory, and file cache; wide: also buffers and swap used
  si so          swapped in and swapped out, per second
  bi bo          read from disks and written to disks, per second
  in cs          interrupts and context switches per second
  us sy wa st id CPU time of all processors in %: user, system, I/O wait, steal (taken by the
                 hypervisor), idle; wide: also nice, irq and softirq
  max            busiest core, in %; one thread can use one core at most

  K, M and G are powers of 1,024. From 100 columns on, the table has more figures; JSON and CSV
  have all. docs/watch.md has the source and the formula of each.

Values:
  time  ns, us or µs, ms, s, m or min, h; a bare number is seconds")]
pub struct WatchArgs {
    /// Process to watch, by PID or exact name; a process of that name may start later
    #[arg(long = "process", short_alias = 'p', value_name = "NAME|PID", value_parser = wanted)]
    #[arg(help_heading = "What to watch")]
    pub processes: Vec<WatchTarget>,

    /// Count the system calls of the processes, their threads and their new children
    ///
    /// Tracing (ptrace) slows down each call; the report says by how much. Tracing another user's
    /// process needs root.
    #[arg(long, requires = "processes", conflicts_with = "csv", help_heading = "What to watch")]
    pub syscalls: bool,

    /// Disk or partition to show in each interval, such as sda or nvme0n1p2
    ///
    /// Without it, the summary has all disks that transferred data.
    #[arg(long = "disk", short_alias = 'd', value_name = "NAME", help_heading = "What to watch")]
    pub disks: Vec<String>,

    /// Length of an interval, at least 100ms
    #[arg(long, short = 'i', value_name = "TIME", value_parser = span, default_value = "1s")]
    #[arg(help_heading = "How often and how long")]
    pub interval: Span,

    /// Stop after this many intervals; without --count and --time, run until Ctrl-C
    #[arg(long, short = 'c', value_name = "N", help_heading = "How often and how long")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// Stop after this time
    #[arg(long, short = 't', alias = "duration", value_name = "TIME", value_parser = span)]
    #[arg(help_heading = "How often and how long")]
    pub time: Option<Span>,

    /// Begin with the averages since the system started, like vmstat
    #[arg(long, help_heading = "Output", conflicts_with = "csv")]
    pub since_boot: bool,

    /// Print each interval as comma-separated values (RFC 4180)
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "live"])]
    pub csv: bool,

    /// Options that keep this run.
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
    /// Returns the settings of the watcher.
    pub(super) fn settings(&self, keeps: bool) -> Result<Settings, Failure> {
        if self.interval < LEAST {
            let wrong = format!("an interval is at least {LEAST}");
            return Err(Failure::usage("cannot watch so often", wrong)
                .advise("The kernel counts CPU time in ticks of 10 ms: use a longer --interval."));
        }
        Ok(Settings {
            interval: self.interval.to_duration(),
            count: self.count,
            duration: self.time.map(Span::to_duration),
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
        "" => Err("a process is a PID or a name".to_owned()),
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
