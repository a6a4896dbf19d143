-- Confidence of the verdicts, and the doubts that weaken them.
with caveats as (
    select confidence, unnest(caveats) as caveat from verdicts
)
select
    c.caveat,
    c.confidence,
    count(*) as verdicts,
    cast(count(*) as double) / (select count(*) from verdicts) as share
from caveats c
where c.caveat is not null
group by c.caveat, c.confidence
order by verdicts desc, c.caveat, c.confidence
