-- Time of all transfers by limit and reason, costliest first.
select
    "limit",
    because,
    sum(charged) as seconds,
    sum(charged) / (select sum(charged) from intervals) as share,
    count(distinct capture || ' ' || connection) as connections
from intervals
group by "limit", because
order by seconds desc, "limit", because
