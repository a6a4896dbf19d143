//! Servers of a script: honest ones with quirks, and hostile ones.

use std::borrow::Cow;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use windlass_wire::http::{Body, Request};
use windlass_wire::ipp::{
    CharKind, Decoder, Group, GroupTag, Limits, Message, Operation, Status, Value as IppValue,
    Version,
};
use windlass_wire::lpr::{ControlFile, JobCommand, line};

use super::{PATIENCE, file, judged, print, print_with, server, some_bytes};
use windlass_testkit::port::free_port;
use windlass_testkit::{run, told, windlass};

fn all(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[test]
fn raw_data_arrives_and_the_back_channel_is_read() {
    let data = some_bytes(3_000_000);
    let (_folder, path) = file(&data);
    let (port, served) = server(|stream| {
        (&stream).write_all(b"hello ").unwrap();
        let got = all(&stream);
        (&stream).write_all(b"and goodbye").unwrap();
        got
    });
    let printed = print(&format!("socket://127.0.0.1:{port} {path}"));
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert!(served.join().unwrap() == data);
    let report = &printed.report;
    assert_eq!(report["transfer"]["sent_bytes"], 3_000_000);
    assert_eq!(report["transfer"]["acknowledged_bytes"], 3_000_000);
    assert_eq!(report["transfer"]["complete"], true);
    assert_eq!(report["answer"]["text"], "hello and goodbye");
    assert_eq!(report["answer"]["ended"], "closed");
    assert!(report["verdict"]["limit"].is_string(), "{report:#}");
    let bytes = report["intervals"].as_array().unwrap().iter();
    let sum: u64 = bytes.map(|one| one["bytes"].as_u64().unwrap()).sum();
    assert_eq!(sum, 3_000_000);
}

#[test]
fn the_processors_of_both_ends_are_in_the_report() {
    let (_folder, path) = file(&some_bytes(8_000_000));
    let (port, served) = server(|mut stream| {
        // Long enough for the kernel's ticks: 64 KiB each 10 ms.
        let mut room = vec![0; 65_536];
        while stream.read(&mut room).unwrap() > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let printed = print(&format!("socket://127.0.0.1:{port} {path} --no-packets"));
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    served.join().unwrap();
    let (transfer, verdict) = (&printed.report["transfer"], &printed.report["verdict"]);
    if transfer["seconds"].as_f64().unwrap() > 0.4 {
        let machine = &transfer["machine"];
        assert!(machine["processors"].as_u64().unwrap() > 0, "{transfer:#}");
        assert!(machine["busy_share"].as_f64().unwrap() > 0.0, "{transfer:#}");
    }
    let counts = std::path::Path::new("/proc/self/schedstat").exists();
    assert_eq!(transfer["cpu"]["waiting_share"].is_number(), counts, "{transfer:#}");
    let evidence = verdict["evidence"].as_array().unwrap();
    let is_one = |one: &serde_json::Value| one["shows"] == "both ends are one machine";
    assert!(evidence.iter().any(is_one), "{verdict:#}");
}

#[test]
fn a_printer_that_does_not_close_ends_a_raw_job_after_the_patience() {
    let (port, served) = server(|mut stream| {
        let mut data = Vec::new();
        stream.read_to_end(&mut data).unwrap();
        // It drips for as long as anybody waits.
        while stream.write_all(b".").is_ok() {
            std::thread::sleep(Duration::from_millis(10));
        }
        data.len()
    });
    let line = format!("socket://127.0.0.1:{port} --payload zeros --bytes 5000 --patience 1s");
    let printed = print(&line);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert_eq!(printed.report["answer"]["ended"], "left-open");
    assert!(printed.took >= Duration::from_secs(1), "{:?}", printed.took);
    assert_eq!(served.join().unwrap(), 5_000);
}

#[test]
fn a_printer_that_takes_nothing_ends_it_after_the_patience() {
    let (give_up, given_up) = mpsc::channel::<()>();
    let (port, served) = server(move |stream| {
        // Until windlass has ended: nobody sends into this.
        let _ = given_up.recv();
        drop(stream);
    });
    let line = format!("socket://127.0.0.1:{port} --payload zeros --bytes 50MB --patience 1s");
    let printed = print(&line);
    drop(give_up);
    assert_eq!(printed.code, 1);
    assert!(printed.stderr.contains("its window is closed"), "{}", printed.stderr);
    assert_eq!(printed.report["transfer"]["complete"], false);
    assert!(printed.report["failure"].is_string());
    assert!(printed.took >= Duration::from_secs(1), "{:?}", printed.took);
    served.join().unwrap();
}

/// Returns whether the kernel holds unacknowledged data for this port that no window admits: more
/// than a receive buffer (`proc_net_tcp(5)`: the queues are the fifth column).
fn holds_back(port: u16) -> bool {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let to = format!("0100007F:{port:04X}");
    table.lines().any(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let waits = columns.get(4).and_then(|queues| queues.split(':').next());
        let waits = waits.and_then(|waits| u64::from_str_radix(waits, 16).ok());
        columns.get(2) == Some(&to.as_str()) && waits.is_some_and(|waits| waits > 65_536)
    })
}

#[test]
fn a_stopped_job_says_what_the_kernel_still_sends_or_is_reset() {
    for reset in [false, true] {
        let (begun, has_begun) = mpsc::channel();
        let (end, has_ended) = mpsc::channel::<()>();
        let (port, served) = server(move |mut stream| {
            let mut first = [0; 1_000];
            stream.read_exact(&mut first).unwrap();
            begun.send(()).unwrap();
            // Until windlass has ended: what it left to its kernel comes then.
            let _ = has_ended.recv();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).map(|bytes| first.len() + bytes)
        });
        let mut command = windlass();
        command.args(["print", "--json", "--payload", "zeros", "--bytes", "50MB"]);
        command.arg(format!("socket://127.0.0.1:{port}"));
        command.args(reset.then_some("--reset"));
        let began = Instant::now();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        has_begun.recv().unwrap();
        // Nobody reads on, so what the kernel holds back stays.
        while !holds_back(port) {
            assert!(began.elapsed() < Duration::from_secs(60), "all is acknowledged");
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let printed = judged(&child.wait_with_output().unwrap(), began.elapsed());
        drop(end);
        let served = served.join().unwrap();
        assert_eq!(printed.code, 1, "{}", printed.stderr);
        assert_eq!(printed.report["interrupted"], true);
        let transfer = &printed.report["transfer"];
        let number = |name: &str| transfer[name].as_u64().unwrap();
        assert!(number("unacknowledged_bytes") > 0, "{transfer:#}");
        assert_eq!(
            number("acknowledged_bytes") + number("unacknowledged_bytes"),
            number("sent_bytes")
        );
        assert_eq!(transfer["reset"], reset);
        match reset {
            false => assert_eq!(served.unwrap() as u64, number("sent_bytes")),
            true => assert_eq!(served.unwrap_err().kind(), ErrorKind::ConnectionReset),
        }
    }
}

#[test]
fn a_printer_tells_its_status_in_pjl() {
    let status = |code: u32, display: &str| {
        format!("@PJL INFO STATUS\r\nCODE={code}\r\nDISPLAY=\"{display}\"\r\nONLINE=TRUE\r\n\x0c")
    };
    let (port, served) = server(move |mut stream| {
        let mut first = [0; 512];
        let got = stream.read(&mut first).unwrap();
        stream.write_all(status(10_001, "Ready").as_bytes()).unwrap();
        let mut rest = first[..got].to_vec();
        stream.read_to_end(&mut rest).unwrap();
        let by_itself = "@PJL USTATUS DEVICE\r\nCODE=40021\r\nONLINE=FALSE\r\n\x0c";
        stream.write_all(by_itself.as_bytes()).unwrap();
        stream.write_all(status(10_023, "Printing").as_bytes()).unwrap();
        rest
    });
    let printed = print_with(&format!("127.0.0.1:{port} --protocol raw --pjl -"), b"%!PS");
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    let got = String::from_utf8(served.join().unwrap()).unwrap();
    let expected = "\u{1b}%-12345X@PJL INFO STATUS\r\n@PJL USTATUS DEVICE=ON\r\n\u{1b}%-12345X%!PS\
                    \u{1b}%-12345X@PJL USTATUSOFF\r\n@PJL INFO STATUS\r\n\u{1b}%-12345X";
    assert_eq!(got, expected);
    let answer = &printed.report["answer"];
    assert_eq!(answer["status_before"]["display"], "Ready");
    assert_eq!(answer["statuses"][0]["code"], 40_021);
    assert_eq!(answer["statuses"][0]["by_itself"], true);
    assert_eq!(answer["statuses"][1]["display"], "Printing");
    assert_eq!(printed.report["transfer"]["sent_bytes"], 4);
}

/// Job that an LPR server received.
#[derive(Debug, Default)]
struct Job {
    queue: Vec<u8>,
    files: Vec<(JobCommand, Vec<u8>)>,
}

fn byte(stream: &mut TcpStream) -> Option<u8> {
    let mut one = [0];
    (stream.read(&mut one).ok()? == 1).then(|| one[0])
}

fn one_line(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut held = Vec::new();
    loop {
        held.push(byte(stream)?);
        if let Some((found, _)) = line(&held).unwrap() {
            return Some(found.to_vec());
        }
    }
}

/// A server that takes all. `streams` says that a data file lasts to the end.
fn takes_all(mut stream: TcpStream, streams: bool) -> Job {
    let mut job = Job { queue: one_line(&mut stream).unwrap(), files: Vec::new() };
    stream.write_all(&[0]).unwrap();
    while let Some(line) = one_line(&mut stream) {
        stream.write_all(&[0]).unwrap();
        let command = JobCommand::decode(&line).unwrap();
        let mut data = Vec::new();
        match &command {
            JobCommand::DataFile { .. } if streams => {
                stream.read_to_end(&mut data).unwrap();
            }
            JobCommand::ControlFile { size, .. } | JobCommand::DataFile { size, .. } => {
                data = vec![0; usize::try_from(*size).unwrap()];
                stream.read_exact(&mut data).unwrap();
                assert_eq!(byte(&mut stream), Some(0), "each file ends with a zero");
            }
            JobCommand::Abort => panic!("nobody aborts"),
        }
        stream.write_all(&[0]).unwrap();
        job.files.push((command, data));
    }
    job
}

#[test]
fn a_job_of_lpr_is_a_control_file_and_a_data_file() {
    let data = some_bytes(200_000);
    let (_folder, path) = file(&data);
    for first in ["", "--data-first"] {
        let (port, served) = server(|stream| takes_all(stream, false));
        let name = "x".repeat(120);
        let line = format!("lpd://127.0.0.1:{port}/lp {path} --user ann --job-name {name} {first}");
        let printed = print(&line);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{first}");
        let mut job = served.join().unwrap();
        assert_eq!(job.queue, b"\x02lp");
        if !first.is_empty() {
            job.files.reverse();
        }
        let [(control, lines), (about, got)] = job.files.as_slice() else { panic!("{job:?}") };
        let JobCommand::ControlFile { name: control, .. } = control else { panic!("{first}") };
        let JobCommand::DataFile { size, name } = about else { panic!("{first}") };
        assert!(*size == 200_000 && *got == data);
        assert_eq!((&control[..3], &name[..3]), (&b"cfA"[..], &b"dfA"[..]));
        assert_eq!(control[3..], name[3..]);
        let lines = ControlFile::decode(lines);
        assert_eq!(lines.text(b'P'), Some(&b"ann"[..]));
        assert_eq!(lines.text(b'J').unwrap().len(), 99);
        assert_eq!(lines.text(b'l'), Some(name.as_slice()));
        assert_eq!(lines.text(b'U'), Some(name.as_slice()));
        let steps = printed.report["answer"]["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 5);
        assert_eq!(printed.report["answer"]["confirmed"], true);
        assert_eq!(printed.report["transfer"]["sent_bytes"], 200_000);
    }
}

#[test]
fn standard_input_is_kept_or_streamed_by_lpr() {
    let data = some_bytes(150_000);
    for (option, announced) in [("", 150_000), ("--stream", 999_999_999_999), ("--stream=zero", 0)]
    {
        let (port, served) = server(move |stream| takes_all(stream, !option.is_empty()));
        let printed = print_with(&format!("lpd://127.0.0.1:{port}/lp - {option}"), &data);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{option}");
        let job = served.join().unwrap();
        let (JobCommand::DataFile { size, .. }, got) = &job.files[1] else { panic!("{job:?}") };
        assert!(*size == announced && *got == data, "{option}");
        assert_eq!(printed.report["answer"]["confirmed"], true);
    }
}

#[test]
fn refusals_of_lpr_are_told_with_what_was_said() {
    let line =
        |port: u16| format!("lpd://127.0.0.1:{port}/lp --payload text --bytes 9MB --patience 30s");
    // Unknown queues: BSD's lpd and cups-lpd say 1, LPRng 3 and why.
    for (answer, said) in [
        (&b"\x01"[..], "answered 1 to the queue: refused"),
        (b"\x02", "answered 2 to the queue: refused for now"),
        (b"\x03lp: spool queue does not exist\n", "it says \"lp: spool queue does not exist\""),
    ] {
        let (port, served) = server(|mut stream| {
            one_line(&mut stream).unwrap();
            stream.write_all(answer).unwrap();
        });
        let printed = print(&line(port));
        assert_eq!(printed.code, 1);
        assert!(printed.stderr.contains(said), "{}", printed.stderr);
        served.join().unwrap();
    }
    // In the middle of the data.
    let (port, served) = server(|mut stream| {
        for _ in 0..2 {
            one_line(&mut stream).unwrap();
            stream.write_all(&[0]).unwrap();
        }
        let mut control = Vec::new();
        while byte(&mut stream).map(|byte| control.push(byte)).is_some() {
            if control.last() == Some(&0) {
                break;
            }
        }
        stream.write_all(&[0]).unwrap();
        one_line(&mut stream).unwrap();
        stream.write_all(&[0]).unwrap();
        stream.read_exact(&mut [0; 5_000]).unwrap();
        stream.write_all(b"\x02no space left\n").unwrap();
        // What was sent already is read, so that the words are not lost with it.
        all(&stream);
    });
    let printed = print(&line(port));
    assert_eq!(printed.code, 1);
    let said = "answered 2 to the data file: refused for now, for example for lack of space; \
                it says \"no space left\"";
    assert!(printed.stderr.contains(said), "{}", printed.stderr);
    assert_eq!(printed.report["transfer"]["complete"], false);
    served.join().unwrap();
}

/// Behaviour of a server, with the expected report.
type Script = (fn(TcpStream), &'static str, &'static str);

/// A patience that nothing needs.
const LONG: &str = "10min";

#[test]
fn servers_of_lpr_that_close_drip_or_say_nothing_end_it() {
    let cases: [Script; 4] = [
        (drop, "closed the connection while windlass waited for the answer to the queue", LONG),
        (
            |stream| {
                // It hears of the queue, and then the end.
                all(&stream);
            },
            "no progress for",
            "1s",
        ),
        (
            |mut stream| {
                // A refusal with an endless reason, letter by letter.
                let _ = stream.write_all(&[3]);
                while stream.write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            },
            "answered 3 to the queue",
            "1s",
        ),
        (
            |mut stream| {
                one_line(&mut stream).unwrap();
                stream.write_all(&[0]).unwrap();
                one_line(&mut stream).unwrap();
            },
            "closed the connection while windlass waited for the answer to the control file's name",
            LONG,
        ),
    ];
    for (script, said, patience) in cases {
        let (port, served) = server(script);
        let job = "--payload zeros --bytes 9k";
        let printed = print(&format!("lpd://127.0.0.1:{port}/lp {job} --patience {patience}"));
        assert_eq!(printed.code, 1, "{said}");
        assert!(printed.stderr.contains(said), "{said}: {}", printed.stderr);
        // It ends by what was said or by its patience, and not when the server ends.
        assert!(printed.took < PATIENCE, "{said}: {:?}", printed.took);
        served.join().unwrap();
    }
}

/// A request of IPP: its head, its message and its document.
fn request(stream: &mut TcpStream) -> Option<(Request, Message, Vec<u8>)> {
    let mut held = Vec::new();
    let head = loop {
        if let Some((head, used)) = Request::decode(&held).unwrap() {
            held.drain(..used);
            break head;
        }
        held.push(byte(stream)?);
    };
    if head.waits() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
    }
    let (mut body, mut whole) = (Body::new(head.body().unwrap()), Vec::new());
    while !body.is_done() {
        let taken = body.take(&held).unwrap();
        whole.extend_from_slice(taken.data);
        let used = taken.used;
        held.drain(..used);
        if used == 0 {
            let mut more = [0; 65_536];
            let got = stream.read(&mut more).unwrap();
            assert!(got > 0, "the request is cut off");
            held.extend_from_slice(&more[..got]);
        }
    }
    let mut decoder = Decoder::new(Limits::default());
    let used = decoder.take(&whole).unwrap();
    Some((head, decoder.message().unwrap(), whole.split_off(used)))
}

fn respond(stream: &mut TcpStream, to: &Message, status: Status, job: Option<i32>) {
    let mut response = Message::request(Version(2, 0), Operation(status.0), to.request_id);
    if !status.is_successful() {
        let group = response.groups.remove(0);
        let said = IppValue::chars(CharKind::Text, "Because of a script.");
        response.groups.push(group.with("status-message", said));
    }
    if let Some(state) = job {
        response.groups.push(
            Group::new(GroupTag::JOB)
                .with("job-id", IppValue::Integer(7))
                .with("job-state", IppValue::Enum(state))
                .with("job-state-reasons", IppValue::keyword("job-printing")),
        );
    }
    let body = response.encode().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/ipp\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
}

#[test]
fn a_job_of_ipp_arrives_and_is_waited_for() {
    let data = some_bytes(300_000);
    let (_folder, path) = file(&data);
    let (port, served) = server(move |mut stream| {
        let (head, printed, document) = request(&mut stream).unwrap();
        assert!(head.waits() && head.headers.text("Content-Length").is_some());
        respond(&mut stream, &printed, Status::OK, Some(3));
        for state in [5, 5, 9] {
            let (_, asked, _) = request(&mut stream).unwrap();
            assert_eq!(Operation(asked.code), Operation::GET_JOB_ATTRIBUTES);
            assert_eq!(asked.number(GroupTag::OPERATION, "job-id"), Some(7));
            respond(&mut stream, &asked, Status::OK, Some(state));
        }
        (printed, document)
    });
    let line = format!(
        "ipp://127.0.0.1:{port}/ipp/print {path} --ipp-version 1.1 --wait --user ann \
         --job-name report --format application/pdf"
    );
    let printed = print(&line);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    let (message, document) = served.join().unwrap();
    assert!(document == data);
    assert_eq!((message.version, Operation(message.code)), (Version(1, 1), Operation::PRINT_JOB));
    let names: Vec<&str> =
        message.groups[0].attributes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names[..3],
        ["attributes-charset", "attributes-natural-language", "printer-uri"],
        "RFC 8011 has them in this order"
    );
    let text = |name| message.text(GroupTag::OPERATION, name).unwrap_or_default().into_owned();
    assert_eq!(text("printer-uri"), format!("ipp://127.0.0.1:{port}/ipp/print"));
    assert_eq!((text("requesting-user-name"), text("job-name")), ("ann".into(), "report".into()));
    assert_eq!(text("document-format"), "application/pdf");
    let answer = &printed.report["answer"];
    assert_eq!((&answer["job_id"], &answer["state"]), (&7.into(), &"pending".into()));
    assert_eq!(answer["end"]["state"], "completed");
    assert_eq!(answer["operations"][0]["name"], "Print-Job");
}

#[test]
fn compressed_documents_and_those_of_unknown_size_go_in_chunks() {
    let data = "all work and no play ".repeat(20_000).into_bytes();
    for kind in ["none", "gzip", "deflate"] {
        let (port, served) = server(|mut stream| {
            let (_, created, none) = request(&mut stream).unwrap();
            assert_eq!(Operation(created.code), Operation::CREATE_JOB);
            assert!(none.is_empty());
            respond(&mut stream, &created, Status::OK, Some(4));
            let (head, sent, document) = request(&mut stream).unwrap();
            assert!(head.headers.says("Transfer-Encoding", "chunked"));
            respond(&mut stream, &sent, Status::OK, Some(3));
            (sent, document)
        });
        let line = format!("ipp://127.0.0.1:{port}/ipp/print - --compression {kind}");
        let printed = print_with(&line, &data);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{kind}");
        let (sent, document) = served.join().unwrap();
        assert_eq!(Operation(sent.code), Operation::SEND_DOCUMENT);
        let said = sent.text(GroupTag::OPERATION, "compression").map(Cow::into_owned);
        assert_eq!(said.as_deref(), Some(kind).filter(|kind| *kind != "none"));
        let mut got = Vec::new();
        match kind {
            "gzip" => flate2::read::GzDecoder::new(&document[..]).read_to_end(&mut got).unwrap(),
            "deflate" => {
                flate2::read::DeflateDecoder::new(&document[..]).read_to_end(&mut got).unwrap()
            }
            _ => (&document[..]).read_to_end(&mut got).unwrap(),
        };
        assert!(got == data, "{kind}");
        let report = &printed.report;
        assert_eq!(report["document"]["read_bytes"], data.len());
        assert_eq!(report["transfer"]["sent_bytes"], document.len());
    }
}

#[test]
fn refusals_of_ipp_and_http_are_named() {
    // A status of IPP, with its words.
    let (port, served) = server(|mut stream| {
        let (_, asked, _) = request(&mut stream).unwrap();
        respond(&mut stream, &asked, Status::TOO_MANY_JOBS, None);
    });
    let line = |port: u16| format!("ipp://127.0.0.1:{port}/a --payload zeros --bytes 3MB");
    let printed = print(&line(port));
    let said = "the server answered server-error-too-many-jobs to Print-Job; it says \"Because of a \
                script.\"";
    assert!(printed.stderr.contains(said), "{}", printed.stderr);
    assert_eq!(printed.code, 1);
    served.join().unwrap();
    // An answer of HTTP in place of it, before the document and within it.
    for (status, said) in [
        (
            "413 Request Entity Too Large",
            "which means client-error-request-entity-too-large: the server's spool is full",
        ),
        ("426 Upgrade Required", "encrypted connections only"),
        ("401 Unauthorized", "the server requires a login"),
        ("404 Not Found", "there is no such printer"),
    ] {
        for within in [false, true] {
            let (port, served) = server(move |mut stream| {
                let mut held = Vec::new();
                while Request::decode(&held).unwrap().is_none() {
                    held.push(byte(&mut stream).unwrap());
                }
                if within {
                    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
                    stream.read_exact(&mut [0; 100_000]).unwrap();
                }
                let page = "<html><title>No</title><body>It is so.</body></html>";
                let length = page.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/html\r\n\
                     Content-Length: {length}\r\n\r\n{page}"
                );
                stream.write_all(head.as_bytes()).unwrap();
                // As cupsd does: it closes with data unread, which resets.
            });
            let printed = print(&line(port));
            assert_eq!(printed.code, 1);
            assert!(printed.stderr.contains(said), "{status}, {within}: {}", printed.stderr);
            served.join().unwrap();
        }
    }
}

#[test]
fn a_created_job_without_a_document_is_cancelled() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (_, created, _) = request(&mut stream).unwrap();
        respond(&mut stream, &created, Status::OK, Some(4));
        let (_, sent, _) = request(&mut stream).unwrap();
        respond(&mut stream, &sent, Status::ENTITY_TOO_LARGE, None);
        let (mut stream, _) = listener.accept().unwrap();
        let (_, last, _) = request(&mut stream).unwrap();
        respond(&mut stream, &last, Status::OK, None);
        (Operation(last.code), last.number(GroupTag::OPERATION, "job-id"))
    });
    let printed =
        print(&format!("ipp://127.0.0.1:{port}/a --create-job --payload zeros --bytes 3k"));
    assert!(printed.stderr.contains("client-error-request-entity-too-large"), "{}", printed.stderr);
    assert_eq!(served.join().unwrap(), (Operation::CANCEL_JOB, Some(7)));
}

#[test]
fn hostile_servers_of_ipp_end_it_with_an_error() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/ipp\r\n";
    let chunked = format!("{ok}Transfer-Encoding: chunked\r\n\r\n");
    let attributes = [
        format!("{ok}\r\n").as_bytes(),
        b"\x02\x00\x00\x00\x00\x00\x00\x01\x01",
        &b"\x44\x00\x01a\x00\x01b".repeat(400_000),
    ]
    .concat();
    let cases: [(Vec<u8>, &str); 9] = [
        (
            [&b"HTTP/1.1 200 OK\r\nX: "[..], &[b'x'; 60_000]].concat(),
            "the head of HTTP has more than 16384 bytes",
        ),
        (
            [&b"HTTP/1.1 200 OK\r\n"[..], &b"a: b\r\n".repeat(3_000)].concat(),
            "the head of HTTP has more than 100 headers",
        ),
        (attributes, "than 65536 values"),
        (format!("{chunked}1000000000000000\r\n").into_bytes(), "a chunk of HTTP says to have"),
        (format!("{chunked}zz\r\n").into_bytes(), "does not begin with its size"),
        (
            format!("{ok}Content-Length: 9\r\n\r\n\x02\0\0\0\0\0\0\x63\x03").into_bytes(),
            "it answers request 99 instead of request 1",
        ),
        (format!("{ok}Content-Length: 3\r\n\r\n\x02\0\0").into_bytes(), "incomplete"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec(), "it is no HTTP"),
        (b"HTTP/1.1 100 Continue\r\n\r\n".repeat(3_000), "it sends only interim responses"),
    ];
    for (bytes, said) in cases {
        let (port, served) = server(move |stream| {
            let reading = stream.try_clone().unwrap();
            let reader = std::thread::spawn(move || all(&reading));
            let _ = (&stream).write_all(&bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            drop(stream);
            reader.join().unwrap();
        });
        let line = format!("ipp://127.0.0.1:{port}/a --payload zeros --bytes 3k --patience {LONG}");
        let printed = print(&line);
        assert_eq!(printed.code, 1, "{said}");
        assert!(printed.stderr.contains(said), "{said}: {}", printed.stderr);
        assert!(printed.took < PATIENCE, "{said}: {:?}", printed.took);
        served.join().unwrap();
    }
}

#[test]
fn a_reserved_port_is_used_where_it_is_allowed() {
    let (port, served) = server(|stream| {
        let from = stream.peer_addr().unwrap().port();
        takes_all(stream, false);
        from
    });
    let line = format!("lpd://127.0.0.1:{port}/lp --payload zeros --bytes 500 --reserved-port");
    let printed = print(&line);
    if printed.code == 0 {
        let from = served.join().unwrap();
        assert!((721..=731).contains(&from), "{from}");
    } else {
        assert!(printed.stderr.contains("cap_net_bind_service"), "{}", printed.stderr);
    }
}

#[test]
fn who_cannot_be_reached_is_told_what_to_do() {
    // Nobody listens on a port that was just free.
    let port = free_port();
    let line = format!("print 127.0.0.1:{port} --protocol raw --payload zeros --bytes 5");
    let (stdout, stderr, code) = told(&run(&line));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert!(stderr.contains("Connection refused") && stderr.contains("Try LPR (515)"), "{stderr}");
    let (_, stderr, code) = told(&run("print printer a"));
    assert_eq!(code, 2);
    assert!(stderr.contains("give --protocol"), "{stderr}");
    let (_, stderr, code) = told(&run("print socket://127.0.0.1 /nowhere/job.prn"));
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot read /nowhere/job.prn"), "{stderr}");
}

#[test]
fn a_send_buffer_is_not_learned_from_what_does_not_tell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.json");
    let at = path.display();
    let line =
        format!("print socket://127.0.0.1:9 --payload zeros --bytes 5 --send-buffer auto:{at}");
    let here = r#"{ "schema": "windlass.explain/2", "connections": [
        { "receiver": "192.0.2.7:9", "verdict": { "limit": "send-buffer" } } ] }"#;
    for (holds, expected) in [
        (None, "No such file"),
        (Some(here), "it has no connection that carried data to 127.0.0.1"),
        (Some(r#"{ "schema": "windlass.ping/1" }"#), "it is a report of windlass.ping/1"),
        (Some("{ \"schema\": "), "it is not a report: EOF"),
        (Some("%!PS-Adobe-3.0"), "cannot learn from "),
    ] {
        match holds {
            Some(text) => fs::write(&path, text).unwrap(),
            None => assert!(!path.exists()),
        }
        let (stdout, stderr, code) = told(&run(&line));
        assert_eq!((stdout.as_str(), code), ("", 1), "{stderr}");
        assert!(stderr.contains(expected) && stderr.contains("first.json"), "{stderr}");
    }
}

#[test]
fn the_text_says_what_send_buffer_was_learned() {
    let (port, served) = server(|stream| all(&stream).len());
    let to = format!("print socket://127.0.0.1:{port} --payload zeros --bytes 300000");
    let (stdout, stderr, code) = told(&run(&format!("{to} --send-buffer auto")));
    assert_eq!((stderr.as_str(), code), ("", 0));
    // Lines are wrapped.
    let words = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [" learned ", ", in the first 300,000 B and ", " chosen "] {
        assert!(words.contains(part), "{part}: {stdout}");
    }
    assert_eq!(served.join().unwrap(), 300_000);
}

#[test]
fn the_text_has_every_figure() {
    let (port, served) = server(|stream| all(&stream).len());
    let (stdout, stderr, code) =
        told(&run(&format!("print socket://127.0.0.1:{port} --payload text --bytes 300000")));
    assert_eq!((stderr.as_str(), code), ("", 0));
    for part in [
        "here → socket://127.0.0.1:",
        "acknowledged  300,000 B in ",
        "printer       it closed the connection",
        "kernel       busy ",
        "send buffer  the kernel's choice; granted ",
        "RTT ",
        "resent ",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert_eq!(served.join().unwrap(), 300_000);
}
