//! Packs of git repositories and archives: their source, their lock file, their cache, and how they are fetched.
//!
//! A fetched pack is a [`PackTree`] with a [`TreeDigest`], kept in a [`PackCache`] under that digest; a [`PackLock`] says
//! which digest each pack has. What is not here: how a pack is loaded (load/), and the commands (cli/).

mod archive_pack;
mod archive_source;
mod cache;
mod git;
mod lock;
mod marketplace;
mod source;
mod text_check;
mod tree;
mod tree_digest;

pub use archive_pack::{
    ArchiveDownloads, ArchiveListing, ArchivePackError, UnpackedArchive, list_archive, unpack_archive,
};
pub use archive_source::{ArchiveSource, archive_sha256, check_archive_folder, check_archive_url, check_sha256};
pub use cache::{CacheError, PackCache};
pub use git::{GitAccess, RepositoryListing, fetch_pack, list_repository, remote_commit};
pub use lock::{LOCK_NAME, LockMismatch, LockedPack, PackLock, TrustRecord, is_pack_key};
pub use marketplace::{MARKETPLACE_FILES, Plugin, PluginSource, plugins, repository_url};
pub use source::{GitSource, PackHosts, PackSource, SourceError, check_folder, check_revision, check_url};
pub use text_check::{suspicious_files, text_of};
pub use tree::PackTree;
pub use tree_digest::TreeDigest;
