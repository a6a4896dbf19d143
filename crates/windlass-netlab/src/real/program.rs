//! The sending program: the steps of the simulated one, by a socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddrV4};

use windlass_sim::Payload;
use windlass_sim::sender::SupplyStep;
use windlass_sys::tcp::Socket;

/// Size of a write, as in most programs.
const PIECE: usize = 65_536;

/// Returns the bytes that the steps write, and those that they read.
pub(super) fn whole<'a>(steps: impl IntoIterator<Item = &'a SupplyStep>) -> (u64, u64) {
    steps.into_iter().fold((0, 0), |(written, read), step| match step {
        SupplyStep::Line(line) => (written + u64::from(line.len()), read),
        SupplyStep::Data(bytes) => (written + bytes, read),
        SupplyStep::Answer(bytes) => (written, read + bytes),
    })
}

/// Connects, performs the steps, closes, and waits until the device has closed. Calls `written`
/// when only this wait is left.
pub(super) fn send(
    socket: &Socket,
    to: SocketAddrV4,
    steps: impl IntoIterator<Item = SupplyStep>,
    written: impl FnOnce(),
) -> io::Result<()> {
    socket.connect(to)?;
    let mut stream = socket.stream();
    for step in steps {
        match step {
            SupplyStep::Line(Payload::Bytes(line)) => stream.write_all(line.as_slice())?,
            SupplyStep::Line(Payload::Zeros(length)) => zeros(stream, length.into())?,
            SupplyStep::Data(bytes) => zeros(stream, bytes)?,
            SupplyStep::Answer(bytes) => answer(stream, bytes)?,
        }
    }
    stream.shutdown(Shutdown::Write)?;
    written();
    io::copy(&mut stream, &mut io::sink()).map(drop)
}

fn zeros(mut to: impl Write, bytes: u64) -> io::Result<()> {
    let zeros = [0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        to.write_all(&zeros[..piece])?;
        left -= piece as u64;
    }
    Ok(())
}

fn answer(mut from: impl Read, bytes: u64) -> io::Result<()> {
    for _ in 0..bytes {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        if byte != [0] {
            return Err(io::Error::other(format!("LPR refused with {}", byte[0])));
        }
    }
    Ok(())
}
