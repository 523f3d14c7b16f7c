//! A policy's heap. An instance lives for one call, so the first memory is handed out once and never taken back.
//!
//! It is part of the module's own memory: a heap that grows makes the host change page protections twice for each call,
//! which costs as much as the rest of the call. What does not fit goes to the usual allocator, which grows and reuses.

#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};

/// Bytes that are handed out once. A call of host-local takes a few thousand.
const ONCE: usize = 64 << 10;

/// How the bytes are aligned; a block that wants more is left to the usual allocator.
const ALIGNMENT: usize = align_of::<Bytes>();

#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
compile_error!(
    "this heap is for one thread: build without `atomics`, or depend on the SDK without its feature `heap`"
);

#[cfg(target_family = "wasm")]
#[global_allocator]
static HEAP: Heap = Heap::new();

#[repr(align(16))]
struct Bytes(UnsafeCell<[u8; ONCE]>);

struct Heap {
    once: Bytes,
    used: Cell<usize>,
}

// SAFETY: a policy has one thread, as is checked above; elsewhere nothing is shared.
unsafe impl Sync for Heap {}

impl Heap {
    const fn new() -> Self {
        Self { once: Bytes(UnsafeCell::new([0; ONCE])), used: Cell::new(0) }
    }

    fn start(&self) -> *mut u8 {
        self.once.0.get().cast()
    }

    /// Takes the next bytes, if there are enough.
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

// SAFETY: blocks of the array are disjoint, because `used` only grows, and as aligned as they must be; what is not in
// the array was the usual allocator's from the beginning.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is handed on.
        self.take(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !self.has(block) {
            // SAFETY: it is not of the array, so it came from there.
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
        assert!(heap.take(layout(1, 1)).is_none(), "it was handed out whole");
        // SAFETY: the layouts are those that the blocks were made with, and each is freed once.
        unsafe {
            let other = heap.alloc(most);
            other.write_bytes(7, ONCE);
            assert!(!heap.has(other) && first.read() == 0);
            heap.dealloc(first, most);
            heap.dealloc(other, most);
        }
        assert!(heap.take(layout(1, 1)).is_none(), "nothing is taken back");
    }

    #[test]
    fn a_block_on_a_page_of_its_own_is_not_taken_from_it() {
        assert!(Heap::new().take(layout(4096, 4096)).is_none());
    }
}
