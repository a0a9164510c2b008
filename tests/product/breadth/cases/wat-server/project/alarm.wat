(module
  (func $too_high (param $level f64) (result i32)
    (f64.gt (local.get $level) (local.get $limit)))
)
