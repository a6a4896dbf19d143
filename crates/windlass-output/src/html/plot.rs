//! Plot as SVG, without a library.

use super::escaped;
use super::scale::Axis;

/// Width of a plot. The page shows the variant whose letters are readable at the page's width.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Class in the style sheet.
    name: &'static str,
    width: f64,
    left: f64,
}

const FRAMES: [Frame; 2] = [
    Frame { name: "broad", width: 760.0, left: 108.0 },
    Frame { name: "narrow", width: 340.0, left: 104.0 },
];
const RIGHT: f64 = 28.0;
const BOTTOM: f64 = 58.0;
/// Height of a band.
const BAND: f64 = 14.0;
/// Height of a line of text above the band.
const LINE: f64 = 20.0;
/// Approximate width of a letter, to keep the text above the plot inside it.
const LETTER: f64 = 7.0;

/// Style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesStyle {
    /// Measured points, and a line through them.
    Measured,
    /// Line through measured points, if there are too many to show each.
    Through,
    /// Law, as a dashed line.
    Law,
}

/// Series of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Index of one of the page's colours, from 0.
    pub color: usize,
    /// Style of the series.
    pub drawn: SeriesStyle,
    /// Points of the series, from left to right.
    pub points: Vec<Dot>,
}

/// Point of a series.
#[derive(Clone, Debug)]
pub struct Dot {
    /// Value along the x axis.
    pub x: f64,
    /// Value along the y axis.
    pub y: f64,
    /// Tooltip of the point.
    pub says: String,
    /// True for the recommended point.
    pub chosen: bool,
}

/// Named line across the plot.
#[derive(Clone, Debug)]
pub enum Guide {
    /// Vertical line at a value of the x axis.
    Upright(f64, String),
    /// Horizontal line at a value of the y axis.
    Level(f64, String),
}

/// Plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Prefix that distinguishes its parts from those of other plots on the page.
    pub id: &'static str,
    /// Title above the plot.
    pub title: String,
    /// Description of the plot, for readers who do not see it.
    pub says: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series of the plot.
    pub series: Vec<Series>,
    /// Lines across the plot.
    pub guides: Vec<Guide>,
    /// Band of limits at the foot.
    pub band: Vec<BandSegment>,
    /// Height between the axes, for instance [`Plot::HIGH`].
    pub height: f64,
}

/// Segment of a band.
#[derive(Clone, Debug)]
pub struct BandSegment {
    /// Start of the segment along the x axis.
    pub from: f64,
    /// End of the segment along the x axis.
    pub to: f64,
    /// Class in the style sheet.
    pub class: &'static str,
    /// Tooltip of the segment.
    pub says: String,
}

impl Plot {
    /// Returns the plot as `svg` elements, of which the page shows one.
    pub fn svg(&self) -> String {
        FRAMES.iter().map(|frame| self.drawn(frame, "").0).collect()
    }

    /// Returns the broad variant alone, at a position in a picture, and its height.
    pub fn at(&self, x: f64, y: f64) -> (String, f64) {
        let [broad, _] = &FRAMES;
        self.drawn(broad, &format!(" x=\"{x}\" y=\"{y}\""))
    }

    /// Height of a single plot.
    pub const HIGH: f64 = 320.0;

    /// Height of one of several plots below each other.
    pub const LOW: f64 = 150.0;

    /// Width of the widest plot.
    pub const WIDTH: f64 = FRAMES[0].width;

    fn drawn(&self, frame: &Frame, place: &str) -> (String, f64) {
        let rows = self.rows(frame);
        let legend = legend(frame, &self.series);
        let above = LINE * (1.0 + legend.last().map_or(0.0, |(_, row)| *row as f64));
        let top = above + LINE * (0.6 + rows.len() as f64);
        let height = top + self.height + BOTTOM;
        let Frame { name, width, .. } = frame;
        let id = format!("{}-{name}", self.id);
        let size = if place.is_empty() {
            String::new()
        } else {
            format!("{place} width=\"{width}\" height=\"{height}\"")
        };
        let mut svg = format!(
            "<svg class=\"plot {name}\"{size} viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-says\">\n<title id=\"{id}-title\">{}</title>\n\
             <desc id=\"{id}-says\">{}</desc>\n",
            escaped(&self.title),
            escaped(&self.says)
        );
        let area = Area { frame, top, height: self.height, x: &self.x, y: &self.y };
        area.axes(&mut svg);
        for (row, guides) in rows.iter().enumerate() {
            for note in guides {
                area.upright(&mut svg, note, above + LINE * (1.1 + row as f64));
            }
        }
        area.band(&mut svg, &self.band);
        for series in &self.series {
            area.series(&mut svg, series);
        }
        for guide in &self.guides {
            if let Guide::Level(at, name) = guide {
                area.level(&mut svg, *at, name);
            }
        }
        for (series, (x, row)) in self.series.iter().zip(legend) {
            key(&mut svg, series, x, LINE * (0.7 + row as f64));
        }
        svg.push_str("</svg>\n");
        (svg, height)
    }

    /// Returns the names of the vertical lines, in rows above the plot. A row has two names if
    /// there is room: one to the left of its line, and one to the right.
    fn rows(&self, frame: &Frame) -> Vec<Vec<Note<'_>>> {
        let upright: Vec<(f64, &str)> = self
            .guides
            .iter()
            .filter_map(|guide| match guide {
                Guide::Upright(at, name) if self.x.holds(*at) => {
                    Some((frame.across(&self.x, *at), name.as_str()))
                }
                _ => None,
            })
            .collect();
        let mut rows = Vec::new();
        for pair in upright.chunks(2) {
            let mut pair = pair.to_vec();
            pair.sort_by(|one, other| one.0.total_cmp(&other.0));
            match pair[..] {
                [left, right]
                    if left.0 - width(left.1) > 0.0 && right.0 + width(right.1) < frame.width =>
                {
                    rows.push(vec![Note::before(left), Note::behind(right)]);
                }
                _ => rows.extend(pair.into_iter().map(|one| vec![Note::alone(frame, one)])),
            }
        }
        rows
    }
}

/// Distance between a name and its line.
const BESIDE: f64 = 6.0;

/// Name of a vertical line.
struct Note<'a> {
    /// Position of the line.
    x: f64,
    /// Position of the text's start, or of its end.
    text: f64,
    name: &'a str,
    anchor: &'static str,
}

impl<'a> Note<'a> {
    fn before((x, name): (f64, &'a str)) -> Self {
        Self { x, text: x - BESIDE, name, anchor: "end" }
    }

    fn behind((x, name): (f64, &'a str)) -> Self {
        Self { x, text: x + BESIDE, name, anchor: "start" }
    }

    /// Returns a name that has its row to itself.
    fn alone(frame: &Frame, (x, name): (f64, &'a str)) -> Self {
        let wide = width(name);
        if x + wide < frame.width {
            Self::behind((x, name))
        } else if x - wide > 0.0 {
            Self::before((x, name))
        } else {
            // Neither side of the line has room, so the name crosses the line.
            Self { x, text: (frame.width - wide).clamp(0.0, x), name, anchor: "start" }
        }
    }
}

impl Frame {
    /// Returns the horizontal position of a value.
    fn across(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.place(value) * (self.width - self.left - RIGHT)
    }

    fn end(&self) -> f64 {
        self.width - RIGHT
    }
}

/// Returns the approximate width of a text.
fn width(words: &str) -> f64 {
    words.chars().count() as f64 * LETTER + 8.0
}

/// Area between the axes.
struct Area<'a> {
    frame: &'a Frame,
    top: f64,
    height: f64,
    x: &'a Axis,
    y: &'a Axis,
}

impl Area<'_> {
    fn across(&self, value: f64) -> f64 {
        self.frame.across(self.x, value)
    }

    fn down(&self, value: f64) -> f64 {
        self.top + (1.0 - self.y.place(value)) * self.height
    }

    fn axes(&self, svg: &mut String) {
        let (top, foot, left) = (self.top, self.top + self.height, self.frame.left);
        let end = self.frame.end();
        for value in &self.x.minor {
            let x = self.across(*value);
            line(svg, "fine", (x, top), (x, foot));
        }
        for value in &self.y.minor {
            let y = self.down(*value);
            line(svg, "fine", (left, y), (end, y));
        }
        let mut free = 0.0;
        for (value, label) in &self.x.ticks {
            let x = self.across(*value);
            line(svg, "grid", (x, top), (x, foot));
            // Leave out a label that would overlap the previous one.
            let half = width(label) / 2.0;
            if x - half >= free {
                words(svg, "tick", (x, foot + 20.0), "middle", label);
                free = x + half;
            }
        }
        for (value, label) in &self.y.ticks {
            let y = self.down(*value);
            line(svg, "grid", (left, y), (end, y));
            words(svg, "tick", (left - 10.0, y + 4.0), "end", label);
        }
        line(svg, "axis", (left, foot), (end, foot));
        line(svg, "axis", (left, top), (left, foot));
        words(svg, "name", (f64::midpoint(left, end), foot + 44.0), "middle", &self.x.label);
        let middle = f64::midpoint(top, foot);
        svg.push_str(&format!(
            "<text class=\"name\" transform=\"translate(14 {middle:.1}) rotate(-90)\" \
                 text-anchor=\"middle\">{}</text>\n",
            escaped(&self.y.label)
        ));
    }

    /// Draws a line from the x axis up to its name above the plot.
    fn upright(&self, svg: &mut String, note: &Note<'_>, y: f64) {
        let Note { x, text, name, anchor } = *note;
        let (foot, head) = (self.top + self.height, y - 10.0);
        line(svg, "guide", (x, head), (x, foot));
        words(svg, "note", (text, y), anchor, name);
    }

    /// Draws a line from side to side, with its name at the far end.
    fn level(&self, svg: &mut String, at: f64, name: &str) {
        let (y, left, end) = (self.down(at), self.frame.left, self.frame.end());
        line(svg, "guide", (left, y), (end, y));
        words(svg, "note", (end - 4.0, y + 15.0), "end", name);
    }

    /// Draws the band of limits at the x axis.
    fn band(&self, svg: &mut String, band: &[BandSegment]) {
        for BandSegment { from, to, class, says } in band {
            let (left, right) = (self.across(*from), self.across(*to));
            let (wide, y) = (right - left, self.top + self.height - BAND);
            svg.push_str(&format!(
                "<rect class=\"band {class}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" \
                     height=\"{BAND}\"><title>{}</title></rect>\n",
                escaped(says)
            ));
        }
    }

    fn series(&self, svg: &mut String, series: &Series) {
        let Series { color, drawn, points, .. } = series;
        let places: Vec<(f64, f64)> =
            points.iter().map(|dot| (self.across(dot.x), self.down(dot.y))).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let class = match drawn {
            SeriesStyle::Measured | SeriesStyle::Through => "line",
            SeriesStyle::Law => "line law",
        };
        svg.push_str(&format!(
            "<polyline class=\"{class} c{color}\" points=\"{}\"/>\n",
            path.join(" ")
        ));
        if *drawn != SeriesStyle::Measured {
            return;
        }
        for (dot, (x, y)) in points.iter().zip(places) {
            if dot.chosen {
                svg.push_str(&format!(
                    "<circle class=\"ring c{color}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\"/>\n"
                ));
            }
            svg.push_str(&format!(
                "<circle class=\"dot c{color}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}\
                     </title></circle>\n",
                escaped(&dot.says)
            ));
        }
    }
}

/// Width of a line sample in the legend, with the gap after it.
const SWATCH: f64 = 31.0;
/// Gap between two names in the legend.
const GAP: f64 = 20.0;

/// Returns the position of each name in the legend: the offset, and the row.
fn legend(frame: &Frame, all: &[Series]) -> Vec<(f64, usize)> {
    // On narrow plots, names begin at the edge.
    let left = if frame.width < 400.0 { 0.0 } else { frame.left };
    let (mut x, mut row) = (left, 0);
    let mut places = Vec::new();
    for series in all {
        let wide = SWATCH + width(&series.name);
        if x > left && x + wide > frame.width {
            (x, row) = (left, row + 1);
        }
        places.push((x, row));
        x += wide + GAP;
    }
    places
}

/// Draws the name of a series after a sample of its line.
fn key(svg: &mut String, series: &Series, x: f64, y: f64) {
    let law = if series.drawn == SeriesStyle::Law { " law" } else { "" };
    let (color, end, middle) = (series.color, x + 24.0, y - 4.0);
    line(svg, &format!("line{law} c{color}"), (x, middle), (end, middle));
    words(svg, "note", (x + SWATCH, y), "start", &series.name);
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    svg.push_str(&format!(
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
    ));
}

fn words(svg: &mut String, class: &str, at: (f64, f64), anchor: &str, text: &str) {
    let (x, y) = at;
    svg.push_str(&format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
        escaped(text)
    ));
}
