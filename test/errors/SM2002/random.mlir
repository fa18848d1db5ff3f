module @jit_f {
  func.func public @main(%arg0: tensor<2xui64>) -> tensor<4xui32> {
    %output_state, %output = stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    return %output : tensor<4xui32>
  }
}
