//! Histogram buckets of round-trip times.

use serde::Serialize;
use windlass_base::values::span_with_unit;
use windlass_base::{Histogram, Span};

/// Maximum number of printed buckets.
const MAX_BUCKETS: usize = 1_000;

/// The requested buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// This many buckets of one width, from the shortest to the longest time.
    Equal(usize),
    /// Buckets between these times, before the first and after the last.
    Edges(Vec<Span>),
}

/// Reads a number of buckets, or their edges.
pub fn buckets(text: &str) -> Result<Buckets, String> {
    if let Ok(count) = text.parse::<usize>() {
        return match count {
            1..=MAX_BUCKETS => Ok(Buckets::Equal(count)),
            _ => Err(format!("there are 1 to {MAX_BUCKETS} buckets")),
        };
    }
    let edges: Vec<Span> =
        text.split(',').map(span_with_unit).collect::<Result<_, _>>().map_err(|wrong| {
            format!("give a number of buckets, or edges as 0.1ms,0.5ms,1ms; {wrong}")
        })?;
    if edges.len() >= MAX_BUCKETS {
        return Err(format!("there are 1 to {MAX_BUCKETS} buckets"));
    }
    if edges.is_sorted_by(|one, next| one < next) {
        Ok(Buckets::Edges(edges))
    } else {
        Err("each edge must be larger than the one before".to_owned())
    }
}

/// Number of times above one edge and up to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// Lower edge; the first of equal buckets includes it.
    pub from_seconds: Span,
    /// Upper edge; nothing if there is none.
    pub to_seconds: Option<Span>,
    /// Number of times.
    pub count: u64,
}

impl Buckets {
    /// Counts times in these buckets. Without times there are no buckets.
    pub fn count(&self, times: &Histogram) -> Vec<Bucket> {
        if times.count() == 0 {
            return Vec::new();
        }
        let (least, most) = (times.least(), times.most());
        let (from, inner, to) = match self {
            Self::Edges(edges) => (Span::ZERO, edges.clone(), None),
            Self::Equal(count) => {
                let width = (most - least).as_nanos() as f64 / *count as f64;
                let edge = |number| least + Span::from_seconds(width * number as f64 / 1e9);
                let mut inner: Vec<Span> = (1..*count).map(edge).collect();
                // A range of few nanoseconds has fewer buckets.
                inner.dedup();
                inner.retain(|edge| (least..most).contains(edge));
                (least, inner, Some(most))
            }
        };
        let mut counted = Vec::with_capacity(inner.len() + 1);
        let (mut before, mut passed) = (from, 0);
        for edge in inner {
            let up_to = times.up_to(edge);
            let count = up_to - passed;
            counted.push(Bucket { from_seconds: before, to_seconds: Some(edge), count });
            (before, passed) = (edge, up_to);
        }
        let count = times.count() - passed;
        counted.push(Bucket { from_seconds: before, to_seconds: to, count });
        counted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(of: &[i64]) -> Vec<Span> {
        of.iter().copied().map(Span::from_millis).collect()
    }

    fn times(nanos: &[i64]) -> Histogram {
        let mut times = Histogram::fine();
        nanos.iter().for_each(|nanos| times.add(Span::from_nanos(*nanos)));
        times
    }

    #[test]
    fn buckets_are_a_number_or_edges() {
        assert_eq!(buckets("20"), Ok(Buckets::Equal(20)));
        assert_eq!(buckets("1ms,5ms"), Ok(Buckets::Edges(millis(&[1, 5]))));
        assert_eq!(buckets("1ms"), Ok(Buckets::Edges(millis(&[1]))));
        for wrong in ["0", "1001", "", "1ms,", "5ms,1ms", "1ms,1ms", "1,2", "fine", "-3"] {
            assert!(buckets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn edges_divide_all_times() {
        // Figures are off by 1/4,096, so what is nearer to an edge may count above
        // it.
        let times = times(&[500_000, 999_000, 1_001_000, 7_000_000]);
        let counted = Buckets::Edges(millis(&[1, 5])).count(&times);
        let counts: Vec<u64> = counted.iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [2, 1, 1]);
        assert_eq!(counted[0].from_seconds, Span::ZERO);
        assert_eq!(counted[2].to_seconds, None);
        assert!(Buckets::Equal(5).count(&Histogram::fine()).is_empty());
    }

    #[test]
    fn equal_buckets_span_the_times() {
        let counted = Buckets::Equal(2).count(&times(&[10_000, 11_000, 19_000, 20_000]));
        assert_eq!(counted.len(), 2);
        assert_eq!((counted[0].count, counted[1].count), (2, 2));
        assert_eq!(counted[0].from_seconds, Span::from_micros(10));
        assert_eq!(counted[0].to_seconds, Some(Span::from_micros(15)));
        assert_eq!(counted[1].to_seconds, Some(Span::from_micros(20)));
        // All alike, there is one.
        let one = Buckets::Equal(20).count(&times(&[7_000; 9]));
        assert_eq!((one.len(), one[0].count), (1, 9));
    }

    proptest! {
        #[test]
        fn every_time_is_in_one_bucket(
            nanos in prop::collection::vec(0..10_000_000_i64, 1..100), count in 1..50_usize,
        ) {
            let times = times(&nanos);
            let edges = Buckets::Edges(millis(&[1, 2, 9]));
            for wanted in [Buckets::Equal(count), edges] {
                let counted = wanted.count(&times);
                let sum: u64 = counted.iter().map(|bucket| bucket.count).sum();
                prop_assert_eq!(sum, times.count());
                for pair in counted.windows(2) {
                    prop_assert_eq!(pair[0].to_seconds, Some(pair[1].from_seconds));
                    prop_assert!(pair[0].from_seconds < pair[1].from_seconds);
                }
            }
        }
    }
}
