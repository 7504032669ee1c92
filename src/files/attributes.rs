//! The attributes of a file that another one takes along when it replaces it.

use std::ffi::{CStr, CString};
use std::io;

use cap_std::fs::{File, MetadataExt, Permissions, PermissionsExt};
use rustix::fs::{Gid, Uid, XattrFlags, fchown, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fsetxattr};

/// The permissions, without the bits that change the user of a program.
const PERMISSION_BITS: u32 = 0o777;
/// What the kernel drops at each write.
const CAPABILITIES: &CStr = c"security.capability";

/// What is kept of a file.
pub(super) struct FileAttributes {
    mode: u32,
    owner: Option<(u32, u32)>,
    extended: Vec<(CString, Vec<u8>)>,
}

impl FileAttributes {
    /// Those of a file.
    pub(super) fn read(file: &File) -> io::Result<FileAttributes> {
        let meta = file.metadata()?;
        let names = flistxattr_to_end(file).unwrap_or_default();
        let value = |name: CString| Some((getxattr_to_end(file, &name).ok()?, name));
        let extended = names.into_iter().filter(|name| name.as_c_str() != CAPABILITIES).filter_map(value);
        let extended = extended.map(|(value, name)| (name, value)).collect();
        Ok(FileAttributes { owner: Some((meta.uid(), meta.gid())), extended, ..FileAttributes::with_mode(meta.mode()) })
    }

    /// The permissions alone.
    pub(super) fn with_mode(mode: u32) -> FileAttributes {
        FileAttributes { mode: mode & PERMISSION_BITS, owner: None, extended: Vec::new() }
    }

    /// Gives them to a file that only its owner reads so far.
    ///
    /// # Errors
    /// The file would have another owner, or another mode.
    pub(super) fn apply(&self, file: &File) -> io::Result<()> {
        let keeps_group = self.keep_owner(file)?;
        // Another group gets what everyone has.
        let mode = if keeps_group { self.mode } else { (self.mode & !0o070) | ((self.mode & 0o007) << 3) };
        file.set_permissions(Permissions::from_mode(mode))?;
        for (name, value) in self.extended.iter().filter(|_| keeps_group) {
            // Who may replace a file may not set all of them.
            let _ = fsetxattr(file, name.as_c_str(), value, XattrFlags::empty());
        }
        Ok(())
    }

    /// Whether the group is kept too: who is in it decides, and a file keeps its other permissions without.
    fn keep_owner(&self, file: &File) -> io::Result<bool> {
        let Some((user, group)) = self.owner else { return Ok(true) };
        let meta = file.metadata()?;
        if meta.uid() != user {
            fchown(file, Some(Uid::from_raw(user)), None)?;
        }
        Ok(meta.gid() == group || fchown(file, None, Some(Gid::from_raw(group))).is_ok())
    }
}

fn flistxattr_to_end(file: &File) -> io::Result<Vec<CString>> {
    let size = flistxattr_query(file)?;
    let mut bytes = vec![0_u8; size];
    let size = if size == 0 { 0 } else { flistxattr(file, bytes.as_mut_slice())? };
    bytes.truncate(size);
    let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| CString::new(name).ok()).collect())
}

fn getxattr_to_end(file: &File, name: &CStr) -> io::Result<Vec<u8>> {
    let size = fgetxattr_query(file, name)?;
    let mut value = vec![0_u8; size];
    let size = if size == 0 { 0 } else { fgetxattr(file, name, value.as_mut_slice())? };
    value.truncate(size);
    Ok(value)
}
