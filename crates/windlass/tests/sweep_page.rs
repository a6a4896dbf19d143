//! The page of a sweep as a browser shows it: on a telephone, a tablet and a desk.
//!
//! The page runs no scripts. One around it, in a frame of each width, measures what is seen.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{has, run, told};

/// The widths of a telephone, a tablet and a desk, in pixels.
const WIDTHS: [u32; 3] = [390, 800, 1_400];

/// Letters smaller than this are hard to read, in pixels.
const LEAST_LETTERS: f64 = 11.0;

/// What measures: the smallest letters, what is wider than the page, and words of a plot that lie
/// outside it.
const MEASURE: &str = r#"
function measured(frame) {
  const inner = frame.contentDocument, win = frame.contentWindow;
  const shown = (one) => one.getClientRects().length > 0;
  let least = 1e9, smallest = "", cut = [], plots = 0, texts = 0;
  for (const one of inner.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !shown(one) || ["title", "desc", "style"].includes(one.tagName)) continue;
    texts += 1;
    let size = parseFloat(win.getComputedStyle(one).fontSize);
    if (one.ownerSVGElement) {
      const matrix = one.getScreenCTM();
      size *= Math.hypot(matrix.a, matrix.b);
      const [word, plot] = [one.getBoundingClientRect(), one.ownerSVGElement.getBoundingClientRect()];
      if (word.left < plot.left - 1 || word.right > plot.right + 1
        || word.top < plot.top - 1 || word.bottom > plot.bottom + 1) cut.push(one.textContent);
    } else {
      const box = one.getBoundingClientRect();
      if (box.right > frame.clientWidth + 1 || one.scrollWidth > one.clientWidth + 1
        && win.getComputedStyle(one).display !== "inline") cut.push(one.textContent.trim());
    }
    if (size < least) { least = size; smallest = one.textContent.trim(); }
  }
  for (const plot of inner.querySelectorAll("svg")) plots += shown(plot) ? 1 : 0;
  const dark = win.getComputedStyle(inner.body).backgroundColor;
  const wide = inner.documentElement.scrollWidth;
  return { least, smallest, cut, plots, texts, dark, wide };
}
window.addEventListener("load", () => {
  const all = [...document.querySelectorAll("iframe")].map(measured);
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = "MEASURED" + JSON.stringify(all) + "MEASURED";
  document.body.append(out);
});
"#;

/// What a browser measures of a page, for each width.
fn shown(page: &str, folder: &Path, dark: bool) -> Vec<Value> {
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let frames = WIDTHS.map(|width| {
        format!("<iframe width={width} height=9000 frameborder=0 srcdoc=\"{quoted}\"></iframe>")
    });
    let around = format!("<!doctype html><body>{}<script>{MEASURE}</script>", frames.join("\n"));
    let file = folder.join("around.html");
    std::fs::write(&file, around).unwrap();
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    browser.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    if dark {
        browser.arg("--blink-settings=preferredColorScheme=0");
    }
    browser.args(["--window-size=1500,1000", "--dump-dom"]);
    let output = browser.arg(format!("file://{}", file.display())).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let measured = text.split("MEASURED").nth(3).or_else(|| text.split("MEASURED").nth(1));
    let found = text.rsplit("MEASURED").nth(1).or(measured).unwrap_or_default();
    let found: Value = serde_json::from_str(&found.replace("&amp;", "&").replace("&lt;", "<"))
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    found.as_array().unwrap().clone()
}

#[test]
fn letters_can_be_read_and_nothing_is_cut_off_at_any_width() {
    if !has("chromium", "letters_can_be_read_and_nothing_is_cut_off_at_any_width") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let uneven = folder.path().join("uneven.toml");
    let text = "title = \"Uneven\"\nshows = \"A long name of a path, as somebody wrote it\"\n[[hop]]\n\
                rate = \"2 Mb/s\"\ndelay = \"15 ms\"\n[[back]]\nrate = \"50 Mb/s\"\ndelay = \"15 ms\"\n";
    std::fs::write(&uneven, text).unwrap();
    for scenario in ["gigabit", "white-space", &uneven.display().to_string()] {
        let (page, stderr, code) = told(&run(&format!("sweep --simulate {scenario} --html")));
        assert_eq!((stderr.as_str(), code), ("", 0));
        let mut grounds = Vec::new();
        for dark in [false, true] {
            let all = shown(&page, folder.path(), dark);
            for (width, seen) in WIDTHS.into_iter().zip(&all) {
                let least = seen["least"].as_f64().unwrap();
                assert!(least >= LEAST_LETTERS, "{scenario} at {width}: {seen:#}");
                assert_eq!(seen["cut"], serde_json::json!([]), "{scenario} at {width}");
                assert!(
                    seen["wide"].as_u64().unwrap() <= u64::from(width),
                    "{scenario} at {width}"
                );
                assert!((3..=6).contains(&seen["plots"].as_u64().unwrap()), "{seen:#}");
                assert!(seen["texts"].as_u64().unwrap() > 100, "{seen:#}");
            }
            grounds.push(all[0]["dark"].clone());
        }
        assert_ne!(grounds[0], grounds[1], "{scenario}: light and dark");
    }
}
