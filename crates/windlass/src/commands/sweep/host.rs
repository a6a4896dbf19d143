//! The server of a sweep, as the command line names it.

use std::path::PathBuf;

use clap::Args;
use windlass_drive::Protocol;

use crate::arguments::one_of;
use crate::commands::far_host::{FamilyArgs, host};
pub(super) use crate::commands::ip_args::IpArgs;

/// The protocols, and the server of each.
const PROTOCOLS: [(&str, &str, Protocol); 2] = [
    ("windlass", "windlass serve", Protocol::Windlass),
    ("iperf3", "A stock iperf3 -s", Protocol::Iperf3),
];

/// The server's host, port and protocol.
#[derive(Args, Clone, Debug)]
pub struct HostArgs {
    /// Server at the other end of the path, as HOST or HOST:PORT
    #[arg(value_name = "HOST", value_parser = host, required_unless_present = "simulate")]
    pub host: Option<String>,

    /// IPv4 or IPv6 alone.
    #[command(flatten)]
    pub family: FamilyArgs,

    /// Server port [default: 5201]
    #[arg(long, short = 'p', value_name = "PORT", conflicts_with = "simulate")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,

    /// Protocol of the server
    #[arg(long, value_name = "PROTOCOL", value_parser = one_of(&PROTOCOLS))]
    #[arg(default_value = "windlass", conflicts_with = "simulate")]
    pub protocol: Protocol,

    /// File with the server's token
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    pub token_file: Option<PathBuf>,
}
