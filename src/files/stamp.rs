//! What tells one version of a file from another without reading it.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::digest::sha256;

/// The identity, size and times of a file at one moment, with links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
    changed: SystemTime,
}

impl FileStamp {
    /// The stamp of an open folder's entry.
    pub(super) fn beneath_folder(metadata: &cap_std::fs::Metadata) -> FileStamp {
        use cap_std::fs::MetadataExt as _;
        FileStamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            changed: system_time(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The stamp of a file in memory, which is another file once it has other bytes.
    pub(super) fn in_memory(bytes: &[u8]) -> FileStamp {
        let inode = sha256(bytes).first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        FileStamp { device: 0, inode, size: bytes.len() as u64, modified: None, changed: SystemTime::UNIX_EPOCH }
    }

    /// Whether the file changed so shortly before its stamp was read, at a time between these, that another change of
    /// the same size, within the same tick of the clock of the file system, would give the same stamp.
    pub fn is_ambiguous_between(&self, began: SystemTime, ended: SystemTime) -> bool {
        let tick = clock_granularity(self.changed);
        let is_recent = self.changed.checked_add(tick).is_none_or(|latest| latest > began);
        // A clock that runs ahead is not a reason to doubt a file for ever.
        is_recent && ended.checked_add(tick).is_none_or(|latest| self.changed < latest)
    }
}

impl From<&fs::Metadata> for FileStamp {
    fn from(metadata: &fs::Metadata) -> FileStamp {
        use std::os::unix::fs::MetadataExt as _;
        FileStamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: metadata.modified().ok(),
            changed: change_time(metadata),
        }
    }
}

/// The ctime of a file, which programs cannot set, unlike the mtime.
pub fn change_time(metadata: &fs::Metadata) -> SystemTime {
    use std::os::unix::fs::MetadataExt as _;
    system_time(metadata.ctime(), metadata.ctime_nsec())
}

/// How far the clock of the file system may lag behind: the tick of the kernel, or that of file systems with whole
/// seconds (on FAT, even ones).
pub fn clock_granularity(time: SystemTime) -> Duration {
    let fraction = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    if fraction == 0 { Duration::from_secs(2) } else { Duration::from_millis(20) }
}

fn system_time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
    let since = Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds);
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_is_ambiguous_within_clock_granularity() {
        let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let stamp = |changed| FileStamp { changed, ..FileStamp::in_memory(b"") };
        let fresh = |changed, taken| stamp(changed).is_ambiguous_between(taken, taken);
        let fine = second + Duration::from_millis(1);
        assert!(fresh(fine, fine + Duration::from_millis(4)));
        assert!(!fresh(fine, fine + Duration::from_millis(50)));
        assert!(fresh(second, second + Duration::from_secs(1)));
        assert!(!fresh(second, second + Duration::from_secs(3)));
        assert!(!fresh(second + Duration::from_secs(3600), second), "a clock that runs ahead");
        let long = fine + Duration::from_secs(5);
        assert!(stamp(fine + Duration::from_secs(4)).is_ambiguous_between(fine, long), "while many stamps are read");
    }

    #[test]
    fn stamp_of_a_file_is_the_same_in_every_way() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("a.md");
        fs::write(&path, "text").unwrap();
        let folder = crate::files::Folder::open(temporary.path()).unwrap();
        let stamp = FileStamp::from(&fs::metadata(&path).unwrap());
        let open = folder.open_file("a.md".as_ref()).unwrap();
        assert_eq!(open.stamp(), stamp);
        assert_eq!(folder.stat("a.md".as_ref()).unwrap().stamp, stamp);
        let globs = crate::files::Globs::new(&["*.md"], &[]).unwrap();
        assert_eq!(folder.walk(&globs, 9).unwrap()[0].stamp, stamp);
    }
}
