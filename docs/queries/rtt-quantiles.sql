-- Median and 99th percentile of the ACK latency of each connection, from the histograms: at most
-- 1/16 too large.
with buckets as (
    select
        capture,
        connection,
        unnest(bucket_seconds) as seconds,
        unnest(bucket_segments) as segments
    from rtt
), sums as (
    select capture, connection, seconds, sum(segments) as segments
    from buckets
    group by capture, connection, seconds
), running as (
    select
        capture,
        connection,
        seconds,
        sum(segments) over (partition by capture, connection order by seconds) as so_far,
        sum(segments) over (partition by capture, connection) as segments
    from sums
)
select
    capture,
    connection,
    max(segments) as segments,
    min(seconds) filter (where so_far >= segments * 0.5) as p50_seconds,
    min(seconds) filter (where so_far >= segments * 0.99) as p99_seconds
from running
group by capture, connection
order by p50_seconds desc, capture, connection
