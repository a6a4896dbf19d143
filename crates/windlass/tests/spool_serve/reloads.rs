//! Settings that are read anew on SIGHUP.

use std::fs;

use super::client::{print, state};
use super::server::{Spool, wait_for};
use windlass_testkit::schema::checked;
use windlass_testkit::{told, windlass};

#[test]
fn sighup_reads_the_settings_anew() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("spool.toml");
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let path = config.to_str().unwrap();
    let settings = |text: &str| fs::write(&config, text).unwrap();
    let keeps = "[[printer]]\nname = \"a\"\ndevice = \"drop\"\n";
    settings(&format!("{keeps}[[printer]]\nname = \"b\"\ndevice = \"drop\"\nstopped = true\n"));
    let spool = Spool::start(&folder.path().join("spool"), &["--config", path]);
    let job = print(spool.ipp, "b", "of b", b"1234567");
    // What cannot be read changes nothing, and says why.
    settings("[[printer]]\nname = \"a\"\ndevice = \"tape:/x\"\n");
    spool.signal("HUP");
    spool.says("the settings were not reloaded: ");
    let why = spool.events("not-reloaded");
    assert!(why[0].contains("is not a device") && state(spool.ipp, "b", job).is_some(), "{why:?}");
    // A port that another has is no reason to change half of them.
    let taken = format!("raw = \"127.0.0.1:{}\"\n", spool.lpr);
    settings(&format!("{keeps}[[printer]]\nname = \"c\"\ndevice = \"drop\"\n{taken}"));
    spool.signal("HUP");
    wait_for("a second refusal", || spool.events("not-reloaded").len() == 2);
    assert!(spool.events("not-reloaded")[1].contains("cannot listen for raw data at"));
    assert!(spool.events("settings-changed").is_empty());
    // One printer is gone, one is new, with a port of its own, and one prints elsewhere.
    settings(&format!(
        "history = 7\ndurability = \"fsync\"\n\
         [[printer]]\nname = \"a\"\ndevice = \"file:{0}/\"\n\
         [[printer]]\nname = \"c\"\ndevice = \"file:{0}/\"\nraw = \"127.0.0.1:0\"\n",
        out.display()
    ));
    spool.signal("HUP");
    spool.says("settings reloaded: 3 printers changed, 2 now");
    let changes =
        ["printer a: changed (device)", "printer c: added", "printer b: removed, 1 jobs kept"];
    assert_eq!(spool.events("settings-changed"), changes);
    assert_eq!(
        spool.events("settings-wait"),
        ["these changes take effect at the next start: durability"]
    );
    print(spool.ipp, "a", "of a", b"a");
    let lines = spool.lines();
    let raw = lines.iter().rev().find(|line| line["event"] == "listens").unwrap();
    assert_eq!((raw["protocol"].as_str(), raw["printer"].as_str()), (Some("raw data"), Some("c")));
    let address = raw["address"].as_str().unwrap();
    fs::write(folder.path().join("raw"), "raw").unwrap();
    let file = folder.path().join("raw");
    let printed = windlass()
        .args(["print", &format!("socket://{address}"), file.to_str().unwrap(), "--no-packets"])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{printed:?}");
    spool.wait_counts("a", "completed", 1);
    spool.wait_counts("c", "completed", 1);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    // The jobs of the printer that is gone are seen, and it has them again.
    let server = format!("127.0.0.1:{}", spool.ipp);
    let jobs = || {
        let told = windlass().args(["spool", "jobs", "--server", &server]).output().unwrap();
        String::from_utf8(told.stdout).unwrap()
    };
    let printers = windlass().args(["spool", "printers", "--server", &server]).output().unwrap();
    let printers = String::from_utf8(printers.stdout).unwrap();
    assert!(printers.contains("1 job of removed printers"), "{printers}");
    assert!(printers.contains("total: 1 job"), "{printers}");
    let listed = jobs();
    assert!(listed.contains("of b") && listed.contains("its printer was removed"), "{listed}");
    settings(&format!("{keeps}[[printer]]\nname = \"b\"\ndevice = \"drop\"\n"));
    spool.signal("HUP");
    spool.says("printer b: added");
    spool.wait_counts("b", "completed", 1);
    let ended = spool.stop();
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_new_certificate_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (at("certificate.pem"), at("key.pem"));
    // Makes another in their place, and gives how it is known.
    let made = |name: &str| {
        let [new, new_key] = ["certificate", "key"].map(|kind| at(&format!("{name}.{kind}")));
        let words = ["spool", "certificate", "--json", "--certificate", &new, "--key", &new_key];
        let (stdout, stderr, code) = told(&windlass().args(words).output().unwrap());
        assert_eq!(code, 0, "{stderr}");
        fs::rename(new, &certificate).unwrap();
        fs::rename(new_key, &key).unwrap();
        checked("spool-certificate", &stdout)["fingerprint"].as_str().unwrap().to_owned()
    };
    let first = made("first");
    let options = ["--printer", "a=drop", "--certificate", &certificate, "--key", &key];
    let spool = Spool::start(&folder.path().join("spool"), &options);
    let server = format!("ipps://localhost:{}", spool.ipp);
    let trusted = |fingerprint: &str| {
        let words = ["spool", "printers", "--server", &server, "--trust", fingerprint];
        windlass().args(words).output().unwrap().status.success()
    };
    assert!(trusted(&first));
    let second = made("second");
    assert!(trusted(&first) && !trusted(&second), "nobody said so yet");
    spool.signal("HUP");
    spool.says(&format!("the certificate is {second}"));
    assert!(trusted(&second) && !trusted(&first));
    // What is none, or is not written to its end yet, ends nothing.
    fs::write(&certificate, "-----BEGIN CERTIFICATE-----\nMIIB").unwrap();
    spool.signal("HUP");
    spool.says("the certificate was not reloaded: ");
    spool.says("settings reloaded: none of 1 printers changed");
    assert!(trusted(&second));
    assert_eq!(spool.stop().code, Some(0));
}
