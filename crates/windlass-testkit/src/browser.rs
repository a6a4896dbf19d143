//! Measurements of a page in a browser, at the widths of a telephone, a tablet and a desktop
//! screen.
//!
//! A script outside the page measures the page in a frame of each width.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Widths of a telephone, a tablet and a desktop screen, in pixels.
pub const WIDTHS: [u32; 3] = [390, 800, 1_400];

/// Smallest legible font size, in pixels.
pub const LEAST_LETTERS: f64 = 11.0;

/// Script that measures a page: the smallest letters, elements wider than the page, and labels
/// outside their plot.
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
      if (box.left < -1 || box.right > frame.clientWidth + 1 || one.scrollWidth > one.clientWidth + 1
        && win.getComputedStyle(one).display !== "inline") cut.push(one.textContent.trim());
    }
    if (size < least) { least = size; smallest = one.textContent.trim(); }
  }
  for (const plot of inner.querySelectorAll("svg")) plots += shown(plot) ? 1 : 0;
  const dark = win.getComputedStyle(inner.body).backgroundColor;
  const wide = inner.documentElement.scrollWidth;
  const fetched = win.performance.getEntriesByType("resource").map((one) => one.name);
  const strange = inner.querySelectorAll("main img, main script, main iframe, main a:not([href^='#'])").length;
  return { least, smallest, cut, plots, texts, dark, wide, fetched, strange };
}
window.addEventListener("load", () => {
  const all = [...document.querySelectorAll("iframe")].map((frame) => {
    const acted = act(frame.contentDocument, frame.contentWindow);
    return { ...measured(frame), acted };
  });
  console.log("LOOKED");
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = "MEASURED" + JSON.stringify(all) + "MEASURED";
  document.body.append(out);
});
"#;

/// Returns the measurements of a page in a browser, for each width.
///
/// The browser first runs `act`, the body of a JavaScript function of the document (`inner`) and
/// the window (`win`). The field `acted` of each measurement holds the result of `act`. `folder`
/// keeps the page and the browser's profile. If `dark` is true, the browser prefers the dark colour
/// scheme.
///
/// Fails on any console output of the page, such as an error or a violation of the page's policy.
pub fn shown(page: &str, folder: &Path, dark: bool, act: &str) -> Vec<Value> {
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let frames = WIDTHS.map(|width| {
        format!("<iframe width={width} height=9000 frameborder=0 srcdoc=\"{quoted}\"></iframe>")
    });
    let around = format!(
        "<!doctype html><body>{}<script>\
         function act(inner, win) {{{act}}}{MEASURE}</script>",
        frames.join("\n")
    );
    let file = folder.join("around.html");
    std::fs::write(&file, around).unwrap();
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    browser.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    browser.args(["--enable-logging=stderr", "--log-level=0"]);
    if dark {
        browser.arg("--blink-settings=preferredColorScheme=0");
    }
    browser.args(["--window-size=1500,1000", "--dump-dom"]);
    let output = browser.arg(format!("file://{}", file.display())).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    let looked = console.len() == 1 && console[0].contains("LOOKED");
    assert!(looked, "the console: {console:#?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let measured = text.split("MEASURED").nth(3).or_else(|| text.split("MEASURED").nth(1));
    let found = text.rsplit("MEASURED").nth(1).or(measured).unwrap_or_default();
    let found: Value = serde_json::from_str(&found.replace("&amp;", "&").replace("&lt;", "<"))
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    found.as_array().unwrap().clone()
}
