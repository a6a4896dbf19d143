//! Processors of a transfer's ends, beside its verdict.

use serde::Deserialize;
use windlass_base::figures::Share;

use crate::html::Html;

/// Processors of an end. Records of other versions of windlass may lack some fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct End {
    cpu: Option<Cpu>,
    machine: Option<Machine>,
}

/// Time of the busiest thread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cpu {
    busiest_share: f64,
    waiting_share: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Machine {
    system: Option<String>,
    processors: usize,
    busy_share: f64,
    others: Vec<Program>,
}

#[derive(Debug, Deserialize)]
struct Program {
    pid: u32,
    name: String,
    cpu_share: f64,
}

impl Cpu {
    fn text(&self) -> String {
        let waits = self.waiting_share.map(|share| format!(", waits for one {}", Share(share)));
        let works = Share(self.busiest_share);
        format!("its thread has a processor {works} of the time{}", waits.unwrap_or_default())
    }
}

impl Machine {
    fn text(&self) -> String {
        let Self { processors, busy_share, others, .. } = self;
        let others: Vec<String> = others
            .iter()
            .map(|one| format!("{} ({}) {} of one", one.name, one.pid, Share(one.cpu_share)))
            .collect();
        let before = if others.is_empty() { "" } else { "; other programs: " };
        format!(
            "processors of its machine: {processors}, busy {}{before}{}",
            Share(*busy_share),
            others.join(", ")
        )
    }
}

/// Writes the processors of the ends, each with its name; nothing if none is known.
pub(super) fn write(html: &mut Html, ends: &[(&str, Option<&End>)]) {
    let known: Vec<(&str, &End)> =
        ends.iter().filter_map(|(name, end)| Some((*name, (*end)?))).collect();
    let systems = known.iter().filter_map(|(_, end)| end.machine.as_ref()?.system.as_deref());
    let systems: Vec<&str> = systems.collect();
    let is_one = matches!(systems[..], [one, other] if one == other);
    let rows: Vec<(&str, String)> = known
        .iter()
        .flat_map(|(name, end)| {
            let thread = end.cpu.as_ref().map(Cpu::text);
            let texts = thread.into_iter().chain(end.machine.as_ref().map(Machine::text));
            texts.enumerate().map(|(place, text)| (if place == 0 { *name } else { "" }, text))
        })
        .chain(is_one.then(|| ("both", "both ends are one machine".to_owned())))
        .collect();
    if rows.is_empty() {
        return;
    }
    html.raw("<dl class=\"rows\">\n");
    for (name, text) in rows {
        if !name.is_empty() {
            html.element("dt", name);
        }
        html.element("dd", &text);
    }
    html.raw("</dl>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sender: &serde_json::Value, receiver: &serde_json::Value) -> String {
        let end = |json: &serde_json::Value| serde_json::from_value::<Option<End>>(json.clone());
        let (sender, receiver) = (end(sender).unwrap(), end(receiver).unwrap());
        let mut html = Html::new("/t");
        write(&mut html, &[("sender", sender.as_ref()), ("receiver", receiver.as_ref())]);
        html.part().replace('\u{a0}', " ")
    }

    #[test]
    fn ends_tell_of_threads_machines_and_programs() {
        let end = serde_json::json!({
            "cpu": {"busiest_share": 0.34, "waiting_share": 0.5},
            "machine": {"system": "7", "processors": 2, "busy_share": 0.97,
                        "others": [{"pid": 811, "name": "make", "cpu_share": 0.8}]},
        });
        let text = written(&end, &end);
        for expected in [
            "<dt>sender</dt>\n<dd>its thread has a processor 34 % of the time, waits for one 50 %</dd>",
            "<dd>processors of its machine: 2, busy 97 %; other programs: make (811) 80 % of one</dd>",
            "<dt>both</dt>\n<dd>both ends are one machine</dd>",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let other = serde_json::json!({"machine": {"system": "8", "processors": 4}});
        assert!(!written(&end, &other).contains("one machine"));
    }

    #[test]
    fn nothing_is_written_of_nothing() {
        assert_eq!(written(&serde_json::Value::Null, &serde_json::json!({})), "");
    }
}
