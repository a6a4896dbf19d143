//! Pages of documents that other programs make: Ghostscript's devices, qpdf and CUPS's
//! filters. Each document is made of a PDF with so many pages, which pdfinfo counts, too.

use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_wire::pages::{Counter, Pages, UnknownReason};

/// Ghostscript's devices whose output states its pages: PCL 5, PCL XL in PJL, PostScript, PDF, PWG
/// raster, CUPS raster of both kinds, URF.
const DEVICES: [&str; 11] = [
    "ljet4",
    "laserjet",
    "ljet4d",
    "cljet5",
    "pxlmono",
    "pxlcolor",
    "ps2write",
    "pdfwrite",
    "pwgraster",
    "cups",
    "urf",
];

fn pages(document: &[u8]) -> Pages {
    let whole = {
        let mut counter = Counter::new("application/octet-stream");
        counter.feed(document);
        counter.finish()
    };
    let mut counter = Counter::new("application/octet-stream");
    document.chunks(1_000).for_each(|piece| counter.feed(piece));
    assert_eq!(counter.finish(), whole);
    whole
}

/// Runs a tool; what it writes to its standard output, where it does what it should.
fn run(tool: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new(tool).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn skipped(tool: &str) {
    println!("skipped: {tool} is not installed");
}

fn ghostscript(device: &str, from: &Path, to: &Path) -> bool {
    let to = format!("-sOutputFile={}", to.display());
    let device = format!("-sDEVICE={device}");
    let from = from.to_str().unwrap();
    run("gs", &["-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", &device, "-r75", &to, from]).is_some()
}

/// A PDF of so many pages; none without Ghostscript.
fn pdf(folder: &Path, count: usize) -> Option<PathBuf> {
    let program = folder.join("pages.ps");
    let text = format!(
        "%!PS\n/Helvetica findfont 20 scalefont setfont\n1 1 {count} {{ 72 700 moveto 10 string \
         cvs show showpage }} for\n"
    );
    std::fs::write(&program, text).unwrap();
    let document = folder.join("pages.pdf");
    ghostscript("pdfwrite", &program, &document).then_some(document)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn what_ghostscript_writes_is_counted() {
    let folder = folder("pages-of-ghostscript");
    for count in [1, 3] {
        let Some(pdf) = pdf(&folder, count) else { return skipped("gs") };
        let counted = Pages::Counted(count as u64);
        for device in DEVICES {
            let document = folder.join(device);
            // A release may lack one.
            if !ghostscript(device, &pdf, &document) {
                continue;
            }
            assert_eq!(pages(&std::fs::read(&document).unwrap()), counted, "{device}");
        }
    }
}

#[test]
fn each_way_to_write_a_pdf_has_the_same_pages() {
    let folder = folder("pages-of-qpdf");
    let Some(plain) = pdf(&folder, 12) else { return skipped("gs") };
    let plain = plain.to_str().unwrap();
    if let Some(info) = run("pdfinfo", &[plain]) {
        let info = String::from_utf8_lossy(&info).replace(' ', "");
        assert!(info.contains("Pages:12\n"), "{info}");
    }
    for arguments in [
        vec!["--object-streams=generate"],
        vec!["--object-streams=disable", "--stream-data=uncompress"],
        vec!["--linearize"],
        vec!["--linearize", "--object-streams=generate"],
        vec!["--qdf"],
        vec!["--pages", ".", "1-z", "--"],
    ] {
        let document = folder.join("written.pdf");
        let mut all = vec![plain];
        all.extend(arguments.iter().copied());
        all.push(document.to_str().unwrap());
        if run("qpdf", &all).is_none() {
            return skipped("qpdf");
        }
        let document = std::fs::read(document).unwrap();
        assert_eq!(pages(&document), Pages::Counted(12), "{arguments:?}");
    }
    let encrypted = folder.join("encrypted.pdf");
    let to = encrypted.to_str().unwrap();
    run("qpdf", &[plain, "--encrypt", "user", "owner", "256", "--", to]).unwrap();
    let encrypted = std::fs::read(encrypted).unwrap();
    assert_eq!(pages(&encrypted), Pages::Unknown(UnknownReason::Encrypted));
}

#[test]
fn what_filters_of_cups_write_is_counted() {
    let folder = folder("pages-of-cups");
    let Some(pdf) = pdf(&folder, 2) else { return skipped("gs") };
    let pdf = pdf.to_str().unwrap();
    for to in ["image/pwg-raster", "application/vnd.cups-postscript", "application/vnd.cups-pdf"] {
        let arguments = ["-i", "application/pdf", "-m", to, pdf];
        let Some(document) = run("cupsfilter", &arguments).filter(|made| made.len() > 100) else {
            skipped("cupsfilter");
            continue;
        };
        assert_eq!(pages(&document), Pages::Counted(2), "{to}");
    }
}
