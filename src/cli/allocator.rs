//! What the allocator keeps for itself.

/// From which length on a block is one of the system's own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD_BYTES: i32 = 256 * 1024;

/// Has large blocks given back to the system when they are free. The allocator would else learn to keep them, and one
/// large message would cost its memory several times over for as long as the server runs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the allocator of C is told by a call alone, which touches no memory of ours")]
pub(super) fn set_mmap_threshold() {
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn set_mmap_threshold() {}
