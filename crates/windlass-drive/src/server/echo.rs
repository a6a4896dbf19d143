//! Answers to requests of one size.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::error::Error;

/// The largest request and answer, in bytes.
const LARGEST: u32 = 1 << 20;

/// How long a client may ask nothing.
const IDLE: Duration = Duration::from_secs(60);

/// How long a read waits before it looks whether the server is to end.
const LOOK: Duration = Duration::from_millis(200);

/// Refuses sizes that are not served.
pub(super) fn check(request: u32, response: u32) -> Result<(), Error> {
    if [request, response].iter().all(|size| (1..=LARGEST).contains(size)) {
        return Ok(());
    }
    Err(Error::Asked(format!("requests and answers are 1 B to {LARGEST} B")))
}

/// Answers until the client closes.
pub(super) fn serve(
    mut stream: TcpStream,
    request: u32,
    response: u32,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let failed = Error::io("cannot answer requests");
    stream.set_nodelay(true).map_err(&failed)?;
    stream.set_read_timeout(Some(LOOK)).map_err(&failed)?;
    let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let (mut request, response) = (bytes(request), bytes(response));
    let (mut filled, mut heard) = (0, Instant::now());
    while !stop() && heard.elapsed() < IDLE {
        match stream.read(&mut request[filled..]) {
            Ok(0) => return Ok(()),
            Ok(more) => {
                filled += more;
                heard = Instant::now();
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => continue,
                io::ErrorKind::ConnectionReset => return Ok(()),
                _ => return Err(failed(error)),
            },
        }
        if filled == request.len() {
            filled = 0;
            match stream.write_all(&response) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                done => done.map_err(&failed)?,
            }
        }
    }
    Ok(())
}
