//! The second change, for the limit that holds a transfer after the first one.

use windlass_base::thresholds::BEYOND_JITTER;
use windlass_base::verdict::{BoundSource, SecondChange, is_telling};
use windlass_base::{Limit, Rate, laws};
use windlass_trace::report::{ConnectionReport, WITHOUT_LOSS};

use super::change::{Change, Changes};
use super::model::Model;
use super::promise::Promise;
use super::{ModelFit, WhatIf};

/// Returns the change for the limit that holds the transfer after `first`, and the promise of both.
/// Returns `None` if both together bring no more, or if the capture does not show it.
pub(super) fn of(
    fitting: &ModelFit,
    first: &Changes,
    promise: Promise,
    next: Option<Limit>,
    report: &ConnectionReport,
) -> Option<SecondChange> {
    // Several connections are an alternative to a larger window.
    if first.0.iter().any(|change| matches!(change, Change::Streams(_))) {
        return None;
    }
    let limit = match promise {
        Promise::Estimate(_) => next?,
        Promise::AtMost(bound) if bound.source == Some(BoundSource::Window) => {
            Limit::ReceiverWindow
        }
        Promise::AtMost(_) | Promise::Unknown => return None,
    };
    let (what_if, second) = change_for(limit, &fitting.model.changed(first))?;
    let both = first.clone().and(&Changes(vec![second])).ok()?;
    let (_, with_both) = WhatIf::on(Ok(fitting), &both, report);
    let with_both = with_both?;
    let (rate, alone) = (with_both.rate()?, promise.rate()?);
    let brings_more = rate.bytes_per_second() > alone.bytes_per_second() * BEYOND_JITTER.get();
    let told = |rate: Rate| is_telling(rate, report.bytes_per_second);
    let (expected, at_most, at_most_by) = match with_both {
        Promise::Estimate(rate) => (Some(rate), None, None),
        Promise::AtMost(bound) if told(bound.rate) => (None, Some(bound.rate), bound.source),
        Promise::AtMost(_) | Promise::Unknown => return None,
    };
    brings_more.then_some(SecondChange {
        what_if,
        expected_bytes_per_second: expected,
        at_most_bytes_per_second: at_most,
        at_most_by,
    })
}

/// Returns the change that raises a limit of this model, as `--what-if` takes it; `None` if no
/// setting of a host does.
fn change_for(limit: Limit, model: &Model) -> Option<(String, Change)> {
    match limit {
        Limit::ReceiverWindow | Limit::ZeroWindow => {
            let window = laws::larger(model.window);
            Some((format!("window={}", window.get()), Change::Window(window)))
        }
        Limit::SendBuffer => {
            let buffer = laws::larger(model.send_buffer?);
            Some((format!("send-buffer={}", buffer.get()), Change::SendBuffer(buffer)))
        }
        Limit::Loss => Some((WITHOUT_LOSS.to_owned(), Change::Loss(0.0))),
        _ => None,
    }
}
