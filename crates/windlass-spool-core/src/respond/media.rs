//! Names of media that people say, and those of IPP (PWG 5101.1).

use windlass_wire::ipp::{Attribute, Value};

/// Short names, as CUPS knows them, and what they are in IPP.
const NAMES: [(&str, &str); 11] = [
    ("a3", "iso_a3_297x420mm"),
    ("a4", "iso_a4_210x297mm"),
    ("a5", "iso_a5_148x210mm"),
    ("a6", "iso_a6_105x148mm"),
    ("b5", "jis_b5_182x257mm"),
    ("executive", "na_executive_7.25x10.5in"),
    ("ledger", "na_ledger_11x17in"),
    ("legal", "na_legal_8.5x14in"),
    ("letter", "na_letter_8.5x11in"),
    ("statement", "na_invoice_5.5x8.5in"),
    ("tabloid", "na_ledger_11x17in"),
];

/// Gives media the names of IPP, where a job has short ones (`lp -o media=A4`).
pub(super) fn named_as_in_ipp(attribute: &mut Attribute) {
    if attribute.name != "media" {
        return;
    }
    for value in &mut attribute.values {
        let named = value
            .text()
            .and_then(|text| NAMES.iter().find(|(short, _)| text.eq_ignore_ascii_case(short)));
        if let Some((_, name)) = named {
            *value = Value::keyword(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_of_media_are_known() {
        let named = |name: &str, word: &str| {
            let mut attribute = Attribute::new(name, Value::keyword(word));
            named_as_in_ipp(&mut attribute);
            attribute.values[0].text().map(std::borrow::Cow::into_owned)
        };
        assert_eq!(named("media", "A4").as_deref(), Some("iso_a4_210x297mm"));
        assert_eq!(named("media", "Letter").as_deref(), Some("na_letter_8.5x11in"));
        assert_eq!(named("media", "custom_1_1x1mm").as_deref(), Some("custom_1_1x1mm"));
        assert_eq!(named("sides", "a4").as_deref(), Some("a4"));
    }
}
