use super::*;
use crate::capture::SentPackets;
use crate::clock;
use crate::process::{Process, Signal};
use crate::tun::Tun;
use crate::wait::ready;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

/// Makes a namespace; `None` if that is not possible here.
fn namespace(test: &str) -> Option<Namespace> {
    Namespace::new().inspect_err(|refused| eprintln!("skipped: {test}: {refused}")).ok()
}

/// Makes a namespace with a TUN interface that carries IPv4 alone and is down.
fn with_tun(test: &str) -> Option<(Namespace, Tun)> {
    let namespace = namespace(test)?;
    let tun = Tun::open_in(&namespace, "tun0")
        .inspect_err(|refused| eprintln!("skipped: {test}: {refused}"))
        .ok()?;
    namespace.set(c"/proc/sys/net/ipv6/conf/tun0/disable_ipv6", "1").unwrap();
    namespace.set_mtu("tun0", 1_280).unwrap();
    Some((namespace, tun))
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
    // `lo` is up: it has its address.
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
    let Some((namespace, tun)) = with_tun(test) else { return };
    namespace.set_queue_length("tun0", 64).unwrap();
    namespace.add_address("tun0", [192, 0, 2, 1].into(), 24).unwrap();
    namespace.bring_up("tun0").unwrap();
    // The kernel sends nothing by itself.
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
    // A written packet arrives; other bytes are refused.
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
    assert_eq!(refused.step, NamespaceStep::Interface);
    assert_eq!(refused.error.raw_os_error(), Some(libc::ENODEV));
    let refused = namespace.read(c"/no/such/file").unwrap_err();
    assert_eq!(refused.step, NamespaceStep::Open);
    for step in NamespaceStep::ALL {
        assert_eq!(NamespaceStep::of(step as u32), step);
        assert!(step.to_string().starts_with("cannot "));
    }
}

/// Starts a shell in a namespace of its own.
fn shell(namespace: &Namespace, script: &str) -> Command {
    let mut command = Command::new("bash");
    namespace.enter(&mut command);
    command.args(["-c", script]);
    command
}

#[test]
fn a_command_ends_as_it_would_outside() {
    let Some(namespace) = namespace("a_command_ends_as_it_would_outside") else { return };
    let status = |script| shell(&namespace, script).status().unwrap();
    assert_eq!(status("exit 0").code(), Some(0));
    assert_eq!(status("exit 77").code(), Some(77));
    assert_eq!(status("kill -USR1 $$; sleep 60").signal(), Some(libc::SIGUSR1));
    let mut missing = Command::new("/no/such/program");
    namespace.enter(&mut missing);
    assert_eq!(missing.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
    // A signal to the known child reaches the command.
    let mut child =
        shell(&namespace, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let mut word = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    Process::of_child(child.id()).unwrap().signal(Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn nothing_outlives_a_command() {
    let Some(namespace) = namespace("nothing_outlives_a_command") else { return };
    // A process that left its session and its parent holds this pipe open.
    let daemon = "(setsid sleep 61 & ) ; sleep 0.1";
    let output = shell(&namespace, daemon).output().unwrap();
    assert!(output.status.success());
    let mut child = shell(&namespace, "(setsid sleep 62 &); echo ready; sleep 63")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut [0; 6]).unwrap();
    child.kill().unwrap();
    // The pipe ends only when all have closed it.
    pipe.read_to_end(&mut Vec::new()).unwrap();
    child.wait().unwrap();
}

/// Makes two namespaces with a wire between them: `left` and `right`, both up.
fn joined(test: &str, first: Namespace) -> Option<(Namespace, Namespace)> {
    let second = first.beside().unwrap();
    if let Err(refused) = first.add_veth("left", &second, "right") {
        eprintln!("skipped: {test}: {refused}");
        return None;
    }
    first.add_address("left", [192, 0, 2, 1].into(), 24).unwrap();
    second.add_address("right", [192, 0, 2, 2].into(), 24).unwrap();
    first.bring_up("left").unwrap();
    second.bring_up("right").unwrap();
    Some((first, second))
}

/// Returns whether a connection to the other end is refused: then packets passed in both
/// directions.
fn reaches_the_other(second: &Namespace) -> bool {
    let mut command = shell(second, "exec 3<>/dev/tcp/192.0.2.1/9");
    let output = command.env("LC_ALL", "C").stderr(Stdio::piped()).output().unwrap();
    String::from_utf8(output.stderr).unwrap().contains("refused")
}

#[test]
fn a_pair_of_interfaces_joins_two_namespaces() {
    let test = "a_pair_of_interfaces_joins_two_namespaces";
    let Some(first) = namespace(test) else { return };
    let Some((first, second)) = joined(test, first) else { return };
    assert!(reaches_the_other(&second));
    let taken = first.add_veth("left", &second, "other").unwrap_err();
    assert_eq!(taken.error.raw_os_error(), Some(libc::EEXIST));
    assert!(first.add_veth("", &second, "other").is_err(), "the kernel would choose a name");
    assert!(first.add_veth("a", &second, "a-name-that-is-too-long").is_err());
    // Removing one end removes the other.
    first.remove("left").unwrap();
    let gone = second.bring_up("right").unwrap_err();
    assert_eq!(gone.error.raw_os_error(), Some(libc::ENODEV));
    assert!(first.remove("left").is_err());
    assert!(first.remove("lo").is_err());
}

#[test]
fn a_pair_needs_the_rights_over_both_ends() {
    let test = "a_pair_needs_the_rights_over_both_ends";
    let own = || Namespace::make(Some(&Ids::own().unwrap()));
    let (first, second) = match (own(), own()) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(refused), _) | (_, Err(refused)) => return eprintln!("skipped: {test}: {refused}"),
    };
    assert!(first.is_unprivileged());
    // Both ends in one namespace.
    match first.add_veth("a", &first, "b") {
        Ok(()) => {}
        Err(refused) => return eprintln!("skipped: {test}: {refused}"),
    }
    first.bring_up("a").unwrap();
    first.bring_up("b").unwrap();
    let refused = first.add_veth("left", &second, "right").unwrap_err();
    assert_eq!(refused.error.raw_os_error(), Some(libc::EPERM));
    // A namespace beside the other shares its user namespace.
    let (first, second) = joined(test, first).unwrap();
    assert!(second.is_unprivileged());
    assert!(reaches_the_other(&second));
    first.set_offloads("left", false).unwrap();
    second.remove("right").unwrap();
}

#[test]
fn an_interface_goes_down_and_up() {
    let test = "an_interface_goes_down_and_up";
    let Some(first) = namespace(test) else { return };
    let Some((_first, second)) = joined(test, first) else { return };
    let routed = || second.read(c"/proc/net/route").unwrap().contains("right");
    assert!(routed());
    second.bring_down("right").unwrap();
    assert!(!routed(), "its routes are gone");
    second.bring_up("right").unwrap();
    assert!(reaches_the_other(&second), "its address is still there");
    assert!(second.bring_down("right7").is_err());
}

#[test]
fn a_vlan_has_an_interface_of_its_own() {
    let test = "a_vlan_has_an_interface_of_its_own";
    let Some(first) = namespace(test) else { return };
    let Some((first, _second)) = joined(test, first) else { return };
    if let Err(refused) = first.add_vlan("left", "left.7", 7) {
        return eprintln!("skipped: {test}: {refused}");
    }
    let vlan = first.read(c"/proc/net/vlan/left.7").unwrap();
    assert!(vlan.contains("VID: 7"), "{vlan}");
    assert!(first.add_vlan("left", "left.8", 4_096).is_err());
    assert!(first.add_vlan("left7", "left.8", 8).is_err());
}

#[test]
fn what_an_interface_sends_comes_with_its_time() {
    let test = "what_an_interface_sends_comes_with_its_time";
    let Some((namespace, tun)) = with_tun(test) else { return };
    namespace.add_address("tun0", [192, 0, 2, 1].into(), 24).unwrap();
    namespace.bring_up("tun0").unwrap();
    let mut sent = match SentPackets::of(&namespace, "tun0", 1_280) {
        Ok(sent) => sent,
        Err(refused) => return eprintln!("skipped: {test}: {refused}"),
    };
    assert!(sent.next().is_none());
    // 9,000 datagrams: more than there is room for, and nobody reads meanwhile.
    let before = clock::now();
    let mut command = Command::new("bash");
    namespace.enter(&mut command);
    let send = "exec 3>/dev/udp/192.0.2.2/9; for i in {1..9000}; do printf %04d $i >&3; done";
    assert!(command.args(["-c", send]).status().unwrap().success());
    let after = clock::now();
    assert!(ready(&[sent.as_fd()], Some(Duration::ZERO)).unwrap());
    let mut last = before;
    let mut count = 0_u64;
    while let Some(packet) = sent.next() {
        count += 1;
        assert!(last <= packet.time && packet.time <= after, "{packet:?}");
        last = packet.time;
        assert_eq!(packet.data.len(), 20 + 8 + 4);
        assert_eq!(packet.data[28..], *format!("{count:04}").as_bytes());
    }
    assert_eq!(count, 8_192);
    assert_eq!(sent.dropped().unwrap(), 9_000 - count);
    assert!(!ready(&[sent.as_fd()], Some(Duration::ZERO)).unwrap());
    // A packet that arrives was not sent.
    let mut packet = [0; 100];
    let length = tun.read(&mut packet).unwrap().unwrap();
    packet[12..16].copy_from_slice(&[192, 0, 2, 2]);
    packet[16..20].copy_from_slice(&[192, 0, 2, 1]);
    tun.write(&packet[..length]).unwrap();
    // The kernel answers that the port is closed, unless the packet is broken; either way nothing
    // else has come.
    while let Some(packet) = sent.next() {
        assert_eq!(packet.data[9], 1, "only ICMP is sent of the kernel's own: {packet:?}");
    }
}
