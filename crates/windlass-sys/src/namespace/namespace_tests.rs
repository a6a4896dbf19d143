use super::*;
use crate::tun::Tun;
use crate::wait::ready;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;

/// A namespace, or the reason why there is none here.
fn namespace(test: &str) -> Option<Namespace> {
    Namespace::new().inspect_err(|refused| eprintln!("skipped: {test}: {refused}")).ok()
}

#[test]
fn a_namespace_has_lo_and_nothing_else() {
    let Some(namespace) = namespace("a_namespace_has_lo_and_nothing_else") else { return };
    let interfaces = namespace.read(c"/proc/net/dev").unwrap();
    let names: Vec<&str> = interfaces
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .collect();
    assert_eq!(names, ["lo"]);
    // It is up: it has its address.
    let addresses = namespace.read(c"/proc/net/fib_trie").unwrap();
    assert!(addresses.contains("127.0.0.1"), "{addresses}");
}

#[test]
fn commands_run_in_their_namespace() {
    let Some(namespace) = namespace("commands_run_in_their_namespace") else { return };
    let seen = |command: &mut Command| {
        let output = command.arg("/proc/self/ns/net").stdout(Stdio::piped()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut inside = Command::new("readlink");
    namespace.enter(&mut inside);
    let (inside, outside) = (seen(&mut inside), seen(&mut Command::new("readlink")));
    assert!(inside.starts_with("net:["), "{inside}");
    assert_ne!(inside, outside);
}

#[test]
fn packets_come_and_go_by_tun() {
    let test = "packets_come_and_go_by_tun";
    let Some(namespace) = namespace(test) else { return };
    let tun = match Tun::open_in(&namespace, "tun0") {
        Ok(tun) => tun,
        Err(refused) => return eprintln!("skipped: {test}: {refused}"),
    };
    namespace.set(c"/proc/sys/net/ipv6/conf/tun0/disable_ipv6", "1").unwrap();
    namespace.set_mtu("tun0", 1_280).unwrap();
    namespace.set_queue_length("tun0", 64).unwrap();
    namespace.add_address("tun0", [192, 0, 2, 1].into(), 24).unwrap();
    namespace.bring_up("tun0").unwrap();
    // Nothing is sent by itself.
    let mut packet = [0; 2_000];
    assert_eq!(tun.read(&mut packet).unwrap(), None);
    // A datagram to a neighbour goes out as it is: header, ports, payload.
    let mut command = Command::new("bash");
    namespace.enter(&mut command);
    let sent = command.args(["-c", "printf hello > /dev/udp/192.0.2.2/9"]).status().unwrap();
    assert!(sent.success());
    assert!(ready(&[tun.as_fd()], Some(Duration::from_secs(10))).unwrap());
    assert_eq!(tun.read(&mut packet).unwrap(), Some(20 + 8 + 5));
    assert_eq!((packet[0], packet[9]), (0x45, 17));
    assert_eq!(packet[12..20], [192, 0, 2, 1, 192, 0, 2, 2]);
    assert_eq!(packet[28..33], *b"hello");
    // What is written arrives, where it is one.
    tun.write(&packet[..33]).unwrap();
    assert!(tun.write(b"\0 no packet").is_err());
    let statistics = namespace.read(c"/proc/net/dev").unwrap();
    assert!(statistics.lines().any(|line| line.trim().starts_with("tun0:")), "{statistics}");
    assert!(Tun::open_in(&namespace, "tun0").is_err(), "the name is taken");
    assert!(Tun::open_in(&namespace, "a-name-that-is-too-long").is_err());
}

#[test]
fn a_refusal_names_its_step() {
    let Some(namespace) = namespace("a_refusal_names_its_step") else { return };
    let refused = namespace.set_mtu("tun7", 1_500).unwrap_err();
    assert_eq!(refused.step, Step::Interface);
    assert_eq!(refused.error.raw_os_error(), Some(libc::ENODEV));
    let refused = namespace.read(c"/no/such/file").unwrap_err();
    assert_eq!(refused.step, Step::Open);
    for step in Step::ALL {
        assert_eq!(Step::of(step as u32), step);
        assert!(step.to_string().starts_with("cannot "));
    }
}
