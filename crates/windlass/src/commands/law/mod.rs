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

use self::answer::Named;
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
    /// Which law.
    #[command(subcommand)]
    pub law: Law,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The laws.
#[derive(Clone, Debug, Subcommand)]
pub enum Law {
    /// A window allows one window per round trip
    ///
    /// A sender has at most one window in flight, and gets it acknowledged once per round
    /// trip: rate = W / T. Give two of --window, --time and --rate; the law gives the third.
    Window(window::WindowArgs),
    /// A send buffer against a receiver that withholds its ACK
    ///
    /// A receiver may withhold its ACK until a share of its window has arrived, or until a
    /// timer runs out. A sender whose buffer is below that share fills it once per timer:
    /// rate = N / D. Give two of --buffer, --ack-delay and --rate; the law gives the third.
    SendBuffer(send_buffer::SendBufferArgs),
    /// The window that keeps a path full
    ///
    /// The bandwidth-delay product is the smallest window that keeps a path full: W = C ·
    /// RTT. Give two of --rate, --rtt and --window; the law gives the third.
    Bdp(bdp::BdpArgs),
    /// Parallel connections that share a path
    ///
    /// Parallel connections with a window each share a path: rate = min(C, n · W / T). Give
    /// --rate, --rtt and --window for the streams that fill the path; with --streams too for
    /// the rate that they reach; with --streams instead of --window for the window that each
    /// needs.
    Streams(streams::StreamsArgs),
    /// The goodput of a link that is always busy
    ///
    /// Of what a busy Ethernet carries, headers, preamble and gap take their part: goodput =
    /// C · payload / (payload + headers + 38).
    Line(line::LineArgs),
    /// The rate that loss leaves: Mathis and PFTK
    ///
    /// Loss cuts the congestion window, and the more often, the smaller it stays. Mathis:
    /// rate = MSS / RTT · √(3/2) / √p. PFTK adds the time that retransmission timers cost.
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

/// The error for values of which not the right ones were given.
fn unfit(law: &str, wrong: &str, example: &str) -> Failure {
    Failure::usage(format!("cannot apply the law `{law}`"), wrong)
        .advise(format!("For example: windlass law {law} {example}"))
}

/// The answer of a law that a size passes once in a time, rate = size / time, with
/// the size; `None` unless two of the three are given, so that it gives the third.
fn third(
    answer: impl Fn(String) -> Answer,
    [size, time, rate]: [Named; 3],
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
