//! `rtt_quantile(bucket_seconds, bucket_segments, share)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

/// Function that returns the time that this share of the segments did not exceed, from histograms
/// of `rtt`. It returns the upper bound of a bucket, which is at most 1/16 too large.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RttQuantile {
    signature: Signature,
}

impl RttQuantile {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(3, Volatility::Immutable) }
    }
}

fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
}

impl AggregateUDFImpl for RttQuantile {
    fn name(&self) -> &str {
        "rtt_quantile"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [DataType::List(seconds), DataType::List(segments), share]
                if seconds.data_type().is_numeric()
                    && segments.data_type().is_integer()
                    && share.is_numeric() =>
            {
                Ok(DataType::Float64)
            }
            _ => plan_err!(
                "rtt_quantile takes a histogram and a share, such as \
                 rtt_quantile(bucket_seconds, bucket_segments, 0.99)"
            ),
        }
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::<HistogramSum>::default())
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field =
            |name: &str, kind| Arc::new(Field::new(format!("{}[{name}]", args.name), kind, true));
        Ok(vec![
            field("seconds", list(DataType::Float64)),
            field("segments", list(DataType::Int64)),
            field("share", DataType::Float64),
        ])
    }
}

/// Merged histograms.
#[derive(Debug, Default)]
struct HistogramSum {
    /// Number of segments by the bits of the bucket's seconds: times are not negative, so the order
    /// of their bits is the order of the times.
    buckets: BTreeMap<u64, u64>,
    share: Option<f64>,
}

impl HistogramSum {
    fn take(&mut self, seconds: &ArrayRef, segments: &ArrayRef) -> Result<()> {
        let seconds = cast(seconds, &list(DataType::Float64))?;
        let segments = cast(segments, &list(DataType::Int64))?;
        for (seconds, segments) in
            seconds.as_list::<i32>().iter().zip(segments.as_list::<i32>().iter())
        {
            let (Some(seconds), Some(segments)) = (seconds, segments) else { continue };
            if seconds.len() != segments.len() {
                return exec_err!("rtt_quantile: a histogram needs as many times as counts");
            }
            let segments = segments.as_primitive::<Int64Type>();
            for (at, count) in seconds.as_primitive::<Float64Type>().iter().zip(segments) {
                let (Some(at), Some(count)) = (at, count) else { continue };
                let Ok(count) = u64::try_from(count) else {
                    return exec_err!("rtt_quantile: a count is at least zero");
                };
                if at.is_nan() || at < 0.0 {
                    return exec_err!("rtt_quantile: a time is at least zero");
                }
                let sum = self.buckets.entry((at + 0.0).to_bits()).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(())
    }

    fn take_share(&mut self, shares: &ArrayRef) -> Result<()> {
        let shares = cast(shares, &DataType::Float64)?;
        for share in shares.as_primitive::<Float64Type>().iter().flatten() {
            if !(0.0..=1.0).contains(&share) {
                return exec_err!("rtt_quantile: a share is from 0 to 1, not {share}");
            }
            if self.share.is_some_and(|before| before.total_cmp(&share).is_ne()) {
                return exec_err!("rtt_quantile: the share must be the same for all rows");
            }
            self.share = Some(share);
        }
        Ok(())
    }
}

impl Accumulator for HistogramSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [seconds, segments, shares] = values else {
            return exec_err!("rtt_quantile takes three values");
        };
        self.take_share(shares)?;
        self.take(seconds, segments)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let one = |values: ArrayRef| {
            let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            let offsets = OffsetBuffer::from_lengths([values.len()]);
            ScalarValue::List(Arc::new(ListArray::new(field, offsets, values, None)))
        };
        let seconds: Float64Array =
            self.buckets.keys().map(|at| Some(f64::from_bits(*at))).collect();
        let segments = self.buckets.values();
        let segments: Int64Array =
            segments.map(|count| Some(i64::try_from(*count).unwrap_or(i64::MAX))).collect();
        Ok(vec![one(Arc::new(seconds)), one(Arc::new(segments)), ScalarValue::Float64(self.share)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let all: u64 = self.buckets.values().fold(0, |sum, count| sum.saturating_add(*count));
        let (Some(share), 1..) = (self.share, all) else { return Ok(ScalarValue::Float64(None)) };
        let wanted = all as f64 * share;
        let mut so_far = 0_u64;
        let at = self.buckets.iter().find(|(_, count)| {
            so_far = so_far.saturating_add(**count);
            **count > 0 && so_far as f64 >= wanted
        });
        Ok(ScalarValue::Float64(at.map(|(at, _)| f64::from_bits(*at))))
    }

    fn size(&self) -> usize {
        // A node of the tree has some spare room.
        size_of::<Self>() + self.buckets.len() * 3 * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Builder, Int64Builder, ListBuilder};

    use super::*;

    fn rows(of: &[(&[f64], &[i64])], share: f64) -> Vec<ArrayRef> {
        let mut seconds = ListBuilder::new(Float64Builder::new());
        let mut segments = ListBuilder::new(Int64Builder::new());
        for (at, counts) in of {
            seconds.append_value(at.iter().copied().map(Some));
            segments.append_value(counts.iter().copied().map(Some));
        }
        let shares: Float64Array = of.iter().map(|_| Some(share)).collect();
        vec![Arc::new(seconds.finish()), Arc::new(segments.finish()), Arc::new(shares)]
    }

    fn of(all: &[(&[f64], &[i64])], share: f64) -> Result<ScalarValue> {
        let mut whole = HistogramSum::default();
        // Each row has its own accumulator, as in partitions.
        for row in all {
            let mut part = HistogramSum::default();
            part.update_batch(&rows(std::slice::from_ref(row), share))?;
            let state: Vec<ArrayRef> =
                part.state()?.iter().map(ScalarValue::to_array).collect::<Result<_>>()?;
            whole.merge_batch(&state)?;
        }
        let mut once = HistogramSum::default();
        once.update_batch(&rows(all, share))?;
        assert_eq!(once.evaluate()?, whole.evaluate()?);
        whole.evaluate()
    }

    #[test]
    fn histograms_are_joined() {
        let two: [(&[f64], &[i64]); 2] = [(&[0.1, 0.2], &[1, 1]), (&[0.05, 0.2, 3.0], &[1, 6, 1])];
        let at = |share| of(&two, share).unwrap();
        assert_eq!(at(0.0), ScalarValue::Float64(Some(0.05)));
        assert_eq!(at(0.1), ScalarValue::Float64(Some(0.05)));
        assert_eq!(at(0.2), ScalarValue::Float64(Some(0.1)));
        assert_eq!(at(0.5), ScalarValue::Float64(Some(0.2)));
        assert_eq!(at(0.9), ScalarValue::Float64(Some(0.2)));
        assert_eq!(at(1.0), ScalarValue::Float64(Some(3.0)));
        assert_eq!(of(&[], 0.5).unwrap(), ScalarValue::Float64(None));
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert!(of(&[(&[0.1], &[1])], 1.5).is_err());
        assert!(of(&[(&[0.1, 0.2], &[1])], 0.5).is_err());
        assert!(of(&[(&[-0.1], &[1])], 0.5).is_err());
        assert!(of(&[(&[0.1], &[-1])], 0.5).is_err());
    }
}
