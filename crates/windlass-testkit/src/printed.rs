//! Text of a record, as the program prints the record.

use std::io::Write;
use std::sync::{Arc, Mutex};

use windlass_output::{Format, Output, Record};

/// Writer whose clones share the written bytes.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns a record as text of 80 columns without colour, or as JSON.
pub fn printed(record: &impl Record, format: Format) -> String {
    let sink = SharedBuffer::default();
    Output::new(Box::new(sink.clone()), format, 80, false).print(record).unwrap();
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}
