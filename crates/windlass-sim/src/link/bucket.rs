//! A policer: a token bucket that drops items for which it has too few tokens.

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, Rate, Span, Timestamp};

use crate::written;

/// A policer's settings.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Policer {
    /// Rate at which tokens arrive, and so the long-term rate.
    #[serde(rename(serialize = "bytes_per_second"), deserialize_with = "written::read")]
    pub rate: Rate,
    /// Maximum number of tokens: the burst that passes after an idle time.
    #[serde(rename(serialize = "burst_bytes"), deserialize_with = "written::read")]
    pub burst: Bytes,
}

/// The bucket, full at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    policer: Policer,
    tokens: f64,
    filled: Option<Timestamp>,
}

impl Bucket {
    pub(super) fn new(policer: Policer) -> Self {
        Self { policer, tokens: policer.burst.get() as f64, filled: None }
    }

    /// Returns whether an item may pass, and takes its tokens if so.
    pub(super) fn takes(&mut self, now: Timestamp, bytes: u32) -> bool {
        let since = self.filled.replace(now).map_or(Span::ZERO, |filled| now.since(filled));
        let fresh = self.policer.rate.bytes_per_second() * since.or_zero().as_seconds();
        self.tokens = (self.tokens + fresh).min(self.policer.burst.get() as f64);
        let passes = self.tokens >= f64::from(bytes);
        if passes {
            self.tokens -= f64::from(bytes);
        }
        passes
    }
}
