//! Each row of the tables of commands in docs/spool-and-cups.md, by these commands themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::server::Spool;
use super::{content, ran};
use windlass_testkit::{has, is_root, repository};

/// Expected outcome of a command.
enum ExpectedOutcome {
    /// Success, with this text in the output.
    Done(&'static str),
    /// Failure, with this error.
    Refused(&'static str),
}

use ExpectedOutcome::{Done, Refused};

/// The first cell of a row, and commands that show what it says, in their order. `@` is the
/// server, `FILE` a file with two words.
const ROWS: &[(&str, &[(&str, ExpectedOutcome)])] = &[
    (
        "`lp FILE`, `-d`, `-t`, `-q`, `-n`, `-o`",
        &[
            ("cupsdisable @ office", Done("")),
            ("lp @ FILE", Done("request id is office-1")),
            ("lp @ -d office -t title -q 70 -n 2 -o sides=one-sided FILE", Done("office-2")),
        ],
    ),
    (
        "`lp -H hold`, `release`, `immediate`, `restart`",
        &[
            ("lp @ -d dummy -H hold FILE", Done("dummy-3")),
            ("lp @ -i dummy-3 -H release", Done("")),
            ("lp @ -d dummy -H immediate FILE", Done("dummy-4")),
            ("lpstat @ -W completed -o dummy", Done("dummy-4")),
            ("lp @ -i dummy-4 -H restart", Done("")),
        ],
    ),
    (
        "`lp -H HH:MM`, `day-time`, `evening`, `night`, `weekend`, `second-shift`, `third-shift`",
        &[
            ("lp @ -d office -H 23:59 FILE", Done("office-5")),
            ("lp @ -d office -H weekend FILE", Done("office-6")),
            ("lp @ -d office -H sometime FILE", Refused("sometime")),
        ],
    ),
    ("`lp -i JOB …`", &[("lp @ -i office-2 -q 90", Done(""))]),
    (
        "`lp -P 1-4`, `-o page-ranges`",
        &[
            ("lp @ -d office -P 1-4 FILE", Refused("page-ranges is not supported")),
            ("lp @ -d office -o page-ranges=1-4 FILE", Refused("page-ranges is not supported")),
        ],
    ),
    (
        "`lp -o job-sheets=…`, `number-up`",
        &[("lp @ -d office -o job-sheets=standard -o number-up=2 FILE", Done("office-7"))],
    ),
    ("`lp -o fit-to-page`, …", &[("lp @ -d office -o fit-to-page FILE", Done("office-8"))]),
    (
        "`lpr`, `lpr -#`, `-P`, `-T`, `-J`, `-C`, `-o`",
        &[
            ("lpr -H SERVER -P office -# 2 -T title FILE", Done("")),
            ("lpr -H SERVER -P office -J title -C class -o sides=one-sided FILE", Done("")),
        ],
    ),
    (
        "`lpq`, `lpq -P`, `-l`, `+INTERVAL`",
        &[
            ("lpq @", Done("office is not ready")),
            ("lpq @ -P dummy", Done("no entries")),
            ("lpq @ -P office -l", Done("[job 9 localhost]")),
            // It asks again until there is none.
            ("lpq @ -P dummy +1", Done("no entries")),
        ],
    ),
    (
        "`lprm`, `lprm JOB`, `lprm -P`",
        &[
            ("lprm @ -P office", Done("")),
            ("lprm @ 9", Done("")),
            ("lprm @ 9", Refused("it is already finished")),
            ("lprm @ -P office 10", Done("")),
        ],
    ),
    (
        "`cancel JOB`, `-a`, `-u`",
        &[
            ("cancel @ office-8", Done("")),
            ("cancel @ office-8", Refused("it is already finished")),
            ("cancel @ -u nobody-here office", Done("")),
            ("cancel @ -a office", Done("")),
            ("lpstat @ -W completed -o office", Done("office-8")),
        ],
    ),
    (
        "`lpstat -r -d -c -v -a -p -o -t -W -l -u`",
        &[
            ("lpstat @ -r", Done("scheduler is running")),
            ("lpstat @ -d", Done("system default destination: office")),
            ("lpstat @ -c", Done("")),
            ("lpstat @ -v", Done("device for dummy: ")),
            ("lpstat @ -a", Done("office accepting requests")),
            ("lpstat @ -p", Done("printer office disabled")),
            ("lpstat @ -t", Done("device for office: ")),
            ("lpstat @ -l -p dummy", Done("printer dummy is idle")),
            ("lpstat @ -W all -l -u root -o", Done("office-1")),
        ],
    ),
    (
        "`lpoptions -d`, `-p … -o`",
        &[
            ("lpoptions @ -d dummy", Done("")),
            ("lpoptions @ -p dummy -o job-priority=70", Done("")),
            ("lpoptions @ -p dummy", Done("job-priority=70")),
            ("lpoptions @ -x dummy", Done("")),
        ],
    ),
    ("`lpoptions -l`", &[("lpoptions @ -p dummy -l", Done("Unable to get PPD file"))]),
    (
        "`lpadmin -p NAME -v URI -E`",
        &[
            ("lpadmin @ -p lab -v socket://192.0.2.9 -E", Done("")),
            ("lpadmin @ -p lab -v ipp://192.0.2.9/ipp/print", Done("")),
            ("lpadmin @ -p lab -v lpd://192.0.2.9/lp", Done("")),
            ("lpadmin @ -p lab -v file:///dev/null", Done("")),
            ("lpadmin @ -p lab -v file:///tmp/x", Refused("cannot be given at run time")),
        ],
    ),
    (
        "`lpadmin -p NAME -D -L`",
        &[
            ("lpadmin @ -p lab -D Laboratory -L 2.14", Done("")),
            ("lpstat @ -l -p lab", Done("Laboratory")),
        ],
    ),
    (
        "`lpadmin -p NAME -o printer-error-policy=`",
        &[
            ("lpadmin @ -p lab -o printer-error-policy=abort-job", Done("")),
            ("lpadmin @ -p lab -o printer-error-policy=stop-printer", Done("")),
            ("lpadmin @ -p lab -o printer-error-policy=retry-job", Done("")),
            (
                "lpadmin @ -p lab -o printer-error-policy=retry-current-job",
                Refused("is not supported"),
            ),
        ],
    ),
    (
        "`lpadmin -p NAME -c CLASS`, `-r CLASS`",
        &[
            ("lpadmin @ -p lab -c pool", Done("")),
            ("lpadmin @ -p dummy -c pool", Done("")),
            ("lpstat @ -c", Done("members of class pool")),
            ("lpadmin @ -p lab -r pool", Done("")),
        ],
    ),
    (
        "`lpadmin -d NAME`",
        &[("lpadmin @ -d lab", Done("")), ("lpstat @ -d", Done("destination: lab"))],
    ),
    (
        "`lpadmin -m raw`, `-m everywhere`",
        &[
            ("lpadmin @ -p lab -m raw", Done("")),
            ("lpadmin @ -p more -v ipp://192.0.2.9/ipp/print -m everywhere", Done("")),
        ],
    ),
    (
        "`lpadmin -m MODEL`, `-P PPD`",
        &[
            ("lpadmin @ -p lab -m drv:///sample.drv/generic.ppd", Refused("use raw or everywhere")),
            ("lpadmin @ -p lab -P PPD", Refused("use raw or everywhere")),
        ],
    ),
    (
        "`lpadmin -o NAME-default=`",
        &[
            ("lpadmin @ -p lab -o job-sheets-default=none,none", Done("")),
            ("lpadmin @ -p lab -o sides-default=one-sided", Done("")),
            ("lpadmin @ -p lab -o job-priority-default=7", Refused("has defaults of")),
        ],
    ),
    (
        "`lpadmin -o port-monitor=`",
        &[("lpadmin @ -p lab -o port-monitor=bcp", Refused("cannot be set"))],
    ),
    (
        "`lpadmin -o printer-is-shared=false`",
        &[("lpadmin @ -p lab -o printer-is-shared=false", Refused("cannot be set"))],
    ),
    (
        "`lpadmin -u allow:…`, `deny:…`",
        &[("lpadmin @ -p lab -u allow:ann", Done("")), ("lpadmin @ -p lab -u deny:none", Done(""))],
    ),
    (
        "`lpmove JOB NAME`, `lpmove NAME NAME`",
        &[
            ("lp @ -d office FILE", Done("office-11")),
            ("lp @ -d office FILE", Done("office-12")),
            ("lpmove @ office-11 dummy", Done("")),
            ("lpmove @ office dummy", Done("")),
        ],
    ),
    (
        "`cupsenable`, `cupsdisable`, `-r`",
        &[
            ("cupsdisable @ -r toner lab", Done("")),
            ("lpstat @ -p lab", Done("toner")),
            ("cupsenable @ lab", Done("")),
        ],
    ),
    (
        "`cupsdisable --hold`, `cupsenable --release`",
        &[
            ("cupsdisable @ --hold lab", Refused("operation-not-supported")),
            ("cupsenable @ --release lab", Refused("operation-not-supported")),
        ],
    ),
    (
        "`cupsaccept`, `cupsreject`",
        &[
            ("cupsreject @ -r closed lab", Done("")),
            ("lp @ -d lab FILE", Refused("not accept")),
            ("cupsaccept @ lab", Done("")),
        ],
    ),
    (
        "`lpadmin -x NAME`",
        &[
            ("cupsdisable @ lab", Done("")),
            ("lp @ -d lab FILE", Done("lab-13")),
            ("lpadmin @ -x lab", Done("")),
            ("lpadmin @ -x lab", Refused("")),
            ("lpmove @ lab-13 dummy", Done("")),
        ],
    ),
    ("`cupsctl`, `cupsd.conf` by HTTP", &[("cupsctl @", Refused("Not Found"))]),
    (
        "`lpinfo -v`, `-m`",
        &[
            ("lpinfo @ -v", Refused("CUPS-Get-Devices is not supported here")),
            ("lpinfo @ -m", Refused("CUPS-Get-PPDs is not supported here")),
        ],
    ),
];

/// Rows that no command of CUPS's shows: programs that are none of a spool's, and a signal, of
/// which `reloads.rs` has the tests.
const OTHERS: [&str; 2] = ["`cupstestppd`, `cupsfilter`, `ppdc`", "`kill -HUP`"];

/// The first cells of the tables of commands.
fn rows_of_docs() -> BTreeSet<String> {
    let text = fs::read_to_string(repository("docs/spool-and-cups.md")).unwrap();
    let commands = text.split("## Directives").next().unwrap();
    let rows = commands.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| format!("`{}", row.split(" |").next().unwrap())).collect()
}

#[test]
fn each_row_of_the_tables_is_tried() {
    let tried = ROWS.iter().map(|(row, _)| *row).chain(OTHERS).map(str::to_owned);
    assert_eq!(tried.collect::<BTreeSet<_>>(), rows_of_docs());
}

/// A file that CUPS takes for a printer's description.
fn ppd(folder: &Path) -> String {
    content("ppdc", &["-d", folder.to_str().unwrap(), "/usr/share/cups/drv/sample.drv"]);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|end| end == "ppd"));
    files.next().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn cups_commands_do_what_the_tables_say() {
    let test = "cups_commands_do_what_the_tables_say";
    let commands = ["lp", "lpr", "lpq", "lprm", "lpstat", "lpadmin", "lpinfo", "cupsctl", "ppdc"];
    // By TCP from this host anybody administers; lpoptions of root's changes the host.
    if !commands.iter().all(|command| has(command, test)) || !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (out, home) = (folder.path().join("out"), folder.path().join("home"));
    fs::create_dir(&out).unwrap();
    fs::create_dir(&home).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "some words").unwrap();
    let ppd = ppd(&home);
    let office = format!("office=file:{}", out.display());
    let printers = ["--printer", &office, "--printer", "dummy=drop", "--keep-documents"];
    let spool = Spool::start(&folder.path().join("spool"), &printers);
    let server = format!("127.0.0.1:{}", spool.ipp);
    for (row, commands) in ROWS {
        for (line, comes) in *commands {
            let line = line.replace('@', &format!("-h {server}"));
            let line = line.replace("SERVER", &server).replace("PPD", &ppd);
            let line = line.replace("FILE", file.to_str().unwrap());
            // Nobody's own settings are read or written.
            let at_home = format!("HOME={}", home.display());
            let words: Vec<&str> = [
                "-u",
                "DBUS_SESSION_BUS_ADDRESS",
                &at_home,
                "USER=root",
                "CUPS_SERVERROOT=/nowhere",
            ]
            .into_iter()
            .chain(line.split_whitespace())
            .collect();
            let output = ran("env", &words);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let said = text(&output.stdout) + &text(&output.stderr);
            let (is_done, part) = match comes {
                Done(part) => (true, part),
                Refused(part) => (false, part),
            };
            assert_eq!(output.status.success(), is_done, "{row}: {line}: {said}");
            assert!(said.contains(part), "{row}: {line}: {said}");
        }
    }
    assert_eq!(spool.stop().code, Some(0));
}
