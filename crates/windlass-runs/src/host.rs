//! Machine of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_base::Bytes;

/// Properties of a machine that affect measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel: `Linux 6.18.44`.
    pub system: String,
    /// Model of the processors, if known.
    pub processor: Option<String>,
    /// Number of online processors.
    pub processors: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel settings that limit a transfer, by their names in `sysctl`.
    pub settings: BTreeMap<String, String>,
    /// Maximum number of open files of a process.
    pub open_files: Option<u64>,
}

/// Stored settings: the congestion control, the maximum buffers, and the negotiated options
/// (`tcp(7)`, `socket(7)`).
const SETTINGS: [&str; 15] = [
    "net.core.default_qdisc",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

impl Host {
    /// Reads the properties of this machine from `/proc` below `root` (`/` except in tests).
    /// Unreadable values are left out.
    pub fn read(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let line = |path: &str| words(&text(path));
        let processor = text("proc/cpuinfo");
        let limits = text("proc/self/limits");
        let known = |name: &str| {
            let value = line(&format!("proc/sys/{}", name.replace('.', "/")));
            (!value.is_empty()).then(|| (name.to_owned(), value))
        };
        Self {
            name: line("proc/sys/kernel/hostname"),
            system: words(&format!(
                "{} {}",
                line("proc/sys/kernel/ostype"),
                line("proc/sys/kernel/osrelease")
            )),
            processor: after(&processor, "model name").map(|value| words(&value)),
            processors: processor.lines().filter(|line| line.starts_with("processor")).count()
                as u64,
            memory_bytes: after(&text("proc/meminfo"), "MemTotal")
                .and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok())
                .map_or(0, |kilobytes| kilobytes.saturating_mul(1_024)),
            settings: SETTINGS.into_iter().filter_map(known).collect(),
            open_files: limits
                .lines()
                .find_map(|line| line.strip_prefix("Max open files"))
                .and_then(|rest| rest.split_whitespace().next()?.parse().ok()),
        }
    }

    /// Returns all properties by name in a fixed order, for a comparison of machines.
    pub fn facts(&self) -> Vec<(String, String)> {
        let fixed = [
            ("host", self.name.clone()),
            ("system", self.system.clone()),
            ("processor", self.processor.clone().unwrap_or_default()),
            ("processors", self.processors.to_string()),
            ("memory", Bytes::new(self.memory_bytes).to_string()),
            ("open files", self.open_files.map(|count| count.to_string()).unwrap_or_default()),
        ];
        let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value));
        let settings = self.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
        fixed.chain(settings).filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// Returns the text after a name and a colon, from the first line that has both.
fn after(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

/// Normalizes the space between words: `4096 131072 6291456`.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_from_its_accounts() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/sys/kernel/hostname", "desk\n"),
            ("proc/sys/kernel/ostype", "Linux\n"),
            ("proc/sys/kernel/osrelease", "6.18.44\n"),
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
            ("proc/sys/net/ipv4/tcp_congestion_control", "bbr\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast  CPU\n\nprocessor\t: 1\n"),
            ("proc/meminfo", "MemTotal:       24683656 kB\nMemFree: 1 kB\n"),
            ("proc/self/limits", "Limit  Soft\nMax open files            1024  4096  files\n"),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let host = Host::read(root.path());
        assert_eq!((host.name.as_str(), host.system.as_str()), ("desk", "Linux 6.18.44"));
        assert_eq!((host.processor.as_deref(), host.processors), (Some("Fast CPU"), 2));
        assert_eq!((host.memory_bytes, host.open_files), (24_683_656 << 10, Some(1_024)));
        assert_eq!(host.settings["net.ipv4.tcp_rmem"], "4096 131072 6291456");
        assert_eq!(host.settings.len(), 2);
        let again: Host = serde_json::from_str(&serde_json::to_string(&host).unwrap()).unwrap();
        assert_eq!(again, host);
        let of_nothing = Host::read(&root.path().join("nothing"));
        assert_eq!((of_nothing.processors, of_nothing.settings.len()), (0, 0));
    }
}
