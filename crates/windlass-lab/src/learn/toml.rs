//! Output of the learned parameters as a profile.

use std::fmt::Write;

use super::Parameter;

/// The lines above the tables.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Remarks for the top of the file.
    pub remarks: Vec<String>,
    /// Name of the device.
    pub name: String,
    /// Description of the device.
    pub about: String,
    /// Source of the parameters.
    pub source: String,
    /// `raw`, `lpr` or `ipp`.
    pub method: &'static str,
    /// Port of the service.
    pub port: u16,
}

/// The width of comments.
const WIDTH: usize = 80;

/// Returns the text of a profile, without a newline at its end.
pub fn profile(heading: &Heading, parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for remark in &heading.remarks {
        comment(&mut text, remark);
    }
    let quoted = |text: &str| ::toml::Value::String(one_line(text)).to_string();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "\nname = {}\nabout = {}\nsource = {}\n\n[services]\n{} = {}\n",
        quoted(&heading.name),
        quoted(&heading.about),
        quoted(&heading.source),
        heading.method,
        heading.port
    );
    for table in ["tcp", "ack", "reading"] {
        let _ = write!(text, "\n[{table}]\n");
        for parameter in parameters.iter().filter(|parameter| parameter.table == table) {
            match &parameter.value {
                Some(value) => {
                    comment(&mut text, &parameter.how);
                    let _ = writeln!(text, "{} = {value}", parameter.key);
                }
                None => comment(
                    &mut text,
                    &format!("`{}` is left at its default. {}", parameter.key, parameter.how),
                ),
            }
        }
    }
    text.trim_end().to_owned()
}

/// Replaces line breaks and other control characters, which TOML comments do not allow.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn comment(text: &mut String, words: &str) {
    let mut line = "#".to_owned();
    for word in one_line(words).split_whitespace() {
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            "#".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
