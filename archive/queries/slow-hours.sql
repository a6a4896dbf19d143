-- The slowest hours: the rate of the transfers that began in each hour, and the limit that cost most
-- time in the hour.
with began as (
    select
        hour,
        sum(connections) as connections,
        sum(bytes) as bytes,
        sum(transfer_seconds) as seconds
    from hours
    group by hour
), charges as (
    select hour, "limit", sum(seconds) as seconds
    from limit_hours
    where hour is not null
    group by hour, "limit"
), ranked as (
    select
        hour,
        "limit",
        seconds / nullif(sum(seconds) over (partition by hour), 0) as share,
        row_number() over (partition by hour order by seconds desc, "limit") as place
    from charges
)
select
    b.hour,
    b.connections,
    b.bytes,
    b.bytes / nullif(b.seconds, 0) as bytes_per_second,
    r."limit",
    r.share
from began b
left join ranked r on r.hour = b.hour and r.place = 1
where b.seconds > 0
order by bytes_per_second, b.hour
