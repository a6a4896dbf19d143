//! Reads the real captures that lie beside the repository.

use std::path::Path;

use windlass_wire::{Capture, LinkType, Observer, Packet, Segment};

/// Packets as `capinfos -c` counts them, and the link types.
const CAPTURES: [(&str, u64, LinkType); 16] = [
    ("own_linux618_zerowindow_probes.pcap", 276, LinkType::ETHERNET),
    ("sanders_dupack.pcapng", 9, LinkType::ETHERNET),
    ("sanders_retransmissions.pcapng", 6, LinkType::ETHERNET),
    ("sanders_zerowindowdead.pcapng", 8, LinkType::ETHERNET),
    ("sanders_zerowindowrecovery.pcapng", 7, LinkType::ETHERNET),
    ("suricata_bug4376_vlan_sack.pcap", 254, LinkType::ETHERNET),
    ("suricata_ipv6_loopback_gso.pcap", 56, LinkType::ETHERNET),
    ("suricata_sll2_tso.pcap", 159, LinkType::LINUX_SLL2),
    ("tcptrace_dlt_null_rwndlimited.pcap", 470, LinkType::NULL),
    ("tcptrace_hardware_dups.pcap", 1_458, LinkType::ETHERNET),
    ("tcptrace_psc_fddi.pcap", 529, LinkType::ETHERNET),
    ("tcptrace_sack_nasa_sim.pcap", 15_712, LinkType::ETHERNET),
    ("tcptrace_urgent_zwin.pcap", 9_476, LinkType::ETHERNET),
    ("wireshark_challenge01_ooo.pcapng", 1_670, LinkType::ETHERNET),
    ("zeek_206_example_a.pcap", 672, LinkType::ETHERNET),
    ("zeek_pppoe_qinq_retrans.pcap", 86, LinkType::ETHERNET),
];

#[derive(Default)]
struct Count(u64);

impl Observer for Count {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.0 += 1;
        assert_eq!(packet.number, self.0);
        assert!(packet.time.as_nanos() > 0);
    }

    fn segment(&mut self, _: &Segment) {}
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its data; the crate does not")]
fn real_captures_have_the_packets_that_capinfos_counts() {
    // Beside the repository, or beside the folder of its worktrees.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = crates.ancestors().skip(3).map(|above| above.join("shared/captures"));
    let Some(folder) = folders.find(|folder| folder.is_dir()) else {
        eprintln!("skipped: shared/captures is not beside the repository");
        return;
    };
    for (name, packets, link) in CAPTURES {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (mut capture, mut count) = (Capture::new(), Count::default());
        let progress = capture.read(&bytes, true, &mut count);
        let info = capture.info();
        assert!(progress.finished, "{name}");
        assert_eq!(info.damage, None, "{name}");
        assert_eq!((count.0, info.packets), (packets, packets), "{name}");
        assert_eq!(info.link_types, [link], "{name}");
    }
}
