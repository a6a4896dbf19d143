-- Set-ups that took long or several attempts, by service.
select
    receiver_prefix,
    service_port,
    count(*) as connections,
    sum(case when handshake_syns > 1 or handshake_syn_acks > 1 then 1 else 0 end) as repeated,
    max(handshake_seconds) as longest_seconds,
    sum(handshake_seconds) / count(handshake_seconds) as mean_seconds,
    min(handshake_rtt_seconds) as least_rtt_seconds
from connections
where handshake_seconds is not null
group by receiver_prefix, service_port
order by longest_seconds desc, receiver_prefix, service_port
