module @jit_scale attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?xf32>) -> (tensor<?x?xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<8> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %2:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %3 = stablehlo.compare EQ, %2#1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%3, %4#1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Division had remainder {0} when computing the value of 'r'. Using the following polymorphic shapes specifications: args[0].shape = (8*r, c). Obtained dimension variables: . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %5:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %6 = stablehlo.compare GE, %5#0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%6, %7#0, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'r'. Using the following polymorphic shapes specifications: args[0].shape = (8*r, c). Obtained dimension variables: 'r' = {0} from specification '8*r' for dimension args[0].shape[0] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %8 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%8, %9#0, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'c'. Using the following polymorphic shapes specifications: args[0].shape = (8*r, c). Obtained dimension variables: 'r' = {0} from specification '8*r' for dimension args[0].shape[0] (= {1}), 'c' = {2} from specification 'c' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %10:2 = call @divmod(%0, %c_1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %11 = call @_wrapped_jax_export_main(%1, %10#0, %arg0) : (tensor<i32>, tensor<i32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    return %11 : tensor<?x?xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "c"}, %arg1: tensor<i32> {jax.global_constant = "r"}, %arg2: tensor<?x?xf32>) -> (tensor<?x?xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<8> : tensor<i32>
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.multiply %0, %c : tensor<i32>
    %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %5 = stablehlo.custom_call @tpu_custom_call(%arg1, %arg2, %4) {backend_config = "{\22custom_call_config\22: {\22body\22: \22bW9kdWxlIGF0dHJpYnV0ZXMge3N0YWJsZV9tb3NhaWMudmVyc2lvbiA9IDExIDogaTY0LCB0cHUuZHluYW1pY19kaW1lbnNpb25fbWFwcGluZ19pbmRpY2VzXzIxNDc0ODM2NDYgPSBbe2RpbWVuc2lvbl9pbmRleCA9IDEgOiBpNjQsIG9wZXJhbmRfaW5kZXggPSA3IDogaTY0fSwge2RpbWVuc2lvbl9pbmRleCA9IC0xIDogaTY0LCBvcGVyYW5kX2luZGV4ID0gMCA6IGk2NH1dLCB0cHUuZHluYW1pY19kaW1lbnNpb25fbWFwcGluZ19pbmRpY2VzXzIxNDc0ODM2NDcgPSBbe2RpbWVuc2lvbl9pbmRleCA9IDEgOiBpNjQsIG9wZXJhbmRfaW5kZXggPSA3IDogaTY0fSwge2RpbWVuc2lvbl9pbmRleCA9IC0xIDogaTY0LCBvcGVyYW5kX2luZGV4ID0gMCA6IGk2NH1dLCB0cHUuZHluYW1pY19kaW1lbnNpb25fbWFwcGluZ19tb2R1bGVfMjE0NzQ4MzY0NiA9ICIjbG9jMSA9IGxvYyhcMjJkaW1fdmFsdWVzWzBdXDIyKVwwQSNsb2MyID0gbG9jKFwyMmRpbV92YWx1ZXNbMV1cMjIpXDBBbW9kdWxlIEBqaXRfZXZhbHVhdGVfc2hhcGUgYXR0cmlidXRlcyB7amF4LnVzZXNfc2hhcGVfcG9seW1vcnBoaXNtID0gZmFsc2UsIG1obG8ubnVtX3BhcnRpdGlvbnMgPSAxIDogaTMyLCBtaGxvLm51bV9yZXBsaWNhcyA9IDEgOiBpMzJ9IHtcMEEgIGZ1bmMuZnVuYyBwdWJsaWMgQG1haW4oJWFyZzA6IHRlbnNvcjxpMzI+IGxvYyhcMjJkaW1fdmFsdWVzWzBdXDIyKSwgJWFyZzE6IHRlbnNvcjxpMzI+IGxvYyhcMjJkaW1fdmFsdWVzWzFdXDIyKSkgLT4gKHRlbnNvcjxpMzI+IHtqYXgucmVzdWx0X2luZm8gPSBcMjJyZXN1bHRbMF1cMjJ9KSB7XDBBICAgIHJldHVybiAlYXJnMSA6IHRlbnNvcjxpMzI+IGxvYygjbG9jNSlcMEEgIH0gbG9jKCNsb2MpXDBBfSBsb2MoI2xvYylcMEEjbG9jID0gbG9jKHVua25vd24pXDBBI2xvYzMgPSBsb2MoXDIyPHN0ZGluPlwyMjoxMToxMSB0byA6MTM3KVwwQSNsb2M0ID0gbG9jKFwyMnNjYWxlXDIyKCNsb2MzKSlcMEEjbG9jNSA9IGxvYyhcMjJqaXQoZXZhbHVhdGVfc2hhcGUpXDIyKCNsb2M0KSlcMEEiLCB0cHUuZHluYW1pY19kaW1lbnNpb25fbWFwcGluZ19tb2R1bGVfMjE0NzQ4MzY0NyA9ICIjbG9jMSA9IGxvYyhcMjJkaW1fdmFsdWVzWzBdXDIyKVwwQSNsb2MyID0gbG9jKFwyMmRpbV92YWx1ZXNbMV1cMjIpXDBBbW9kdWxlIEBqaXRfZXZhbHVhdGVfc2hhcGUgYXR0cmlidXRlcyB7amF4LnVzZXNfc2hhcGVfcG9seW1vcnBoaXNtID0gZmFsc2UsIG1obG8ubnVtX3BhcnRpdGlvbnMgPSAxIDogaTMyLCBtaGxvLm51bV9yZXBsaWNhcyA9IDEgOiBpMzJ9IHtcMEEgIGZ1bmMuZnVuYyBwdWJsaWMgQG1haW4oJWFyZzA6IHRlbnNvcjxpMzI+IGxvYyhcMjJkaW1fdmFsdWVzWzBdXDIyKSwgJWFyZzE6IHRlbnNvcjxpMzI+IGxvYyhcMjJkaW1fdmFsdWVzWzFdXDIyKSkgLT4gKHRlbnNvcjxpMzI+IHtqYXgucmVzdWx0X2luZm8gPSBcMjJyZXN1bHRbMF1cMjJ9KSB7XDBBICAgIHJldHVybiAlYXJnMCA6IHRlbnNvcjxpMzI+IGxvYygjbG9jNSlcMEEgIH0gbG9jKCNsb2MpXDBBfSBsb2MoI2xvYylcMEEjbG9jID0gbG9jKHVua25vd24pXDBBI2xvYzMgPSBsb2MoXDIyPHN0ZGluPlwyMjoxMToxMSB0byA6MTM3KVwwQSNsb2M0ID0gbG9jKFwyMnNjYWxlXDIyKCNsb2MzKSlcMEEjbG9jNSA9IGxvYyhcMjJqaXQoZXZhbHVhdGVfc2hhcGUpXDIyKCNsb2M0KSlcMEEifSB7CiAgZnVuYy5mdW5jIEBrZXJuZWwoJWFyZzA6IGkzMiwgJWFyZzE6IG1lbXJlZjw4eDIxNDc0ODM2NDd4ZjMyLCAjdHB1Lm1lbW9yeV9zcGFjZTx2bWVtPj4sICVhcmcyOiBtZW1yZWY8OHgyMTQ3NDgzNjQ3eGYzMiwgI3RwdS5tZW1vcnlfc3BhY2U8dm1lbT4+KSBhdHRyaWJ1dGVzIHtkaW1lbnNpb25fc2VtYW50aWNzID0gWyN0cHUuZGltZW5zaW9uX3NlbWFudGljczxhcmJpdHJhcnk+XSwgaXRlcmF0aW9uX2JvdW5kcyA9IGFycmF5PGk2NDogMjE0NzQ4MzY0Nj4sIHNjYWxhcl9wcmVmZXRjaCA9IDAgOiBpNjQsIHNjcmF0Y2hfb3BlcmFuZHMgPSAwIDogaTY0LCB0cHUuY29yZV90eXBlID0gI3RwdS5jb3JlX3R5cGU8dGM+LCB3aW5kb3dfcGFyYW1zID0gW3t0cmFuc2Zvcm1faW5kaWNlcyA9IEB0cmFuc2Zvcm1fMCwgd2luZG93X2JvdW5kcyA9IGFycmF5PGk2NDogOCwgMjE0NzQ4MzY0Nz59LCB7dHJhbnNmb3JtX2luZGljZXMgPSBAdHJhbnNmb3JtXzEsIHdpbmRvd19ib3VuZHMgPSBhcnJheTxpNjQ6IDgsIDIxNDc0ODM2NDc+fV19IHsKICAgICVjMCA9IGFyaXRoLmNvbnN0YW50IDAgOiBpbmRleAogICAgJWMwXzAgPSBhcml0aC5jb25zdGFudCAwIDogaW5kZXgKICAgICUwID0gdmVjdG9yLmxvYWQgJWFyZzFbJWMwLCAlYzBfMF0gOiBtZW1yZWY8OHgyMTQ3NDgzNjQ3eGYzMiwgI3RwdS5tZW1vcnlfc3BhY2U8dm1lbT4+LCB2ZWN0b3I8OHgyMTQ3NDgzNjQ3eGYzMj4KICAgICVjc3QgPSBhcml0aC5jb25zdGFudCAyLjAwMDAwMGUrMDAgOiBmMzIKICAgICUxID0gdmVjdG9yLmJyb2FkY2FzdCAlY3N0IDogZjMyIHRvIHZlY3Rvcjw4eDIxNDc0ODM2NDd4ZjMyPgogICAgJTIgPSBhcml0aC5tdWxmICUwLCAlMSA6IHZlY3Rvcjw4eDIxNDc0ODM2NDd4ZjMyPgogICAgJWMwXzEgPSBhcml0aC5jb25zdGFudCAwIDogaW5kZXgKICAgICVjMF8yID0gYXJpdGguY29uc3RhbnQgMCA6IGluZGV4CiAgICAlMyA9IHZlY3Rvci5sb2FkICVhcmcyWyVjMF8xLCAlYzBfMl0gOiBtZW1yZWY8OHgyMTQ3NDgzNjQ3eGYzMiwgI3RwdS5tZW1vcnlfc3BhY2U8dm1lbT4+LCB2ZWN0b3I8OHgyMTQ3NDgzNjQ3eGYzMj4KICAgIHRwdS52ZWN0b3Jfc3RvcmUgJWFyZzJbJWMwXzEsICVjMF8yXSwgJTIge3N0cmlkZXMgPSBhcnJheTxpMzI+fSA6IG1lbXJlZjw4eDIxNDc0ODM2NDd4ZjMyLCAjdHB1Lm1lbW9yeV9zcGFjZTx2bWVtPj4sIHZlY3Rvcjw4eDIxNDc0ODM2NDd4ZjMyPiwgCiAgICByZXR1cm4KICB9CiAgZnVuYy5mdW5jIEB0cmFuc2Zvcm1fMCglYXJnMDogaTMyKSAtPiAoaTMyLCBpMzIpIHsKICAgICVjMF9pMzIgPSBhcml0aC5jb25zdGFudCAwIDogaTMyCiAgICAlYzBfaTMyXzAgPSBhcml0aC5jb25zdGFudCAwIDogaTMyCiAgICByZXR1cm4gJWFyZzAsICVjMF9pMzIgOiBpMzIsIGkzMgogIH0KICBmdW5jLmZ1bmMgQHRyYW5zZm9ybV8xKCVhcmcwOiBpMzIpIC0+IChpMzIsIGkzMikgewogICAgJWMwX2kzMiA9IGFyaXRoLmNvbnN0YW50IDAgOiBpMzIKICAgICVjMF9pMzJfMCA9IGFyaXRoLmNvbnN0YW50IDAgOiBpMzIKICAgIHJldHVybiAlYXJnMCwgJWMwX2kzMiA6IGkzMiwgaTMyCiAgfQp9Cg==\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", indices_of_shape_operands = dense<2> : tensor<1xi64>, kernel_name = "kernel", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<i32>, tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
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

