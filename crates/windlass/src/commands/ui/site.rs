//! The pages and their paths.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use windlass_base::Failure;
use windlass_host::now;
use windlass_lab::{PathScenario, Scenario, built_in};
use windlass_output::html::Html;
use windlass_output::html::site::{ICON, SCRIPT, style};
use windlass_runs::{Run, Store, Summary, without_password};
use windlass_ui::{Answer, Fields, Files, Jobs, PageRequest, StartError, Workplace};

use super::captures::{self, CaptureFile, CaptureFolder, ReportRequest};
use super::connections;
use super::forms::{self, OWN_PATH, PROTOCOLS, Problem, RequestedCommand, SPOKEN, WAYS};
use super::parts::{Form, complaints, end_form};
use super::running::{self, StartedCommand, Work};
use super::runs;
use crate::commands::print::PAYLOADS;
use crate::files::read_text;

/// Checks the arguments of a command; the error is a message for people.
pub(super) type Check = fn(&[String]) -> Result<(), String>;

/// The pages and their state.
pub(super) struct Site {
    /// Prefix of each address.
    pub(super) base: String,
    pub(super) store: Store,
    pub(super) jobs: Jobs<StartedCommand>,
    /// Observations of connections, beside the measurements.
    pub(super) watching: Jobs<Vec<String>>,
    pub(super) check: Check,
    /// The scenarios of the lab.
    pub(super) scenarios: Vec<Scenario>,
    /// The folder of which captures can be picked.
    pub(super) captures: Option<CaptureFolder>,
    /// The folder of reports and of uploads, for this user alone.
    pub(super) scratch: PathBuf,
}

impl Site {
    /// Returns the built-in scenarios.
    ///
    /// # Errors
    /// Fails if one of them cannot be read.
    pub(super) fn scenarios() -> Result<Vec<Scenario>, Failure> {
        built_in::SCENARIOS.iter().map(|(name, _)| Scenario::named(name, &read_text)).collect()
    }

    /// Answers.
    pub(super) fn answer(&self, asked: &PageRequest) -> Answer {
        let PageRequest { is_post, path, fields, .. } = asked;
        let (base, store) = (&self.base, &self.store);
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match (is_post, parts.as_slice()) {
            (false, []) => Answer::html(self.measure(fields, &[])),
            (false, ["play"]) => Answer::html(self.play(fields, &[])),
            (false, ["style.css"]) => Answer::of("text/css; charset=utf-8", style()),
            (false, ["script.js"]) => Answer::of("text/javascript; charset=utf-8", SCRIPT),
            (false, ["icon.svg"]) => Answer::of("image/svg+xml", ICON),
            (false, ["runs"]) => self.page(runs::list(base, store, fields)),
            (false, ["compare"]) => self.page(runs::compare(base, store, fields)),
            (false, ["runs", name]) => self.run(name),
            (false, ["connections"]) => self.connections(fields),
            (false, ["connections", "live"]) => match connections::arguments(fields) {
                Ok(arguments) => Answer::html(connections::live(base, &self.watching, &arguments)),
                Err(_) => self.connections(fields),
            },
            (false, ["captures"]) => Answer::html(self.captures(fields, &[])),
            (true, ["captures"]) => self.report_on(asked),
            (true, ["captures", "interface"]) => self.capture_on(fields),
            (true, ["captures", id, "report"]) => match self.job(id) {
                Some(job) => self.report_on_captured(&job),
                None => self.forgotten(),
            },
            (false, ["reports", id]) => match self.job(id) {
                Some(job) => self.report(&job, !fields.text("save").is_empty()),
                None => self.forgotten(),
            },
            (true, ["runs", name, "again"]) => self.on_run(name, |run| self.again(run)),
            (true, ["runs", name, "report"]) => self.on_run(name, |run| self.report_on_run(&run)),
            (false, ["jobs", id]) => match self.job(id) {
                // A report that is done has a page of its own.
                Some(job) if job.of.has_report(job.stage()) => {
                    Answer::see(format!("{base}/reports/{id}"))
                }
                Some(job) => Answer::html(running::page(base, &job, store)),
                None => self.forgotten(),
            },
            (false, ["jobs", id, "live"]) => match self.job(id) {
                Some(job) => Answer::html(running::live(base, &job, store).1),
                None => self.forgotten(),
            },
            (true, ["jobs", id, "stop"]) => match self.job(id) {
                Some(job) => {
                    job.stop();
                    Answer::see(format!("{base}/jobs/{id}"))
                }
                None => self.forgotten(),
            },
            (true, ["measure"]) => {
                self.started(forms::measure(fields), "", |no| self.measure(fields, no))
            }
            (true, ["print"]) => {
                self.started(forms::print(fields), "", |no| self.measure(fields, no))
            }
            (true, ["play", what @ ("lab" | "sweep")]) => {
                let wanted = match *what {
                    "lab" => forms::lab(fields, &self.transfers()),
                    _ => forms::simulated(fields),
                };
                self.started(wanted, "play", |no| self.play(fields, no))
            }
            _ => self.failed(404, "This page does not exist", "The links above lead to all pages."),
        }
    }

    fn job(&self, id: &str) -> Option<std::sync::Arc<windlass_ui::Job<StartedCommand>>> {
        self.jobs.job(id.parse().ok()?)
    }

    fn forgotten(&self) -> Answer {
        self.failed(
            404,
            "This command is not listed any more",
            "Its run is on the Runs page, if it was kept.",
        )
    }

    fn page(&self, page: Result<String, Failure>) -> Answer {
        page.map_or_else(|failure| self.failure(&failure), Answer::html)
    }

    fn failure(&self, failure: &Failure) -> Answer {
        self.failed(400, &failure.to_string(), failure.advice().unwrap_or_default())
    }

    fn failed(&self, status: u16, wrong: &str, advice: &str) -> Answer {
        let mut html = Html::page(&self.base, "That did not work", "none");
        html.raw("<div class=\"problems\" role=\"alert\">\n");
        html.element("p class=\"bad\"", wrong);
        html.element("p", advice);
        html.raw("</div>\n");
        Answer::html(html.finish()).with_status(status)
    }

    /// Returns a run, as a page or as JSON.
    fn run(&self, name: &str) -> Answer {
        let (name, is_json) = match name.strip_suffix(".json") {
            Some(name) => (name, true),
            None => (name, false),
        };
        self.on_run(name, |run| match is_json {
            true => Answer::of("application/json", run.json().unwrap_or_default()),
            false => Answer::html(runs::show(&self.base, &self.store, &run)),
        })
    }

    /// Answers with a run of the store.
    fn on_run(&self, name: &str, answer: impl FnOnce(Run) -> Answer) -> Answer {
        match runs::read(&self.store, name) {
            Ok(Some(run)) => answer(run),
            Ok(None) => {
                let wrong = format!("There is no run {name} in the store");
                self.failed(404, &wrong, "It may have been deleted. The Runs page has all runs.")
            }
            Err(failure) => self.failure(&failure),
        }
    }

    /// Repeats a run with its arguments, in its directory.
    fn again(&self, run: Run) -> Answer {
        let arguments = match runs::again(&run) {
            Ok(arguments) => arguments,
            Err(failure) => return self.failure(&failure),
        };
        let advice = "Fill in the form of the Measure page.";
        if let Err(why) = (self.check)(&arguments) {
            return self.failed(400, &format!("This run cannot be repeated: {why}"), advice);
        }
        let target = Summary::of(&run).target.unwrap_or_default();
        let title = format!("{} {target}", run.command).trim_end().to_owned();
        let kept = arguments.iter().map(|one| without_password(one)).collect();
        let (cell, work) = (OnceLock::new(), Work::Measurement);
        let started =
            StartedCommand { title, place: "runs", arguments: kept, time: now(), run: cell, work };
        let folder = run.directory.map(PathBuf::from).filter(|folder| folder.is_dir());
        let workplace = Workplace { folder, files: Files::default() };
        match self.jobs.start_in(workplace, &arguments, started) {
            Ok(id) => Answer::see(format!("{}/jobs/{id}", self.base)),
            Err(error) => self.failed(409, &not_started(&error), "Then press the button again."),
        }
    }

    /// Starts a report on a run.
    fn report_on_run(&self, run: &Run) -> Answer {
        let request = ReportRequest {
            title: format!("Report on run {}", run.id.short()),
            options: vec![format!("--store={}", self.store.folder().display())],
            // No file there has the name of a run.
            folder: self.scratch.clone(),
            names: vec![run.id.to_string()],
        };
        self.report_of(request, "runs")
    }

    /// Starts a report that was asked for by a button.
    fn report_of(&self, request: ReportRequest, place: &'static str) -> Answer {
        match self.start_report(request, place, &Files::default()) {
            Ok(answer) => answer,
            Err((status, why)) => self.failed(status, &why, "Then press the button again."),
        }
    }

    /// Starts a report; the error is a status and why.
    fn start_report(
        &self,
        request: ReportRequest,
        place: &'static str,
        files: &Files,
    ) -> Result<Answer, (u16, String)> {
        let ReportRequest { title, options, folder, names } = request;
        let report = captures::ReportFile::new(&self.scratch)
            .map_err(|error| (500, format!("cannot create the file of the report: {error}")))?;
        let output = format!("--output={}", report.path().display());
        let mut arguments = vec!["report".to_owned(), output];
        arguments.extend(options);
        arguments.push("--".to_owned());
        arguments.extend(names);
        (self.check)(&arguments).map_err(|why| (400, why))?;
        let (run, work) = (OnceLock::new(), Work::Report(report));
        let started =
            StartedCommand { title, place, arguments: Vec::new(), time: now(), run, work };
        let workplace = Workplace { folder: Some(folder), files: files.clone() };
        let id = self.jobs.start_in(workplace, &arguments, started);
        let id = id.map_err(|error| (409, not_started(&error)))?;
        Ok(Answer::see(format!("{}/jobs/{id}", self.base)))
    }

    /// Starts the command of a form and shows it; or shows the form again, with its errors.
    fn started(
        &self,
        wanted: Result<RequestedCommand, Vec<Problem>>,
        place: &'static str,
        again: impl Fn(&[Problem]) -> String,
    ) -> Answer {
        let no = |problems: &[Problem], status| Answer::html(again(problems)).with_status(status);
        let RequestedCommand { title, mut arguments, path } = match wanted {
            Ok(wanted) => wanted,
            Err(problems) => return no(&problems, 400),
        };
        if let Some(toml) = path {
            match self.path(&title, &toml) {
                Ok(file) => arguments.insert(1, format!("--simulate={}", file.display())),
                Err(failure) => {
                    return no(&Problem::of_form(failure.in_one_line().to_string()), 400);
                }
            }
        }
        if let Err(why) = (self.check)(&arguments) {
            return no(&Problem::of_form(why), 400);
        }
        let run = OnceLock::new();
        let kept = arguments.iter().map(|one| without_password(one)).collect();
        let work = Work::Measurement;
        let started = StartedCommand { title, place, arguments: kept, time: now(), run, work };
        match self.jobs.start(&arguments, started) {
            Ok(id) => Answer::see(format!("{}/jobs/{id}", self.base)),
            Err(error) => no(&Problem::of_form(not_started(&error)), 409),
        }
    }

    /// Returns the page of this host's connections.
    fn connections(&self, fields: &Fields) -> Answer {
        let base = &self.base;
        let arguments = connections::arguments(fields).and_then(|arguments| {
            let no = |why| Problem::of_form(why).to_vec();
            (self.check)(&arguments).map_err(no).map(|()| arguments)
        });
        match arguments {
            Ok(arguments) => {
                let part = connections::live(base, &self.watching, &arguments);
                Answer::html(connections::page(base, fields, &[], &part))
            }
            Err(problems) => {
                Answer::html(connections::page(base, fields, &problems, "")).with_status(400)
            }
        }
    }

    /// Returns the page for opening captures.
    fn captures(&self, fields: &Fields, problems: &[Problem]) -> String {
        let mut html = Html::page(&self.base, "Captures", "captures");
        complaints(&mut html, problems);
        self.busy(&mut html);
        let form = Form { fields, problems };
        captures::upload(&mut html, &form);
        captures::capture_form(&mut html, &form);
        if let Some(folder) = &self.captures {
            captures::pick(&mut html, folder, &form);
        }
        let done = self.jobs.all();
        let done = done.iter().filter(|job| job.of.has_report(job.stage()));
        let done: Vec<(u64, &str)> = done.map(|job| (job.id, job.of.title.as_str())).collect();
        captures::made(&mut html, &done);
        html.finish()
    }

    /// Returns the page for opening captures, with the errors.
    fn captures_again(&self, fields: &Fields, problems: &[Problem], status: u16) -> Answer {
        Answer::html(self.captures(fields, problems)).with_status(status)
    }

    /// Starts a report on captures that were sent or picked.
    fn report_on(&self, asked: &PageRequest) -> Answer {
        let fields = &asked.fields;
        let no = |problems: &[Problem], status| self.captures_again(fields, problems, status);
        let request = match captures::request(fields, &asked.files, self.captures.as_ref()) {
            Ok(request) => request,
            Err(problems) => return no(&problems, 400),
        };
        match self.start_report(request, "captures", &asked.files) {
            Ok(answer) => answer,
            Err((status, why)) => no(&Problem::of_form(why), status),
        }
    }

    /// Starts a capture on an interface.
    fn capture_on(&self, fields: &Fields) -> Answer {
        let no = |problems: &[Problem], status| self.captures_again(fields, problems, status);
        let (interface, mut arguments) = match captures::on_interface(fields) {
            Ok(asked) => asked,
            Err(problems) => return no(&problems, 400),
        };
        let capture = match CaptureFile::new(&self.scratch, &interface) {
            Ok(capture) => capture,
            Err(error) => {
                return no(
                    &Problem::of_form(format!("cannot create the file of the capture: {error}")),
                    500,
                );
            }
        };
        arguments.push(captures::written_to(&capture));
        if let Err(why) = (self.check)(&arguments) {
            return no(&Problem::of_form(why), 400);
        }
        let title = format!("Capture on {interface}");
        let (run, work) = (OnceLock::new(), Work::Capture(capture));
        let place = "captures";
        let started =
            StartedCommand { title, place, arguments: Vec::new(), time: now(), run, work };
        match self.jobs.start(&arguments, started) {
            Ok(id) => Answer::see(format!("{}/jobs/{id}", self.base)),
            Err(error) => no(&Problem::of_form(not_started(&error)), 409),
        }
    }

    /// Starts a report on a finished capture.
    fn report_on_captured(&self, job: &windlass_ui::Job<StartedCommand>) -> Answer {
        let Work::Capture(capture) = &job.of.work else { return self.forgotten() };
        let Some(request) = capture.report() else {
            return self.failed(400, "Nothing was captured", "Capture for longer.");
        };
        self.report_of(request, "captures")
    }

    /// Returns a report, as a page among these or as a file to save.
    fn report(&self, job: &windlass_ui::Job<StartedCommand>, is_saved: bool) -> Answer {
        match &job.of.work {
            Work::Report(report) if job.of.has_report(job.stage()) => {
                captures::answer(&self.base, job.id, (job.of.place, report), is_saved)
                    .unwrap_or_else(|error| {
                        self.failed(
                            500,
                            &format!("The report cannot be read: {error}"),
                            "Make the report again.",
                        )
                    })
            }
            _ => self.forgotten(),
        }
    }

    /// Writes the file of the user's own path. The file is kept with the runs, so that the sweep
    /// and its repeats can read it. The path has the name of its file.
    fn path(&self, title: &str, toml: &str) -> Result<PathBuf, Failure> {
        let no = |error: io::Error| Failure::new("cannot write the file of the path", error);
        let letter = |one: char| if one.is_ascii_alphanumeric() { one } else { '-' };
        let name: String = title.to_ascii_lowercase().chars().map(letter).collect();
        let file = self.store.beside("paths", &name, ".toml", toml.as_bytes()).map_err(no)?;
        PathScenario::named(&file.display().to_string(), &read_text)?;
        Ok(file)
    }

    /// Returns the scenarios, alone and with each of their devices.
    fn transfers(&self) -> Vec<String> {
        let mut all = Vec::new();
        for scenario in &self.scenarios {
            all.push(scenario.id.clone());
            for row in &scenario.rows {
                let one = format!("{}/{}", scenario.id, row.profile.id);
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        all
    }

    /// Writes a link to the running command.
    fn busy(&self, html: &mut Html) {
        if let Some(job) = self.jobs.running() {
            let (base, id) = (&self.base, job.id);
            let title = windlass_output::html::escaped(&job.of.title);
            html.raw(&format!("<p>Running: <a href=\"{base}/jobs/{id}\">{title}</a></p>\n"));
        }
    }

    /// Begins a form that is sent to this place.
    fn begin_form(&self, html: &mut Html, place: &str) {
        let base = &self.base;
        html.raw(&format!(
            "<form method=\"post\" action=\"{base}/{place}\">\n<div class=\"form\">\n"
        ));
    }

    /// Returns the form of a measurement.
    fn measure(&self, fields: &Fields, problems: &[Problem]) -> String {
        let mut html = Html::page(&self.base, "Measure a path", "");
        html.element(
            "p",
            "The target runs windlass serve, or a server of iperf3, iperf or ttcp. Each test is kept \
             as a run.",
        );
        complaints(&mut html, problems);
        self.busy(&mut html);
        let form = Form { fields, problems };
        self.begin_form(&mut html, "measure");
        let hint = "Host name or address, with or without a port: 192.0.2.2:5201";
        form.field("host", "Target", hint, "").line(&mut html, "required");
        form.field("protocol", "Server at the target", "", "windlass")
            .choice(&mut html, &PROTOCOLS);
        form.field("way", "Direction", "", "there").choice(&mut html, &WAYS);
        form.field("time", "Time", "10s, 500ms, 1min", "10s").line(&mut html, "");
        form.field("streams", "Streams", "Number of parallel connections", "1")
            .line(&mut html, "inputmode=\"numeric\"");
        let hint = "64k. Empty: chosen by the kernel. Several make a sweep: 16k,64k,256k";
        form.field("windows", "Receive windows", hint, "").line(&mut html, "");
        form.field(
            "congestion",
            "Congestion control",
            "cubic, bbr. Empty: the system's default",
            "",
        )
        .line(&mut html, "");
        form.field("port", "Port", "Empty: the server's default", "")
            .line(&mut html, "inputmode=\"numeric\"");
        form.field("tag", "Tag", "One word, to find the run later", "").line(&mut html, "");
        form.field("note", "Note", "A remark, kept with the run", "").line(&mut html, "");
        end_form(&mut html, "Run");
        self.printing(&mut html, &form);
        html.finish()
    }

    /// Writes the form of a print job, below the form of a path.
    fn printing(&self, html: &mut Html, form: &Form<'_>) {
        html.element("h2", "Send to a printer");
        html.element(
            "p",
            "Measures how fast the printer takes data, and what limits the transfer. The data is a \
             print job: most printers print no page for zeros, but print text.",
        );
        self.begin_form(html, "print");
        let hint = "192.0.2.9, or a URI: socket://HOST, lpd://HOST/QUEUE, ipp://HOST/PATH";
        form.field("printer", "Printer", hint, "").line(html, "required");
        form.field("speaks", "Protocol", "Ignored if the printer is a URI", "raw")
            .choice(html, &SPOKEN);
        form.field("queue", "Queue", "For LPR, or for IPP to a CUPS server", "").line(html, "");
        let payloads = PAYLOADS.map(|(word, what, _)| (word, what));
        form.field("data", "Data", "", "zeros").choice(html, &payloads);
        form.field("amount", "Amount", "1MB, 22MB. 64k is 65,536 B", "1MB").line(html, "required");
        end_form(html, "Print");
    }

    /// Returns the forms of runs in virtual time.
    fn play(&self, fields: &Fields, problems: &[Problem]) -> String {
        let mut html = Html::page(&self.base, "Play", "play");
        html.element(
            "p",
            "Devices and paths are simulated, without a network. Fifteen simulated minutes take \
             milliseconds.",
        );
        complaints(&mut html, problems);
        self.busy(&mut html);
        let form = Form { fields, problems };
        html.element("h2", "Send to simulated devices");
        self.begin_form(&mut html, "play/lab");
        let transfers = self.transfers();
        let title = |one: &String| match one.split_once('/') {
            Some((scenario, device)) => format!("{scenario}: {device}"),
            None => {
                let scenario = self.scenarios.iter().find(|scenario| scenario.id == *one);
                let title = scenario.map(|scenario| scenario.title.clone()).unwrap_or_default();
                format!("{one}: all ({title})")
            }
        };
        let titles: Vec<String> = transfers.iter().map(title).collect();
        let all: Vec<(&str, &str)> =
            transfers.iter().map(String::as_str).zip(titles.iter().map(String::as_str)).collect();
        form.field("scenario", "Devices", "", "").choice(&mut html, &all);
        form.field("bytes", "Data for each", "100kB. Empty: the scenario's amount", "")
            .line(&mut html, "");
        form.field("seed", "Seed", "The same number gives the same result", "")
            .line(&mut html, "inputmode=\"numeric\"");
        end_form(&mut html, "Send");
        html.element("h2", "Sweep a simulated path");
        self.begin_form(&mut html, "play/sweep");
        let paths: Vec<(&str, String)> = built_in::PATHS
            .iter()
            .map(|(name, _)| {
                let title = PathScenario::named(name, &read_text).map(|path| path.title);
                (*name, format!("{name}: {}", title.unwrap_or_default()))
            })
            .chain([(OWN_PATH, "Your own path".to_owned())])
            .collect();
        let paths: Vec<(&str, &str)> =
            paths.iter().map(|(name, title)| (*name, title.as_str())).collect();
        form.field("path", "Path", "", "").choice(&mut html, &paths);
        form.field("rate", "Rate of your path", "100mbit", "").line(&mut html, "");
        form.field("rtt", "RTT of your path", "20ms", "").line(&mut html, "");
        form.field("queue", "Queue of your path", "64k. Empty: unlimited", "").line(&mut html, "");
        form.field("loss", "Loss of your path", "0.1%. Empty: none", "").line(&mut html, "");
        end_form(&mut html, "Sweep");
        html.finish()
    }
}

/// Returns the reason why a command was not started.
fn not_started(error: &StartError) -> String {
    match error {
        StartError::Busy(_) => {
            "Another measurement runs, and two would disturb each other. Wait for \
                                its end, or stop it."
                .to_owned()
        }
        StartError::Closed => "windlass ui is ending.".to_owned(),
        StartError::Failed(error) => format!("windlass cannot be started: {error}"),
    }
}
