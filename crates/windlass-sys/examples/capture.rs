//! Counts the packets on an interface for a time, with the capture ring:
//!
//!     cargo run -p windlass-sys --example capture -- lo 5
//!
//! The example needs `CAP_NET_RAW`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(interface), seconds) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: capture INTERFACE [SECONDS]");
        return ExitCode::from(2);
    };
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(10);
    match count(&interface, Duration::from_secs(seconds)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: cannot capture on {interface}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count(interface: &str, time: Duration) -> Result<String, Box<dyn std::error::Error>> {
    use windlass_sys::capture::{Capture, CaptureEvent, Settings};

    // 96 bytes of each packet have its headers.
    let settings = Settings { snap_length: 96, ..Settings::default() };
    let mut capture = Capture::open(interface, &settings)?;
    let (began, mut packets, mut bytes, mut blocks) = (Instant::now(), 0_u64, 0_u64, 0_u64);
    let mut is_stopped = false;
    loop {
        if !is_stopped && began.elapsed() >= time {
            // No packet comes in from here on. The rest is still to be had.
            capture.stop()?;
            is_stopped = true;
        }
        match capture.next(Duration::from_millis(100))? {
            CaptureEvent::Batch(mut batch) => {
                blocks += 1;
                while let Some(packet) = batch.next() {
                    packets += 1;
                    bytes += u64::from(packet.original_length);
                }
            }
            CaptureEvent::Nothing if is_stopped => break,
            CaptureEvent::Nothing => {}
            CaptureEvent::Down => eprintln!("{interface} is down"),
            CaptureEvent::Gone => return Err("it is not there any more".into()),
        }
    }
    let counts = capture.statistics()?;
    assert_eq!(packets, counts.received - counts.dropped, "each is given or counted");
    Ok(format!(
        "{packets} packets of {bytes} bytes in {blocks} blocks; {} dropped for want of room",
        counts.dropped
    ))
}
