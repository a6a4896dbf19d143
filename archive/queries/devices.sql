-- Devices whose receive window limits transfers to them, worst first, with the gain of a change: the
-- rate of the same data at the expected rate of each connection.
select
    device,
    service_port,
    min(mac) as mac,
    sum(connections) as connections,
    sum(limited_seconds) as limited_seconds,
    sum(limited_seconds) / nullif(sum(seconds), 0) as share,
    max(receive_window_bytes) as receive_window_bytes,
    sum(bytes) / nullif(sum(seconds), 0) as bytes_per_second,
    sum(bytes) / nullif(sum(seconds) - sum(saved_seconds), 0) as expected_bytes_per_second,
    sum(saved_seconds) as saved_seconds
from devices
group by device, service_port
order by limited_seconds desc, device, service_port
