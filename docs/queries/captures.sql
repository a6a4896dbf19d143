-- The files: how many were explained, and their content.
select
    count(*) as files,
    count(*) filter (where error is null and copy_of is null) as explained,
    count(damage) as damaged,
    count(copy_of) as copies,
    count(error) as failed,
    sum(file_bytes) as file_bytes,
    sum(packets) filter (where copy_of is null) as packets,
    sum(totals_connections_with_data) filter (where copy_of is null) as connections,
    sum(totals_bytes) filter (where copy_of is null) as bytes,
    min(start_time) as first_packet,
    max(end_time) as last_packet
from captures
