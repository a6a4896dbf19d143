-- Devices whose receive window limits what they are sent, the worst first, with what each would
-- gain: the rate of the same data at the rate to expect of each connection.
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
                then c.bytes / v.remedy_expected_bytes_per_second
        end as expected_seconds
    from connections c
    join verdicts v on v.capture = c.capture and v.connection = c.connection
    where v."limit" = 'receiver-window'
)
select
    device,
    service_port,
    min(receiver_mac) as mac,
    count(*) as connections,
    sum(limited_seconds) as limited_seconds,
    sum(limited_seconds) / nullif(sum(seconds), 0) as share,
    max(receive_window_bytes) as receive_window_bytes,
    sum(bytes) / nullif(sum(seconds), 0) as bytes_per_second,
    sum(bytes) / nullif(sum(coalesce(expected_seconds, seconds)), 0) as expected_bytes_per_second,
    sum(seconds - coalesce(expected_seconds, seconds)) as saved_seconds
from limited
group by device, service_port
order by limited_seconds desc, device, service_port
