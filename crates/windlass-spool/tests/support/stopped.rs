//! A spooler that hands no job to a device, for unit tests and fuzzing.

use std::path::Path;
use std::sync::Arc;

use super::{
    CommandSettings, Device, Durability, Error, Event, PrinterSettings, Rules, Settings, Spooler,
    SpoolerSettings,
};

/// Returns a spooler in memory without jobs, whose printers are stopped. It never breaks, and its
/// events fit in a line.
pub(crate) fn stopped() -> Result<Arc<Spooler>, Error> {
    let stopped =
        |name| PrinterSettings { is_stopped: true, ..PrinterSettings::new(name, Device::Drop) };
    let settings = SpoolerSettings {
        printers: ["a", "b"].map(stopped).to_vec(),
        rules: Rules { max_jobs: Some(100), ..Rules::default() },
        store: Settings { durability: Durability::Memory, most: Some(4 << 20) },
        max_document: Some(1 << 20),
        observer: None,
        commands: CommandSettings::default(),
        converts: false,
        device_logins: Default::default(),
        account: Default::default(),
    };
    Spooler::open(Path::new(""), settings, |event| {
        assert!(!matches!(event, Event::Broken(_)), "{event}");
        assert!(!event.to_string().contains(char::is_control));
    })
}
