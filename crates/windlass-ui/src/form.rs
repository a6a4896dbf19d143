//! Fields of a form or of a query (`application/x-www-form-urlencoded`).

use windlass_wire::escape;

/// Maximum number of fields; later ones are ignored.
const MOST: usize = 200;

/// Fields with their names, in the order of the form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads the fields. Bytes that are not UTF-8 become U+FFFD.
    pub fn read(text: &str) -> Self {
        let undone = |text: &str| escape::undone(&text.replace('+', " "));
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(MOST);
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (undone(name), undone(value))
        });
        Self(pairs.collect())
    }

    /// Creates fields that are already decoded.
    pub(crate) fn of(pairs: Vec<(String, String)>) -> Self {
        Self(pairs.into_iter().take(MOST).collect())
    }

    /// Returns the first value of a name, without surrounding spaces; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Returns all values of a name.
    pub fn all<'a, 'b>(&'a self, name: &'b str) -> impl Iterator<Item = &'a str> + use<'a, 'b> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.trim())
    }

    /// Returns whether there is a field of a name, even an empty one.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_what_a_browser_makes_of_a_form() {
        let fields = Fields::read("host=a%2Eb&note=it+is+%26%3D+%25&run=x&run=y&empty=&bare");
        assert_eq!((fields.text("host"), fields.text("note")), ("a.b", "it is &= %"));
        assert_eq!(fields.all("run").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!((fields.text("empty"), fields.text("bare"), fields.text("no")), ("", "", ""));
        assert!(fields.has("empty") && fields.has("bare") && !fields.has("no"));
        assert_eq!(Fields::read("a=%ff%00").text("a"), "\u{fffd}\0");
    }

    proptest! {
        #[test]
        fn any_text_is_fields(text in "[a-z%&=+;\u{0}ü]{0,80}") {
            prop_assert!(Fields::read(&text).0.len() <= MOST);
        }
    }
}
