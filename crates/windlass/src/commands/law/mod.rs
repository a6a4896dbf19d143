//! `windlass law`: the laws as a calculator, both ways.

mod answer;
mod bdp;
mod line;
mod loss;
mod send_buffer;
mod streams;
mod window;

pub use answer::{Answer, Quantity, Term};
use clap::{Args, Subcommand};
use windlass_base::{Bytes, Failure, Rate, Span, laws};
use windlass_output::Output;

use self::answer::SymbolName;
use super::unwritten;
use crate::arguments::JsonArgs;

/// The arguments of `windlass law`.
#[derive(Args, Clone, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_long_help = "\
Examples:
  windlass law window --window 2920 --time 117695us      24.8 kB/s
  windlass law window --rate 10MB/s --time 36ms          the window to reach 10 MB/s
  windlass law send-buffer --buffer 2048 --ack-delay 500ms
  windlass law bdp --rate 1gbit --rtt 2.55ms
  windlass law streams --rate 1gbit --rtt 2.55ms --window 56kB
  windlass law line --rate 1gbit --timestamps
  windlass law loss --mss 1460 --rtt 370ms --loss 3.7%

Values:
  size   2920, 2920B, 56kB and MB, GB (1000s), 64KiB and MiB, GiB, or 64k, 1M, 1G (1024s)
  time   ns, us or µs, ms, s, m or min, h; a bare number is seconds
  rate   10MB/s, 1MiB/s in bytes; 100mbit, 1Gb/s, 56kbps in bits
  share  3.7% or 0.037"
)]
pub struct LawArgs {
    /// The law.
    #[command(subcommand)]
    pub law: Law,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The laws.
#[derive(Clone, Debug, Subcommand)]
pub enum Law {
    /// Window limit: one window per round trip
    ///
    /// A sender has at most one window in flight, and gets it acknowledged once per round
    /// trip: rate = W / T. Give two of --window, --time and --rate; the law gives the third.
    Window(window::WindowArgs),
    /// Send buffer limit with a receiver that delays its ACK
    ///
    /// A receiver may delay its ACK until a share of its window has arrived, or until a timer
    /// expires. If the send buffer is below that share, it is filled once per timer:
    /// rate = N / D. Give two of --buffer, --ack-delay and --rate; the law gives the third.
    SendBuffer(send_buffer::SendBufferArgs),
    /// Bandwidth-delay product: the window that fills a path
    ///
    /// The bandwidth-delay product is the smallest window that keeps a path full: W = C ·
    /// RTT. Give two of --rate, --rtt and --window; the law gives the third.
    Bdp(bdp::BdpArgs),
    /// Parallel connections over one path
    ///
    /// Parallel connections, each with its own window, share a path: rate = min(C, n · W / T).
    /// --rate, --rtt and --window give the number of streams that fills the path. Add --streams
    /// for their total rate. With --streams but no --window, the law gives the window of each.
    Streams(streams::StreamsArgs),
    /// Goodput of a saturated Ethernet link
    ///
    /// Headers, preamble and gap take a share of the link: goodput = C · payload / (payload +
    /// headers + 38).
    Line(line::LineArgs),
    /// Rate under loss: the Mathis and PFTK formulas
    ///
    /// Each loss reduces the congestion window. Mathis: rate = MSS / RTT · √(3/2) / √p. PFTK
    /// also includes retransmission timeouts.
    /// Give --loss for the rate, or --rate for the loss that allows it.
    Loss(loss::LossArgs),
}

/// Runs the command.
pub fn run(args: &LawArgs, output: &mut Output) -> anyhow::Result<()> {
    let answer = match &args.law {
        Law::Window(args) => args.answer(),
        Law::SendBuffer(args) => args.answer(),
        Law::Bdp(args) => args.answer(),
        Law::Streams(args) => args.answer(),
        Law::Line(args) => Ok(args.answer()),
        Law::Loss(args) => args.answer(),
    }?;
    answer.check()?;
    output.print(&answer).map_err(unwritten)
}

/// Returns the error for missing or surplus values.
fn unfit(law: &str, wrong: &str, example: &str) -> Failure {
    Failure::usage(format!("cannot apply the law `{law}`"), wrong)
        .advise(format!("For example: windlass law {law} {example}"))
}

/// Solves a law of the form rate = size / time. Returns `None` unless exactly two of the three are
/// given.
fn third(
    answer: impl Fn(String) -> Answer,
    [size, time, rate]: [SymbolName; 3],
    given: (Option<Bytes>, Option<Span>, Option<Rate>),
) -> Option<(Answer, Bytes)> {
    let [(n, _), (t, _), (r, _)] = [size, time, rate];
    let bytes_of = |bytes| (size, Quantity::Bytes(bytes));
    let span_of = |span| (time, Quantity::Seconds(span));
    let rate_of = |wanted| (rate, Quantity::BytesPerSecond(wanted));
    let (formula, bytes, [one, other, result]) = match given {
        (Some(bytes), Some(span), None) => {
            let result = rate_of(laws::window_rate(bytes, span));
            (format!("{r} = {n} / {t}"), bytes, [bytes_of(bytes), span_of(span), result])
        }
        (None, Some(span), Some(wanted)) => {
            let bytes = laws::window_for(wanted, span);
            (format!("{n} = {r} · {t}"), bytes, [rate_of(wanted), span_of(span), bytes_of(bytes)])
        }
        (Some(bytes), None, Some(wanted)) => {
            let result = span_of(wanted.time_for(bytes));
            (format!("{t} = {n} / {r}"), bytes, [bytes_of(bytes), rate_of(wanted), result])
        }
        _ => return None,
    };
    let answer = answer(formula).given(one.0, one.1).given(other.0, other.1);
    Some((answer.result(result.0, result.1), bytes))
}
