//! ttcp by UDP, both ways. Its ends are made by hand, as its source has them: nobody packages
//! it any more.

use std::fs;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::peer::{WindlassServer, received, send, send_told};
use crate::whole;
use windlass_testkit::port::free_port;

/// A datagram of no more bytes is a mark (`UDPMINLEN`).
const MARK: usize = 4;

/// Acts as `ttcp -r -u`: a short datagram begins the count, and the next one ends it.
fn ttcp_receiver() -> (u16, thread::JoinHandle<(u64, u64)>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    // A test that fails does not wait for ever.
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let receiving = thread::spawn(move || {
        let (mut going, mut bytes, mut datagrams) = (false, 0, 0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = received(&socket, &mut buffer);
            match (length <= MARK, going) {
                (true, true) => return (bytes, datagrams),
                (true, false) => going = true,
                (false, _) => {
                    assert!(buffer[..length].iter().all(|byte| (b' '..=b'~').contains(byte)));
                    (bytes, datagrams) = (bytes + length as u64, datagrams + 1);
                }
            }
        }
    });
    (port, receiving)
}

/// Acts as `ttcp -t -u`, without lost end marks.
fn ttcp_sender(port: u16, datagrams: &[Vec<u8>], marks: usize) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.send(&[b' '; MARK]).unwrap();
    for datagram in datagrams {
        socket.send(datagram).unwrap();
    }
    for _ in 0..marks {
        socket.send(&[b' '; MARK]).unwrap();
    }
    socket
}

/// Few enough for the buffer of a socket whose reader is kept away.
fn pattern() -> Vec<Vec<u8>> {
    let letters = (b' '..=b'~').cycle();
    (0..40).map(|length| letters.clone().take(1_000 - length).collect()).collect()
}

#[test]
fn a_receiver_of_ttcp_counts_what_is_sent() {
    let (port, receiving) = ttcp_receiver();
    let report = send(port, "--protocol ttcp --udp --bytes 40x1000 --send-buffer 100k");
    let sender = &report["directions"][0]["sender"];
    assert_eq!(receiving.join().unwrap(), (40_000, 40));
    assert_eq!((whole(sender, "/bytes"), whole(sender, "/datagrams/count")), (40_000, 40));
    assert_eq!(report["transfer"]["udp"], true);
    // It tells nothing, and nothing is made up.
    for nothing in ["receiver", "kernel", "verdict"] {
        assert_eq!(report["directions"][0][nothing], Value::Null, "{report:#}");
    }
    // The last datagram has what is left.
    let (port, receiving) = ttcp_receiver();
    send(port, "--protocol ttcp --udp --bytes 2500 --length 1000 --pace 1MB/s");
    assert_eq!(receiving.join().unwrap(), (2_500, 3));
}

#[test]
fn a_sender_of_ttcp_is_served() {
    let serving = WindlassServer::start(&["--touch"]);
    for _ in 0..2 {
        let _sender = ttcp_sender(serving.plain, &pattern(), 4);
        let ends = serving.ends();
        assert_eq!((&ends["protocol"], &ends["failure"]), (&"ttcp".into(), &Value::Null));
        let counted = &ends["server"]["directions"][0];
        assert_eq!(whole(counted, "/datagrams/count"), 40);
        assert_eq!(whole(counted, "/bytes"), (961..=1_000).sum::<u64>());
    }
}

#[test]
fn a_sender_whose_end_was_lost_is_told_of() {
    let serving = WindlassServer::start(&[]);
    let _sender = ttcp_sender(serving.plain, &pattern()[..3], 0);
    while serving.says()["event"] != "begins" {}
    serving.interrupt();
    let ends = serving.ends();
    assert_eq!(ends["failure"], "the server was stopped");
}

#[test]
fn what_datagrams_carry_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let [job, kept] = ["job.prn", "kept.prn"].map(|name| folder.path().join(name));
    let data: Vec<u8> = (0..30_000_u32).map(|number| (number % 251) as u8).collect();
    fs::write(&job, &data).unwrap();
    let serving =
        WindlassServer::start(&["--once", "--output", kept.to_str().unwrap(), "--blocks", "512"]);
    let line = format!("--protocol ttcp --udp --length 1000 --file {}", job.to_str().unwrap());
    let report = send(serving.plain, &line);
    assert_eq!(whole(&report, "/directions/0/sender/datagrams/count"), 30);
    assert_eq!(whole(&serving.ends(), "/server/directions/0/bytes"), 30_000);
    assert!(fs::read(&kept).unwrap() == data);
}

#[test]
fn a_port_that_takes_no_datagrams_is_an_error() {
    let (_, stderr, code) = send_told(free_port(), "--protocol ttcp --udp");
    assert_eq!(code, 1);
    assert!(stderr.contains("Start ttcp -r"), "{stderr}");
}
