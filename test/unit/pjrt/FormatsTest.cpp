// The bytes that go to a plugin and come from it.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pjrt/CompileOptions.h"
#include "pjrt/OptimizedHlo.h"
#include "pjrt/Wire.h"

namespace smalti::pjrt {
namespace {

std::string hex(std::string_view bytes) {
  std::ostringstream text;
  for (const unsigned char c : bytes) text << std::hex << (c >> 4) << (c & 15);
  return text.str();
}

TEST(Wire, FieldsAreReadAsTheyWereWritten) {
  const std::string message = wire::field(1, 300) + wire::field(43, "config") + wire::field(2, uint64_t{1} << 63);
  wire::Reader reader(message);
  EXPECT_EQ(reader.next()->value, 300u);
  const auto text = reader.next();
  EXPECT_EQ(text->number, 43);
  EXPECT_EQ(text->bytes, "config");
  EXPECT_EQ(reader.next()->value, uint64_t{1} << 63);
  EXPECT_FALSE(reader.next());
}

TEST(Wire, ATruncatedMessageEnds) {
  const std::string message = wire::field(1, 300) + wire::field(43, "config");
  for (size_t size = 0; size < message.size(); ++size) {
    const std::string part = message.substr(0, size);
    wire::Reader reader(part);
    int fields = 0;
    while (reader.next()) ++fields;
    EXPECT_LT(fields, 2) << size;
  }
}

// The bytes of the other tests are those that jaxlib's CompileOptions.SerializeAsString() has for these fields.
TEST(CompileOptions, OneDevice) { EXPECT_EQ(hex(CompileOptions{}.proto()), "1a0420012801"); }

TEST(CompileOptions, PartitionsAreOverTheNamedDevices) {
  const std::vector<int64_t> devices{3, 1, 2, 0};
  const CompileOptions options{.partitions = 4, .shardy = true, .devices = devices};
  EXPECT_EQ(hex(options.proto()),
            "1a23"
            "2001"
            "2804"
            "3001"
            "4a18"
            "0801"
            "1004"
            "1a030a0103"
            "1a030a0101"
            "1a030a0102"
            "1a030a0100"
            "980101");
}

TEST(CompileOptions, ComeFromTheModulesAttributes) {
  const CompileOptions options =
      optionsOf("module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {\n sdy.mesh");
  EXPECT_EQ(options.partitions, 4);
  EXPECT_EQ(options.replicas, 2);
  EXPECT_TRUE(options.shardy);
  EXPECT_EQ(optionsOf("module {}").partitions, 1);
  EXPECT_EQ(optionsOf("module {mhlo.num_partitions = -7").partitions, 1);
  EXPECT_EQ(optionsOf("module {mhlo.num_partitions").partitions, 1);
}

std::string recorded() {
  // A copy of (8, 128) blocks of f32[256,512], compiled for v5e by libtpu 0.0.52.
  std::ifstream file(SMALTI_SOURCE_DIR "/test/data/pjrt/copy_v5e.hlo_with_config", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(OptimizedHlo, TellsTheVmemOfAKernel) {
  const auto kernels = kernelsOf(recorded());
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "name.1");
  EXPECT_EQ(kernels[0].vmemBytes, 2 * 2 * 8 * 128 * 4);  // two windows, two buffers each
  EXPECT_EQ(kernels[0].xlaVmemOperands, 0);
}

TEST(OptimizedHlo, TruncatedOrChangedBytesAreNoHarm) {
  const std::string whole = recorded();
  for (size_t size = 0; size < whole.size(); ++size) kernelsOf(std::string_view(whole).substr(0, size));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    kernelsOf(changed);
  }
}

}  // namespace
}  // namespace smalti::pjrt
