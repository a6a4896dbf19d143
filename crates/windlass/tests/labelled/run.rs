//! One transfer over `windlass link`.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::check::{checked, punctual};
use crate::draw::Draw;
use crate::figures::{Sources, figures};
use crate::plan::Plan;
use crate::situation::Situation;
use crate::{named, option, program};
use windlass_testkit::clock::kept_by_link;

/// A transfer that has not ended after so many seconds never will.
const PATIENCE: &str = "25";
/// Exit code of timeout(1) at a timeout.
const OUT_OF_PATIENCE: i32 = 124;

/// The result of a transfer: its label, or why it has none.
pub(crate) enum RunResult {
    /// Its label holds: what was drawn, and the checked figures.
    Kept(String),
    /// The transfer failed, or its label does not hold.
    Dropped(String),
}

/// Runs the transfer of a situation that a seed draws; its captures go to `folder`.
pub(crate) fn run(situation: &Situation, seed: u64, folder: &Path) -> RunResult {
    let plan = (situation.plan)(&mut Draw::new(situation.name, seed));
    let work = tempfile::tempdir().unwrap();
    let attempted = attempt(&plan, seed, work.path());
    if option("KEEP").is_some() {
        eprintln!("{}-{seed} is in {}", situation.name, work.keep().display());
        return RunResult::Dropped(attempted.unwrap_or_else(|why| why));
    }
    match attempted {
        Ok(told) => {
            for end in ["snd", "rcv"] {
                let name = format!("{}-{seed}.{end}.pcap.gz", named(situation));
                let file = File::create(folder.join(name)).unwrap();
                // Tests are not optimised; gzip is.
                let mut gzip = Command::new("gzip");
                gzip.args(["-n", "-c"]).arg(work.path().join(end)).stdout(file);
                assert!(gzip.status().unwrap().success());
            }
            let card = u8::from(plan.has_card());
            RunResult::Kept(format!("{} card={card} seed={seed}\t{told}", plan.parameters))
        }
        Err(why) => RunResult::Dropped(why),
    }
}

/// The checked figures of a transfer; why it does not count as an error.
fn attempt(plan: &Plan, seed: u64, work: &Path) -> Result<String, String> {
    checked(&plan.bounds, &figures(plan, &transfer(plan, seed, work)?)?)
}

/// Runs a plan that was changed: of its label nothing holds any more, but the link was punctual.
pub(crate) fn changed(plan: &Plan, seed: u64, work: &Path) -> Result<(), String> {
    punctual(&figures(plan, &transfer(plan, seed, work)?)?)
}

/// Runs a plan in a folder, and returns what its ends, its link and its captures say.
fn transfer(plan: &Plan, seed: u64, work: &Path) -> Result<Sources, String> {
    let at = |name: &str| work.join(name).to_str().unwrap().to_owned();
    let end = |settings: &Value, name: &str| {
        let mut end = settings.clone();
        if !(plan.has_card() && name == "snd") {
            end.as_object_mut().unwrap().remove("card");
        }
        end["capture"] = json!(at(name));
        end["report"] = json!(at(&format!("{name}.json")));
        end["finished"] = json!(at("finished"));
        end
    };
    let (sender, receiver) = (end(&plan.sender, "snd"), end(&plan.receiver, "rcv"));
    let (near, far) = if plan.is_upload { (sender, receiver) } else { (receiver, sender) };
    let settle = 0.06 + 1.2 * plan.rtt;
    let spec = json!({ "port": plan.port, "settle": settle, "near": near, "far": far });
    let spec = spec.to_string().replace("WORK", &at(""));
    fs::write(at("spec"), spec).map_err(|error| error.to_string())?;
    // The program as it was built: a change of it must not meet a run that goes on.
    let ends = &at("ends.py");
    fs::write(ends, include_str!("ends.py")).map_err(|error| error.to_string())?;
    fs::write(at("stack.py"), include_str!("stack.py")).map_err(|error| error.to_string())?;
    let mut link = Command::new("timeout");
    link.args([PATIENCE, &program()]);
    link.args(["link", "--json", "--report", &at("link.json"), "--peer-wait", "5s"]);
    link.args(["--rate", &format!("{:.0}bps", plan.line * 8.0)]);
    link.args(["--rtt", &format!("{:.0}us", plan.rtt * 1e6), "--seed", &seed.to_string()]);
    link.args(["--queue", &format!("{:.0}", plan.queue)]);
    link.args(
        plan.link
            .iter()
            .map(|word| word.replace("AHEAD", plan.ahead()).replace("BACK", plan.back())),
    );
    link.args(["--peer", &format!("exec python3 -E -S '{ends}' '{}' far", at("spec"))]);
    link.args(["--", "python3", "-E", "-S", ends, &at("spec"), "near"]);
    let log = File::create(at("log")).map_err(|error| error.to_string())?;
    link.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let status = link.status().map_err(|error| error.to_string())?;
    if status.code() == Some(OUT_OF_PATIENCE) {
        return Err("it did not end".to_owned());
    }
    let read = |name: &str| {
        let text = fs::read_to_string(at(name)).unwrap_or_default();
        let log = fs::read_to_string(at("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(3).collect();
        serde_json::from_str::<Value>(&text).map_err(|_| format!("no {name}: {}", lines.join("; ")))
    };
    let sources = Sources {
        sender: read("snd.json")?,
        receiver: read("rcv.json")?,
        link: read("link.json")?,
        at_sender: work.join("snd"),
        at_receiver: work.join("rcv"),
    };
    kept_by_link(&sources.link);
    Ok(sources)
}
