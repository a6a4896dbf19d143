//! `windlass capture --list-interfaces`: the interfaces of the host.

use serde::Serialize;
use windlass_base::{Bytes, Schema};
use windlass_capture::live::{ListedInterface, interfaces, link_type};
use windlass_output::{Output, Page, Record, Style, Table, Text, figures};

use super::args::CaptureCommand;
use crate::commands::unwritten;

/// The list of interfaces.
#[derive(Debug, Serialize)]
struct Listing {
    schema: Schema,
    interfaces: Vec<InterfaceRow>,
}

/// An interface.
#[derive(Debug, Serialize)]
struct InterfaceRow {
    name: String,
    number: u32,
    up: bool,
    running: bool,
    loopback: bool,
    link_type: String,
    mtu_bytes: Option<u32>,
    link_address: Option<String>,
    addresses: Vec<String>,
}

impl Listing {
    /// The shape of the JSON, described by `schemas/capture-interfaces.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.capture-interfaces", version: 1 };
}

/// Lists the interfaces.
pub(super) fn run(args: &CaptureCommand, output: &mut Output) -> anyhow::Result<()> {
    let interfaces = interfaces(args.netns.as_deref())?;
    let interfaces = interfaces.into_iter().map(InterfaceRow::of).collect();
    output.print(&Listing { schema: Listing::SCHEMA, interfaces }).map_err(unwritten)
}

impl InterfaceRow {
    fn of(listed: ListedInterface) -> Self {
        let link: Vec<String> =
            listed.link_address.iter().map(|byte| format!("{byte:02x}")).collect();
        // A loopback has an address of zeros.
        let has_link = listed.link_address.iter().any(|byte| *byte != 0);
        Self {
            link_type: link_type(listed.framing()).to_string(),
            number: listed.index,
            up: listed.is_up,
            running: listed.is_running,
            loopback: listed.is_loopback,
            mtu_bytes: listed.mtu,
            link_address: has_link.then(|| link.join(":")),
            addresses: listed
                .addresses
                .iter()
                .map(|(address, bits)| format!("{address}/{bits}"))
                .collect(),
            name: listed.name,
        }
    }

    fn state(&self) -> Text {
        match (self.up, self.running) {
            (true, true) => Text::from("up"),
            (true, false) => Text::styled(Style::Warn, "up, no carrier"),
            (false, _) => Text::styled(Style::Dim, "down"),
        }
    }
}

impl Record for Listing {
    fn text(&self, page: &mut Page) {
        let mut table = Table::headed("interface | state | link type | MTU: | addresses");
        for one in &self.interfaces {
            let mut addresses = one.addresses.clone();
            addresses.extend(one.link_address.iter().map(|link| format!("link {link}")));
            table.push([
                Text::default().strong(one.name.as_str()),
                one.state(),
                Text::from(one.link_type.as_str()),
                Text::known(one.mtu_bytes.map(|mtu| figures::size(Bytes::new(mtu.into())))),
                Text::from(addresses.join(", ")),
            ]);
        }
        page.table(&table);
        page.gap();
        page.paragraph("`any` captures on all interfaces.");
    }
}
