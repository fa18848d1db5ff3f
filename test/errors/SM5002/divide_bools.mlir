module @jit_f {
  func.func public @main(%arg0: tensor<4xi1>) -> tensor<4xi1> {
    %0 = stablehlo.divide %arg0, %arg0 : tensor<4xi1>
    return %0 : tensor<4xi1>
  }
}
