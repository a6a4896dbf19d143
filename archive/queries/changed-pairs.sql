-- Pairs of hosts whose limit changed: the limit that cost most time in the last seven days of the
-- archive differs from the one before.
with charges as (
    select
        sender,
        receiver,
        service_port,
        day > (select max(day) - interval '7 days' from pair_days) as is_now,
        "limit",
        sum(seconds) as seconds
    from pair_days
    group by
        sender,
        receiver,
        service_port,
        day > (select max(day) - interval '7 days' from pair_days),
        "limit"
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
