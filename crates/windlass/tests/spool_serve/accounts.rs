//! Accounting: page logs in CUPS's format and as JSON, and quotas. Each ended job is logged once,
//! however the server ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value as Json;
use windlass_wire::ipp::{CharKind, Group, GroupTag, Message, Operation, Status, Value};

use super::client::{about, about_job, ask, asked_on, job_id, lpr, print, print_job, said};
use super::server::{Spool, wait_for};
use windlass_testkit::schema::{fits_by, validator};
use windlass_testkit::windlass;

/// A PDF of so many pages.
pub(super) fn pdf(pages: usize) -> Vec<u8> {
    let kids: String = (0..pages).map(|page| format!("{} 0 R ", page + 3)).collect();
    let mut text = format!(
        "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
         2 0 obj << /Type /Pages /Count {pages} /Kids [ {kids}] >> endobj\n"
    );
    for page in 0..pages {
        text += &format!(
            "{} 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >> endobj\n",
            page + 3
        );
    }
    (text + "trailer << /Root 1 0 R >>\n%%EOF\n").into_bytes()
}

/// The lines of a log.
fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn accounts(path: &Path) -> Vec<Json> {
    let schema = validator("spool-account-line");
    let lines = lines(path).into_iter().map(|line| serde_json::from_str(&line).unwrap());
    lines.inspect(|line| fits_by(&schema, line)).collect()
}

/// Checks that both logs of a folder have each of these jobs once, and no others; returns the
/// number of rotated logs. The page log has lines of `%j %C`; the second field is checked.
pub(super) fn accounted_once(
    folder: &Path,
    jobs: &BTreeSet<u64>,
    impressions: impl Fn(&str),
) -> usize {
    let logs = |name: &str| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name))
            .collect::<Vec<_>>()
    };
    let mut paged = BTreeMap::<u64, usize>::new();
    for line in logs("page_log").iter().flat_map(|path| lines(path)) {
        let (job, counted) = line.split_once(' ').unwrap();
        impressions(counted);
        *paged.entry(job.parse().unwrap()).or_default() += 1;
    }
    let mut told = BTreeMap::<u64, usize>::new();
    for line in logs("account.jsonl").iter().flat_map(|path| accounts(path)) {
        assert_eq!(line["outcome"], "completed", "{line}");
        *told.entry(line["job"].as_u64().unwrap()).or_default() += 1;
    }
    for (log, counted) in [("page log", &paged), ("account log", &told)] {
        let twice: Vec<_> = counted.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty(), "{log}: {twice:?}");
        let counted: BTreeSet<u64> = counted.keys().copied().collect();
        let missing: Vec<_> = jobs.difference(&counted).collect();
        assert!(missing.is_empty(), "the {log} has no line of {missing:?}");
        let more: Vec<_> = counted.difference(jobs).collect();
        assert!(more.is_empty(), "the {log} has lines of {more:?}, which were not delivered");
    }
    logs("account.jsonl").len() - 1
}

/// A request with attributes of a job.
fn with(mut message: Message, name: &str, value: Value) -> Message {
    message.groups.push(Group::new(GroupTag::JOB).with(name, value));
    message
}

#[test]
fn each_job_that_is_over_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let options = [
        "--printer",
        "a=drop",
        "--printer",
        "b=drop",
        "--page-log",
        &at("page_log"),
        "--account-log",
        &at("account.jsonl"),
        "--history",
        "off",
    ];
    let spool = Spool::start(&folder.path().join("spool"), &options);
    let port = spool.ipp;
    let ask_pages =
        |name: &str, document: &[u8]| job_id(&ask(port, &print_job(port, "a", name), document));
    ask_pages("two\nforged line", &pdf(2));
    let copies = with(print_job(port, "a", "copies"), "copies", Value::Integer(3));
    job_id(&ask(port, &copies, b"%!PS-Adobe-3.0\n%%Pages: 4\n"));
    ask_pages("unknown", b"nobody knows what this is");
    let billed = Value::chars(CharKind::Name, "lab 7");
    job_id(&ask(
        port,
        &with(print_job(port, "b", "billed"), "job-billing", billed),
        b"\x1bEx\x0cy\x0c",
    ));
    let held = with(print_job(port, "a", "held"), "job-hold-until", Value::keyword("indefinite"));
    let held = job_id(&ask(port, &held, b"x"));
    ask(port, &about_job(Operation::CANCEL_JOB, port, "a", held), b"");
    spool.wait_counts("a", "completed", 3);
    spool.wait_counts("b", "completed", 1);
    assert_eq!(spool.metric("windlass_spool_printed_pages_total{printer=\"a\"}"), 14);
    assert_eq!(spool.metric("windlass_spool_jobs_of_unknown_pages_total{printer=\"a\"}"), 1);
    let count = "windlass_spool_acknowledgement_seconds_count{printer=\"a\"}";
    assert_eq!(spool.metric(count), 4);
    // Nobody waits for the server's end to see a line.
    wait_for("a line for each job", || lines(Path::new(&at("page_log"))).len() == 5);
    assert_eq!(spool.stop().code, Some(0));

    let mut page_log = lines(Path::new(&at("page_log")));
    page_log.sort();
    let parts = |line: &str| {
        let (before, rest) = line.split_once(" [").unwrap();
        let (time, after) = rest.split_once("] ").unwrap();
        assert_eq!(time.len(), "26/Nov/2026:04:34:21 +0000".len(), "{line}");
        format!("{before} {after}")
    };
    let page_log: Vec<_> = page_log.iter().map(|line| parts(line)).collect();
    assert_eq!(
        page_log,
        [
            "a tester 1 total 2 - 127.0.0.1 two forged line - -",
            "a tester 2 total 12 - 127.0.0.1 copies - -",
            "a tester 3 total - - 127.0.0.1 unknown - -",
            "a tester 5 total 0 - 127.0.0.1 held - -",
            "b tester 4 total 2 lab 7 127.0.0.1 billed - -",
        ]
    );
    let mut told = accounts(Path::new(&at("account.jsonl")));
    told.sort_by_key(|line| line["job"].as_u64());
    let of = |name: &str| told.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(Json::from(of("pages")), serde_json::json!([2, 4, null, 2, null]));
    assert_eq!(Json::from(of("impressions")), serde_json::json!([2, 12, null, 2, 0]));
    assert_eq!(told[2]["pages_unknown"], "its format is not known");
    assert_eq!((&told[4]["outcome"], &told[3]["billing"]), (&"canceled".into(), &"lab 7".into()));

    let account = |more: &[&str]| {
        let output =
            windlass().args(["spool", "account", &at("account.jsonl")]).args(more).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let sums: Json = serde_json::from_str(&account(&["--by", "printer", "--json"])).unwrap();
    fits_by(&validator("spool-account"), &sums);
    assert_eq!(sums["total"]["pages"], 16);
    assert_eq!(sums["rows"][0]["of"], serde_json::json!(["a"]));
    assert_eq!(sums["rows"][0]["sum"]["pages"], 14);
    assert_eq!(sums["rows"][0]["sum"]["jobs_of_unknown_pages"], 1);
    let text = account(&["--by", "user", "--by", "billing"]);
    assert!(text.contains("tester  lab 7"), "{text}");
    assert!(account(&["--user", "nobody"]).contains("all"), "nobody printed nothing");
    let output = windlass().args(["spool", "account", &at("page_log")]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

/// Sends jobs until the server is gone.
fn load(port: u16, jobs: usize) {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let document = pdf(1);
    for job in 0..jobs {
        let request = print_job(port, "a", &job.to_string());
        if asked_on(&mut stream, &request, &document).is_err() {
            return;
        }
    }
}

#[test]
fn a_kill_leaves_no_job_out_and_none_twice() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let device = format!("a=file:{}", out.display());
    let options = [
        "--printer",
        &device,
        "--page-log",
        &at("page_log"),
        "--page-log-format",
        "%j %C",
        "--account-log",
        &at("account.jsonl"),
        "--history",
        "off",
        "--page-log-size",
        "1k",
        "--page-log-files",
        "9999",
    ];
    let spool_folder = folder.path().join("spool");
    for round in 0..6_u64 {
        let spool = Spool::start(&spool_folder, &options);
        let port = spool.ipp;
        let loads: Vec<_> = (0..2).map(|_| std::thread::spawn(move || load(port, 400))).collect();
        // At another moment each time.
        wait_for("some jobs", || {
            spool.metric("windlass_spool_jobs_completed_total{printer=\"a\"}") > round * 17
        });
        spool.kill();
        loads.into_iter().for_each(|load| load.join().unwrap());
        // A line that is not whole is mended.
        if round == 3 {
            let mut log = fs::OpenOptions::new().append(true).open(at("page_log")).unwrap();
            Write::write_all(&mut log, b"123 45").unwrap();
        }
    }
    let spool = Spool::start(&spool_folder, &options);
    wait_for("the rest", || spool.metric("windlass_spool_queued_jobs{printer=\"a\"}") == 0);
    assert_eq!(spool.stop().code, Some(0));
    let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let numbers = names.filter_map(|name| name.strip_prefix("a-").map(str::to_owned));
    let delivered: BTreeSet<u64> = numbers.map(|number| number.parse().unwrap()).collect();
    assert!(delivered.len() > 200, "{}", delivered.len());
    let set_aside = accounted_once(folder.path(), &delivered, |pages| assert_eq!(pages, "1"));
    assert!(set_aside > 2, "{set_aside} are set aside");
}

#[test]
fn who_has_printed_enough_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("spool.toml");
    let text = "account-log = \"LOG\"\n[[printer]]\nname = \"a\"\ndevice = \"drop\"\n\
                [[printer]]\nname = \"b\"\ndevice = \"drop\"\n\
                [[quota]]\nprinter = \"a\"\nperiod = \"1h\"\npages = 3\n\
                [[quota]]\nuser = \"greedy\"\nperiod = \"30d\"\njobs = 2\n";
    let log = folder.path().join("account.jsonl");
    fs::write(&config, text.replace("LOG", log.to_str().unwrap())).unwrap();
    let options = ["--config", config.to_str().unwrap(), "--lpr", "127.0.0.1:0"];
    let spool_folder = folder.path().join("spool");
    let spool = Spool::start(&spool_folder, &options);
    let port = spool.ipp;
    print(port, "a", "first", &pdf(2));
    spool.wait_counts("a", "completed", 1);
    print(port, "a", "second", &pdf(2));
    spool.wait_counts("a", "completed", 2);
    let no = |port: u16, printer: &str, user: &str| {
        let mut request = about(Operation::PRINT_JOB, port, printer);
        request.groups[0].attributes.retain(|one| one.name != "requesting-user-name");
        said(&mut request, "requesting-user-name", Value::chars(CharKind::Name, user));
        ask(port, &request, b"x")
    };
    let refused = no(port, "a", "tester");
    assert_eq!(refused.code, Status::ACCOUNT_LIMIT_REACHED.0);
    let why = refused.said("status-message").unwrap();
    assert!(why.contains("4 of 3 pages in 1 h"), "{why}");
    // So is who says it by another protocol, but nobody else, and nowhere else.
    assert!(!lpr(spool.lpr, "a", "third", b"x").unwrap());
    assert_eq!(no(port, "a", "another").code, Status::OK.0);
    assert_eq!(no(port, "b", "tester").code, Status::OK.0);
    assert_eq!(no(port, "a", "greedy").code, Status::OK.0);
    assert_eq!(no(port, "b", "greedy").code, Status::OK.0);
    assert_eq!(no(port, "b", "greedy").code, Status::ACCOUNT_LIMIT_REACHED.0);
    spool.kill();
    // It is known to the next server, and printers tell CUPS's clients of it.
    let spool = Spool::start(&spool_folder, &options);
    assert_eq!(no(spool.ipp, "a", "tester").code, Status::ACCOUNT_LIMIT_REACHED.0);
    assert_eq!(no(spool.ipp, "b", "greedy").code, Status::ACCOUNT_LIMIT_REACHED.0);
    let printer = ask(spool.ipp, &about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, "a"), b"");
    assert_eq!(printer.number(GroupTag::PRINTER, "job-page-limit"), Some(3));
    assert_eq!(printer.number(GroupTag::PRINTER, "job-quota-period"), Some(3_600));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_page_log_that_cannot_be_written_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("logs/page_log");
    fs::create_dir(folder.path().join("logs")).unwrap();
    let options =
        ["--printer", "a=drop", "--page-log", log.to_str().unwrap(), "--page-log-format", "%j"];
    let spool = Spool::start(&folder.path().join("spool"), &options);
    // Its folder goes, and what is to be written has nowhere to go.
    fs::remove_dir_all(folder.path().join("logs")).unwrap();
    print(spool.ipp, "a", "one", b"x");
    spool.says("the page log cannot be written");
    print(spool.ipp, "a", "two", b"x");
    spool.wait_counts("a", "completed", 2);
    fs::create_dir(folder.path().join("logs")).unwrap();
    spool.says("the page log is written again");
    wait_for("both lines", || lines(&log) == ["1", "2"]);
    // It comes by itself, too, where nothing more ends.
    let says_again = |part: &str| {
        let said = |line: &Json| line["text"].as_str().is_some_and(|text| text.contains(part));
        wait_for(part, || spool.lines().iter().filter(|line| said(line)).count() == 2);
    };
    fs::remove_dir_all(folder.path().join("logs")).unwrap();
    print(spool.ipp, "a", "three", b"x");
    says_again("the page log cannot be written");
    fs::create_dir(folder.path().join("logs")).unwrap();
    says_again("the page log is written again");
    assert_eq!(spool.stop().code, Some(0));
    assert_eq!(lines(&log), ["3"]);
}

/// A server with an account log and these settings.
fn accounting(folder: &Path, settings: &str) -> Spool {
    let config = folder.join("spool.toml");
    let log = folder.join("account.jsonl");
    let printer = "[[printer]]\nname = \"a\"\ndevice = \"drop\"\n";
    fs::write(&config, format!("account-log = {log:?}\n{settings}{printer}")).unwrap();
    Spool::start(&folder.join("spool"), &["--config", config.to_str().unwrap()])
}

#[test]
fn what_unpacks_to_more_than_its_user_has_left_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let quota = "[[quota]]\nuser = \"tester\"\nperiod = \"1d\"\nsize = \"1MB\"\n";
    let spool = accounting(folder.path(), quota);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![0; 20_000_000]).unwrap();
    let packed = packed.finish().unwrap();
    let mut request = print_job(spool.ipp, "a", "a bomb");
    said(&mut request, "compression", Value::keyword("gzip"));
    let refused = ask(spool.ipp, &request, &packed);
    assert_eq!(Status(refused.code), Status::ACCOUNT_LIMIT_REACHED);
    let why = refused.said("status-message").unwrap();
    assert!(why.contains("longer than the 1000000 bytes that are left"), "{why}");
    // What is not compressed counts in the same way, and what fits is taken.
    print(spool.ipp, "a", "fits", &[1; 900_000]);
    let more = ask(spool.ipp, &print_job(spool.ipp, "a", "more"), &[1; 200_000]);
    assert_eq!(Status(more.code), Status::ACCOUNT_LIMIT_REACHED);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn an_encrypted_document_is_no_way_around_a_limit_of_pages() {
    let text = String::from_utf8(pdf(2)).unwrap();
    let encrypted = text.replace("trailer <<", "trailer << /Encrypt 9 0 R");
    let mut large = encrypted.into_bytes();
    large.resize(12_000, b' ');
    let quota = "[[quota]]\nperiod = \"1d\"\npages = 3\n";
    // By their bytes: a page for each 5,000 that are begun.
    let folder = tempfile::tempdir().unwrap();
    let spool = accounting(folder.path(), quota);
    print(spool.ipp, "a", "encrypted", &large);
    spool.wait_counts("a", "completed", 1);
    let next = ask(spool.ipp, &print_job(spool.ipp, "a", "next"), &pdf(1));
    let why = next.said("status-message").unwrap();
    assert!(why.contains("3 of 3 pages in 1 d"), "{why}");
    assert_eq!(spool.stop().code, Some(0));
    // Or not at all.
    let folder = tempfile::tempdir().unwrap();
    let spool = accounting(folder.path(), &format!("uncounted-pages = \"refuse\"\n{quota}"));
    print(spool.ipp, "a", "encrypted", &large);
    spool.wait_counts("a", "aborted", 1);
    spool.says("its pages cannot be counted (it is encrypted)");
    print(spool.ipp, "a", "plain", &pdf(2));
    spool.wait_counts("a", "completed", 1);
    assert_eq!(spool.stop().code, Some(0));
}
