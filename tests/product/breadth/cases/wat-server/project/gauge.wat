(module
  (import "host" "log" (func $log (param f64)))
  (memory (export "readings") 1)
  (global $count (mut i32) (i32.const 0))

  ;; Adds one reading to the sum in memory.
  (func $add_reading (param $level f64) (result f64)
    (f64.store (i32.const 0)
      (f64.add (f64.load (i32.const 0)) (local.get $level)))
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (f64.load (i32.const 0)))

  (func $mean (export "mean") (param $level f64) (result f64)
    (f64.div
      (call $add_reading (local.get $level))
      (f64.convert_i32_s (global.get $count))))

  (func (export "report") (param $level f64)
    (call $log (call $add_reading (local.get $level))))
)
