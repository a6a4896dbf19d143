//! Captures to report on: files that the browser sends, or files of the folder of `--captures`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use tempfile::TempDir;
use windlass_base::{Bytes, Failure, Span, Timestamp};
use windlass_capture::is_packed;
use windlass_output::figures;
use windlass_output::html::site::{Field, framed};
use windlass_output::html::{Html, escaped};
use windlass_output::records::runs::second;
use windlass_ui::{Answer, Fields, Files, Token};
use windlass_wire::capture::is_binary;

use super::forms::{Problem, Reader, words};
use super::parts::{Form, end_form};

/// The most bytes that a browser may send at once.
pub(super) const MOST_UPLOADED: u64 = 1 << 30;

/// Maximum number of captures in one report.
const MOST_NAMED: usize = 20;

/// The most files that are listed.
const MOST_LISTED: usize = 300;

/// The most entries of the folder that are looked at for the list.
const MOST_LOOKED_AT: usize = 20_000;

/// Maximum depth of subfolders that are searched for captures.
const DEEPEST: usize = 5;

/// The folder of which captures can be picked.
#[derive(Clone, Debug)]
pub(super) struct CaptureFolder {
    /// Path of the folder, with symbolic links resolved.
    root: PathBuf,
}

/// A capture of the folder.
#[derive(Debug)]
struct ListedCapture {
    /// The path below the folder.
    name: String,
    size: Bytes,
    changed: Timestamp,
}

impl CaptureFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let doing = format!("cannot offer the captures of {}", folder.display());
        let root = folder.canonicalize().map_err(|error| Failure::new(&doing, error))?;
        if !root.is_dir() {
            return Err(
                Failure::usage(doing, "it is not a folder").advise("Give a folder of captures.")
            );
        }
        Ok(Self { root })
    }

    /// Returns the path of a file below the folder, without a symbolic link in it. Nothing else
    /// in the folder is a file, and nothing outside of it is found.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !is_below {
            return None;
        }
        let real = self.root.join(path).canonicalize().ok()?;
        let below = real.strip_prefix(&self.root).ok()?.to_owned();
        // A pipe would be waited for, and a device be read.
        real.symlink_metadata().is_ok_and(|about| about.is_file()).then_some(below)
    }

    /// Returns the captures with this text in their names, the newest first, and whether there are
    /// more.
    fn list(&self, text: &str) -> (Vec<ListedCapture>, bool) {
        let text = text.to_lowercase();
        let (mut found, mut looked_at) = (Vec::new(), 0);
        let mut folders = vec![(PathBuf::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let Ok(entries) = fs::read_dir(self.root.join(&folder)) else { continue };
            for entry in entries.filter_map(Result::ok) {
                looked_at += 1;
                if looked_at > MOST_LOOKED_AT {
                    break;
                }
                let Ok(own) = entry.file_name().into_string() else { continue };
                let name = folder.join(&own);
                if own.starts_with('.') {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if depth < DEEPEST {
                        folders.push((name, depth + 1));
                    }
                    continue;
                }
                let Some(name) = name.to_str().filter(|name| name.to_lowercase().contains(&text))
                else {
                    continue;
                };
                found.extend(self.listed(name));
            }
        }
        found.sort_by(|one, other| (other.changed, &one.name).cmp(&(one.changed, &other.name)));
        let is_more = found.len() > MOST_LISTED || looked_at > MOST_LOOKED_AT;
        found.truncate(MOST_LISTED);
        (found, is_more)
    }

    /// Returns a file as the list shows it; `None` if it looks like no capture.
    fn listed(&self, name: &str) -> Option<ListedCapture> {
        let path = self.root.join(self.find(name)?);
        let about = path.metadata().ok()?;
        if !is_capture(&path) {
            return None;
        }
        let since = about.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(ListedCapture {
            name: name.to_owned(),
            size: Bytes::new(about.len()),
            changed: Timestamp::ZERO + Span::from_duration(since),
        })
    }
}

/// Returns whether a file begins as a capture or as something packed, or is called a text.
fn is_capture(path: &Path) -> bool {
    let mut magic = [0; 8];
    let Ok(()) = File::open(path).and_then(|mut file| file.read_exact(&mut magic)) else {
        return false;
    };
    let is_text = path.extension().is_some_and(|end| end == "txt");
    is_binary(magic) || is_packed(&magic) || is_text
}

/// A report that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReportRequest {
    pub(super) title: String,
    /// Options of `windlass report`.
    pub(super) options: Vec<String>,
    /// The folder of the captures.
    pub(super) folder: PathBuf,
    /// The captures, as paths in that folder.
    pub(super) names: Vec<String>,
}

/// Reads the request of a form.
pub(super) fn request(
    fields: &Fields,
    files: &Files,
    folder: Option<&CaptureFolder>,
) -> Result<ReportRequest, Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let address = |text: &str| match text.parse::<std::net::IpAddr>() {
        Ok(_) => Ok(format!("--host={text}")),
        Err(_) => Err("give an IP address, such as 192.0.2.7".to_owned()),
    };
    let options = [reader.value("host", address), reader.port("port")];
    let (place, names) = match (files.folder(), folder) {
        (Some(sent), _) => (sent.to_owned(), files.names().to_vec()),
        (None, Some(folder)) => (folder.root.clone(), picked(fields, folder, &mut reader)),
        (None, None) => (PathBuf::new(), Vec::new()),
    };
    if names.is_empty() && reader.is_fine() {
        reader.no("capture", "choose a capture");
    }
    let options = options.into_iter().flatten().collect();
    reader.finish(ReportRequest { title: title(&names), options, folder: place, names })
}

/// Returns the captures that were selected in the folder.
fn picked(fields: &Fields, folder: &CaptureFolder, reader: &mut Reader<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for said in fields.all("file").take(MOST_NAMED + 1) {
        match folder.find(said).as_deref().and_then(Path::to_str) {
            // A single dash would mean standard input.
            Some("-") => names.push("./-".to_owned()),
            Some(name) => names.push(name.to_owned()),
            None => reader.no("", format!("there is no capture {said} in the folder")),
        }
    }
    if names.len() > MOST_NAMED {
        reader.no("", format!("choose at most {MOST_NAMED} captures"));
    }
    names
}

/// Returns the title of a report.
fn title(names: &[String]) -> String {
    let some: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    let more = if names.len() > some.len() { " and others" } else { "" };
    format!("Report on {}{more}", some.join(", "))
}

/// A report in progress, in a folder of its own, which is removed with the value.
#[derive(Debug)]
pub(super) struct ReportFile {
    folder: TempDir,
}

impl ReportFile {
    /// Makes a folder for a report.
    pub(super) fn new(scratch: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("report-").tempdir_in(scratch)?;
        Ok(Self { folder })
    }

    /// Its file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("report.html")
    }
}

/// The packets of an interface: a file in a folder of its own, which is removed with the value.
#[derive(Debug)]
pub(super) struct CaptureFile {
    folder: TempDir,
    name: String,
}

impl CaptureFile {
    /// Makes a folder for a capture on an interface.
    pub(super) fn new(scratch: &Path, interface: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("capture-").tempdir_in(scratch)?;
        Ok(Self { folder, name: format!("{interface}.pcapng") })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Returns the request for its report; `None` if no packet was captured.
    pub(super) fn report(&self) -> Option<ReportRequest> {
        let names = vec![self.name.clone()];
        let folder = self.folder.path().to_owned();
        let (title, options) = (title(&names), Vec::new());
        self.path().exists().then_some(ReportRequest { title, options, folder, names })
    }
}

/// The most packets of a capture on an interface, and the bytes that are kept of each: 300 MB.
const MOST_PACKETS: &str = "--count=2000000";
const SNAP_LENGTH: &str = "--snap-length=128";

/// The longest time of a capture: for the command, and for people.
const DURATIONS: [(&str, &str); 4] =
    [("10s", "10 seconds"), ("60s", "A minute"), ("5min", "5 minutes"), ("30min", "30 minutes")];

/// Returns the interfaces of this host that allow captures.
fn interfaces() -> Vec<String> {
    let listed = windlass_capture::live::interfaces(None).unwrap_or_default();
    listed.into_iter().filter(|one| one.is_up).map(|one| one.name).collect()
}

/// Reads a requested capture: its interface, and the arguments of `windlass capture` without the
/// file.
pub(super) fn on_interface(fields: &Fields) -> Result<(String, Vec<String>), Vec<Problem>> {
    let mut reader = Reader::new(fields);
    let known = |text: &str| {
        let one = interfaces().into_iter().find(|one| one == text);
        one.ok_or_else(|| "choose one from the list".to_owned())
    };
    let interface = reader.value("interface", known).unwrap_or_default();
    if fields.text("interface").is_empty() {
        reader.no("interface", "choose one from the list");
    }
    let duration = reader.one_of("duration", words(&DURATIONS));
    let mut arguments = ["capture", "--explain", "--tcp", "--no-save", MOST_PACKETS, SNAP_LENGTH]
        .map(str::to_owned)
        .to_vec();
    arguments.extend(reader.port("only-port"));
    arguments.push(format!("--time={duration}"));
    arguments.push(format!("--interface={interface}"));
    reader.finish((interface, arguments))
}

/// Returns the option that names the file.
pub(super) fn written_to(capture: &CaptureFile) -> String {
    format!("--write={}", capture.path().display())
}

/// Writes the form of a capture on an interface.
pub(super) fn capture_form(html: &mut Html, form: &Form<'_>) {
    let (base, interfaces) = (html.base.clone(), interfaces());
    if interfaces.is_empty() {
        return;
    }
    html.element("h2", "Capture on an interface");
    html.element(
        "p",
        "Shows the limit of each connection while capturing, and makes a report with charts \
         afterwards. Capturing needs root or CAP_NET_RAW.",
    );
    html.raw(&format!(
        "<form method=\"post\" action=\"{base}/captures/interface\">\n<div class=\"form\">\n"
    ));
    let all: Vec<(&str, &str)> =
        interfaces.iter().map(|name| (name.as_str(), name.as_str())).collect();
    form.field("interface", "Interface", "", "").choice(html, &all);
    form.field("duration", "Maximum time", "It can be stopped earlier", "60s")
        .choice(html, &DURATIONS);
    form.field("only-port", "Port", "Empty: all TCP ports", "").line(html, "inputmode=\"numeric\"");
    end_form(html, "Capture");
}

/// Returns the report: a page among these, or a file that the browser saves.
pub(super) fn answer(
    base: &str,
    id: u64,
    (place, report): (&str, &ReportFile),
    is_saved: bool,
) -> io::Result<Answer> {
    let text = fs::read_to_string(report.path())?;
    if is_saved {
        return Ok(Answer::html(text).as_download("report.html"));
    }
    let other = if place == "captures" {
        format!(" <a href=\"{base}/captures\">Open another capture</a>")
    } else {
        String::new()
    };
    let actions = format!(
        "<p class=\"actions\"><a href=\"{base}/reports/{id}?save=yes\" download>Save this \
         report</a>{other}</p>\n"
    );
    // A report contains its script and styles. This policy allows only the report's own script,
    // whatever a capture may have put into the page.
    let nonce = Token::by_chance()?;
    let page = framed(&text, base, place, nonce.as_str(), &actions);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{}'; style-src 'unsafe-inline'; img-src 'self'; \
         form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        nonce.as_str()
    );
    Ok(Answer::html(page).with_policy(policy))
}

/// Writes the form that sends files.
pub(super) fn upload(html: &mut Html, form: &Form<'_>) {
    let (base, bytes) = (html.base.clone(), MOST_UPLOADED);
    html.raw(&format!(
        "<form method=\"post\" action=\"{base}/captures\" enctype=\"multipart/form-data\" \
         id=\"upload\" data-most=\"{bytes}\">\n<div class=\"drop\">\n\
         <label for=\"capture\">Drop captures here, or choose them</label>\n\
         <input type=\"file\" id=\"capture\" name=\"capture\" multiple required \
         aria-describedby=\"capture-hint\">\n"
    ));
    html.element(
        "p class=\"soft\" id=\"capture-hint\"",
        &format!(
            "pcap, pcapng, snoop or tcpdump text, plain or in gzip or zstd, at most {} GiB. \
             Several captures become one report. The files stay on this machine, and are deleted \
             after the report is made.",
            bytes >> 30
        ),
    );
    html.raw("</div>\n<p class=\"bad\" id=\"upload-problem\" role=\"alert\" hidden></p>\n");
    html.raw("<details><summary>Filter connections</summary>\n<div class=\"form\">\n");
    form.field("host", "Host", "IP address: 192.0.2.7", "").line(html, "");
    form.field("port", "Port", "9100", "").line(html, "inputmode=\"numeric\"");
    // `end_form` closes one element more.
    html.raw("</div>\n</details>\n<div>\n");
    end_form(html, "Make the report");
}

/// Writes the list of the folder's captures.
pub(super) fn pick(html: &mut Html, folder: &CaptureFolder, form: &Form<'_>) {
    let base = html.base.clone();
    html.element("h2", &format!("In {}", folder.root.display()));
    let text = form.fields.text("name");
    let (captures, is_more) = folder.list(text);
    if captures.len() > 10 || !text.is_empty() {
        html.raw(&format!(
            "<form method=\"get\" action=\"{base}/captures\">\n<div class=\"form\">\n"
        ));
        let field = Field { name: "name", label: "Name", hint: "", value: text, problem: None };
        field.line(html, "");
        html.raw("</div>\n<div class=\"buttons\"><button>Filter</button></div>\n</form>\n");
    }
    if captures.is_empty() {
        html.element("p", "No captures found.");
        return;
    }
    html.raw(&format!(
        "<form method=\"post\" action=\"{base}/captures\">\n<table>\n<thead><tr>\
         <th scope=\"col\" class=\"word\">choose</th><th scope=\"col\" class=\"word\">capture</th>\
         <th scope=\"col\">size</th><th scope=\"col\">changed (UTC)</th></tr></thead>\n<tbody>\n"
    ));
    for ListedCapture { name, size, changed } in &captures {
        let (name, when) = (escaped(name), second(*changed));
        html.raw(&format!(
            "<tr><td class=\"word\" data-name=\"choose\"><label class=\"choose\">\
             <input type=\"checkbox\" name=\"file\" value=\"{name}\" aria-label=\"choose {name}\">\
             </label></td><td class=\"word\" data-name=\"capture\">\
             <button class=\"link\" name=\"file\" value=\"{name}\">{name}</button></td>\
             <td data-name=\"size\">{}</td><td data-name=\"changed (UTC)\">{}</td></tr>\n",
            figures::size(*size).plain(),
            when.get(..16).unwrap_or(&when)
        ));
    }
    html.raw(
        "</tbody>\n</table>\n<div class=\"buttons\"><button>Report on the selected captures\
         </button></div>\n</form>\n",
    );
    if is_more {
        html.element("p class=\"soft\"", "Not all captures are listed: filter them by name.");
    }
}

/// Writes links to the reports that were made.
pub(super) fn made(html: &mut Html, reports: &[(u64, &str)]) {
    if reports.is_empty() {
        return;
    }
    let base = html.base.clone();
    html.element("h2", "Reports made so far");
    html.raw("<ul>\n");
    for (id, title) in reports {
        let title = escaped(title);
        html.raw(&format!("<li><a href=\"{base}/reports/{id}\">{title}</a></li>\n"));
    }
    html.raw("</ul>\n");
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const PCAP: &[u8] = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00";

    fn folder() -> (TempDir, CaptureFolder) {
        let whole = tempfile::tempdir().unwrap();
        let root = whole.path().join("captures");
        fs::create_dir_all(root.join("deep/er")).unwrap();
        fs::write(whole.path().join("secret.pcap"), PCAP).unwrap();
        for name in ["a.pcap", "deep/er/b.pcap", "-", ".hidden.pcap"] {
            fs::write(root.join(name), PCAP).unwrap();
        }
        fs::write(root.join("notes.md"), "some words of no capture").unwrap();
        symlink("a.pcap", root.join("inside")).unwrap();
        symlink("../secret.pcap", root.join("outside")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("/proc/self/environ", root.join("environ")).unwrap();
        let folder = CaptureFolder::open(&root).unwrap();
        (whole, folder)
    }

    #[test]
    fn nothing_outside_of_the_folder_is_found() {
        let (whole, folder) = folder();
        for name in [
            "../secret.pcap",
            "deep/../../secret.pcap",
            "outside",
            "up/secret.pcap",
            "up/captures/a.pcap/",
            "environ",
            "/etc/passwd",
            "deep",
            "",
            ".",
            "nothing",
            "a.pcap\0",
        ] {
            let found = folder.find(name);
            // A way out and in again ends inside.
            let is_inside = name.starts_with("up/captures");
            assert!(found.is_none() || is_inside, "{name:?}: {found:?}");
        }
        let absolute = whole.path().join("captures/a.pcap");
        assert_eq!(folder.find(absolute.to_str().unwrap()), None);
        for (name, path) in
            [("a.pcap", "a.pcap"), ("inside", "a.pcap"), ("deep/er/b.pcap", "deep/er/b.pcap")]
        {
            assert_eq!(folder.find(name).as_deref(), Some(Path::new(path)), "{name}");
        }
        assert!(CaptureFolder::open(&whole.path().join("nothing")).is_err());
        assert!(CaptureFolder::open(&whole.path().join("secret.pcap")).is_err());
    }

    #[test]
    fn captures_are_listed_and_nothing_else() {
        let (_whole, folder) = folder();
        let names = |text: &str| {
            let mut names: Vec<_> = folder.list(text).0.into_iter().map(|one| one.name).collect();
            names.sort();
            names
        };
        assert_eq!(names(""), ["-", "a.pcap", "deep/er/b.pcap", "inside"]);
        assert_eq!(names("ER/B"), ["deep/er/b.pcap"]);
    }

    #[test]
    fn a_form_is_a_report() {
        let (_whole, folder) = folder();
        let asked = |form: &str| request(&Fields::read(form), &Files::default(), Some(&folder));
        let report = asked("file=a.pcap&file=-&port=9100&host=192.0.2.7").unwrap();
        assert_eq!(report.names, ["a.pcap", "./-"]);
        assert_eq!(report.options, ["--host=192.0.2.7", "--port=9100"]);
        assert_eq!(report.title, "Report on a.pcap, ./-");
        let wrong = |form: &str| -> Vec<&str> {
            asked(form).unwrap_err().iter().map(|problem| problem.field).collect()
        };
        assert_eq!(wrong(""), ["capture"]);
        assert_eq!(wrong("file=../secret.pcap"), [""]);
        assert_eq!(wrong("file=a.pcap&port=0"), ["port"]);
        assert_eq!(wrong("file=a.pcap&host=--json"), ["host"]);
        assert_eq!(wrong(&"file=a.pcap&".repeat(MOST_NAMED + 1)), [""]);
        let nowhere = request(&Fields::read("file=a.pcap"), &Files::default(), None);
        assert_eq!(nowhere.unwrap_err()[0].field, "capture");
    }
}
