//! A plot as SVG, drawn by hand.

use super::escaped;
use super::scale::Axis;

/// How wide a plot is drawn. The page shows the one that its own width leaves letters of a size
/// that can be read.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// What the style sheet calls it.
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
/// The height of a band.
const BAND: f64 = 14.0;
/// The height of a line of words above it.
const LINE: f64 = 20.0;
/// What a letter takes, about: words above the plot keep within it by that.
const LETTER: f64 = 7.0;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// Points that were measured, and a line through them.
    Measured,
    /// A line through points that were measured, where many lie over each other.
    Through,
    /// A law: a dashed line.
    Law,
}

/// A series.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// One of the page's colours, from 0.
    pub color: usize,
    /// How it is drawn.
    pub drawn: Drawn,
    /// Its points, from left to right.
    pub points: Vec<Dot>,
}

/// A point of it.
#[derive(Clone, Debug)]
pub struct Dot {
    /// Its value along the foot.
    pub x: f64,
    /// Its value along the side.
    pub y: f64,
    /// What it says under the pointer.
    pub says: String,
    /// Whether it is the one that is recommended.
    pub chosen: bool,
}

/// A line across, with its name.
#[derive(Clone, Debug)]
pub enum Guide {
    /// From the foot to the top.
    Upright(f64, String),
    /// From side to side.
    Level(f64, String),
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What tells its parts from those of the page's other plots.
    pub id: &'static str,
    /// What stands above it.
    pub title: String,
    /// The same in a sentence, for those who do not see it.
    pub says: String,
    /// The axis at the foot.
    pub x: Axis,
    /// The axis at the side.
    pub y: Axis,
    /// What is drawn in it.
    pub series: Vec<Series>,
    /// Lines across it.
    pub guides: Vec<Guide>,
    /// What held along the way, at the foot.
    pub band: Vec<Stretch>,
    /// The height between the axes, as [`Plot::HIGH`].
    pub height: f64,
}

/// A stretch of a band.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Where it begins along the foot.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What the style sheet calls its kind.
    pub class: &'static str,
    /// What it says under the pointer.
    pub says: String,
}

impl Plot {
    /// The plot as `svg` elements, of which the page shows one.
    pub fn svg(&self) -> String {
        FRAMES.iter().map(|frame| self.drawn(frame, "").0).collect()
    }

    /// The broad one alone, from a place of a picture, and how high it is.
    pub fn at(&self, x: f64, y: f64) -> (String, f64) {
        let [broad, _] = &FRAMES;
        self.drawn(broad, &format!(" x=\"{x}\" y=\"{y}\""))
    }

    /// The height of a plot that stands for itself.
    pub const HIGH: f64 = 320.0;

    /// The height of one of several below each other.
    pub const LOW: f64 = 150.0;

    /// How wide that is.
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

    /// The names of the upright lines, in rows above the plot: two in a row, one
    /// to the left of its line and one to the right, where they find room.
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

/// How far a name stands from its line.
const BESIDE: f64 = 6.0;

/// The name of an upright line.
struct Note<'a> {
    /// Where the line is.
    x: f64,
    /// Where the name begins, or ends.
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

    /// One that has its row for itself.
    fn alone(frame: &Frame, (x, name): (f64, &'a str)) -> Self {
        let wide = width(name);
        if x + wide < frame.width {
            Self::behind((x, name))
        } else if x - wide > 0.0 {
            Self::before((x, name))
        } else {
            // Beside neither side of its line there is room: it stands across it.
            Self { x, text: (frame.width - wide).clamp(0.0, x), name, anchor: "start" }
        }
    }
}

impl Frame {
    /// Where a value lies across the page.
    fn across(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.place(value) * (self.width - self.left - RIGHT)
    }

    fn end(&self) -> f64 {
        self.width - RIGHT
    }
}

/// What words take across, about.
fn width(words: &str) -> f64 {
    words.chars().count() as f64 * LETTER + 8.0
}

/// What is drawn in.
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
            // What would run into the one before is left out.
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

    /// A line from the foot to beside its name above the plot.
    fn upright(&self, svg: &mut String, note: &Note<'_>, y: f64) {
        let Note { x, text, name, anchor } = *note;
        let (foot, head) = (self.top + self.height, y - 10.0);
        line(svg, "guide", (x, head), (x, foot));
        words(svg, "note", (text, y), anchor, name);
    }

    /// A line from side to side, with its name at the far end.
    fn level(&self, svg: &mut String, at: f64, name: &str) {
        let (y, left, end) = (self.down(at), self.frame.left, self.frame.end());
        line(svg, "guide", (left, y), (end, y));
        words(svg, "note", (end - 4.0, y + 15.0), "end", name);
    }

    /// Stretches of what held, at the foot.
    fn band(&self, svg: &mut String, band: &[Stretch]) {
        for Stretch { from, to, class, says } in band {
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
            Drawn::Measured | Drawn::Through => "line",
            Drawn::Law => "line law",
        };
        svg.push_str(&format!(
            "<polyline class=\"{class} c{color}\" points=\"{}\"/>\n",
            path.join(" ")
        ));
        if *drawn != Drawn::Measured {
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

/// What the line of a legend takes across, with the gap behind it.
const SWATCH: f64 = 31.0;
/// What stands between two names of a legend.
const GAP: f64 = 20.0;

/// The places of the names of the series: across, and in which row.
fn legend(frame: &Frame, all: &[Series]) -> Vec<(f64, usize)> {
    // Where there is little room, names begin at the edge.
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

/// The name of a series behind a piece of its line.
fn key(svg: &mut String, series: &Series, x: f64, y: f64) {
    let law = if series.drawn == Drawn::Law { " law" } else { "" };
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
