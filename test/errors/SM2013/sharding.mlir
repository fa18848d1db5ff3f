module @jit_f {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<6x128xf32>) -> tensor<6x128xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<1x128xf32>) {
      sdy.return %arg1 : tensor<1x128xf32>
    } : (tensor<6x128xf32>) -> tensor<6x128xf32>
    return %0 : tensor<6x128xf32>
  }
}
