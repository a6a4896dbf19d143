//! Requests to an IPP server without documents.

use std::time::Duration;

use windlass_wire::ipp::{Attribute, CharKind, Message, Operation, Value, Version};
use windlass_wire::target::Target;

use crate::dial::Dial;
use crate::error::Error;
use crate::ipp::Client;
use crate::monitor::Monitor;

/// Client that asks a server over a persistent connection.
pub struct Asker<'a> {
    client: Client<'a>,
    user: &'a str,
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker").field("user", &self.user).finish_non_exhaustive()
    }
}

impl<'a> Asker<'a> {
    /// Makes a client of a server, for a user. `patience` limits an answer.
    pub fn new(
        server: &'a Target,
        user: &'a str,
        monitor: &'a Monitor,
        dial: &'a Dial<'a>,
        patience: Duration,
    ) -> Self {
        Self { client: Client::new(server, monitor, dial, patience), user }
    }

    /// Returns a request about a printer, or about the server, by its URI.
    pub fn request(&mut self, operation: Operation, uri: &str) -> Message {
        self.about(Some(("printer-uri", uri)), operation)
    }

    /// Returns a request to the path of a queue, about this queue; about no queue, if it asks for
    /// all printers.
    pub(crate) fn request_at(&mut self, operation: Operation, queue: &Target) -> Message {
        self.client.at(queue);
        let uri = queue.uri();
        let is_of_all = operation == Operation::CUPS_GET_PRINTERS;
        self.about((!is_of_all).then_some(("printer-uri", &uri)), operation)
    }

    /// Returns a request about a job, by its URI.
    pub fn request_of_job(&mut self, operation: Operation, uri: &str) -> Message {
        self.about(Some(("job-uri", uri)), operation)
    }

    /// Returns a request about a job of a printer, by its number.
    pub fn request_of_number(&mut self, operation: Operation, printer: &str, id: i32) -> Message {
        let mut request = self.request(operation, printer);
        // The number must follow the printer (RFC 8011, section 4.1.5).
        if let Some(group) = request.groups.first_mut() {
            let place = group.attributes.iter().position(|one| one.name == "printer-uri");
            let place = place.map_or(group.attributes.len(), |place| place + 1);
            group.attributes.insert(place, Attribute::new("job-id", Value::Integer(id)));
        }
        request
    }

    fn about(&mut self, what: Option<(&str, &str)>, operation: Operation) -> Message {
        let mut request = Message::request(Version(2, 0), operation, self.client.next_id());
        if let Some((name, uri)) = what {
            request.add(name, Value::chars(CharKind::Uri, uri));
        }
        request.add("requesting-user-name", Value::chars(CharKind::Name, self.user));
        request
    }

    /// Sends a request, and returns the answer.
    ///
    /// # Errors
    /// Fails without an answer, or if the server refuses.
    pub fn ask(&mut self, request: &Message) -> Result<Message, Error> {
        self.client.ask(request).map(|(_, answer)| answer)
    }
}
