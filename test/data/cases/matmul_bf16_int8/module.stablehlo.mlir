#loc1 = loc("a[0]")
#loc2 = loc("a[1]")
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x32xbf16> loc("a[0]"), %arg1: tensor<32x16xi8> loc("a[1]")) -> (tensor<8x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0, %arg1) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjQuMC4wZ2l0AAEfBwEDBQEDBwMNCQsNDxETA7uNHQGHBxMLCw8PCw8PCwsPCwsPCw8PDw8bCw87CwsLCwsLCw8LDwsPCw8PDxMPDxMTHwsPDwsTKwsLCwsLDw8LEyMLC1MLEwUHYU0qAgEdBxcPHwcfCx8HDxsXFwsCGgYfAwMZSwUVBRcRGwAdcXMvER0bTR0bUwUZBRsRBQEFHQUfHR9RBSEdH1cdXV8dY2Udd3kDBSstExUFIxEFPQMNMTM1NzkXOxcTFT2JBSUBAQUnDRUFKQUrBS0dQQEFLx1FAQUxHUkBBTMRAQEdBU8VHR0XBw87HQVVFSEhFwcPSQMDGVslAwkAAAAABTUdBWEVJSUFNxcHDysDCWmLawltCW8JBTkFOwU9BT8FQR0FdRUnJwVDFwcPHQMHfQl/gYOFBUUFRyMTCSEBAAAAAQAAAAIAAAAAAAAABUkjEwEBI3RwdS5tZW1vcnlfc3BhY2U8dm1lbT4AI3RwdS5jb3JlX3R5cGU8dGM+ACN0cHUuZG90X2RpbWVuc2lvbl9udW1iZXJzPFsxXSwgWzBdLCBbMF0sIFsxXSwgWzAsIDAsIDEsIDFdLCBbXSwgW10+AAMnBSFBEQECBBeHBSGBCQ0HF4cFgUENDQFBF4cFIUERDQsBAgIFBwcLDwEnBSGBCScFgUENAQkE5wUBEQEpBwMBBQcRAS8HAx03Bwc/C0MPRwMDDwMDAQMDDwMDAQUGDwMXBwEHCQMDEQMDAQMDEQMDAQUGEQMZBwMNDwMDI1kDAwkHI2cDAwcLERMDAwsDAwEDAwsDAwEFBgsDAwcFFxkLBQt7CRUFFxkNAAEGAwEFAQCqBksRKQkLDR0nHSUZGwUFBR0jIR0pLQkLDQUTEwMZIxcVGR8PCR0RYnVpbHRpbgBzdGFibGVfbW9zYWljAHRwdQBtb2R1bGUAYXJpdGguY29uc3RhbnQAdmVjdG9yLmxvYWQAZnVuYy5mdW5jAHRwdS5tYXRtdWwAdHB1LnZlY3Rvcl9zdG9yZQBmdW5jLnJldHVybgAAZ3VhcmQucHkAc3ltX25hbWUAawB2YWx1ZQBnZXQ6AGdldABzdGFibGVfbW9zYWljLnZlcnNpb24AZGltZW5zaW9uX3NlbWFudGljcwBmdW5jdGlvbl90eXBlAHNjYWxhcl9wcmVmZXRjaABzY3JhdGNoX29wZXJhbmRzAHRwdS5jb3JlX3R5cGUAYQBiAG8AZG90X2dlbmVyYWw6AGRvdF9nZW5lcmFsAGRpbWVuc2lvbl9udW1iZXJzAHRyYW5zcG9zZV9saHMAdHJhbnNwb3NlX2xoc19oaW50AHRyYW5zcG9zZV9yaHMAc3dhcDoAc3dhcABhZGQAb3BlcmFuZFNlZ21lbnRTaXplcwBzdHJpZGVzAA==\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", kernel_name = "k", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<8x32xbf16>, tensor<32x16xi8>) -> tensor<8x16xf32> loc(#loc7)
    return %0 : tensor<8x16xf32> loc(#loc6)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("rec.py":39:22)
#loc4 = loc("rec.py":54:14)
#loc5 = loc("jit(f)"(#loc3))
#loc6 = loc("jit(f)"(#loc4))
#loc7 = loc("pallas_call"(#loc5))
