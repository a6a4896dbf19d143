//! Connections of this host, and packets of an interface.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::browsed::{kept_to_itself, looks_well};
use crate::serving::WindlassServer;
use crate::{Ui, runs_with, status};
use windlass_testkit::devtools::Browser;
use windlass_testkit::{has, is_root, skipped};

/// The form of a test that goes on for minutes.
fn long_test(serving: &WindlassServer) -> String {
    format!("host=127.0.0.1:{}&protocol=windlass&way=there&time=9min", serving.port)
}

#[test]
fn connections_are_shown_while_a_test_runs() {
    let test = "connections_are_shown_while_a_test_runs";
    if !has("chromium", test) {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let mut ui = Ui::start();
    let job = ui.started("/measure", &long_test(&serving));
    ui.drawn(&job);
    let mut browser = Browser::start(ui.folder.path());
    browser.open(&format!("{}connections?port={}", ui.address, serving.port));
    browser.until("document.querySelectorAll('#live tbody tr').length > 1");
    let seen = browser.text("document.querySelector('#live').innerText");
    for told in ["windlass ", &format!("127.0.0.1:{}", serving.port), "B/s = ", "bit/s"] {
        assert!(seen.contains(told), "{told}: {seen}");
    }
    looks_well(&mut browser, test, "the connections");
    // Another filter takes the place of the first.
    browser.open(&format!("{}connections?process=nobody-is-called-so", ui.address));
    browser.until("document.querySelector('#live').innerText.includes('No connection was active')");
    assert!(runs_with("--process=nobody-is-called-so"));
    let page = ui.page("/connections?port=x");
    assert!(status(&page) == 400 && page.contains("a port is a number"), "{page}");
    let page = ui.page("/connections?process=1%0a2");
    assert!(status(&page) == 400 && page.contains("the name of a process"), "{page}");
    kept_to_itself(&browser, &ui);
    // It ends with the pages.
    assert_eq!(ui.interrupted(), Some(0));
    let since = Instant::now();
    while runs_with("--process=nobody-is-called-so") {
        assert!(since.elapsed() < Duration::from_secs(60), "it goes on without anybody");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn packets_of_an_interface_are_followed_and_become_a_report() {
    let test = "packets_of_an_interface_are_followed_and_become_a_report";
    for form in
        ["interface=nothing&duration=10s", "interface=lo&duration=10h", "interface=-w&duration=x"]
    {
        let page = Ui::start().post("/captures/interface", form);
        assert!(
            status(&page) == 400 && page.contains("choose one from the list"),
            "{form}: {page}"
        );
    }
    if !is_root() {
        skipped(test, "capturing takes root");
        return;
    }
    let serving = WindlassServer::start(&[]);
    let ui = Ui::start();
    let form = format!("interface=lo&duration=60s&only-port={}", serving.port);
    let job = ui.started("/captures/interface", &form);
    ui.until(&job, "no data sent");
    let mut command = windlass_testkit::windlass();
    let port = serving.port.to_string();
    command.args(["send", "127.0.0.1", "--time", "2s", "--rate", "20mbit", "--no-save", "--port"]);
    assert!(command.arg(&port).output().unwrap().status.success());
    ui.until(&job, "Mbit/s");
    ui.post(&format!("{job}/stop"), "x=");
    let page = ui.over(&job);
    assert!(page.contains("Report with charts") && page.contains("data-status=\"Captured.\""));
    let report =
        ui.started(&format!("/captures{}/report", job.strip_prefix("/jobs").unwrap()), "x=");
    let live = ui.over(&report);
    let path = live.split("data-next=\"").nth(1).unwrap().split('"').next().unwrap();
    let page = ui.page(path.strip_prefix(ui.parts().1).unwrap());
    assert!(page.contains("What held back lo.pcapng"), "{page}");
    assert!(page.contains(&format!("127.0.0.1:{port}")) && page.contains("class=\"chart\""));
    assert_eq!(ui.runs("list")["runs"], Value::Array(Vec::new()), "nothing is kept of it");
    assert_eq!(status(&ui.post("/captures/99/report", "x=")), 404);
    assert_eq!(status(&ui.ask("POST", "/captures/interface", "", &form)), 403);
}
