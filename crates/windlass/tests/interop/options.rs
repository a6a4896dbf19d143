//! Every option of the stock clients, from their own help: what windlass serve does with it, and
//! what the client prints. docs/send.md has the same table.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::peer::{WindlassServer, run};
use windlass_testkit::has;
use windlass_testkit::port::free_port;

/// Effect of an option.
#[derive(Clone, Copy)]
enum OptionEffect {
    /// The server goes by it: its transfer has this there.
    Served(&'static str, fn() -> Value),
    /// The server takes part, and the client prints this.
    Printed(&'static str),
    /// The server answers requests, and the client prints this.
    Answered(&'static str),
    /// The server knows nothing of it; the client prints this.
    Own(&'static str),
    /// The client refuses it by itself, in these words.
    OwnRefusal(&'static str),
    /// The server refuses it. The client prints this, and the server says that.
    Refused(&'static str, &'static str),
    /// The option is not tried, for this reason.
    Untried(&'static str),
}

use OptionEffect::{Answered, Own, OwnRefusal, Printed, Refused, Served, Untried};

/// An option: its words, what is tried, and what becomes of it.
type Row = (&'static [&'static str], &'static str, OptionEffect);

/// Those of `iperf3 -c` (3.12).
const IPERF3: &[Row] = &[
    (&["-p", "--port"], "-n 1M", Printed("receiver")),
    (&["-c", "--client"], "-n 1M", Printed("receiver")),
    (&["-f", "--format"], "-n 1M -f m", Own("Mbits/sec")),
    (&["-i", "--interval"], "-t 1 -i 0.5", Own("receiver")),
    (&["-I", "--pidfile"], "-n 1M -I FOLDER/pid", Own("receiver")),
    (&["-F", "--file"], "-F FOLDER/file", Printed("2.86 MBytes")),
    (
        &["-A", "--affinity"],
        "-n 1M -A 0,0",
        Refused("unable to set CPU affinity", "keep to a processor"),
    ),
    (&["-B", "--bind"], "-n 1M -B 127.0.0.1", Own("local 127.0.0.1")),
    (&["--bind-dev"], "-n 1M --bind-dev lo", Own("receiver")),
    (&["-V", "--verbose"], "-n 1M -V", Printed("remote/receiver")),
    (&["-J", "--json"], "-n 1M -J", Printed("\"remote_total\"")),
    (&["--logfile"], "-n 1M --logfile FOLDER/log", Own("")),
    (&["--forceflush"], "-n 1M --forceflush", Own("receiver")),
    (&["--timestamps"], "-n 1M --timestamps", Own("receiver")),
    (&["--rcv-timeout"], "-n 1M -R --rcv-timeout 5000", Own("receiver")),
    (&["--snd-timeout"], "-n 1M --snd-timeout 5000", Own("receiver")),
    (&["-d", "--debug"], "-n 1M -d", Own("receiver")),
    (&["-v", "--version"], "", Untried("prints the version")),
    (&["-h", "--help"], "", Untried("prints the help")),
    (
        &["--sctp"],
        "-n 1M --sctp",
        Refused("protocol does not exist", "only TCP and UDP are served"),
    ),
    (&["-X", "--xbind"], "-n 1M -X lo", Own("receiver")),
    (&["--nstreams"], "-n 1M --nstreams 2", OwnRefusal("is not implemented yet")),
    (&["-u", "--udp"], "-t 1 -u", Printed("Lost/Total Datagrams")),
    (&["--connect-timeout"], "-n 1M --connect-timeout 5000", Own("receiver")),
    (&["-b", "--bitrate"], "-n 1M -b 80M", Served("/pace", || json!(10e6))),
    (&["--pacing-timer"], "-n 1M -b 80M --pacing-timer 2000", Own("receiver")),
    (&["--fq-rate"], "-n 1M --fq-rate 80M", Served("/pace", || json!(10e6))),
    (&["-t", "--time"], "-t 1", Served("/until/time", || json!(1.0))),
    (&["-n", "--bytes"], "-n 3M", Served("/until/bytes", || json!(3 << 20))),
    (&["-k", "--blockcount"], "-k 8", Served("/until/bytes", || json!(1 << 20))),
    (&["-l", "--length"], "-n 1M -l 64K", Served("/length", || json!(65_536))),
    (&["--cport"], "-n 1M --cport PORT", Own("local 127.0.0.1 port PORT")),
    (&["-P", "--parallel"], "-n 1M -P 3", Served("/streams", || json!(3))),
    (&["-R", "--reverse"], "-n 1M -R", Served("/direction", || json!("reverse"))),
    (&["--bidir"], "-n 1M --bidir", Served("/direction", || json!("both"))),
    (&["-w", "--window"], "-n 1M -w 64K", Served("/server/window", || json!(65_536))),
    (&["-C", "--congestion"], "-n 1M -C cubic", Served("/congestion", || json!("cubic"))),
    (&["-M", "--set-mss"], "-n 1M -M 1000", Served("/mss", || json!(1_000))),
    (&["-N", "--no-delay"], "-n 1M -N", Served("/nodelay", || json!(true))),
    (&["-4", "--version4"], "-n 1M -4", Own("receiver")),
    (&["-6", "--version6"], "-n 1M -6", Untried("the server of the test has an address of IPv4")),
    (&["-S", "--tos"], "-n 1M -S 0x10", Served("/ip/tos", || json!(16))),
    (&["--dscp"], "-n 1M --dscp af11", Served("/ip/tos", || json!(40))),
    (&["-L", "--flowlabel"], "-n 1M -L 5", OwnRefusal("unable to set IPv6 flow label")),
    (&["-Z", "--zerocopy"], "-n 1M -Z", Own("receiver")),
    (&["-O", "--omit"], "-t 1 -O 1", Served("/omit", || json!(1.0))),
    (&["-T", "--title"], "-n 1M -T title", Own("title:")),
    (&["--extra-data"], "-n 1M --extra-data x", Own("receiver")),
    (&["--get-server-output"], "-n 1M --get-server-output", Printed("Server output:")),
    (&["--udp-counters-64bit"], "-t 1 -u --udp-counters-64bit", Printed("Lost/Total Datagrams")),
    (&["--repeating-payload"], "-n 1M --repeating-payload", Own("receiver")),
    (&["--dont-fragment"], "-n 1M --dont-fragment", Own("receiver")),
    (&["--username"], "-n 1M --username u", OwnRefusal("path to a valid RSA public key")),
    (
        &["--rsa-public-key-path"],
        "-n 1M --rsa-public-key-path /nonexistent",
        OwnRefusal("path to a valid RSA public key"),
    ),
];

/// Those of `iperf -c` (2.1.8).
const IPERF: &[Row] = &[
    (&["-b", "--bandwidth"], "-n 1M -b 80m", Own("Mbits/sec")),
    (&["-e", "--enhanced"], "-n 1M -e", Own("NetPwr")),
    (&["-f", "--format"], "-n 1M -f k", Own("Kbits/sec")),
    (&["--hide-ips"], "-n 1M --hide-ips", Own("*.*.*.1")),
    (&["-i", "--interval"], "-t 1 -i 0.5", Own("sec")),
    (&["-l", "--len"], "-n 1M -l 64K", Own("1.00 MBytes")),
    (&["-m", "--print_mss"], "-n 1M -m", Own("MSS size")),
    (&["-o", "--output"], "-n 1M -o FOLDER/out", Own("redirected to file")),
    (&["-p", "--port"], "-n 1M", Own("1.00 MBytes")),
    (
        &["--permit-key"],
        "-n 1M --permit-key=abcdefgh",
        Untried("a key that the server has to have printed"),
    ),
    (&["--sum-only"], "-n 1M -P 2 --sum-only", Own("[SUM-2]")),
    (&["-u", "--udp"], "-n 10K -u", Printed("Server Report")),
    (&["-w", "--window"], "-n 1M -w 64K", Own("TCP window size")),
    (&["-z", "--realtime"], "-n 1M -z", Own("1.00 MBytes")),
    (&["-B", "--bind"], "-n 1M -B 127.0.0.1", Own("local 127.0.0.1")),
    (&["-C", "--compatibility"], "-n 1M -C", Own("1.00 MBytes")),
    (&["-M", "--mss"], "-n 1M -M 1000", Own("MSS req size 1000")),
    (&["-N", "--nodelay"], "-n 1M -N", Own("1.00 MBytes")),
    (&["-S", "--tos"], "-n 1M -S af11", Own("0x28")),
    (&["-Z", "--tcp-congestion"], "-n 1M -Z cubic", Own("1.00 MBytes")),
    (&["--bounceback"], "-t 1 --bounceback", Answered("BB cnt=")),
    (&["--bounceback-congest"], "-t 1 --bounceback --bounceback-congest", Answered("BB cnt=")),
    (&["--bounceback-hold"], "-t 1 --bounceback --bounceback-hold 9", Answered("BB cnt=")),
    (&["--bounceback-period"], "-t 1 --bounceback --bounceback-period 9", Answered("BB cnt=")),
    (
        &["--bounceback-no-quickack"],
        "-t 1 --bounceback --bounceback-no-quickack",
        Answered("BB cnt="),
    ),
    (&["-c", "--client"], "-n 1M", Own("1.00 MBytes")),
    (&["--connect-only"], "", Untried("it sends nothing, and the server has nothing to say")),
    (&["--connect-retries"], "-n 1M --connect-retries 2", Own("1.00 MBytes")),
    (&["-d", "--dualtest"], "-n 1M -d -L PORT", Printed("local 127.0.0.1 port PORT")),
    (&["--fq-rate"], "-n 1M --fq-rate 80m", Own("pacing set")),
    (&["--full-duplex"], "-n 1M --full-duplex", Printed("[ *1]")),
    (&["--ipg"], "-n 1M --ipg 5", OwnRefusal("requires -u")),
    (&["--isochronous"], "-t 1 --isochronous 10:1m,0", Own("isoch")),
    (&["--incr-dstip"], "-n 1M --incr-dstip", Own("1.00 MBytes")),
    (&["--incr-dstport"], "", Untried("the server listens on one port")),
    (&["--incr-srcip"], "-n 1M -B 127.0.0.1 -P 2 --incr-srcip", Own("local 127.0.0.2")),
    (&["--incr-srcport"], "-n 1M -B 127.0.0.1:PORT -P 2 --incr-srcport", Own("port PORT")),
    (&["--local-only"], "-n 1M --local-only", Own("1.00 MBytes")),
    (&["--near-congestion"], "-n 1M --near-congestion=0.5", Own("delay weight set to")),
    (&["--no-connect-sync"], "-n 1M -P 2 --no-connect-sync", Own("[SUM]")),
    (&["--no-udp-fin"], "-n 1M --no-udp-fin", OwnRefusal("requires -u")),
    (&["-n", "--num"], "-n 3M", Own("3.00 MBytes")),
    (&["-r", "--tradeoff"], "-n 1M -r -L PORT", Printed("local 127.0.0.1 port PORT")),
    (&["--tcp-quickack"], "-n 1M --tcp-quickack", Own("qack")),
    (&["--tcp-write-prefetch"], "-n 1M --tcp-write-prefetch 16384", Own("prefetch=16384")),
    (&["--tcp-write-times"], "-n 1M --tcp-write-times", Own("1.00 MBytes")),
    (&["-t", "--time"], "-t 1", Own("sec")),
    (&["--trip-times"], "-n 1M --trip-times", Own("trip-times")),
    (&["--txdelay-time"], "-n 1M --txdelay-time 0.1", Own("traffic to start")),
    (&["--txstart-time"], "", Untried("it waits for a time of day")),
    (&["-F", "--fileinput"], "-F FOLDER/file", Own("MBytes")),
    (&["-H", "--ssm-host"], "", Untried("for multicast by UDP")),
    (&["-I", "--stdin"], "-I", Own("sec")),
    (&["-L", "--listenport"], "-n 1M -r -L PORT", Printed("local 127.0.0.1 port PORT")),
    (&["-P", "--parallel"], "-n 1M -P 3", Own("[SUM]")),
    (&["-R", "--reverse"], "-n 1M -R", Printed("(reverse)")),
    (&["-T", "--ttl"], "-n 1M -T 5", Own("1.00 MBytes")),
    (&["-V", "--ipv6_domain"], "-n 1M -V", OwnRefusal("failed to find an ip address")),
    (&["-X", "--peer-detect"], "-n 1M -X", Printed("1.00 MBytes")),
    (&["-x", "--reportexclude"], "-n 1M -x CS", Own("1.00 MBytes")),
    (&["-y", "--reportstyle"], "-n 1M -y C", Own(",1048576,")),
    (&["-h", "--help"], "", Untried("prints the help")),
    (&["-v", "--version"], "", Untried("prints the version")),
];

/// The options that the help of a program has in the parts for a client.
fn in_help(program: &str, server: &str) -> BTreeSet<String> {
    let output = run(&format!("{program} --help"));
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let (mut options, mut is_server) = (BTreeSet::new(), false);
    for line in text.lines() {
        if !line.starts_with(' ') {
            is_server = line.starts_with(server);
            continue;
        }
        // An option stands at the beginning; what is behind says what it does.
        if is_server
            || !line.trim_start().starts_with('-')
            || line.len() - line.trim_start().len() > 8
        {
            continue;
        }
        for word in line.split_whitespace().take_while(|word| word.starts_with('-')) {
            let word = word.trim_end_matches(',');
            let end = word.find(['=', '[', '<']).unwrap_or(word.len());
            options.insert(word[..end].to_owned());
        }
    }
    assert!(options.len() > 60, "{text}");
    options
}

/// The options of a table, and those of a help that it has not.
fn missing(table: &[Row], help: &BTreeSet<String>) -> Vec<String> {
    let known: BTreeSet<&str> = table.iter().flat_map(|row| row.0).copied().collect();
    help.iter().filter(|option| !known.contains(option.as_str())).cloned().collect()
}

/// Maximum time of a client.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time of a refused client before it is ended: it may wait for ever.
const REFUSED: Duration = Duration::from_secs(2);

/// Attempts for a client that runs for ever without a connection. A thread of iperf 2.1.8 spins
/// after about one of 370 tests in both directions, on a busy machine, when all is closed.
const TRIES: usize = 3;

/// Returns whether a process holds a socket.
fn has_socket(process: u32) -> bool {
    let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.to_string_lossy().starts_with("socket:"))
}

/// Runs a client until it ends or has said what is wanted, and gives what it printed.
fn printed(
    program: &str,
    words: &str,
    folder: &std::path::Path,
    ends: bool,
    wanted: &str,
) -> String {
    let mut tries = (0..TRIES).filter_map(|_| tried_once(program, words, folder, ends, wanted));
    tries.next().unwrap_or_else(|| panic!("{program} {words} does not end by itself"))
}

/// Tries an option once; returns `None` if the client has no connection any more, and does not end.
fn tried_once(
    program: &str,
    words: &str,
    folder: &std::path::Path,
    ends: bool,
    wanted: &str,
) -> Option<String> {
    let file = folder.join("printed");
    let out = fs::File::create(&file).unwrap();
    let mut client = Command::new(program)
        .args(words.split_whitespace())
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    let said = || {
        let (mut text, mut file) = (Vec::new(), fs::File::open(&file).unwrap());
        file.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    };
    let since = Instant::now();
    let waits = loop {
        let is_over = client.try_wait().unwrap().is_some();
        let has_said = !ends && said().contains(wanted) && since.elapsed() > REFUSED;
        if is_over || has_said {
            break None;
        }
        if since.elapsed() >= PATIENCE {
            break Some(has_socket(client.id()));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let _ = client.kill();
    client.wait().unwrap();
    assert_ne!(waits, Some(true), "{program} {words}: {}", said());
    waits.is_none().then(said)
}

/// Tries each row of a table against a server of its own.
fn tried(program: &str, table: &[Row], wanted_port: fn(&WindlassServer) -> u16) {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
    fs::write(folder.path().join("file"), content).unwrap();
    for (options, words, does) in table {
        if let Untried(_) = does {
            continue;
        }
        let serving = WindlassServer::start(&[]);
        let own = free_port().to_string();
        let fill = |text: &str| {
            text.replace("PORT", &own).replace("FOLDER", folder.path().to_str().unwrap())
        };
        let line = format!("-c 127.0.0.1 -p {} {}", wanted_port(&serving), fill(words));
        let (wanted, ends) = match does {
            Served(..) => ("", true),
            Printed(text) | Answered(text) | Own(text) | OwnRefusal(text) => (*text, true),
            Refused(text, _) => (*text, false),
            Untried(_) => continue,
        };
        let wanted = fill(wanted);
        let said = printed(program, &line, folder.path(), ends, &wanted);
        let told = format!("{options:?}: {program} {line}: {said}");
        assert!(said.contains(&wanted), "{told}");
        match does {
            Served(pointer, value) => {
                let begins = loop {
                    let event = serving.says();
                    assert_ne!(event["event"], "refused", "{told} {event}");
                    if event["event"] == "begins" {
                        break event;
                    }
                };
                let transfer = &begins["transfer"];
                assert_eq!(transfer.pointer(pointer), Some(&value()), "{told} {transfer:#}");
                assert!(serving.ends()["failure"].is_null(), "{told}");
            }
            Printed(_) | Own(_) => assert!(serving.ends()["failure"].is_null(), "{told}"),
            Answered(_) => {
                let mut event = serving.says();
                while event["event"] != "echoes" {
                    assert_ne!(event["event"], "refused", "{told} {event}");
                    event = serving.says();
                }
            }
            Refused(_, why) => {
                let said = serving.refuses();
                assert!(said.contains(why), "{told}: the server says {said}");
            }
            OwnRefusal(_) | Untried(_) => {}
        }
    }
}

#[test]
fn each_option_of_iperf3_has_its_answer() {
    if !has("iperf3", "each_option_of_iperf3_has_its_answer") {
        return;
    }
    let left_out = missing(IPERF3, &in_help("iperf3", "Server specific"));
    assert!(left_out.is_empty(), "{left_out:?}");
    tried("iperf3", IPERF3, |serving| serving.port);
}

#[test]
fn each_option_of_iperf_has_its_answer() {
    if !has("iperf", "each_option_of_iperf_has_its_answer") {
        return;
    }
    let left_out = missing(IPERF, &in_help("iperf", "Server specific"));
    assert!(left_out.is_empty(), "{left_out:?}");
    tried("iperf", IPERF, |serving| serving.plain);
}

/// Returns the tables of the documentation: a row for each answer, with its options.
fn tables() -> String {
    let mut text = String::new();
    for (program, table) in [("iperf3 -c", IPERF3), ("iperf -c", IPERF)] {
        let mut rows: Vec<(String, Vec<String>)> = Vec::new();
        for (options, _, does) in table {
            let does = match does {
                Served(pointer, _) => {
                    format!("served: `transfer{}` of its report", pointer.replace('/', "."))
                }
                Printed(_) => "served".to_owned(),
                Answered(_) => "served: each request is answered".to_owned(),
                Own(_) => "the client's own affair".to_owned(),
                OwnRefusal(words) => format!("the client refuses it itself: \"{words}\""),
                Refused(words, why) => {
                    format!("refused: the client prints \"{words}\", the server \"{why} …\"")
                }
                Untried(why) => format!("not tried: {why}"),
            };
            let options = format!("`{}`", options.join("`, `"));
            match rows.iter_mut().find(|(other, _)| *other == does) {
                Some((_, all)) => all.push(options),
                None => rows.push((does, vec![options])),
            }
        }
        text += &format!("| `{program}` | windlass serve |\n|---|---|\n");
        for (does, options) in rows {
            text += &format!("| {} | {does} |\n", options.join("; "));
        }
        text.push('\n');
    }
    text
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/send.md");

#[test]
fn the_page_has_the_tables() {
    let advice = "cargo test -p windlass --test interop -- --ignored write_tables";
    assert!(fs::read_to_string(PAGE).unwrap().contains(&tables()), "docs/send.md: {advice}");
}

#[test]
#[ignore = "it writes docs/send.md"]
fn write_tables() {
    let page = fs::read_to_string(PAGE).unwrap();
    let from = page.find("| `iperf3 -c` |").unwrap();
    let to = from + page[from..].find("### From ttcp").unwrap();
    fs::write(PAGE, [&page[..from], &tables(), &page[to..]].concat()).unwrap();
}
