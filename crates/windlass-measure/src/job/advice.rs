//! Choice of the send buffer by a verdict: of packets, of the kernel, or of an earlier capture or
//! report.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use windlass_base::verdict::{Remedy, Side, Unit, Verdict};
use windlass_base::{Bytes, Cause, Failure, Limit, Rate, laws, sentence, whole_part};
use windlass_capture::ReadSettings;
use windlass_drive::report::SenderStream;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analysis, Keep};
use windlass_wire::{ConnectionFilter, PacketRange};

use super::choice::Choice;

/// Largest report that is read: one of some 10,000 connections.
const MAX_REPORT: u64 = 256 << 20;

/// Maximum number of analysed connections of a capture, by transferred bytes.
const MAX: usize = 16;

/// Ratio of the congestion window to the flight beyond which the window is not the limit. A
/// limiting window exceeds the flight by less than a segment.
const BEYOND: f64 = 1.5;

/// Choices from a verdict, with the required send buffer.
impl Choice {
    /// Makes the choice of a verdict. `needed` is the size by the law, if the caller knows it;
    /// otherwise the remedy's size is taken.
    pub(super) fn of(verdict: &Verdict, needed: Option<Bytes>) -> Self {
        // If the cause is open, the more likely one is tried: a larger buffer does no harm.
        let cause = verdict.between.first().copied().unwrap_or(verdict.cause);
        let is_buffer = cause.limit() == Limit::SendBuffer;
        let remedy = verdict.remedies.iter().find(|remedy| is_size(remedy));
        let remedy = remedy.filter(|_| is_buffer);
        let of_remedy = remedy.and_then(|remedy| whole(remedy.value?));
        Self {
            limit: Some(cause.limit()),
            because: cause.because(),
            share: Some(verdict.share),
            sentence: Some(verdict.sentence.clone()),
            needed_bytes: if is_buffer { needed.or(of_remedy) } else { None },
            // The expected rate applies to the remedy's size.
            expected_bytes_per_second: match needed {
                Some(_) => None,
                None => remedy.and_then(|remedy| remedy.expected_bytes_per_second),
            },
            ..Self::default()
        }
    }

    /// Combines packets and kernel. In packets, a steady congestion window and a send buffer that
    /// is refilled at once look alike. The kernel knows its congestion window: if the window
    /// allowed more, the buffer was the limit.
    pub(super) fn of_both(report: &ConnectionReport, kernel: Option<&SenderStream>) -> Self {
        let verdict = &report.verdict;
        let flight = report.receive_window.max_flight_bytes;
        let allowed = kernel.map(|kernel| kernel.mean_congestion_window_bytes);
        let allowed = allowed.filter(|allowed| allowed.get() as f64 > BEYOND * flight.get() as f64);
        match (allowed, report.receive_window.max_bytes) {
            (Some(allowed), Some(window)) if verdict.cause == Cause::Steady => Self {
                limit: Some(Limit::SendBuffer),
                share: Some(verdict.share),
                sentence: Some(sentence!(
                    "The packets show {flight} in flight at the most, and this end's kernel a \
                     congestion window of {allowed}: so the send buffer holds the job, though \
                     the receiver would take {window}."
                )),
                needed_bytes: Some(laws::send_buffer_for(window, flight)),
                ..Self::default()
            },
            _ => Self::of(verdict, None),
        }
    }

    /// Reads the choice from a verdict in a report.
    fn read(verdict: &Value) -> Option<Self> {
        let text = |name: &str| verdict.get(name).and_then(Value::as_str).map(str::to_owned);
        let (limit, because) = (text("limit")?, text("because"));
        let limit = Limit::ALL.into_iter().find(|known| known.id() == limit)?;
        let mut reasons = Cause::ALL.iter().filter_map(|cause| cause.because());
        let is_buffer = limit == Limit::SendBuffer;
        let sizes = |remedy: &&Value| remedy["side"] == "sender" && remedy["unit"] == "bytes";
        let remedies = verdict.get("remedies").and_then(Value::as_array);
        let remedy = remedies.and_then(|all| all.iter().find(sizes)).filter(|_| is_buffer);
        let number = |name: &str| remedy.and_then(|remedy| remedy.get(name)?.as_f64());
        Some(Self {
            limit: Some(limit),
            because: because.and_then(|because| reasons.find(|known| known.id() == because)),
            share: Some(verdict.get("share").and_then(Value::as_f64).unwrap_or(0.0)),
            sentence: Some(text("sentence").as_deref().unwrap_or_default().into()),
            needed_bytes: number("value").and_then(whole),
            expected_bytes_per_second: number("expected_bytes_per_second")
                .map(Rate::from_bytes_per_second),
            ..Self::default()
        })
    }

    /// Makes the choice from a file: a capture, or a report of `windlass explain` or `windlass
    /// print`. The choice is that of the connection that sent most to one of a host's addresses.
    /// `reads` is called with the progress in a capture, until `stop` is set.
    pub(super) fn from_file(
        path: &Path,
        (host, to): (&str, &[SocketAddr]),
        stop: &Arc<AtomicBool>,
        reads: impl FnMut(u64, Option<u64>),
    ) -> Result<Self, Failure> {
        let doing = format!("cannot learn the send buffer from {}", path.display());
        let report = report(path).map_err(|wrong| Failure::new(doing.clone(), wrong))?;
        let found = match report {
            Some(report) => of_report(&report, to).map_err(|wrong| {
                Failure::new(doing.clone(), wrong)
                    .advise("Give a report of windlass explain --json or windlass print --json.")
            })?,
            None => of_capture(path, to, stop, reads)?,
        };
        found.ok_or_else(|| {
            Failure::new(doing, format!("it has no connection that carried data to {host}")).advise(
                "Give a capture or a report of a job to that host: windlass print --explain --json",
            )
        })
    }
}

/// Returns whether a remedy is a size for the sender to set.
fn is_size(remedy: &Remedy) -> bool {
    remedy.side == Side::Sender && remedy.unit == Some(Unit::Bytes)
}

fn whole(value: f64) -> Option<Bytes> {
    (value >= 1.0).then(|| Bytes::new(whole_part(value)))
}

/// Returns the report in a file; nothing if the file is a capture.
fn report(path: &Path) -> Result<Option<Value>, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    let mut begins = [0; 64];
    let got = file.read(&mut begins).map_err(|error| error.to_string())?;
    text.extend_from_slice(&begins[..got]);
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Ok(None);
    }
    let rest = file.take(MAX_REPORT).read_to_end(&mut text);
    rest.map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map(Some).map_err(|error| format!("it is not a report: {error}"))
}

/// Returns the verdict of a report on the transfer to one of these addresses.
fn of_report(report: &Value, to: &[SocketAddr]) -> Result<Option<Choice>, String> {
    let is_there =
        |address: &str| address.parse::<SocketAddr>().is_ok_and(|there| is_one_of(there.ip(), to));
    let of = |connection: &Value| {
        let receiver = connection.get("receiver").and_then(Value::as_str)?;
        if is_there(receiver) { Choice::read(connection.get("verdict")?) } else { None }
    };
    match report["schema"].as_str() {
        // The largest connection is the first.
        Some("windlass.explain/2") => {
            Ok(report["connections"].as_array().and_then(|all| all.iter().find_map(of)))
        }
        Some("windlass.print/2" | "windlass.print/3") => Ok(of(&report["packets"]["connection"])
            .or_else(|| {
                let address = report["target"]["address"].as_str()?;
                if is_there(address) { Choice::read(&report["verdict"]) } else { None }
            })),
        Some(other) => Err(format!("it is a report of {other}")),
        None => Err("it is not a report of windlass".to_owned()),
    }
}

fn is_one_of(host: IpAddr, to: &[SocketAddr]) -> bool {
    to.iter().any(|address| address.ip().to_canonical() == host.to_canonical())
}

/// Returns the verdict on the largest transfer of a capture to one of these addresses.
fn of_capture(
    path: &Path,
    to: &[SocketAddr],
    stop: &Arc<AtomicBool>,
    reads: impl FnMut(u64, Option<u64>),
) -> Result<Option<Choice>, Failure> {
    let filter = ConnectionFilter::default();
    let reading = ReadSettings {
        file: path,
        filter,
        range: PacketRange::default(),
        follow: false,
        doing: "learn from",
    };
    let mut analysis = Analysis::new(Keep::Largest(MAX), ());
    let read = windlass_capture::read(&reading, stop, reads, &mut analysis)?;
    let (connections, _) = analysis.analyzer.finish();
    Ok(connections.iter().find_map(|connection| {
        let (began, ended) = connection.lived();
        let drops = read.info().drops_between(began, ended);
        let report = connection.report(|end| read.name(end), drops);
        let receiver = report.receiver.parse::<SocketAddr>().ok()?;
        is_one_of(receiver.ip(), to).then(|| Choice::of(&report.verdict, None))
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_base::LimitReason;

    use super::*;

    fn verdict(limit: &str, remedies: &Value) -> Value {
        json!({ "limit": limit, "because": "delayed-ack", "share": 0.9, "sentence": "It waits.",
                "remedies": remedies })
    }

    #[test]
    fn a_report_tells_the_size_of_the_connection_to_the_printer() {
        let remedies = json!([
            { "side": "receiver", "unit": "bytes", "value": 1.0 },
            { "side": "sender", "unit": "count", "value": 4.0 },
            { "side": "sender", "unit": "bytes", "value": 6_144.0,
              "expected_bytes_per_second": 9e5 },
        ]);
        let held = verdict("send-buffer", &remedies);
        let other = verdict("receiver-window", &remedies);
        let report = json!({ "schema": "windlass.explain/2", "connections": [
            { "receiver": "192.0.2.9:35", "verdict": other },
            { "receiver": "192.0.2.2:35", "verdict": held },
            { "receiver": "a-name:35", "verdict": held },
        ]});
        let to = |host: &str| [SocketAddr::new(host.parse().unwrap(), 9_100)];
        let found = of_report(&report, &to("192.0.2.2")).unwrap().unwrap();
        assert_eq!(
            (found.limit, found.because),
            (Some(Limit::SendBuffer), Some(LimitReason::DelayedAck))
        );
        assert_eq!(found.needed_bytes, Some(Bytes::new(6_144)));
        assert_eq!(found.expected_bytes_per_second, Some(Rate::from_bytes_per_second(9e5)));
        // Another limit is not lifted by a size that stands beside it.
        let found = of_report(&report, &to("192.0.2.9")).unwrap().unwrap();
        assert_eq!((found.limit, found.needed_bytes), (Some(Limit::ReceiverWindow), None));
        assert_eq!(of_report(&report, &to("192.0.2.3")).unwrap(), None);

        let mut report = json!({ "schema": "windlass.print/2", "packets": null, "verdict": held,
                                 "target": { "address": "[::ffff:192.0.2.2]:9100" } });
        assert!(of_report(&report, &to("192.0.2.2")).unwrap().is_some());
        report["packets"] = json!({ "connection": { "receiver": "192.0.2.2:9100",
                                                    "verdict": other } });
        let found = of_report(&report, &to("192.0.2.2")).unwrap().unwrap();
        assert_eq!(found.limit, Some(Limit::ReceiverWindow), "the packets know more");
        let wrong = of_report(&json!({ "schema": "windlass.ping/1" }), &to("::1")).unwrap_err();
        assert_eq!(wrong, "it is a report of windlass.ping/1");
        of_report(&json!({}), &to("::1")).unwrap_err();
    }

    #[test]
    fn what_is_no_object_is_a_capture() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            report(&path)
        };
        assert_eq!(read(" \n{}"), Ok(Some(json!({}))));
        assert_eq!(read("12:00:00.1 IP 1.2.3.4.5 > 1.2.3.4.6:"), Ok(None));
        assert_eq!(read(""), Ok(None));
        assert!(read("{ \"schema\": ").unwrap_err().starts_with("it is not a report"));
    }
}
