-- Pairs of hosts whose limit changed: that which cost most time in the last seven days of the
-- archive is another than that which did before.
with week as (
    select max(start_time) - interval '7 days' as since from connections
), charges as (
    select
        coalesce(c.sender_address, c.sender) as sender,
        coalesce(c.receiver_address, c.receiver) as receiver,
        c.service_port,
        c.start_time >= w.since as is_now,
        i."limit",
        sum(i.charged) as seconds
    from intervals i
    join connections c on c.capture = i.capture and c.connection = i.connection
    cross join week w
    where c.start_time is not null
    group by
        coalesce(c.sender_address, c.sender),
        coalesce(c.receiver_address, c.receiver),
        c.service_port,
        c.start_time >= w.since,
        i."limit"
), ranked as (
    select
        sender,
        receiver,
        service_port,
        is_now,
        "limit",
        seconds,
        sum(seconds) over (partition by sender, receiver, service_port, is_now) as all_seconds,
        row_number() over (
            partition by sender, receiver, service_port, is_now order by seconds desc, "limit"
        ) as place
    from charges
)
select
    n.sender,
    n.receiver,
    n.service_port,
    b."limit" as limit_before,
    b.seconds / nullif(b.all_seconds, 0) as share_before,
    n."limit" as limit_now,
    n.seconds / nullif(n.all_seconds, 0) as share_now,
    n.all_seconds as seconds_now
from ranked n
join ranked b
    on b.sender = n.sender and b.receiver = n.receiver and b.service_port = n.service_port
where n.is_now and not b.is_now and n.place = 1 and b.place = 1 and n."limit" <> b."limit"
order by seconds_now desc, n.sender, n.receiver, n.service_port
