// Damaged bodies: each is refused with a diagnostic or is a valid module. (A longer run is the fuzz target's.)
#include <gtest/gtest.h>

#include <random>

#include "../LongTest.h"
#include "mlir/IR/Verifier.h"

#include "BytecodeSupport.h"

namespace smalti::interop::test {
namespace {

void expectRefusedOrValid(const std::string& body, const std::string& what) {
  auto context = makeContext();
  auto module = readBytecode(body, *context, "x.bc");
  if (module) {
    EXPECT_TRUE(mlir::succeeded(mlir::verify(**module))) << what;
  } else {
    EXPECT_TRUE(module.error().code.starts_with("SM21") || module.error().code.starts_with("SM31")) << what;
    EXPECT_FALSE(module.error().message.empty()) << what;
  }
}

TEST(BytecodeMutation, EveryTruncationIsRefused) {
  SMALTI_LONG_TEST();
  const std::string body = slurp(dataFolder() / "seed/add_grid_2d.bc");
  ASSERT_FALSE(body.empty());
  for (size_t n = 0; n < body.size(); ++n) {
    auto context = makeContext();
    auto module = readBytecode(body.substr(0, n), *context, "x.bc");
    ASSERT_FALSE(module) << n;
    EXPECT_EQ(module.error().code, "SM2101") << n;
  }
}

TEST(BytecodeMutation, DamagedBodiesAreRefusedOrValid) {
  SMALTI_LONG_TEST();
  std::vector<std::string> bodies;
  for (const auto& e : fs::directory_iterator(dataFolder() / "seed"))
    if (e.path().extension() == ".bc") bodies.push_back(slurp(e.path()));
  std::mt19937_64 random(20);
  for (int i = 0; i < 2000; ++i) {
    std::string body = bodies[random() % bodies.size()];
    for (uint64_t n = random() % 4 + 1; n > 0; --n) {
      const size_t at = random() % body.size();
      switch (random() % 4) {
        case 0:
          body[at] = static_cast<char>(random());
          break;
        case 1:
          body[at] ^= static_cast<char>(1 << random() % 8);
          break;
        case 2:
          body.erase(at, random() % 8 + 1);
          break;
        default:
          body.insert(at, random() % 8 + 1, static_cast<char>(random()));
          break;
      }
    }
    expectRefusedOrValid(body, "mutation " + std::to_string(i));
  }
}

}  // namespace
}  // namespace smalti::interop::test
