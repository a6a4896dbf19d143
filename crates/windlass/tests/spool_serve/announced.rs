//! Printers that are found by themselves: a browser in one namespace, and the spool in
//! another, with a wire between them.

use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use mdns_sd::{ServiceDaemon, ServiceEvent};
use socket2::{Domain, Socket, Type};
use windlass_sys::namespace::Namespace;

use super::server::{Spool, words};
use super::support::{skipped, windlass};

const SERVER: [u8; 4] = [198, 51, 100, 1];
const CLIENT: [u8; 4] = [198, 51, 100, 2];

/// Asks for printers until one of a name is there, and says what is known of it. It is
/// run by the test behind it, in a namespace.
#[test]
#[ignore = "a part of printers_are_found_by_themselves"]
fn browses() {
    let daemon = ServiceDaemon::new().unwrap();
    let found = daemon.browse("_ipp._tcp.local.").unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let service = loop {
        assert!(Instant::now() < end, "no printer is there");
        if let Ok(ServiceEvent::ServiceResolved(service)) =
            found.recv_timeout(Duration::from_secs(1))
            && service.get_fullname().starts_with("office @ ")
            // What is known first may be its address of IPv6 alone.
            && !service.get_addresses_v4().is_empty()
        {
            break service;
        }
    };
    println!("found {} {}", service.get_fullname(), service.get_port());
    for address in service.get_addresses() {
        println!("address {address}");
    }
    for property in service.get_properties().iter() {
        println!("txt {}={}", property.key(), property.val_str());
    }
    // The library's own browser passes over subtypes in additional records, which
    // Apple's and Avahi's take: so these are asked for by hand.
    for subtype in ["_universal", "_print"] {
        assert!(answers(subtype), "{subtype} is not there");
        println!("subtype {subtype}");
    }
}

/// Whether there is a printer of a subtype: a question from a port of one's own is
/// answered to that (RFC 6762, section 6.7).
fn answers(subtype: &str) -> bool {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    socket.set_multicast_if_v4(&CLIENT.into()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket.bind(&SocketAddr::from((CLIENT, 0)).into()).unwrap();
    let socket = UdpSocket::from(socket);
    let mut question = vec![0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in [subtype, "_sub", "_ipp", "_tcp", "local"] {
        question.push(u8::try_from(label.len()).unwrap());
        question.extend_from_slice(label.as_bytes());
    }
    // PTR, of the Internet.
    question.extend_from_slice(&[0, 0, 12, 0, 1]);
    let end = Instant::now() + Duration::from_secs(30);
    let mut answer = [0; 9_000];
    while Instant::now() < end {
        socket.send_to(&question, "224.0.0.251:5353").unwrap();
        let Ok(got) = socket.recv(&mut answer) else { continue };
        let has = |part: &str| answer[..got].windows(part.len()).any(|at| at == part.as_bytes());
        if has("office @ ") {
            return true;
        }
    }
    false
}

#[test]
fn printers_are_found_by_themselves() {
    let test = "printers_are_found_by_themselves";
    let made = Namespace::new().and_then(|server| Ok((server.beside()?, server)));
    let (client, server) = match made {
        Ok(made) => made,
        Err(error) => return skipped(test, &error.to_string()),
    };
    server.add_veth("printers", &client, "client").unwrap();
    for (namespace, interface, address) in
        [(&server, "printers", SERVER), (&client, "client", CLIENT)]
    {
        namespace.add_address(interface, address.into(), 24).unwrap();
        namespace.bring_up(interface).unwrap();
        namespace.bring_up("lo").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass();
    server.enter(&mut command);
    let more = [
        "--printer",
        "office=drop",
        "--printer",
        "lab=drop",
        "--announce",
        "--listen",
        "0.0.0.0:8631",
        "--allow",
        "198.51.100.0/24",
    ];
    command.args(words(folder.path(), &more));
    let spool = Spool::of(command).unwrap_or_else(|ended| panic!("it ends: {}", ended.stderr));
    let mut browser = Command::new(std::env::current_exe().unwrap());
    client.enter(&mut browser);
    browser.args(["--exact", "announced::browses", "--ignored", "--nocapture"]);
    let browsed = browser.output().unwrap();
    let told = String::from_utf8_lossy(&browsed.stdout).into_owned();
    assert!(browsed.status.success(), "{told}");
    for part in [
        "address 198.51.100.1",
        "txt txtvers=1",
        "txt rp=printers/office",
        "txt pdl=application/octet-stream,application/pdf",
        "txt URF=V1.4",
        "txt Copies=T",
        "subtype _universal",
        "subtype _print",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // Clients know a printer by its UUID.
    let uuid = told.lines().find_map(|line| line.strip_prefix("txt UUID=")).unwrap();
    assert_eq!(uuid.len(), 36, "{told}");
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn what_only_this_host_can_reach_is_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass();
    command.args(words(folder.path(), &["--printer", "a=drop", "--announce"]));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("of this host alone") && said.contains("--listen 0.0.0.0"), "{said}");
}
