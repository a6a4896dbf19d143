//! Drawing of the path: the queue, the link behind it, and the drops.

use windlass_base::Rate;
use windlass_base::figures::fixed;
use windlass_sweep::Direction;
use windlass_sweep::report::{DirectionFacts, SweepReport};

use crate::figures;
use crate::html::escaped;

/// Breadth and height of the tank that stands for the queue.
const TANK: (f64, f64) = (54.0, 72.0);
/// Height of a line of text.
const LINE: f64 = 18.0;

/// Texts of the parts, and the fill of the queue.
struct Drawing {
    id: String,
    title: String,
    from: &'static str,
    to: &'static str,
    queue: Vec<String>,
    line: Vec<String>,
    /// Fill of the queue with the recommendation, and with the kernel's defaults, as shares of its
    /// capacity.
    levels: [Option<f64>; 2],
    /// True if the queue overflows.
    drops: bool,
}

/// Returns the drawing of one direction, twice: the page shows the one that fits its width.
pub(super) fn svg(record: &SweepReport, way: &DirectionFacts) -> String {
    let Some(drawing) = Drawing::of(record, way) else { return String::new() };
    format!("<figure>\n{}{}</figure>\n", drawing.across(), drawing.down())
}

impl Drawing {
    /// Returns `None` if the path is unknown.
    fn of(record: &SweepReport, way: &DirectionFacts) -> Option<Self> {
        let capacity = Rate::from_bits_per_second(way.capacity_bits_per_second?).in_bits();
        let base = record.base_rtt_seconds?;
        let path = &way.path;
        let chosen = way.recommendation.as_ref();
        let set = chosen.and_then(|chosen| chosen.queueing_delay_seconds);
        let own = chosen.and_then(|chosen| chosen.autotuned_queueing_delay_seconds);
        let mut queue = match path.queue() {
            Some((time, bytes, full)) => {
                let holds = if full { "a queue of" } else { "a queue of at least" };
                vec![format!("{holds} {time}"), figures::size(bytes).plain()]
            }
            None if path.is_policed => vec!["a policer, no queue".to_owned()],
            None if path.drops_early => vec!["drops, with almost no queue".to_owned()],
            None => vec!["no queue seen".to_owned()],
        };
        queue.extend(set.map(|set| format!("waits {set} with this setting")));
        let differs = chosen.is_some_and(|chosen| !chosen.set.is_empty());
        queue.extend(own.filter(|_| differs).map(|own| format!("waits {own} by default")));
        let mut line = vec![capacity.to_string(), format!("{base} there and back")];
        line.extend(
            way.bdp_bytes.map(|bytes| format!("{} under way", figures::size(bytes).plain())),
        );
        line.extend(path.loss.map(|loss| format!("loses {}", figures::fine_percent(loss).plain())));
        let full = path.queue().map(|(time, ..)| time.as_seconds());
        let level =
            |wait: Option<windlass_base::Span>| Some((wait?.as_seconds() / full?).clamp(0.0, 1.0));
        let (from, to) = match way.direction {
            Direction::Up => ("here", "there"),
            Direction::Down => ("there", "here"),
        };
        Some(Self {
            id: format!("path-{}", way.direction),
            title: format!("The path, {}", way.direction),
            from,
            to,
            queue,
            line,
            levels: [level(set), level(own.filter(|_| differs))],
            drops: path.drops_early || path.queue().is_some_and(|(.., full)| full),
        })
    }

    /// Returns the drawing from left to right.
    fn across(&self) -> String {
        let words = self.queue.len().max(self.line.len()) as f64;
        let height = 28.0 + TANK.1 + 22.0 + LINE * words;
        let middle = 20.0 + TANK.1 / 2.0;
        let mut svg = self.begin("broad", 760.0, height);
        host(&mut svg, 46.0, middle, self.from);
        arrow(&mut svg, (78.0, middle), (166.0, middle));
        self.tank(&mut svg, 170.0, 20.0);
        pipe(&mut svg, (230.0, middle), (676.0, middle));
        host(&mut svg, 712.0, middle, self.to);
        let below = 20.0 + TANK.1 + 26.0;
        said(&mut svg, &self.queue, (197.0, below), "middle");
        said(&mut svg, &self.line, (440.0, below), "middle");
        svg.push_str("</svg>\n");
        svg
    }

    /// Returns the drawing from top to bottom.
    fn down(&self) -> String {
        let line = 24.0 + LINE * self.line.len() as f64;
        let tank = TANK.1.max(LINE * self.queue.len() as f64);
        let height = 60.0 + 26.0 + tank + 8.0 + line + 60.0;
        let mut svg = self.begin("narrow", 340.0, height);
        let x = 50.0;
        host(&mut svg, x, 32.0, self.from);
        arrow(&mut svg, (x, 56.0), (x, 82.0));
        self.tank(&mut svg, x - TANK.0 / 2.0, 86.0);
        let from = 86.0 + TANK.1 + 4.0;
        let to = 86.0 + tank + 8.0 + line - 4.0;
        pipe(&mut svg, (x, from), (x, to));
        host(&mut svg, x, to + 28.0, self.to);
        said(&mut svg, &self.queue, (124.0, 102.0), "start");
        said(&mut svg, &self.line, (124.0, 86.0 + tank + 28.0), "start");
        svg.push_str("</svg>\n");
        svg
    }

    fn begin(&self, name: &str, width: f64, height: f64) -> String {
        let says: Vec<&str> = self.queue.iter().chain(&self.line).map(String::as_str).collect();
        let id = format!("{}-{name}", self.id);
        format!(
            "<svg class=\"plot drawing {name}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-says\">\n<title id=\"{id}-title\">{}</title>\n\
             <desc id=\"{id}-says\">{}</desc>\n",
            escaped(&self.title),
            escaped(&says.join(", "))
        )
    }

    /// Draws the queue, filled as far as packets wait with the recommendation. A dashed line marks
    /// the level without it, and drops at the brim an overflow.
    fn tank(&self, svg: &mut String, x: f64, y: f64) {
        let (breadth, height) = TANK;
        let [set, own] = self.levels;
        if let Some(set) = set {
            let fill = height * set;
            let (top, fill) = (fixed(y + height - fill, 1), fixed(fill, 1));
            svg.push_str(&format!(
                "<rect class=\"fill\" x=\"{x}\" y=\"{top}\" width=\"{breadth}\" \
                 height=\"{fill}\"/>\n"
            ));
        }
        if let Some(own) = own {
            let at = fixed(y + height * (1.0 - own), 1);
            let end = x + breadth;
            svg.push_str(&format!("<path class=\"own\" d=\"M{x} {at}H{end}\"/>\n"));
        }
        svg.push_str(&format!(
            "<path class=\"wall\" d=\"M{x} {y}v{height}h{breadth}v-{height}\"/>\n"
        ));
        if self.drops {
            for (across, up) in [(6.0, 2.0), (14.0, 8.0), (22.0, 18.0)] {
                let (x, y) = (x + breadth + across, y + up);
                svg.push_str(&format!(
                    "<circle class=\"drop\" cx=\"{x}\" cy=\"{y}\" r=\"2.6\"/>\n"
                ));
            }
        }
    }
}

fn host(svg: &mut String, x: f64, y: f64, name: &str) {
    let (left, top, text) = (x - 27.0, y - 15.0, y + 4.5);
    svg.push_str(&format!(
        "<rect class=\"wall\" x=\"{left}\" y=\"{top}\" width=\"54\" height=\"30\" rx=\"5\"/>\n\
         <text x=\"{x}\" y=\"{text}\" text-anchor=\"middle\">{name}</text>\n"
    ));
}

/// Draws an arrow, across or down.
fn arrow(svg: &mut String, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    let head = if to_x > x { "l-8 -4v8z" } else { "l-4 -8h8z" };
    svg.push_str(&format!(
        "<path class=\"axis\" d=\"M{x} {y}L{to_x} {to_y}\"/>\n\
         <path class=\"head\" d=\"M{to_x} {to_y}{head}\"/>\n"
    ));
}

/// Draws the link: two walls, and an arrow between them.
fn pipe(svg: &mut String, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) {
    let walls = if to_x > x {
        format!("M{x} {}H{to_x}M{x} {}H{to_x}", y - 11.0, y + 11.0)
    } else {
        format!("M{} {y}V{to_y}M{} {y}V{to_y}", x - 11.0, x + 11.0)
    };
    svg.push_str(&format!("<path class=\"wall\" d=\"{walls}\"/>\n"));
    let from = if to_x > x { (x + 30.0, y) } else { (x, y + 4.0) };
    arrow(svg, from, (to_x, to_y));
}

fn said(svg: &mut String, words: &[String], (x, y): (f64, f64), anchor: &str) {
    for (row, word) in words.iter().enumerate() {
        let y = y + LINE * row as f64;
        let class = if row == 0 { "name" } else { "word" };
        svg.push_str(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>\n",
            escaped(word)
        ));
    }
}
