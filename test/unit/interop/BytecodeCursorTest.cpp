#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/bytecode/ByteWriter.h"
#include "interop/bytecode/Cursor.h"

namespace smalti::interop::bytecode {
namespace {

TEST(BytecodeCursor, IntegersComeBackAsWritten) {
  std::vector<uint64_t> values = {0, 1, 127, 128, 300, 16383, 16384, ~uint64_t{0}};
  for (int bit = 0; bit < 64; ++bit)
    for (uint64_t d : {0, 1}) values.push_back((uint64_t{1} << bit) - d);
  ByteWriter out;
  for (uint64_t v : values) out.varint(v);
  ReadState state("x.bc");
  Cursor c(state, out.bytes(), 0);
  for (uint64_t v : values) EXPECT_EQ(c.varint("a value"), v);
  c.expectEnd("the values");
  EXPECT_TRUE(state.ok());
}

TEST(BytecodeCursor, LengthsAreThoseOfTheFormat) {
  for (auto [value, bytes] : {std::pair<uint64_t, size_t>{127, 1}, {128, 2}, {(1ull << 56) - 1, 8}, {1ull << 56, 9}}) {
    ByteWriter out;
    out.varint(value);
    EXPECT_EQ(out.size(), bytes) << value;
  }
}

TEST(BytecodeCursor, SignedIntegersAreZigzag) {
  ReadState state("x.bc");
  const std::string bytes = {0x01, 0x03, 0x05, 0x07};  // 0, -1, 1, -2
  Cursor c(state, bytes, 0);
  for (int64_t v : {0, -1, 1, -2}) EXPECT_EQ(c.signedVarint("a value"), v);
}

TEST(BytecodeCursor, ACountThatTheBytesCannotHoldIsRefused) {
  ByteWriter out;
  out.varint(uint64_t{1} << 60);
  ReadState state("x.bc");
  Cursor c(state, out.bytes(), 7);
  EXPECT_EQ(c.count("strings"), 0u);
  ASSERT_FALSE(state.ok());
  const Diagnostic d = state.take();
  EXPECT_EQ(d.code, "SM2101");
  EXPECT_THAT(d.message, testing::HasSubstr("strings"));
  EXPECT_EQ(d.place.file, "x.bc");
}

TEST(BytecodeCursor, AfterAFailureEverythingIsZeroAndTheFirstFailureStays) {
  ReadState state("x.bc");
  Cursor c(state, "ab", 40);
  c.take(3, "three bytes");
  EXPECT_EQ(c.varint("more"), 0u);
  EXPECT_EQ(c.remaining(), 0u);
  const Diagnostic d = state.take();
  EXPECT_THAT(d.message, testing::HasSubstr("three bytes"));
  EXPECT_EQ(d.have, "2 bytes");
  EXPECT_THAT(d.where, testing::ElementsAre(testing::HasSubstr("byte 40")));
}

TEST(BytecodeCursor, AProducerNameIsMadePrintableAndShort) {
  ReadState state("x.bc");
  state.setProducer(std::string(100, 'a') + "\x1b[31m");
  EXPECT_EQ(state.producer(), std::string(48, 'a'));
  state.setProducer("MLIR\x1b!");
  EXPECT_EQ(state.producer(), "MLIR\\x1b!");
}

}  // namespace
}  // namespace smalti::interop::bytecode
