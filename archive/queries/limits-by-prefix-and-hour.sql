-- The share of each limit in the time of the transfers to each network, by hour.
with totals as (
    select prefix, hour, "limit", sum(seconds) as seconds
    from limit_hours
    group by prefix, hour, "limit"
)
select
    prefix,
    hour,
    "limit",
    seconds,
    seconds / nullif(sum(seconds) over (partition by prefix, hour), 0) as share
from totals
order by prefix, hour, seconds desc, "limit"
