use super::*;
use crate::process::{Process, Signal};
use crate::tun::Tun;
use crate::wait::ready;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
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
    // A signal to the child that is known reaches the command.
    let mut child =
        shell(&namespace, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let mut word = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    Process::of_child(child.id()).unwrap().signal(Signal::Terminate);
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
fn nothing_outlives_a_command() {
    let Some(namespace) = namespace("nothing_outlives_a_command") else { return };
    // What left its session and its parent holds this pipe open.
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
    // It ends only when all have closed it.
    pipe.read_to_end(&mut Vec::new()).unwrap();
    child.wait().unwrap();
}
