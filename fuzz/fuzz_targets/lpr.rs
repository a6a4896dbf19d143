//! Any bytes are lines of LPR's commands or an error; what is read is written the
//! same, and a control file keeps its lines. What a printer says in PJL, its
//! SNMP agent, and a server of its queue, is taken as well.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_wire::lpr::{Command, ControlFile, JobCommand, MAX_LINE, line, waiting};
use windlass_wire::pjl::Reader;
use windlass_wire::snmp::StatusQuery;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some((text, used))) = line(rest) {
        assert!(text.len() <= MAX_LINE && used == text.len() + 1);
        if let Ok(command) = Command::decode(text)
            && let Ok(again) = command.encode()
        {
            assert_eq!(Command::decode(&again[..again.len() - 1]), Ok(command));
        }
        if let Ok(command) = JobCommand::decode(text)
            && let Ok(again) = command.encode()
        {
            assert_eq!(JobCommand::decode(&again[..again.len() - 1]), Ok(command));
        }
        rest = &rest[used..];
    }
    assert!(waiting(bytes) <= bytes.len() as u64 + 1);
    let file = ControlFile::decode(bytes);
    assert_eq!(ControlFile::decode(&file.encode()), file);
    let mut reader = Reader::default();
    bytes.chunks(7).for_each(|piece| reader.take(piece));
    let mut whole = Reader::default();
    whole.take(bytes);
    assert_eq!(reader.answers(), whole.answers());
    assert_eq!(reader.latest(), whole.latest());
    let mut query = StatusQuery::new("public", 0);
    let _ = query.take(bytes);
    let _ = query.take(bytes);
    assert!(query.request().len() < 512);
});
