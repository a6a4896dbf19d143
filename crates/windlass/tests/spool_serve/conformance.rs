//! ipptool's own suites (its exit code is not to be trusted: 0 with failures in
//! files that a suite includes).

use std::fs;
use std::path::Path;
use std::process::Command;

use super::server::Spool;
use windlass_testkit::{has, skipped};

const SUITES: &str = "/usr/share/cups/ipptool";

/// Tests that ipp-1.1.test and ipp-2.0.test skip for any server, with reasons.
const SKIPPED: [(&str, &str); 10] = [
    ("RFC 8011 section 4.2.2: Print-URI Operation", URI),
    ("Print-URI with bad URI: Print-URI Operation", URI),
    // This one is followed by Send-URI, and others of that name are not.
    ("RFC 8011 section 4.2.4: Create-Job Operation", URI),
    ("RFC 8011 section 4.3.2: Send-URI Operation", URI),
    ("Send-URI with bad URI: Create-Job Operation", URI),
    ("Send-URI with bad URI: Send-URI Operation (bad URI)", URI),
    ("Send-URI with bad URI: Cancel-Job Operation", URI),
    ("and Standard Sheet", "no sheet is printed between jobs: job-sheets-supported is none"),
    (", 2-Up", "data goes on as it came: number-up-supported is 1"),
    // What printers have is called print-quality-supported.
    (" Quality", "the suite asks for an attribute print-quality of the printer, which is a job's"),
];

/// Tests that ipp-1.1.test runs only while its first job is unfinished.
const OVER: [&str; 5] = [
    "Get-Jobs Operation (requested-attributes)",
    "Get-Jobs Operation (my-jobs)",
    "Get-Jobs Operation (my-jobs different user)",
    "Get-Jobs Operation (which-jobs=not-completed",
    "Get-Jobs Operation (which-jobs, requested-at",
];

/// Attempts for a suite whose job was finished before the question.
const TRIES: usize = 4;

fn is_over(name: &str) -> bool {
    OVER.iter().any(|over| name.contains(over))
}

const URI: &str = "optional, and not offered: a server that fetches what clients name can be sent \
                   anywhere";

/// The lines of a suite that say `[FAIL]` or `[SKIP]`, by name.
struct SuiteResult {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
    text: String,
}

/// A copy of the suites, with the sample documents that Debian leaves out.
fn suites() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(SUITES).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_file() {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        fs::write(folder.path().join(path.file_name().unwrap()), &text).unwrap();
        let files = text.lines().filter_map(|line| line.trim().strip_prefix("FILE "));
        for file in files.filter(|file| !file.starts_with('$')) {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, super::some_bytes(1, 20_000)).unwrap();
        }
    }
    fs::write(folder.path().join("document-letter.pdf"), "%PDF-1.4\n%%EOF\n").unwrap();
    folder
}

fn run(suites: &Path, version: &str, suite: &str, uri: &str) -> SuiteResult {
    let output = Command::new("ipptool")
        .args(["-V", version, "-tI", "-T", "30", "-f", "document-letter.pdf", uri, suite])
        .current_dir(suites)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let of = |mark: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.trim_end().strip_suffix(mark));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    SuiteResult { passed: of("[PASS]").len(), failed: of("[FAIL]"), skipped: of("[SKIP]"), text }
}

/// Settings of printers that print in colour and on both sides.
fn able(folder: &Path, printers: &[(&str, &str)]) -> String {
    let each = printers.iter().map(|(name, device)| {
        format!("[[printer]]\nname = {name:?}\ndevice = {device:?}\ncolour = true\nduplex = true\n")
    });
    let path = folder.join("spool.toml");
    fs::write(&path, each.collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn can_run(test: &str) -> bool {
    if !has("ipptool", test) {
        return false;
    }
    let is_there = Path::new(SUITES).join("ipp-1.1.test").exists();
    if !is_there {
        skipped(test, "ipptool's suites are not installed");
    }
    is_there
}

#[test]
fn the_suites_of_ipp_1_1_and_2_0_fail_nowhere() {
    let test = "the_suites_of_ipp_1_1_and_2_0_fail_nowhere";
    if !can_run(test) {
        return;
    }
    let suites = suites();
    let folder = tempfile::tempdir().unwrap();
    let file = format!("file:{}", folder.path().join("out").display());
    // One that still has the job when it is asked for.
    let slow = "exec:sleep 0.3; cat > /dev/null";
    let config = able(folder.path(), &[("drop", "drop"), ("file", &file), ("slow", slow)]);
    let spool = Spool::start(&folder.path().join("spool"), &["--config", &config]);
    for printer in ["drop", "file", "slow"] {
        for (version, suite) in [("1.1", "ipp-1.1.test"), ("2.0", "ipp-2.0.test")] {
            let mut told = run(suites.path(), version, suite, &spool.uri(printer));
            // Where the machine keeps ipptool waiting, a job of the slow one is over, too.
            for _ in 0..TRIES {
                if printer != "slow" || !told.skipped.iter().any(|name| is_over(name)) {
                    break;
                }
                told = run(suites.path(), version, suite, &spool.uri(printer));
            }
            let what = format!("{suite} for {printer}: {}", told.text);
            assert_eq!(told.failed, [""; 0], "{what}");
            // A job that is over when its answer comes leaves nothing to ask of jobs that
            // are not: all of these are left out together, or none.
            let over = told.skipped.iter().filter(|name| is_over(name)).count();
            assert!(over == 0 || (over == OVER.len() && printer != "slow"), "{what}");
            for skipped in told.skipped.iter().filter(|name| !is_over(name)) {
                let is_known = SKIPPED.iter().any(|(name, _)| skipped.contains(name));
                assert!(is_known, "{skipped:?} is skipped in {what}");
            }
            for (name, why) in SKIPPED {
                let is_there = told.skipped.iter().any(|skipped| skipped.contains(name));
                assert!(is_there, "{name:?} is not skipped any more ({why}): {what}");
            }
            assert_eq!(told.skipped.len() - over, 20, "{:#?}", told.skipped);
            // All that is in them.
            let all = if suite == "ipp-1.1.test" { 66 } else { 67 };
            assert_eq!(told.passed + told.skipped.len(), all, "{what}");
        }
    }
    assert_eq!(spool.stop().code, Some(0));
}

/// A spool promises what its device may have.
#[test]
fn ipp_everywhere_fails_nowhere() {
    let test = "ipp_everywhere_fails_nowhere";
    if !can_run(test) {
        return;
    }
    let suites = suites();
    let folder = tempfile::tempdir().unwrap();
    let config = able(folder.path(), &[("a", "drop")]);
    let spool = Spool::start(&folder.path().join("spool"), &["--config", &config]);
    let told = run(suites.path(), "2.0", "ipp-everywhere.test", &spool.uri("a"));
    assert_eq!(told.failed, [""; 0], "{}", told.text);
    // Of the documents in three compressions it prints all that it says to take.
    let score = "433 tests, 139 passed, 0 failed, 294 skipped";
    assert!(told.text.contains(score), "{}", told.text);
    let told = run(suites.path(), "2.0", "get-printer-attributes-suite.test", &spool.uri("a"));
    // This one asks for 'all', and expects what comes for 'media-col-database' alone.
    let name = "Get-Printer-Attributes (requested-attributes='media-col-database')";
    assert_eq!((told.passed, told.failed.as_slice()), (6, &[name.to_owned()][..]), "{}", told.text);
    assert_eq!(spool.stop().code, Some(0));
}
