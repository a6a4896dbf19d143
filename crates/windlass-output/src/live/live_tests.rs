//! Views as screens.

use proptest::prelude::*;
use windlass_base::{Limit, Rate, Span};

use super::*;
use crate::{Column, Style, Text, mark};

/// Returns a view of 90 seconds: limited by the receive window, then loss, then idle. In one second
/// the rate is unknown.
fn transfer(connections: u64) -> View {
    let series = [Series::rate("rate"), Series::bytes("window"), Series::time("RTT")];
    let second = |n: i64| Span::from_millis(n * 1_000);
    let mut view =
        View::new("windlass capture eth0", Some(second(1)), series).with_band().with_table([
            (Column::right("#"), 0),
            (Column::left("from → to").flexible(), 0),
            (Column::right("rate"), 0),
            (Column::right("resent"), 100),
            (Column::left("held by"), 0),
        ]);
    for n in 0..90_i64 {
        let wave = f64::from(u8::try_from(n % 20).unwrap());
        let (rate, limit) = match n {
            0..60 => (250_000.0 + 50_000.0 * wave, Limit::ReceiverWindow),
            60..80 => (100_000.0, Limit::Loss),
            _ => (0.0, Limit::Application),
        };
        let rate = (n != 30).then_some(rate);
        let row = |number: u64| {
            vec![
                Text::from(number),
                Text::from(format!("192.0.2.1:{} → 198.51.100.7:9100", 40_000 + number)),
                Text::default().strong(Rate::from_bytes_per_second(1e6 / number as f64).in_bits()),
                Text::from(number * 3),
                Text::from("receiver-window 62 %"),
            ]
        };
        view.push(ViewInterval {
            from: second(n),
            to: second(n + 1),
            values: vec![rate, Some(65_535.0), Some(0.036 + 0.001 * wave)],
            held: vec![(mark(limit), 0.9), (mark(Limit::CongestionWindow), 0.1)],
            rows: (1..=connections).map(row).collect(),
            state: Text::from(format!("{connections} open, 0 began, 0 ended")),
        });
    }
    view
}

/// Returns a screen, its lines without the spaces at their ends.
fn screen(view: &View, gaze: ViewPosition, size: (usize, usize)) -> String {
    let lines = draw(view, gaze, size).lines;
    lines.iter().map(|line| format!("{}\n", line.plain().trim_end())).collect()
}

#[test]
fn a_screen_of_80_by_24() {
    insta::assert_snapshot!(screen(&transfer(3), ViewPosition::default(), (80, 24)));
}

#[test]
fn a_screen_of_200_by_50() {
    insta::assert_snapshot!(screen(&transfer(3), ViewPosition::default(), (200, 50)));
}

#[test]
fn more_connections_than_rows_scroll_and_a_frozen_view_says_so() {
    let gaze = ViewPosition { scrolled: 5, frozen: true };
    insta::assert_snapshot!(screen(&transfer(40), gaze, (80, 24)));
}

#[test]
fn a_small_screen_keeps_what_matters_most() {
    let small = [(40, 12), (24, 6), (10, 3), (3, 2), (1, 1)];
    let screens = small.map(|(width, height)| {
        let text = screen(&transfer(3), ViewPosition::default(), (width, height));
        format!("{width} x {height}\n{text}")
    });
    insta::assert_snapshot!(screens.join("\n"));
    assert_eq!(screen(&transfer(3), ViewPosition::default(), (0, 0)), "");
}

#[test]
fn what_has_no_table_has_a_larger_plot() {
    let trips = [
        Series::new("round trip", |value| Text::from(Span::from_seconds(value))),
        Series::count("lost"),
    ];
    let mut view = View::new("windlass ping 192.0.2.7", None, trips);
    assert!(screen(&view, ViewPosition::default(), (80, 24)).contains("nothing yet"));
    for n in 0..30_i64 {
        let lost = if n % 10 == 9 { 1.0 } else { 0.0 };
        view.push(ViewInterval {
            from: Span::from_millis(n * 1_000),
            to: Span::from_millis((n + 1) * 1_000),
            values: vec![(lost == 0.0).then_some(0.001 * (n % 7 + 1) as f64), Some(lost)],
            state: Text::from("27 answers of 30"),
            ..ViewInterval::default()
        });
    }
    insta::assert_snapshot!(screen(&view, ViewPosition::default(), (80, 24)));
}

/// Returns the state of a view with room for 9 of 40 rows.
fn shown() -> ViewState {
    let mut shown = ViewState::new(transfer(40), false);
    shown.lines(Size { columns: 80, rows: 24 });
    shown
}

#[test]
fn keys_scroll_no_further_than_there_are_rows() {
    let mut shown = shown();
    let (fits, all) = (shown.fits, 40);
    assert!(fits > 3, "{fits}");
    for (keys, scrolled) in [
        (&[Key::Up][..], 0),
        (&[Key::Down, Key::Letter('j'), Key::Letter('k')], 1),
        (&[Key::PageDown], 1 + fits),
        (&[Key::PageUp, Key::PageUp], 0),
        (&[Key::End, Key::Down], all - fits),
        (&[Key::Letter('g')], 0),
    ] {
        for key in keys {
            assert_eq!(shown.key(*key), Answer::Draw);
        }
        assert_eq!(shown.scrolled, scrolled, "{keys:?}");
    }
    assert_eq!(shown.key(Key::Letter('x')), Answer::Nothing);
    assert_eq!(shown.key(Key::Letter('q')), Answer::End);
    // If there are fewer rows than were scrolled by, all are visible.
    assert_eq!(shown.key(Key::End), Answer::Draw);
    shown.view.rows.truncate(2);
    let lines = shown.lines(Size { columns: 80, rows: 24 });
    assert!(lines.iter().any(|line| line.contains("192.0.2.1:40001")), "{lines:#?}");
}

#[test]
fn a_frozen_view_stands_still_while_intervals_go_on() {
    let mut shown = shown();
    let size = Size { columns: 80, rows: 24 };
    assert_eq!(shown.key(Key::Letter(' ')), Answer::Draw);
    let frozen = shown.lines(size);
    assert!(frozen[0].contains("frozen at 90.0 s"), "{frozen:#?}");
    let stretch = ViewInterval { to: Span::from_millis(91_000), ..ViewInterval::default() };
    shown.view.push(stretch);
    assert_eq!(shown.lines(size), frozen);
    assert_eq!(shown.key(Key::Letter(' ')), Answer::Draw);
    let lines = shown.lines(size);
    assert!(lines[0].contains(" at 91.0 s") && !lines[0].contains("frozen"), "{lines:#?}");
}

#[test]
fn a_name_from_outside_cannot_drive_the_terminal() {
    let title = "a\nb\u{1b}[2Jc\u{7}";
    let series = [Series::count("rate")];
    let mut shown = ViewState::new(View::new(title, None, series), true);
    let lines = shown.lines(Size { columns: 80, rows: 24 });
    assert!(lines[0].contains("a b\\u{1b}[2Jc\\u{7}"), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains(['\n', '\u{7}'])), "{lines:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_view_fits_any_screen(
        width in 0_usize..250,
        height in 0_usize..80,
        scrolled in 0_usize..1_000,
        values in prop::collection::vec(prop::option::of(any::<f64>()), 0..200),
        connections in 0_u64..60,
    ) {
        let mut view = transfer(connections);
        for value in values {
            view.push(ViewInterval {
                values: vec![value; 2],
                held: vec![(mark(Limit::Loss), value.unwrap_or(0.0))],
                state: Text::styled(Style::Warn, "漢字 ".repeat(50)),
                ..ViewInterval::default()
            });
        }
        let drawn = draw(&view, ViewPosition { scrolled, frozen: false }, (width, height));
        prop_assert_eq!(drawn.lines.len(), height);
        for line in &drawn.lines {
            prop_assert!(line.width() <= width, "{}", line.plain());
        }
    }
}
