//! Parts of pages that tests write, between two marks.

/// Returns the part of a page between two marks. Fails if a mark is missing.
pub fn part<'a>(page: &'a str, marks: [&str; 2]) -> &'a str {
    split(page, marks)[1]
}

/// Returns the page with another text between the marks. Fails if a mark is missing.
pub fn with_part(page: &str, marks: [&str; 2], text: &str) -> String {
    let [before, _, behind] = split(page, marks);
    let [open, close] = marks;
    format!("{before}{open}{text}{close}{behind}")
}

/// Splits a page into the parts before, between and after the marks.
fn split<'a>(page: &'a str, [open, close]: [&str; 2]) -> [&'a str; 3] {
    let (before, rest) = page.split_once(open).unwrap_or_else(|| panic!("no {open}"));
    let (part, behind) = rest.split_once(close).unwrap_or_else(|| panic!("no {close}"));
    [before, part, behind]
}
