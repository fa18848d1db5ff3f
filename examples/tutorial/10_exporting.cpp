// 10. From the kernel to the module that a TPU runs.
//
// `lower` traces and lowers, and runs nothing. It shows the kernel as traced (a jaxpr, as Pallas prints it), the
// Mosaic module, and the StableHLO with the kernel as a `tpu_custom_call`.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto scale = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
                                     {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .name = "scale"});
  const pl::Lowered lowered = scale.lower(pl::ones({8, 128}));
  std::cout << lowered.traced() << "\n" << lowered.mosaic() << "\n";

  const std::string stablehlo = pl::unwrap(lowered.stablehlo());
  std::cout << "StableHLO of " << stablehlo.size() / 100 * 100 << " bytes or so, which begins\n"
            << stablehlo.substr(0, stablehlo.find('\n')) << "\n";
}

/* Output:
{ lambda ; a:Ref{float32[8,128]} b:Ref{float32[8,128]}. let
    c:f32[8,128] <- a[...]
    d:f32[8,128] = broadcast_in_dim[broadcast_dimensions=()] 2.0:f32[]
    e:f32[8,128] = mul c d
    b[...] <- e
  in () }

module {
  func.func @scale(%arg0: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg1: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>} {
    %c0 = arith.constant 0 : index
    %c0_0 = arith.constant 0 : index
    %0 = vector.load %arg0[%c0, %c0_0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %cst = arith.constant 2.000000e+00 : f32
    %1 = vector.broadcast %cst : f32 to vector<8x128xf32>
    %2 = arith.mulf %0, %1 : vector<8x128xf32>
    %c0_1 = arith.constant 0 : index
    %c0_2 = arith.constant 0 : index
    tpu.vector_store %arg1[%c0_1, %c0_2], %2 {strides = array<i32>} : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>,
    return
  }
}

StableHLO of 1700 bytes or so, which begins
module @scale {
*/
