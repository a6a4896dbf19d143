//! The packets around the evidence, in their order between the two ends.

use windlass_base::Timestamp;
use windlass_output::figures;
use windlass_output::html::escaped;

use super::super::ladder::Rung;

/// Returns the rungs of a ladder as a table; times count from `began`.
pub(super) fn html(rungs: &[Rung], began: Timestamp) -> String {
    if rungs.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h3>Packets around the evidence</h3>\n<table class=\"ladder\">\n<thead><tr>\
         <th scope=\"col\">Packet</th><th scope=\"col\">Time</th>\
         <th scope=\"col\" class=\"word\">Sender and receiver</th>\
         <th scope=\"col\" class=\"word\">Notes</th></tr></thead>\n<tbody>\n",
    );
    for (place, rung) in rungs.iter().enumerate() {
        if rung.left_out > 0 && place > 0 {
            let packets = figures::counted(rung.left_out, "packet").plain();
            out.push_str(&format!(
                "<tr class=\"gap\"><td colspan=\"4\" class=\"word\">{packets} between</td></tr>\n"
            ));
        }
        out.push_str(&row(rung, began));
    }
    out.push_str("</tbody>\n</table>\n");
    out
}

fn row(rung: &Rung, began: Timestamp) -> String {
    let class = if rung.is_evidence { " class=\"best\"" } else { "" };
    let (way, arrow) = if rung.from_sender { ("forth", "→") } else { ("back", "←") };
    let said = format!("<span class=\"says\">{}</span>", escaped(&says(rung)));
    let arrow = format!("<span class=\"arrow\">{arrow}</span>");
    let crossing = if rung.from_sender { said + &arrow } else { arrow + &said };
    format!(
        "<tr{class}><td data-name=\"Packet\">{}</td><td data-name=\"Time\">{}</td>\
         <td class=\"word way {way}\">{crossing}</td>\
         <td class=\"word\" data-name=\"Notes\">{}</td></tr>\n",
        figures::count(rung.number),
        figures::exact(rung.time.since(began)).plain(),
        escaped(&rung.notes.join("; "))
    )
}

/// Returns the contents of a packet, in the words of `windlass show`.
fn says(rung: &Rung) -> String {
    let mut says = rung.flags.clone();
    if let Some(sequence) = rung.sequence.filter(|_| rung.bytes > 0) {
        let bytes = figures::counted(rung.bytes, "byte").plain();
        says.push_str(&format!(", {bytes} from {}", count(sequence)));
    }
    if let Some(ack) = rung.ack {
        says.push_str(&format!(", ack {}", count(ack)));
    }
    if let Some(window) = rung.window {
        says.push_str(&format!(", window {window}"));
    }
    says
}

fn count(place: i64) -> String {
    let sign = if place < 0 { "-" } else { "" };
    format!("{sign}{}", figures::count(place.unsigned_abs()))
}
