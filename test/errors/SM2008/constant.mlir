module @jit_f {
  func.func public @main() -> tensor<3xi8> {
    %0 = stablehlo.constant dense<[1, 2, 300]> : tensor<3xi8>
    return %0 : tensor<3xi8>
  }
}
