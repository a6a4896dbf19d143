-- Connections limited by the receiver's window, worst first, with the gain of a change.
select
    c.capture,
    c.connection,
    c.sender,
    c.receiver,
    v.share,
    c.receive_window_bytes,
    c.bytes_per_second,
    v.remedy_action,
    v.remedy_expected_bytes_per_second,
    v.remedy_expected_bytes_per_second - c.bytes_per_second as gain_bytes_per_second,
    c.seconds * v.share as limited_seconds
from connections c
join verdicts v on v.capture = c.capture and v.connection = c.connection
where v."limit" = 'receiver-window'
order by limited_seconds desc, c.capture, c.connection
