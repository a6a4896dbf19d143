//! Documents for a device that takes other formats: filters of this host make them.

use std::fs;

use windlass_wire::ipp::{Group, GroupTag, Message, Operation, Status, Value};
use windlass_wire::pages::{Counter, Pages};

use super::accounts::pdf;
use super::client::{about, ask, job_id, print_job, said};
use super::ran;
use super::server::{Spool, wait_for};
use super::support::eve::Eve;
use super::support::{has, skipped};

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
    spool.wait_counts("a", "completed", 5);
    assert_eq!(pages(&eve), [1, 2, 3, 5, 7].map(Pages::Counted));
    // A sheet before the job, and none behind it.
    let mut with_sheet = job(&spool, "application/pdf");
    asks(&mut with_sheet, "job-sheets", Value::keyword("standard"));
    job_id(&ask(spool.ipp, &with_sheet, &pdf(9)));
    spool.wait_counts("a", "completed", 6);
    assert_eq!(pages(&eve), [1, 1, 2, 3, 5, 7, 9].map(Pages::Counted));
    // What nothing here makes of it is refused at the door, and what is damaged on the way.
    let no = ask(spool.ipp, &job(&spool, "application/vnd.hp-PCL"), b"\x1bE");
    assert_eq!(Status(no.code), Status::FORMAT_NOT_SUPPORTED);
    job_id(&ask(spool.ipp, &job(&spool, "application/pdf"), b"%PDF-1.4\nnothing"));
    spool.wait_counts("a", "aborted", 1);
    spool.says("cannot be made image/pwg-raster");
    assert_eq!(eve.kept().len(), 7);
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
