#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::AtomicBool;

use super::*;

/// Serves with these limits while `test` runs. The page answers with the request's contents.
fn served(limits: Limits, test: impl FnOnce(&Server)) {
    let server = Server::with_limits(0, limits).unwrap();
    let ends = AtomicBool::new(false);
    let answer = |asked: &PageRequest| {
        assert!(asked.path != "panic", "a page of the test that fails");
        let field = asked.fields.text("a").to_owned();
        Answer::html(format!("{} {} {field}", asked.is_post, asked.path))
    };
    thread::scope(|scope| {
        scope.spawn(|| server.serve(&answer, &|| ends.load(Ordering::Relaxed)));
        let done = catch_unwind(AssertUnwindSafe(|| test(&server)));
        ends.store(true, Ordering::Relaxed);
        done.unwrap();
    });
}

fn connected(server: &Server) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap()
}

/// Returns all bytes that still come on a connection.
fn rest(mut stream: TcpStream) -> String {
    let mut all = String::new();
    // A reset also ends the stream.
    let _ = stream.read_to_string(&mut all);
    all
}

/// Returns the answer to a request with these headers.
fn said(server: &Server, first: &str, headers: &str, body: &str) -> String {
    let mut stream = connected(server);
    let port = server.port();
    let text = format!("{first} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n{body}");
    stream.write_all(text.as_bytes()).unwrap();
    rest(stream)
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

#[test]
fn a_page_is_answered_and_guarded() {
    served(Limits::default(), |server| {
        let base = server.base();
        let page = said(server, &format!("GET {base}/runs/x?a=b%20c"), "", "");
        assert_eq!(status(&page), 200);
        assert!(page.ends_with("\r\n\r\nfalse runs/x b c"), "{page}");
        for guard in [
            "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; ",
            "frame-ancestors 'none'",
            "X-Content-Type-Options: nosniff",
            "Referrer-Policy: same-origin",
            "Cache-Control: no-store",
            "Connection: close",
        ] {
            assert!(page.contains(guard), "{guard}: {page}");
        }
        assert!(!page.contains("Access-Control"), "{page}");
        let head = said(server, &format!("HEAD {base}/runs/x"), "", "");
        assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: 13\r\n"), "{head}");
        let without = said(server, "GET /", "", "");
        assert_eq!(status(&without), 403);
        assert!(
            !without.contains(&base[1..]) && without.contains("the whole address"),
            "{without}"
        );
        assert_eq!(status(&said(server, &format!("GET {base}/panic"), "", "")), 500);
        assert_eq!(status(&said(server, &format!("GET {base}/"), "", "")), 200, "it goes on");
        // Other addresses of this host are closed.
        assert!(TcpStream::connect(("127.0.0.2", server.port())).is_err());
        assert!(TcpStream::connect(("::1", server.port())).is_err());
    });
}

#[test]
fn a_form_is_taken_from_own_pages_and_within_bounds() {
    served(Limits::default(), |server| {
        let (base, port) = (server.base(), server.port());
        let first = format!("POST {base}/measure");
        let own = format!("Origin: http://127.0.0.1:{port}\r\n");
        let with = |more: &str, body: &str| said(server, &first, &format!("{own}{more}"), body);
        let done = with(&format!("{FORM}Content-Length: 5\r\n"), "a=b+c");
        assert!(status(&done) == 200 && done.ends_with("true measure b c"), "{done}");
        let length = "Content-Length: 5\r\n";
        for (expected, more) in [
            (415, length.to_owned()),
            (415, format!("Content-Type: text/plain\r\n{length}")),
            (413, format!("{FORM}Content-Length: 16385\r\n")),
            (413, format!("{FORM}Content-Length: 99999999999999\r\n")),
            (411, format!("{FORM}Transfer-Encoding: chunked\r\n")),
            (400, format!("{FORM}{length}Transfer-Encoding: chunked\r\n")),
            (400, format!("{FORM}{length}Content-Length: 6\r\n")),
        ] {
            assert_eq!(status(&with(&more, "a=b+c")), expected, "{more}");
        }
        let strange = said(server, &first, &format!("{FORM}{length}"), "a=b+c");
        assert_eq!(status(&strange), 403);
        let body = said(server, &format!("GET {base}/"), length, "a=b+c");
        assert_eq!(status(&body), 400);
    });
}

/// Sends a form with a file, and checks the answer of a server that takes files for `captures`.
#[test]
fn files_are_received_for_one_path_and_removed_with_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let uploads = Uploads { path: "captures", folder: folder.path().to_owned(), most: 200_000 };
    let limits = Limits { patience: Duration::from_secs(3), ..Limits::default() };
    let server = Server::with_limits(0, limits).unwrap().taking(uploads);
    let ends = AtomicBool::new(false);
    let answer = |asked: &PageRequest| {
        let folder = asked.files.folder().unwrap();
        let read = |name: &String| std::fs::read(folder.join(name)).unwrap().len();
        let all: Vec<usize> = asked.files.names().iter().map(read).collect();
        Answer::html(format!("{:?} {all:?} {}", asked.files.names(), asked.fields.text("port")))
    };
    let first = format!("POST {}/captures", server.base());
    let content = "\r\n--x".repeat(30_000);
    let body = format!(
        "--x-\r\nContent-Disposition: form-data; name=\"port\"\r\n\r\n9100\r\n\
         --x-\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../a.pcap\"\r\n\r\n\
         {content}\r\n--x---\r\n"
    );
    let headers = |length: usize| {
        format!(
            "Origin: http://127.0.0.1:{}\r\nContent-Type: multipart/form-data; boundary=x-\r\n\
             Content-Length: {length}\r\n",
            server.port()
        )
    };
    thread::scope(|scope| {
        scope.spawn(|| server.serve(&answer, &|| ends.load(Ordering::Relaxed)));
        let done = catch_unwind(AssertUnwindSafe(|| {
            let page = said(&server, &first, &headers(body.len()), &body);
            assert!(page.ends_with("[\"a.pcap\"] [150000] 9100"), "{page}");
            assert_eq!(status(&said(&server, &first, &headers(200_001), "")), 413);
            assert_eq!(status(&said(&server, &first, &headers(6), "--x-\r\n")), 400);
            // A client that stops in the middle is dropped; meanwhile no other form is accepted.
            let mut slow = connected(&server);
            let head = format!(
                "{first} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n{}",
                server.port(),
                headers(body.len()),
                &body[..1_000]
            );
            slow.write_all(head.as_bytes()).unwrap();
            while std::fs::read_dir(folder.path()).unwrap().count() == 0 {
                thread::sleep(Duration::from_millis(5));
            }
            let busy = status(&said(&server, &first, &headers(body.len()), &body));
            assert!([503, 200].contains(&busy), "{busy}: 200 where the slow one was left already");
            assert_eq!(status(&rest(slow)), 408);
            assert_eq!(status(&said(&server, &first, &headers(body.len()), &body)), 200);
        }));
        ends.store(true, Ordering::Relaxed);
        done.unwrap();
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_request_is_refused() {
    served(Limits::default(), |server| {
        let long = format!("X: {}\r\n", "y".repeat(20_000));
        assert_eq!(status(&said(server, &format!("GET {}/", server.base()), &long, "")), 431);
        let many = "X: y\r\n".repeat(200);
        assert_eq!(status(&said(server, &format!("GET {}/", server.base()), &many, "")), 400);
        for noise in [&b"\x16\x03\x01\x02\x00\x01\r\n\r\n"[..], b"SSH-2.0-x\r\n\r\n", b"\0\0\0\0"] {
            let mut stream = connected(server);
            stream.write_all(noise).unwrap();
            assert_eq!(status(&rest(stream)), 400, "{noise:?}");
        }
    });
}

#[test]
fn who_is_slow_is_left_and_who_is_too_many_comes_again() {
    // This limit leaves time to look even if the machine is busy for a second or two.
    let patience = Duration::from_secs(3);
    served(Limits { connections: 2, patience, ..Limits::default() }, |server| {
        let began = Instant::now();
        let mut slow = connected(server);
        slow.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let idle = connected(server);
        // Two connections use all places; a third is refused until they end.
        let third = || said(server, &format!("GET {}/", server.base()), "", "");
        while status(&third()) != 503 {
            assert!(began.elapsed() < patience, "both are gone already");
        }
        // A slow client has no more time than a silent one.
        let mut dripping = slow.try_clone().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                while dripping.write_all(b"X: y\r\n").is_ok() && began.elapsed() < patience * 20 {
                    thread::sleep(Duration::from_millis(100));
                }
            });
            assert_eq!(status(&rest(slow)), 408);
            assert_eq!(rest(idle), "");
        });
        assert!(began.elapsed() >= patience);
        while status(&third()) != 200 {
            assert!(began.elapsed() < Duration::from_secs(60), "nobody has a place any more");
        }
    });
}

#[test]
fn a_server_that_ends_waits_for_nobody_who_is_silent() {
    let server = Server::bind(0).unwrap();
    let ends = AtomicBool::new(false);
    let answer = |_: &PageRequest| Answer::see("/x/".to_owned());
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&answer, &|| ends.load(Ordering::Relaxed)));
        let _idle = connected(&server);
        let page = said(&server, &format!("GET {}/", server.base()), "", "");
        assert!(page.starts_with("HTTP/1.1 303 ") && page.contains("\r\nLocation: /x/\r\n"));
        ends.store(true, Ordering::Relaxed);
        serving.join().unwrap();
    });
}
