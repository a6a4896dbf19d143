//! `windlass ui`: pages for the browser of this machine.

mod captures;
mod connections;
mod forms;
mod parts;
mod running;
mod runs;
mod site;
mod sweeping;

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tempfile::TempDir;
use windlass_base::{Failure, Schema};
use windlass_output::{Output, Page, Record};
use windlass_runs::Store;
use windlass_ui::{Jobs, Server, Uploads};

use self::captures::{CaptureFolder, MOST_UPLOADED};
use self::site::{Check, Site};
use super::unwritten;
use crate::arguments::JsonArgs;
use crate::interrupt;
use crate::keeping::{self, VARIABLE};

/// Time that a running command has to report when the pages end.
const GRACE: Duration = Duration::from_secs(10);

/// The arguments of `windlass ui`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass ui                              print the address of the pages; Ctrl-C stops
  windlass ui --open                       open the pages in the browser
  windlass ui --captures /var/captures     offer the captures of this folder
  windlass ui --port 8080 --store ~/runs   use this port and this folder of runs
  ssh -L 8080:127.0.0.1:8080 HOST          reach windlass ui --port 8080 on another host

Access:
  windlass ui listens on 127.0.0.1 only, and the address has a token, new at each start. Anyone with
  the full address can measure and see the runs as you can: keep it to yourself.

Measurements:
  One measurement runs at a time, as the windlass command that its page shows. windlass runs list
  has it afterwards. When windlass ui ends, it stops and keeps the running measurement.")]
pub struct UiArgs {
    /// Port on 127.0.0.1 [default: chosen by the kernel]
    #[arg(long, short = 'p', value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,

    /// The folder of the runs
    #[arg(long, value_name = "FOLDER", help = keeping::FOLDER)]
    pub store: Option<PathBuf>,

    /// Folder of captures to choose from; other captures can be dropped on the page
    #[arg(long, value_name = "FOLDER")]
    pub captures: Option<PathBuf>,

    /// Open the pages in the browser of the desktop (xdg-open)
    #[arg(long)]
    pub open: bool,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Address of the pages.
#[derive(Debug, Serialize)]
struct UiReport {
    schema: Schema,
    /// Address to open, with the token.
    address: String,
    port: u16,
    store: String,
}

impl UiReport {
    /// The shape of the JSON, described by `schemas/ui.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.ui", version: 1 };
}

impl Record for UiReport {
    fn text(&self, page: &mut Page) {
        page.line(self.address.as_str());
        page.line(
            "The address works on this machine only. Its token gives access: keep it to yourself.",
        );
        page.line("Stop with Ctrl-C.");
    }
}

/// Runs the command. `check` returns an error for arguments of a command that cannot be run.
pub fn run(args: &UiArgs, check: Check, output: &mut Output) -> anyhow::Result<()> {
    let doing = "cannot serve the pages";
    let no = |error: std::io::Error| Failure::new(doing, error);
    let store = Store::at(store(args)?);
    let captures = args.captures.as_deref().map(CaptureFolder::open).transpose()?;
    let scratch = scratch().map_err(no)?;
    let stop = interrupt::listen(doing)?;
    let stops = || stop.load(Ordering::Relaxed);
    let server = Server::bind(args.port).map_err(|error| {
        let doing = format!("cannot listen on port {} of 127.0.0.1", args.port);
        Failure::new(doing, error).advise("Leave out --port to use a free port.")
    })?;
    let folder = scratch.path().to_owned();
    let server = server.taking(Uploads { path: "captures", folder, most: MOST_UPLOADED });
    let environment: Vec<(OsString, OsString)> =
        vec![(VARIABLE.into(), store.folder().as_os_str().to_owned())];
    let program = std::env::current_exe().map_err(no)?;
    let report = UiReport {
        schema: UiReport::SCHEMA,
        address: server.address(),
        port: server.port(),
        store: store.folder().display().to_string(),
    };
    let site = Site {
        base: server.base(),
        store,
        watching: Jobs::new(program.clone(), Vec::new()),
        jobs: Jobs::new(program, environment),
        check,
        scenarios: Site::scenarios()?,
        captures,
        scratch: scratch.path().to_owned(),
    };
    output.print(&report).map_err(unwritten)?;
    if args.open
        && let Err(failure) = open(&scratch, &report.address)
    {
        eprintln!("windlass: warning: {}", failure.in_one_line());
    }
    server.serve(&|asked| site.answer(asked), &stops);
    site.watching.end(GRACE);
    site.jobs.end(GRACE);
    // The folder is removed once its contents are.
    drop(site);
    drop(scratch);
    Ok(())
}

/// Makes a folder for this user alone, which is removed when the pages end: uploads, reports and
/// the file for the browser.
fn scratch() -> std::io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("windlass-ui-").permissions(Permissions::from_mode(0o700)).tempdir()
}

/// Returns the folder of the runs: a measurement from a page must be kept to be shown.
fn store(args: &UiArgs) -> Result<PathBuf, Failure> {
    let is_off = std::env::var_os(VARIABLE).is_some_and(|value| value.is_empty());
    if is_off && args.store.is_none() {
        let wrong = format!("{VARIABLE} is empty, so no run is kept");
        return Err(Failure::usage("cannot show runs", wrong)
            .advise("Give a folder for the runs: --store FOLDER."));
    }
    let folder = keeping::folder(args.store.as_deref())?;
    // Commands that the pages start may run in another directory.
    std::path::absolute(&folder).map_err(|error| Failure::new("cannot find the store", error))
}

/// Opens the pages in a browser. All users of this machine see the arguments of a program, so the
/// token goes there by a file that this user alone may read.
fn open(folder: &TempDir, address: &str) -> Result<(), Failure> {
    let doing = "cannot open a browser";
    let no = |error: std::io::Error| Failure::new(doing, error).advise("Open the address by hand.");
    let mut file = tempfile::Builder::new()
        .prefix("open-")
        .suffix(".html")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)
        .map_err(no)?;
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>windlass</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <p><a href=\"{address}\">windlass ui</a></p>\n"
    )
    .map_err(no)?;
    // The file is removed with its folder when the pages end.
    let (_, path) = file.keep().map_err(|error| no(error.error))?;
    Command::new("xdg-open")
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A Ctrl-C here is not for the browser.
        .process_group(0)
        .spawn()
        .map(drop)
        .map_err(no)
}
