#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "BodyBuilder.h"
#include "BytecodeSupport.h"

namespace smalti::interop::test {
namespace {

using testing::HasSubstr;

Diagnostic refusal(const BodyBuilder& body) {
  auto context = makeContext();
  auto read = readBytecode(body.build(), *context, "x.bc");
  return read ? Diagnostic{.code = "none", .message = "was read"} : read.error();
}

/// What is said about a body with this attribute on an op.
Diagnostic refusalOf(BodyBuilder& body, int attribute) {
  body.dictionary = body.addDictionary(attribute);
  return refusal(body);
}

/// The same of a body with an attribute that holds this type.
Diagnostic refusalOfType(const std::vector<uint64_t>& type) {
  BodyBuilder body;
  const auto number = static_cast<uint64_t>(body.addType(BodyBuilder::spell(type)));
  return refusalOf(body, body.add(BodyBuilder::spell({6, number})));
}

/// The same of a body whose only op has a region with one op in it: `flags` and what follows from them.
Diagnostic refusalOfInnerOp(uint8_t flags, const std::vector<uint64_t>& inner) {
  BodyBuilder body;
  bytecode::ByteWriter ir;
  ir.append(BodyBuilder::spell({1 << 1, 0}));
  ir.byte(bytecode::kHasAttributes | bytecode::kHasRegions);
  ir.append(BodyBuilder::spell({0, 3, 1 << 1 | 1, 1, 0, 1 << 1, 1}));
  ir.byte(flags);
  ir.append(BodyBuilder::spell(inner));
  body.ops = ir.bytes();
  return refusal(body);
}

TEST(BytecodeHostile, TheHandMadeBodyItselfIsReadUpToItsOnlyOp) {
  BodyBuilder body;
  const Diagnostic d = refusal(body);
  EXPECT_EQ(d.code, "SM2109") << d.str();  // func.return outside a function
  EXPECT_THAT(d.message, HasSubstr("func.return"));
}

TEST(BytecodeHostile, OtherBytesAreNoBody) {
  BodyBuilder body;
  body.magic = "MLIR";
  EXPECT_EQ(refusal(body).code, "SM2101");
  auto context = makeContext();
  EXPECT_EQ(readBytecode("", *context, "x.bc").error().code, "SM2101");
}

TEST(BytecodeHostile, OtherContainerVersionsAreNamed) {
  BodyBuilder body;
  body.containerVersion = 6;
  const Diagnostic d = refusal(body);
  EXPECT_EQ(d.code, "SM2102");
  EXPECT_EQ(d.have, "container version 6");
}

TEST(BytecodeHostile, AStableVersionFromTheFutureIsNamed) {
  BodyBuilder body;
  body.attributes[2].first = std::string("\x11\x01") + static_cast<char>(19 << 2 | 1);
  const Diagnostic d = refusal(body);
  EXPECT_EQ(d.code, "SM2103") << d.str();
  EXPECT_EQ(d.have, "19");
  EXPECT_THAT(d.need, HasSubstr("1 to 18"));
}

TEST(BytecodeHostile, AnUnknownAttributeCodeNamesTheProducer) {
  BodyBuilder body;
  const Diagnostic d = refusalOf(body, body.add(BodyBuilder::spell({77})));
  EXPECT_EQ(d.code, "SM2104") << d.str();
  EXPECT_THAT(d.have, HasSubstr("code 77, by MLIR99.9"));
  EXPECT_THAT(d.need, HasSubstr("1 to 18"));
}

TEST(BytecodeHostile, AnUnknownTypeCodeNamesTheProducer) {
  const Diagnostic d = refusalOfType({40});
  EXPECT_EQ(d.code, "SM2104") << d.str();
  EXPECT_THAT(d.have, HasSubstr("code 40, by MLIR99.9"));
}

TEST(BytecodeHostile, TypesThatKernelsDoNotHaveAreRefused) {
  for (uint64_t code : {7, 8, 12, 15})  // f80, f128, none, an empty tuple
    EXPECT_EQ(refusalOfType({code, 0}).code, "SM2105") << code;
}

TEST(BytecodeHostile, AnAttributeThatHoldsItselfIsRefused) {
  BodyBuilder body;
  const uint64_t self = body.attributes.size();
  const Diagnostic d = refusalOf(body, body.add(BodyBuilder::spell({0, 1, self})));
  EXPECT_EQ(d.code, "SM2105");
  EXPECT_THAT(d.message, HasSubstr("holds itself"));
}

TEST(BytecodeHostile, DeepNestingIsRefused) {
  BodyBuilder body;
  int inner = body.add(BodyBuilder::spell({7}));
  for (int i = 0; i < 1000; ++i) inner = body.add(BodyBuilder::spell({0, 1, static_cast<uint64_t>(inner)}));
  EXPECT_EQ(refusalOf(body, inner).code, "SM2106");
}

// Thirty arrays, each holding the one before twice: a billion attributes when walked, 200 bytes in the body.
TEST(BytecodeHostile, SharedPartsAreCountedWhereTheyAreUsed) {
  BodyBuilder body;
  int inner = body.add(BodyBuilder::spell({7}));
  for (int i = 0; i < 30; ++i)
    inner = body.add(BodyBuilder::spell({0, 2, static_cast<uint64_t>(inner), static_cast<uint64_t>(inner)}));
  const Diagnostic d = refusalOf(body, inner);
  EXPECT_EQ(d.code, "SM2106");
  EXPECT_THAT(d.message, HasSubstr("too large"));
}

TEST(BytecodeHostile, OpsNestedTooDeeplyAreRefused) {
  BodyBuilder body;
  bytecode::ByteWriter ir;
  ir.varint(1 << 1);
  for (int i = 0; i < 100'000; ++i) {
    ir.varint(0);
    ir.byte(bytecode::kHasRegions);
    ir.append(BodyBuilder::spell({0, 1 << 1, 1, 0, 1 << 1}));
  }
  body.ops = ir.bytes();
  EXPECT_EQ(refusal(body).code, "SM2106");
}

TEST(BytecodeHostile, ImpossibleShapesAreRefused) {
  EXPECT_EQ(refusalOfType({19, 1, 1ull << 62, 0}).code, "SM2106");
  EXPECT_EQ(refusalOfType({19, 2, 1ull << 40, 1ull << 40, 0}).code, "SM2106");
}

TEST(BytecodeHostile, TextOfUnknownDialectsNeverReachesTheParser) {
  BodyBuilder body;
  body.attributes.emplace_back(std::string("#llvm.whatever<x>\0", 18), false);
  const Diagnostic d = refusalOf(body, static_cast<int>(body.attributes.size()) - 1);
  EXPECT_EQ(d.code, "SM2105");  // its dialect is said to be builtin, where text is a map
}

TEST(BytecodeHostile, ADictionaryWithOneKeyTwiceIsRefused) {
  BodyBuilder body;
  const auto name = static_cast<uint64_t>(body.add(BodyBuilder::spell({2, 5})));
  body.dictionary = body.add(BodyBuilder::spell({1, 2, name, 0, name, 0}));
  EXPECT_EQ(refusal(body).code, "SM2105");
}

TEST(BytecodeHostile, BooleansAreZeroOrOne) {
  BodyBuilder body;
  const auto i1 = static_cast<uint64_t>(body.addType(BodyBuilder::spell({0, 1 << 2})));
  EXPECT_EQ(refusalOf(body, body.add(BodyBuilder::spell({17, i1, 1, 1}) + '\x02')).code, "SM2105");
}

TEST(BytecodeHostile, AValueUsedBeforeItIsMadeIsRefused) {
  const Diagnostic d = refusalOfInnerOp(bytecode::kHasOperands, {0, 1, 5});
  EXPECT_EQ(d.code, "SM2101");
  EXPECT_THAT(d.message, HasSubstr("before it is made"));
}

TEST(BytecodeHostile, AnOpThatNoKernelHasIsNamed) {
  BodyBuilder body;
  body.strings[3] = "llvm.call";
  const Diagnostic d = refusal(body);
  EXPECT_EQ(d.code, "SM3103");
  EXPECT_THAT(d.message, HasSubstr("llvm.call"));
}

TEST(BytecodeHostile, AnOpOfSparseCoresSaysSo) {
  BodyBuilder body;
  body.strings[3] = "tpu.scan";
  const Diagnostic d = refusal(body);
  EXPECT_EQ(d.code, "SM3101");
  EXPECT_THAT(d.message, HasSubstr("SparseCore"));
}

TEST(BytecodeHostile, BranchesBetweenBlocksAreRefused) {
  EXPECT_EQ(refusalOfInnerOp(bytecode::kHasSuccessors, {0, 1, 0}).code, "SM2107");
}

}  // namespace
}  // namespace smalti::interop::test
