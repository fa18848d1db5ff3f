module @jit_add attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>) -> (tensor<?x?xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<8> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %2 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
    %3 = stablehlo.get_dimension_size %arg1, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %4:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %5 = stablehlo.compare EQ, %4#1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%5, %6#1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Division had remainder {0} when computing the value of 'r'. Using the following polymorphic shapes specifications: args[0].shape = (8*r, c),args[1].shape = (8*r, c). Obtained dimension variables: .", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %7:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %8 = stablehlo.compare GE, %7#0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%8, %9#0, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'r'. Using the following polymorphic shapes specifications: args[0].shape = (8*r, c),args[1].shape = (8*r, c). Obtained dimension variables: 'r' = {0} from specification '8*r' for dimension args[0].shape[0] (= {1}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %10 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%10, %11#0, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'c'. Using the following polymorphic shapes specifications: args[0].shape = (8*r, c),args[1].shape = (8*r, c). Obtained dimension variables: 'r' = {0} from specification '8*r' for dimension args[0].shape[0] (= {1}), 'c' = {2} from specification 'c' for dimension args[0].shape[1] (= {2}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %12:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %13 = stablehlo.multiply %12#0, %c_1 : tensor<i32>
    %14 = stablehlo.compare EQ, %2, %13, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %15:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %16 = stablehlo.multiply %15#0, %c_1 : tensor<i32>
    %17:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%14, %2, %16, %17#0, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[0] (= {0}) and the specification '8*r' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (8*r, c),args[1].shape = (8*r, c). Obtained dimension variables: 'r' = {2} from specification '8*r' for dimension args[0].shape[0] (= {3}), 'c' = {4} from specification 'c' for dimension args[0].shape[1] (= {4}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %18 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %19:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%18, %3, %1, %19#0, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[1] (= {0}) and the specification 'c' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (8*r, c),args[1].shape = (8*r, c). Obtained dimension variables: 'r' = {2} from specification '8*r' for dimension args[0].shape[0] (= {3}), 'c' = {1} from specification 'c' for dimension args[0].shape[1] (= {1}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %20:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %21 = call @_wrapped_jax_export_main(%1, %20#0, %arg0, %arg1) : (tensor<i32>, tensor<i32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    return %21 : tensor<?x?xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "c"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<?x?xf32>, %arg3: tensor<?x?xf32>) -> (tensor<?x?xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<8> : tensor<i32>
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.multiply %0, %c : tensor<i32>
    %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %5 = stablehlo.custom_call @tpu_custom_call(%arg1, %arg2, %arg3, %4) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjMuMC4wZ2l0AAEhCQEDBQcBAwkDDQsNDxETFQPlvxMBtwcTEwsLCwsPDwsLUwsPDw8TCw8LCwsLCwsLDw8zCw8LGxsPCwsLCwtLCw8LhQszCwsLCwsXGwsbCxsLGxsbDw8PDx8PDw8fEwsPCw8LDx8LDwsPHyMLDwtTCxMFB5FhTQcDWQETDwcPLycHHxsLAi4IHwMDL30DAy9/BRcFGQUbBR0dn6ERBQEFHwUhIwUFIQgAAAAAAAAA////fwAAAAANDx0xgR0LhR0xhwEFQUMFIxEFBQUlBScFKQUrBS0FLwUxHQudHQunAws7PT8hRyFJS01PBTMRBS0FNQMFIyUnJQMFI0UnEREFAwU3BTkFOwU9BT8DEVNVB1dbXV8RYREJY2W7Z2kFQQEDtw0NYWZmaW5lX21hcDwoZDAsIGQxKSAtPiAoZDAsIGQxKT4ABUMjBQMR/v//fwAAAAAFRQVHBUkFSwVNAQdrb3MDBRNtFRcJKQMFE3EVFwkrAwUTdRUXCS0DBQcZCSkDBQcZCSsDBQcZCS0RAQERAwEdM4MVHR0tDQfCAiMvHTOJFR2LHQuNLQ0HwgI1QQMDkb0FTx2VlwVRHZmbBVMVNTUtDQfCAiNBBVUdo6UFVxU3Ny0NB8ICER0DB6utr7GztQVZEREABVsjAQkhAQAAAAEAAAACAAAAAAAAAAVdIwEBASN0cHUuZGltZW5zaW9uX3NlbWFudGljczxhcmJpdHJhcnk+ACN0cHUubWVtb3J5X3NwYWNlPHZtZW0+ACN0cHUuY29yZV90eXBlPHRjPgAjYXJpdGguZmFzdG1hdGg8bm9uZT4AAQICAwECBBe5BSHQ////HwtZJwUh0P///x8LCwUJAQcHBwEFAwEFAQEBCQQWAwUBEQE5BwMBEQURAVEHAx0zCQEBBwEHAQcBAwMbBQMDAwMbBQMDCQYbAwkHAwkLAwMfBQMDAwMfBQMDCQYfAwkHBQ8RCweTjwMJBQ0TAwMPBQMDAwMPBQMDCQYPAwkHBxcZDQUPqQkVBxcZBwABBREBdwcDBw8DAQEDAwEDAwEDAwEDAwEHBAEFAQMFEQF5BwMHDwMBAQMDAQMDAQMDAQMDAQcEAQUBAwURAXsHAwcPAwEBAwMBAwMBAwMBAwMBBwQBBQEDBgMBBQEA8iJfESkJFQ0RCxMdHQ8jISMpggthggthY2MtEQsNGRkZHSEdJV8pEx0jFxkZFR8PDQkdEWJ1aWx0aW4Ac3RhYmxlX21vc2FpYwB0cHUAYXJpdGgAbW9kdWxlAGFyaXRoLmNvbnN0YW50AGZ1bmMuZnVuYwBmdW5jLnJldHVybgB2ZWN0b3IubG9hZABhcml0aC5hZGRmAHRwdS52ZWN0b3Jfc3RvcmUAZnVuY3Rpb25fdHlwZQBzeW1fbmFtZQBhZGQuPGxvY2Fscz4ua2VybmVsAC93b3JrL21haW4vdGVzdC9weXRob24vdGVzdF9zeW1ib2xpY19zaGFwZXMucHkAdHJhbnNmb3JtX2luZGljZXMAd2luZG93X2JvdW5kcwBkaW1lbnNpb25faW5kZXgAb3BlcmFuZF9pbmRleAB0cmFuc2Zvcm1fMAB0cmFuc2Zvcm1fMQB0cmFuc2Zvcm1fMgB2YWx1ZQBnZXQ6AGdldC9nZXQAc3RhYmxlX21vc2FpYy52ZXJzaW9uAHRwdS5keW5hbWljX2RpbWVuc2lvbl9tYXBwaW5nX2luZGljZXNfMjE0NzQ4MzY0NgB0cHUuZHluYW1pY19kaW1lbnNpb25fbWFwcGluZ19pbmRpY2VzXzIxNDc0ODM2NDcAdHB1LmR5bmFtaWNfZGltZW5zaW9uX21hcHBpbmdfbW9kdWxlXzIxNDc0ODM2NDYAI2xvYzEgPSBsb2MoImRpbV92YWx1ZXNbMF0iKQojbG9jMiA9IGxvYygiZGltX3ZhbHVlc1sxXSIpCm1vZHVsZSBAaml0X2V2YWx1YXRlX3NoYXBlIGF0dHJpYnV0ZXMge2pheC51c2VzX3NoYXBlX3BvbHltb3JwaGlzbSA9IGZhbHNlLCBtaGxvLm51bV9wYXJ0aXRpb25zID0gMSA6IGkzMiwgbWhsby5udW1fcmVwbGljYXMgPSAxIDogaTMyfSB7CiAgZnVuYy5mdW5jIHB1YmxpYyBAbWFpbiglYXJnMDogdGVuc29yPGkzMj4gbG9jKCJkaW1fdmFsdWVzWzBdIiksICVhcmcxOiB0ZW5zb3I8aTMyPiBsb2MoImRpbV92YWx1ZXNbMV0iKSkgLT4gKHRlbnNvcjxpMzI+IHtqYXgucmVzdWx0X2luZm8gPSAicmVzdWx0WzBdIn0pIHsKICAgIHJldHVybiAlYXJnMSA6IHRlbnNvcjxpMzI+IGxvYygjbG9jOCkKICB9IGxvYygjbG9jKQp9IGxvYygjbG9jKQojbG9jID0gbG9jKHVua25vd24pCiNsb2MzID0gbG9jKCIvd29yay9tYWluL3Rlc3QvcHl0aG9uL3Rlc3Rfc3ltYm9saWNfc2hhcGVzLnB5IjoxMDQ6MTEgdG8gMTA1Ojk3KQojbG9jNCA9IGxvYygiL3dvcmsvbWFpbi90ZXN0L3B5dGhvbi90ZXN0X3N5bWJvbGljX3NoYXBlcy5weSI6MTc4OjExIHRvIDo2MykKI2xvYzUgPSBsb2MoImJsb2Nrd2lzZSIoI2xvYzMpKQojbG9jNiA9IGxvYygiYWRkIigjbG9jNCkpCiNsb2M3ID0gbG9jKGNhbGxzaXRlKCNsb2M1IGF0ICNsb2M2KSkKI2xvYzggPSBsb2MoImppdChldmFsdWF0ZV9zaGFwZSkiKCNsb2M3KSkKAHRwdS5keW5hbWljX2RpbWVuc2lvbl9tYXBwaW5nX21vZHVsZV8yMTQ3NDgzNjQ3ACNsb2MxID0gbG9jKCJkaW1fdmFsdWVzWzBdIikKI2xvYzIgPSBsb2MoImRpbV92YWx1ZXNbMV0iKQptb2R1bGUgQGppdF9ldmFsdWF0ZV9zaGFwZSBhdHRyaWJ1dGVzIHtqYXgudXNlc19zaGFwZV9wb2x5bW9ycGhpc20gPSBmYWxzZSwgbWhsby5udW1fcGFydGl0aW9ucyA9IDEgOiBpMzIsIG1obG8ubnVtX3JlcGxpY2FzID0gMSA6IGkzMn0gewogIGZ1bmMuZnVuYyBwdWJsaWMgQG1haW4oJWFyZzA6IHRlbnNvcjxpMzI+IGxvYygiZGltX3ZhbHVlc1swXSIpLCAlYXJnMTogdGVuc29yPGkzMj4gbG9jKCJkaW1fdmFsdWVzWzFdIikpIC0+ICh0ZW5zb3I8aTMyPiB7amF4LnJlc3VsdF9pbmZvID0gInJlc3VsdFswXSJ9KSB7CiAgICByZXR1cm4gJWFyZzAgOiB0ZW5zb3I8aTMyPiBsb2MoI2xvYzgpCiAgfSBsb2MoI2xvYykKfSBsb2MoI2xvYykKI2xvYyA9IGxvYyh1bmtub3duKQojbG9jMyA9IGxvYygiL3dvcmsvbWFpbi90ZXN0L3B5dGhvbi90ZXN0X3N5bWJvbGljX3NoYXBlcy5weSI6MTA0OjExIHRvIDEwNTo5NykKI2xvYzQgPSBsb2MoIi93b3JrL21haW4vdGVzdC9weXRob24vdGVzdF9zeW1ib2xpY19zaGFwZXMucHkiOjE3ODoxMSB0byA6NjMpCiNsb2M1ID0gbG9jKCJibG9ja3dpc2UiKCNsb2MzKSkKI2xvYzYgPSBsb2MoImFkZCIoI2xvYzQpKQojbG9jNyA9IGxvYyhjYWxsc2l0ZSgjbG9jNSBhdCAjbG9jNikpCiNsb2M4ID0gbG9jKCJqaXQoZXZhbHVhdGVfc2hhcGUpIigjbG9jNykpCgBkaW1lbnNpb25fc2VtYW50aWNzAGl0ZXJhdGlvbl9ib3VuZHMAc2NhbGFyX3ByZWZldGNoAHNjcmF0Y2hfb3BlcmFuZHMAa2VybmVsAHRwdS5jb3JlX3R5cGUAd2luZG93X3BhcmFtcwBmYXN0bWF0aABhZGQ6AGFkZC9hZGQAc3dhcDoAc3dhcC9zd2FwAGFkZABvcGVyYW5kU2VnbWVudFNpemVzAHN0cmlkZXMA\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", indices_of_shape_operands = dense<3> : tensor<1xi64>, kernel_name = "kernel", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<i32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    return %5 : tensor<?x?xf32>
  }
  func.func private @divmod(%arg0: tensor<i32> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}) -> (tensor<i32>, tensor<i32>) {
    %0 = stablehlo.convert %arg0 : tensor<i32>
    %1 = call @floor_divide(%0, %arg1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = call @remainder(%0, %arg1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    return %1, %2 : tensor<i32>, tensor<i32>
  }
  func.func private @floor_divide(%arg0: tensor<i32> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %arg0, %arg1 : tensor<i32>
    %1 = stablehlo.sign %arg0 : tensor<i32>
    %2 = stablehlo.sign %arg1 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i32>
    %8 = call @_where(%6, %7, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i1> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}, %arg2: tensor<i32> {jax.global_constant = ""}) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder(%arg0: tensor<i32> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where(%0, %c, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg0, %1 : tensor<i32>
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

