//! Systems on which nothing is mapped.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::ops::Range;

/// A file in memory: there is none on this system.
#[derive(Debug)]
pub struct Mapping(Infallible);

impl Mapping {
    /// Says that this system is not supported.
    ///
    /// # Errors
    /// Always.
    pub fn of(_: &File) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self.0 {}
    }

    /// Where the zeros begin.
    #[must_use]
    pub fn lost(&self) -> Option<usize> {
        match self.0 {}
    }

    /// Starts to read a part of the file.
    pub fn prefetch(&self, _: Range<usize>) {
        match self.0 {}
    }

    /// Fetches a part of the file.
    pub fn populate(&self, _: Range<usize>) {
        match self.0 {}
    }

    /// Gives a part of the memory back.
    pub fn release(&self, _: Range<usize>) {
        match self.0 {}
    }
}
