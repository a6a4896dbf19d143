-- The most useful changes, by side and limit: connections, their data, and the time saved at the
-- expected rate.
select
    v."limit",
    v.because,
    v.remedy_side,
    count(*) as connections,
    sum(c.bytes) as bytes,
    sum(c.seconds) as seconds,
    sum(c.seconds * (1 - v.measured_bytes_per_second / v.remedy_expected_bytes_per_second))
        as saved_seconds
from verdicts v
join connections c on c.capture = v.capture and c.connection = v.connection
where v.remedy_expected_bytes_per_second > v.measured_bytes_per_second
group by v."limit", v.because, v.remedy_side
order by saved_seconds desc, v."limit", v.because, v.remedy_side
