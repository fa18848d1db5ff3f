#loc1 = loc("a[0]")
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi16> loc("a[0]")) -> (tensor<4xi16> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjQuMC4wZ2l0AAEdBwEDBQEDBwMLCQsNDxEDZ00LAUkHDwsLDwsPCxsLDzsLCwsLCwsLCw8LDwsTDwsPCxMTDwsPCxMFBWFNAQsbBwsPFwKWAh8dQUMFEwUVEQcBBRcdNTcFGQMFExUFBwUbEQc9Aw0ZGx0fIwklCQUHJ0sFHQEBBR8NCS8JBSEFIwUlHSsBBScdLwEFKQMDCzMRAwEFKx05OwUtFw8fIwMDCz8RAwUFLx1FRwUxFw8fGSN0cHUubWVtb3J5X3NwYWNlPHNtZW0+ACN0cHUuY29yZV90eXBlPHRjPgAXSQMRBSEDAYEBAgQFBQEBAQR5BQERAREHAwEFBxEBFwcDDRsFASkBLQMDDTEDAwUGDQMFBQEFAwMDPQMDBQYDAwUFAwkJBAMHBwMJCwABBgMBBQEASgQzCw0JCwUFHSMhHSktEw0FExkbFRkfDwkdEWJ1aWx0aW4Ac3RhYmxlX21vc2FpYwB0cHUAbW9kdWxlAGFyaXRoLmNvbnN0YW50AG1lbXJlZi5sb2FkAGZ1bmMuZnVuYwBtZW1yZWYuc3RvcmUAZnVuYy5yZXR1cm4Ac3ltX25hbWUAawB2YWx1ZQBndWFyZC5weQBzdGFibGVfbW9zYWljLnZlcnNpb24AZGltZW5zaW9uX3NlbWFudGljcwBmdW5jdGlvbl90eXBlAHNjYWxhcl9wcmVmZXRjaABzY3JhdGNoX29wZXJhbmRzAHRwdS5jb3JlX3R5cGUAeABvAGdldDoAZ2V0AHN3YXA6AHN3YXAA\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", kernel_name = "k", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xi16>) -> tensor<4xi16> loc(#loc6)
    return %0 : tensor<4xi16> loc(#loc5)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("rec.py":39:22)
#loc3 = loc("rec.py":54:14)
#loc4 = loc("jit(f)"(#loc2))
#loc5 = loc("jit(f)"(#loc3))
#loc6 = loc("pallas_call"(#loc4))
