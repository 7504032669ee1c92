//! Archives of files: `tar`, plain or in gzip, and `zip`. They are read in memory and within limits, and written the same each time.
//!
//! What is not here: which paths and sizes a pack may have (pack_source/), and where archives come from.

mod read;
mod read_tar;
mod read_zip;
mod write_zip;
mod zip_layout;

pub use read::{ArchiveEntry, ArchiveError, visit_entries};
pub use write_zip::{ZipEntry, write_zip};
