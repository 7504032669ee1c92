//! Tunes malloc: for loads of many files, and to return to the system what is not used.

/// The size from which malloc maps blocks separately, and returns them when they are freed. By default malloc raises it,
/// and one large message would occupy its memory several times over for as long as the server runs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD_BYTES: i32 = 256 * 1024;

/// How much more than it needs malloc asks the system for. By default that is so little that a load of many files asks
/// thousands of times.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TOP_PAD_BYTES: i32 = 1024 * 1024;

/// Sets these two. To be called before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "mallopt is a C function, and touches no memory of ours")]
pub(crate) fn tune_allocator() {
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        libc::mallopt(libc::M_TOP_PAD, TOP_PAD_BYTES);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn tune_allocator() {}

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
