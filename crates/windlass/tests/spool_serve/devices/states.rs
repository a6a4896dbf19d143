//! States that raw and LPD printers report during a job: by their SNMP agent, and by PJL on the
//! data connection.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use windlass_wire::ipp::{GroupTag, Operation};

use super::super::client::{about, ask, get, print, state};
use super::super::page::browsed;
use super::super::server::{PATIENCE, Spool, wait_for};
use super::super::{content, some_bytes};
use super::emulated::{Deed, Device, Gate, Kind, SOME};
use super::{SIZE, why};
use windlass_testkit::{has, skipped, told, windlass};

/// `hrPrinterDetectedErrorState` and `prtAlertCode`.
const ERROR_STATE: &[u8] = &[0x2b, 6, 1, 2, 1, 25, 3, 5, 1, 2];
const ALERT_CODE: &[u8] = &[0x2b, 6, 1, 2, 1, 43, 18, 1, 1, 7];

/// The state of a printer, as its agent has it.
#[derive(Clone, Debug, Default)]
struct PrinterState {
    errors: Vec<u8>,
    alerts: Vec<u16>,
    /// True if the agent answers with other octets than an answer has.
    is_hostile: bool,
    /// True if it does not answer.
    is_silent: bool,
}

/// An SNMP agent of version 1 that knows these two tables.
#[derive(Clone)]
struct Agent {
    port: u16,
    state: Arc<Mutex<PrinterState>>,
    /// The communities of requests.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    fn at(address: &str, state: PrinterState) -> std::io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let port = socket.local_addr()?.port();
        let agent = Self { port, state: Arc::new(Mutex::new(state)), asked: Arc::default() };
        let serving = agent.clone();
        thread::spawn(move || {
            let mut request = [0; 1_500];
            while let Ok((got, from)) = socket.recv_from(&mut request) {
                for answer in serving.answers(&request[..got]) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Ok(agent)
    }

    fn new(errors: &[u8], alerts: &[u16]) -> Self {
        let state =
            PrinterState { errors: errors.to_vec(), alerts: alerts.to_vec(), ..<_>::default() };
        Self::at("127.0.0.1:0", state).unwrap()
    }

    fn says(&self, errors: &[u8], alerts: &[u16]) {
        let mut state = self.state.lock().unwrap();
        (state.errors, state.alerts) = (errors.to_vec(), alerts.to_vec());
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the answers to a `GetNext` request, whose lengths are all below 128.
    fn answers(&self, request: &[u8]) -> Vec<Vec<u8>> {
        let (community, rest) = value(&request[5..]);
        let (pdu, _) = value(rest);
        let (id, rest) = value(pdu);
        let (_error, rest) = value(rest);
        let (_index, rest) = value(rest);
        let (bindings, _) = value(rest);
        let (binding, _) = value(bindings);
        let (after, _) = value(binding);
        self.asked.lock().unwrap().push(String::from_utf8(community.to_vec()).unwrap());
        let state = self.state.lock().unwrap().clone();
        if state.is_silent {
            return Vec::new();
        }
        if state.is_hostile {
            return vec![vec![0x30; 1_400], request.to_vec(), vec![0xff], vec![0x30, 0x84, 0xff]];
        }
        // Row by row, as GetNext goes.
        let errors = ([ERROR_STATE, &[1]].concat(), tagged(4, &state.errors));
        let alerts = state.alerts.iter().zip(1..).map(|(code, row): (_, u8)| {
            ([ALERT_CODE, &[1, row]].concat(), tagged(2, &code.to_be_bytes()))
        });
        let behind = ([0x2b, 6, 1, 4, 1, 11].to_vec(), tagged(2, &[1]));
        let objects = [errors].into_iter().chain(alerts).chain([behind]);
        let (name, said) = objects.into_iter().find(|(name, _)| &name[..] > after).unwrap();
        let binding = tagged(0x30, &[tagged(6, &name), said].concat());
        let zero = tagged(2, &[0]);
        let parts = [tagged(2, id), zero.clone(), zero.clone(), tagged(0x30, &binding)];
        let pdu = tagged(0xa2, &parts.concat());
        vec![tagged(0x30, &[zero, tagged(4, community), pdu].concat())]
    }
}

/// The value of a short element of BER, and what stands behind it.
fn value(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes[2..].split_at(usize::from(bytes[1]))
}

fn tagged(tag: u8, value: &[u8]) -> Vec<u8> {
    [&[tag, u8::try_from(value.len()).unwrap()], value].concat()
}

/// A server with printers of a settings file, each with its device and more settings.
fn serve(printers: &[(&str, &str, &str)]) -> (tempfile::TempDir, Spool) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("spool.toml");
    let text = printers.iter().map(|(name, device, more)| {
        format!("[[printer]]\nname = \"{name}\"\ndevice = \"{device}\"\n{more}\n")
    });
    fs::write(&config, text.collect::<String>()).unwrap();
    let more = ["--config", config.to_str().unwrap()];
    let spool = Spool::start(&folder.path().join("spool"), &more);
    (folder, spool)
}

/// The `printer-state-reasons` that come of the device.
fn reasons(spool: &Spool, printer: &str) -> Vec<String> {
    let asked = about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, printer);
    let said = ask(spool.ipp, &asked, b"");
    let group = said.group(GroupTag::PRINTER).unwrap();
    let all = group.attribute("printer-state-reasons").unwrap().values.iter();
    let texts = all.filter_map(|one| Some(one.text()?.into_owned()));
    texts.filter(|one| !["none", "timed-out-warning"].contains(&&**one)).collect()
}

fn wait_for_reasons(spool: &Spool, printer: &str, expected: &[&str]) {
    wait_for(&format!("{printer}: {expected:?}"), || reasons(spool, printer) == expected);
}

fn printers(spool: &Spool) -> String {
    let server = format!("127.0.0.1:{}", spool.ipp);
    let output = windlass().args(["spool", "printers", "--server", &server]).output().unwrap();
    told(&output).0
}

/// Asserts that everything that tells the state of a printer has its reasons.
fn assert_told_everywhere(test: &str, spool: &Spool, printer: &str, expected: &[&str]) {
    wait_for_reasons(spool, printer, expected);
    // A stall is told a second after the data stopped.
    wait_for("its stall", || {
        why(spool, printer)["printer_message"].as_str().unwrap().contains("has taken no data")
    });
    let says = format!("it reports: {}", expected.join(", "));
    let message = why(spool, printer)["printer_message"].as_str().unwrap().to_owned();
    assert!(message.ends_with(&says), "{message}");
    let listed = printers(spool);
    let page = browsed(spool.ipp, "/").body;
    for reason in expected {
        let name =
            format!("windlass_spool_device_reason{{printer=\"{printer}\",reason=\"{reason}\"}}");
        assert_eq!(spool.metric(&name), 1);
        assert!(listed.contains(reason), "{listed}");
        assert!(page.contains(reason), "{page}");
    }
    if has("lpstat", test) {
        let server = format!("127.0.0.1:{}", spool.ipp);
        let listed = content("lpstat", &["-h", &server, "-p", printer]);
        assert!(listed.contains(&says), "{listed}");
    }
}

#[test]
fn the_state_of_a_printer_is_told_by_its_snmp_agent() {
    let test = "the_state_of_a_printer_is_told_by_its_snmp_agent";
    // No paper, and service is wanted; an alert tells of the toner.
    let agent = Agent::new(&[0x41], &[808, 1_104]);
    let status = format!("status = \"snmp:floor2@{}\"", agent.port);
    let devices = [Kind::Raw, Kind::Lpd].map(|kind| Device::new(kind, &[Deed::Stalls], SIZE, None));
    let (raw, lpd) = (devices[0].uri(), devices[1].uri());
    let (_folder, spool) = serve(&[("raw", &raw, &status), ("lpd", &lpd, &status)]);
    let names = ["raw", "lpd"];
    let ids = names.map(|name| print(spool.ipp, name, "one", &some_bytes(1, SIZE)));
    for name in names {
        assert_told_everywhere(test, &spool, name, &["media-empty", "toner-low"]);
    }
    assert!(agent.asked().iter().all(|community| community == "floor2"));
    // Somebody brings paper, and opens a cover.
    agent.says(&[0], &[3, 1_104]);
    for name in names {
        wait_for_reasons(&spool, name, &["cover-open", "toner-low"]);
    }
    for ((name, id), device) in names.iter().zip(ids).zip(&devices) {
        device.gate.open();
        wait_for("its end", || state(spool.ipp, name, id) == Some("completed"));
        assert!(reasons(&spool, name).is_empty());
        assert_eq!(device.came(), (1, 0));
    }
    let (_, metrics) = get(spool.ipp, "/metrics");
    assert!(!metrics.contains("windlass_spool_device_reason{"), "{metrics}");
    assert_eq!(spool.stop().code, Some(0));
}

/// At the port of the real world, where a test may have it.
#[test]
fn no_agent_is_asked_unless_the_settings_say_so() {
    let agent = Agent::at("127.0.0.1:161", PrinterState::default());
    let Ok(agent) = agent else {
        let why = "port 161 is not to be had";
        return skipped("no_agent_is_asked_unless_the_settings_say_so", why);
    };
    agent.says(&[0x04], &[]);
    let devices = [Kind::Raw, Kind::Raw].map(|kind| Device::new(kind, &[Deed::Stalls], SIZE, None));
    let (quiet, asked) = (devices[0].uri(), devices[1].uri());
    let (_folder, spool) = serve(&[("quiet", &quiet, ""), ("asked", &asked, "status = \"snmp\"")]);
    let first = print(spool.ipp, "quiet", "one", &some_bytes(1, SIZE));
    // The other one's job begins when this one has stalled for as long as it takes to be asked.
    let stalled = || why(&spool, "1")["jobs"][0]["stall"]["seconds"].as_f64().unwrap_or(0.0);
    wait_for("a long stall", || stalled() >= 3.0);
    assert!(agent.asked().is_empty(), "{:?}", agent.asked());
    let second = print(spool.ipp, "asked", "one", &some_bytes(1, SIZE));
    wait_for_reasons(&spool, "asked", &["media-jam"]);
    assert!(agent.asked().iter().all(|community| community == "public"));
    assert!(reasons(&spool, "quiet").is_empty());
    devices.iter().for_each(|device| device.gate.open());
    for (name, id) in [("quiet", first), ("asked", second)] {
        wait_for("its end", || state(spool.ipp, name, id) == Some("completed"));
    }
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn agents_that_are_silent_hostile_or_away_hold_nothing_up() {
    let silent = Agent::new(&[], &[]);
    silent.state.lock().unwrap().is_silent = true;
    let hostile = Agent::new(&[], &[]);
    hostile.state.lock().unwrap().is_hostile = true;
    // A port that nobody has any more.
    let away = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let kinds = [("silent", silent.port), ("hostile", hostile.port), ("away", away)];
    let devices: Vec<Device> =
        kinds.iter().map(|_| Device::new(Kind::Raw, &[Deed::Stalls], SIZE, None)).collect();
    let uris: Vec<String> = devices.iter().map(Device::uri).collect();
    let settings = kinds.map(|(_, port)| format!("status = \"snmp:public@{port}\""));
    let all: Vec<(&str, &str, &str)> = kinds
        .iter()
        .zip(uris.iter().zip(&settings))
        .map(|((name, _), (uri, more))| (*name, &**uri, &**more))
        .collect();
    let (_folder, spool) = serve(&all);
    let ids = kinds.map(|(name, _)| print(spool.ipp, name, "one", &some_bytes(1, SIZE)));
    wait_for("questions", || !silent.asked().is_empty() && !hostile.asked().is_empty());
    // The stalls are told as those of other printers are.
    for (name, _) in kinds {
        wait_for("its stall", || {
            why(&spool, name)["printer_message"].as_str().unwrap().contains("has taken no data")
        });
        assert!(reasons(&spool, name).is_empty());
    }
    for ((name, _), (id, device)) in kinds.iter().zip(ids.iter().zip(&devices)) {
        device.gate.open();
        wait_for("its end", || state(spool.ipp, name, *id) == Some("completed"));
        assert_eq!(device.came(), (1, 0));
    }
    // What takes less than a reading's time is not asked for at all.
    let before = silent.asked().len();
    for _ in 0..5 {
        print(spool.ipp, "silent", "short", &some_bytes(1, SIZE));
    }
    spool.wait_counts("silent", "completed", 6);
    assert!(silent.asked().len() <= before + 1);
    assert_eq!(spool.stop().code, Some(0));
}

const UEL: &[u8] = b"\x1b%-12345X";

/// A printer that tells its state on the connection of the data. It runs out of paper within a
/// document, jams, and prints the rest when the gate opens. It gives all that came.
fn pjl_printer(gate: Gate) -> (u16, thread::JoinHandle<Vec<u8>>, Gate) {
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.set_recv_buffer_size(32 << 10).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(8).unwrap();
    let listener = TcpListener::from(listener);
    let port = listener.local_addr().unwrap().port();
    let jams = Gate::default();
    let jammed = jams.clone();
    let printer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut came = Vec::new();
        let mut take = |stream: &mut TcpStream, most: usize| {
            let mut piece = vec![0; 8 << 10];
            while came.len() < most {
                match stream.read(&mut piece).unwrap() {
                    0 => break,
                    got => came.extend_from_slice(&piece[..got]),
                }
            }
        };
        take(&mut stream, SOME / 2);
        let ready = "@PJL INFO STATUS\r\nCODE=10023\r\nDISPLAY=\"Printing\"\r\nONLINE=TRUE\r\n\x0c";
        stream.write_all(ready.as_bytes()).unwrap();
        take(&mut stream, SOME);
        let paper = "@PJL USTATUS DEVICE\r\nCODE=41201\r\nDISPLAY=\"TRAY 2 EMPTY\"\r\n\x0c";
        stream.write_all(paper.as_bytes()).unwrap();
        jammed.pass();
        stream.write_all(b"@PJL USTATUS DEVICE\r\nCODE=42203\r\n\x0c").unwrap();
        gate.pass();
        stream.write_all(b"@PJL USTATUS DEVICE\r\nCODE=10023\r\n\x0c").unwrap();
        take(&mut stream, usize::MAX);
        came
    });
    (port, printer, jams)
}

#[test]
fn the_state_of_a_raw_printer_is_told_by_pjl() {
    let test = "the_state_of_a_raw_printer_is_told_by_pjl";
    let gate = Gate::default();
    let (port, printer, jams) = pjl_printer(gate.clone());
    let device = format!("socket://127.0.0.1:{port}");
    let (_folder, spool) = serve(&[("a", &device, "status = \"pjl\"")]);
    let data = some_bytes(1, SIZE);
    let id = print(spool.ipp, "a", "one", &data);
    assert_told_everywhere(test, &spool, "a", &["media-empty"]);
    jams.open();
    wait_for_reasons(&spool, "a", &["media-jam"]);
    gate.open();
    wait_for("its end", || state(spool.ipp, "a", id) == Some("completed"));
    assert!(reasons(&spool, "a").is_empty());
    let before =
        b"@PJL INFO STATUS\r\n@PJL USTATUS DEVICE=ON\r\n@PJL USTATUS TIMED=0\r\n".as_slice();
    let expected = [UEL, before, UEL, &data, UEL, b"@PJL USTATUSOFF\r\n", UEL].concat();
    assert!(printer.join().unwrap() == expected, "other octets came");
    assert_eq!(spool.stop().code, Some(0));
}

/// Runs `windlass spool printer set a` with more words.
fn set(spool: &Spool, words: &[&str]) -> (String, i32) {
    let server = format!("127.0.0.1:{}", spool.ipp);
    let mut command = windlass();
    command.args(["spool", "printer", "set", "a"]).args(words).args(["--server", &server]);
    let (stdout, stderr, code) = told(&command.output().unwrap());
    (stdout + &stderr, code)
}

fn status(spool: &Spool) -> Option<String> {
    let asked = about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, "a");
    let said = ask(spool.ipp, &asked, b"");
    said.text(GroupTag::PRINTER, "windlass-status").map(std::borrow::Cow::into_owned)
}

#[test]
fn a_status_is_set_at_run_time_for_devices_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let start =
        || Spool::start(&folder.path().join("spool"), &["--printer", "a=lpd://127.0.0.1:1/q"]);
    let spool = start();
    assert_eq!(status(&spool), None);
    let (said, code) = set(&spool, &["--status", "pjl"]);
    assert!(code != 0 && said.contains("needs a device of socket:"), "{said}");
    let (said, code) = set(&spool, &["--status", "ipp"]);
    assert!(code == 2 && said.contains("snmp:COMMUNITY@PORT or pjl"), "{said}");
    assert_eq!(set(&spool, &["--status", "snmp:floor2"]).1, 0);
    // The community is not told.
    assert_eq!(status(&spool).as_deref(), Some("snmp"));
    assert_eq!(spool.stop().code, Some(0));
    let spool = start();
    assert_eq!(status(&spool).as_deref(), Some("snmp"));
    // A device that tells its state by its own protocol has no other source.
    assert_eq!(set(&spool, &["--device", "ipp://127.0.0.1:1/ipp/print"]).1, 0);
    assert_eq!(status(&spool), None);
    let (said, code) = set(&spool, &["--status", "snmp"]);
    assert!(code != 0 && said.contains("needs a device of socket: or lpd:"), "{said}");
    let words = ["--device", "socket://127.0.0.1:1", "--status", "pjl"];
    assert_eq!(set(&spool, &words).1, 0);
    assert_eq!(status(&spool).as_deref(), Some("pjl"));
    assert_eq!(set(&spool, &["--status", "none"]).1, 0);
    assert_eq!(status(&spool), None);
    assert_eq!(spool.stop().code, Some(0));
    // In the settings it is an error.
    let config = folder.path().join("spool.toml");
    fs::write(&config, "[[printer]]\nname = \"b\"\ndevice = \"drop\"\nstatus = \"snmp\"\n")
        .unwrap();
    let mut command = windlass();
    let spool = folder.path().join("other");
    command.args(["spool", "serve", "--config"]).arg(&config).arg("--spool").arg(spool);
    let (_, stderr, code) = told(&command.output().unwrap());
    assert!(code == 2 && stderr.contains("needs a device of socket: or lpd:"), "{stderr}");
}
