//! Settings that carry out a change, on the systems that people have.
//!
//! A remedy names a [`Tuning`]; [`SETTINGS`] has the options that carry it out, each with the
//! document that has it. [`Instructions`] puts those first that fit the host's packets.

mod settings;

use serde::{Serialize, Serializer};

pub use self::settings::SETTINGS;

/// A kind of change that settings of a host or a program carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// A larger receive window.
    ReceiveWindow,
    /// A larger send buffer.
    SendBuffer,
    /// ACKs without a delay.
    PromptAcks,
    /// Small segments that do not wait for ACKs.
    NoNagle,
    /// Larger pieces in each segment.
    FullSegments,
    /// Segments that fit the smallest link.
    SmallerSegments,
    /// Packets that the system splits itself, and not the card.
    NoSegmentationOffload,
    /// Repairs after duplicate ACKs.
    FastRetransmit,
    /// Selective acknowledgments.
    Sack,
    /// Data behind a lost segment that is kept.
    Reassembly,
    /// Patience with segments that are late.
    ReorderingTolerance,
    /// The retransmission timer.
    RetransmissionTimer,
    /// Another congestion control.
    CongestionControl,
    /// A pace below a rate.
    Pacing,
    /// Several connections at once.
    Streams,
    /// Several requests at once.
    RequestsAhead,
    /// Window updates as soon as there is room.
    WindowUpdates,
    /// Wi-Fi without power save.
    NoPowerSave,
    /// A longer queue of connections that wait to be accepted.
    ListenBacklog,
}

/// A system, a TCP stack or a program that has settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
    /// Apple's systems.
    MacOs,
    /// lwIP.
    Lwip,
    /// Zephyr's own stack.
    Zephyr,
    /// lwIP as ESP-IDF configures it.
    EspIdf,
    /// smoltcp.
    Smoltcp,
    /// FreeRTOS-Plus-TCP.
    FreeRtosTcp,
    /// OpenSSH: ssh, scp and sftp.
    OpenSsh,
    /// rsync.
    Rsync,
    /// iperf3.
    Iperf3,
    /// nginx.
    Nginx,
    /// curl.
    Curl,
}

/// The ports of web servers.
const WEB: [u16; 3] = [80, 443, 8080];

impl System {
    /// Returns its name, as its makers write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::Windows => "Windows",
            Self::MacOs => "macOS",
            Self::Lwip => "lwIP",
            Self::Zephyr => "Zephyr",
            Self::EspIdf => "ESP-IDF",
            Self::Smoltcp => "smoltcp",
            Self::FreeRtosTcp => "FreeRTOS+TCP",
            Self::OpenSsh => "OpenSSH",
            Self::Rsync => "rsync",
            Self::Iperf3 => "iperf3",
            Self::Nginx => "nginx",
            Self::Curl => "curl",
        }
    }

    /// Returns whether a program may run on the host, by the ports of both ends. True for what
    /// is no program.
    fn may_run(self, host: Host) -> bool {
        match self {
            Self::Nginx => WEB.contains(&host.port),
            Self::Curl => WEB.contains(&host.peer_port),
            program => program.port().is_none() || program.runs(host),
        }
    }

    /// Returns the port that only this program has.
    const fn port(self) -> Option<u16> {
        match self {
            Self::OpenSsh => Some(22),
            Self::Rsync => Some(873),
            Self::Iperf3 => Some(5201),
            _ => None,
        }
    }

    /// Returns whether a port of its own shows the program.
    fn runs(self, host: Host) -> bool {
        self.port().is_some_and(|port| [host.port, host.peer_port].contains(&port))
    }
}

impl Serialize for System {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The kind of TCP stack of a host, as far as its packets show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// Its packets do not show it.
    #[default]
    Unknown,
    /// Linux.
    Linux,
    /// Apple's systems, whose stack resembles FreeBSD's.
    Apple,
    /// Windows.
    Windows,
    /// A small stack with lwIP's hop limit.
    Lwip,
    /// A small stack that offers a window scale of zero, as smoltcp does.
    Smoltcp,
    /// A small stack with the hop limit of FreeRTOS+TCP.
    FreeRtos,
    /// Another small stack.
    Small,
}

impl Stack {
    /// Returns the systems that may have it, the likelier first.
    const fn systems(self) -> &'static [System] {
        match self {
            Self::Unknown => &[System::Linux, System::Windows, System::MacOs],
            Self::Linux => &[System::Linux],
            Self::Apple => &[System::MacOs],
            Self::Windows => &[System::Windows],
            Self::Lwip => &[System::Lwip],
            Self::Smoltcp => &[System::Smoltcp, System::Lwip],
            Self::FreeRtos => &[System::FreeRtosTcp, System::Lwip],
            Self::Small => &[System::Lwip, System::Zephyr, System::EspIdf],
        }
    }
}

/// A host, as far as its packets tell what it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Its stack.
    pub stack: Stack,
    /// Its port.
    pub port: u16,
    /// The port of the other end.
    pub peer_port: u16,
}

/// A setting of one system that carries out a change.
#[derive(Debug, Serialize)]
pub struct SystemSetting {
    /// The change.
    #[serde(skip)]
    pub tuning: Tuning,
    /// The system that has it.
    pub system: System,
    /// The options, commands or files.
    pub setting: &'static str,
    /// The first of them, where a line has little room.
    #[serde(skip)]
    pub brief: &'static str,
    /// The document that has them.
    #[serde(skip)]
    pub source: &'static str,
}

/// The most systems that one line names.
const NAMED: usize = 3;

/// The rank of systems that no packet speaks for.
const UNLIKELY: usize = usize::MAX;

/// Settings that carry out a remedy on a host. In JSON a list of them, the likelier first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instructions {
    /// The change; nothing where no setting makes it.
    pub tuning: Option<Tuning>,
    /// The host that has to change.
    pub host: Host,
}

impl Instructions {
    /// Returns the settings that apply, those of likely systems first.
    pub fn settings(&self) -> Vec<&'static SystemSetting> {
        let of = SETTINGS.iter().filter(|one| Some(one.tuning) == self.tuning);
        let mut all: Vec<&SystemSetting> = of.filter(|one| one.system.may_run(self.host)).collect();
        // The sort is stable: equally likely systems keep the order of the table.
        all.sort_by_key(|one| self.rank(one.system));
        all
    }

    /// Returns the settings of likely systems in a line of so many columns, three at most; nothing
    /// where none fits. Where only unlikely systems have a setting, and the packets show no stack,
    /// it names those.
    pub fn line(&self, columns: usize) -> Option<String> {
        let mut named = self.settings();
        if named.first().is_some_and(|first| self.rank(first.system) < UNLIKELY) {
            named.retain(|one| self.rank(one.system) < UNLIKELY);
        } else if self.host.stack == Stack::Unknown {
            named.retain(|one| !matches!(one.system, System::Nginx | System::Curl));
        } else {
            return None;
        }
        named.truncate(NAMED);
        let mut line = String::new();
        for same in named.chunk_by(|one, next| one.brief == next.brief) {
            let systems: Vec<&str> = same.iter().map(|one| one.system.name()).collect();
            let between = if line.is_empty() { "" } else { "; " };
            let more = format!("{between}{}: {}", systems.join(", "), same[0].brief);
            if line.chars().count() + more.chars().count() <= columns {
                line.push_str(&more);
            }
        }
        (!line.is_empty()).then_some(line)
    }

    /// Returns the place of a system among the likely ones: 0 for a program that a port shows.
    fn rank(&self, system: System) -> usize {
        if system.runs(self.host) {
            return 0;
        }
        let place = self.host.stack.systems().iter().position(|one| *one == system);
        place.map_or(UNLIKELY, |place| place + 1)
    }
}

impl Serialize for Instructions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.settings())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tuning: Tuning, stack: Stack, ports: [u16; 2]) -> Instructions {
        let host = Host { stack, port: ports[0], peer_port: ports[1] };
        Instructions { tuning: Some(tuning), host }
    }

    #[test]
    fn a_line_names_likely_systems_only() {
        let line = |stack| of(Tuning::ReceiveWindow, stack, [9100, 40_000]).line(80);
        assert_eq!(line(Stack::Windows).unwrap(), "Windows: AutoTuningLevelLocal");
        assert_eq!(line(Stack::Lwip).unwrap(), "lwIP: TCP_WND");
        assert_eq!(
            line(Stack::Small).unwrap(),
            "lwIP: TCP_WND; Zephyr: CONFIG_NET_TCP_MAX_RECV_WINDOW_SIZE"
        );
        let unknown = line(Stack::Unknown).unwrap();
        assert_eq!(unknown, "Linux: SO_RCVBUF, net.ipv4.tcp_rmem; Windows: AutoTuningLevelLocal");
        assert_eq!(of(Tuning::Reassembly, Stack::Linux, [9100, 40_000]).line(80), None);
        let others = of(Tuning::Reassembly, Stack::Unknown, [9100, 40_000]).line(80).unwrap();
        assert!(others.starts_with("lwIP: TCP_QUEUE_OOSEQ=1; Zephyr: "), "{others}");
        let nagle = of(Tuning::NoNagle, Stack::Unknown, [9100, 40_000]).line(80).unwrap();
        assert_eq!(nagle, "Linux, Windows, macOS: TCP_NODELAY");
        assert_eq!(Instructions::default().line(80), None);
    }

    #[test]
    fn a_line_keeps_to_its_columns() {
        let window = of(Tuning::ReceiveWindow, Stack::Unknown, [1, 2]);
        for columns in 0..100 {
            let line = window.line(columns).unwrap_or_default();
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert_eq!(window.line(10), None);
    }

    #[test]
    fn programs_are_told_by_their_ports() {
        let systems = |tuning, ports| -> Vec<System> {
            let settings = of(tuning, Stack::Linux, ports).settings();
            settings.iter().map(|one| one.system).collect()
        };
        assert_eq!(systems(Tuning::ReceiveWindow, [873, 40_000])[0], System::Rsync);
        assert_eq!(systems(Tuning::ReceiveWindow, [40_000, 873])[0], System::Rsync);
        assert_eq!(systems(Tuning::ReceiveWindow, [9100, 40_000])[0], System::Linux);
        assert!(!systems(Tuning::ReceiveWindow, [9100, 40_000]).contains(&System::Rsync));
        assert!(systems(Tuning::SendBuffer, [80, 40_000]).contains(&System::Nginx));
        assert!(!systems(Tuning::SendBuffer, [40_000, 80]).contains(&System::Nginx));
        assert_eq!(systems(Tuning::RequestsAhead, [40_000, 22]), [System::OpenSsh]);
        let line = of(Tuning::RequestsAhead, Stack::Unknown, [40_000, 443]).line(80);
        assert_eq!(line, None, "a port of the web shows no program");
    }

    #[test]
    fn each_setting_has_a_source_and_stands_once() {
        for (place, one) in SETTINGS.iter().enumerate() {
            assert!(!one.source.is_empty() && !one.brief.is_empty(), "{one:?}");
            assert!(one.brief.chars().count() <= 42, "a line has room for it: {one:?}");
            let again = SETTINGS[place + 1..].iter();
            let mut same = again.filter(|it| it.tuning == one.tuning && it.system == one.system);
            assert!(same.next().is_none(), "{one:?}");
        }
    }

    #[test]
    fn json_is_a_list_of_systems_and_settings() {
        let json = serde_json::to_value(of(Tuning::Streams, Stack::Linux, [5201, 40_000])).unwrap();
        let expected = serde_json::json!([{"system": "iperf3", "setting": "--parallel COUNT"}]);
        assert_eq!(json, expected);
        assert_eq!(serde_json::to_value(Instructions::default()).unwrap(), serde_json::json!([]));
    }
}
