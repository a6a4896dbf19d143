//! A chart that can be zoomed: curves against the time of a connection.
//!
//! Curves are stretched to the room that there is, and words are not: these are HTML around
//! them, as large as all others. Without scripts it shows the whole.

use windlass_base::Named;
use windlass_output::html::escaped;
use windlass_output::html::scale::Axis;

use super::path::{GRID, Ground};

/// How the values of a chart read, by the name that the script has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub(super) enum Unit {
    Bytes,
    Rate,
    Time,
}

/// A curve.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    /// What the style sheet calls it.
    pub(super) class: &'static str,
    pub(super) path: String,
    /// Whether it has a value at each time: a level, and no strokes.
    pub(super) is_level: bool,
    /// Whether it is a bound that may be far beyond what it bounds: the chart makes room for it
    /// only where that is near.
    pub(super) is_bound: bool,
}

/// A value that is drawn from side to side.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    pub(super) value: f64,
    /// What the style sheet calls it.
    pub(super) class: &'static str,
    pub(super) name: String,
}

/// A chart.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// What tells it from the page's others.
    pub(super) id: String,
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    pub(super) ground: Ground,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// True if the bottom moves with what is in view; else it stays where it is.
    pub(super) floats: bool,
    pub(super) lines: Vec<Line>,
    pub(super) guides: Vec<Guide>,
    /// What stands above the curves: the band of limits.
    pub(super) above: String,
    pub(super) caption: String,
}

impl Chart {
    /// The chart as a figure.
    pub(super) fn html(&self) -> String {
        let Self { id, title, unit, ground, above, .. } = self;
        let label =
            format!("{title}. Plus and minus zoom, arrow keys move, 0 shows all. {}", self.caption);
        format!(
            "<figure class=\"chart\" id=\"{id}\" data-unit=\"{}\" data-top=\"{}\" \
             data-low=\"{}\" data-floats=\"{}\">\n<h4>{title}</h4>\n{}\
             <div class=\"frame\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n{above}\
             <div class=\"ys\">{}</div>\n{}<div class=\"xs\">{}</div>\n</div>\n\
             <p class=\"reading\" hidden></p>\n<figcaption>{}</figcaption>\n</figure>\n",
            unit.id(),
            ground.top,
            ground.low,
            self.floats,
            self.key(),
            escaped(&label),
            self.values(),
            self.area(),
            times(&self.x),
            escaped(&self.caption)
        )
    }

    /// The names of the curves, each behind a piece of it.
    fn key(&self) -> String {
        let swatch = |class: &str| {
            format!(
                "<svg class=\"swatch\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">\
                 <path class=\"{class}\" d=\"M2 6H22\"/></svg>"
            )
        };
        let mut key = String::from("<ul class=\"key\">");
        for line in &self.lines {
            key.push_str(&format!("<li>{}{}</li>", swatch(line.class), escaped(line.name)));
        }
        for guide in &self.guides {
            key.push_str(&format!("<li>{}{}</li>", swatch(guide.class), escaped(&guide.name)));
        }
        key.push_str("</ul>\n");
        key
    }

    /// The labels beside.
    fn values(&self) -> String {
        let label = |(value, name): &(f64, String)| {
            let up = percent(self.y.place(*value));
            format!("<span style=\"bottom:{up}\">{}</span>", escaped(name))
        };
        self.y.ticks.iter().map(label).collect()
    }

    /// The curves.
    fn area(&self) -> String {
        let mut grid = String::new();
        for (value, _) in &self.y.ticks {
            grid.push_str(&format!("M0 {}h{GRID}", self.ground.down(*value)));
        }
        for (value, _) in &self.x.ticks {
            let x = (self.x.place(*value) * GRID as f64).round();
            grid.push_str(&format!("M{x} 0v{GRID}"));
        }
        let mut svg = format!(
            "<svg class=\"area\" viewBox=\"0 0 {GRID} {GRID}\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\"><path class=\"grid\" d=\"{grid}\"/>\n"
        );
        for guide in &self.guides {
            let down = self.ground.down(guide.value);
            svg.push_str(&format!("<path class=\"{}\" d=\"M0 {down}h{GRID}\"/>\n", guide.class));
        }
        for line in self.lines.iter().filter(|line| !line.path.is_empty()) {
            svg.push_str(&format!(
                "<path class=\"{}\" data-name=\"{}\" data-level=\"{}\" data-bound=\"{}\" \
                 d=\"{}\"/>\n",
                line.class,
                escaped(line.name),
                line.is_level,
                line.is_bound,
                line.path
            ));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The labels below.
fn times(axis: &Axis) -> String {
    let label = |(value, name): &(f64, String)| {
        let place = axis.place(*value);
        // What would run over an edge begins or ends there.
        let class = match place {
            place if place < 0.03 => " class=\"begin\"",
            place if place > 0.94 => " class=\"end\"",
            _ => "",
        };
        format!("<span{class} style=\"left:{}\">{}</span>", percent(place), escaped(name))
    };
    axis.ticks.iter().map(label).collect()
}

/// A share as styles have it.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", windlass_base::figures::fixed(share * 100.0, 3))
}
