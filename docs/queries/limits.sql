-- Where the time of all transfers went, by limit and reason: the costliest first.
select
    "limit",
    because,
    sum(charged) as seconds,
    sum(charged) / (select sum(charged) from intervals) as share,
    count(distinct capture || ' ' || connection) as connections
from intervals
group by "limit", because
order by seconds desc, "limit", because
