//! A file in memory.
//!
//! A [`Mapping`] shows a regular file as bytes, without a copy. Its pages are
//! fetched and given back by window, so a long file takes little memory.
//!
//! A mapped file can lose pages while it is read: it is cut short, or its disk
//! fails. The kernel then sends SIGBUS to whoever touches a lost page, and that
//! ends a program. Here zeros take the place of everything from that page on,
//! and [`Mapping::lost`] tells where they begin. The reader must look at it
//! before it believes what it read.
//!
//! ```
//! use windlass_sys::map::Mapping;
//!
//! let path = std::env::temp_dir().join("windlass-sys-example");
//! std::fs::write(&path, b"some bytes").unwrap();
//! let map = Mapping::of(&std::fs::File::open(&path).unwrap()).unwrap();
//! assert_eq!(map.bytes(), b"some bytes");
//! assert_eq!(map.lost(), None);
//! # std::fs::remove_file(&path).unwrap();
//! ```

mod fault;
mod linux;

pub use linux::Mapping;
