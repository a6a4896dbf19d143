//! Copies: as many as were asked for, in the order that was asked for, and none again
//! that the device has.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use windlass_wire::ipp::{CharKind, Group, GroupTag, Message, Operation, Status, Value};

use super::client::{about, about_job, ask, job_id, print, print_job, said, state};
use super::content;
use super::server::{Spool, open_to_all, wait_for};
use windlass_testkit::cups::Cups;
use windlass_testkit::has;

/// A device on a port that takes connections one after the other.
fn device() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("socket://127.0.0.1:{}", listener.local_addr().unwrap().port());
    (listener, uri)
}

fn taken(listener: &TcpListener) -> String {
    let mut got = String::new();
    listener.accept().unwrap().0.read_to_string(&mut got).unwrap();
    got
}

/// A spool whose jobs become files of a folder, for another to forward to.
struct NextSpool {
    spool: Spool,
    out: PathBuf,
    seen: u32,
}

impl NextSpool {
    fn new(folder: &std::path::Path) -> Self {
        let out = folder.join("out");
        fs::create_dir(&out).unwrap();
        let last = format!("last=file:{}", out.display());
        Self { spool: Spool::start(&folder.join("behind"), &["--printer", &last]), out, seen: 0 }
    }

    fn next(&mut self) -> String {
        self.seen += 1;
        let path = self.out.join(format!("last-{:08}", self.seen));
        wait_for("the next job behind", || path.exists());
        fs::read_to_string(path).unwrap()
    }
}

/// Options of lp for several files, and the printed result.
const ORDERS: [(&[&str], &str); 2] = [
    (&[], "111222"),
    (&["-o", "multiple-document-handling=separate-documents-collated-copies"], "121212"),
];

#[test]
fn lp_gets_the_copies_that_it_asks_for_on_each_device() {
    let test = "lp_gets_the_copies_that_it_asks_for_on_each_device";
    if !has("lp", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (listener, socket) = device();
    let mut behind = NextSpool::new(folder.path());
    let config = format!(
        "[[printer]]\nname = \"socket\"\ndevice = \"{socket}\"\n\
         [[printer]]\nname = \"file\"\ndevice = \"file:{file}\"\n\
         [[printer]]\nname = \"exec\"\ndevice = \"exec:cat > {exec}\"\n\
         [[printer]]\nname = \"lpd\"\ndevice = \"lpd://127.0.0.1:{lpr}/last\"\n\
         [[printer]]\nname = \"ipp\"\ndevice = \"{ipp}\"\n\
         [[printer]]\nname = \"ipp-repeat\"\ncopies = \"repeat\"\ndevice = \"{ipp}\"\n\
         [[printer]]\nname = \"lpd-repeat\"\ncopies = \"repeat\"\n\
         device = \"lpd://127.0.0.1:{lpr}/last\"\n",
        file = at("file"),
        exec = at("exec"),
        lpr = behind.spool.lpr,
        ipp = behind.spool.uri("last"),
    );
    fs::write(at("spool.toml"), config).unwrap();
    let front = Spool::start(&folder.path().join("front"), &["--config", &at("spool.toml")]);
    let (one, two) = (at("one"), at("two"));
    fs::write(&one, "1").unwrap();
    fs::write(&two, "2").unwrap();
    let server = format!("127.0.0.1:{}", front.ipp);
    let lp = |printer: &str, more: &[&str]| {
        content("lp", &[&["-h", &server, "-d", printer, "-n", "3"], more].concat());
    };
    for (order, expected) in ORDERS {
        let files = [order, &[&one, &two]].concat();
        lp("socket", &files);
        assert_eq!(taken(&listener), expected);
        for printer in ["file", "exec"] {
            let _ = fs::remove_file(at(printer));
            lp(printer, &files);
            wait_for(printer, || fs::read_to_string(at(printer)).is_ok_and(|got| got == expected));
        }
    }
    // A device that has a word for copies gets each document once, and the word.
    for printer in ["lpd", "ipp"] {
        lp(printer, &[&one, &two]);
        assert_eq!([behind.next(), behind.next()], ["111", "222"], "{printer}");
        let id = i32::try_from(behind.seen).unwrap();
        let asked = about_job(Operation::GET_JOB_ATTRIBUTES, behind.spool.ipp, "last", id);
        let job = ask(behind.spool.ipp, &asked, b"");
        assert_eq!(job.number(GroupTag::JOB, "copies"), Some(3), "{printer}");
        // Collated they go one after the other.
        lp(printer, &[ORDERS[1].0, &[&one, &two]].concat());
        for document in ["1", "2"].repeat(3) {
            assert_eq!(behind.next(), document, "{printer}");
        }
    }
    for printer in ["lpd-repeat", "ipp-repeat"] {
        lp(printer, &[&one]);
        assert_eq!([behind.next(), behind.next(), behind.next()], ["1", "1", "1"], "{printer}");
    }
    front.wait_counts("ipp-repeat", "completed", 1);
    for printer in ["socket", "file", "exec", "lpd", "ipp"] {
        front.wait_counts(printer, "completed", 2);
        let bytes = format!("windlass_spool_delivered_bytes_total{{printer=\"{printer}\"}}");
        assert_eq!(front.metric(&bytes), 12, "{printer}");
    }
    let said = front.lines();
    assert!(front.events("device-failed").is_empty(), "{said:#?}");
    assert_eq!((front.stop().code, behind.spool.stop().code), (Some(0), Some(0)));
}

/// A raw queue of cupsd gives the copies to its backend, and that to the spool.
#[test]
fn copies_come_through_the_raw_queues_of_cupsd() {
    let test = "copies_come_through_the_raw_queues_of_cupsd";
    if !has("lp", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (listener, socket) = device();
    let spool = Spool::start(folder.path(), &["--printer", &format!("a={socket}")]);
    let Some(cups) = Cups::start(test, &spool.uri("a"), "", None) else { return };
    let file = folder.path().join("one").display().to_string();
    fs::write(&file, "one").unwrap();
    let server = format!("127.0.0.1:{}", cups.port);
    content("lp", &["-h", &server, "-d", "dummy", "-n", "3", &file]);
    assert_eq!(taken(&listener), "oneoneone", "{}", cups.log());
    spool.wait_counts("a", "completed", 1);
    assert_eq!(spool.stop().code, Some(0));
}

/// A job with copies of some documents, by Create-Job.
fn created(spool: &Spool, printer: &str, copies: i32, documents: &[&[u8]]) -> i32 {
    let mut create = about(Operation::CREATE_JOB, spool.ipp, printer);
    create.groups.push(Group::new(GroupTag::JOB).with("copies", Value::Integer(copies)));
    let id = job_id(&ask(spool.ipp, &create, b""));
    for (place, document) in documents.iter().enumerate() {
        let mut send = about_job(Operation::SEND_DOCUMENT, spool.ipp, printer, id);
        let is_last = place + 1 == documents.len();
        said(&mut send, "last-document", Value::Boolean(is_last));
        assert_eq!(Status(ask(spool.ipp, &send, document).code), Status::OK);
    }
    id
}

/// A device of LPR: what it answers to each data file, and which it was brought.
fn lpd(answers: &'static [u8]) -> (u16, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = thread::spawn(move || {
        let mut brought = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            // The queue, the control file's name, the file, and the data file's name.
            line(&mut stream);
            stream.write_all(&[0]).unwrap();
            let control = sized(&mut stream);
            stream.write_all(&[0]).unwrap();
            let data = sized(&mut stream);
            let copies = control.lines().filter(|line| line.starts_with("ldf")).count();
            brought.push(format!("{data}*{copies}"));
            stream.write_all(&[*answer]).unwrap();
            // Its end of the connection says no more.
            let _ = stream.read(&mut [0]);
        }
        brought
    });
    (port, served)
}

fn line(stream: &mut TcpStream) -> String {
    let (mut line, mut byte) = (String::new(), [0]);
    while stream.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.push(char::from(byte[0]));
    }
    line
}

/// A file that is announced with its size, and ends with a zero.
fn sized(stream: &mut TcpStream) -> String {
    let announced = line(stream);
    let size = announced[1..].split(' ').next().unwrap().parse::<usize>().unwrap();
    stream.write_all(&[0]).unwrap();
    let mut file = vec![1; size + 1];
    stream.read_exact(&mut file).unwrap();
    assert_eq!(file.pop(), Some(0));
    String::from_utf8(file).unwrap()
}

#[test]
fn what_a_device_has_is_not_sent_again_and_what_it_refuses_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    // The second document is refused for now, then taken; of the next job it is refused
    // for good, and the third job has its turn.
    let (port, served) = lpd(&[0, 2, 0, 0, 1, 0]);
    let printer = format!("a=lpd://127.0.0.1:{port}/q");
    let spool = Spool::start(folder.path(), &["--printer", &printer]);
    let first = created(&spool, "a", 3, &[b"one", b"two"]);
    let second = created(&spool, "a", 1, &[b"three", b"four"]);
    let third = created(&spool, "a", 2, &[b"five"]);
    let brought = served.join().unwrap();
    assert_eq!(brought, ["one*3", "two*3", "two*3", "three*1", "four*1", "five*2"]);
    for (id, end) in [(first, "completed"), (second, "aborted"), (third, "completed")] {
        wait_for(end, || state(spool.ipp, "a", id) == Some(end));
    }
    let failed = spool.events_once("device-failed", 2);
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed[0].contains("job 1: the server answered 2 to the data file"), "{failed:?}");
    assert!(failed[1].contains("job 2: the server answered 1 to the data file"), "{failed:?}");
    assert!(failed[1].ends_with(": aborted"), "{failed:?}");
    let asked = about_job(Operation::GET_JOB_ATTRIBUTES, spool.ipp, "a", second);
    let job: Message = ask(spool.ipp, &asked, b"");
    let why = job.text(GroupTag::JOB, "job-state-message").unwrap().into_owned();
    assert!(why.contains("the server answered 1"), "{why}");
    assert_eq!(spool.stop().code, Some(0));
}

/// Neither the rest of its copies comes, nor does it end before the one that is on its way.
#[test]
fn a_job_that_is_canceled_stops_between_its_copies() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        "[[printer]]\nname = \"a\"\ncopies = \"repeat\"\ndevice = \"lpd://127.0.0.1:{}/q\"\n",
        listener.local_addr().unwrap().port()
    );
    let path = folder.path().join("spool.toml");
    fs::write(&path, config).unwrap();
    let spool = Spool::start(&folder.path().join("spool"), &["--config", path.to_str().unwrap()]);
    let id = created(&spool, "a", 5, &[b"one"]);
    let (mut stream, _) = listener.accept().unwrap();
    line(&mut stream);
    let cancel = about_job(Operation::CANCEL_JOB, spool.ipp, "a", id);
    assert_eq!(Status(ask(spool.ipp, &cancel, b"").code), Status::OK);
    wait_for("its end", || state(spool.ipp, "a", id) == Some("canceled"));
    drop(stream);
    let next = created(&spool, "a", 1, &[b"two"]);
    let (mut stream, _) = listener.accept().unwrap();
    line(&mut stream);
    stream.write_all(&[0]).unwrap();
    sized(&mut stream);
    stream.write_all(&[0]).unwrap();
    assert_eq!(sized(&mut stream), "two", "another copy of the first");
    stream.write_all(&[0]).unwrap();
    drop(stream);
    wait_for("its end", || state(spool.ipp, "a", next) == Some("completed"));
    assert_eq!(spool.stop().code, Some(0));
}

/// Of a job that is sent document by document, a start goes on where a kill was.
#[test]
fn a_kill_between_two_copies_reprints_none_that_the_device_has() {
    let folder = tempfile::tempdir().unwrap();
    for durability in ["cache", "fsync"] {
        let at = folder.path().join(durability);
        // The device is down before the second copy.
        let (port, served) = lpd(&[0, 2]);
        let config = |port: u16| {
            let path = folder.path().join("spool.toml");
            let text = format!(
                "durability = \"{durability}\"\n[[printer]]\nname = \"a\"\ncopies = \"repeat\"\n\
                 device = \"lpd://127.0.0.1:{port}/q\"\n"
            );
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let spool = Spool::start(&at, &["--config", &config(port)]);
        let id = created(&spool, "a", 3, &[b"one"]);
        assert_eq!(served.join().unwrap(), ["one*1", "one*1"]);
        spool.says("tried again in");
        spool.kill();
        let (port, served) = lpd(&[0, 0]);
        let spool = Spool::start(&at, &["--config", &config(port)]);
        assert_eq!(served.join().unwrap(), ["one*1", "one*1"], "two of three are left");
        wait_for("its end", || state(spool.ipp, "a", id) == Some("completed"));
        assert_eq!(spool.stop().code, Some(0));
    }
}

#[test]
fn a_format_that_a_device_refuses_is_given_up_or_held_as_its_printer_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(
        at("behind.toml"),
        "[[printer]]\nname = \"last\"\ndevice = \"drop\"\nformats = [\"application/pdf\"]\n",
    )
    .unwrap();
    let behind = Spool::start(&folder.path().join("behind"), &["--config", &at("behind.toml")]);
    let device = behind.uri("last");
    let config = format!(
        "[[printer]]\nname = \"a\"\ndevice = \"{device}\"\n\
         [[printer]]\nname = \"b\"\ndevice = \"{device}\"\non-refusal = \"hold-job\"\n"
    );
    fs::write(at("front.toml"), config).unwrap();
    let front = Spool::start(&folder.path().join("front"), &["--config", &at("front.toml")]);
    for (printer, end) in [("a", "aborted"), ("b", "pending-held")] {
        let id = print(front.ipp, printer, "no format that it takes", b"\0\x01");
        let mut pdf = print_job(front.ipp, printer, "one that it takes");
        said(&mut pdf, "document-format", Value::chars(CharKind::MediaType, "application/pdf"));
        job_id(&ask(front.ipp, &pdf, b"%PDF"));
        wait_for(end, || state(front.ipp, printer, id) == Some(end));
        front.wait_counts(printer, "completed", 1);
    }
    let failed = front.events_once("device-failed", 2);
    let why = "the device takes no \"application/octet-stream\"";
    assert!(failed[0].contains(why), "{failed:?}");
    assert!(failed[0].ends_with(": aborted"), "{failed:?}");
    assert!(failed[1].ends_with(": held until it is released"), "{failed:?}");
    assert_eq!((front.stop().code, behind.stop().code), (Some(0), Some(0)));
}
