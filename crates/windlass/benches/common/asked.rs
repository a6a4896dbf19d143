//! The command line of a bench.

use std::str::FromStr;

/// An option that a bench has for itself: its name, what stands for its value
/// (`N` for a number, nothing for a flag), and what it does.
pub(crate) struct OwnOption(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

/// Arguments of a bench.
pub(crate) struct BenchArguments {
    /// A short run, that shows that the bench works.
    pub(crate) quick: bool,
    /// True if the results file is to be written.
    pub(crate) write: bool,
    pub(crate) only: Vec<String>,
    /// All that was given, but `--write`.
    pub(crate) given: Vec<String>,
    runs: Option<usize>,
    own: Vec<(&'static str, String)>,
}

/// Returns the text of `--help`.
pub(super) fn help(name: &str, own: &[OwnOption], known: &[&str]) -> String {
    let mut lines = vec![
        ("--quick".to_owned(), "a short run, which shows that the bench works".to_owned()),
        ("--runs N".to_owned(), "how often each is measured".to_owned()),
        ("--write".to_owned(), format!("write {}", super::results::file(name))),
    ];
    if !known.is_empty() {
        let names = known.join(", ");
        lines.push(("--only NAME,…".to_owned(), format!("these parts alone: {names}")));
    }
    let own = own.iter().map(|OwnOption(name, value, does)| {
        let name = format!("{name} {value}");
        (name.trim_end().to_owned(), (*does).to_owned())
    });
    lines.extend(own);
    let lines: String = lines.iter().map(|(name, does)| format!("\n  {name:<16} {does}")).collect();
    format!("cargo bench -p {} --bench {name} -- [OPTION]…\n{lines}", env!("CARGO_PKG_NAME"))
}

impl BenchArguments {
    /// None where only the help is wanted.
    pub(super) fn parse(
        mut arguments: impl Iterator<Item = String>,
        own: &[OwnOption],
        known: &[&str],
    ) -> Result<Option<Self>, String> {
        let mut asked = Self {
            quick: false,
            write: false,
            only: Vec::new(),
            given: Vec::new(),
            runs: None,
            own: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("{argument} needs a value"))
            };
            let mut taken = None;
            match argument.as_str() {
                // cargo adds this one itself.
                "--bench" => continue,
                "--write" => {
                    asked.write = true;
                    continue;
                }
                "--help" | "-h" => return Ok(None),
                "--quick" => asked.quick = true,
                "--runs" => {
                    let runs = value()?;
                    asked.runs = Some(number("--runs", &runs)?);
                    taken = Some(runs);
                }
                "--only" if !known.is_empty() => {
                    let names = value()?;
                    for name in names.split(',') {
                        if !known.contains(&name) {
                            return Err(format!("there is no {name}, but {}", known.join(", ")));
                        }
                        asked.only.push(name.to_owned());
                    }
                    taken = Some(names);
                }
                other => {
                    let own = own.iter().find(|OwnOption(name, ..)| *name == other);
                    let OwnOption(name, has, _) =
                        own.ok_or_else(|| format!("unknown argument {other}"))?;
                    if !has.is_empty() {
                        taken = Some(value()?);
                    }
                    if let ("N", Some(value)) = (*has, &taken) {
                        number::<u64>(name, value)?;
                    }
                    asked.own.push((name, taken.clone().unwrap_or_default()));
                }
            }
            asked.given.push(argument);
            asked.given.extend(taken);
        }
        Ok(Some(asked))
    }

    /// Returns the runs of each measurement: as requested, the usual number, or that of a short
    /// run.
    pub(crate) fn runs(&self, usual: usize, quick: usize) -> usize {
        self.runs.unwrap_or(if self.quick { quick } else { usual })
    }

    /// Returns whether a part is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// The value of an option of the bench's own, and whether a flag is there.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.own.iter().rev().find(|(own, _)| *own == name).map(|(_, value)| value.as_str())
    }

    /// The number of such an option; else the usual one, or that of a short run.
    pub(crate) fn number(&self, name: &str, usual: u64, quick: u64) -> u64 {
        let otherwise = if self.quick { quick } else { usual };
        self.value(name).and_then(|value| value.parse().ok()).unwrap_or(otherwise)
    }
}

fn number<T: FromStr + Default + PartialEq>(name: &str, text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| format!("{name} needs a number above 0, not {text}"))
}
