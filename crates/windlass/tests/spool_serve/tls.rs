//! TLS and passwords: by openssl, by CUPS's clients and by windlass's own.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use windlass_wire::ipp::{GroupTag, Operation, Value};

use super::client::{about, answer, ask, connect, print};
use super::server::{PATIENCE, Spool, wait_for};
use windlass_testkit::schema::checked;
use windlass_testkit::{has, told, windlass};

fn text_of(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Runs windlass with words, and gives it a line.
fn given(words: &[&str], line: &str) -> Output {
    let mut command = windlass();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A spool that speaks TLS at its port, and knows ann and bob by passwords: ann may
/// administer, who is known may print, and nobody else.
struct TlsSpool {
    folder: tempfile::TempDir,
    spool: Spool,
    fingerprint: String,
}

impl TlsSpool {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn authority(&self) -> String {
        format!("localhost:{}", self.spool.ipp)
    }

    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (certificate, key) = (at("certificate.pem"), at("key.pem"));
        let words =
            ["spool", "certificate", "--json", "--certificate", &certificate, "--key", &key];
        let made = windlass().args(words).output().unwrap();
        let record = checked("spool-certificate", &told(&made).0);
        let passwords = at("passwords");
        for (user, password) in [("ann", "an: open secret"), ("bob", "bobs")] {
            let words = ["spool", "password", "--json", &passwords, user];
            let done = given(&words, &format!("{password}\nmore\n"));
            assert_eq!(checked("spool-password", &told(&done).0)["done"], "added");
            fs::write(at(user), format!("{password}\n")).unwrap();
        }
        let settings = format!(
            "certificate = {certificate:?}\nkey = {key:?}\npasswords = {passwords:?}\n\
             [[policy]]\nusers = [\"ann\"]\nmay = [\"administer\"]\n\
             [[policy]]\nusers = [\"*\"]\nmay = [\"print\", \"see\", \"own-jobs\"]\n\
             [[printer]]\nname = \"a\"\ndevice = \"drop\"\nstopped = true\n"
        );
        fs::write(at("spool.toml"), settings).unwrap();
        let spool = Spool::start(&folder.path().join("spool"), &["--config", &at("spool.toml")]);
        let fingerprint = record["fingerprint"].as_str().unwrap().to_owned();
        Self { folder, spool, fingerprint }
    }

    /// A command of windlass about this server, for a user.
    fn windlass(&self, words: &[&str], user: &str, trust: &str) -> (String, String, i32) {
        let server = format!("ipps://{}", self.authority());
        let file = self.at(user);
        let mut command = windlass();
        command.env("XDG_CONFIG_HOME", self.at("config")).arg("spool").args(words);
        command.args(["--server", &server, "--user", user, "--trust", trust]);
        command.arg("--password-file").arg(file);
        told(&command.output().unwrap())
    }
}

/// Returns openssl's output for a connection, after these lines.
fn s_client(authority: &str, more: &[&str], lines: &str) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", authority]).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may have ended already.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    text_of(&child.wait_with_output().unwrap())
}

#[test]
fn openssl_agrees_on_tls() {
    if !has("openssl", "openssl_agrees_on_tls") {
        return;
    }
    let known = TlsSpool::start();
    let (at, file) = (known.authority(), known.at("certificate.pem"));
    let file = file.to_str().unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                   Authorization: Basic Ym9iOmJvYnM=\r\n\r\n";
    let verified = ["-CAfile", file, "-verify_return_error", "-verify_hostname", "localhost"];
    for version in ["-tls1_2", "-tls1_3"] {
        let words = [&verified[..], &["-ign_eof", version]].concat();
        let told = s_client(&at, &words, request);
        assert!(told.contains("Verify return code: 0 (ok)"), "{version}: {told}");
        assert!(told.contains("HTTP/1.1 200 OK") && told.contains("# EOF"), "{version}: {told}");
    }
    let old = s_client(&at, &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "");
    assert!(!old.contains("HTTP/1.1"), "{old}");
    assert!(old.contains("alert") || old.contains("no protocols available"), "{old}");
    assert_eq!(known.spool.stop().code, Some(0));
}

/// A test of ipptool: what it asks for is answered so.
fn ipptool(known: &TlsSpool, more: &[&str], uri: &str) -> (bool, String) {
    let file = known.at("ask.test");
    fs::write(
        &file,
        "{\nNAME \"ask\"\nOPERATION Get-Printer-Attributes\nGROUP operation-attributes-tag\n\
         ATTR charset attributes-charset utf-8\nATTR naturalLanguage attributes-natural-language en\n\
         ATTR uri printer-uri $uri\nSTATUS successful-ok\nDISPLAY uri-security-supported\n\
         DISPLAY printer-uri-supported\n}\n",
    )
    .unwrap();
    let output = Command::new("ipptool")
        .env("HOME", known.at("home"))
        .args(["-tv"])
        .args(more)
        .arg(uri)
        .arg(&file)
        .output()
        .unwrap();
    (output.status.success(), text_of(&output))
}

#[test]
fn cups_clients_encrypt_and_say_who_they_are() {
    let test = "cups_clients_encrypt_and_say_who_they_are";
    if !["ipptool", "curl"].iter().all(|tool| has(tool, test)) {
        return;
    }
    let known = TlsSpool::start();
    let at = known.authority();
    let of = |scheme: &str, login: &str| format!("{scheme}://{login}{at}/printers/a");
    // By an upgrade of HTTP on the same port, and from the first byte on.
    let (done, told) = ipptool(&known, &["-E"], &of("ipp", "bob:bobs@"));
    assert!(done && told.contains("[PASS]"), "{told}");
    assert!(told.contains("uri-security-supported (keyword) = tls"), "{told}");
    assert!(told.contains(&format!("ipps://{at}/printers/a")), "{told}");
    let (done, told) = ipptool(&known, &[], &of("ipps", "bob:bobs@"));
    assert!(done, "{told}");
    // A wrong password, and none.
    for login in ["bob:wrong@", "eve:bobs@"] {
        let (done, told) = ipptool(&known, &["-E"], &of("ipp", login));
        assert!(!done, "{told}");
    }
    let status = |more: &[&str]| {
        let words = ["-s", "-k", "-o", "/dev/null", "-w", "%{http_code} %header{www-authenticate}"];
        text_of(&Command::new("curl").args(words).args(more).output().unwrap())
    };
    let url = format!("https://{at}/metrics");
    assert!(status(&[&url]).starts_with("401 Basic realm="), "{}", status(&[&url]));
    assert_eq!(status(&["-u", "bob:bobs", &url]).trim(), "200");
    // In the open nobody is asked for a password: TLS first.
    let open = format!("http://{at}/metrics");
    assert!(status(&["-u", "bob:bobs", &open]).starts_with("426"), "{}", status(&[&open]));
    assert_eq!(known.spool.stop().code, Some(0));
}

#[test]
fn windlass_itself_trusts_and_is_known() {
    let known = TlsSpool::start();
    let (_, error, code) = known.windlass(&["jobs"], "bob", "roots");
    assert_eq!(code, 1, "{error}");
    assert!(error.contains(&known.fingerprint) && error.contains("--trust"), "{error}");
    let (_, error, code) = known.windlass(&["jobs"], "bob", &known.fingerprint);
    assert_eq!((error.as_str(), code), ("", 0));
    let other = format!("sha256:{}", "0".repeat(64));
    assert_eq!(known.windlass(&["jobs"], "bob", &other).2, 1);
    // The first time is told of, and remembered.
    let (_, error, code) = known.windlass(&["jobs"], "bob", "first-use");
    assert!(code == 0 && error.contains("trusted from now on"), "{error}");
    assert_eq!(known.windlass(&["jobs"], "bob", "first-use").1, "");
    let file = known.at("config/windlass/known-servers");
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept, format!("{} {}\n", known.authority(), known.fingerprint));
    fs::write(&file, format!("{} {other}\n", known.authority())).unwrap();
    let (_, error, code) = known.windlass(&["jobs"], "bob", "first-use");
    assert!(code == 1 && error.contains("another server may impersonate it"), "{error}");
    // Where there is no password, a program is asked for it.
    let ask = known.at("ask");
    // Another process writes it: what one of another test begins just now would hold it open.
    let script = "printf '#!/bin/sh\\necho \"$1\" >&2\\necho bobs\\n' > \"$0\"; chmod 755 \"$0\"";
    assert!(Command::new("sh").args(["-c", script]).arg(&ask).status().unwrap().success());
    let mut command = windlass();
    command.env("WINDLASS_ASKPASS", &ask).args(["spool", "jobs", "--user", "bob", "--trust"]);
    command.args([&known.fingerprint, "--server", &format!("ipps://{}", known.authority())]);
    let (_, error, code) = told(&command.output().unwrap());
    let question = format!("password of bob on {}: \n", known.authority());
    assert_eq!((error, code), (question, 0));
    // Who may do what.
    let trust = known.fingerprint.clone();
    let mut printed = windlass();
    let uri = format!("ipps://{}/printers/a", known.authority());
    printed.args(["print", &uri, "--payload", "random", "--bytes", "100kB", "--no-packets"]);
    printed.args(["--user", "bob", "--trust", &trust, "--password-file"]).arg(known.at("bob"));
    let (out, error, code) = told(&printed.output().unwrap());
    assert_eq!(code, 0, "{out}{error}");
    let (out, error, code) = known.windlass(&["start", "a"], "bob", &trust);
    assert!(
        code == 1 && format!("{out}{error}").contains("client-error-forbidden"),
        "{out}{error}"
    );
    assert_eq!(known.windlass(&["hold", "1"], "bob", &trust).2, 0);
    assert_eq!(known.windlass(&["start", "a"], "ann", &trust).2, 0);
    assert_eq!(known.windlass(&["cancel", "1"], "ann", &trust).2, 0);
    // A load over encrypted connections that are kept.
    let mut load = windlass();
    load.args(["spool", "load", &uri, "--jobs", "20", "--size", "10kB", "--connections", "2"]);
    load.args(["--user", "bob", "--trust", &trust, "--password-file"]).arg(known.at("bob"));
    let (out, error, code) = told(&load.output().unwrap());
    assert_eq!(code, 0, "{out}{error}");
    assert_eq!(known.spool.stop().code, Some(0));
}

#[test]
fn wrong_passwords_take_a_bounded_time_and_are_limited() {
    let known = TlsSpool::start();
    fs::write(known.at("eve"), "guess\n").unwrap();
    fs::write(known.at("bob"), "guess\n").unwrap();
    let (mut wrong, mut barred) = (0, 0);
    for _ in 0..12 {
        let began = Instant::now();
        let (_, error, code) = known.windlass(&["jobs"], "bob", &known.fingerprint);
        assert_eq!(code, 1, "{error}");
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        // With the space: a port may have these digits, too.
        wrong += usize::from(error.contains(" 401"));
        barred += usize::from(error.contains(" 429"));
    }
    assert_eq!((wrong, barred), (10, 2));
    // Even the right one is not looked at now, but another's is.
    fs::write(known.at("bob"), "bobs\n").unwrap();
    assert_eq!(known.windlass(&["jobs"], "bob", &known.fingerprint).2, 1);
    assert_eq!(known.windlass(&["jobs"], "ann", &known.fingerprint).2, 0);
    let (_, error, _) = known.windlass(&["jobs"], "eve", &known.fingerprint);
    assert!(error.contains(" 401"), "who is not there is answered as who is: {error}");
    assert_eq!(known.spool.stop().code, Some(0));
}

#[test]
fn what_is_no_tls_is_left() {
    let known = TlsSpool::start();
    let port = known.spool.ipp;
    let rest = |bytes: &[u8]| {
        let mut stream = connect(port);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        got
    };
    // A record of a handshake with nothing of one, one that lies about its length, and one
    // of another kind.
    let hello = [&[0x16, 3, 1, 0x40, 0][..], &[0xff; 0x4000]].concat();
    for bytes in [&hello[..], &[0x16; 70_000], &[0x16, 3, 3, 0, 1, 99], &[0x16, 0, 0, 0, 0]] {
        let got = rest(bytes);
        assert!(got.first().is_none_or(|kind| *kind == 0x15), "it answers {got:?}");
    }
    // What stands behind a request for TLS in the open is no part of what is encrypted.
    let upgrade = "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                   Upgrade: TLS/1.2\r\n\r\n";
    let mut stream = connect(port);
    stream
        .write_all(format!("{upgrade}GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())
        .unwrap();
    assert_eq!(answer(&mut stream).unwrap().0, 400);
    // Many who agree on nothing keep nobody from agreeing.
    let silent: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = connect(port);
            stream.write_all(&[0x16, 3, 1]).unwrap();
            stream
        })
        .collect();
    assert_eq!(known.windlass(&["jobs"], "ann", &known.fingerprint).2, 0);
    drop(silent);
    known.spool.says("the TLS handshake failed");
    assert_eq!(known.spool.stop().code, Some(0));
}

#[test]
fn certificates_and_passwords_are_kept_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let made = |more: &[&str]| {
        let words = ["spool", "certificate", "--certificate", &at("c.pem"), "--key", &at("k.pem")];
        told(&windlass().args(words).args(more).output().unwrap())
    };
    let (out, error, code) = made(&["--name", "print.example.org"]);
    assert_eq!(code, 0, "{error}");
    assert!(
        out.contains("for print.example.org; valid until ") && out.contains("sha256:"),
        "{out}"
    );
    let (_, error, code) = made(&[]);
    assert!(code == 1 && error.contains("--replace"), "{error}");
    assert_eq!(made(&["--replace"]).2, 0);
    let serve = |more: &[&str]| {
        let words = ["spool", "serve", "--printer", "a=drop", "--durability", "memory"];
        told(&windlass().args(words).args(more).output().unwrap())
    };
    let (_, error, code) = serve(&["--tls", "127.0.0.1:0"]);
    assert!(code == 2 && error.contains("windlass spool certificate makes one"), "{error}");
    let (_, error, code) = serve(&["--certificate", &at("k.pem"), "--key", &at("c.pem")]);
    assert!(code == 1 && error.contains("a certificate in"), "{error}");
    fs::write(at("users"), "ann:secret\n").unwrap();
    let (_, error, code) = serve(&["--passwords", &at("users")]);
    assert!(code == 1 && !error.contains("secret"), "{error}");
    let (_, error, code) = told(&given(&["spool", "password", &at("new"), "ann"], ""));
    assert!(code == 2 && error.contains("the first line of standard input is empty"), "{error}");
    assert!(!Path::new(&at("new")).exists());
    let (_, error, code) = told(&given(&["spool", "password", &at("new"), "a b"], "x\n"));
    assert!(code == 1 && error.contains("no spaces"), "{error}");
}

#[test]
fn a_device_of_tls_is_asked_what_it_can_do_and_gets_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let words = ["--certificate", &at("c.pem"), "--key", &at("k.pem")];
    let made = windlass().args(["spool", "certificate"]).args(words).output().unwrap();
    assert!(made.status.success(), "{}", text_of(&made));
    let printer = "[[printer]]\nname = \"b\"\ndevice = \"drop\"\ncolour = true\n";
    fs::write(at("behind.toml"), printer).unwrap();
    let config = at("behind.toml");
    let behind =
        Spool::start(&folder.path().join("behind"), &[&words[..], &["--config", &config]].concat());
    let device = format!("a=ipps://localhost:{}/printers/b", behind.ipp);
    let front = Spool::start(&folder.path().join("front"), &["--printer", &device]);
    let asked = about(Operation::GET_PRINTER_ATTRIBUTES, front.ipp, "a");
    wait_for("the device's word on colour", || {
        let answer = ask(front.ipp, &asked, b"");
        let group = answer.group(GroupTag::PRINTER).unwrap();
        matches!(group.value("color-supported"), Some(Value::Boolean(true)))
    });
    print(front.ipp, "a", "secret", b"some words");
    behind.wait_counts("b", "completed", 1);
    assert_eq!(front.stop().code, Some(0));
    assert_eq!(behind.stop().code, Some(0));
}

#[test]
fn a_device_that_asks_for_a_password_gets_it() {
    let known = TlsSpool::start();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let device = format!("ipps://{}/printers/a", known.authority());
    let settings = format!("[[printer]]\nname = \"front\"\ndevice = {device:?}\n");
    let file = format!("device-passwords = {:?}\n", at("devices"));
    fs::write(at("spool.toml"), &settings).unwrap();
    let spool = Spool::start(&folder.path().join("spool"), &["--config", &at("spool.toml")]);
    print(spool.ipp, "front", "one", b"x");
    spool.says("client-error-not-authenticated");
    // From the next reading of the settings on it is known who asks.
    fs::write(at("devices"), "# devices\nlocalhost bob bobs\n").unwrap();
    fs::write(at("spool.toml"), format!("{file}{settings}")).unwrap();
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(at("devices"), open).unwrap();
    spool.signal("HUP");
    spool.says("is readable by others than its owner");
    fs::set_permissions(at("devices"), fs::Permissions::from_mode(0o600)).unwrap();
    spool.signal("HUP");
    wait_for("the job at its device", || {
        known.windlass(&["jobs"], "bob", "anybody").0.contains("one")
    });
    assert_eq!(spool.stop().code, Some(0));
}
