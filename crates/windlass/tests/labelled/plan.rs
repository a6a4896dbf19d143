//! The plan of a transfer: its link, its two ends, and what must be measured of it.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::check::Bound;
use crate::draw::Draw;

/// The data of a full segment with timestamps.
pub(crate) const SEGMENT: f64 = 1448.0;

/// A planned transfer.
pub(crate) struct Plan {
    /// The rate of the line, bytes per second.
    pub(crate) line: f64,
    /// The round trip of the idle path, seconds.
    pub(crate) rtt: f64,
    /// True if the near end sends the data.
    pub(crate) is_upload: bool,
    /// Options of the link beside rate and round trip. `AHEAD` stands for the way of the data.
    pub(crate) link: Vec<String>,
    /// Bytes that may wait for the line. Without a draw of its own a queue is never full.
    pub(crate) queue: f64,
    /// The end that sends the data.
    pub(crate) sender: Value,
    /// The end that receives the data.
    pub(crate) receiver: Value,
    /// The port of the server.
    pub(crate) port: u16,
    /// Measurements that must hold for the label.
    pub(crate) bounds: Vec<Bound>,
    /// Drawn parameters, for the list.
    pub(crate) parameters: String,
}

impl Plan {
    /// A path; timestamps, offload, direction and congestion control are drawn.
    pub(crate) fn new(draw: &mut Draw, line: f64, rtt: f64) -> Self {
        let congestion = draw.one(&["cubic", "cubic", "reno", "bbr"]);
        Self::with(draw, line, rtt, congestion)
    }

    /// Makes the plan with this congestion control.
    pub(crate) fn with(draw: &mut Draw, line: f64, rtt: f64, congestion: &str) -> Self {
        let timestamps = u8::from(draw.chance(0.65));
        let sysctl = json!({ "tcp_timestamps": timestamps });
        let end =
            |offload| json!({ "sysctl": sysctl, "congestion": congestion, "offload": offload });
        let (ours, theirs) = (draw.chance(0.5), draw.chance(0.6));
        let mut plan = Self {
            line,
            rtt,
            is_upload: draw.chance(0.5),
            link: Vec::new(),
            queue: 2e6,
            sender: end(ours),
            receiver: end(theirs),
            port: 7000,
            bounds: Vec::new(),
            parameters: String::new(),
        };
        plan.note("line", format!("{line:.0}B/s"));
        plan.note("rtt", format!("{:.2}ms", rtt * 1e3));
        plan.note("cc", congestion);
        plan.note("timestamps", timestamps);
        plan.note("offload", format!("{}/{}", u8::from(ours), u8::from(theirs)));
        // Only where the near end sends: a peer is waited for where it listens.
        plan.sender["card"] = json!(draw.chance(0.4));
        if draw.chance(0.2) {
            let most = rtt * draw.scaled(0.01, 0.12);
            plan = plan.link("--jitter", format!("{:.0}us", most * 1e6));
        }
        plan
    }

    /// Notes a drawn parameter for the list.
    pub(crate) fn note(&mut self, name: &str, value: impl std::fmt::Display) {
        let space = if self.parameters.is_empty() { "" } else { " " };
        write!(self.parameters, "{space}{name}={value}").unwrap();
    }

    /// Adds an option of the link.
    pub(crate) fn link(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.note(name.trim_start_matches('-').trim_start_matches("AHEAD-"), &value);
        self.link.extend([name.to_owned(), value.to_string()]);
        self
    }

    /// Sets the bytes that may wait for the line.
    pub(crate) fn queue(mut self, bytes: f64) -> Self {
        self.note("queue", format!("{bytes:.0}B"));
        self.queue = bytes;
        self
    }

    /// Gives the sending end its role.
    pub(crate) fn sends(mut self, role: Value) -> Self {
        self.note("sends", words(&role));
        self.sender["role"] = role;
        self
    }

    /// Gives the receiving end its role.
    pub(crate) fn receives(mut self, role: Value) -> Self {
        self.note("receives", words(&role));
        self.receiver["role"] = role;
        self
    }

    /// Lets the sending end run a program.
    pub(crate) fn sends_by(mut self, program: &[String]) -> Self {
        self.note("sends", program.join(","));
        self.sender["program"] = json!(program);
        self
    }

    /// Lets the receiving end run a program.
    pub(crate) fn receives_by(mut self, program: &[String]) -> Self {
        self.note("receives", program.join(","));
        self.receiver["program"] = json!(program);
        self
    }

    /// Puts a small stack with these settings at the far end; the near end is Linux.
    pub(crate) fn against_stack(mut self, settings: &Value) -> Self {
        self.note("stack", words(settings));
        let is_sender = settings.get("bytes").is_some();
        self.is_upload = !is_sender;
        let (stack, near) = if is_sender {
            (&mut self.sender, &mut self.receiver)
        } else {
            (&mut self.receiver, &mut self.sender)
        };
        let command = ["python3", "-E", "-S", "WORKstack.py", "WORKstack.json", "WORKready"];
        stack["program"] = json!(command);
        stack["files"] = json!({ "WORKstack.json": settings.to_string() });
        (near["ready"], near["address"]) = (json!("WORKready"), json!("192.0.2.3"));
        self
    }

    /// Files that an end has before it begins: by their content, or random data of a size.
    pub(crate) fn files(mut self, at_sender: bool, files: Value) -> Self {
        let end = if at_sender { &mut self.sender } else { &mut self.receiver };
        end["files"] = files;
        self
    }

    /// Lets the near end send, or receive.
    pub(crate) const fn upload(mut self, is_upload: bool) -> Self {
        self.is_upload = is_upload;
        self
    }

    /// Sets sysctls of `net.ipv4` at both ends.
    pub(crate) fn sysctl(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.note(name, &value);
        for end in [&mut self.sender, &mut self.receiver] {
            end["sysctl"][name] = json!(value.to_string());
        }
        self
    }

    /// A figure that must lie between two bounds.
    pub(crate) fn must(mut self, figure: &'static str, least: f64, most: f64) -> Self {
        self.bounds.push(Bound { figure, least, most });
        self
    }

    /// Returns whether the sender is behind a card that splits large packets.
    pub(crate) fn has_card(&self) -> bool {
        self.is_upload && self.sender["card"] == true
    }

    /// The way of the data in the link's words.
    pub(crate) const fn ahead(&self) -> &'static str {
        if self.is_upload { "up" } else { "down" }
    }

    /// The way of the ACKs.
    pub(crate) const fn back(&self) -> &'static str {
        if self.is_upload { "down" } else { "up" }
    }
}

/// A role as words of the list.
fn words(role: &Value) -> String {
    let fields = role.as_object().into_iter().flatten();
    let all = fields.map(|(name, value)| match value {
        Value::String(text) => format!("{name}:{text}"),
        other => format!("{name}:{other}"),
    });
    all.collect::<Vec<_>>().join(",")
}
