//! Tunes malloc to return to the system what is not used.

/// The size from which malloc maps blocks separately.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD_BYTES: i32 = 256 * 1024;

/// Returns large blocks to the system when they are freed. By default malloc raises this threshold, and one large message
/// would occupy its memory several times over for as long as the server runs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "mallopt is a C function, and touches no memory of ours")]
pub(crate) fn set_mmap_threshold() {
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn set_mmap_threshold() {}

/// Returns what is free between other blocks, as after a load. Takes some milliseconds where that is much.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "malloc_trim is a C function, and touches no memory of ours")]
pub(crate) fn return_free_memory() {
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_free_memory() {}
