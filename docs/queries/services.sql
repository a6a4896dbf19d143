-- Each service by its port: connections, data, rate, and the limits of its transfers.
select
    service_port,
    count(*) as connections,
    sum(bytes) as bytes,
    sum(seconds) as seconds,
    sum(bytes) / nullif(sum(seconds), 0) as bytes_per_second,
    sum(shares_receiver_window * seconds) / nullif(sum(seconds), 0) as receiver_window,
    sum(shares_zero_window * seconds) / nullif(sum(seconds), 0) as zero_window,
    sum(shares_congestion_window * seconds) / nullif(sum(seconds), 0) as congestion_window,
    sum(shares_loss * seconds) / nullif(sum(seconds), 0) as loss,
    sum(shares_path_capacity * seconds) / nullif(sum(seconds), 0) as path_capacity,
    sum(shares_application * seconds) / nullif(sum(seconds), 0) as application
from connections
group by service_port
order by seconds desc, service_port
