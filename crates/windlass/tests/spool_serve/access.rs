//! Users and their rights: by names of the server, by the kernel's credentials, by policies.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use windlass_wire::ipp::{Message, Operation, Status};

use super::client::{
    Lpr, about, about_job, answer, ask, asked_on, connect, head, lpr, message, print,
};
use super::server::{Spool, wait_for};
use windlass_testkit::{has, skipped, windlass};

/// The number of the user nobody, who is on every host of Debian's family.
const NOBODY: u32 = 65_534;

/// Returns the answer to a request with these headers.
fn posted(spool: &Spool, headers: &str, request: &Message) -> (u16, String) {
    let body = request.encode().unwrap();
    let mut stream = connect(spool.ipp);
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\n{headers}Content-Type: application/ipp\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    let (status, body) = answer(&mut stream).unwrap();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[test]
fn other_sites_have_no_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--printer", "a=drop", "--stopped", "--name", "print.example.org"];
    let spool = Spool::start(folder.path(), &more);
    print(spool.ipp, "a", "kept", b"1");
    let purge = about(Operation::PURGE_JOBS, spool.ipp, "a");
    for (headers, expected) in [
        ("Host: evil.example\r\n", 421),
        ("Host: localhost.evil.example\r\n", 421),
        ("", 400),
        ("Host: localhost\r\nHost: evil.example\r\n", 400),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
    ] {
        let (status, text) = posted(&spool, headers, &purge);
        assert_eq!(status, expected, "{headers:?}: {text}");
        assert!(!text.is_empty(), "{headers:?}: no reason");
    }
    assert_eq!(spool.metric("windlass_spool_active_jobs"), 1, "a page purged it");
    spool.says("this server is not called \"evil.example\"");
    assert_eq!(spool.events("client-failed").len(), 1, "one for each host");
    let get = about(Operation::GET_PRINTER_ATTRIBUTES, spool.ipp, "a");
    for host in ["print.example.org:631", "127.0.0.1", "[::1]:9", "LOCALHOST."] {
        assert_eq!(posted(&spool, &format!("Host: {host}\r\n"), &get).0, 200, "{host}");
    }
    assert_eq!(spool.stop().code, Some(0));
}

/// Runs a program as another user, where this one may.
fn ran_as(uid: u32, program: &str, args: &[&str]) -> io::Result<Output> {
    Command::new(program).args(args).uid(uid).gid(uid).env("HOME", "/nonexistent").output()
}

fn text_of(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// A spool that listens at a Unix socket that everybody reaches.
fn with_socket(folder: &Path, more: &[&str]) -> (Spool, String) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let socket = folder.join("spool.sock").to_str().unwrap().to_owned();
    // As a server leaves it that was killed.
    drop(UnixListener::bind(&socket).unwrap());
    let own = ["--printer", "a=drop", "--stopped", "--listen", &socket];
    let spool = Spool::start(&folder.join("spool"), &[&own[..], more].concat());
    (spool, socket)
}

#[test]
fn over_the_unix_socket_everybody_is_whom_the_kernel_says() {
    let test = "over_the_unix_socket_everybody_is_whom_the_kernel_says";
    if !["lp", "cancel", "lpstat", "cupsenable"].iter().all(|tool| has(tool, test)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (spool, socket) = with_socket(folder.path(), &[]);
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let file = file.to_str().unwrap();
    if ran_as(NOBODY, "true", &[]).is_err() {
        skipped(test, "only root can ask as somebody else");
        return;
    }
    let as_nobody = |program: &str, args: &[&str]| {
        ran_as(NOBODY, program, &[&["-h", &socket], args].concat()).unwrap()
    };
    let as_root = |program: &str, args: &[&str]| {
        ran_as(0, program, &[&["-h", &socket], args].concat()).unwrap()
    };
    let refused = as_nobody("lp", &["-d", "a", "-U", "root", file]);
    assert!(!refused.status.success(), "he says that he is root");
    assert!(text_of(&refused).contains("nobody may not act for \"root\""), "{}", text_of(&refused));
    let done = as_nobody("lp", &["-d", "a", file]);
    assert!(done.status.success(), "{}", text_of(&done));
    let done = as_root("lp", &["-d", "a", "-U", "ann", file]);
    assert!(done.status.success(), "{}", text_of(&done));
    let listed = text_of(&as_nobody("lpstat", &["-o"]));
    let users: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    // Root may speak for others.
    assert_eq!(users, ["nobody", "ann"], "{listed}");
    // Another's job, and printers, are not his; in whoever's name.
    for (program, args) in [
        ("cancel", &["-U", "ann", "a-2"][..]),
        ("cancel", &["a-2"]),
        ("cancel", &["-u", "ann"]),
        ("cupsenable", &["a"]),
        ("cupsenable", &["-U", "root", "a"]),
    ] {
        let refused = as_nobody(program, args);
        assert!(!refused.status.success(), "{program} {args:?}: {}", text_of(&refused));
    }
    assert!(as_nobody("cancel", &["a-1"]).status.success());
    let done = as_root("cancel", &["a-2"]);
    assert!(done.status.success(), "{}", text_of(&done));
    let done = as_root("cupsenable", &["a"]);
    assert!(done.status.success(), "{}", text_of(&done));
    assert_eq!(spool.stop().code, Some(0));
    assert!(!Path::new(&socket).exists(), "it is taken along");
}

#[test]
fn a_socket_that_somebody_has_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, socket) = with_socket(folder.path(), &[]);
    let second = folder.path().join("second");
    let args = ["--printer", "a=drop", "--listen", &socket, "--spool"];
    let output = windlass().args(["spool", "serve"]).args(args).arg(&second).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    let text = text_of(&output);
    assert!(text.contains(&socket) && text.contains("give another path"), "{text}");
    assert!(Path::new(&socket).exists());
    assert_eq!(spool.stop().code, Some(0));
}

/// The printer of these servers.
const PRINTER: &str = "\n[[printer]]\nname = \"a\"\ndevice = \"drop\"\nstopped = true\n";

/// Starts a server with these settings of rights.
fn with_settings(folder: &Path, settings: &str) -> Spool {
    let config = folder.join("spool.toml");
    fs::write(&config, format!("{settings}{PRINTER}")).unwrap();
    Spool::start(&folder.join("spool"), &["--config", config.to_str().unwrap()])
}

fn status(spool: &Spool, request: &Message) -> Status {
    Status(ask(spool.ipp, request, b"").code)
}

#[test]
fn administration_can_be_taken_from_who_asks_by_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let spool = with_settings(folder.path(), "local = \"print\"\n");
    let id = print(spool.ipp, "a", "one", b"1");
    for operation in [Operation::PURGE_JOBS, Operation::RESUME_PRINTER, Operation::CANCEL_JOBS] {
        assert_eq!(status(&spool, &about(operation, spool.ipp, "a")), Status::FORBIDDEN);
    }
    // By LPR the name of root is no key.
    let mut talk = Lpr(connect(spool.lpr));
    let said = talk.say(format!("\x05a root {id}\n").as_bytes()).unwrap();
    assert_eq!(said, Some(0));
    assert_eq!(spool.metric("windlass_spool_active_jobs"), 1);
    let own = about_job(Operation::CANCEL_JOB, spool.ipp, "a", id);
    assert_eq!(status(&spool, &own), Status::OK);
    assert_eq!(spool.stop().code, Some(0));
}

/// The status of HTTP, and that of IPP where there is one, on a connection that is open.
fn asked_as(stream: &mut TcpStream, user: &str, request: &Message) -> (u16, Option<Status>) {
    let body = request.encode().unwrap();
    let authorization = windlass_wire::http::basic(user, "secret");
    let head = head(body.len());
    let head = head.replacen("\r\n", &format!("\r\nAuthorization: {authorization}\r\n"), 1);
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    let (status, body) = answer(stream).unwrap();
    (status, (status == 200).then(|| Status(message(&body).code)))
}

#[test]
fn a_connection_that_is_open_has_the_rights_of_now() {
    let folder = tempfile::tempdir().unwrap();
    let passwords = folder.path().join("passwords");
    let set = |words: &[&str]| {
        let mut command = windlass();
        command.args(["spool", "password"]).arg(&passwords).args(words);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"secret\n").unwrap();
        assert!(child.wait().unwrap().success());
    };
    set(&["ann"]);
    set(&["bob"]);
    let settings = |users: &str, local: &str| {
        format!(
            "passwords = \"{}\"\npasswords-without-tls = true\nlocal = \"{local}\"\n\
             admin-users = [{users}]\n",
            passwords.display()
        )
    };
    let spool = with_settings(folder.path(), &settings("\"ann\", \"bob\"", "administer"));
    let resume = about(Operation::RESUME_PRINTER, spool.ipp, "a");
    let mut local = connect(spool.ipp);
    let mut known = [connect(spool.ipp), connect(spool.ipp)];
    assert_eq!(asked_on(&mut local, &resume, b"").unwrap().code, Status::OK.0);
    for (stream, user) in known.iter_mut().zip(["ann", "bob"]) {
        assert_eq!(asked_as(stream, user, &resume), (200, Some(Status::OK)), "{user}");
    }
    // Ann is no administrator any more, and nobody is by TCP alone.
    fs::write(folder.path().join("spool.toml"), settings("\"bob\"", "print") + PRINTER).unwrap();
    spool.signal("HUP");
    spool.says("settings reloaded");
    let asked_for_a_name = asked_on(&mut local, &resume, b"").unwrap_err().to_string();
    assert_eq!(asked_for_a_name, "401");
    let [ann, bob] = &mut known;
    assert_eq!(asked_as(ann, "ann", &resume), (200, Some(Status::FORBIDDEN)));
    assert_eq!(asked_as(bob, "bob", &resume), (200, Some(Status::OK)));
    // Bob is nobody any more. The file is looked at once a second.
    set(&["bob", "--remove"]);
    wait_for("that he is not known", || asked_as(bob, "bob", &resume).0 == 401);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn policies_say_who_may_do_what() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "\
        [[policy]]\nfrom = [\"this-host\"]\nmay = [\"print\", \"own-jobs\"]\n\
        [[policy]]\nfrom = [\"0.0.0.0/0\"]\nmay = [\"administer\"]\n";
    let spool = with_settings(folder.path(), settings);
    // Names are not believed there: the job is nobody's, whoever says what.
    let id = print(spool.ipp, "a", "one", b"1");
    assert!(lpr(spool.lpr, "a", "two", b"2").unwrap());
    let own = about_job(Operation::CANCEL_JOB, spool.ipp, "a", id);
    assert_eq!(status(&spool, &own), Status::NOT_AUTHORIZED);
    assert_eq!(status(&spool, &about(Operation::PURGE_JOBS, spool.ipp, "a")), Status::FORBIDDEN);
    assert_eq!(
        status(&spool, &about(Operation::GET_JOBS, spool.ipp, "a")),
        Status::NOT_AUTHORIZED,
        "it may not see the jobs of others"
    );
    let mut talk = Lpr(connect(spool.lpr));
    talk.0.write_all(b"\x03a\n").unwrap();
    let mut told = Vec::new();
    talk.0.read_to_end(&mut told).unwrap();
    assert_eq!(told, [1], "by LPR neither");
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn what_policies_cannot_mean_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("spool.toml");
    for (settings, expected) in [
        (
            "local = \"print\"\n[[policy]]\nmay = [\"print\"]\n",
            "local: policies replace this setting",
        ),
        ("[[policy]]\nmay = []\n", "policy: number 1: may: the list is empty"),
        ("[[policy]]\nmay = [\"fly\"]\n", "may: \"fly\" must be one of print, see"),
        ("[[policy]]\nfrom = [\"moon\"]\nmay = [\"see\"]\n", "or this-host, or socket"),
        ("[[policy]]\nusers = [\"@\"]\nmay = [\"see\"]\n", "\"@\" is not a name"),
        ("local = \"moon\"\n", "local: \"moon\" must be administer"),
        ("socket-mode = \"999\"\n", "socket-mode: \"999\" is not a file mode"),
    ] {
        fs::write(&config, settings).unwrap();
        let args = ["spool", "serve", "--printer", "a=drop", "--config"];
        let output = windlass().args(args).arg(&config).output().unwrap();
        let text = text_of(&output);
        assert_eq!(output.status.code(), Some(2), "{settings}: {text}");
        assert!(text.contains(expected), "{settings}: {text}");
    }
}
