//! The plain loop: what a program does that only writes, and one that only
//! reads. Both are of 1 MiB at a time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The port of the plain loop.
pub(crate) const PORT: u16 = 5_303;

const LENGTH: usize = 1 << 20;

/// Reads one connection to its end.
pub(crate) fn receive() -> Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", PORT))?;
    println!("listening");
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; LENGTH];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Writes to `ADDRESS` for `SECONDS`, and prints the rate in bits per second.
pub(crate) fn send(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let address = arguments.next().context("no address")?;
    let seconds: u64 = arguments.next().context("no time")?.parse()?;
    let mut stream = TcpStream::connect((address.as_str(), PORT))?;
    socket2::SockRef::from(&stream).set_tcp_congestion(b"cubic")?;
    let buffer = vec![0x5a; LENGTH];
    let (began, mut sent) = (Instant::now(), 0_u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        stream.write_all(&buffer)?;
        sent += LENGTH as u64;
    }
    println!("{}", sent as f64 * 8.0 / began.elapsed().as_secs_f64());
    Ok(())
}
