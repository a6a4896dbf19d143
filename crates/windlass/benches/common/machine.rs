//! Place, date and subject of a run.

use std::process::Command;

/// A line on the run: its day, its commit, the machine, the command, and the
/// versions of the programs that are compared.
pub(super) fn facts(bench: &str, given: &[String], peers: &[&str]) -> String {
    let (day, commit, machine) = (said("date", &["-u", "+%F"]), commit(), machine());
    let more = if given.is_empty() { String::new() } else { format!(" -- {}", given.join(" ")) };
    let package = env!("CARGO_PKG_NAME");
    let mut facts = format!(
        "{} {day}, commit {commit}; {machine}; `cargo bench -p {package} --bench {bench}{more}`",
        super::results::FACTS,
    );
    let mut seen = Vec::new();
    for peer in peers.iter().copied().filter(|peer| !peer.is_empty()) {
        let version = version(peer);
        if !seen.contains(&peer) && !version.is_empty() {
            facts.push_str(&format!("; {peer} {version}"));
            seen.push(peer);
        }
    }
    facts.push('.');
    facts
}

/// Returns the output of a command; empty if the command fails.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

/// The commit, and whether the tree differs from it. Results do not count: the
/// bench before may have written them.
fn commit() -> String {
    let folder = format!(":(top,exclude){}", super::results::FOLDER);
    let commit = said("git", &["rev-parse", "--short=10", "HEAD"]);
    let except = [":/", ":(top,exclude)docs/benchmarks.md", &folder];
    let changed = said("git", &[&["status", "--porcelain", "--"][..], &except].concat());
    match (commit.is_empty(), changed.is_empty()) {
        (true, _) => "unknown".to_owned(),
        (false, true) => commit,
        (false, false) => format!("{commit} with changes"),
    }
}

/// Processors, memory and kernel.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpus.lines().find(|line| line.split(':').next().map(str::trim) == Some(name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    let model = match field("model name") {
        "" => std::env::consts::ARCH,
        model => model,
    };
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let is_virtual = field("flags").split(' ').any(|flag| flag == "hypervisor");
    let is_virtual = if is_virtual { " of a virtual machine" } else { "" };
    let memory = read("/proc/meminfo");
    let kilo = memory.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok());
    let memory = kilo
        .map_or_else(String::new, |kilo| format!(", {:.1} GiB of memory", kilo / (1 << 20) as f64));
    let kernel = read("/proc/sys/kernel/osrelease");
    let system = read("/proc/sys/kernel/ostype");
    format!("{count} × {model}{is_virtual}{memory}, {} {}", system.trim(), kernel.trim())
}

/// The first word of what a program says of itself that looks like a version.
fn version(program: &str) -> String {
    // cupsd does not tell; what comes with it does.
    let program = if program == "cupsd" { "ipptool" } else { program };
    let looks = |word: &str| {
        let word = word.trim_start_matches(['v', '(']).trim_end_matches([')', ',', ':', ';']);
        let is_version =
            word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit());
        is_version.then(|| word.to_owned())
    };
    ["--version", "-version", "-v"]
        .iter()
        .find_map(|argument| {
            let output = Command::new(program).arg(argument).output().ok()?;
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&text).split_whitespace().find_map(looks)
        })
        .unwrap_or_default()
}
