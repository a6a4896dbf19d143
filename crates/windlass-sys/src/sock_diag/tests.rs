//! Sockets of the loopback, and messages that no kernel wrote.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_base::Bytes;

use super::*;
use crate::netlink::HEADER;
use crate::wait::ready;

/// Opens a connection, and returns both ends.
fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    (near, far)
}

/// Returns all sockets, by their own addresses and their peers'.
fn all(sockets: &mut Sockets) -> BTreeMap<(SocketAddr, SocketAddr), Socket> {
    let mut all = BTreeMap::new();
    sockets.tcp(&mut |socket| _ = all.insert((socket.local, socket.peer), socket)).unwrap();
    all
}

#[test]
fn a_connection_is_told_with_what_it_carried() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (mut near, mut far) = connection(&listener);
    near.write_all(&[1; 5_000]).unwrap();
    let mut got = vec![0; 3_000];
    far.read_exact(&mut got).unwrap();
    far.write_all(b"!").unwrap();
    near.read_exact(&mut got[..1]).unwrap();
    let mut sockets = Sockets::open().unwrap();
    let told = all(&mut sockets);
    let ends = (near.local_addr().unwrap(), near.peer_addr().unwrap());
    let (sender, receiver) = (told[&ends], told[&(ends.1, ends.0)]);
    assert_eq!((sender.state, receiver.state), (1, 1), "established");
    assert_eq!(receiver.unread, 2_000);
    assert_ne!(sender.cookie, receiver.cookie);
    let (info, other) = (sender.info.unwrap(), receiver.info.unwrap());
    assert_eq!(info.sent, 5_000);
    assert!(info.acknowledged >= 5_000 && info.has_clocks, "{info:?}");
    assert_eq!((other.received, info.received), (5_000, 1));
    assert!(sender.congestion.is_some() && sender.buffers.is_some_and(|it| it.send > Bytes::ZERO));
    // /proc/self/fd knows both by their inodes.
    for (stream, socket) in [(&near, sender), (&far, receiver)] {
        let fd = std::os::fd::AsRawFd::as_raw_fd(stream);
        let link = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        assert_eq!(link.to_str().unwrap(), format!("socket:[{}]", socket.inode.unwrap()));
    }
    // A listening socket is no connection.
    assert!(!told.keys().any(|(_, peer)| peer.port() == 0), "{told:?}");
}

#[test]
fn ipv6_is_told_too() {
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return eprintln!("skipped: ipv6_is_told_too: there is no IPv6 here");
    };
    let (near, _far) = connection(&listener);
    let ends = (near.local_addr().unwrap(), near.peer_addr().unwrap());
    assert!(all(&mut Sockets::open().unwrap()).contains_key(&ends));
}

#[test]
fn some_are_asked_for_by_what_they_are_known_by() {
    let listeners =
        [TcpListener::bind((Ipv4Addr::LOCALHOST, 0)), TcpListener::bind((Ipv6Addr::LOCALHOST, 0))];
    let ends: Vec<_> =
        listeners.iter().flatten().flat_map(|it| [(); 50].map(|()| connection(it))).collect();
    let mut sockets = Sockets::open().unwrap();
    let known = all(&mut sockets);
    let of =
        |stream: &TcpStream| known[&(stream.local_addr().unwrap(), stream.peer_addr().unwrap())];
    let wanted: Vec<Socket> = ends.iter().flat_map(|(near, far)| [of(near), of(far)]).collect();
    assert!(wanted.len() > TOGETHER, "{}", wanted.len());
    let cookies = |some: &[Socket]| -> Vec<u64> { some.iter().map(|it| it.cookie).collect() };
    let mut told = Vec::new();
    sockets.these(&wanted, &mut |socket| told.push(socket)).unwrap();
    assert_eq!(cookies(&told), cookies(&wanted));
    // A closed connection is not reported, and the others are.
    let mut ends = ends.into_iter();
    let (near, far) = ends.next().unwrap();
    crate::socket::set_reset_on_close(&near, true).unwrap();
    drop((near, far));
    // The socket lives on while a process that another test forked still has it.
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        told.clear();
        sockets.these(&wanted[..6], &mut |socket| told.push(socket)).unwrap();
        if told.len() <= 4 {
            break;
        }
        assert!(Instant::now() < patience, "{told:?}");
        std::thread::yield_now();
    }
    assert_eq!(cookies(&told), cookies(&wanted[2..6]));
    // A request for all sockets works after it.
    assert!(all(&mut sockets).len() >= 2 * ends.len());
}

#[test]
fn families_are_asked_one_by_one_where_both_are_refused() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (near, _far) = connection(&listener);
    let ends = (near.local_addr().unwrap(), near.peer_addr().unwrap());
    let mut found = false;
    let mut sockets = Sockets::open().unwrap();
    sockets.by_family(&mut |socket| found |= (socket.local, socket.peer) == ends).unwrap();
    assert!(found);
}

#[test]
fn the_last_word_on_a_socket_has_all_that_it_carried() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut words = ClosedSockets::open().unwrap();
    let (mut near, mut far) = connection(&listener);
    let ends = (near.local_addr().unwrap(), near.peer_addr().unwrap());
    let cookie = all(&mut Sockets::open().unwrap())[&ends].cookie;
    near.write_all(&[1; 3_000]).unwrap();
    far.read_exact(&mut [0; 3_000]).unwrap();
    drop((near, far));
    let patience = Instant::now() + Duration::from_secs(30);
    let mut found = None;
    while found.is_none() {
        assert!(Instant::now() < patience, "nothing is heard of it");
        ready(&[words.as_fd()], Some(Duration::from_secs(1))).unwrap();
        words
            .read(&mut |socket| found = found.or((socket.cookie == cookie).then_some(socket)))
            .unwrap();
    }
    let last = found.unwrap();
    assert_eq!((last.local, last.peer), ends);
    assert_eq!(last.info.unwrap().sent, 3_000);
}

#[test]
fn what_there_was_no_room_for_is_counted() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut words = ClosedSockets::open().unwrap();
    // The kernel's smallest buffer: a few messages.
    set(&words, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &1)
        .or_else(|_| set(&words, libc::SOL_SOCKET, libc::SO_RCVBUF, &1))
        .unwrap();
    let dropped = || overflowed(&words.socket).unwrap();
    let (before, closed) = (dropped(), 40);
    for _ in 0..closed {
        // A reset closes both ends at once and leaves none in TIME_WAIT.
        let (near, far) = connection(&listener);
        crate::socket::set_reset_on_close(&near, true).unwrap();
        drop((near, far));
    }
    // The kernel tells when it comes to it (`sock_diag_broadcast_destroy` has a work queue).
    let patience = Instant::now() + Duration::from_secs(30);
    while dropped() == before {
        assert!(Instant::now() < patience, "there is room for all");
        std::thread::yield_now();
    }
    let mut all = ClosedSocketCounts::default();
    // Other tests' sockets may close meanwhile, too. Each dropped report is counted once.
    while all.messages + all.lost < closed
        || all.lost != overflowed(&words.socket).unwrap().wrapping_sub(before).into()
    {
        assert!(Instant::now() < patience, "{all:?}");
        let heard = words.read(&mut |_| {}).unwrap();
        all.messages += heard.messages;
        all.lost += heard.lost;
    }
    assert!(all.lost > 0, "{all:?}");
}

/// Makes a message of this type.
fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    Message::new(kind, 0, body).finish()
}

/// Returns the sockets reported for a part, and whether it was the end.
fn read(piece: &[u8]) -> (Vec<Socket>, io::Result<bool>) {
    let mut told = Vec::new();
    let ended = each(piece, &mut |socket| told.push(socket));
    (told, ended)
}

/// Makes the message of an IPv4 socket whose `TCP_INFO` has 248 bytes.
fn whole() -> Vec<u8> {
    let mut about = [0; 72];
    about[..2].copy_from_slice(&[libc::AF_INET as u8, 1]);
    about[4..8].copy_from_slice(&[0x23, 0x8c, 0x04, 0x00]);
    about[8..12].copy_from_slice(&[192, 0, 2, 1]);
    about[24..28].copy_from_slice(&[192, 0, 2, 2]);
    let numbers = [7_u32, 0, 0, 0, 0, 0, 0, 0, 0];
    let memory: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let message = Message::new(parse::BY_FAMILY, 0, &about)
        .with(parse::INFO, &[0; 248])
        .with(parse::MEMORY, &memory)
        .named(parse::CONGESTION, "cubic");
    message.finish()
}

#[test]
fn a_message_is_read_field_by_field() {
    let (told, ended) = read(&whole());
    let [socket] = told.as_slice() else { panic!("{told:?}") };
    assert!(!ended.unwrap());
    assert_eq!(socket.local, "192.0.2.1:9100".parse().unwrap());
    assert_eq!(socket.peer, "192.0.2.2:1024".parse().unwrap());
    assert_eq!(socket.congestion.unwrap().name(), "cubic");
    assert_eq!(socket.buffers.unwrap().received, Bytes::new(7));
    assert_eq!((socket.inode, socket.info.unwrap().own_window), (None, Some(0)));
}

#[test]
fn an_answer_ends_where_the_kernel_says_so() {
    let done = [whole(), message(3, &0_u32.to_ne_bytes()), whole()].concat();
    let (told, ended) = read(&done);
    assert_eq!((told.len(), ended.unwrap()), (1, true));
    let refused = (-libc::EPERM).to_ne_bytes();
    for kind in [2, 3] {
        let (_, ended) = read(&message(kind, &refused));
        assert_eq!(ended.unwrap_err().raw_os_error(), Some(libc::EPERM));
    }
    // An acknowledgment is an error of zero, and no end.
    assert!(!read(&message(2, &[0; 4])).1.unwrap());
}

#[test]
fn what_is_cut_short_is_passed_over() {
    let whole = whole();
    for length in 0..whole.len() {
        // The message claims more bytes than there are.
        assert_eq!(read(&whole[..length]).0, [], "{length}");
        // The message claims the bytes that it has: an attribute less, or none.
        let mut cut = whole[..length].to_vec();
        if let Some(said) = cut.first_chunk_mut() {
            *said = (length as u32).to_ne_bytes();
        }
        let told = read(&cut).0;
        assert_eq!(told.len(), usize::from(length >= HEADER + 72), "{length}");
        // Its last two bytes are padding.
        let named = told.iter().filter(|socket| socket.congestion.is_some()).count();
        assert_eq!(named, usize::from(length + 2 >= whole.len()), "{length}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_run_for_ever(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = [whole(), whole(), message(3, &[0; 4])].concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(length.index(bytes.len() + 1));
        let (told, _) = read(&bytes);
        prop_assert!(told.len() <= bytes.len() / (HEADER + 72));
    }

    #[test]
    fn what_is_no_message_at_all_does_not_either(bytes in vec(any::<u8>(), 0..300)) {
        let (told, _) = read(&bytes);
        prop_assert!(told.len() <= bytes.len() / (HEADER + 72));
    }
}
