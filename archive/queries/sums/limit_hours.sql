-- The time that each limit held the transfers to each network, by hour.
select
    c.receiver_prefix as prefix,
    date_trunc('hour', coalesce(i.start_time, c.start_time)) as hour,
    i."limit",
    sum(i.charged) as seconds
from intervals i
join connections c on c.capture = i.capture and c.connection = i.connection
group by c.receiver_prefix, date_trunc('hour', coalesce(i.start_time, c.start_time)), i."limit"
order by prefix, hour, "limit"
