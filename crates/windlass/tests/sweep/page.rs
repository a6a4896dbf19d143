//! The page of a sweep as a browser shows it: on a telephone, a tablet and a desk.
//!
//! The page runs no scripts.

use windlass_testkit::browser::{LEAST_LETTERS, WIDTHS, shown};
use windlass_testkit::{has, run, told};

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
            let all = shown(&page, folder.path(), dark, "");
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
