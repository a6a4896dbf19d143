//! The settings, by change and by system, each with its source.
//!
//! An option stands here only where its document or its source code was seen to have it.

use super::System::{
    Curl, EspIdf, FreeRtosTcp, Iperf3, Linux, Lwip, MacOs, Nginx, OpenSsh, Rsync, Smoltcp, Windows,
    Zephyr,
};
use super::{System, SystemSetting, Tuning};

const fn line(
    tuning: Tuning,
    system: System,
    (setting, brief): (&'static str, &'static str),
    source: &'static str,
) -> SystemSetting {
    SystemSetting { tuning, system, setting, brief, source }
}

/// A setting that is short enough for a line.
const fn short(
    tuning: Tuning,
    system: System,
    setting: &'static str,
    source: &'static str,
) -> SystemSetting {
    line(tuning, system, (setting, setting), source)
}

/// Every setting.
pub static SETTINGS: &[SystemSetting] = &[
    line(
        Tuning::ReceiveWindow,
        Linux,
        (
            "SO_RCVBUF up to net.core.rmem_max; without it, the third value of net.ipv4.tcp_rmem",
            "SO_RCVBUF, net.ipv4.tcp_rmem",
        ),
        "tcp(7)",
    ),
    line(
        Tuning::ReceiveWindow,
        Windows,
        (
            "SO_RCVBUF; without it, Set-NetTCPSetting -AutoTuningLevelLocal Normal",
            "AutoTuningLevelLocal",
        ),
        "Microsoft, Set-NetTCPSetting",
    ),
    line(
        Tuning::ReceiveWindow,
        MacOs,
        (
            "SO_RCVBUF; without it, sysctl net.inet.tcp.autorcvbufmax",
            "SO_RCVBUF, net.inet.tcp.autorcvbufmax",
        ),
        "XNU, bsd/netinet/tcp_input.c",
    ),
    line(
        Tuning::ReceiveWindow,
        Lwip,
        ("TCP_WND in lwipopts.h; above 65,535 B with LWIP_WND_SCALE and TCP_RCV_SCALE", "TCP_WND"),
        "lwIP, opt.h",
    ),
    short(
        Tuning::ReceiveWindow,
        Zephyr,
        "CONFIG_NET_TCP_MAX_RECV_WINDOW_SIZE",
        "Zephyr, subsys/net/ip/Kconfig.tcp",
    ),
    short(
        Tuning::ReceiveWindow,
        EspIdf,
        "CONFIG_LWIP_TCP_WND_DEFAULT",
        "ESP-IDF, components/lwip/Kconfig",
    ),
    line(
        Tuning::ReceiveWindow,
        Smoltcp,
        ("a longer rx_buffer for tcp::Socket::new", "rx_buffer of tcp::Socket::new"),
        "smoltcp, src/socket/tcp.rs",
    ),
    line(
        Tuning::ReceiveWindow,
        FreeRtosTcp,
        (
            "ipconfigTCP_RX_BUFFER_LENGTH; for one socket, FREERTOS_SO_WIN_PROPERTIES",
            "ipconfigTCP_RX_BUFFER_LENGTH",
        ),
        "FreeRTOS-Plus-TCP, FreeRTOSIPConfigDefaults.h",
    ),
    line(
        Tuning::ReceiveWindow,
        Rsync,
        (
            "--sockopts=SO_RCVBUF=BYTES; of a daemon, socket options in rsyncd.conf",
            "--sockopts=SO_RCVBUF=BYTES",
        ),
        "rsync(1)",
    ),
    short(Tuning::ReceiveWindow, Iperf3, "--window BYTES", "iperf3(1)"),
    short(Tuning::ReceiveWindow, Nginx, "listen PORT rcvbuf=SIZE", "nginx, ngx_http_core_module"),
    line(
        Tuning::SendBuffer,
        Linux,
        (
            "SO_SNDBUF up to net.core.wmem_max; without it, the third value of net.ipv4.tcp_wmem",
            "SO_SNDBUF, net.ipv4.tcp_wmem",
        ),
        "tcp(7)",
    ),
    short(Tuning::SendBuffer, Windows, "SO_SNDBUF", "Microsoft, setsockopt (winsock2.h)"),
    line(
        Tuning::SendBuffer,
        MacOs,
        (
            "SO_SNDBUF; without it, sysctl net.inet.tcp.autosndbufmax",
            "SO_SNDBUF, net.inet.tcp.autosndbufmax",
        ),
        "XNU, bsd/netinet/tcp_output.c",
    ),
    line(
        Tuning::SendBuffer,
        Lwip,
        ("TCP_SND_BUF and TCP_SND_QUEUELEN in lwipopts.h", "TCP_SND_BUF"),
        "lwIP, opt.h",
    ),
    short(
        Tuning::SendBuffer,
        Zephyr,
        "CONFIG_NET_TCP_MAX_SEND_WINDOW_SIZE",
        "Zephyr, subsys/net/ip/Kconfig.tcp",
    ),
    short(
        Tuning::SendBuffer,
        EspIdf,
        "CONFIG_LWIP_TCP_SND_BUF_DEFAULT",
        "ESP-IDF, components/lwip/Kconfig",
    ),
    line(
        Tuning::SendBuffer,
        Smoltcp,
        ("a longer tx_buffer for tcp::Socket::new", "tx_buffer of tcp::Socket::new"),
        "smoltcp, src/socket/tcp.rs",
    ),
    line(
        Tuning::SendBuffer,
        FreeRtosTcp,
        (
            "ipconfigTCP_TX_BUFFER_LENGTH; for one socket, FREERTOS_SO_WIN_PROPERTIES",
            "ipconfigTCP_TX_BUFFER_LENGTH",
        ),
        "FreeRTOS-Plus-TCP, FreeRTOSIPConfigDefaults.h",
    ),
    line(
        Tuning::SendBuffer,
        Rsync,
        (
            "--sockopts=SO_SNDBUF=BYTES; of a daemon, socket options in rsyncd.conf",
            "--sockopts=SO_SNDBUF=BYTES",
        ),
        "rsync(1)",
    ),
    short(Tuning::SendBuffer, Iperf3, "--window BYTES", "iperf3(1)"),
    short(Tuning::SendBuffer, Nginx, "listen PORT sndbuf=SIZE", "nginx, ngx_http_core_module"),
    line(
        Tuning::PromptAcks,
        Linux,
        (
            "ip route change ROUTE quickack 1; or TCP_QUICKACK after each read",
            "ip route … quickack 1",
        ),
        "ip-route(8)",
    ),
    line(
        Tuning::PromptAcks,
        Windows,
        ("TcpAckFrequency=1 in the registry key of the interface", "TcpAckFrequency=1"),
        "Microsoft, registry entry for TCP acknowledgment behavior (328890)",
    ),
    line(
        Tuning::PromptAcks,
        MacOs,
        ("sysctl net.inet.tcp.delayed_ack=0", "net.inet.tcp.delayed_ack=0"),
        "XNU, bsd/netinet/tcp_input.c",
    ),
    line(
        Tuning::PromptAcks,
        Lwip,
        (
            "a shorter TCP_TMR_INTERVAL in lwipopts.h, for which ACKs are delayed",
            "TCP_TMR_INTERVAL",
        ),
        "lwIP, priv/tcp_priv.h",
    ),
    short(
        Tuning::PromptAcks,
        Zephyr,
        "CONFIG_NET_TCP_ACK_DELAY=0",
        "Zephyr, subsys/net/ip/Kconfig.tcp",
    ),
    line(
        Tuning::PromptAcks,
        EspIdf,
        ("a shorter CONFIG_LWIP_TCP_TMR_INTERVAL", "CONFIG_LWIP_TCP_TMR_INTERVAL"),
        "ESP-IDF, components/lwip/Kconfig",
    ),
    line(
        Tuning::PromptAcks,
        Smoltcp,
        ("tcp::Socket::set_ack_delay(None)", "set_ack_delay(None)"),
        "smoltcp, src/socket/tcp.rs",
    ),
    short(Tuning::NoNagle, Linux, "TCP_NODELAY", "tcp(7)"),
    short(Tuning::NoNagle, Windows, "TCP_NODELAY", "Microsoft, setsockopt (winsock2.h)"),
    short(Tuning::NoNagle, MacOs, "TCP_NODELAY", "Apple, tcp(4)"),
    line(
        Tuning::NoNagle,
        Lwip,
        ("TCP_NODELAY; of the raw API, tcp_nagle_disable()", "TCP_NODELAY"),
        "lwIP, sockets.h and tcp.h",
    ),
    short(Tuning::NoNagle, Zephyr, "TCP_NODELAY", "Zephyr, netinet/tcp.h"),
    short(Tuning::NoNagle, EspIdf, "TCP_NODELAY", "lwIP, sockets.h"),
    line(
        Tuning::NoNagle,
        Smoltcp,
        ("tcp::Socket::set_nagle_enabled(false)", "set_nagle_enabled(false)"),
        "smoltcp, src/socket/tcp.rs",
    ),
    short(Tuning::NoNagle, Rsync, "--sockopts=TCP_NODELAY", "rsync(1)"),
    short(Tuning::NoNagle, Iperf3, "--no-delay", "iperf3(1)"),
    short(Tuning::NoNagle, Nginx, "tcp_nodelay on", "nginx, ngx_http_core_module"),
    line(
        Tuning::NoNagle,
        Curl,
        ("--tcp-nodelay, which is on by default", "--tcp-nodelay"),
        "curl(1)",
    ),
    short(Tuning::FullSegments, Linux, "TCP_CORK", "tcp(7)"),
    short(Tuning::FullSegments, MacOs, "TCP_NOPUSH", "Apple, tcp(4)"),
    line(
        Tuning::FullSegments,
        Lwip,
        ("TCP_WRITE_FLAG_MORE of tcp_write()", "TCP_WRITE_FLAG_MORE"),
        "lwIP, tcpbase.h",
    ),
    short(
        Tuning::FullSegments,
        FreeRtosTcp,
        "FREERTOS_SO_SET_FULL_SIZE",
        "FreeRTOS-Plus-TCP, FreeRTOS_Sockets.h",
    ),
    line(
        Tuning::FullSegments,
        OpenSsh,
        ("sftp -B BYTES; scp -X buffer=BYTES", "sftp -B BYTES"),
        "sftp(1), scp(1)",
    ),
    short(Tuning::FullSegments, Iperf3, "--length BYTES", "iperf3(1)"),
    line(
        Tuning::FullSegments,
        Nginx,
        ("tcp_nopush on, with sendfile on", "tcp_nopush on"),
        "nginx, ngx_http_core_module",
    ),
    line(
        Tuning::SmallerSegments,
        Linux,
        (
            "sysctl net.ipv4.tcp_mtu_probing=1; or ip link set DEVICE mtu BYTES",
            "net.ipv4.tcp_mtu_probing=1",
        ),
        "tcp(7), ip-link(8)",
    ),
    line(
        Tuning::SmallerSegments,
        Windows,
        (
            "netsh interface ipv4 set subinterface NAME mtu=BYTES store=persistent",
            "netsh … subinterface … mtu",
        ),
        "Microsoft, netsh interface ipv4",
    ),
    line(
        Tuning::SmallerSegments,
        MacOs,
        (
            "sysctl net.inet.tcp.pmtud_blackhole_detection=1; or networksetup -setMTU DEVICE BYTES",
            "networksetup -setMTU",
        ),
        "XNU, bsd/netinet/tcp_timer.c, networksetup(8)",
    ),
    line(Tuning::SmallerSegments, Lwip, ("TCP_MSS in lwipopts.h", "TCP_MSS"), "lwIP, opt.h"),
    short(
        Tuning::SmallerSegments,
        EspIdf,
        "CONFIG_LWIP_TCP_MSS",
        "ESP-IDF, components/lwip/Kconfig",
    ),
    line(
        Tuning::SmallerSegments,
        Smoltcp,
        ("DeviceCapabilities::max_transmission_unit", "max_transmission_unit"),
        "smoltcp, src/phy/mod.rs",
    ),
    line(
        Tuning::SmallerSegments,
        FreeRtosTcp,
        ("ipconfigNETWORK_MTU; or ipconfigTCP_MSS", "ipconfigNETWORK_MTU"),
        "FreeRTOS-Plus-TCP, FreeRTOSIPConfigDefaults.h",
    ),
    short(Tuning::SmallerSegments, Iperf3, "--set-mss BYTES", "iperf3(1)"),
    short(Tuning::NoSegmentationOffload, Linux, "ethtool -K DEVICE tso off gso off", "ethtool(8)"),
    line(
        Tuning::NoSegmentationOffload,
        Windows,
        ("Disable-NetAdapterLso -Name NAME", "Disable-NetAdapterLso"),
        "Microsoft, Disable-NetAdapterLso",
    ),
    line(
        Tuning::NoSegmentationOffload,
        MacOs,
        ("sysctl net.inet.tcp.tso=0", "net.inet.tcp.tso=0"),
        "XNU, bsd/netinet/tcp_output.c",
    ),
    line(
        Tuning::FastRetransmit,
        Linux,
        ("sysctl net.ipv4.tcp_reordering=3, the default", "net.ipv4.tcp_reordering=3"),
        "tcp(7)",
    ),
    short(
        Tuning::FastRetransmit,
        Zephyr,
        "CONFIG_NET_TCP_FAST_RETRANSMIT=y",
        "Zephyr, subsys/net/ip/Kconfig.tcp",
    ),
    short(
        Tuning::FastRetransmit,
        FreeRtosTcp,
        "ipconfigUSE_TCP_WIN=1",
        "FreeRTOS-Plus-TCP, FreeRTOSIPConfigDefaults.h",
    ),
    line(Tuning::Sack, Linux, ("sysctl net.ipv4.tcp_sack=1", "net.ipv4.tcp_sack=1"), "tcp(7)"),
    line(
        Tuning::Sack,
        MacOs,
        ("sysctl net.inet.tcp.sack=1", "net.inet.tcp.sack=1"),
        "XNU, bsd/netinet/tcp_sack.c",
    ),
    line(
        Tuning::Sack,
        Lwip,
        ("LWIP_TCP_SACK_OUT=1 in lwipopts.h, with TCP_QUEUE_OOSEQ=1", "LWIP_TCP_SACK_OUT=1"),
        "lwIP, opt.h",
    ),
    short(Tuning::Sack, Zephyr, "CONFIG_NET_TCP_SACK=y", "Zephyr, subsys/net/ip/Kconfig.tcp"),
    short(Tuning::Sack, EspIdf, "CONFIG_LWIP_TCP_SACK_OUT=y", "ESP-IDF, components/lwip/Kconfig"),
    line(
        Tuning::Reassembly,
        Lwip,
        ("TCP_QUEUE_OOSEQ=1 in lwipopts.h", "TCP_QUEUE_OOSEQ=1"),
        "lwIP, opt.h",
    ),
    line(
        Tuning::Reassembly,
        Zephyr,
        ("CONFIG_NET_TCP_RECV_QUEUE_TIMEOUT above 0", "CONFIG_NET_TCP_RECV_QUEUE_TIMEOUT"),
        "Zephyr, subsys/net/ip/Kconfig.tcp",
    ),
    short(
        Tuning::Reassembly,
        EspIdf,
        "CONFIG_LWIP_TCP_QUEUE_OOSEQ=y",
        "ESP-IDF, components/lwip/Kconfig",
    ),
    line(
        Tuning::Reassembly,
        Smoltcp,
        ("a larger ASSEMBLER_MAX_SEGMENT_COUNT", "ASSEMBLER_MAX_SEGMENT_COUNT"),
        "smoltcp, README.md",
    ),
    line(
        Tuning::Reassembly,
        FreeRtosTcp,
        ("ipconfigUSE_TCP_WIN=1, with a larger ipconfigTCP_WIN_SEG_COUNT", "ipconfigUSE_TCP_WIN=1"),
        "FreeRTOS-Plus-TCP, FreeRTOSIPConfigDefaults.h",
    ),
    line(
        Tuning::ReorderingTolerance,
        Linux,
        (
            "sysctl net.ipv4.tcp_recovery=1 (RACK); or a larger net.ipv4.tcp_reordering",
            "net.ipv4.tcp_recovery=1",
        ),
        "Linux, ip-sysctl.rst",
    ),
    line(
        Tuning::ReorderingTolerance,
        MacOs,
        ("sysctl net.inet.tcp.rack=1", "net.inet.tcp.rack=1"),
        "XNU, bsd/netinet",
    ),
    line(
        Tuning::RetransmissionTimer,
        Linux,
        (
            "ip route change ROUTE rto_min TIME; or sysctl net.ipv4.tcp_rto_min_us",
            "ip route … rto_min TIME",
        ),
        "ip-route(8), ip-sysctl.rst",
    ),
    line(
        Tuning::RetransmissionTimer,
        Windows,
        ("Set-NetTCPSetting -MinRtoMs MILLISECONDS", "Set-NetTCPSetting -MinRtoMs"),
        "Microsoft, Set-NetTCPSetting",
    ),
    line(
        Tuning::RetransmissionTimer,
        Lwip,
        (
            "LWIP_TCP_RTO_TIME, and TCP_TMR_INTERVAL, in steps of which it counts",
            "LWIP_TCP_RTO_TIME",
        ),
        "lwIP, opt.h and priv/tcp_priv.h",
    ),
    short(
        Tuning::RetransmissionTimer,
        Zephyr,
        "CONFIG_NET_TCP_INIT_RETRANSMISSION_TIMEOUT",
        "Zephyr, subsys/net/ip/Kconfig.tcp",
    ),
    line(
        Tuning::RetransmissionTimer,
        EspIdf,
        ("CONFIG_LWIP_TCP_RTO_TIME, and CONFIG_LWIP_TCP_TMR_INTERVAL", "CONFIG_LWIP_TCP_RTO_TIME"),
        "ESP-IDF, components/lwip/Kconfig",
    ),
    short(
        Tuning::RetransmissionTimer,
        FreeRtosTcp,
        "ipconfigTCP_SRTT_MINIMUM_VALUE_MS",
        "FreeRTOS-Plus-TCP, FreeRTOSIPConfigDefaults.h",
    ),
    line(
        Tuning::CongestionControl,
        Linux,
        (
            "TCP_CONGESTION; or sysctl net.ipv4.tcp_congestion_control",
            "net.ipv4.tcp_congestion_control",
        ),
        "tcp(7)",
    ),
    line(
        Tuning::CongestionControl,
        Windows,
        ("Set-NetTCPSetting -CongestionProvider CUBIC", "-CongestionProvider CUBIC"),
        "Microsoft, Set-NetTCPSetting",
    ),
    line(
        Tuning::CongestionControl,
        Smoltcp,
        (
            "tcp::Socket::set_congestion_control(CongestionControl::Cubic)",
            "CongestionControl::Cubic",
        ),
        "smoltcp, src/socket/tcp.rs",
    ),
    short(Tuning::CongestionControl, Iperf3, "--congestion NAME", "iperf3(1)"),
    line(
        Tuning::Pacing,
        Linux,
        (
            "SO_MAX_PACING_RATE; or tc qdisc replace dev DEVICE root fq maxrate RATE",
            "tc qdisc … fq maxrate RATE",
        ),
        "Linux, include/net/sock.h; tc-fq(8)",
    ),
    line(
        Tuning::Pacing,
        Windows,
        ("New-NetQosPolicy -ThrottleRateActionBitsPerSecond RATE", "New-NetQosPolicy"),
        "Microsoft, New-NetQosPolicy",
    ),
    line(
        Tuning::Pacing,
        OpenSsh,
        ("scp -l KBIT/S; sftp -l KBIT/S", "scp -l KBIT/S"),
        "scp(1), sftp(1)",
    ),
    short(Tuning::Pacing, Rsync, "--bwlimit=RATE", "rsync(1)"),
    line(
        Tuning::Pacing,
        Iperf3,
        ("--fq-rate RATE; or --bitrate RATE", "--fq-rate RATE"),
        "iperf3(1)",
    ),
    short(Tuning::Pacing, Nginx, "limit_rate RATE", "nginx, ngx_http_core_module"),
    short(Tuning::Pacing, Curl, "--limit-rate RATE", "curl(1)"),
    short(Tuning::Streams, Iperf3, "--parallel COUNT", "iperf3(1)"),
    line(
        Tuning::RequestsAhead,
        OpenSsh,
        ("sftp -R REQUESTS -B BYTES; scp -X nrequests=REQUESTS", "sftp -R REQUESTS"),
        "sftp(1), scp(1)",
    ),
    line(Tuning::RequestsAhead, Curl, ("--parallel; or --http2", "--parallel"), "curl(1)"),
    line(
        Tuning::WindowUpdates,
        Lwip,
        (
            "a smaller TCP_WND_UPDATE_THRESHOLD in lwipopts.h; and tcp_recved() as soon as data is read",
            "TCP_WND_UPDATE_THRESHOLD",
        ),
        "lwIP, opt.h",
    ),
    short(
        Tuning::WindowUpdates,
        FreeRtosTcp,
        "FREERTOS_SO_SET_LOW_HIGH_WATER",
        "FreeRTOS-Plus-TCP, FreeRTOS_Sockets.h",
    ),
    line(
        Tuning::NoPowerSave,
        Linux,
        ("iw dev DEVICE set power_save off", "iw … power_save off"),
        "iw(8)",
    ),
    line(
        Tuning::NoPowerSave,
        Windows,
        (
            "in the power plan, Wireless Adapter Settings: Maximum Performance",
            "Wireless Adapter Settings",
        ),
        "Microsoft, power policy settings",
    ),
    line(
        Tuning::NoPowerSave,
        Zephyr,
        ("net_mgmt(NET_REQUEST_WIFI_PS) with WIFI_PS_DISABLED", "NET_REQUEST_WIFI_PS"),
        "Zephyr, net/wifi_mgmt.h",
    ),
    short(Tuning::NoPowerSave, EspIdf, "esp_wifi_set_ps(WIFI_PS_NONE)", "ESP-IDF, esp_wifi.h"),
    line(
        Tuning::ListenBacklog,
        Linux,
        ("the backlog of listen(); sysctl net.core.somaxconn", "net.core.somaxconn"),
        "listen(2)",
    ),
    line(
        Tuning::ListenBacklog,
        MacOs,
        ("the backlog of listen(); sysctl kern.ipc.somaxconn", "kern.ipc.somaxconn"),
        "Apple, listen(2)",
    ),
    line(
        Tuning::ListenBacklog,
        Lwip,
        ("TCP_LISTEN_BACKLOG=1, with TCP_DEFAULT_LISTEN_BACKLOG", "TCP_DEFAULT_LISTEN_BACKLOG"),
        "lwIP, opt.h",
    ),
    short(Tuning::ListenBacklog, Nginx, "listen PORT backlog=COUNT", "nginx, ngx_http_core_module"),
];
