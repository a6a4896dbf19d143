//! Steps of a recommendation: the host, and the option or sysctl to set.

use serde::Serialize;
use windlass_base::tuning::{Host, Instructions, Tuning};
use windlass_base::verdict::Side;
use windlass_base::{Bytes, Sentence, sentence};

use crate::plan::{Direction, Setting};

/// Ratio of the receive buffer to the window. Linux charges its own packet records to a receive
/// buffer, so a window takes twice its size (`tcp_adv_win_scale` 1, tcp(7)). The kernel doubles
/// `SO_RCVBUF` itself.
const BUFFER_OF_WINDOW: u64 = 2;

/// Port of iperf3, whose options are named too.
const IPERF3: u16 = 5201;

/// A setting on one host.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Side of the transfer; null for the programs at both.
    pub side: Option<Side>,
    /// Host, as people call it.
    pub host: String,
    /// Change to make.
    pub action: Sentence,
    /// Option or sysctl on Linux, and iperf3's option, with the value.
    pub set_by: Sentence,
    /// Settings on all systems.
    pub how: Instructions,
}

impl Step {
    /// Returns the steps for a setting; none if there is nothing to set. `peer` is the host at the
    /// other end; a simulated path has none.
    pub(crate) fn all(setting: &Setting, peer: Option<&str>) -> Vec<Self> {
        let mut steps = Vec::new();
        if let Some(window) = setting.window {
            steps.push(Self {
                side: Some(Side::Receiver),
                host: host(Side::Receiver, setting.direction, peer),
                action: sentence!("a receive window of {window}"),
                set_by: window_by(window),
                how: how(Tuning::ReceiveWindow),
            });
        }
        if let Some(congestion) = setting.congestion {
            let name = congestion.name();
            steps.push(Self {
                side: Some(Side::Sender),
                host: host(Side::Sender, setting.direction, peer),
                action: sentence!("the congestion control {name}"),
                set_by: sentence!(
                    "TCP_CONGESTION={name}, or sysctl net.ipv4.tcp_congestion_control={name}; \
                     iperf3: --congestion {name}"
                ),
                how: how(Tuning::CongestionControl),
            });
        }
        if setting.streams > 1 {
            let count = setting.streams.to_string();
            steps.push(Self {
                side: None,
                host: "the program that transfers".to_owned(),
                action: sentence!("{count} parallel connections"),
                set_by: sentence!("iperf3: --parallel {count}"),
                how: how(Tuning::Streams),
            });
        }
        steps
    }
}

fn window_by(window: Bytes) -> Sentence {
    let buffer = window.get().saturating_mul(BUFFER_OF_WINDOW).to_string();
    let window = window.get().to_string();
    sentence!(
        "SO_RCVBUF={window}, with net.core.rmem_max at least as high; or {buffer} as the third \
         value of net.ipv4.tcp_rmem; iperf3: --window {window}"
    )
}

fn how(tuning: Tuning) -> Instructions {
    let host = Host { port: IPERF3, ..Host::default() };
    Instructions { tuning: Some(tuning), host }
}

/// Returns the name of the host at a side.
fn host(side: Side, direction: Direction, peer: Option<&str>) -> String {
    let is_here = (side == Side::Sender) == (direction == Direction::Up);
    let role = if side == Side::Sender { "the sender" } else { "the receiver" };
    match (peer, is_here) {
        (None, _) => role.to_owned(),
        (Some(_), true) => format!("{role}, this host"),
        (Some(peer), false) => format!("{role}, {peer}"),
    }
}
