//! Printers that are found by themselves: a browser in one namespace, and the spool in
//! another, with a wire between them.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use mdns_sd::{ServiceDaemon, ServiceEvent};
use socket2::{Domain, Socket, Type};
use windlass_sys::namespace::Namespace;

use super::server::{PATIENCE, Spool, wait_for, words};
use windlass_testkit::bus::Bus;
use windlass_testkit::cups::config::Config;
use windlass_testkit::{has, is_root, skipped, windlass};

const SERVER: [u8; 4] = [198, 51, 100, 1];
const CLIENT: [u8; 4] = [198, 51, 100, 2];

/// Asks for printers until one of a name is there, and says what is known of it. It is
/// run by the test behind it, in a namespace.
#[test]
#[ignore = "a part of printers_are_found_by_themselves"]
fn browses() {
    let daemon = ServiceDaemon::new().unwrap();
    let found = daemon.browse("_ipp._tcp.local.").unwrap();
    let end = Instant::now() + PATIENCE;
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

/// Returns whether there is a printer of a subtype: a question from another port is answered to
/// that port (RFC 6762, section 6.7).
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
    let end = Instant::now() + PATIENCE;
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

/// A server and a client, with a wire between them, and the interface of each.
fn two_hosts(test: &str) -> Option<(Namespace, Namespace)> {
    let made = Namespace::new().and_then(|server| Ok((server.beside()?, server)));
    let (client, server) = match made {
        Ok(made) => made,
        Err(error) => {
            skipped(test, &error.to_string());
            return None;
        }
    };
    server.add_veth("printers", &client, "client").unwrap();
    for (namespace, interface, address) in
        [(&server, "printers", SERVER), (&client, "client", CLIENT)]
    {
        namespace.add_address(interface, address.into(), 24).unwrap();
        namespace.bring_up(interface).unwrap();
        namespace.bring_up("lo").unwrap();
    }
    Some((server, client))
}

/// A spool on the server that announces its printers.
fn announcing(server: &Namespace, folder: &Path, more: &[&str]) -> Spool {
    let mut command = windlass();
    server.enter(&mut command);
    let all = ["--announce", "--listen", "0.0.0.0:8631", "--allow", "198.51.100.0/24"];
    command.args(words(folder, &[&all[..], more].concat()));
    Spool::of(command).unwrap_or_else(|ended| panic!("it ends: {}", ended.stderr))
}

#[test]
fn printers_are_found_by_themselves() {
    let Some((server, client)) = two_hosts("printers_are_found_by_themselves") else { return };
    let folder = tempfile::tempdir().unwrap();
    let printers = ["--printer", "office=drop", "--printer", "lab=drop"];
    let spool = announcing(&server, folder.path(), &printers);
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

/// A host of Debian finds a printer, has a queue for it without anybody's doing, and prints:
/// a text becomes a PDF there, as the printer says that it takes them, and goes by TLS.
#[test]
fn debians_clients_find_printers_and_print() {
    let test = "debians_clients_find_printers_and_print";
    let tools = ["ippfind", "cupsd", "cups-browsed", "lp", "lpstat"];
    if !tools.iter().all(|tool| has(tool, test)) || !is_root() {
        return;
    }
    let Some((server, client)) = two_hosts(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    // cupsd becomes another user.
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    let Some(mut bus) = Bus::start(test, root, "client", |command| client.enter(command)) else {
        return;
    };
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (at("certificate.pem"), at("key.pem"));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = format!("{}.local", host.trim().split('.').next().unwrap());
    let made = ["spool", "certificate", "--name", &host, "--certificate", &certificate];
    let made = windlass().args(made).args(["--key", &key]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let out = root.join("out");
    fs::create_dir(&out).unwrap();
    let printer = format!("office=file:{}", out.display());
    let more = ["--printer", &printer, "--certificate", &certificate, "--key", &key];
    let spool = announcing(&server, &root.join("windlass"), &more);
    let on_client = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address);
        client.enter(&mut command);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    // Each of the subtypes, in the open and by TLS.
    for (kind, scheme) in [
        ("_ipp._tcp", "ipp"),
        ("_ipp._tcp,_universal", "ipp"),
        ("_ipp._tcp,_print", "ipp"),
        ("_ipps._tcp,_universal", "ipps"),
        ("_ipps._tcp,_print", "ipps"),
    ] {
        let uri = format!("{scheme}://{host}:8631/printers/office");
        wait_for(&uri, || on_client("ippfind", &[kind, "-T", "2"]).lines().any(|one| one == uri));
    }
    // A cupsd without a queue, and what makes them. Both have to find the host by its name.
    let (cups, kept) = (root.join("cups"), root.join("kept"));
    let socket = at("cups.sock");
    let more = format!(
        "Listen {socket}
LogLevel debug
"
    );
    let files = format!(
        "SetEnv DBUS_SYSTEM_BUS_ADDRESS {}
",
        bus.address
    );
    let config = Config { root: &cups, spool: &kept, port: 6631, files: &files, more: &more };
    config.make("").unwrap();
    fs::set_permissions(root.join("bus.sock"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(
        at("hosts"),
        format!(
            "127.0.0.1 localhost
198.51.100.1 {host}
"
        ),
    )
    .unwrap();
    fs::write(
        at("browsed.conf"),
        format!(
            "LogDir {root}
CacheDir {root}
DebugLogging file
DomainSocket {socket}
             BrowseRemoteProtocols dnssd
BrowseLocalProtocols none
CreateIPPPrinterQueues All
",
            root = root.display()
        ),
    )
    .unwrap();
    // They keep the certificates that they saw, root's in a place for the whole host.
    let knowing = format!(
        "mount --bind {} /etc/hosts && mount -t tmpfs windlass-test /etc/cups/ssl && exec \"$@\"",
        at("hosts")
    );
    let knowing = ["-m", "sh", "-c", &knowing, "sh"];
    let server_conf = ["-c", &at("cups/etc/cupsd.conf"), "-s", &at("cups/etc/cups-files.conf")];
    let enter = |command: &mut Command| {
        command.env("CUPS_SERVER", &socket);
        client.enter(command);
    };
    let cupsd = [&knowing[..], &["cupsd", "-f"], &server_conf[..]].concat();
    bus.run(root, "unshare", &cupsd, enter);
    wait_for("cupsd", || root.join("cups.sock").exists());
    let settings = at("browsed.conf");
    let browsed = [&knowing[..], &["cups-browsed", "-c", &settings]].concat();
    bus.run(root, "unshare", &browsed, enter);
    let on_cups = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(["-h", "127.0.0.1:6631"]).args(args);
        client.enter(&mut command);
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let mut queue = String::new();
    wait_for("a queue of cups-browsed's", || {
        let devices = on_cups("lpstat", &["-v"]);
        let of_office = devices.lines().find(|line| line.starts_with("device for office"));
        let name = of_office.and_then(|line| line.strip_prefix("device for ")?.split(':').next());
        queue = name.unwrap_or_default().to_owned();
        !queue.is_empty()
    });
    fs::write(
        at("text"),
        "some words
",
    )
    .unwrap();
    // A queue is there before it takes jobs.
    let mut said = String::new();
    wait_for("a queue that takes a job", || {
        said = on_cups("lp", &["-d", &queue, &at("text")]);
        !said.is_empty()
    });
    assert!(said.contains(&format!("request id is {queue}-1")), "{said}");
    wait_for("the printed text", || out.join("office-00000001").exists());
    let printed = fs::read(out.join("office-00000001")).unwrap();
    assert!(printed.starts_with(b"%PDF-"), "{}", String::from_utf8_lossy(&printed));
    drop(bus);
    assert_eq!(spool.stop().count("completed"), 1);
}

#[test]
fn what_only_this_host_can_reach_is_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass();
    command.args(words(folder.path(), &["--printer", "a=drop", "--announce"]));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("of this host only") && said.contains("--listen 0.0.0.0"), "{said}");
}
