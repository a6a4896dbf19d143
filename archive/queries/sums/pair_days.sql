-- The time that each limit held the transfers of each pair of hosts, by the day on which they
-- began.
select
    coalesce(c.sender_address, c.sender) as sender,
    coalesce(c.receiver_address, c.receiver) as receiver,
    c.service_port,
    date_trunc('day', c.start_time) as day,
    i."limit",
    sum(i.charged) as seconds
from intervals i
join connections c on c.capture = i.capture and c.connection = i.connection
where c.start_time is not null
group by
    coalesce(c.sender_address, c.sender),
    coalesce(c.receiver_address, c.receiver),
    c.service_port,
    date_trunc('day', c.start_time),
    i."limit"
order by sender, receiver, service_port, day, "limit"
