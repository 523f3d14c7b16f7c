;; The WASI of a policy: it denies everything, and lets the policy speak.
;;
;; What a language's runtime needs at its start has an answer that is the same in each call on any node: no arguments, no environment,
;; randomness that is all zeroes, and a clock that stands still and that only waiting puts forward. Lines written to the standard output
;; are `info` in the daemon's log, those of the standard error `warn`. All else fails with ENOSYS.
;;
;; A text of the interface is UTF-8, and what a program writes need not be: a byte that is not UTF-8 is logged as `\xff`, since a text with it would
;; fail the call without a word of what was written. A line that is too long ends with a whole character and `…`.
;;
;; An adapter has no memory of its own. The line that is being written is kept in the first KiB of the policy's, where nothing is: LLVM's
;; linker begins its data at 1024, or has the far end of the stack there, and Go's begins beyond 4096.
(module
  (import "env" "memory" (memory 0))
  (import "tenure:ipam/log@0.1.0-rc.1" "write" (func $log (param $level i32) (param i32 i32) (param $text i32) (param $bytes i32)))

  ;; The bytes of the line so far; it begins at 64 and has at most 896.
  (global $used (mut i32) (i32.const 0))
  ;; Whether more was written than the line has.
  (global $cut (mut i32) (i32.const 0))
  ;; Whether a panic was told. The stack trace that follows is for `debug`, so that the panic stays the last warning.
  (global $panicked (mut i32) (i32.const 0))
  ;; Nanoseconds of every clock. It does not begin at zero, since Go takes that for a broken clock.
  (global $now (mut i64) (i64.const 1))

  (func $put (param $byte i32) (param $file i32)
    (if (i32.eq (local.get $byte) (i32.const 10)) (then (call $flush (local.get $file)) (return)))
    (if (i32.ge_u (global.get $used) (i32.const 896)) (then (global.set $cut (i32.const 1)) (return)))
    (i32.store8 offset=64 (global.get $used) (local.get $byte))
    (global.set $used (i32.add (global.get $used) (i32.const 1))))

  (func $flush (param $file i32) (local $level i32)
    (if (i32.eqz (global.get $used)) (then (return)))
    (call $decode)
    (local.set $level (local.get $file))
    (if (global.get $panicked)
      (then (local.set $level (i32.const 0)))
      (else
        (global.set $panicked
          (i32.or
            ;; "panic: " and any byte; "fatal er"
            (i64.eq (i64.and (i64.load (i32.const 64)) (i64.const 0x00ffffffffffffff)) (i64.const 0x00203a63696e6170))
            (i64.eq (i64.load (i32.const 64)) (i64.const 0x7265206c61746166))))))
    (call $log (local.get $level) (i32.const 0) (i32.const 0) (i32.const 64) (global.get $used))
    (global.set $cut (i32.const 0))
    (global.set $used (i32.const 0)))

  ;; Makes the line UTF-8.
  (func $decode (local $at i32) (local $left i32) (local $length i32)
    (local.set $at (i32.const 64))
    (loop $next
      (local.set $left (i32.sub (i32.add (global.get $used) (i32.const 64)) (local.get $at)))
      (if (local.get $left)
        (then
          (local.set $length (call $character (local.get $at) (local.get $left)))
          (if (i32.eqz (local.get $length))
            (then
              (if (i32.and
                    (i32.lt_u (local.get $left) (i32.const 4))
                    (i32.or (global.get $cut) (i32.gt_u (global.get $used) (i32.const 893))))
                ;; The beginning of a character that the line has no room for.
                (then (call $end (i32.sub (local.get $at) (i32.const 64))) (br $next)))
              (if (i32.gt_u (global.get $used) (i32.const 893))
                ;; Room for three more bytes.
                (then (call $end (i32.const 893)) (br $next)))
              (call $escape (local.get $at) (local.get $left))
              (local.set $length (i32.const 4))))
          (local.set $at (i32.add (local.get $at) (local.get $length)))
          (br $next))))
    (if (global.get $cut)
      (then
        ;; `…`
        (i32.store offset=64 (global.get $used) (i32.const 0xa680e2))
        (global.set $used (i32.add (global.get $used) (i32.const 3))))))

  ;; Ends the line after so many bytes.
  (func $end (param $used i32)
    (global.set $cut (i32.const 1))
    (global.set $used (local.get $used)))

  ;; Replaces a byte, the first of so many that are left, by `\x` and its two digits.
  (func $escape (param $at i32) (param $left i32) (local $byte i32)
    (local.set $byte (i32.load8_u (local.get $at)))
    (memory.copy
      (i32.add (local.get $at) (i32.const 4))
      (i32.add (local.get $at) (i32.const 1))
      (i32.sub (local.get $left) (i32.const 1)))
    (i32.store16 (local.get $at) (i32.const 0x785c))
    (i32.store8 offset=2 (local.get $at) (call $digit (i32.shr_u (local.get $byte) (i32.const 4))))
    (i32.store8 offset=3 (local.get $at) (call $digit (i32.and (local.get $byte) (i32.const 15))))
    (global.set $used (i32.add (global.get $used) (i32.const 3))))

  (func $digit (param $value i32) (result i32)
    (i32.add (local.get $value) (select (i32.const 87) (i32.const 48) (i32.gt_u (local.get $value) (i32.const 9)))))

  ;; The bytes of the character that begins here, or 0 if none does that is whole and UTF-8 (table 3-7 of the Unicode standard).
  (func $character (param $at i32) (param $left i32) (result i32) (local $first i32) (local $length i32) (local $low i32) (local $high i32)
    (local.set $first (i32.load8_u (local.get $at)))
    (if (i32.lt_u (local.get $first) (i32.const 0x80)) (then (return (i32.const 1))))
    (if (i32.or (i32.lt_u (local.get $first) (i32.const 0xc2)) (i32.gt_u (local.get $first) (i32.const 0xf4)))
      (then (return (i32.const 0))))
    (local.set $length (i32.add (i32.const 2)
      (i32.add (i32.ge_u (local.get $first) (i32.const 0xe0)) (i32.ge_u (local.get $first) (i32.const 0xf0)))))
    (if (i32.gt_u (local.get $length) (local.get $left)) (then (return (i32.const 0))))
    (local.set $low (select (i32.const 0xa0) (i32.const 0x80) (i32.eq (local.get $first) (i32.const 0xe0))))
    (local.set $low (select (i32.const 0x90) (local.get $low) (i32.eq (local.get $first) (i32.const 0xf0))))
    (local.set $high (select (i32.const 0x9f) (i32.const 0xbf) (i32.eq (local.get $first) (i32.const 0xed))))
    (local.set $high (select (i32.const 0x8f) (local.get $high) (i32.eq (local.get $first) (i32.const 0xf4))))
    (if (i32.gt_u
          (i32.sub (i32.load8_u offset=1 (local.get $at)) (local.get $low))
          (i32.sub (local.get $high) (local.get $low)))
      (then (return (i32.const 0))))
    (if (i32.gt_u (local.get $length) (i32.const 2))
      (then (if (i32.ne (i32.and (i32.load8_u offset=2 (local.get $at)) (i32.const 0xc0)) (i32.const 0x80)) (then (return (i32.const 0))))))
    (if (i32.gt_u (local.get $length) (i32.const 3))
      (then (if (i32.ne (i32.and (i32.load8_u offset=3 (local.get $at)) (i32.const 0xc0)) (i32.const 0x80)) (then (return (i32.const 0))))))
    (local.get $length))

  ;; The numbers of the files are those of the levels: 1 is `info`, 2 is `warn`.
  (func (export "fd_write") (param $file i32) (param $pieces i32) (param $count i32) (param $written i32) (result i32)
    (local $at i32) (local $end i32) (local $total i32)
    (if (i32.gt_u (i32.sub (local.get $file) (i32.const 1)) (i32.const 1)) (then (return (i32.const 8))))
    (loop $piece
      (if (local.get $count)
        (then
          (local.set $at (i32.load (local.get $pieces)))
          (local.set $end (i32.add (local.get $at) (i32.load offset=4 (local.get $pieces))))
          (local.set $total (i32.add (local.get $total) (i32.load offset=4 (local.get $pieces))))
          (loop $byte
            (if (i32.lt_u (local.get $at) (local.get $end))
              (then
                (call $put (i32.load8_u (local.get $at)) (local.get $file))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br $byte))))
          (local.set $pieces (i32.add (local.get $pieces) (i32.const 8)))
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (br $piece))))
    (i32.store (local.get $written) (local.get $total))
    (i32.const 0))

  ;; A policy that ends itself fails its call.
  (func (export "proc_exit") (param i32) (call $flush (i32.const 2)) (unreachable))

  (func $none (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0)) (i32.store (local.get $bytes) (i32.const 0)) (i32.const 0))
  (func (export "args_sizes_get") (param i32 i32) (result i32) (call $none (local.get 0) (local.get 1)))
  (func (export "environ_sizes_get") (param i32 i32) (result i32) (call $none (local.get 0) (local.get 1)))
  (func (export "args_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "clock_res_get") (param i32) (param $to i32) (result i32)
    (i64.store (local.get $to) (i64.const 1)) (i32.const 0))
  (func (export "clock_time_get") (param i32 i64) (param $to i32) (result i32)
    (i64.store (local.get $to) (global.get $now)) (i32.const 0))
  ;; Whoever waits for a time has waited: the clock is put forward. The first subscription counts; its event is the only one.
  (func (export "poll_oneoff") (param $wanted i32) (param $event i32) (param i32) (param $count i32) (result i32)
    (if (i32.load8_u offset=8 (local.get $wanted)) (then (return (i32.const 52))))
    (global.set $now (i64.add (i64.load offset=24 (local.get $wanted))
      (select (i64.const 0) (global.get $now) (i32.and (i32.load16_u offset=40 (local.get $wanted)) (i32.const 1)))))
    (memory.fill (local.get $event) (i32.const 0) (i32.const 32))
    (i64.store (local.get $event) (i64.load (local.get $wanted)))
    (i32.store (local.get $count) (i32.const 1)) (i32.const 0))
  (func (export "random_get") (param $to i32) (param $bytes i32) (result i32)
    (memory.fill (local.get $to) (i32.const 0) (local.get $bytes)) (i32.const 0))
  (func (export "sched_yield") (result i32) (i32.const 0))
  ;; No folder is open: EBADF ends the search for them.
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))

  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 52))
  (func (export "fd_close") (param i32) (result i32) (i32.const 52))
  (func (export "fd_datasync") (param i32) (result i32) (i32.const 52))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_fdstat_set_flags") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 52))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 52))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_renumber") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 52))
  (func (export "fd_sync") (param i32) (result i32) (i32.const 52))
  (func (export "fd_tell") (param i32 i32) (result i32) (i32.const 52))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 52))
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "proc_raise") (param i32) (result i32) (i32.const 52))
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (i32.const 52))
)
