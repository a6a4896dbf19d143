//! A plot with what is said below it.

use super::plot::Plot;
use super::{Html, escaped};

/// How a band looks, and the colours that it has beside those of all pages.
pub(crate) const BAND_STYLE: &str = include_str!("band.css");
pub(crate) const BAND_COLOURS: &str = include_str!("band_colours.css");

/// A plot with what is said below it.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) plot: Plot,
    pub(crate) caption: String,
    /// What the colours of its band mean.
    pub(crate) keys: Vec<Key>,
}

/// What a colour of a band means.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// What the style sheet calls it.
    pub(crate) class: &'static str,
    pub(crate) means: String,
}

impl Figure {
    /// Writes it as a part of a page.
    pub(crate) fn write(&self, html: &mut Html) {
        html.raw("<figure>\n");
        html.raw(&self.plot.svg());
        html.raw(&format!("<figcaption>{}", escaped(&self.caption)));
        if !self.keys.is_empty() {
            html.raw("\n<ul class=\"legend\">\n");
            for Key { class, means } in &self.keys {
                html.raw(&format!(
                    "<li><svg viewBox=\"0 0 22 16\" aria-hidden=\"true\"><rect class=\"band {class}\" \
                     width=\"22\" height=\"16\"/></svg>{}</li>\n",
                    escaped(means)
                ));
            }
            html.raw("</ul>");
        }
        html.raw("</figcaption>\n</figure>\n");
    }
}
