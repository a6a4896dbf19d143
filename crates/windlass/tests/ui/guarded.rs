//! Access to the pages, and the commands that they may run.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_sys::process::{Process, Signal};

use crate::serving::WindlassServer;
use crate::{Ui, runs_with, status};
use windlass_testkit::{copy_program, schema, told, windlass};

#[test]
fn only_who_has_the_address_gets_in_and_only_own_pages_change_something() {
    let mut ui = Ui::start();
    let (host, base) = (ui.parts().0.to_owned(), ui.parts().1.to_owned());
    assert!(base.len() > 32, "{base}");
    assert_eq!(status(&ui.page("/")), 200);
    let raw = |text: String| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(&host).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let get = |path: &str, host: &str| raw(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    for path in ["/", "/runs", "/style.css", "/favicon.ico", &format!("{base}0/"), "/x/"] {
        let answer = get(path, &host);
        assert_eq!(status(&answer), 403, "{path}");
        assert!(!answer.contains(&base[1..]), "{path}");
    }
    assert_eq!(status(&get(&format!("{base}/"), "evil.example")), 421, "DNS rebinding");
    let evil = "Origin: http://evil.example\r\n";
    let form = "host=127.0.0.1&protocol=windlass&way=there";
    assert_eq!(status(&ui.ask("POST", "/measure", evil, form)), 403, "CSRF");
    assert_eq!(status(&ui.ask("POST", "/measure", "", form)), 403);
    assert_eq!(status(&ui.ask("POST", "/jobs/1/stop", evil, "x=")), 403);
    assert_eq!(status(&ui.ask("GET", "/runs", evil, "")), 403);
    assert_eq!(status(&ui.page("/nothing")), 404);
    assert_eq!(status(&ui.page("/runs/aaaaaaaaaa")), 404);
    assert_eq!(status(&ui.page("/runs/..%2f..%2fetc%2fpasswd")), 404);
    // Who changes something asks for it so.
    assert_eq!(status(&ui.page("/measure")), 404);
    assert_eq!(ui.runs("list")["runs"], json!([]), "nothing ran");
    assert_eq!(ui.interrupted(), Some(0));
}

#[test]
fn a_form_that_cannot_be_run_says_why_and_is_kept() {
    let ui = Ui::start();
    for (form, why) in [
        ("host=--reverse&protocol=windlass&way=there", "write a host as HOST"),
        ("host=a%0a--json&protocol=windlass&way=there", "not a single line of text"),
        ("host=h&protocol=windlass&way=there&time=--x", "write a time with its unit"),
        ("host=h&protocol=ttcp&way=back", "ttcp sends data to the server only"),
        ("protocol=windlass&way=there", "give a host name"),
    ] {
        let page = ui.post("/measure", form);
        assert_eq!(status(&page), 400, "{form}");
        assert!(page.contains(why) && page.contains("role=\"alert\""), "{form}: {page}");
    }
    let page = ui.post("/measure", "host=%22%3E%3Cscript%3E&protocol=iperf3&way=both&note=kept");
    assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\"") && page.contains("value=\"kept\""));
    assert!(page.contains("<option value=\"iperf3\" selected>"), "{page}");
    let page = ui.post("/play/lab", "scenario=%2Fetc%2Fpasswd");
    assert!(status(&page) == 400 && page.contains("choose one from the list"), "{page}");
    assert_eq!(status(&ui.page("/compare?run=x")), 400);
    assert!(ui.page("/compare").contains("0 runs are selected"));
}

#[test]
fn one_runs_at_a_time_and_a_stopped_one_tells_what_it_measured() {
    let serving = WindlassServer::start(&[]);
    let mut ui = Ui::start();
    let form = format!("host=127.0.0.1:{}&protocol=windlass&way=there&time=9min", serving.port);
    let job = ui.started("/measure", &form);
    let second = ui.post("/measure", &form);
    assert!(status(&second) == 409 && second.contains("Another measurement runs"), "{second}");
    assert!(ui.page("/").contains("Running: <a href="));
    // It has moved something.
    ui.drawn(&job);
    ui.post(&format!("{job}/stop"), "x=");
    let page = ui.over(&job);
    assert!(page.contains("was stopped before its end"), "{page}");
    assert!(page.contains("Kept as <a href=") && page.contains("class=\"verdict\""), "{page}");
    let run = ui.runs("show last");
    assert_eq!((&run["command"], &run["exit_code"]), (&json!("send"), &json!(0)));
    // What runs ends with the pages, and is kept.
    let job = ui.started("/measure", &format!("{form}&tag=left-running"));
    ui.drawn(&job);
    assert!(runs_with("--tag=left-running"));
    assert_eq!(ui.interrupted(), Some(0));
    assert!(!runs_with("--tag=left-running"));
    assert_eq!(ui.runs("list --tag left-running")["runs"].as_array().unwrap().len(), 1);
}

/// SIGKILL, which no program hears of: nobody would wait for what runs, or stop it.
#[test]
fn what_runs_ends_with_a_server_that_is_killed_and_is_kept() {
    let serving = WindlassServer::start(&[]);
    let mut ui = Ui::start();
    let form = format!("host=127.0.0.1:{}&protocol=windlass&way=there&time=9min", serving.port);
    let job = ui.started("/measure", &format!("{form}&tag=orphan-of-a-kill"));
    ui.drawn(&job);
    assert!(runs_with("--tag=orphan-of-a-kill"));
    ui.child.kill().unwrap();
    ui.child.wait().unwrap();
    let since = Instant::now();
    while runs_with("--tag=orphan-of-a-kill") {
        assert!(since.elapsed() < Duration::from_secs(60), "it goes on without anybody");
        std::thread::sleep(Duration::from_millis(50));
    }
    let runs = ui.runs("list --tag orphan-of-a-kill");
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
}

#[test]
fn a_run_over_a_path_that_was_filled_in_is_repeated_when_the_pages_are_over() {
    let mut ui = Ui::start();
    let form = "path=own&rate=20mbit&rtt=10ms&queue=32k";
    ui.over(&ui.started("/play/sweep", form));
    // Another queue is another path, whose title is the same.
    ui.over(&ui.started("/play/sweep", "path=own&rate=20mbit&rtt=10ms&queue=64k"));
    ui.over(&ui.started("/play/sweep", form));
    assert_eq!(ui.interrupted(), Some(0));
    let paths = std::fs::read_dir(ui.store().join("paths")).unwrap();
    assert_eq!(paths.count(), 2);
    let listed = ui.runs("list");
    let ids = listed["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap());
    let ids: Vec<&str> = ids.collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        let mut command = windlass();
        command.args(["runs", "repeat", id, "-n", "1", "--store"]).arg(ui.store());
        let (_, stderr, code) = told(&command.output().unwrap());
        assert_eq!(code, 0, "{id}: {stderr}");
    }
    assert_eq!(ui.runs("list")["runs"].as_array().unwrap().len(), 6);
}

#[test]
fn what_fails_says_so_in_the_programs_words() {
    let ui = Ui::start();
    let job = ui.started("/measure", "host=127.0.0.1:1&protocol=windlass&way=there&time=1s");
    let page = ui.over(&job);
    assert!(page.contains("Connection refused"), "{page}");
    assert!(
        page.contains("<p>Start windlass serve on the host, or give its --port (tried: 1).</p>")
    );
    assert!(page.contains("data-status=\"Failed.\""), "{page}");
    assert_eq!(ui.runs("list")["runs"], json!([]));
}

#[test]
fn a_job_for_a_printer_is_measured_and_kept() {
    let ui = Ui::start();
    let page = ui.post("/print", "printer=p&speaks=lpr&data=zeros&amount=1MB");
    assert!(status(&page) == 400 && page.contains("LPR prints on a queue"), "{page}");
    let printer = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = printer.local_addr().unwrap();
    let takes = std::thread::spawn(move || {
        let (mut stream, _) = printer.accept().unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
    });
    let form = format!("printer=socket://user:secret@{at}&speaks=raw&data=text&amount=300kB");
    let page = ui.over(&ui.started("/print", &form));
    assert_eq!(takes.join().unwrap(), 300_000);
    assert!(page.contains("Kept as <a href=") && page.contains("300,000 B"), "{page}");
    let runs = ui.runs("list");
    let run = &runs["runs"][0];
    assert_eq!((&run["command"], &run["exit_code"]), (&json!("print"), &json!(0)));
    assert!(!runs.to_string().contains("secret"), "{runs:#}");
}

/// The arguments of a process are visible to all users, so they must not contain the token.
#[test]
fn a_browser_is_given_a_file_that_nobody_else_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let (script, seen) = (folder.path().join("script"), folder.path().join("seen"));
    let text = "#!/bin/sh\n{ stat -c %a \"$1\"; cat \"$1\"; } >\"$SEEN.part\"\nmv \"$SEEN.part\" \"$SEEN\"\n";
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    copy_program(&script, &folder.path().join("xdg-open"));
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = windlass();
    command.args(["ui", "--open", "--store"]).arg(folder.path().join("runs"));
    command.env("PATH", path).env("SEEN", &seen);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let since = Instant::now();
    while !seen.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "no browser was opened");
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.starts_with("600\n"), "{seen}");
    assert!(seen.contains(&format!("url={}\"", address.trim())), "{seen}");
    Process::of_child(child.id()).unwrap().signal(Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn where_the_pages_are_is_told_as_json_and_a_store_is_needed() {
    let mut command = windlass();
    let (stdout, stderr, code) =
        told(&command.arg("ui").env("WINDLASS_STORE", "").output().unwrap());
    assert_eq!((stdout.as_str(), code), ("", 2));
    assert!(stderr.contains("WINDLASS_STORE is empty") && stderr.contains("--store"), "{stderr}");
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass();
    command.args(["ui", "--port", &port, "--store"]).arg(folder.path());
    let (_, stderr, code) = told(&command.output().unwrap());
    assert!(code == 1 && stderr.contains("Leave out --port"), "{stderr}");
    let mut command = windlass();
    command.args(["ui", "--json", "--store"]).arg(folder.path());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut out = String::new();
    for line in lines {
        out.push_str(&line);
        if line == "}" {
            break;
        }
    }
    Process::of_child(child.id()).unwrap().signal(Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let record = schema::checked("ui", &out);
    assert!(record["address"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{record}");
}
