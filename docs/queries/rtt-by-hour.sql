-- ACK latency of each network, by hour.
select
    c.receiver_prefix as prefix,
    date_trunc('hour', r.start_time) as hour,
    sum(r.samples) as samples,
    min(r.ack_latency_seconds_min) as min_seconds,
    sum(r.ack_latency_seconds_mean * r.samples) / sum(r.samples) as mean_seconds,
    max(r.ack_latency_seconds_max) as max_seconds
from rtt r
join connections c on c.capture = r.capture and c.connection = r.connection
group by c.receiver_prefix, date_trunc('hour', r.start_time)
order by prefix, hour
