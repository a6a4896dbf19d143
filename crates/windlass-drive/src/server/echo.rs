//! Answers to requests of one size.

use std::io::{self, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use windlass_sys::cpu;
use windlass_sys::socket::is_pause;
use windlass_sys::wait::wake_on_time;
use windlass_wire::iperf2;

use crate::busy_poll::BusyPoll;
use crate::by;
use crate::error::Error;

/// Largest request and answer, in bytes.
pub(crate) const LARGEST: u32 = 1 << 20;

/// Longest time in which a client may ask nothing, or accept no answer.
pub(crate) const IDLE: Duration = Duration::from_secs(60);

/// Length of the processor number at the start of an answer, in bytes. It is the number plus one,
/// big-endian. Zero says nothing, and shorter answers have no number.
pub(crate) const PLACE: usize = 4;

/// Checks that sizes are served.
pub(crate) fn check(request: u32, response: u32) -> Result<(), Error> {
    if [request, response].iter().all(|size| (1..=LARGEST).contains(size)) {
        return Ok(());
    }
    Err(Error::Asked(format!("requests and answers are 1 B to {LARGEST} B")))
}

/// Answers until the client closes, asks nothing for [`IDLE`], or `stop` returns true. Unless
/// `asleep`, the thread is awake when a request comes, see [`BusyPoll`].
pub(crate) fn serve(
    stream: &TcpStream,
    (request, response): (u32, u32),
    asleep: bool,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    answer_all(stream, (request, response), asleep, stop, |_, _, response| say_where(response))
}

/// Writes the processor number at the start of an answer, if the answer is long enough.
pub(super) fn say_where(answer: &mut [u8]) {
    if let Some(place) = answer.first_chunk_mut::<PLACE>() {
        let cpu = u32::try_from(cpu::current() + 1).ok();
        *place = cpu.unwrap_or(0).to_be_bytes();
    }
}

/// Longest time between two checks for a request to stop while an answer is delayed.
const HOLDING: Duration = Duration::from_millis(50);

/// Answers the requests of `iperf --bounceback`, each of `size` bytes, until the client closes,
/// asks nothing for [`IDLE`], or `stop` returns true. `moment` is the wall clock.
pub(crate) fn bounce(
    stream: &TcpStream,
    size: u32,
    moment: fn() -> iperf2::Moment,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    answer_all(stream, (size, size), false, stop, |asked, request, response| {
        let came = moment();
        let until = asked + Duration::from_micros(iperf2::bounce_hold(request).into());
        while Instant::now() < until && !stop() {
            thread::sleep(until.saturating_duration_since(Instant::now()).min(HOLDING));
        }
        response.copy_from_slice(request);
        iperf2::bounce(response, came, moment());
    })
}

/// Answers requests of one size with answers of another. `make` fills in an answer from the arrival
/// time of the request and its bytes.
fn answer_all(
    stream: &TcpStream,
    (request, response): (u32, u32),
    asleep: bool,
    stop: &dyn Fn() -> bool,
    mut make: impl FnMut(Instant, &[u8], &mut [u8]),
) -> Result<(), Error> {
    check(request, response)?;
    let failed = Error::io("cannot answer requests");
    stream.set_nodelay(true).map_err(&failed)?;
    stream.set_write_timeout(Some(IDLE)).map_err(&failed)?;
    wake_on_time();
    let bytes = |size: u32| vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    let (mut request, mut response) = (bytes(request), bytes(response));
    let mut busy_poll = if asleep { BusyPoll::never() } else { BusyPoll::default() };
    let mut answered = Instant::now();
    loop {
        let asked = busy_poll.fill(stream, &mut request, answered, answered + IDLE, stop);
        let asked = match asked {
            Err(error) if has_left(&error) => return Ok(()),
            done => done.map_err(&failed)?,
        };
        let Some(asked) = asked else { return Ok(()) };
        busy_poll.took(asked.saturating_duration_since(answered));
        make(asked, &request, &mut response);
        let is_taken = match answer(stream, &response, stop) {
            Err(error) if has_left(&error) => return Ok(()),
            done => done.map_err(&failed)?,
        };
        if !is_taken {
            let during = "its answer was to be taken";
            return if stop() { Ok(()) } else { Err(Error::Silent { during, after: IDLE }) };
        }
        answered = Instant::now();
    }
}

/// Writes an answer; returns false if the socket does not accept it in time. Usually the socket
/// accepts it at once, in one call.
fn answer(mut stream: &TcpStream, response: &[u8], stop: &dyn Fn() -> bool) -> io::Result<bool> {
    let until = Instant::now() + IDLE;
    let written = match stream.write(response) {
        Err(error) if is_pause(&error) => 0,
        done => done?,
    };
    if written == response.len() {
        return Ok(true);
    }
    let is_whole = by::write(stream, &response[written..], until, stop)?;
    stream.set_write_timeout(Some(IDLE))?;
    Ok(is_whole)
}

/// Returns whether the client ended the connection, as it may.
fn has_left(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, Shutdown, TcpListener};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        near.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn each_request_has_one_answer() {
        let sizes = [(64, 64), (1, 1), (1, 5_000), (5_000, 3), (LARGEST, LARGEST)];
        for ((request, response), asleep) in
            sizes.into_iter().flat_map(|sizes| [(sizes, false), (sizes, true)])
        {
            let (mut near, far) = pair();
            let serving =
                thread::spawn(move || serve(&far, (request, response), asleep, &|| false));
            let asked = vec![7; request as usize];
            let mut answer = vec![7; response as usize];
            for _ in 0..3 {
                // A request may come in pieces.
                let (first, rest) = asked.split_at(asked.len() / 2);
                near.write_all(first).unwrap();
                near.write_all(rest).unwrap();
                near.read_exact(&mut answer).unwrap();
            }
            if let Some(place) = answer.first_chunk::<PLACE>() {
                let cpus = 1..=u32::try_from(cpu::allowed().unwrap().last().unwrap() + 1).unwrap();
                assert!(cpus.contains(&u32::from_be_bytes(*place)), "{place:?}");
            }
            // Nothing comes without a request, and half a request is none.
            near.write_all(&asked[..asked.len() / 2]).unwrap();
            near.shutdown(Shutdown::Write).unwrap();
            assert_eq!(near.read(&mut answer).unwrap(), 0);
            serving.join().unwrap().unwrap();
        }
    }

    #[test]
    fn several_requests_may_wait() {
        let (mut near, far) = pair();
        let serving = thread::spawn(move || serve(&far, (10, 1_000), false, &|| false));
        near.write_all(&[0; 100]).unwrap();
        let mut answers = vec![0; 10_000];
        near.read_exact(&mut answers).unwrap();
        drop(near);
        serving.join().unwrap().unwrap();
    }

    #[test]
    fn a_client_that_takes_no_answer_ends_with_its_connection() {
        let (mut near, far) = pair();
        let serving = thread::spawn(move || serve(&far, (1, LARGEST), false, &|| false));
        near.write_all(&[0; 50]).unwrap();
        thread::sleep(Duration::from_millis(50));
        // Unread bytes turn this into a reset.
        drop(near);
        serving.join().unwrap().unwrap();
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let (_near, far) = pair();
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let told = std::sync::Arc::clone(&stop);
        let serving =
            thread::spawn(move || serve(&far, (64, 64), false, &|| told.load(Ordering::Relaxed)));
        thread::sleep(Duration::from_millis(20));
        assert!(!serving.is_finished());
        stop.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
    }

    #[test]
    fn other_sizes_are_refused() {
        for (request, response) in [(0, 1), (1, 0), (LARGEST + 1, 1), (1, u32::MAX)] {
            let (_near, far) = pair();
            let error = serve(&far, (request, response), false, &|| false).unwrap_err();
            assert!(error.to_string().contains("1 B to 1048576 B"), "{error}");
        }
    }
}
