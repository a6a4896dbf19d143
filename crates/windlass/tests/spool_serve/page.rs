//! The page for people: what it shows, what its buttons do, and who may press them.

use std::io::{Read, Write};

use windlass_wire::http::Response;
use windlass_wire::ipp::{Group, GroupTag, Value};

use super::client::{ask, connect, print_job, state};
use super::server::Spool;

/// Answer to a browser: the status, a header by its name, and the body.
pub(super) struct Page {
    response: Response,
    pub(super) body: String,
}

fn asked(port: u16, head: &str, body: &str) -> Page {
    let mut stream = connect(port);
    write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let (response, used) = Response::decode(&all).unwrap().unwrap();
    Page { response, body: String::from_utf8_lossy(&all[used..]).into_owned() }
}

pub(super) fn browsed(port: u16, path: &str) -> Page {
    let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/html");
    let mut stream = connect(port);
    write!(stream, "{head}\r\nConnection: close\r\n\r\n").unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let (response, used) = Response::decode(&all).unwrap().unwrap();
    Page { response, body: String::from_utf8_lossy(&all[used..]).into_owned() }
}

/// Sends a form as the page does, with these headers.
fn done(port: u16, form: &str, headers: &str) -> u16 {
    let head = format!(
        "POST /do HTTP/1.1\r\nHost: 127.0.0.1:{port}{headers}\r\n\
         Content-Type: application/x-www-form-urlencoded"
    );
    asked(port, &head, form).response.status
}

#[test]
fn the_page_shows_jobs_and_does_deeds() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--printer", "a=drop", "--printer", "b=drop", "--stopped"];
    let spool = Spool::start(folder.path(), &options);
    let port = spool.ipp;
    let name = "<script>alert('x')</script>\"&";
    let mut request = print_job(port, "a", name);
    request.groups.push(Group::new(GroupTag::JOB).with("copies", Value::Integer(2)));
    ask(port, &request, b"%!PS-Adobe-3.0\n%%Pages: 1\n");
    let page = browsed(port, "/");
    let header = |name: &str| page.response.headers.text(name).unwrap().into_owned();
    assert_eq!(page.response.status, 200);
    assert!(header("Content-Type").starts_with("text/html"));
    let policy = header("Content-Security-Policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    assert!(!page.body.contains("<script>alert"), "{}", page.body);
    let escaped = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;";
    assert!(page.body.contains(escaped), "{}", page.body);
    assert!(page.body.contains("stopped (stopped by its settings): its jobs wait"));
    assert!(!page.body.contains("http://") && !page.body.contains("https://"), "{}", page.body);
    for (path, kind) in [
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/live", "text/html"),
        ("/icon.png", "image/png"),
        ("/icon-512.png", "image/png"),
    ] {
        let part = browsed(port, path);
        assert_eq!(part.response.status, 200, "{path}");
        let says = part.response.headers.text("Content-Type").unwrap().into_owned();
        assert!(says.starts_with(kind), "{path}: {says}");
    }
    // Who is no browser has it as text.
    let (_, text) = super::client::get(port, "/");
    assert!(text.starts_with("windlass spool: 1 jobs"), "{text}");

    let token = page.body.split("name=\"token\" value=\"").nth(1).unwrap();
    let token = token.split('"').next().unwrap().to_owned();
    let own = format!("\r\nOrigin: http://127.0.0.1:{port}");
    let hold = format!("deed=hold&of=1&token={token}");
    // Another page, a page of before, and what is no form.
    assert_eq!(done(port, &hold, "\r\nOrigin: http://evil.example"), 403);
    assert_eq!(done(port, &hold, "\r\nOrigin: null"), 403);
    assert_eq!(done(port, "deed=hold&of=1&token=1", &own), 403);
    assert_eq!(done(port, "deed=hold&of=1&token=", &own), 403);
    assert_eq!(done(port, "deed=purge&of=1", &own), 400);
    assert_eq!(state(port, "a", 1), Some("pending"));
    assert_eq!(done(port, &hold, &own), 303);
    assert_eq!(state(port, "a", 1), Some("pending-held"));
    assert_eq!(done(port, &format!("deed=release&of=1&token={token}"), ""), 303);
    assert_eq!(done(port, &format!("deed=start&of=a&token={token}"), &own), 303);
    spool.wait_counts("a", "completed", 1);
    let over = browsed(port, "/live").body;
    assert!(over.contains("completed") && over.contains("<td data-of=\"pages\">2</td>"), "{over}");
    // What the rules refuse is said.
    assert_eq!(done(port, &format!("deed=cancel&of=1&token={token}"), &own), 409);
    assert_eq!(done(port, &format!("deed=cancel&of=77&token={token}"), &own), 409);
    assert_eq!(spool.stop().code, Some(0));
}
