// The build ID of what is running. This test is linked statically with the layers: the program holds the code.
#include "cpu/cache/BuildId.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

TEST(BuildId, ThisProgramHasOne) {
  const std::string own = buildIdAt(reinterpret_cast<const void*>(&buildIdAt));
  EXPECT_GE(own.size(), 32U) << "link with --build-id";
  EXPECT_EQ(own.find_first_not_of("0123456789abcdef"), std::string::npos) << own;
  EXPECT_TRUE(buildId().starts_with(own + " ")) << buildId();
}

TEST(BuildId, LibrariesHaveTheirOwn) {
  const std::string own = buildIdAt(reinterpret_cast<const void*>(&buildIdAt));
  const std::string libc = buildIdAt(reinterpret_cast<const void*>(&::getenv));
  EXPECT_NE(libc, "");
  EXPECT_NE(libc, own);
}

TEST(BuildId, AnUnmappedAddressHasNoBuildId) { EXPECT_EQ(buildIdAt(nullptr), ""); }

}  // namespace
}  // namespace smalti::cpu
