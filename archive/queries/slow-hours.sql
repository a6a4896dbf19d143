-- The slowest hours: the rate at which data moved in the transfers that began in each, and the
-- limit that cost them most time.
with hours as (
    select
        date_trunc('hour', start_time) as hour,
        count(*) as connections,
        sum(bytes) as bytes,
        sum(transfer_seconds) as seconds
    from connections
    where start_time is not null
    group by date_trunc('hour', start_time)
), charges as (
    select date_trunc('hour', c.start_time) as hour, i."limit", sum(i.charged) as seconds
    from intervals i
    join connections c on c.capture = i.capture and c.connection = i.connection
    where c.start_time is not null
    group by date_trunc('hour', c.start_time), i."limit"
), ranked as (
    select
        hour,
        "limit",
        seconds / nullif(sum(seconds) over (partition by hour), 0) as share,
        row_number() over (partition by hour order by seconds desc, "limit") as place
    from charges
)
select
    h.hour,
    h.connections,
    h.bytes,
    h.bytes / nullif(h.seconds, 0) as bytes_per_second,
    r."limit",
    r.share
from hours h
left join ranked r on r.hour = h.hour and r.place = 1
where h.seconds > 0
order by bytes_per_second, h.hour
