//! The situations, by what limits them.

mod application;
mod awaits;
mod congestion;
mod path;
mod programs;
mod reader;
mod stack;
mod window;

use crate::situation::Situation;

/// All situations.
pub(crate) fn all() -> impl Iterator<Item = &'static Situation> {
    let of_roles = [application::ALL, awaits::ALL, reader::ALL, window::ALL];
    let of_paths = [congestion::ALL, path::ALL, programs::ALL, stack::ALL];
    of_roles.into_iter().chain(of_paths).flatten()
}
