//! Sweep as one page: no scripts, no network, light and dark.

mod caption;
mod drawing;
mod figures;
mod table;

use windlass_base::Rate;
use windlass_base::figures::fixed;
use windlass_sweep::Direction;
use windlass_sweep::report::{DirectionFacts, SweepReport};

use crate::figures as numbers;
use crate::html::{self, escaped};
use crate::records::sweep as text;

/// Returns the page; `start` is the time of a measurement in real time.
pub fn page(record: &SweepReport, start: Option<&str>) -> String {
    let path = &record.path;
    let mut page = html::begin(&format!("Sweep of {}", path.name), "", "");
    page.push_str(&format!("<h1>{}</h1>\n", escaped(&path.title)));
    if let Some(shows) = &path.shows {
        page.push_str(&format!("<p>{}</p>\n", escaped(shows)));
    }
    if let Some(source) = &path.source {
        page.push_str(&format!("<p class=\"soft\">From: {}</p>\n", escaped(source)));
    }
    hops(&mut page, record);
    if let Some(start) = start {
        page.push_str(&format!("<p class=\"soft\">Measured at {}.</p>\n", escaped(start)));
    }
    page.push_str("<ul class=\"summary\">\n");
    for line in &record.summary {
        page.push_str(&format!("<li>{}</li>\n", escaped(&line.to_string())));
    }
    page.push_str("</ul>\n");
    for way in &record.directions {
        advice(&mut page, record, way);
    }
    for (title, plots) in figures::all(record) {
        page.push_str(&format!("<h2>{}</h2>\n", escaped(title)));
        for (plot, caption) in plots {
            let caption = escaped(&caption);
            let svg = plot.svg();
            page.push_str(&format!(
                "<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n"
            ));
        }
    }
    table::put(&mut page, record);
    page.push_str(&format!(
        "<footer><p>{}</p><p>Made by windlass {}.</p></footer>\n</main>\n</body>\n</html>\n",
        escaped(&text::how(record)),
        env!("CARGO_PKG_VERSION")
    ));
    page
}

fn hops(page: &mut String, record: &SweepReport) {
    let hops = &record.path.hops;
    if hops.is_empty() {
        return;
    }
    page.push_str("<ul class=\"path\">\n");
    for (number, hop) in (1..).zip(hops) {
        let name = if hops.len() == 1 { "Path".to_owned() } else { format!("Hop {number}") };
        let alike = hop.up == hop.down;
        let mut words = format!("{name}: {}", text::link(&hop.up, alike).plain());
        if !alike {
            words = format!("{words}; back {}", text::link(&hop.down, false).plain());
        }
        page.push_str(&format!("<li>{}</li>\n", escaped(&words)));
    }
    page.push_str("</ul>\n");
}

/// Returns the suffix that tells two directions apart.
fn suffix(record: &SweepReport, way: Direction) -> String {
    if record.directions.len() < 2 && way == Direction::Up {
        String::new()
    } else {
        format!(", {way}")
    }
}

/// Writes the recommendation for one direction.
fn advice(page: &mut String, record: &SweepReport, way: &DirectionFacts) {
    page.push_str(&format!("<h2>Recommendation{}</h2>\n", suffix(record, way.direction)));
    let both = |bits: f64| numbers::both(Rate::from_bits_per_second(bits)).plain();
    let percent = |part: f64| format!("{} %", fixed(part, 1));
    let chosen = way.recommendation.as_ref();
    let cards: [(&str, &str, Option<String>); 8] = [
        ("best", "To set", chosen.map(text::what)),
        ("best", "Rate of the setting", chosen.map(|chosen| both(chosen.bits_per_second))),
        ("", "Base RTT", record.base_rtt_seconds.map(|rtt| rtt.to_string())),
        ("", "Capacity", way.capacity_bits_per_second.map(both)),
        ("", "Bandwidth-delay product", way.bdp_bytes.map(|bytes| bytes.to_string())),
        ("", "Transfer time ratio", way.transfer_time_ratio.map(|ratio| fixed(ratio, 3))),
        ("", "TCP efficiency", way.tcp_efficiency_percent.map(percent)),
        ("", "Buffer delay", way.buffer_delay_percent.map(percent)),
    ];
    page.push_str("<dl class=\"figures\">\n");
    for (class, name, value) in cards {
        if let Some(value) = value {
            page.push_str(&format!(
                "<div class=\"{class}\"><dt>{name}</dt><dd>{}</dd></div>\n",
                escaped(&value)
            ));
        }
    }
    page.push_str("</dl>\n");
    page.push_str(&drawing::svg(record, way));
    page.push_str("<dl class=\"reasons\">\n");
    for note in &way.path.notes {
        page.push_str(&format!("<dt>The path</dt><dd>{}</dd>\n", escaped(&note.to_string())));
    }
    let mut put = |name: &str, text: &str| {
        page.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(text)));
    };
    if let Some(chosen) = chosen {
        for step in &chosen.steps {
            put("Where", &format!("On {}: {}", step.host, step.action));
            put("By", &step.set_by.to_string());
        }
        put("Gain", &chosen.brings.to_string());
        put("Cost", &chosen.costs.to_string());
    }
    if let Some(not_granted) = &way.not_granted {
        put("Not granted", &not_granted.to_string());
    }
    page.push_str("</dl>\n");
}
