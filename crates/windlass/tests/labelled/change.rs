//! A change that a remedy asks for, and a plan with just this change.

use std::fmt;

use serde_json::{Value, json};

use crate::plan::{Plan, SEGMENT};

/// The queue of a line that is never full, bytes.
const NEVER_FULL: f64 = 8e6;
/// The largest window without scaling.
const UNSCALED: f64 = 65_535.0;

/// A change: in the words of `--what-if`, or in a word of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    kind: String,
    value: String,
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(out, "{}{equals}{}", self.kind, self.value)
    }
}

impl Change {
    fn new(kind: &str, value: impl fmt::Display) -> Self {
        Self { kind: kind.to_owned(), value: value.to_string() }
    }

    /// Returns its kind, without its value.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Reads the change that a remedy of a verdict asks for; `None` where it is plain advice.
    pub(crate) fn of(verdict: &Value, remedy: &Value) -> Option<Self> {
        let of_sender = remedy["side"] == "sender";
        if let Some(text) = remedy["what_if"].as_str() {
            let (kind, value) = text.split_once('=')?;
            // The path's order is another change than a sender that bears the disorder.
            let is_borne = kind == "reordering" && of_sender;
            return Some(if is_borne { Self::new("rack", "") } else { Self::new(kind, value) });
        }
        let value = remedy["value"].as_f64();
        let bytes = value.filter(|_| remedy["unit"] == "bytes").map(|bytes| bytes as u64);
        Some(match (verdict["because"].as_str().unwrap_or_default(), of_sender) {
            ("sender-idle", true) => Self::new("pauses", "none"),
            ("awaits-answer", _) if value.is_none() => Self::new("awaits", "nothing"),
            ("awaits-answer", _) => Self::new("answers", "at-once"),
            ("receiver-not-reading", false) => Self::new("reads", "at-once"),
            ("window-opens-late", false) => match bytes {
                Some(bytes) => Self::new("window", bytes),
                None => Self::new("reads", "at-once"),
            },
            ("no-window-update", _) => Self::new("updates", "at-once"),
            ("black-hole", _) => Self::new("mss", bytes?),
            ("after-loss", true) => Self::new("congestion", "bbr"),
            ("after-loss", false) => Self::new("loss", 0),
            ("steady", true) => Self::new("send-buffer", bytes?),
            ("policer", true) => Self::new("paced", value? as u64),
            ("queue", false) => Self::new("line", "twice"),
            ("timeout" | "fast-recovery" | "slow-timer", true) if value.is_none() => {
                Self::new("fast-repair", "on")
            }
            _ if verdict["limit"] == "small-segments" => Self::new("write", bytes?),
            _ if verdict["limit"] == "nagle-delayed-ack" && of_sender => Self::new("nodelay", "on"),
            _ if verdict["limit"] == "nagle-delayed-ack" => Self::new("ack-latency", 0),
            _ => return None,
        })
    }

    /// Returns the plan with this change, and `None` where the plan has nothing to change so.
    pub(crate) fn carried_out(&self, mut plan: Plan) -> Option<Plan> {
        let number = self.value.parse::<f64>();
        let stack_sends = settings(&plan.sender).is_some();
        let stack_takes = settings(&plan.receiver).is_some();
        match self.kind.as_str() {
            "window" if stack_takes => {
                let window = number.ok().filter(|window| *window <= UNSCALED)?;
                with_settings(&mut plan.receiver, |it| set(it, "window", window))?;
            }
            "window" => offers(&mut plan, number.ok()?)?,
            "send-buffer" if stack_sends => {
                let flight = number.ok()?;
                with_settings(&mut plan.sender, |it| set(it, "flight", flight))?;
            }
            "send-buffer" => buffers(&mut plan.sender, number.ok()?)?,
            "ack-latency" if stack_takes => {
                with_settings(&mut plan.receiver, |it| drop_all(it, &["ack_late"]))?;
            }
            "ack-latency" => route(&mut plan.receiver, "quickack 1"),
            "loss" if drop_link(&mut plan, &["--AHEAD-loss"]).is_some() => {}
            "loss" if plan.link.iter().any(|name| name == "--policer") => return None,
            "loss" => plan.queue = NEVER_FULL,
            "ack-loss" => drop_link(&mut plan, &["--BACK-loss"])?,
            "reordering" => drop_link(&mut plan, &["--AHEAD-reorder", "--reorder-by"])?,
            "rack" => {
                plan = plan.sysctl("tcp_recovery", 1).sysctl("tcp_max_reordering", 300);
            }
            "timer" => {
                let micros = self.value.strip_suffix("us")?.parse::<f64>().ok()?;
                if stack_sends {
                    with_settings(&mut plan.sender, |it| set(it, "timer", micros / 1e6))?;
                } else {
                    route(&mut plan.sender, &format!("rto_min {:.0}ms", micros / 1e3));
                }
            }
            "streams" => streams(&mut plan, number.ok()?)?,
            "mss" if stack_sends => {
                with_settings(&mut plan.sender, |it| set(it, "piece", number.unwrap_or(536.0)))?;
            }
            "mss" => {
                let stamped = plan.sender["sysctl"]["tcp_timestamps"] == 1;
                let mss = number.ok()? + if stamped { 12.0 } else { 0.0 };
                set(role(&mut plan.sender)?, "mss", mss)?;
            }
            "reassembly" => with_settings(&mut plan.receiver, |it| drop_all(it, &["discards"]))?,
            "policer" => twice(&mut plan, "--policer")?,
            "line" => {
                plan.line *= 2.0;
                let _ = twice(&mut plan, "--fade-to");
                half(&mut plan, "--half-duplex");
                faster_shaper(&mut plan.sender);
            }
            "paced" => set(role(&mut plan.sender)?, "pacing", number.ok()?)?,
            "congestion" => plan.sender["congestion"] = json!(self.value),
            "fast-repair" => with_settings(&mut plan.sender, |it| set(it, "fast_repair", true))?,
            "updates" => {
                with_settings(&mut plan.receiver, |it| drop_all(it, &["silent_updates"]))?;
            }
            "pauses" => no_pauses(&mut plan.sender)?,
            "reads" => reads_at_once(&mut plan.receiver)?,
            "awaits" => awaits_nothing(&mut plan)?,
            "answers" => drop_all(role(&mut plan.receiver)?, &["pause"])?,
            "nodelay" => set(role(&mut plan.sender)?, "nodelay", 1)?,
            "write" => {
                let role = role(&mut plan.sender)?;
                drop_all(role, &["eor"])?;
                set(role, "write", number.ok()?)?;
            }
            _ => return None,
        }
        Some(plan)
    }
}

/// Lets a program that sends for a time send as much as it did.
pub(crate) fn with_size(plan: &mut Plan, bytes: f64) {
    // An index would add the program that a role has not.
    let words = plan.sender.get_mut("program").and_then(Value::as_array_mut);
    let Some(words) = words else { return };
    if words.first().is_some_and(|name| name == "iperf3")
        && let Some(index) = words.iter().position(|word| word == "-t")
    {
        (words[index], words[index + 1]) = (json!("-n"), json!(format!("{bytes:.0}")));
    }
}

/// Returns the role of an end that plays one.
fn role(end: &mut Value) -> Option<&mut Value> {
    end.get_mut("role")
}

fn set(of: &mut Value, name: &str, value: impl Into<Value>) -> Option<()> {
    of.as_object_mut()?.insert(name.to_owned(), value.into());
    Some(())
}

/// Removes settings, of which one was there at least.
fn drop_all(of: &mut Value, names: &[&str]) -> Option<()> {
    let of = of.as_object_mut()?;
    let count = names.iter().filter(|name| of.remove(**name).is_some()).count();
    (count > 0).then_some(())
}

/// Returns the settings of a small stack.
fn settings(end: &Value) -> Option<Value> {
    serde_json::from_str(end["files"]["WORKstack.json"].as_str()?).ok()
}

fn with_settings(end: &mut Value, change: impl FnOnce(&mut Value) -> Option<()>) -> Option<()> {
    let mut settings = settings(end)?;
    change(&mut settings)?;
    end["files"]["WORKstack.json"] = json!(settings.to_string());
    Some(())
}

/// Adds metrics to the route of an end.
fn route(end: &mut Value, metrics: &str) {
    let before = end["route"].as_str().unwrap_or_default();
    end["route"] = json!(format!("{before} {metrics}").trim());
}

/// Lets Linux offer a window of this size.
fn offers(plan: &mut Plan, window: f64) -> Option<()> {
    for end in [&mut plan.sender, &mut plan.receiver] {
        if window > UNSCALED {
            end["sysctl"]["tcp_window_scaling"] = json!("1");
        }
    }
    // Half of a buffer is offered.
    let memory = format!("4096 {0:.0} {0:.0}", 2.0 * window);
    if plan.receiver.get("role").is_none() {
        route(&mut plan.receiver, &format!("window {window:.0}"));
        return set(plan.receiver.get_mut("sysctl")?, "tcp_rmem", memory);
    }
    let role = role(&mut plan.receiver)?;
    let _ = drop_all(role, &["rcvbuf"]);
    set(role, "rcvbuf_forced", 2.0 * window)?;
    set(role, "clamp", window)
}

/// Gives Linux a send buffer of this size, or its route a congestion window.
fn buffers(sender: &mut Value, bytes: f64) -> Option<()> {
    if let Some(locked) = sender["route"].as_str().filter(|route| route.contains("lock")) {
        let mut words: Vec<String> = locked.split(' ').map(str::to_owned).collect();
        let index = words.iter().position(|word| word == "lock")? + 1;
        words[index] = format!("{:.0}", (bytes / SEGMENT).ceil());
        sender["route"] = json!(words.join(" "));
        return Some(());
    }
    let memory = format!("4096 {0:.0} {0:.0}", 2.0 * bytes);
    let Some(role) = role(sender) else {
        return set(sender.get_mut("sysctl")?, "tcp_wmem", memory);
    };
    let _ = drop_all(role, &["sndbuf"]);
    set(role, "sndbuf_forced", bytes)
}

/// Removes options of the link; `None` where it has none of them.
fn drop_link(plan: &mut Plan, names: &[&str]) -> Option<()> {
    let before = plan.link.len();
    let options: Vec<Vec<String>> = plan.link.chunks(2).map(<[String]>::to_vec).collect();
    plan.link = options.into_iter().filter(|one| !names.contains(&&*one[0])).flatten().collect();
    (plan.link.len() < before).then_some(())
}

/// Doubles a rate of the link.
fn twice(plan: &mut Plan, name: &str) -> Option<()> {
    let index = plan.link.iter().position(|word| word == name)? + 1;
    let rate: f64 = plan.link[index].strip_suffix("bps")?.parse().ok()?;
    plan.link[index] = format!("{:.0}bps", 2.0 * rate);
    Some(())
}

/// Halves the time that a packet waits for a medium.
fn half(plan: &mut Plan, name: &str) {
    let Some(index) = plan.link.iter().position(|word| word == name) else { return };
    let time = plan.link[index + 1].strip_suffix("us").and_then(|time| time.parse::<f64>().ok());
    plan.link[index + 1] = format!("{:.0}us", time.unwrap_or(2.0) / 2.0);
}

/// Doubles the rate of a shaper of the host.
fn faster_shaper(sender: &mut Value) {
    let Some(shaper) = sender["shaper"].as_str() else { return };
    let words = shaper.split(' ').map(|word| {
        let rate = word.strip_suffix("bit").and_then(|rate| rate.parse::<f64>().ok());
        rate.map_or_else(|| word.to_owned(), |rate| format!("{:.0}bit", 2.0 * rate))
    });
    sender["shaper"] = json!(words.collect::<Vec<_>>().join(" "));
}

/// Sends the same data over several connections.
fn streams(plan: &mut Plan, count: f64) -> Option<()> {
    let is_bulk = plan.sender["role"]["is"] == "write" && plan.receiver["role"]["is"] == "read";
    if !is_bulk {
        return None;
    }
    let role = role(&mut plan.sender)?;
    let each = role["bytes"].as_f64()? / count;
    set(role, "bytes", each.ceil() as u64)?;
    set(role, "streams", count)?;
    set(plan.receiver.get_mut("role")?, "streams", count)
}

/// Removes what makes a program write slower than it can.
fn no_pauses(sender: &mut Value) -> Option<()> {
    if settings(sender).is_some() {
        return with_settings(sender, |it| drop_all(it, &["pace"]));
    }
    if let Some(role) = role(sender) {
        let names = ["burst", "pause", "rate", "beat", "outstanding", "poll", "pacing", "first"];
        return drop_all(role, &names);
    }
    if let Some(server) = sender["files"]["WORKnginx.conf"].as_str() {
        let (before, rest) = server.split_once("limit_rate ")?;
        let after = rest.split_once(';')?.1;
        sender["files"]["WORKnginx.conf"] = json!(format!("{before}{after}"));
        return Some(());
    }
    without_words(sender, &["--limit-rate", "-b"], "--bwlimit=")
}

/// Removes options with their values, and words that begin so, from an end's program.
fn without_words(end: &mut Value, options: &[&str], start: &str) -> Option<()> {
    let words = end["program"].as_array()?.clone();
    let is_option = |at: usize| options.contains(&words[at].as_str().unwrap_or_default());
    let keeps = |at: &usize| {
        let is_whole = words[*at].as_str().unwrap_or_default().starts_with(start);
        let is_value = *at > 0 && is_option(*at - 1);
        !(is_option(*at) || is_value || is_whole)
    };
    let kept: Vec<Value> = (0..words.len()).filter(keeps).map(|at| words[at].clone()).collect();
    let is_changed = kept.len() < words.len();
    end["program"] = Value::Array(kept);
    is_changed.then_some(())
}

/// Lets a receiver read whenever there is something.
fn reads_at_once(receiver: &mut Value) -> Option<()> {
    let names = ["read_rate", "rate", "stop_every", "stop", "wait", "pause", "silent_updates"];
    if settings(receiver).is_some() {
        return with_settings(receiver, |it| drop_all(it, &names));
    }
    match role(receiver) {
        Some(role) => drop_all(role, &names),
        None => without_words(receiver, &["--limit-rate"], "--limit-rate="),
    }
}

/// Lets a program send without waiting for messages; the other one takes as long for each.
fn awaits_nothing(plan: &mut Plan) -> Option<()> {
    let role = role(&mut plan.sender)?;
    match role["is"].as_str()? {
        "blocks" => {
            let block = role["block"].clone();
            let _ = drop_all(role, &["head", "pause"]);
            set(role, "is", "write")?;
            set(role, "write", block)
        }
        "spends" => {
            let bytes = role["bytes"].clone();
            set(role, "credits", bytes)
        }
        "serves" => set(plan.receiver.get_mut("role")?, "ahead", true),
        _ => None,
    }
}
