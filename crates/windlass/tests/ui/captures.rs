//! Captures that are opened: sent by the browser, or picked of a folder.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::browsed::{kept_to_itself, looks_well};
use crate::{Ui, status};
use windlass_testkit::devtools::Browser;
use windlass_testkit::{has, repository, told, windlass};

const LOSSY: &str = "tests/corpus/loss-fast-recovery-2pc.snd.pcap.gz";
const NAGLE: &str = "tests/corpus/nagle-delayed-ack.snd.pcap.gz";

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(repository(name)).unwrap()
}

#[test]
fn a_capture_that_is_dropped_becomes_a_report_with_charts() {
    let test = "a_capture_that_is_dropped_becomes_a_report_with_charts";
    if !has("chromium", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("<b>&\"x'.pcap.gz"), bytes(NAGLE)).unwrap();
    let ui = Ui::start_with(&[OsStr::new("--captures"), folder.path().as_os_str()]);
    let mut browser = Browser::start(ui.folder.path());
    browser.open(&format!("{}captures", ui.address));
    looks_well(&mut browser, test, "the captures");
    let content = json!(bytes(LOSSY)).to_string();
    browser.follow(|browser| {
        browser.eval(&format!(
            "{{ const held = new DataTransfer();
                held.items.add(new File([new Uint8Array({content})], 'dropped.pcap.gz'));
                const event = (name) => new DragEvent(name,
                  {{ dataTransfer: held, bubbles: true, cancelable: true }});
                document.body.dispatchEvent(event('dragover'));
                window.wasOver = document.querySelector('.drop.over') !== null;
                document.body.dispatchEvent(event('drop')); }}"
        ));
    });
    browser.until("location.pathname.includes('/reports/')");
    browser.until("document.querySelectorAll('.chart .area path').length > 10");
    assert!(!ui.scratch().iter().any(|name| name.contains("dropped")), "{:?}", ui.scratch());
    let seen = browser.text("document.querySelector('main').innerText");
    assert!(seen.contains("What held back dropped.pcap.gz"), "{seen}");
    // Its own script runs: it shows the buttons that zoom.
    assert_eq!(browser.eval("document.querySelector('.controls').hidden"), false);
    assert_eq!(browser.eval("document.querySelectorAll('nav a').length > 3"), true);
    looks_well(&mut browser, test, "the report");
    // One of the folder, by its name; what it is called is text.
    browser.open(&format!("{}captures", ui.address));
    browser.follow(|browser| {
        browser.eval("document.querySelector('button.link').click()");
    });
    browser.until("location.pathname.includes('/reports/')");
    browser.until("document.querySelectorAll('.chart').length === 4");
    let seen = browser.text("document.querySelector('h1').innerText");
    assert_eq!(seen, "What held back <b>&\"x'.pcap.gz");
    browser.open(&format!("{}captures", ui.address));
    assert_eq!(browser.eval("document.querySelectorAll('main ul a').length"), 2, "both are listed");
    // Files that are too large are not sent at all.
    browser.eval("document.getElementById('upload').dataset.most = 10");
    browser.eval(&format!(
        "{{ const held = new DataTransfer();
            held.items.add(new File([new Uint8Array({content})], 'large.pcap'));
            document.getElementById('capture').files = held.files;
            document.querySelector('button.go').click(); }}"
    ));
    browser.until("document.getElementById('upload-problem').textContent.includes('too large')");
    kept_to_itself(&browser, &ui);
}

#[test]
fn what_is_sent_is_reported_on_and_removed() {
    let mut ui = Ui::start();
    let files = [("../../a.pcap.gz", &*bytes(LOSSY)), ("-", &*bytes(NAGLE))];
    let job = ui.job(&ui.upload(&files));
    let live = ui.over(&job);
    let report = live.split("data-next=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let report = report.strip_prefix(ui.parts().1).unwrap().to_owned();
    assert_eq!(status(&ui.page(&job)), 303);
    let page = ui.page(&report);
    assert!(page.contains("What held back a.pcap.gz, capture"), "{page}");
    let policy = page.lines().find(|line| line.starts_with("Content-Security-Policy: ")).unwrap();
    assert!(policy.contains("default-src 'none'; script-src 'nonce-"), "{policy}");
    let script = policy.split("script-src").nth(1).unwrap().split(';').next().unwrap();
    assert!(!script.contains("unsafe") && !script.contains("self"), "{policy}");
    // Another answer has another nonce, and a file to keep has none.
    assert!(!ui.page(&report).contains(policy));
    let saved = ui.page(&format!("{report}?save=yes"));
    assert!(saved.contains("attachment; filename=\"report.html\""), "{saved}");
    let saved = saved.split_once("\r\n\r\n").unwrap().1;
    assert!(!saved.contains("nonce=") && !saved.contains(ui.parts().1), "{saved}");
    let kept = ui.scratch();
    assert!(kept.iter().any(|name| name == "report.html"), "{kept:?}");
    assert!(!kept.iter().any(|name| name.starts_with("upload-")), "{kept:?}");
    assert_eq!(ui.interrupted(), Some(0));
    assert_eq!(ui.scratch(), Vec::<String>::new());
}

#[test]
fn what_is_no_capture_says_so_and_nothing_stays() {
    let ui = Ui::start();
    let noise: Vec<u8> =
        (0..100_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for content in [&b""[..], b"\xd4\xc3\xb2\xa1", b"<script>alert(1)</script>", &noise] {
        let page = ui.over(&ui.job(&ui.upload(&[("x.pcap", content)])));
        assert!(page.contains("data-status=\"Failed.\""), "{page}");
        assert!(page.contains("cannot report on x.pcap"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }
    let none = ui.upload(&[("", b"")]);
    assert!(status(&none) == 400 && none.contains("choose a capture"), "{none}");
    let many: Vec<(&str, &[u8])> = vec![("x.pcap", b"x"); 21];
    assert_eq!(status(&ui.upload(&many)), 413);
    assert!(!ui.scratch().iter().any(|name| name.contains("x.pcap")), "{:?}", ui.scratch());
}

#[test]
fn only_own_pages_send_files_and_only_so_much() {
    let ui = Ui::start();
    let (host, base) = ui.parts();
    let send = |path: &str, origin: &str, length: u64, body: &[u8]| {
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!(
            "POST {base}{path} HTTP/1.1\r\nHost: {host}\r\n{origin}\
             Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        status(&answer)
    };
    let own = format!("Origin: http://{host}\r\n");
    let body = b"--b\r\nContent-Disposition: form-data; name=\"capture\"; filename=\"x\"\r\n\r\nx\r\n--b--";
    let length = body.len() as u64;
    assert_eq!(send("/captures", "Origin: http://evil.example\r\n", length, body), 403);
    assert_eq!(send("/captures", "", length, body), 403);
    assert_eq!(send("/measure", &own, length, body), 415, "other forms take no files");
    assert_eq!(send("/captures", &own, (1 << 30) + 1, body), 413);
    assert_eq!(send("/captures", &own, length - 2, &body[..body.len() - 2]), 400, "half a form");
    // The folder of all that is sent.
    assert_eq!(ui.scratch().len(), 1, "{:?}", ui.scratch());
    assert_eq!(send("/captures", &own, length, body), 303);
    ui.over("/jobs/1");
    assert!(!ui.scratch().iter().any(|name| name == "x"), "{:?}", ui.scratch());
}

#[test]
fn a_folder_gives_its_own_captures_alone() {
    let folder = tempfile::tempdir().unwrap();
    let captures = folder.path().join("captures");
    std::fs::create_dir(&captures).unwrap();
    std::fs::write(captures.join("own.pcap.gz"), bytes(LOSSY)).unwrap();
    std::fs::write(folder.path().join("other.pcap.gz"), bytes(LOSSY)).unwrap();
    symlink("../other.pcap.gz", captures.join("leads-out.pcap.gz")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(captures.join("pipe")).status().unwrap().success()
    );
    let ui = Ui::start_with(&[OsStr::new("--captures"), captures.as_os_str()]);
    let page = ui.page("/captures");
    assert!(page.contains("value=\"own.pcap.gz\"") && !page.contains("leads-out"), "{page}");
    for name in [
        "leads-out.pcap.gz",
        "..%2Fother.pcap.gz",
        "%2Fetc%2Fpasswd",
        "pipe",
        "own.pcap.gz%2F..%2F..%2Fother.pcap.gz",
        "--output=x",
    ] {
        let page = ui.post("/captures", &format!("file={name}"));
        assert!(status(&page) == 400 && page.contains("there is no capture"), "{name}: {page}");
    }
    let page = ui.post("/captures", "file=own.pcap.gz&host=x%20--json");
    assert!(status(&page) == 400 && page.contains("give an IP address"), "{page}");
    let job = ui.started("/captures", "file=own.pcap.gz&port=1");
    assert!(ui.over(&job).contains("cannot report on own.pcap.gz"), "no connection has that port");
    let job = ui.started("/captures", "file=own.pcap.gz&port=9100");
    assert!(ui.over(&job).contains("data-next="));
    // Nothing is kept of it among the runs.
    assert_eq!(ui.runs("list")["runs"], json!([]));
    let mut command = windlass();
    command.arg("ui").arg("--captures").arg(folder.path().join("nothing"));
    command.arg("--store").arg(ui.store());
    let (_, stderr, code) = told(&command.output().unwrap());
    assert!(code == 1 && stderr.contains("cannot offer the captures of"), "{code}: {stderr}");
}
