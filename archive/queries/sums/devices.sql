-- Devices whose receive window limits what they are sent, and the time that each would save
-- at the rate to expect of each connection.
with limited as (
    select
        coalesce(c.receiver_address, c.receiver) as device,
        c.receiver_mac,
        c.service_port,
        c.bytes,
        c.seconds,
        c.seconds * v.share as limited_seconds,
        c.receive_window_bytes,
        case
            when v.remedy_expected_bytes_per_second > c.bytes_per_second
                then c.seconds - c.bytes / v.remedy_expected_bytes_per_second
            else 0
        end as saved_seconds
    from connections c
    join verdicts v on v.capture = c.capture and v.connection = c.connection
    where v."limit" = 'receiver-window'
)
select
    device,
    service_port,
    min(receiver_mac) as mac,
    count(*) as connections,
    sum(bytes) as bytes,
    sum(seconds) as seconds,
    sum(limited_seconds) as limited_seconds,
    sum(saved_seconds) as saved_seconds,
    max(receive_window_bytes) as receive_window_bytes
from limited
group by device, service_port
order by device, service_port
