//! Reasons why a process may not be traced, with advice. ptrace(2) says `EPERM` for all of them.

use std::fmt;
use std::fs;
use std::path::Path;

/// The bit of the capability to trace others (`CAP_SYS_PTRACE` in capabilities(7)).
const SYS_PTRACE: u32 = 19;

/// Reason why a process is not traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The process is windlass itself, which cannot wait for itself.
    Itself,
    /// windlass started the process, and has to wait for its end.
    Child,
    /// The process is a thread of the kernel, which makes no calls.
    Kernel,
    /// Another process traces it: number and name of the tracer.
    Traced(u32, String),
    /// The process belongs to another user, of this number.
    OtherUser(u32),
    /// The system restricts tracing: the value of `kernel.yama.ptrace_scope`.
    Scope(u8),
    /// The process is gone.
    Gone,
    /// The kernel is older than Linux 5.3, and tells nothing of calls.
    OldKernel,
    /// The system refuses for an unknown reason: its words.
    System(String),
}

/// Refusal to trace a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TracingRefusal {
    /// Its number; `None` if no process may be traced.
    pub process: Option<u32>,
    /// The reason.
    pub why: RefusalReason,
}

impl fmt::Display for TracingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            RefusalReason::Itself => {
                f.write_str("it is windlass itself, which cannot trace itself")
            }
            RefusalReason::Child => f.write_str("windlass started it and waits for its end"),
            RefusalReason::Kernel => {
                f.write_str("it is a kernel thread, which makes no system calls")
            }
            RefusalReason::Traced(by, name) if name.is_empty() => {
                write!(f, "process {by} traces it already")
            }
            RefusalReason::Traced(by, name) => write!(f, "process {by} ({name}) traces it already"),
            RefusalReason::OtherUser(user) => {
                write!(f, "it belongs to another user ({user}): only root may trace it")
            }
            RefusalReason::Scope(1) => f.write_str(
                "the system lets a process trace only its own children (kernel.yama.ptrace_scope \
                 is 1)",
            ),
            RefusalReason::Scope(2) => {
                f.write_str("the system lets only root trace (kernel.yama.ptrace_scope is 2)")
            }
            RefusalReason::Scope(scope) => {
                write!(f, "the system lets nobody trace (kernel.yama.ptrace_scope is {scope})")
            }
            RefusalReason::Gone => f.write_str("it has ended"),
            RefusalReason::OldKernel => {
                f.write_str("the kernel does not report system calls: that needs Linux 5.3")
            }
            RefusalReason::System(said) => write!(f, "the system refuses: {said}"),
        }
    }
}

impl TracingRefusal {
    /// Returns advice for the user.
    pub const fn advice(&self) -> &'static str {
        match self.why {
            RefusalReason::Itself | RefusalReason::Child => "Choose another process.",
            RefusalReason::Kernel => "Watch it without --syscalls.",
            RefusalReason::Traced(..) => {
                "A process has one tracer at a time: end the other (strace, gdb, another windlass)."
            }
            RefusalReason::OtherUser(_) => "Run windlass as root, for example with sudo.",
            RefusalReason::Scope(1) => {
                "Run windlass as root, or allow tracing until the next boot: sysctl \
                 kernel.yama.ptrace_scope=0."
            }
            RefusalReason::Scope(2) => "Run windlass as root.",
            RefusalReason::Scope(_) => {
                "Set a lower kernel.yama.ptrace_scope in /etc/sysctl.d, and reboot."
            }
            RefusalReason::Gone => {
                "ps -e lists all processes. Give a name to wait for a process that starts later."
            }
            RefusalReason::OldKernel => "Watch without --syscalls.",
            RefusalReason::System(_) => {
                "Run windlass as root; in a container, add the capability SYS_PTRACE (docker run \
                 --cap-add SYS_PTRACE)."
            }
        }
    }
}

/// Facts of a process that may not be traced, and of this one.
#[derive(Clone, Debug, Default)]
struct Facts {
    is_there: bool,
    is_kernel: bool,
    user: u32,
    tracer: Option<(u32, String)>,
    own_user: u32,
    /// True if this process has the capability to trace others.
    may_trace: bool,
    scope: Option<u8>,
}

/// Returns the reason why the system refused to trace a process.
pub(super) fn why(process: u32, said: &str) -> RefusalReason {
    let facts = facts(Path::new("/proc"), process);
    reason(facts, said)
}

/// Returns the first reason that applies.
fn reason(facts: Facts, said: &str) -> RefusalReason {
    match facts {
        Facts { is_there: false, .. } => RefusalReason::Gone,
        Facts { is_kernel: true, .. } => RefusalReason::Kernel,
        Facts { tracer: Some((by, name)), .. } => RefusalReason::Traced(by, name),
        Facts { scope: Some(scope @ 3..), .. } => RefusalReason::Scope(scope),
        Facts { may_trace: false, user, own_user, .. } if user != own_user => {
            RefusalReason::OtherUser(user)
        }
        Facts { may_trace: false, scope: Some(scope @ 1..), .. } => RefusalReason::Scope(scope),
        _ => RefusalReason::System(said.to_owned()),
    }
}

/// Returns the reason if a process is windlass itself or was started by it: then it is not traced.
pub(super) fn own(process: u32) -> Option<RefusalReason> {
    let own = std::process::id();
    if process == own {
        return Some(RefusalReason::Itself);
    }
    let status = status(Path::new("/proc"), &process.to_string())?;
    (field(&status, "PPid") == Some(own)).then_some(RefusalReason::Child)
}

fn facts(proc: &Path, process: u32) -> Facts {
    let own = status(proc, "self").unwrap_or_default();
    let scope = fs::read_to_string(proc.join("sys/kernel/yama/ptrace_scope")).ok();
    let mut facts = Facts {
        own_user: field(&own, "Uid").unwrap_or_default(),
        may_trace: has_right(&own),
        scope: scope.and_then(|text| text.trim().parse().ok()),
        ..Facts::default()
    };
    let Some(status) = status(proc, &process.to_string()) else { return facts };
    facts.user = field(&status, "Uid").unwrap_or_default();
    // A process that has ended and a thread of the kernel have no memory; only the latter is alive.
    let is_over = status.lines().any(|line| line.starts_with("State:\tZ"));
    facts.is_there = !is_over;
    facts.is_kernel = !status.lines().any(|line| line.starts_with("VmSize:"));
    let tracer = field(&status, "TracerPid").filter(|tracer: &u32| *tracer != 0);
    facts.tracer = tracer.map(|tracer| {
        let name = fs::read_to_string(proc.join(tracer.to_string()).join("comm"));
        (tracer, name.unwrap_or_default().trim_end().to_owned())
    });
    facts
}

fn status(proc: &Path, process: &str) -> Option<String> {
    let bytes = fs::read(proc.join(process).join("status")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the first word of a line.
fn field(status: &str, name: &str) -> Option<u32> {
    word(status, name)?.parse().ok()
}

fn word<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()
}

fn has_right(status: &str) -> bool {
    let rights = word(status, "CapEff").and_then(|text| u64::from_str_radix(text, 16).ok());
    rights.unwrap_or_default() & (1 << SYS_PTRACE) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a process of another user, and this one, in a made-up `/proc`.
    fn told(status: &str, own: &str, scope: Option<&str>) -> TracingRefusal {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        for (name, text) in [("7", status), ("self", own)] {
            fs::create_dir(proc.join(name)).unwrap();
            fs::write(proc.join(name).join("status"), text).unwrap();
        }
        fs::create_dir(proc.join("9")).unwrap();
        fs::write(proc.join("9/comm"), "strace\n").unwrap();
        if let Some(scope) = scope {
            fs::create_dir_all(proc.join("sys/kernel/yama")).unwrap();
            fs::write(proc.join("sys/kernel/yama/ptrace_scope"), scope).unwrap();
        }
        TracingRefusal { process: Some(7), why: reason(facts(proc, 7), "not allowed") }
    }

    const ROOT: &str = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
    const USER: &str = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n";

    fn process(user: u32, tracer: u32) -> String {
        format!("State:\tS (sleeping)\nTracerPid:\t{tracer}\nUid:\t{user}\t0\nVmSize:\t8 kB\n")
    }

    #[test]
    fn the_reason_is_told_apart() {
        let cases = [
            (process(1000, 9), ROOT, Some("0\n"), RefusalReason::Traced(9, "strace".to_owned())),
            (process(0, 0), USER, Some("1\n"), RefusalReason::OtherUser(0)),
            (process(1000, 0), USER, Some("1\n"), RefusalReason::Scope(1)),
            (process(1000, 0), USER, Some("2\n"), RefusalReason::Scope(2)),
            (process(1000, 0), ROOT, Some("3\n"), RefusalReason::Scope(3)),
            (process(1000, 0), USER, None, RefusalReason::System("not allowed".to_owned())),
            (process(1000, 0), ROOT, Some("1\n"), RefusalReason::System("not allowed".to_owned())),
            ("State:\tS\nUid:\t0\t0\n".to_owned(), ROOT, None, RefusalReason::Kernel),
            ("State:\tZ (zombie)\nUid:\t0\t0\n".to_owned(), ROOT, None, RefusalReason::Gone),
        ];
        for (status, own, scope, why) in cases {
            let refused = told(&status, own, scope);
            assert_eq!(refused.why, why, "{status}{own}{scope:?}");
            assert!(!refused.advice().is_empty() && !refused.to_string().is_empty());
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(reason(facts(folder.path(), 7), ""), RefusalReason::Gone);
    }

    #[test]
    fn yama_is_told_with_what_to_do() {
        let refused = told(&process(1000, 0), USER, Some("1\n"));
        assert!(refused.to_string().contains("kernel.yama.ptrace_scope is 1"), "{refused}");
        assert!(refused.advice().contains("sysctl kernel.yama.ptrace_scope=0"));
        assert!(refused.advice().contains("as root"));
    }

    #[test]
    fn windlass_does_not_trace_itself_or_what_it_started() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(own(std::process::id()), Some(RefusalReason::Itself));
        assert_eq!(own(child.id()), Some(RefusalReason::Child));
        assert_eq!(own(1), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
