-- The transfers that began in each hour.
select
    date_trunc('hour', start_time) as hour,
    count(*) as connections,
    sum(bytes) as bytes,
    sum(transfer_seconds) as transfer_seconds
from connections
where start_time is not null
group by date_trunc('hour', start_time)
order by hour
