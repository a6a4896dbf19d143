//! Bar that shows how a span of time was spent, with one letter for each cause.

use super::{Style, Text, figures};

/// Letter with its colour and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Letter in the bar: it distinguishes the marks without colour.
    pub letter: char,
    /// Colour of the letter.
    pub style: Style,
    /// Name in the legend.
    pub name: String,
}

/// Parts of a span of time in their order, each with its mark.
///
/// ```text
/// [SSSWWWWWWWWWWWWWWWWLLWWWWWWW000000]
/// W receiver-window 62 %   0 zero-window 18 %   S congestion-window 9 %
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bar {
    parts: Vec<(Mark, f64)>,
    /// Shares of the legend, if they are known more exactly than the parts show.
    shares: Vec<(Mark, f64)>,
}

impl Bar {
    /// Creates a bar of parts in their order, each with its length in any common unit. Parts
    /// without length are left out.
    pub fn new(parts: impl IntoIterator<Item = (Mark, f64)>) -> Self {
        let parts = parts.into_iter().filter(|(_, length)| *length > 0.0 && length.is_finite());
        Self { parts: parts.collect(), shares: Vec::new() }
    }

    /// Replaces the shares in the legend: a timeline may be coarser than the shares of the whole.
    #[must_use]
    pub fn with_shares(mut self, shares: impl IntoIterator<Item = (Mark, f64)>) -> Self {
        self.shares = shares.into_iter().collect();
        self
    }

    /// Returns the bar and its legend for a page of `width` columns.
    pub fn lines(&self, width: usize) -> Vec<Text> {
        if self.parts.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![self.cells(width.saturating_sub(2).max(1))];
        lines.extend(self.legend(width));
        lines
    }

    /// Returns one letter per cell: the mark with most of the cell's time.
    fn cells(&self, cells: usize) -> Text {
        let total: f64 = self.parts.iter().map(|(_, length)| length).sum();
        // First part that reaches into the current cell, and the start of that part.
        let (mut first, mut begin) = (0, 0.0);
        let marks = (0..cells).map(|cell| {
            let edge = |cell: usize| total * cell as f64 / cells as f64;
            let (from, to) = (edge(cell), edge(cell + 1));
            while first + 1 < self.parts.len() && begin + self.parts[first].1 <= from {
                begin += self.parts[first].1;
                first += 1;
            }
            self.most(first, begin, from, to)
        });
        let marks: Vec<&Mark> = marks.collect();
        let runs = marks.chunk_by(|one, next| one == next);
        let letters = |run: &[&Mark]| run.iter().map(|mark| mark.letter).collect::<String>();
        runs.fold(Text::from("["), |bar, run| bar.with(run[0].style, letters(run))).and("]")
    }

    /// Returns the mark with most of the time between `from` and `to`. `first` is the first part
    /// that reaches into this time, and starts at `begin`.
    fn most(&self, first: usize, begin: f64, from: f64, to: f64) -> &Mark {
        let mut sums: Vec<(&Mark, f64)> = Vec::new();
        let mut at = begin;
        for (mark, length) in &self.parts[first..] {
            if at >= to {
                break;
            }
            add(&mut sums, mark, (at + length).min(to) - at.max(from));
            at += length;
        }
        let most = sums.into_iter().max_by(|left, right| left.1.total_cmp(&right.1));
        most.map_or(&self.parts[first].0, |(mark, _)| mark)
    }

    /// Returns the legend, with each mark once, the longest first.
    fn legend(&self, width: usize) -> Vec<Text> {
        let mut sums: Vec<(&Mark, f64)> = Vec::new();
        for (mark, length) in if self.shares.is_empty() { &self.parts } else { &self.shares } {
            add(&mut sums, mark, *length);
        }
        let total: f64 = sums.iter().map(|(_, length)| length).sum();
        sums.sort_by(|left, right| right.1.total_cmp(&left.1));
        let mut lines: Vec<Text> = Vec::new();
        for (mark, sum) in sums {
            let entry = Text::styled(mark.style, mark.letter.to_string())
                .and(format!(" {} ", mark.name))
                .and(figures::percent(sum / total));
            match lines.last_mut() {
                Some(line) if line.width() + 3 + entry.width() <= width => {
                    *line = std::mem::take(line).and("   ").and(entry);
                }
                _ => lines.push(entry),
            }
        }
        lines
    }
}

/// Adds a length to the sum of its mark.
fn add<'a>(sums: &mut Vec<(&'a Mark, f64)>, mark: &'a Mark, length: f64) {
    match sums.iter_mut().find(|(known, _)| *known == mark) {
        Some((_, sum)) => *sum += length,
        None => sums.push((mark, length)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mark(letter: char, name: &str) -> Mark {
        Mark { letter, style: Style::Hue(0), name: name.to_owned() }
    }

    #[test]
    fn a_bar_reads_without_colour() {
        let (window, loss) = (mark('W', "receiver-window"), mark('L', "loss"));
        let bar = Bar::new([(window.clone(), 6.0), (loss, 2.0), (window, 2.0)]);
        let lines: Vec<String> = bar.lines(42).iter().map(Text::plain).collect();
        assert_eq!(
            lines,
            ["[WWWWWWWWWWWWWWWWWWWWWWWWLLLLLLLLWWWWWWWW]", "W receiver-window 80 %   L loss 20 %",]
        );
    }

    #[test]
    fn parts_too_short_for_a_cell_stay_in_the_legend() {
        let parts = (0..1_000).map(|n| (mark(if n % 10 == 0 { 'L' } else { 'W' }, "x"), 1.0));
        let lines = Bar::new(parts).lines(42);
        assert_eq!(lines[0].plain(), format!("[{}]", "W".repeat(40)));
        assert_eq!(lines[1].plain(), "W x 90 %   L x 10 %");
        assert!(Bar::new([(mark('W', "x"), 0.0)]).lines(42).is_empty());
    }

    proptest! {
        #[test]
        fn a_bar_is_as_wide_as_its_page(
            parts in prop::collection::vec((0_usize..4, 0.0_f64..1e6), 1..50),
            width in 3_usize..100,
        ) {
            let letters = ['W', 'L', '0', 'B'];
            let parts = parts.into_iter().map(|(place, length)| (mark(letters[place], "x"), length));
            if let Some(bar) = Bar::new(parts).lines(width).first() {
                prop_assert_eq!(bar.width(), width);
            }
        }
    }
}
