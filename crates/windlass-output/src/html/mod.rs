//! Stand-alone pages: one file, no network, light and dark.

mod document;
mod figure;
pub(crate) mod markup;
pub mod plot;
#[cfg(target_os = "linux")]
pub mod run;
pub mod scale;
#[cfg(target_os = "linux")]
pub mod site;
pub mod sweep;

pub use self::document::Html;
pub use self::figure::{BAND_COLOURS, BAND_STYLE, Figure, Key};
pub use self::markup::{marked, rows_markup};

/// Style sheet of all pages.
pub const STYLE: &str =
    concat!(include_str!("colours.css"), include_str!("style.css"), include_str!("plot.css"));

/// Style sheet of plots.
pub const PLOT_STYLE: &str = include_str!("plot.css");

/// Colours of all pages, by day and by night.
pub const COLOURS: &str = include_str!("colours.css");

/// Style sheet of a run and of the same parts of captures, in addition to that of all pages.
pub fn run_style() -> String {
    [BAND_COLOURS, include_str!("run/style.css"), BAND_STYLE].concat()
}

/// Begins a page up to `<main>`. The page has its own styles after the common ones, and a script,
/// which may be empty. Nothing else runs and nothing is fetched.
pub fn begin(title: &str, style: &str, script: &str) -> String {
    let scripts = if script.is_empty() { "" } else { "; script-src 'unsafe-inline'" };
    let script = match script {
        "" => String::new(),
        script => format!("<script>\n{script}</script>\n"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'{scripts}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}{style}</style>\n{script}</head>\n<body>\n<main>\n",
        escaped(title)
    )
}

/// Returns text with its markup escaped: anyone may have chosen a host's name or a scenario's
/// title.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // HTML has no such characters, not even as numeric references.
            letter if letter.is_control() && letter != '\n' => out.push('\u{fffd}'),
            // Marks of writing direction can make one text look like another.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}');
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_written_becomes_markup() {
        assert_eq!(
            escaped("<b> & \"x\" 'y'\u{1b}[31m\u{202e}"),
            "&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;\u{fffd}[31m\u{fffd}"
        );
    }
}
