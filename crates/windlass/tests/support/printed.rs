//! A record as the program would print it.

use std::io::Write;
use std::sync::{Arc, Mutex};

use windlass_output::{Format, Output, Record};

/// Keeps what is written.
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

/// The record on a page of 80 columns without colour, or as JSON.
pub fn printed(record: &impl Record, format: Format) -> String {
    let sink = SharedBuffer::default();
    Output::new(Box::new(sink.clone()), format, 80, false).print(record).unwrap();
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}
