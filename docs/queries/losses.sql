-- Losses between networks: retransmissions, spurious ones left out.
select
    sender_prefix,
    receiver_prefix,
    count(*) as connections,
    sum(losses_segments) as segments,
    sum(losses_retransmissions) as retransmissions,
    sum(losses_retransmissions - losses_needless) as lost,
    cast(sum(losses_retransmissions - losses_needless) as double)
        / nullif(sum(losses_segments), 0) as ratio,
    sum(losses_by_timer) as by_timer
from connections
group by sender_prefix, receiver_prefix
order by ratio desc nulls last, sender_prefix, receiver_prefix
