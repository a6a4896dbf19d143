//! Documents for a device that takes other formats: filters of this host make them.

use std::fs;

use windlass_wire::ipp::{Group, GroupTag, Message, Operation, Status, Value};
use windlass_wire::pages::{Counter, Pages};

use super::accounts::pdf;
use super::client::{about, about_job, ask, job_id, print_job, said};
use super::ran;
use super::server::{Spool, wait_for};
use windlass_testkit::eve::Eve;
use windlass_testkit::{has, skipped};

/// A server before a driverless printer that takes raster alone.
fn before_raster(test: &str, folder: &std::path::Path) -> Option<(Eve, Spool)> {
    if !["cupsfilter", "driverless"].iter().all(|tool| has(tool, test)) {
        return None;
    }
    let eve = Eve::taking(test, "image/pwg-raster")?;
    let printer = format!("a=ipp://127.0.0.1:{}/ipp/print", eve.port);
    let spool = Spool::start(folder, &["--printer", &printer]);
    wait_for("what the device takes", || formats(&spool).contains(&"image/pwg-raster".to_owned()));
    if !formats(&spool).contains(&"application/pdf".to_owned()) {
        skipped(test, "no filter here reads PDF");
        return None;
    }
    Some((eve, spool))
}

fn formats(spool: &Spool) -> Vec<String> {
    let printer = ask(spool.ipp, &about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, "a"), b"");
    let group = printer.groups.iter().find(|group| group.tag == GroupTag::PRINTER).unwrap();
    let said = group.attribute("document-format-supported").unwrap();
    // What printers take that were not asked yet has this, too.
    let all: Vec<String> = said.values.iter().map(|one| one.text().unwrap().into_owned()).collect();
    if all.iter().any(|one| one == "application/vnd.hp-PCL") { Vec::new() } else { all }
}

fn job(spool: &Spool, format: &str) -> Message {
    let mut request = print_job(spool.ipp, "a", "report; touch /nowhere");
    let format = Value::chars(windlass_wire::ipp::CharKind::MediaType, format);
    said(&mut request, "document-format", format);
    request
}

fn asks(request: &mut Message, name: &str, value: Value) {
    request.groups.push(Group::new(GroupTag::JOB).with(name, value));
}

/// The pages of each document that the printer has, the newest last.
fn pages(eve: &Eve) -> Vec<Pages> {
    let count = |data: &Vec<u8>| {
        assert!(data.starts_with(b"RaS2"), "{:?}", &data[..data.len().min(16)]);
        let mut counter = Counter::new("image/pwg-raster");
        counter.feed(data);
        counter.finish()
    };
    let kept = eve.kept();
    let mut all: Vec<_> = kept.iter().map(count).collect();
    all.sort_by_key(|pages| pages.known());
    all
}

#[test]
fn a_raster_printer_prints_pdf_and_text() {
    let test = "a_raster_printer_prints_pdf_and_text";
    let folder = tempfile::tempdir().unwrap();
    let Some((eve, spool)) = before_raster(test, &folder.path().join("spool")) else { return };
    job_id(&ask(spool.ipp, &job(&spool, "application/pdf"), &pdf(7)));
    // Who says nothing of the format is understood, too.
    job_id(&ask(spool.ipp, &print_job(spool.ipp, "a", "octets"), &pdf(5)));
    let mut two = job(&spool, "application/pdf");
    asks(&mut two, "number-up", Value::Integer(2));
    job_id(&ask(spool.ipp, &two, &pdf(6)));
    let mut some = job(&spool, "application/pdf");
    asks(&mut some, "page-ranges", Value::Range(2, 3));
    job_id(&ask(spool.ipp, &some, &pdf(6)));
    job_id(&ask(spool.ipp, &job(&spool, "text/plain"), b"some words\n"));
    job_id(&ask(spool.ipp, &print_job(spool.ipp, "a", "words"), b"some more words\n"));
    spool.wait_counts("a", "completed", 6);
    assert_eq!(pages(&eve), [1, 1, 2, 3, 5, 7].map(Pages::Counted));
    // A sheet before the job, and none behind it.
    let mut with_sheet = job(&spool, "application/pdf");
    asks(&mut with_sheet, "job-sheets", Value::keyword("standard"));
    job_id(&ask(spool.ipp, &with_sheet, &pdf(9)));
    spool.wait_counts("a", "completed", 7);
    assert_eq!(pages(&eve), [1, 1, 1, 2, 3, 5, 7, 9].map(Pages::Counted));
    // What nothing here makes of it is refused at the door, and what is damaged on the way.
    let no = ask(spool.ipp, &job(&spool, "application/vnd.hp-PCL"), b"\x1bE");
    assert_eq!(Status(no.code), Status::FORMAT_NOT_SUPPORTED);
    job_id(&ask(spool.ipp, &job(&spool, "application/pdf"), b"%PDF-1.4\nnothing"));
    spool.wait_counts("a", "aborted", 1);
    spool.says("cannot be converted to image/pwg-raster");
    assert_eq!(eve.kept().len(), 8);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn lp_prints_on_a_raster_printer() {
    let test = "lp_prints_on_a_raster_printer";
    if !has("lp", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some((eve, spool)) = before_raster(test, &folder.path().join("spool")) else { return };
    let file = folder.path().join("report.pdf");
    fs::write(&file, pdf(8)).unwrap();
    let server = format!("127.0.0.1:{}", spool.ipp);
    let file = file.to_str().unwrap();
    let args = ["-h", &server, "-d", "a", "-o", "number-up=2", "-o", "page-ranges=2-4", file];
    let done = ran("lp", &args);
    assert!(done.status.success(), "{done:?}");
    spool.wait_counts("a", "completed", 1);
    // The ranges are of the sides that come out, as with cupsd.
    assert_eq!(pages(&eve), [Pages::Counted(3)]);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_start_asks_the_device_before_it_gets_a_job() {
    let test = "a_start_asks_the_device_before_it_gets_a_job";
    let folder = tempfile::tempdir().unwrap();
    let keeps = folder.path().join("spool");
    let Some((eve, spool)) = before_raster(test, &keeps) else { return };
    ask(spool.ipp, &about(Operation::PAUSE_PRINTER, spool.ipp, "a"), b"");
    job_id(&ask(spool.ipp, &job(&spool, "application/pdf"), &pdf(2)));
    job_id(&ask(spool.ipp, &print_job(spool.ipp, "a", "octets"), &pdf(3)));
    ask(spool.ipp, &about(Operation::RESUME_PRINTER, spool.ipp, "a"), b"");
    spool.kill();
    let printer = format!("a=ipp://127.0.0.1:{}/ipp/print", eve.port);
    let spool = Spool::start(&keeps, &["--printer", &printer]);
    let counts =
        |what: &str| spool.metric(&format!("windlass_spool_jobs_{what}_total{{printer=\"a\"}}"));
    wait_for("both jobs", || counts("completed") + counts("aborted") == 2);
    assert_eq!(counts("aborted"), 0);
    assert_eq!(pages(&eve), [2, 3].map(Pages::Counted));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn what_the_device_does_not_do_is_left_out() {
    let test = "what_the_device_does_not_do_is_left_out";
    let folder = tempfile::tempdir().unwrap();
    let Some((eve, spool)) = before_raster(test, &folder.path().join("spool")) else { return };
    let values = [
        ("media", Value::keyword("A4")),
        ("media", Value::keyword("nonsense")),
        ("sides", Value::keyword("two-sided-long-edge")),
        ("printer-resolution", Value::Resolution { cross: 100_000, feed: 100_000, units: 3 }),
    ];
    for (name, value) in values.clone() {
        let mut request = job(&spool, "application/pdf");
        asks(&mut request, name, value);
        job_id(&ask(spool.ipp, &request, &pdf(2)));
    }
    spool.wait_counts("a", "completed", values.len() as u64);
    // A canceled job leaves the device free, at whatever step it was.
    let log = eve.folder.path().join("ippeveprinter.log");
    let created = || {
        let said = fs::read_to_string(&log).unwrap();
        said.matches("Create-Job successful-ok").count()
    };
    for _ in 0..3 {
        let before = created();
        let canceled = job_id(&ask(spool.ipp, &job(&spool, "application/pdf"), &pdf(40)));
        wait_for("the job at its device", || created() > before);
        let request = about_job(Operation::CANCEL_JOB, spool.ipp, "a", canceled);
        ask(spool.ipp, &request, b"");
    }
    let done = spool.metric("windlass_spool_jobs_completed_total{printer=\"a\"}");
    job_id(&ask(spool.ipp, &job(&spool, "application/pdf"), &pdf(1)));
    wait_for("the next job", || {
        spool.metric("windlass_spool_jobs_completed_total{printer=\"a\"}") > done
    });
    // Pages that are none are refused.
    let mut none = job(&spool, "application/pdf");
    asks(&mut none, "page-ranges", Value::Range(3, 2));
    let no = ask(spool.ipp, &none, &pdf(4));
    assert_eq!(Status(no.code), Status::NOT_SUPPORTED);
    assert_eq!(spool.stop().code, Some(0));
}
