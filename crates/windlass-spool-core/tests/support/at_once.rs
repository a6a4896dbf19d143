//! Completion of a request with a document, for unit tests and fuzzing.

use super::{Context, ExpectedDocument, FiledDocument, Goal, JobTable, Message};

/// Returns the answer for a document of ten bytes that is durable at once.
pub(crate) fn at_once(
    receive: &ExpectedDocument,
    table: &mut JobTable<u64>,
    context: &Context<'_>,
) -> Message {
    let filed = FiledDocument { document: 10, name: receive.name.clone() };
    let done = match &receive.goal {
        Goal::New { place, ticket } => {
            Ok(table.file(*place, ticket.clone(), vec![filed], context.now))
        }
        Goal::More { id, is_last } => {
            table.add(*id, Some(filed), *is_last, context.now).map(|()| *id)
        }
    };
    if let Ok(id) = done {
        table.made_durable(id);
    }
    receive.answer(done, table, context)
}
