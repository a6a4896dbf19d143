//! A zoomable chart: curves against the time of a connection.
//!
//! Curves are stretched to the available space. Labels are not: they are HTML around the curves, in
//! the size of all other text. Without scripts the chart shows the total time.

use windlass_base::Named;
use windlass_output::html::escaped;
use windlass_output::html::scale::Axis;

use super::path::{GRID, Ground};

/// Unit of a chart's values, by its name in the script.
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
    /// Class in the style sheet.
    pub(super) class: &'static str,
    pub(super) path: String,
    /// True for a level with a value at each time; false for strokes.
    pub(super) is_level: bool,
    /// True for a bound, which may lie far above the data: the chart shows only a near bound.
    pub(super) is_bound: bool,
}

/// A value that is drawn from side to side.
#[derive(Clone, Debug)]
pub(super) struct Guide {
    pub(super) value: f64,
    /// Class in the style sheet.
    pub(super) class: &'static str,
    pub(super) name: String,
}

/// A chart.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// Unique identifier on the page.
    pub(super) id: String,
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    pub(super) ground: Ground,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// True if the bottom follows the visible values; false for a fixed bottom.
    pub(super) floats: bool,
    pub(super) lines: Vec<Line>,
    pub(super) guides: Vec<Guide>,
    /// The band of limits, above the curves.
    pub(super) above: String,
    pub(super) caption: String,
}

impl Chart {
    /// Returns the chart as a figure.
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

    /// Returns the names of the curves, each after a sample of the curve.
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

    /// Returns the labels beside the chart.
    fn values(&self) -> String {
        let label = |(value, name): &(f64, String)| {
            let up = percent(self.y.place(*value));
            format!("<span style=\"bottom:{up}\">{}</span>", escaped(name))
        };
        self.y.ticks.iter().map(label).collect()
    }

    /// Draws the curves.
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

/// Returns the labels below the chart.
fn times(axis: &Axis) -> String {
    let label = |(value, name): &(f64, String)| {
        let place = axis.place(*value);
        // A label that would cross an edge begins or ends at that edge.
        let class = match place {
            place if place < 0.03 => " class=\"begin\"",
            place if place > 0.94 => " class=\"end\"",
            _ => "",
        };
        format!("<span{class} style=\"left:{}\">{}</span>", percent(place), escaped(name))
    };
    axis.ticks.iter().map(label).collect()
}

/// Formats a share as a CSS percentage.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", windlass_base::figures::fixed(share * 100.0, 3))
}
