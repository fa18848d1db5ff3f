module @jit_f {
  func.func public @main(%arg0: tensor<?x128xf32>) -> tensor<?x128xf32> {
    return %arg0 : tensor<?x128xf32>
  }
}
