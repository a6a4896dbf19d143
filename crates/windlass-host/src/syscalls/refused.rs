//! Why a process may not be traced, and what to do. ptrace(2) says `EPERM` to all of it.

use std::fmt;
use std::fs;
use std::path::Path;

/// The bit of the right to trace others (`CAP_SYS_PTRACE` in capabilities(7)).
const SYS_PTRACE: u32 = 19;

/// Why a process is not traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is windlass itself, which cannot wait for itself.
    Itself,
    /// windlass started it, and has to hear of its end.
    Child,
    /// It is a thread of the kernel, which makes no calls.
    Kernel,
    /// Another traces it: its number and its name.
    Traced(u32, String),
    /// It is another user's: that one's number.
    OtherUser(u32),
    /// The system restricts tracing: the value of `kernel.yama.ptrace_scope`.
    Scope(u8),
    /// It is gone.
    Gone,
    /// The kernel is older than Linux 5.3, and tells nothing of calls.
    OldKernel,
    /// The system refuses it for a reason that it does not tell: its words.
    System(String),
}

/// A process may not be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// Its number; nothing where none may be traced.
    pub process: Option<u32>,
    /// Why.
    pub why: Why,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Itself => f.write_str("it is windlass itself, which cannot trace itself"),
            Why::Child => f.write_str("windlass started it, and has to hear of its end"),
            Why::Kernel => f.write_str("it is a thread of the kernel, which makes no system calls"),
            Why::Traced(by, name) if name.is_empty() => write!(f, "process {by} traces it already"),
            Why::Traced(by, name) => write!(f, "process {by} ({name}) traces it already"),
            Why::OtherUser(user) => {
                write!(
                    f,
                    "it belongs to another user ({user}), whose processes only root may trace"
                )
            }
            Why::Scope(1) => f.write_str(
                "the system lets a process trace its own children only (kernel.yama.ptrace_scope \
                 is 1)",
            ),
            Why::Scope(2) => {
                f.write_str("the system lets only root trace (kernel.yama.ptrace_scope is 2)")
            }
            Why::Scope(scope) => {
                write!(f, "the system lets nobody trace (kernel.yama.ptrace_scope is {scope})")
            }
            Why::Gone => f.write_str("it has ended"),
            Why::OldKernel => f.write_str("the kernel does not tell calls: that takes Linux 5.3"),
            Why::System(said) => write!(f, "the system refuses it: {said}"),
        }
    }
}

impl Refused {
    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self.why {
            Why::Itself | Why::Child => "Name another process.",
            Why::Kernel => "Watch it without --syscalls.",
            Why::Traced(..) => {
                "A process has one tracer at a time: end that one (strace, gdb, another windlass)."
            }
            Why::OtherUser(_) => "Run windlass as root, as with sudo.",
            Why::Scope(1) => {
                "Run windlass as root, or allow it until the next start: sysctl \
                 kernel.yama.ptrace_scope=0."
            }
            Why::Scope(2) => "Run windlass as root.",
            Why::Scope(_) => {
                "Set kernel.yama.ptrace_scope lower under /etc/sysctl.d, and start the system anew."
            }
            Why::Gone => "ps -e lists all. With a name it would be waited for.",
            Why::OldKernel => "Watch without --syscalls.",
            Why::System(_) => {
                "Run windlass as root; in a container, with the capability SYS_PTRACE (as docker \
                 run --cap-add SYS_PTRACE)."
            }
        }
    }
}

/// What is known of a process that may not be traced, and of this one.
#[derive(Clone, Debug, Default)]
struct Facts {
    is_there: bool,
    is_kernel: bool,
    user: u32,
    tracer: Option<(u32, String)>,
    own_user: u32,
    /// True if this process has the right to trace others.
    may_trace: bool,
    scope: Option<u8>,
}

/// The reason why the system refused to trace a process, in these words.
pub(super) fn why(process: u32, said: &str) -> Why {
    let facts = facts(Path::new("/proc"), process);
    reason(facts, said)
}

/// The first that explains it.
fn reason(facts: Facts, said: &str) -> Why {
    match facts {
        Facts { is_there: false, .. } => Why::Gone,
        Facts { is_kernel: true, .. } => Why::Kernel,
        Facts { tracer: Some((by, name)), .. } => Why::Traced(by, name),
        Facts { scope: Some(scope @ 3..), .. } => Why::Scope(scope),
        Facts { may_trace: false, user, own_user, .. } if user != own_user => Why::OtherUser(user),
        Facts { may_trace: false, scope: Some(scope @ 1..), .. } => Why::Scope(scope),
        _ => Why::System(said.to_owned()),
    }
}

/// Returns whether a process is windlass itself or was started by it: then it is not traced.
pub(super) fn own(process: u32) -> Option<Why> {
    let own = std::process::id();
    if process == own {
        return Some(Why::Itself);
    }
    let status = status(Path::new("/proc"), &process.to_string())?;
    (field(&status, "PPid") == Some(own)).then_some(Why::Child)
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
    // What has ended and what is of the kernel have no memory; only the latter go on.
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

/// The first word of a line.
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

    /// A process of another user, and of this one, in a made `/proc`.
    fn told(status: &str, own: &str, scope: Option<&str>) -> Refused {
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
        Refused { process: Some(7), why: reason(facts(proc, 7), "not allowed") }
    }

    const ROOT: &str = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
    const USER: &str = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n";

    fn process(user: u32, tracer: u32) -> String {
        format!("State:\tS (sleeping)\nTracerPid:\t{tracer}\nUid:\t{user}\t0\nVmSize:\t8 kB\n")
    }

    #[test]
    fn the_reason_is_told_apart() {
        let cases = [
            (process(1000, 9), ROOT, Some("0\n"), Why::Traced(9, "strace".to_owned())),
            (process(0, 0), USER, Some("1\n"), Why::OtherUser(0)),
            (process(1000, 0), USER, Some("1\n"), Why::Scope(1)),
            (process(1000, 0), USER, Some("2\n"), Why::Scope(2)),
            (process(1000, 0), ROOT, Some("3\n"), Why::Scope(3)),
            (process(1000, 0), USER, None, Why::System("not allowed".to_owned())),
            (process(1000, 0), ROOT, Some("1\n"), Why::System("not allowed".to_owned())),
            ("State:\tS\nUid:\t0\t0\n".to_owned(), ROOT, None, Why::Kernel),
            ("State:\tZ (zombie)\nUid:\t0\t0\n".to_owned(), ROOT, None, Why::Gone),
        ];
        for (status, own, scope, why) in cases {
            let refused = told(&status, own, scope);
            assert_eq!(refused.why, why, "{status}{own}{scope:?}");
            assert!(!refused.advice().is_empty() && !refused.to_string().is_empty());
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(reason(facts(folder.path(), 7), ""), Why::Gone);
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
        assert_eq!(own(std::process::id()), Some(Why::Itself));
        assert_eq!(own(child.id()), Some(Why::Child));
        assert_eq!(own(1), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
