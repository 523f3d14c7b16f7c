//! A policy's heap. An instance serves a single call, so the first bytes are allocated once and never reused.
//!
//! They are part of the module's initial memory: a heap that grows makes the host change page protections twice per
//! call, which costs as much as the rest of the call. Allocations that do not fit go to the usual allocator, which
//! grows and reuses.

#![expect(unsafe_code, reason = "an allocator needs unsafe code")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};

/// The bytes that are allocated once. A call of host-local needs a few thousand.
const ONCE: usize = 64 << 10;

/// The alignment of these bytes; the usual allocator serves blocks that need more.
const ALIGNMENT: usize = align_of::<HeapBytes>();

#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
compile_error!(
    "this heap is for a single thread: build without `atomics`, or depend on the SDK without its feature `heap`"
);

#[cfg(target_family = "wasm")]
#[global_allocator]
static HEAP: Heap = Heap::new();

#[repr(align(16))]
struct HeapBytes(UnsafeCell<[u8; ONCE]>);

struct Heap {
    once: HeapBytes,
    used: Cell<usize>,
}

// SAFETY: a policy has one thread, as checked above; on other targets nothing is shared.
unsafe impl Sync for Heap {}

impl Heap {
    const fn new() -> Self {
        Self { once: HeapBytes(UnsafeCell::new([0; ONCE])), used: Cell::new(0) }
    }

    fn start(&self) -> *mut u8 {
        self.once.0.get().cast()
    }

    /// Allocates the next bytes, if enough are left.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let begin = self.used.get().next_multiple_of(layout.align());
        let end = begin.checked_add(layout.size())?;
        if layout.align() > ALIGNMENT || end > ONCE {
            return None;
        }
        self.used.set(end);
        Some(self.start().wrapping_add(begin))
    }

    fn has(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.start().addr()) < ONCE
    }
}

// SAFETY: blocks of the array are disjoint, because `used` only grows, and they are aligned as requested; all other
// blocks came from the usual allocator.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        self.take(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !self.has(block) {
            // SAFETY: it is not in the array, so the usual allocator has allocated it.
            unsafe { System.dealloc(block, layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_are_aligned_and_do_not_overlap() {
        let heap = Heap::new();
        let mut end = heap.start().addr();
        for (size, align) in [(1, 1), (8, 8), (3, 2), (16, 16), (1, 4)] {
            let block = heap.take(layout(size, align)).unwrap();
            assert!(block.addr() >= end && block.addr().is_multiple_of(align), "{size} at {align}");
            assert!(heap.has(block));
            end = block.addr() + size;
        }
    }

    #[test]
    fn what_does_not_fit_is_the_usual_allocators() {
        let heap = Heap::new();
        let most = layout(ONCE, 1);
        let first = heap.take(most).unwrap();
        assert!(heap.take(layout(1, 1)).is_none(), "all of it is allocated");
        // SAFETY: each block is freed once, with the layout that it was allocated with.
        unsafe {
            let other = heap.alloc(most);
            other.write_bytes(7, ONCE);
            assert!(!heap.has(other) && first.read() == 0);
            heap.dealloc(first, most);
            heap.dealloc(other, most);
        }
        assert!(heap.take(layout(1, 1)).is_none(), "nothing is reused");
    }

    #[test]
    fn a_block_on_a_page_of_its_own_is_not_taken_from_it() {
        assert!(Heap::new().take(layout(4096, 4096)).is_none());
    }
}
