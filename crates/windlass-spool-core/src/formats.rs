//! Formats of documents: which a printer takes, and how one goes to a device that does not take it.

use std::borrow::Cow;

use windlass_wire::ipp::{Attribute, Value};
use windlass_wire::media_type::essence;

use crate::device::Device;
use crate::printer::{FORMATS, Printer};

/// The format of which nothing is said: who gets it finds out (RFC 8011, section 5.1.10).
pub const OCTETS: &str = "application/octet-stream";

/// The attribute in which a device says what it takes.
pub(crate) const SUPPORTED: &str = "document-format-supported";

/// Formats that filters of this host make for devices, best first: the first keeps the most.
const MADE: [&str; 4] = ["application/pdf", "image/pwg-raster", "image/urf", "application/PCLm"];

/// Attributes of a job that filters do, and a device is not asked for again.
const DONE_BY_FILTERS: [&str; 8] = [
    "fit-to-page",
    "job-sheets",
    "number-up",
    "number-up-layout",
    "orientation-requested",
    "page-border",
    "page-ranges",
    "print-scaling",
];

/// Conversions by filters of this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversions {
    /// Formats from which they make those of devices; none where there are no filters.
    pub from: Vec<String>,
    /// The names of sheets that they print before and behind a job.
    pub sheets: Vec<String>,
}

/// An offer of a device: what it says it takes and does, as far as filters can do that for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceOffer {
    /// The formats that it takes; none where it says nothing.
    pub formats: Vec<String>,
    /// Numbers of pages that it puts on a side.
    number_up: Vec<Value>,
    /// True if it prints the pages that a job picks.
    picks_pages: bool,
}

/// The way of a document to its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// As it came, under this format.
    AsItCame(String),
    /// Filters make another of it.
    Converted {
        /// Its format.
        from: String,
        /// The format that the device gets.
        to: &'static str,
    },
    /// Not at all, and why.
    Refused(String),
}

/// Returns whether one of the formats is this one: their names know no case (RFC 6838, section
/// 4.2).
pub(crate) fn has<T: AsRef<str>>(formats: &[T], format: &str) -> bool {
    formats.iter().any(|one| one.as_ref().eq_ignore_ascii_case(format))
}

impl Conversions {
    /// Returns what filters make for a device that takes these formats of another that they read.
    fn target(&self, device: &[String], from: &str) -> Option<&'static str> {
        let target = || MADE.into_iter().find(|made| has(device, made));
        has(&self.from, from).then(target).flatten()
    }

    /// Returns what a device gets of sheets around a job; none where there are none for it.
    pub fn of_sheets(&self, offer: &DeviceOffer) -> Option<&'static str> {
        self.target(&offer.formats, "application/pdf")
    }

    /// Returns the sheets that a job asks for before its documents and behind them, of those that
    /// there are.
    pub fn sheets(&self, template: &[Attribute]) -> [Option<&str>; 2] {
        let asked = template.iter().find(|one| one.name == "job-sheets");
        let named = |at: usize| {
            let word = asked?.values.get(at)?.text()?;
            self.sheets.iter().map(String::as_str).find(|sheet| *sheet == word)
        };
        [named(0), named(1)]
    }

    /// Returns how a document goes to a device that takes these formats; none where nothing is
    /// known of that. A client says its format, and its first bytes may tell it, too.
    pub fn passage(
        &self,
        (said, found): (&str, Option<&str>),
        offer: &DeviceOffer,
        template: &[Attribute],
    ) -> Passage {
        let device = &offer.formats;
        let kind = if essence(said) == OCTETS { found.unwrap_or(OCTETS) } else { essence(said) };
        if device.is_empty() {
            return Passage::AsItCame(said.to_owned());
        }
        let takes = has(device, kind);
        let target = self.target(device, kind);
        match target {
            Some(to) if !takes || offer.is_less_than(template) => {
                Passage::Converted { from: kind.to_owned(), to }
            }
            // A device that takes anything finds out what it is, and says what it does not take.
            _ if has(device, essence(said)) => Passage::AsItCame(said.to_owned()),
            _ if takes => Passage::AsItCame(kind.to_owned()),
            _ => Passage::Refused(format!(
                "the device takes no {kind:?}, and no filter of this host converts it to: {}",
                device.join(", ")
            )),
        }
    }
}

fn first<'a>(all: &'a [Attribute], name: &str) -> Option<&'a Value> {
    all.iter().find(|one| one.name == name)?.values.first()
}

/// Returns whether ranges of pages have all that a document may have: so do clients ask for no
/// choice (RFC 8011, section 5.2.7).
pub(crate) fn is_every_page(ranges: &Attribute) -> bool {
    matches!(ranges.values.as_slice(), [Value::Range(1, i32::MAX)])
}

impl DeviceOffer {
    fn of(learned: &[Attribute]) -> Self {
        let values = |name: &str| {
            let said = learned.iter().find(|one| one.name == name);
            said.map_or(&[][..], |one| &one.values)
        };
        Self {
            formats: values(SUPPORTED)
                .iter()
                .filter_map(|value| Some(value.text()?.to_string()))
                .collect(),
            number_up: values("number-up-supported").to_vec(),
            picks_pages: first(learned, "page-ranges-supported") == Some(&Value::Boolean(true)),
        }
    }

    /// Returns whether a job asks for what the device does not do and filters do.
    fn is_less_than(&self, template: &[Attribute]) -> bool {
        let number_up = first(template, "number-up").and_then(Value::number).unwrap_or(1);
        let does_number_up = self.number_up.iter().any(|value| match value {
            Value::Range(from, to) => (*from..=*to).contains(&number_up),
            value => value.number() == Some(number_up),
        });
        let pages = template.iter().find(|one| one.name == "page-ranges");
        let picks_pages = pages.is_some_and(|pages| !is_every_page(pages));
        (number_up > 1 && !does_number_up) || (picks_pages && !self.picks_pages)
    }
}

/// Returns the attributes of a job that its device is to do where filters have done theirs.
pub fn left_by_filters(template: Vec<Attribute>) -> Vec<Attribute> {
    let is_left = |one: &Attribute| !DONE_BY_FILTERS.contains(&one.name.as_str());
    template.into_iter().filter(is_left).collect()
}

/// Returns a job's attributes as options of CUPS, as `sides=two-sided-long-edge`, for filters.
/// Attributes with other values than words and numbers are left out: no client's text is read as
/// more than one option.
pub fn filter_options(template: &[Attribute]) -> Vec<String> {
    let is_fine = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:,".contains(&byte))
    };
    let word = |value: &Value| match value {
        Value::Integer(number) | Value::Enum(number) => Some(number.to_string()),
        Value::Boolean(yes) => Some(yes.to_string()),
        Value::Range(from, i32::MAX) => Some(format!("{from}-")),
        Value::Range(from, to) => Some(format!("{from}-{to}")),
        Value::Resolution { cross, feed, units: 3 } if cross == feed => Some(format!("{cross}dpi")),
        Value::Resolution { cross, feed, units: 3 } => Some(format!("{cross}x{feed}dpi")),
        value => value.text().map(|text| text.to_string()),
    };
    let option = |one: &Attribute| {
        let words: Option<Vec<String>> = one.values.iter().map(word).collect();
        let words = words?.join(",");
        // The banner is a document of its own.
        let is_meant = is_fine(&one.name) && is_fine(&words) && one.name != "job-sheets";
        is_meant.then(|| format!("{}={words}", one.name))
    };
    template.iter().filter_map(option).collect()
}

impl Printer {
    /// Returns what its device says it takes and does.
    pub fn offer(&self) -> DeviceOffer {
        DeviceOffer::of(&self.learned)
    }

    /// Returns the formats that it takes: as it is told, or else what its device takes and what
    /// filters make that of.
    pub fn formats(&self, conversions: &Conversions) -> Cow<'_, [String]> {
        let told = &self.settings.formats;
        let device = self.offer().formats;
        if device.is_empty() || told.iter().ne(FORMATS.iter()) {
            return Cow::Borrowed(told);
        }
        let mut formats = vec![OCTETS.to_owned()];
        let from =
            conversions.from.iter().filter(|from| conversions.target(&device, from).is_some());
        for format in device.iter().chain(from) {
            if !has(&formats, format) {
                formats.push(format.clone());
            }
        }
        Cow::Owned(formats)
    }

    /// Returns whether filters of this host do what a job asks of its pages.
    pub(crate) fn has_filters(&self, conversions: &Conversions) -> bool {
        matches!(self.settings.device, Device::Target(_))
            && conversions.of_sheets(&self.offer()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printer::PrinterSettings;
    use windlass_wire::ipp::CharKind;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn filters() -> Conversions {
        Conversions {
            from: words(&["application/pdf", "text/plain"]),
            sheets: words(&["standard", "secret"]),
        }
    }

    fn passage(said: &str, found: Option<&str>, device: &[&str]) -> Passage {
        let offer = DeviceOffer { formats: words(device), ..DeviceOffer::default() };
        filters().passage((said, found), &offer, &[])
    }

    fn as_it_came(format: &str) -> Passage {
        Passage::AsItCame(format.to_owned())
    }

    fn made(from: &str, to: &'static str) -> Passage {
        Passage::Converted { from: from.to_owned(), to }
    }

    #[test]
    fn a_document_goes_as_it_came_where_the_device_takes_it() {
        let device = [OCTETS, "image/pwg-raster", "application/pdf"];
        assert_eq!(passage("application/pdf", None, &device), as_it_came("application/pdf"));
        let raster = "Image/PWG-Raster; x=1";
        assert_eq!(passage(raster, None, &device), as_it_came(raster));
        assert_eq!(passage(OCTETS, Some("application/pdf"), &device), as_it_came(OCTETS));
        let pdf = as_it_came("application/pdf");
        assert_eq!(passage(OCTETS, Some("application/pdf"), &["application/pdf"]), pdf);
        assert_eq!(passage(OCTETS, None, &device), as_it_came(OCTETS));
        assert_eq!(passage("a/b", None, &[]), as_it_came("a/b"), "nothing is known of the device");
    }

    #[test]
    fn another_is_converted_or_refused() {
        let raster = [OCTETS, "image/pwg-raster"];
        let pdf = made("application/pdf", "image/pwg-raster");
        assert_eq!(passage("application/pdf", None, &raster), pdf);
        assert_eq!(passage(OCTETS, Some("application/pdf"), &raster), pdf);
        assert_eq!(passage("text/plain", None, &["image/urf"]), made("text/plain", "image/urf"));
        // No filter reads it.
        let Passage::Refused(why) = passage("image/png", None, &raster) else { panic!("refused") };
        assert!(why.contains("takes no \"image/png\""), "{why}");
        assert_eq!(passage(OCTETS, Some("image/png"), &raster), as_it_came(OCTETS));
        // None makes what the device takes.
        assert!(matches!(passage("application/pdf", None, &["a/b"]), Passage::Refused(_)));
        let offer = DeviceOffer { formats: words(&raster), ..DeviceOffer::default() };
        let none = Conversions::default().passage(("application/pdf", None), &offer, &[]);
        assert!(matches!(none, Passage::Refused(_)));
    }

    #[test]
    fn filters_do_what_a_device_does_not() {
        let formats =
            Attribute::new(SUPPORTED, Value::chars(CharKind::MediaType, "application/pdf"));
        let two = [Attribute::new("number-up", Value::Integer(2))];
        let pages = [Attribute::new("page-ranges", Value::Range(2, 4))];
        let all = [Attribute::new("page-ranges", Value::Range(1, i32::MAX))];
        let does = [
            Attribute::new("number-up-supported", Value::Range(1, 4)),
            Attribute::new("page-ranges-supported", Value::Boolean(true)),
        ];
        let passage = |template: &[Attribute], learned: &[Attribute]| {
            let offer = DeviceOffer::of(&[learned, std::slice::from_ref(&formats)].concat());
            filters().passage(("application/pdf", None), &offer, template)
        };
        let made = made("application/pdf", "application/pdf");
        assert_eq!(passage(&two, &[]), made);
        assert_eq!(passage(&pages, &[]), made);
        for template in [&two[..], &pages, &all] {
            assert_eq!(passage(template, &does), as_it_came("application/pdf"));
        }
        assert_eq!(passage(&all, &[]), as_it_came("application/pdf"));
        let left =
            left_by_filters([&two[..], &[Attribute::new("sides", Value::keyword("x"))]].concat());
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn sheets_are_those_that_there_are() {
        let asks = |words: &[&str]| {
            let values = words.iter().map(|word| Value::keyword(word)).collect();
            [Attribute { name: "job-sheets".to_owned(), values }]
        };
        let filters = filters();
        assert_eq!(filters.sheets(&asks(&["standard", "none"])), [Some("standard"), None]);
        assert_eq!(filters.sheets(&asks(&["none", "secret"])), [None, Some("secret")]);
        assert_eq!(filters.sheets(&asks(&["../../etc/passwd"])), [None, None]);
        assert_eq!(filters.sheets(&[]), [None, None]);
    }

    #[test]
    fn a_clients_words_are_no_options_of_their_own() {
        let options = filter_options(&[
            Attribute::new("sides", Value::keyword("two-sided-long-edge")),
            Attribute::new("number-up", Value::Integer(2)),
            Attribute {
                name: "page-ranges".to_owned(),
                values: vec![Value::Range(2, 4), Value::Range(9, i32::MAX)],
            },
            Attribute::new(
                "printer-resolution",
                Value::Resolution { cross: 300, feed: 300, units: 3 },
            ),
            Attribute::new("media", Value::chars(CharKind::Name, "a4 number-up=16")),
            Attribute::new("output-bin", Value::chars(CharKind::Name, "a\"b\\")),
            Attribute::new("x y", Value::Integer(1)),
            Attribute::new("job-sheets", Value::keyword("standard")),
            Attribute::new("media-col", Value::Collection(Vec::new())),
        ]);
        let expected = [
            "sides=two-sided-long-edge",
            "number-up=2",
            "page-ranges=2-4,9-",
            "printer-resolution=300dpi",
        ];
        assert_eq!(options, expected);
    }

    #[test]
    fn a_printer_takes_what_its_device_does_and_what_is_made_for_that() {
        let device = "ipp://192.0.2.1/ipp/print".parse().expect("a device");
        let mut printer = Printer::new(PrinterSettings::new("a", device), crate::moment::Moment(0));
        let usual = words(&FORMATS);
        assert_eq!(*printer.formats(&filters()), usual, "it was not asked yet");
        let values = ["image/pwg-raster", OCTETS].map(|one| Value::chars(CharKind::MediaType, one));
        printer.learned = vec![Attribute { name: SUPPORTED.to_owned(), values: values.to_vec() }];
        let all = [OCTETS, "image/pwg-raster", "application/pdf", "text/plain"];
        assert_eq!(*printer.formats(&filters()), all);
        assert_eq!(printer.formats(&Conversions::default())[..], all[..2]);
        printer.settings.formats = words(&["application/pdf"]);
        assert_eq!(*printer.formats(&filters()), ["application/pdf"], "as it is told");
    }
}
