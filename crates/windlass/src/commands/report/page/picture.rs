//! Charts as a separate picture: SVG that every renderer draws alike. Lengths are pixels and
//! colours are literal: renderers for print lack variables, and strokes that keep their width on a
//! stretched grid.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;
use windlass_base::Limit;
use windlass_output::html::plot::Plot;
use windlass_output::html::{BAND_COLOURS, BAND_STYLE, COLOURS, Figure, Key, PLOT_STYLE, escaped};
use windlass_output::{figures, mark, verdict};
use windlass_trace::report::ConnectionReport;
use windlass_trace::time_sequence::Series;

use super::chart::Chart;
use super::charts::Charts;
use super::path::{self, GRID};
use crate::commands::report::gather::ChartData;
use crate::commands::report::{CaptureContents, ChartName};

/// Width of a picture.
const WIDTH: f64 = 960.0;
/// Left edge and width of the curves.
const LEFT: f64 = 88.0;
const BREADTH: f64 = WIDTH - LEFT - 24.0;
/// Height of a chart's curves.
const HEIGHT: f64 = 230.0;
/// Height of the band of limits.
const BAND: f64 = 22.0;
/// Distance between two lines of text.
const LINE: f64 = 20.0;
/// The breadth of a letter: a little more than most have, as renderers have other letters.
const LETTER: f64 = 7.4;
/// Minimum share of the band for a letter.
const LEAST_LETTER: f64 = 0.02;

/// Light and dark colours by their names in a style sheet, as in pages.
const OWN_COLOURS: &str = include_str!("colours.css");
const STYLE: &str = include_str!("picture.css");

/// A picture in the making.
#[derive(Debug, Default)]
pub(in crate::commands::report) struct Picture {
    body: String,
    /// Position of the next line of text.
    y: f64,
    /// Number of areas; each clips its curves.
    areas: usize,
    /// True if the picture has plots, which have their own style.
    has_plots: bool,
}

impl Picture {
    /// Draws the largest of a capture's connections.
    pub(in crate::commands::report) fn capture(
        &mut self,
        reported: &CaptureContents,
        charts: &[ChartName],
    ) {
        for (report, gathered) in reported.reports.iter().zip(&reported.gathered).take(1) {
            self.connection(report, gathered, charts);
        }
    }

    /// Draws the figures of a run, under a line that names the run.
    pub(in crate::commands::report) fn run(&mut self, title: &str, figures: &[Figure]) {
        self.y += 12.0;
        self.words(title, "strong");
        for Figure { plot, caption, keys } in figures {
            self.has_plots = true;
            self.y += 16.0;
            let (svg, height) = plot.at((WIDTH - Plot::WIDTH) / 2.0, self.y);
            self.body.push_str(&svg);
            self.y += height;
            self.words(caption, "axis");
            if !keys.is_empty() {
                let width = |key: &Key| 28.0 + key.means.width() as f64 * LETTER;
                self.row(keys, width, |own, Key { class, means }, x, y| {
                    let (top, after, means) = (y - 12.0, x + 28.0, escaped(means));
                    own.put(format_args!(
                        "<rect class=\"band {class}\" x=\"{x}\" y=\"{top}\" width=\"22\" \
                         height=\"14\"/><text x=\"{after}\" y=\"{y}\">{means}</text>"
                    ));
                });
            }
        }
    }

    /// Returns the complete picture, under a title.
    pub(in crate::commands::report) fn finish(self, title: &str) -> String {
        let height = self.y + 8.0;
        let colours = format!("{COLOURS}{BAND_COLOURS}{OWN_COLOURS}");
        let plots = if self.has_plots { [PLOT_STYLE, BAND_STYLE] } else { [""; 2] };
        let style = format!("{STYLE}{}", plots.concat());
        let (day, night) = colours_of(&colours);
        let (by_day, by_night) = (coloured(&style, &day), coloured(&style, &night));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
             <style>\n{by_day}@media (prefers-color-scheme: dark) {{\n{by_night}}}\n</style>\n\
             <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }

    fn connection(
        &mut self,
        report: &ConnectionReport,
        gathered: &ChartData,
        charts: &[ChartName],
    ) {
        self.y += 12.0;
        let ends = format!("{} → {}", report.sender, report.receiver);
        self.words(&ends, "strong");
        self.words(&verdict::headline(&report.verdict).plain(), "words");
        self.limits(report);
        let Some(series) = &gathered.series else { return };
        let drawn = Charts { id: "", report, series, lead: gathered.lead() };
        for chart in drawn.all() {
            let name = ChartName::of(chart.id.trim_start_matches('-'));
            if charts.is_empty() || name.is_some_and(|name| charts.contains(&name)) {
                self.chart(&chart, report, gathered, series);
            }
        }
    }

    fn put(&mut self, svg: std::fmt::Arguments<'_>) {
        // A string takes all.
        let _ = self.body.write_fmt(svg);
        self.body.push('\n');
    }

    /// Draws a text in as many lines as needed.
    fn words(&mut self, text: &str, class: &str) {
        let fits = |letters: usize| letters as f64 * LETTER <= WIDTH - 40.0;
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && !fits(line.width() + 1 + word.width()) {
                self.text_line(&std::mem::take(&mut line), class);
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.text_line(&line, class);
    }

    fn text_line(&mut self, line: &str, class: &str) {
        self.y += LINE;
        let y = self.y;
        self.put(format_args!(
            "<text class=\"{class}\" x=\"20\" y=\"{y}\">{}</text>",
            escaped(line)
        ));
    }

    /// Draws items in a row, in as many lines as needed: each item has its width and draws itself
    /// at a position.
    fn row<T>(
        &mut self,
        things: &[T],
        width: impl Fn(&T) -> f64,
        draw: impl Fn(&mut Self, &T, f64, f64),
    ) {
        let mut x = 20.0;
        self.y += LINE + 4.0;
        for thing in things {
            let own = width(thing);
            if x > 20.0 && x + own > WIDTH - 20.0 {
                x = 20.0;
                self.y += LINE;
            }
            let y = self.y;
            draw(self, thing, x, y);
            x += own + 18.0;
        }
    }

    /// Writes the key of the band, with the share of each limit.
    fn limits(&mut self, report: &ConnectionReport) {
        let shares = super::band::shares(report);
        let text = |(limit, share): &(Limit, f64)| {
            format!("{} {}", mark(*limit).name, figures::percent(*share).plain())
        };
        self.row(
            &shares,
            |one| 24.0 + text(one).width() as f64 * LETTER,
            |own, one, x, y| {
                own.limit(one.0, (x, 18.0), (y - 14.0, 18.0), true);
                own.put(format_args!(
                    "<text x=\"{}\" y=\"{y}\">{}</text>",
                    x + 24.0,
                    escaped(&text(one))
                ));
            },
        );
    }

    /// Draws a box in the colour of a limit, from its position and size, across and down.
    fn limit(&mut self, limit: Limit, across: (f64, f64), down: (f64, f64), has_letter: bool) {
        let ((x, width), (y, height)) = (across, down);
        let (x, width) = (pixels(x), pixels(width));
        self.put(format_args!(
            "<rect class=\"limit {}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>",
            limit.id()
        ));
        if has_letter {
            let middle = pixels(across.0 + across.1 / 2.0);
            self.put(format_args!(
                "<text class=\"on\" x=\"{middle}\" y=\"{}\">{}</text>",
                y + height - 5.0,
                mark(limit).letter
            ));
        }
    }

    fn chart(
        &mut self,
        chart: &Chart,
        report: &ConnectionReport,
        gathered: &ChartData,
        series: &Series,
    ) {
        self.y += 16.0;
        self.words(chart.title, "strong");
        let named = chart.lines.iter().map(|line| (line.class, line.name.to_owned()));
        let guides = chart.guides.iter().map(|guide| (guide.class, guide.name.clone()));
        let key: Vec<(&str, String)> = named.chain(guides).collect();
        self.row(
            &key,
            |(_, name)| 30.0 + name.width() as f64 * LETTER,
            |own, (class, name), x, y| {
                let line = y - 4.0;
                own.put(format_args!("<path class=\"{class}\" d=\"M{x} {line}h22\"/>"));
                own.put(format_args!(
                    "<text x=\"{}\" y=\"{y}\">{}</text>",
                    x + 30.0,
                    escaped(name)
                ));
            },
        );
        self.y += 16.0;
        if let Some(lead) = gathered.lead().filter(|_| !chart.above.is_empty()) {
            let span = series.lived().map_or(0.0, |(_, span)| span.as_seconds()).max(1e-9);
            let place = |at: windlass_base::Span| (lead + at).as_seconds() / span;
            for part in &report.timeline {
                let (from, to) = (place(part.start).min(1.0), place(part.end).min(1.0));
                let has_letter = to - from >= LEAST_LETTER;
                let across = (LEFT + from * BREADTH, (to - from) * BREADTH);
                self.limit(part.cause.limit(), across, (self.y, BAND), has_letter);
            }
            self.y += BAND + 4.0;
        }
        self.area(chart);
        self.y += HEIGHT + LINE;
    }

    /// Draws the curves and the labels of their axes.
    fn area(&mut self, chart: &Chart) {
        let top = self.y;
        let (right, bottom) = (LEFT + BREADTH, top + HEIGHT);
        let to_picture = AreaScale { left: LEFT, top };
        for (value, name) in &chart.y.ticks {
            let y = pixels(bottom - chart.y.place(*value) * HEIGHT);
            self.put(format_args!("<path class=\"grid\" d=\"M{LEFT} {y}H{right}\"/>"));
            let beside = LEFT - 8.0;
            let middle = y + 4.0;
            self.put(format_args!(
                "<text class=\"axis\" text-anchor=\"end\" x=\"{beside}\" y=\"{middle}\">{}</text>",
                escaped(name)
            ));
        }
        for (value, name) in &chart.x.ticks {
            let place = chart.x.place(*value);
            let x = pixels(LEFT + place * BREADTH);
            self.put(format_args!("<path class=\"grid\" d=\"M{x} {top}V{bottom}\"/>"));
            let anchor = match place {
                place if place < 0.03 => "start",
                place if place > 0.94 => "end",
                _ => "middle",
            };
            let below = bottom + 16.0;
            self.put(format_args!(
                "<text class=\"axis\" text-anchor=\"{anchor}\" x=\"{x}\" y=\"{below}\">{}</text>",
                escaped(name)
            ));
        }
        self.areas += 1;
        let clip = format!("area{}", self.areas);
        self.put(format_args!(
            "<clipPath id=\"{clip}\"><rect x=\"{LEFT}\" y=\"{}\" width=\"{BREADTH}\" \
             height=\"{}\"/></clipPath>\n<g clip-path=\"url(#{clip})\">",
            top - 2.0,
            HEIGHT + 4.0
        ));
        for guide in &chart.guides {
            let y = to_picture.down(chart.ground.down(guide.value) as f64);
            self.put(format_args!("<path class=\"{}\" d=\"M{LEFT} {y}H{right}\"/>", guide.class));
        }
        for line in chart.lines.iter().filter(|line| !line.path.is_empty()) {
            let path = to_picture.path(&line.path);
            self.put(format_args!("<path class=\"{}\" d=\"{path}\"/>", line.class));
        }
        self.put(format_args!("</g>"));
    }
}

/// From the grid to the pixels of an area.
struct AreaScale {
    left: f64,
    top: f64,
}

impl AreaScale {
    fn across(&self, x: f64) -> f64 {
        pixels(self.left + x / GRID as f64 * BREADTH)
    }

    fn down(&self, y: f64) -> f64 {
        // Points far above the area are cut off at one height above it.
        pixels(self.top + (y / GRID as f64 * HEIGHT).max(-HEIGHT))
    }

    /// Converts a path of the grid to pixels; points on the same pixel are drawn once.
    fn path(&self, path: &str) -> String {
        let mut out = String::with_capacity(path.len());
        let mut drawn = None;
        for step in path::steps(path) {
            let to = (self.across(step.x as f64), self.down(step.y as f64));
            if step.draws {
                // A stroke of no length is a dot.
                let dot = step.is_dot;
                match drawn {
                    Some((x, y)) if (x, y) == to && !dot => continue,
                    Some((x, _)) if x == to.0 => _ = write!(out, "V{}", to.1),
                    Some((_, y)) if y == to.1 => _ = write!(out, "H{}", to.0),
                    _ => _ = write!(out, "L{} {}", to.0, to.1),
                }
            } else {
                let _ = write!(out, "M{} {}", to.0, to.1);
            }
            drawn = Some(to);
        }
        out
    }
}

/// Rounds a length to hundredths of a pixel, which are finer than visible.
fn pixels(length: f64) -> f64 {
    (length * 100.0).round() / 100.0
}

type Colours<'a> = Vec<(&'a str, &'a str)>;

/// Returns the colours of a style sheet by name: the light ones, and the dark ones that differ.
fn colours_of(sheet: &str) -> (Colours<'_>, Colours<'_>) {
    let (mut day, mut night): (Colours<'_>, Colours<'_>) = (Vec::new(), Vec::new());
    let mut is_night = false;
    for line in sheet.lines() {
        if line.starts_with("@media") {
            is_night = true;
        } else if line.starts_with('}') {
            is_night = false;
        }
        for part in line.split(';') {
            let Some((name, value)) = part.split_once(':') else { continue };
            let name = name.trim();
            if name.starts_with("--") {
                (if is_night { &mut night } else { &mut day }).push((name, value.trim()));
            }
        }
    }
    (day, night)
}

/// Returns a style sheet with literal colours.
fn coloured(sheet: &str, colours: &Colours<'_>) -> String {
    let mut out = sheet.to_owned();
    for (name, value) in colours {
        out = out.replace(&format!("var({name})"), value);
    }
    out
}
