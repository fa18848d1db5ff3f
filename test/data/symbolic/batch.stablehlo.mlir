module @jit_softmax attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?x512xf32>) -> (tensor<?x?x512xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?x512xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?x512xf32>) -> tensor<i32>
    %2 = stablehlo.compare GE, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, r, 512). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %3 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%3, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'r'. Using the following polymorphic shapes specifications: args[0].shape = (b, r, 512). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'r' = {1} from specification 'r' for dimension args[0].shape[1] (= {1}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %4 = call @_wrapped_jax_export_main(%0, %1, %arg0) : (tensor<i32>, tensor<i32>, tensor<?x?x512xf32>) -> tensor<?x?x512xf32>
    return %4 : tensor<?x?x512xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<?x?x512xf32>) -> (tensor<?x?x512xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<512> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<8> : tensor<i32>
    %c_1 = stablehlo.constant dense<7> : tensor<i32>
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.add %0, %c_1 : tensor<i32>
    %2:2 = call @divmod(%arg0, %arg1, %1, %c_0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %3 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.concatenate %3, %4, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %6 = stablehlo.custom_call @tpu_custom_call(%arg0, %2#0, %arg2, %5) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjMuMC4wZ2l0AAEtCwEDBQcJAQMLAxcNDxETFRcZGx0fIQNWAvsZAe0HEwsLDw8PEwsLCw8PEw8PCwsLcwsLCwsPDwsLMwsLDw8PDw8PDxMLD0sLEwulC1MLCwsLCxMbCxsLGxsPDw8PGw8PDxsTHwsPCxsbDw8LDwsPGwsPCw8LDxsTHwsPCw8bGw8PDwsPCw8bCw8LDxsjCw8LUwsTBQmNkWFNBwVdSQkDWQEZDwcbEw8HJx8XHyMLAl4LHwMDEXsFIwUlHdXXHS19HS2DAwMReQUnBSkFKx0FgR0FlQMDp/kdBcERCQEFLQUvBTEjCQcxAQAAAAAAAAAIAAAAAAAAAAACAAAAAAAABTMNFQU1BTcdj5EVGRkFOQU7IwkDEQEAAAAAAAAABT0FPx2dnx0FpR0Fsx25ux3LzR0F0x0F3QMDT1EFQREJLQMRVVcTWV1fYR9jHxVlZ/NpawVDAQXt7w0TYWZmaW5lX21hcDwoZDAsIGQxLCBkMikgLT4gKGQwLCBkMSwgZDIpPgAFRSMJBSEAAAAAAAAAgAAAAAAAAACABUcFSQVLBU0FTwEFbXEDBSFvJScJIwMFIXMlJwkpAwUTKxUjAwUTKxUpEQEBEQMBHS9/FRcXLQcH3Sk1HS+FFReHHQWJLQcH3TtHAwMRjSUHCQAAgP8FUR2TMwVTLQcH3Tt9AwU19Tc5HTubHT0zBVUdoaMFVxVBQS0HB90pfQVZHautBVsdr7EFXRVDQy0HB90ZfwMDEbclBwkAAAAABV8dvb8FYRUdHS0HB98rYwMFNfc3OR07xx09yRUZHQVjHc/RBWUVSUktBwffI2MFZx3Z2wVpFUtLLQcH3xEdAwfh4+Xn6esFaxEXAAVtIwEJIQEAAAABAAAAAwAAAAAAAAAFbyMBAQEjdHB1LmRpbWVuc2lvbl9zZW1hbnRpY3M8cGFyYWxsZWw+ACN0cHUuZGltZW5zaW9uX3NlbWFudGljczxhcmJpdHJhcnk+ACN0cHUubWVtb3J5X3NwYWNlPHZtZW0+ACN0cHUuY29yZV90eXBlPHRjPgAjdmVjdG9yLmtpbmQ8bWF4aW11bWY+ACN2ZWN0b3Iua2luZDxhZGQ+ACNhcml0aC5mYXN0bWF0aDxub25lPgABAgIDJwUhAhALJwMhCwECBAsX8QcFIQIQC1snBwUhAhALJwUhBQsFCQEBDQ0BBQUBAQcBAQEBCQSuBAUBEQFNBwMBDQcRAVMHAz93CQEBAQENAQ0BAwMLAwMDAwMLAwMDAwMLAwMDCwYLAw8JBQkLDQUGCwMFAw8DAw0DAwMDAw0DAwMDAw0DAwMLBg0DDwkFExUXBQYNAwUDGQMDMYsDBw0HMZcDBwUbHQUGmQMRAx8PBj8DBQMhEQc/GwMFBREjEwepGwMFAyUDA0W1AwcNB0XDAwcFJykFBsUDEQMrDwZHAwUDLRUHRxsDBQUnLwMDCQMDAwMDCQMDAwMDCQMDAwsGCQMPCQczNTcFBgkDBQM5BQYJAw8DMRcFCd8LPQczNTcJAAEHEQF1BwMJDwUBAQEBAwMBDwMBAwMBDwMBCQQBBwEDBQcRAXcHAwkPBQEBAQEDAwEPAwEDAwEPAwEJBAEHAQMFBgMBBQEAWgxxESkJFQ0RCy0ZEQsTEQstGR0dDyMhIyktRSUfCxELGR0ZJRMdDV8xIxcTFyMvGRkVJR8PDQ8JHRFidWlsdGluAHN0YWJsZV9tb3NhaWMAdHB1AHZlY3RvcgBhcml0aABtb2R1bGUAYXJpdGguY29uc3RhbnQAdmVjdG9yLnNoYXBlX2Nhc3QAZnVuYy5mdW5jAGZ1bmMucmV0dXJuAHZlY3Rvci5sb2FkAHZlY3Rvci5tdWx0aV9yZWR1Y3Rpb24AdmVjdG9yLmJyb2FkY2FzdABhcml0aC5zdWJmAG1hdGguZXhwAGFyaXRoLmRpdmYAdHB1LnZlY3Rvcl9zdG9yZQBzb2Z0bWF4Ljxsb2NhbHM+Lmtlcm5lbAAvd29yay9tYWluL3Rlc3QvcHl0aG9uL3Rlc3Rfc3ltYm9saWNfc2hhcGVzLnB5AHZhbHVlAGZ1bmN0aW9uX3R5cGUAc3ltX25hbWUAdHJhbnNmb3JtX2luZGljZXMAdHJhbnNmb3JtXzAAd2luZG93X2JvdW5kcwB0cmFuc2Zvcm1fMQBnZXQ6AGdldC9nZXQAa2luZAByZWR1Y3Rpb25fZGltcwBicm9hZGNhc3RfaW5fZGltOgBicm9hZGNhc3RfaW5fZGltL2Jyb2FkY2FzdF9pbl9kaW0Ac3RhYmxlX21vc2FpYy52ZXJzaW9uAGRpbWVuc2lvbl9zZW1hbnRpY3MAaXRlcmF0aW9uX2JvdW5kcwBzY2FsYXJfcHJlZmV0Y2gAc2NyYXRjaF9vcGVyYW5kcwBrZXJuZWwAdHB1LmNvcmVfdHlwZQB3aW5kb3dfcGFyYW1zAHJlZHVjZV9tYXg6AHJlZHVjZV9tYXgvcmVkdWNlX21heABzdWI6AHN1Yi9zdWIAZmFzdG1hdGgAZXhwOgBleHAvZXhwAHJlZHVjZV9zdW06AHJlZHVjZV9zdW0vcmVkdWNlX3N1bQBkaXY6AGRpdi9kaXYAc3dhcDoAc3dhcC9zd2FwAGFkZABvcGVyYW5kU2VnbWVudFNpemVzAHN0cmlkZXMA\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", indices_of_shape_operands = dense<3> : tensor<1xi64>, kernel_name = "kernel", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<> : tensor<0xindex>, dense<> : tensor<0xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>]} : (tensor<i32>, tensor<i32>, tensor<?x?x512xf32>, tensor<3xi32>) -> tensor<?x?x512xf32>
    return %6 : tensor<?x?x512xf32>
  }
  func.func private @divmod(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<i32>, %arg3: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = call @floor_divide(%arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @remainder(%arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %0, %1 : tensor<i32>, tensor<i32>
  }
  func.func private @floor_divide(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %arg2, %arg3 : tensor<i32>
    %1 = stablehlo.sign %arg2 : tensor<i32>
    %2 = stablehlo.sign %arg3 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg2, %arg3 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i32>
    %8 = call @_where(%arg0, %arg1, %6, %7, %0) : (tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<i1>, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg2, %arg3, %arg4 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg3, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where(%arg0, %arg1, %0, %c, %arg3) : (tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg2, %1 : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
}

