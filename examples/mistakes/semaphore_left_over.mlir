#loc1 = loc("args[0]")
module @jit_wrapped attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x128xf32> loc("args[0]")) -> (tensor<8x128xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjQuMC4wZ2l0AAEfBwEDBQEDBwMNCQsNDxETA6uDFQF9BxMPDwsLDwsLCwsLDw8bCw87CwsLCwsLCw8LDwsPCw8LDwsTDw8LExNjDw8PDwsPDwsTCw8PCxMjCw9TCxMFB2GFTQETDwcjDwcXGxsLBQM9Am4FHwMDE1sdZ2kdTU8FFQUXHV1fBRkFGwUdBR8FIR1jZR1tbwMFHyEPEQUjEQc9Aw0lJykrMTM1Nw8ROYEFJQEBBScNDy8RLwEFKREHAQUrEQcFBS0dPQEFLx1BAQUxHUUBBTMDAxNJEQEFHRUHBTUXCfsRAwMXUyMBCykBAAAAAQAAAAAAAAAAAAAAAAAAAB0VVx0LWRUHBxEDAQU3HQthFRkZBTkXCf0rBTsdC2sVGxsFPRcJ/REDB3N1F3d5ewU/EREAIwEJIQEAAAABAAAAAgAAAAAAAAAFQSMBAQEjdHB1Lm1lbW9yeV9zcGFjZTx2bWVtPgAjdHB1Lm1lbW9yeV9zcGFjZTxzZW1hcGhvcmVfbWVtPgAjdHB1LmNvcmVfdHlwZTx0Yz4AAQICAxd9BSECBAktAQIECxd/ARMvJwUhAgQJBQcFBQsBAQkhdHB1LnNlbWFwaG9yZQAEtwUBEQEdBwMBBQcRASMHAxUrBwU7BT8LQwMDS0cDAQkFVVEFBQcDAw0DAwMDAw0DAwMFBg0DDQcBCQsDAwUDAwMDAwUDAwMFBgUDDQcDDxELBQVxCQ0DDxENAAEGAwEFAQAyBkMRCQsNCQsjCQ0NHSMhHSktKSUNHRMDGRkjHxUZHw8JHRFidWlsdGluAHN0YWJsZV9tb3NhaWMAdHB1AG1vZHVsZQBhcml0aC5jb25zdGFudAB2ZWN0b3IubG9hZABmdW5jLmZ1bmMAdHB1LnNlbV9zaWduYWwAdHB1LnZlY3Rvcl9zdG9yZQBmdW5jLnJldHVybgBtaXN0YWtlcy5weQAAc3ltX25hbWUAc2lnbmFsX2tlcm5lbAB2YWx1ZQBzZW1hcGhvcmVfc2lnbmFsOgBvcGVyYW5kU2VnbWVudFNpemVzAHN0YWJsZV9tb3NhaWMudmVyc2lvbgBkaW1lbnNpb25fc2VtYW50aWNzAGZ1bmN0aW9uX3R5cGUAc2NhbGFyX3ByZWZldGNoAHNjcmF0Y2hfb3BlcmFuZHMAdHB1LmNvcmVfdHlwZQB4X3JlZgBvX3JlZgBzZW0Ac2VtYXBob3JlX3NpZ25hbABnZXQ6AGdldABzd2FwOgBzd2FwAGFkZABzdHJpZGVzAA==\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", kernel_name = "signal_kernel", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<8x128xf32>) -> tensor<8x128xf32> loc(#loc4)
    return %0 : tensor<8x128xf32> loc(#loc3)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("mistakes.py":146:19)
#loc3 = loc("jit(wrapped)"(#loc2))
#loc4 = loc("pallas_call"(#loc3))
