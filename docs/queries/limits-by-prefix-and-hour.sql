-- The share of each limit in the time of the transfers to each network, by hour.
with charges as (
    select
        c.receiver_prefix as prefix,
        date_trunc('hour', coalesce(i.start_time, c.start_time)) as hour,
        i."limit",
        i.charged
    from intervals i
    join connections c on c.capture = i.capture and c.connection = i.connection
), sums as (
    select prefix, hour, "limit", sum(charged) as seconds
    from charges
    group by prefix, hour, "limit"
)
select
    prefix,
    hour,
    "limit",
    seconds,
    seconds / nullif(sum(seconds) over (partition by prefix, hour), 0) as share
from sums
order by prefix, hour, seconds desc, "limit"
