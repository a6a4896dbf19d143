-- The share of each limit in the time of the transfers to each network, by hour: the hours in which
-- transfers took most time first, at most a thousand of them.
with totals as (
    select prefix, hour, sum(seconds) as all_seconds
    from limit_hours
    group by prefix, hour
    order by all_seconds desc, prefix, hour
    limit 1000
), ranked as (
    select
        prefix,
        hour,
        all_seconds,
        row_number() over (order by all_seconds desc, prefix, hour) as place
    from totals
)
select
    r.prefix,
    r.hour,
    l."limit",
    sum(l.seconds) as seconds,
    sum(l.seconds) / nullif(r.all_seconds, 0) as share
from ranked r
join limit_hours l
    on (l.prefix is not distinct from r.prefix) and (l.hour is not distinct from r.hour)
group by r.place, r.prefix, r.hour, r.all_seconds, l."limit"
-- DataFusion takes a place for a key of the joined rows, too, and would sort by that alone.
order by r.place + 0, seconds desc, l."limit"
