//! A cupsd with the policy that it is shipped with, steered by whom the kernel knows.

use std::fs;

use windlass_testkit::cups::{Cups, Setup};
use windlass_testkit::{told, windlass};

/// Rights by the stock `cupsd.conf` of 2.4, as far as they matter here.
const STOCK: &str = "\
<Limit Cancel-Job Hold-Job Release-Job>\nRequire user @OWNER @SYSTEM\nOrder deny,allow\n</Limit>\n\
<Limit Pause-Printer Resume-Printer>\nAuthType Default\nRequire user @SYSTEM\nOrder deny,allow\n\
</Limit>\n<Limit All>\nOrder deny,allow\n</Limit>";

#[test]
fn root_steers_cups_on_its_stock_policy() {
    let test = "root_steers_cups_on_its_stock_policy";
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("cups.sock");
    let socket = socket.to_str().unwrap();
    let more = format!("Listen {socket}");
    let setup = Setup { more: &more, ..Setup::default() };
    let Some(mut cups) = Cups::begin(test, &setup) else { return };
    let path = cups.folder.path().join("etc/cupsd.conf");
    let open = "<Limit All>\nOrder deny,allow\nAllow all\n</Limit>";
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(open), "{text}");
    let stock = text.replace(open, STOCK).replace("DefaultAuthType None", "DefaultAuthType Basic");
    fs::write(&path, stock).unwrap();
    cups.kill_and_restart();
    let spool = |words: &[&str], server: &str| {
        let mut command = windlass();
        command.args(["spool"]).args(words).args(["--server", server]);
        told(&command.output().unwrap())
    };
    let (stdout, stderr, code) = spool(&["stop", "dummy"], socket);
    assert_eq!((stdout.as_str(), code), ("stopped: dummy\n", 0), "{stderr}{}", cups.log());
    let (stdout, stderr, _) = spool(&["printers"], socket);
    assert!(stdout.contains("stopped"), "{stdout}{stderr}");
    let (stdout, stderr, code) = spool(&["start", "dummy"], socket);
    assert_eq!((stdout.as_str(), code), ("started: dummy\n", 0), "{stderr}");
    // By TCP nobody knows who asks: what to do is said.
    let by_tcp = format!("127.0.0.1:{}", cups.port);
    let (stdout, stderr, code) = spool(&["stop", "dummy"], &by_tcp);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let text = format!("{stdout}{stderr}");
    assert!(text.contains(" 401") && text.contains("/run/cups/cups.sock"), "{text}");
}
