//! How tenure locks, in the one place that says what a panic under a lock means.
//!
//! A lock is poisoned when a thread panics while holding it. No code of tenure leaves a value half-changed under a lock, and the panic
//! itself is reported where its thread or task ends; so the next thread may use the value.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Locks a mutex, ignoring poison.
pub fn hold<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, ignoring poison.
pub fn hold_shared<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, ignoring poison.
pub fn hold_exclusive<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, RwLock};
    use std::thread;

    use super::{hold, hold_exclusive, hold_shared};

    #[test]
    fn a_value_is_used_after_a_panic_under_its_lock() {
        let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
        let panics = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let (_mutex, _lock) = (hold(&mutex), hold_exclusive(&lock));
                panic!("on purpose");
            });
            thread.join().is_err()
        });
        assert!(panics && mutex.is_poisoned() && lock.is_poisoned());
        *hold(&mutex) += 1;
        *hold_exclusive(&lock) += 1;
        assert_eq!((*hold(&mutex), *hold_shared(&lock)), (2, 2));
    }
}
