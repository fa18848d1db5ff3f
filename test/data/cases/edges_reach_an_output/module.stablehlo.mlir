#loc1 = loc("a[0]")
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<18x128xf32> loc("a[0]")) -> (tensor<24x128xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjQuMC4wZ2l0AAEdBwEDBQEDBwMLCQsNDxEDqYcTAYEHCxMTDwsPCw8LCwtTCwsLCw8LDxsLD0sLDwsLCzMLCwsLExsLGwsbGw8PCw8LDwsPDwsTCw8PCxMjCw8LUwsTBQeRYU0BEw8HDyMHGxsbCwKaBR8FEwMDH1MDAx9dHWlrBRUdX2EFFxEFAQUZBRsFHSMFBSEIAAAAAAAAAIAAAAAAAAAABR8NDwUhBSMdZWcFJR1vcQMFKy0DDwUnEQU9AxExMws1OTs9ET8RAw9BhUNFBSkBA4ENDS8RBSsjBQMRAwAAAAAAAAAFLQUvBTEFMwEFR0sDBRNJFxkJFQMFE00XGQkbAwULHQMVAwULHQMbEQEBHVcBBTUdWwEFNxEDAQU5HSFjFSMjBTsXJQsnBT0dIW0VJycFPxclCxkDB3V3eXt9fwVBEREABUMjAQkhAQAAAAEAAAACAAAAAAAAAAVFIwEBASN0cHUuZGltZW5zaW9uX3NlbWFudGljczxhcmJpdHJhcnk+ACN0cHUubWVtb3J5X3NwYWNlPHZtZW0+ACN0cHUuY29yZV90eXBlPHRjPgABAgIDAQIEF4MFIQIECTcLJwUhAgQJBQcBBwcBBQMBBQEBAQkEIgIFAREBKQcDAQ0FEQEvBwMTIwcBAQdVB1kDAw0HAwMDAw0HAwMJBg0DCwcDBwkDAwkHAwMDAwkHAwMJBgkDCwcFDQ8LBQlzCQsFDQ8HAAEFEQFPBwMHDwMBAQMDAQUDAQMDAQUDAQcEAQUBAwURAVEHAwcPAwEBAwMBBQMBAwMBBQMBBwQBBQEDBgMBBQEAYgZHESkJCw0JCwUFHR0jISMpLRMDDRkdGSUFHRMjGRkVHw8JHRFidWlsdGluAHN0YWJsZV9tb3NhaWMAdHB1AG1vZHVsZQBhcml0aC5jb25zdGFudABmdW5jLmZ1bmMAZnVuYy5yZXR1cm4AdmVjdG9yLmxvYWQAdHB1LnZlY3Rvcl9zdG9yZQBzeW1fbmFtZQBmdW5jdGlvbl90eXBlAGsAdHJhbnNmb3JtX2luZGljZXMAdHJhbnNmb3JtXzAAd2luZG93X2JvdW5kcwB0cmFuc2Zvcm1fMQB2YWx1ZQAAZ3VhcmQucHkAc3RhYmxlX21vc2FpYy52ZXJzaW9uAGRpbWVuc2lvbl9zZW1hbnRpY3MAaXRlcmF0aW9uX2JvdW5kcwBzY2FsYXJfcHJlZmV0Y2gAc2NyYXRjaF9vcGVyYW5kcwB0cHUuY29yZV90eXBlAHdpbmRvd19wYXJhbXMAeABvAGdldDoAZ2V0AHN3YXA6AHN3YXAAYWRkAG9wZXJhbmRTZWdtZW50U2l6ZXMAc3RyaWRlcwA=\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", kernel_name = "k", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<18x128xf32>) -> tensor<24x128xf32> loc(#loc6)
    return %0 : tensor<24x128xf32> loc(#loc5)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("rec.py":39:22)
#loc3 = loc("rec.py":54:14)
#loc4 = loc("jit(f)"(#loc2))
#loc5 = loc("jit(f)"(#loc3))
#loc6 = loc("pallas_call"(#loc4))
