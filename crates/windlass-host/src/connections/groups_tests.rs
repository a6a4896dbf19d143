//! Looks and reports, one behind the other.

use std::time::Duration;

use proptest::prelude::*;
use windlass_sys::sock_diag::Id;

use super::*;

fn rules() -> Rules {
    let service = |name: &str, ports: &[u16]| Service { name: name.into(), ports: ports.to_vec() };
    let subnet =
        |name: &str, network: &str| Subnet { name: name.into(), network: network.parse().unwrap() };
    Rules {
        services: vec![service("print", &[9100, 631]), service("web", &[443, 631])],
        subnets: vec![
            subnet("all", "10.0.0.0/8"),
            subnet("office", "10.1.0.0/16"),
            subnet("six", "2001:db8::/32"),
        ],
    }
}

fn socket(cookie: u64, ends: (&str, &str), sent: u64, busy: u64, window: u64) -> Socket {
    let info = TcpInfo {
        acknowledged: sent + 1,
        sent,
        segments_sent: u32::try_from(sent / 1_000).unwrap(),
        retransmissions: u32::try_from(sent / 10_000).unwrap(),
        has_clocks: true,
        busy: Duration::from_millis(busy),
        receiver_limited: Duration::from_millis(window),
        rtt: Some(Duration::from_millis(3)),
        ..TcpInfo::default()
    };
    Socket {
        id: Id::default(),
        cookie,
        state: 1,
        local: ends.0.parse().unwrap(),
        peer: ends.1.parse().unwrap(),
        inode: None,
        user: 0,
        unread: 0,
        queued: 0,
        info: Some(info),
        congestion: None,
        buffers: None,
    }
}

const PRINTER: (&str, &str) = ("192.0.2.1:40000", "10.1.2.3:9100");

fn one(groups: &Groups) -> (String, String, Sums) {
    let mut used = groups.used();
    let (service, subnet, sums) = used.next().unwrap();
    assert!(used.next().is_none());
    (service.to_owned(), subnet.to_owned(), sums.clone())
}

#[test]
fn a_group_is_by_the_port_of_either_end_and_the_smallest_subnet() {
    let rules = rules();
    let names = |local: &str, peer: &str| {
        let (service, subnet) = rules.names(rules.group(&socket(1, (local, peer), 0, 0, 0)));
        format!("{service} {subnet}")
    };
    assert_eq!(names("192.0.2.1:40000", "10.1.2.3:9100"), "print office");
    assert_eq!(names("192.0.2.1:443", "10.2.2.3:50000"), "web all");
    assert_eq!(names("192.0.2.1:443", "10.1.2.3:9100"), "web office", "the own port is first");
    assert_eq!(names("192.0.2.1:1", "10.1.2.3:631"), "print office", "the first that has it");
    assert_eq!(names("[::1]:1", "[2001:db8::7]:2"), "other six");
    assert_eq!(names("[::1]:1", "[::ffff:10.1.0.1]:2"), "other office");
    assert_eq!(names("192.0.2.1:1", "192.0.2.2:2"), "other other");
}

#[test]
fn what_was_there_before_counts_from_the_first_look() {
    let mut groups = Groups::new(rules());
    groups.end(&socket(9, PRINTER, 500, 5, 5));
    groups.look(&[socket(1, PRINTER, 70_000, 900, 300)]);
    let (service, subnet, sums) = one(&groups);
    assert_eq!((service.as_str(), subnet.as_str()), ("print", "office"));
    assert_eq!(sums, Sums { open: 1, ..Sums::default() });
    groups.look(&[socket(1, PRINTER, 90_000, 1_000, 350)]);
    let (_, _, sums) = one(&groups);
    assert_eq!((sums.open, sums.opened, sums.closed), (1, 0, 0));
    assert_eq!((sums.sent, sums.segments, sums.retransmissions), (Bytes::new(20_000), 20, 2));
    let time = Span::from_millis;
    let limits = [time(50), Span::ZERO, Span::ZERO, time(50)];
    assert_eq!((sums.busy, sums.limits().map(|(_, time)| time)), (time(100), limits));
}

#[test]
fn one_that_nobody_looked_at_is_counted_by_its_last_word() {
    let mut groups = Groups::new(rules());
    groups.look(&[]);
    groups.end(&socket(7, PRINTER, 700, 5, 2));
    // A listening socket has no other end.
    groups.end(&socket(8, ("0.0.0.0:9100", "0.0.0.0:0"), 0, 0, 0));
    let (_, _, sums) = one(&groups);
    assert_eq!((sums.open, sums.opened, sums.closed), (0, 1, 1));
    assert_eq!((sums.sent, sums.busy), (Bytes::new(700), Span::from_millis(5)));
    let classes: Vec<u64> = sums.round_trips.up_to().map(|(_, count)| count).collect();
    assert_eq!(classes, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(sums.round_trips.sum, Span::from_millis(3));
}

#[test]
fn one_that_is_missed_once_is_still_there() {
    let mut groups = Groups::new(rules());
    groups.look(&[socket(1, PRINTER, 100, 1, 0)]);
    groups.look(&[]);
    assert_eq!(one(&groups).2.open, 1);
    groups.look(&[socket(1, PRINTER, 300, 1, 0)]);
    assert_eq!((one(&groups).2.opened, one(&groups).2.sent), (0, Bytes::new(200)));
    groups.look(&[]);
    groups.look(&[]);
    let (_, _, sums) = one(&groups);
    assert_eq!((sums.open, sums.closed), (0, 1));
    // The connection was reset, and its program closes the socket only now.
    groups.end(&socket(1, PRINTER, 400, 1, 0));
    let (_, _, sums) = one(&groups);
    assert_eq!((sums.open, sums.opened, sums.closed, sums.sent), (0, 0, 1, Bytes::new(300)));
    groups.miss(2);
    assert_eq!(groups.unheard(), 2);
}

#[test]
fn the_window_and_the_buffer_are_never_more_than_the_busy_time() {
    let mut sums = Sums::default();
    let now = Counters {
        busy: Span::from_millis(10),
        receiver_window: Span::from_millis(8),
        send_buffer: Span::from_millis(8),
        timeouts: Span::from_millis(8),
        ..Counters::default()
    };
    sums.add(&Counters::default(), &now);
    let limits = sums.limits();
    assert_eq!(limits.iter().map(|(_, time)| *time).sum::<Span>(), sums.busy);
    assert_eq!(limits[1].1, Span::from_millis(2));
}

#[derive(Clone, Debug)]
enum Step {
    Look(Vec<(u64, u64)>),
    End(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let one = || (0..6_u64, 0..100_000_u64);
    prop_oneof![
        proptest::collection::vec(one(), 0..6).prop_map(Step::Look),
        one().prop_map(|(cookie, sent)| Step::End(cookie, sent)),
    ]
}

proptest! {
    /// Whatever a kernel says, nothing goes backwards, and the open connections are the known ones.
    #[test]
    fn sums_only_grow(steps in proptest::collection::vec(step(), 0..40)) {
        let mut groups = Groups::new(rules());
        let mut before = Sums::default();
        for step in steps {
            match step {
                Step::Look(all) => {
                    let all: Vec<Socket> =
                        all.iter().map(|(cookie, sent)| socket(*cookie, PRINTER, *sent, *sent, 1)).collect();
                    groups.look(&all);
                }
                Step::End(cookie, sent) => groups.end(&socket(cookie, PRINTER, sent, sent, 1)),
            }
            let now = groups.used().next().map(|(_, _, sums)| sums.clone()).unwrap_or_default();
            let open = groups.known.values().filter(|known| !known.is_over).count();
            prop_assert_eq!(now.open, open as u64);
            prop_assert!(now.sent >= before.sent && now.busy >= before.busy);
            prop_assert!(now.opened >= before.opened && now.closed >= before.closed);
            before = now;
        }
    }
}
