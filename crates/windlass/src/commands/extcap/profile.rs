//! A Wireshark profile: columns for transfers, colours and buttons for the notes of `windlass
//! explain --annotate`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use windlass_base::Failure;

use super::folders;
use super::own::{PathContents, look};
use crate::files::WholeFile;

/// Name of the profile.
const NAME: &str = "windlass";

/// First line of each of its files, which marks them.
const MARK: &str = "# A profile of windlass: `windlass extcap --install --profile` writes it, \
                    `--uninstall` removes it.";

/// Files of the profile, as Wireshark names them.
const FILES: [(&str, &str); 3] = [
    ("preferences", include_str!("profile/preferences")),
    ("colorfilters", include_str!("profile/colorfilters")),
    ("dfilter_buttons", include_str!("profile/dfilter_buttons")),
];

/// Hint after an installation without the profile.
pub(super) const OFFER: &str = "For captures with notes (windlass explain --annotate), a profile \
                                with columns, colours and buttons: windlass extcap --install \
                                --profile\n";

/// Writes the profile; returns a message with its path.
pub(super) fn put(settings: Option<&Path>) -> Result<String, Failure> {
    let folder = place(settings)?;
    let doing = |path: &Path| format!("cannot write {}", path.display());
    let unwritable = |path: &Path, error: io::Error| {
        Failure::new(doing(path), error)
            .advise("Check the permission to write there, or give --settings.")
    };
    let paths = FILES.map(|(name, text)| (folder.join(name), text));
    for (path, _) in &paths {
        let there = look(path, |text| text.lines().next() == Some(MARK));
        if there.map_err(|error| unwritable(path, error))? == PathContents::Other {
            let wrong = "the file exists, and windlass has not written it or it was changed since";
            return Err(Failure::new(doing(path), wrong).advise(
                "To keep that profile, rename it in Wireshark (Edit > Configuration Profiles).",
            ));
        }
    }
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, error))?;
    for (path, text) in &paths {
        let write = || {
            let file = WholeFile::create(path)?;
            file.writer()?.write_all(text.as_bytes())?;
            file.take_name()
        };
        write().map_err(|error| unwritable(path, error))?;
    }
    Ok(format!(
        "{} has columns, colours and buttons\n\
         Choose the profile `{NAME}` at the right of Wireshark's status bar; in a terminal: \
         tshark -C {NAME}\n",
        folder.display()
    ))
}

/// Removes the profile; returns a message on removed and remaining files.
pub(super) fn take(settings: Option<&Path>) -> Result<String, Failure> {
    let folder = place(settings)?;
    let (mut removed, mut told) = (false, String::new());
    for (name, _) in FILES {
        let path = folder.join(name);
        let wrong =
            |error: io::Error| Failure::new(format!("cannot remove {}", path.display()), error);
        match look(&path, |text| text.lines().next() == Some(MARK)).map_err(wrong)? {
            PathContents::Nothing => {}
            PathContents::Other => {
                told += &format!(
                    "Kept {}: it was changed, or windlass has not written it\n",
                    path.display()
                );
            }
            PathContents::Own => {
                fs::remove_file(&path).map_err(wrong)?;
                removed = true;
            }
        }
    }
    if removed {
        // Other files in the folder are the user's; they keep the folder.
        let _ = fs::remove_dir(&folder);
        told = format!("Removed the profile in {}\n{told}", folder.display());
    }
    Ok(told)
}

fn place(settings: Option<&Path>) -> Result<PathBuf, Failure> {
    let settings = match settings {
        Some(settings) => settings.to_owned(),
        None => folders::settings()?,
    };
    Ok(settings.join("profiles").join(NAME))
}

#[cfg(test)]
mod tests {
    use windlass_base::{Bytes, Span};
    use windlass_trace::{Note, note::Trigger};

    use super::*;

    /// Returns the words by which rules recognize a note.
    fn known_words() -> Vec<&'static str> {
        let (_, rules) = FILES[1];
        let of_windlass = rules.lines().filter(|line| line.starts_with("@windlass: "));
        of_windlass
            .flat_map(|rule| rule.split("frame.comment contains \"").skip(1))
            .filter_map(|rest| rest.split_once('"'))
            .map(|(words, _)| words)
            .collect()
    }

    /// Returns the note after this one, so that none is left out.
    fn next(note: Option<Note>) -> Option<Note> {
        let (window, span, count) = (Bytes::new(2_920), Span::from_micros(9_000), 1);
        let Some(note) = note else { return Some(Note::SynAgain) };
        let again = |trigger| Some(Note::Retransmission { of: Some(7), trigger });
        match note {
            Note::SynAgain => Some(Note::WindowFilled { window }),
            Note::WindowFilled { .. } => Some(Note::AckAfter { latency: span, answers: 5 }),
            Note::AckAfter { .. } => Some(Note::WindowClosed { left: Bytes::ZERO }),
            Note::WindowClosed { left: Bytes::ZERO } => Some(Note::WindowClosed { left: window }),
            Note::WindowClosed { .. } => {
                Some(Note::WindowOpens { after: span, window, when_probed: true })
            }
            Note::WindowOpens { .. } => Some(Note::Probe { count }),
            Note::Probe { .. } => Some(Note::StillClosed),
            Note::StillClosed => Some(Note::KeepAlive),
            Note::KeepAlive => again(Trigger::Fast),
            Note::Retransmission { trigger: Trigger::Fast, .. } => again(Trigger::Timer),
            Note::Retransmission { trigger: Trigger::Timer, .. } => again(Trigger::Needless),
            Note::Retransmission { trigger: Trigger::Needless, .. } => again(Trigger::Copy),
            Note::Retransmission { trigger: Trigger::Copy, .. } => again(Trigger::OfCopies),
            Note::Retransmission { trigger: Trigger::OfCopies, .. } => again(Trigger::Early),
            Note::Retransmission { trigger: Trigger::Early, .. } => again(Trigger::TooLarge),
            Note::Retransmission { trigger: Trigger::TooLarge, .. } => {
                Some(Note::OutOfOrder { late: span })
            }
            Note::OutOfOrder { .. } => Some(Note::DuplicateAck { count }),
            Note::DuplicateAck { .. } => Some(Note::CapturedTwice { of: 7 }),
            Note::CapturedTwice { .. } => Some(Note::NotCaptured { missing: window }),
            Note::NotCaptured { .. } => Some(Note::WasIdle { idle: span }),
            Note::WasIdle { .. } => Some(Note::GotTwice),
            Note::GotTwice => Some(Note::SuperPacket { segments: 3 }),
            Note::SuperPacket { .. } => None,
        }
    }

    #[test]
    fn each_note_has_a_colour_and_each_rule_a_note() {
        let words = known_words();
        let notes = std::iter::successors(next(None), |note| next(Some(*note)));
        let notes: Vec<String> = notes.map(|note| note.to_string()).collect();
        for note in &notes {
            assert!(words.iter().any(|words| note.contains(words)), "{note}");
        }
        for words in words {
            assert!(notes.iter().any(|note| note.contains(words)), "{words}");
        }
    }

    #[test]
    fn each_file_is_known_by_its_first_line() {
        for (name, text) in FILES {
            assert_eq!(text.lines().next(), Some(MARK), "{name}");
        }
    }

    #[test]
    fn it_goes_as_it_came_and_what_is_not_its_own_stays() {
        let settings = tempfile::tempdir().unwrap();
        let folder = settings.path().join("profiles/windlass");
        let there = || fs::read_dir(&folder).map(Iterator::count).unwrap_or_default();
        assert_eq!(take(Some(settings.path())).unwrap(), "");
        for _ in 0..2 {
            assert!(put(Some(settings.path())).unwrap().contains("tshark -C windlass"));
            assert_eq!(there(), FILES.len());
        }
        assert!(take(Some(settings.path())).unwrap().starts_with("Removed"));
        assert!(!folder.exists());
        // Wireshark writes a file anew when its user changes something.
        put(Some(settings.path())).unwrap();
        let changed = folder.join("preferences");
        fs::write(&changed, "# Configuration file for Wireshark\n").unwrap();
        assert!(put(Some(settings.path())).unwrap_err().to_string().contains("changed since"));
        assert!(take(Some(settings.path())).unwrap().contains("Kept"));
        assert_eq!(there(), 1);
    }
}
