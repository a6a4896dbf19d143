//! Answers to datagrams of one size.
//!
//! A request and its answer begin with the same number, so a late answer is distinguished from the
//! one that is awaited.

use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Instant;

use windlass_sys::socket::{is_pause, receive_now};
use windlass_sys::wait::{ready, wake_on_time};

use super::echo::{IDLE, say_where};
use crate::busy_poll::BusyPoll;
use crate::error::Error;
use crate::udp::LONGEST;

/// Length of the number, in bytes, big-endian. In an answer the processor number follows, as in an
/// answer over a connection.
pub(crate) const NUMBER: usize = 8;

/// Checks that sizes are served.
pub(crate) fn check(request: u32, response: u32) -> Result<(), Error> {
    let least = u32::try_from(NUMBER).unwrap_or(u32::MAX);
    if [request, response].iter().all(|size| (least..=LONGEST).contains(size)) {
        return Ok(());
    }
    Err(Error::Asked(format!("requests and answers by UDP are {least} B to {LONGEST} B")))
}

/// Answers until the client closes its connection, asks nothing for [`IDLE`], or `stop` returns
/// true. The thread is awake when a request comes, see [`BusyPoll`].
pub(crate) fn serve(
    flow: &UdpSocket,
    control: &TcpStream,
    (request, response): (u32, u32),
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    check(request, response)?;
    let failed = Error::io("cannot answer requests");
    wake_on_time();
    let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    // One more byte shows a datagram that is too long.
    let (mut asked, mut answer) = (bytes(request + 1), bytes(response));
    let mut busy_poll = BusyPoll::default();
    let mut answered = Instant::now();
    let stop = || stop() || has_left(control);
    loop {
        let attempt = || match receive_now(flow, &mut asked) {
            // It is the first datagram of the flow, repeated, or of another sender.
            Ok(Some(length)) if length != request as usize => Ok(None),
            Ok(Some(_)) => Ok(Some(asked.first_chunk::<NUMBER>().copied().unwrap_or_default())),
            // An answer reached no socket, but the client may ask again.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        let sleep = |time| ready(&[flow.as_fd(), control.as_fd()], Some(time));
        let came = busy_poll.wait(answered, answered + IDLE, &stop, attempt, sleep);
        let Some((number, at)) = came.map_err(&failed)? else { return Ok(()) };
        busy_poll.took(at.saturating_duration_since(answered));
        if let Some(begin) = answer.first_chunk_mut::<NUMBER>() {
            *begin = number;
        }
        say_where(&mut answer[NUMBER..]);
        match flow.send(&answer) {
            // An answer that cannot be sent is lost, as on the path.
            Err(error)
                if is_pause(&error)
                    || error.kind() == io::ErrorKind::ConnectionRefused
                    || error.raw_os_error() == Some(libc::ENOBUFS) => {}
            done => drop(done.map_err(&failed)?),
        }
        answered = Instant::now();
    }
}

/// Returns whether the client has closed its connection, on which it sends nothing.
fn has_left(control: &TcpStream) -> bool {
    !matches!(receive_now(control, &mut [0]), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::super::echo::PLACE;
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn each_request_has_one_answer_of_its_number() {
        for (request, response) in [(64, 64), (8, 8), (8, 5_000), (5_000, 12), (LONGEST, LONGEST)] {
            let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let (near, far) = (bind(), bind());
            near.connect(far.local_addr().unwrap()).unwrap();
            far.connect(near.local_addr().unwrap()).unwrap();
            near.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let control = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (there, _) = listener.accept().unwrap();
            let serving =
                thread::spawn(move || serve(&far, &there, (request, response), &|| false));
            let mut answer = vec![7; response as usize + 1];
            for number in [1_u64, 2, u64::MAX] {
                let mut asked = vec![7; request as usize];
                asked[..NUMBER].copy_from_slice(&number.to_be_bytes());
                // A datagram of another size is no request.
                near.send(&[9; 5]).unwrap();
                near.send(&asked).unwrap();
                assert_eq!(near.recv(&mut answer).unwrap(), response as usize);
                assert_eq!(answer[..NUMBER], number.to_be_bytes());
            }
            if response as usize >= NUMBER + PLACE {
                assert_ne!(answer[NUMBER..NUMBER + PLACE], [0; PLACE]);
            }
            drop(control);
            serving.join().unwrap().unwrap();
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        for (request, response) in [(7, 8), (8, 7), (LONGEST + 1, 8), (8, u32::MAX)] {
            let error = check(request, response).unwrap_err();
            assert!(error.to_string().contains("8 B to 65507 B"), "{error}");
        }
    }
}
