-- Receivers that close their window, by the time that senders waited for them.
select
    receiver_address,
    receiver_port,
    count(*) as connections,
    sum(receive_window_closures) as closures,
    sum(receive_window_closed_seconds) as closed_seconds,
    max(receive_window_longest_closure_seconds) as longest_seconds,
    sum(receive_window_probes) as probes
from connections
where receive_window_closures > 0
group by receiver_address, receiver_port
order by closed_seconds desc, receiver_address, receiver_port
