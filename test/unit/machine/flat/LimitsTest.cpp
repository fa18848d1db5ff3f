// Modules made to do harm.
#include "Harness.h"

namespace smalti::machine::test {
namespace {

using Limits = Kernel;

TEST_F(Limits, RegionsNestedTooDeeplyAreRefused) {
  scalars = {1};
  std::string body = "%zero = arith.constant 0 : i32\n%p = arith.cmpi ne, %i0, %zero : i32\n";
  for (int k = 0; k < 300; ++k) body += "scf.if %p {\n";
  body += "\"tpu.log\"(%i0) <{formatted = false, tag = \"\"}> : (i32) -> ()\n";
  for (int k = 0; k < 300; ++k) body += "}\n";
  EXPECT_EQ(failure(body), "SM9004");
}

TEST_F(Limits, LongChainsOfAliasesAreFine) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  std::string body =
      "%c = arith.constant 0 : index\n%v0 = vector.load %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, "
      "vector<4xf32>\n";
  constexpr int kLinks = 5000;
  for (int k = 1; k <= kLinks; ++k)
    body += "%v" + std::to_string(k) + " = vector.shape_cast %v" + std::to_string(k - 1) +
            (k % 2 ? " : vector<4xf32> to vector<2x2xf32>\n" : " : vector<2x2xf32> to vector<4xf32>\n");
  body += "%n = arith.negf %v" + std::to_string(kLinks) +
          " : vector<4xf32>\nvector.store %n, %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>\n";
  run(body);
  EXPECT_EQ(out(0), (std::vector<double>{-1, -2, -3, -4}));
}

TEST_F(Limits, ManyValuesArePlannedInTime) {
  buffer(DType::f32, {64}, {1});
  std::string body =
      "%c = arith.constant 0 : index\n%v0 = vector.load %0[%c] : memref<64xf32, #tpu.memory_space<vmem>>, "
      "vector<64xf32>\n";
  constexpr int kOps = 6000;
  for (int k = 1; k <= kOps; ++k)
    body += "%v" + std::to_string(k) + " = arith.addf %v" + std::to_string(k - 1) + ", %v" +
            std::to_string(k > 40 ? k - 40 : 0) + " : vector<64xf32>\n";
  body +=
      "vector.store %v" + std::to_string(kOps) + ", %0[%c] : memref<64xf32, #tpu.memory_space<vmem>>, vector<64xf32>\n";
  run(body);
  EXPECT_LE(valueBytes(*program), 45 * 256);
}

}  // namespace
}  // namespace smalti::machine::test
