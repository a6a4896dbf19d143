//! Conversion of a form's fields into the arguments of a command.
//!
//! Each field is parsed as the command parses it, and follows `--name=`, so that no value can be
//! taken for an option; the host cannot begin with a dash. The result is then parsed as a command
//! line before it is run.

use windlass_base::values::{bytes, rate, share, span};
use windlass_base::{Bytes, Span, whole_part};
use windlass_lab::built_in;
use windlass_runs::without_password;
use windlass_ui::Fields;
use windlass_wire::target::{Protocol, Target, TargetError, host_and_port};

use crate::commands::print::PAYLOADS;
use crate::keeping::tag;

/// Error of a field; without a name, of the whole form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) field: &'static str,
    pub(super) why: String,
}

impl Problem {
    /// Returns a problem of no field alone.
    pub(super) fn of_form(why: String) -> [Self; 1] {
        [Self { field: "", why }]
    }
}

/// A command that is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedCommand {
    /// Title for people.
    pub(super) title: String,
    /// Its arguments, without the program's name.
    pub(super) arguments: Vec<String>,
    /// A path that is to be written into a file; the name of the file follows `--simulate=`.
    pub(super) path: Option<String>,
}

/// The longest measurement that is started from a page.
const LONGEST: Span = Span::from_millis(600_000);

/// Maximum number of points of a graph.
const POINTS: u64 = 240;

/// The shortest interval of a graph.
const SHORTEST: Span = Span::from_millis(500);

/// The longest text of a field.
const MAX_TEXT: usize = 500;

/// The most data that is sent to a printer, and to each device in virtual time.
const MOST: Bytes = Bytes::new(1 << 30);

/// Servers at the target.
pub(super) const PROTOCOLS: [(&str, &str); 4] = [
    ("windlass", "windlass serve (figures of both ends)"),
    ("iperf3", "iperf3 -s"),
    ("iperf", "iperf -s (iperf 2)"),
    ("ttcp", "ttcp -r, or any TCP sink"),
];

/// Directions of a test.
pub(super) const WAYS: [(&str, &str); 3] =
    [("there", "To the target"), ("back", "From the target"), ("both", "Both directions")];

/// Protocols to a printer.
pub(super) const SPOKEN: [(&str, &str); 3] = [
    ("raw", "Raw data, port 9100 (JetDirect, AppSocket)"),
    ("lpr", "LPR, port 515"),
    ("ipp", "IPP, port 631"),
];

/// Value of the form for a path of the user's own.
pub(super) const OWN_PATH: &str = "own";

/// Reader of fields that collects their errors.
pub(super) struct Reader<'a> {
    fields: &'a Fields,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(fields: &'a Fields) -> Self {
        Self { fields, problems: Vec::new() }
    }

    pub(super) fn no(&mut self, field: &'static str, why: impl Into<String>) {
        self.problems.push(Problem { field, why: why.into() });
    }

    /// Returns a text; `None` if it is empty.
    fn text(&mut self, name: &'static str) -> Option<&'a str> {
        let text = self.fields.text(name);
        if text.len() > MAX_TEXT || text.chars().any(char::is_control) {
            self.no(name, "this is not a single line of text, or it is too long");
            return None;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    /// Parses a value with this parser.
    pub(super) fn value<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(name)?;
        match read(text) {
            Ok(value) => Some(value),
            Err(why) => {
                self.no(name, why);
                None
            }
        }
    }

    /// Reads one of several words.
    pub(super) fn one_of(
        &mut self,
        name: &'static str,
        words: impl Iterator<Item = &'static str>,
    ) -> &'static str {
        let said = self.fields.text(name);
        for word in words {
            if word == said {
                return word;
            }
        }
        self.no(name, "choose one from the list");
        ""
    }

    /// Returns whether nothing was wrong so far.
    pub(super) fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// Reads a port, as the option of a command.
    pub(super) fn port(&mut self, name: &'static str) -> Option<String> {
        let no = |_| "a port is a number from 1 to 65535".to_owned();
        let port = self.value(name, |text| number(text, 65_535).map_err(no));
        port.map(|port| format!("--port={port}"))
    }

    /// Returns the value, or all errors.
    pub(super) fn finish<T>(self, wanted: T) -> Result<T, Vec<Problem>> {
        if self.problems.is_empty() { Ok(wanted) } else { Err(self.problems) }
    }
}

pub(super) fn words(
    all: &'static [(&'static str, &'static str)],
) -> impl Iterator<Item = &'static str> {
    all.iter().map(|(word, _)| *word)
}

fn number(text: &str, most: u64) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && (1..=most).contains(number));
    number.ok_or_else(|| format!("give a number from 1 to {most}"))
}

/// Parses a host, with a port if there is one.
fn host(text: &str) -> Result<(String, Option<u16>), String> {
    let allowed = || "write a host as HOST, HOST:PORT or [IPV6-ADDRESS]:PORT".to_owned();
    let (host, port) = host_and_port(text).map_err(|wrong| match wrong {
        TargetError::Port => "a port is a number from 1 to 65535".to_owned(),
        _ => allowed(),
    })?;
    let is_fine = |one: char| one.is_alphanumeric() || "-._:%".contains(one);
    if host.starts_with('-') || host.len() > 255 || !host.chars().all(is_fine) {
        return Err(allowed());
    }
    Ok((host, port))
}

/// Parses the name of a congestion control.
fn congestion(text: &str) -> Result<String, String> {
    let is_fine = |one: char| one.is_ascii_alphanumeric() || "_-".contains(one);
    if text.len() > 15 || text.starts_with('-') || !text.chars().all(is_fine) {
        return Err("give the name of a congestion control: cubic, bbr".to_owned());
    }
    Ok(text.to_owned())
}

fn time(text: &str) -> Result<Span, String> {
    let time = span(text)?;
    let is_fine = (Span::from_millis(100)..=LONGEST).contains(&time);
    Some(time).filter(|_| is_fine).ok_or(format!("a test takes 100 ms to {LONGEST}"))
}

/// Parses windows, separated by commas.
fn windows(text: &str) -> Result<Vec<Bytes>, String> {
    let all: Vec<Bytes> = text.split(',').map(|one| bytes(one.trim())).collect::<Result<_, _>>()?;
    if all.len() > 12 {
        return Err("give at most twelve windows".to_owned());
    }
    Ok(all)
}

/// Returns the command that measures the path to a host: one test, or a sweep of several windows.
pub(super) fn measure(fields: &Fields) -> Result<RequestedCommand, Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let target = reader.value("host", host);
    if fields.text("host").is_empty() {
        reader.no("host", "give a host name or an address");
    }
    let protocol = reader.one_of("protocol", words(&PROTOCOLS));
    let way = reader.one_of("way", words(&WAYS));
    let port = reader.value("port", |text| number(text, 65_535));
    let time = reader.value("time", time).unwrap_or(Span::from_millis(10_000));
    let streams = reader.value("streams", |text| number(text, 128)).unwrap_or(1);
    let windows = reader.value("windows", windows).unwrap_or_default();
    let congestion = reader.value("congestion", congestion);
    let is_sweep = windows.len() > 1;
    if is_sweep && !["windlass", "iperf3"].contains(&protocol) {
        reader.no("windows", "several windows need windlass serve or iperf3 at the target");
    }
    let kept = kept(&mut reader);
    let (host, own_port) = target.unwrap_or_default();
    if own_port.is_some() && port.is_some() {
        reader.no("port", "the target already has a port");
    }
    let mut arguments = if is_sweep {
        let sizes: Vec<String> = windows.iter().map(|one| one.get().to_string()).collect();
        let way = match way {
            "there" => "up",
            "back" => "down",
            both => both,
        };
        vec![
            "sweep".to_owned(),
            host.clone(),
            format!("--windows={}", sizes.join(",")),
            format!("--streams={streams}"),
            format!("--direction={way}"),
            format!("--congestion={}", congestion.as_deref().unwrap_or("own")),
            format!("--time={}ms", time.as_nanos() / 1_000_000),
        ]
    } else {
        // Full tenths of a second are easier to read.
        let interval = time.part_of(POINTS).max(SHORTEST).as_nanos().div_euclid(100_000_000) * 100;
        let mut arguments = vec![
            "send".to_owned(),
            host.clone(),
            format!("--time={}ms", time.as_nanos() / 1_000_000),
            format!("--streams={streams}"),
            format!("--interval={interval}ms"),
        ];
        match way {
            "back" => arguments.push("--reverse".to_owned()),
            "both" => arguments.push("--bidirectional".to_owned()),
            _ => {}
        }
        arguments.extend(windows.first().map(|window| format!("--window={}", window.get())));
        arguments.extend(congestion.map(|name| format!("--congestion={name}")));
        arguments
    };
    arguments.push(format!("--protocol={protocol}"));
    let port = own_port.map(u64::from).or(port);
    arguments.extend(port.map(|port| format!("--port={port}")));
    arguments.extend(kept);
    arguments.push("--json-stream".to_owned());
    let title = if is_sweep { format!("Sweep to {host}") } else { format!("Test to {host}") };
    reader.finish(RequestedCommand { title, arguments, path: None })
}

/// Returns the command for a print job of generated data.
pub(super) fn print(fields: &Fields) -> Result<RequestedCommand, Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let printer = reader.text("printer").unwrap_or_default();
    let speaks = reader.one_of("speaks", words(&SPOKEN));
    let queue = reader.text("queue");
    let data = reader.one_of("data", PAYLOADS.iter().map(|(word, ..)| *word));
    let amount = reader.value("amount", amount);
    if fields.text("amount").is_empty() {
        reader.no("amount", "give an amount, such as 1MB");
    }
    // The list of protocols always has a selection; the protocol of a URI takes precedence.
    let protocol = Protocol::ALL.into_iter().find(|one| one.id() == speaks);
    let protocol = protocol.filter(|_| !printer.contains("://"));
    if printer.is_empty() || printer.starts_with('-') {
        reader.no("printer", "give the host name or the address of a printer");
    } else if let Err(wrong) = Target::new(printer, protocol, queue) {
        let field = match wrong {
            TargetError::NoQueue | TargetError::Queue | TargetError::TwoQueues => "queue",
            _ => "printer",
        };
        reader.no(field, wrong.to_string());
    }
    let mut arguments = vec!["print".to_owned(), printer.to_owned()];
    arguments.extend(protocol.map(|one| format!("--protocol={}", one.id())));
    arguments.extend(queue.map(|queue| format!("--queue={queue}")));
    arguments.push(format!("--payload={data}"));
    arguments.extend(amount.map(|amount| format!("--bytes={}", amount.get())));
    arguments.push("--json".to_owned());
    let title = format!("Print on {}", without_password(printer));
    reader.finish(RequestedCommand { title, arguments, path: None })
}

/// Parses the amount of data.
fn amount(text: &str) -> Result<Bytes, String> {
    let amount = bytes(text)?;
    let is_fine = Bytes::ZERO < amount && amount <= MOST;
    Some(amount).filter(|_| is_fine).ok_or(format!("at most {MOST} can be sent"))
}

/// Returns the options that keep the run.
fn kept(reader: &mut Reader<'_>) -> Vec<String> {
    let tag = reader.value("tag", tag).map(|tag| format!("--tag={tag}"));
    let note = reader.text("note").map(|note| format!("--note={note}"));
    tag.into_iter().chain(note).collect()
}

/// Returns the command for transfers to the lab's devices in virtual time. The field names a
/// scenario, and after an optional slash one of its devices.
pub(super) fn lab(fields: &Fields, known: &[String]) -> Result<RequestedCommand, Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let said = reader.text("scenario").unwrap_or_default();
    if !known.iter().any(|one| one == said) {
        reader.no("scenario", "choose one from the list");
    }
    let (scenario, device) = said.split_once('/').unwrap_or((said, ""));
    let amount = reader.value("bytes", amount);
    let seed = reader.value("seed", |text| number(text, u64::MAX));
    let mut arguments = vec!["lab".to_owned(), scenario.to_owned()];
    if !device.is_empty() {
        arguments.push(format!("--device={device}"));
    }
    arguments.extend(amount.map(|amount| format!("--bytes={}", amount.get())));
    arguments.extend(seed.map(|seed| format!("--seed={seed}")));
    arguments.push("--json".to_owned());
    let title = format!("Lab: {}", said.replace('/', ", "));
    reader.finish(RequestedCommand { title, arguments, path: None })
}

/// Returns the command for a sweep in virtual time: of a built-in path, or of the user's own.
pub(super) fn simulated(fields: &Fields) -> Result<RequestedCommand, Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let built_in = built_in::PATHS.iter().map(|(name, _)| *name);
    let path = reader.one_of("path", built_in.chain([OWN_PATH]));
    let mut arguments = vec!["sweep".to_owned()];
    let mut own = None;
    if path == OWN_PATH {
        own = own_path(&mut reader);
    } else {
        arguments.push(format!("--simulate={path}"));
    }
    let title = match &own {
        Some((title, _)) => title.clone(),
        None => format!("Simulated sweep: {path}"),
    };
    arguments.push("--json".to_owned());
    reader.finish(RequestedCommand { title, arguments, path: own.map(|(_, toml)| toml) })
}

/// Reads a path of one link: its title and its file. The file contains only parsed numbers.
fn own_path(reader: &mut Reader<'_>) -> Option<(String, String)> {
    for name in ["rate", "rtt"] {
        if reader.fields.text(name).is_empty() {
            reader.no(name, "your own path needs a rate and an RTT");
        }
    }
    let line = reader.value("rate", rate);
    let rtt = reader.value("rtt", |text| {
        let rtt = span(text)?;
        let longest = Span::from_millis(10_000);
        Some(rtt).filter(|rtt| *rtt <= longest).ok_or(format!("an RTT is at most {longest}"))
    });
    let queue = reader.value("queue", bytes);
    let loss = reader.value("loss", share);
    let (line, rtt) = (line?, rtt?);
    let title = format!("A path of {} and {rtt}", line.in_bits());
    let mut toml = format!(
        "title = \"{title}\"\nshows = \"A path from the form of windlass ui\"\n[[hop]]\n\
         rate = \"{} b/s\"\ndelay = \"{} ns\"\n",
        whole_part(line.bits_per_second().round()),
        rtt.as_nanos() / 2
    );
    if let Some(queue) = queue {
        toml.push_str(&format!("queue = \"{} B\"\n", queue.get()));
    }
    if let Some(loss) = loss {
        toml.push_str(&format!("loss = \"{}%\"\n", loss * 100.0));
    }
    Some((title, toml))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "host=192.0.2.9&protocol=windlass&way=there";

    fn measured(form: &str) -> Result<Vec<String>, Vec<Problem>> {
        measure(&Fields::read(form)).map(|wanted| wanted.arguments)
    }

    fn wrong(form: &str) -> Vec<&'static str> {
        let problems = measured(form).unwrap_err();
        problems.iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn a_form_is_a_command() {
        assert_eq!(
            measured(&format!("{WHOLE}&time=3s&streams=2&windows=64k&congestion=cubic")).unwrap(),
            [
                "send",
                "192.0.2.9",
                "--time=3000ms",
                "--streams=2",
                "--interval=500ms",
                "--window=65536",
                "--congestion=cubic",
                "--protocol=windlass",
                "--json-stream"
            ]
        );
        let form = "host=%5B2001:db8::1%5D:5202&protocol=iperf3&way=back&time=10min\
                    &tag=a-b&note=it%27s+--reverse";
        assert_eq!(
            measured(form).unwrap(),
            [
                "send",
                "2001:db8::1",
                "--time=600000ms",
                "--streams=1",
                "--interval=2500ms",
                "--reverse",
                "--protocol=iperf3",
                "--port=5202",
                "--tag=a-b",
                "--note=it's --reverse",
                "--json-stream"
            ]
        );
        let swept = measured(&format!("{WHOLE}&windows=16k,+64k&time=2s")).unwrap();
        assert_eq!(
            swept,
            [
                "sweep",
                "192.0.2.9",
                "--windows=16384,65536",
                "--streams=1",
                "--direction=up",
                "--congestion=own",
                "--time=2000ms",
                "--protocol=windlass",
                "--json-stream"
            ]
        );
    }

    #[test]
    fn no_field_becomes_an_option() {
        for host in [
            "--help",
            "-x",
            "--store%3D/tmp",
            "--+x",
            "a+--reverse",
            "a%00b",
            "a%0a--reverse",
            "$(id)",
            "a;b",
            "a/b",
            "@file",
            "",
        ] {
            let form = format!("host={host}&protocol=windlass&way=there");
            assert_eq!(wrong(&form), ["host"], "{host}");
        }
        for (field, value) in [
            ("time", "--json"),
            ("time", "1h"),
            ("time", "1ms"),
            ("streams", "-1"),
            ("streams", "1e3"),
            ("streams", "129"),
            ("windows", "--x"),
            ("windows", "64k,--x"),
            ("congestion", "--x"),
            ("congestion", "a b"),
            ("tag", "a b"),
            ("note", "a%0ab"),
            ("port", "0"),
            ("port", "%2B1"),
        ] {
            assert_eq!(wrong(&format!("{WHOLE}&{field}={value}")), [field], "{field}={value}");
        }
        // A value that may begin with dashes is joined to its option with `=`.
        let tagged = measured(&format!("{WHOLE}&tag=--store%3D/x&note=--no-save")).unwrap();
        assert!(tagged.contains(&"--tag=--store=/x".to_owned()), "{tagged:?}");
        assert!(tagged.contains(&"--note=--no-save".to_owned()), "{tagged:?}");
        let all_options = tagged.iter().skip(2).all(|one| one.starts_with("--"));
        assert!(all_options, "{tagged:?}");
        assert_eq!(wrong("host=a&protocol=--help&way=x"), ["protocol", "way"]);
        assert_eq!(wrong("host=a:1&port=2&protocol=windlass&way=both"), ["port"]);
        assert_eq!(wrong("host=a&windows=1k,2k&protocol=ttcp&way=there"), ["windows"]);
    }

    #[test]
    fn a_printer_is_named_as_people_do() {
        let of = |form: &str| print(&Fields::read(form));
        let whole = "speaks=raw&data=zeros&amount=1MB";
        assert_eq!(
            of(&format!("{whole}&printer=192.0.2.9")).unwrap().arguments,
            [
                "print",
                "192.0.2.9",
                "--protocol=raw",
                "--payload=zeros",
                "--bytes=1000000",
                "--json"
            ]
        );
        let by_uri = of(&format!("{whole}&printer=lpd://user:secret@p/lp")).unwrap();
        assert_eq!(by_uri.arguments[1..3], ["lpd://user:secret@p/lp", "--payload=zeros"]);
        assert!(!by_uri.title.contains("secret"), "{}", by_uri.title);
        let queued = of("speaks=lpr&data=text&amount=1k&printer=p:5150&queue=--x").unwrap();
        assert!(queued.arguments.contains(&"--queue=--x".to_owned()), "{queued:?}");
        for (form, fields) in [
            ("", &["speaks", "data", "amount", "printer"][..]),
            ("speaks=raw&data=zeros&amount=1MB&printer=--help", &["printer"]),
            ("speaks=raw&data=zeros&amount=1MB&printer=ftp://p", &["printer"]),
            ("speaks=raw&data=zeros&amount=1MB&printer=a+b", &["printer"]),
            ("speaks=raw&data=zeros&amount=1MB&printer=p&queue=q", &["queue"]),
            ("speaks=lpr&data=zeros&amount=2GiB&printer=p", &["amount", "queue"]),
        ] {
            let problems = of(form).unwrap_err();
            let named: Vec<&str> = problems.iter().map(|problem| problem.field).collect();
            assert_eq!(named, fields, "{form}");
        }
    }

    #[test]
    fn what_is_played_with_is_of_the_lists() {
        let known = ["imagen".to_owned(), "imagen/imagen-v2".to_owned()];
        let of = |form: &str| lab(&Fields::read(form), &known);
        let wanted = of("scenario=imagen/imagen-v2&bytes=100kB&seed=7").unwrap();
        assert_eq!(
            wanted.arguments,
            ["lab", "imagen", "--device=imagen-v2", "--bytes=100000", "--seed=7", "--json"]
        );
        for form in ["", "scenario=/etc/passwd", "scenario=--real", "scenario=imagen/x"] {
            assert_eq!(of(form).unwrap_err()[0].field, "scenario", "{form}");
        }
        assert_eq!(of("scenario=imagen&bytes=2GiB").unwrap_err()[0].field, "bytes");
        let of = |form: &str| simulated(&Fields::read(form));
        assert_eq!(
            of("path=gigabit").unwrap().arguments,
            ["sweep", "--simulate=gigabit", "--json"]
        );
        assert_eq!(of("path=/etc/passwd").unwrap_err()[0].field, "path");
        let own = of("path=own&rate=10mbit&rtt=20ms&queue=64k&loss=0.1%25").unwrap();
        assert_eq!(own.arguments, ["sweep", "--json"]);
        assert_eq!(
            own.path.unwrap(),
            "title = \"A path of 10 Mbit/s and 20 ms\"\n\
             shows = \"A path from the form of windlass ui\"\n[[hop]]\nrate = \"10000000 b/s\"\n\
             delay = \"10000000 ns\"\nqueue = \"65536 B\"\nloss = \"0.1%\"\n"
        );
        let fields = |form: &str| -> Vec<&str> {
            of(form).unwrap_err().iter().map(|problem| problem.field).collect()
        };
        assert_eq!(fields("path=own"), ["rate", "rtt"]);
        assert_eq!(fields("path=own&rate=x&rtt=1h&loss=7"), ["rate", "rtt", "loss"]);
    }
}
