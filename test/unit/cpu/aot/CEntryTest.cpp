#include "cpu/aot/CEntry.h"

#include <cstdlib>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/aot/Aot.h"
#include "cpu/emit/Kernel.h"
#include "cpu/jit/Jit.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// f32[2], i32[] → f32[2]: stores operand 0's first element through the arena to the result's second; the result of the
/// kernel is what operand 1 holds.
ModuleBuilder kernelModule() {
  ModuleBuilder built(hostProcessor(), "kernel");
  llvm::IRBuilder<> b(*built.context);
  auto* pointer = b.getPtrTy();
  auto* f = llvm::Function::Create(
      llvm::FunctionType::get(b.getInt32Ty(), {pointer, pointer, pointer, b.getInt64Ty(), b.getInt64Ty()}, false),
      llvm::Function::ExternalLinkage, kKernelSymbol, *built.module);
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "", f));
  const auto array = [&](unsigned i) {
    return b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, f->getArg(1), i));
  };
  b.CreateStore(b.CreateLoad(b.getFloatTy(), array(0)), f->getArg(2));
  auto* value = b.CreateLoad(b.getFloatTy(), f->getArg(2));
  b.CreateStore(value, b.CreateConstInBoundsGEP1_64(b.getFloatTy(), array(2), 1));
  b.CreateRet(b.CreateLoad(b.getInt32Ty(), array(1)));
  return built;
}

CEntry entryOf(const std::string& name, int64_t workspaceBytes) {
  return {.name = name,
          .operands = {{DType::f32, {2}}, {DType::i32, {}}},
          .results = {{DType::f32, {2}}},
          .aliases = {},
          .workspaceBytes = workspaceBytes,
          .written = {false}};
}

std::shared_ptr<const LoadedCode> load(const CEntry& entry, const Processor& compiledFor = hostProcessor()) {
  ModuleBuilder built = kernelModule();
  addCEntry(*built.module, entry, compiledFor);
  auto object = generateObject(std::move(built), hostProcessor());
  EXPECT_TRUE(object) << object.error().str();
  const RuntimeSymbol libc[] = {{"aligned_alloc", reinterpret_cast<void*>(&std::aligned_alloc)},
                                {"free", reinterpret_cast<void*>(&std::free)}};
  auto code = loadObject(*object, libc);
  EXPECT_TRUE(code) << code.error().str();
  return *code;
}

using Function = int(const float*, const int32_t*, float*);
using FunctionIn = int(void*, const float*, const int32_t*, float*);

TEST(CEntry, CallsTheKernelWithPlainPointers) {
  for (const int64_t bytes : {int64_t{4}, int64_t{1} << 20}) {  // on the stack, from the heap
    const auto code = load(entryOf("copy", bytes));
    const float in[2] = {7, 8};
    float out[2] = {0, 0};
    int32_t result = 0;
    EXPECT_EQ(code->function<Function>("copy")(in, &result, out), kCOk);
    EXPECT_EQ(out[1], 7);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(*static_cast<int64_t*>(code->symbol("copy_workspace_bytes")), bytes);
    result = 1;
    EXPECT_EQ(code->function<Function>("copy")(in, &result, out), kCFault);
    EXPECT_EQ(code->symbol(kKernelSymbol), nullptr) << "only the C functions are seen";
  }
}

TEST(CEntry, BadPointersAreRefused) {
  const auto code = load(entryOf("copy", 64));
  auto* copy = code->function<Function>("copy");
  auto* copyIn = code->function<FunctionIn>("copy_in");
  alignas(64) std::byte workspace[128];
  const float in[2] = {7, 8};
  float out[2];
  const int32_t zero = 0;
  const auto unaligned = [](const auto* p) {
    return reinterpret_cast<decltype(p)>(reinterpret_cast<const char*>(p) + 1);
  };
  EXPECT_EQ(copy(nullptr, &zero, out), kCBadPointer);
  EXPECT_EQ(copy(in, nullptr, out), kCBadPointer);
  EXPECT_EQ(copy(in, &zero, nullptr), kCBadPointer);
  EXPECT_EQ(copy(unaligned(in), &zero, out), kCBadPointer);
  EXPECT_EQ(copyIn(workspace, in, &zero, out), kCOk);
  EXPECT_EQ(copyIn(nullptr, in, &zero, out), kCBadPointer);
  EXPECT_EQ(copyIn(workspace + 8, in, &zero, out), kCBadPointer);
}

TEST(CEntry, ResultsThatOverlapOtherArraysAreRefused) {
  CEntry entry = entryOf("copy", 64);
  float memory[4] = {7, 8, 9, 10};
  const int32_t zero = 0;
  auto code = load(entry);
  auto* copy = code->function<Function>("copy");
  EXPECT_EQ(copy(memory, &zero, memory), kCBadPointer);
  EXPECT_EQ(copy(memory, &zero, memory + 1), kCBadPointer);
  EXPECT_EQ(copy(memory + 1, &zero, memory), kCBadPointer);
  EXPECT_EQ(copy(memory, &zero, memory + 2), kCOk);
  EXPECT_EQ(copy(memory + 2, &zero, memory), kCOk);
  entry.aliases = {{.output = 0, .operand = 0}};
  code = load(entry);
  copy = code->function<Function>("copy");
  EXPECT_EQ(copy(memory, &zero, memory + 1), kCBadPointer) << "one array, or two";
  EXPECT_EQ(copy(memory, &zero, memory), kCOk);
}

TEST(CEntry, AWorkspaceThatOverlapsAnArrayIsRefused) {
  const auto code = load(entryOf("copy", 64));
  auto* copyIn = code->function<FunctionIn>("copy_in");
  alignas(64) std::byte memory[3 * 64] = {};
  std::byte* workspace = memory + 64;
  const auto floats = [&](int byte) { return reinterpret_cast<float*>(memory + byte); };
  int32_t zero = 0;
  float elsewhere[2] = {7, 8};
  EXPECT_EQ(copyIn(workspace, floats(56), &zero, elsewhere), kCOk) << "just before";
  EXPECT_EQ(copyIn(workspace, floats(128), &zero, elsewhere), kCOk) << "just behind";
  EXPECT_EQ(copyIn(workspace, elsewhere, &zero, floats(56)), kCOk);
  for (const int byte : {60, 64, 100, 124}) {
    EXPECT_EQ(copyIn(workspace, floats(byte), &zero, elsewhere), kCBadPointer) << byte;
    EXPECT_EQ(copyIn(workspace, elsewhere, &zero, floats(byte)), kCBadPointer) << byte;
  }
  EXPECT_EQ(copyIn(workspace, elsewhere, reinterpret_cast<int32_t*>(memory + 124), floats(0)), kCBadPointer);
}

TEST(CEntry, WhatTheKernelSaysIsTheResult) {
  const auto code = load(entryOf("copy", 64));
  const float in[2] = {7, 8};
  float out[2];
  const auto says = [&](KernelStatus status) {
    const auto said = static_cast<int32_t>(status);
    return code->function<Function>("copy")(in, &said, out);
  };
  EXPECT_EQ(says(KernelStatus::fault), kCFault);
  EXPECT_EQ(says(KernelStatus::outside), kCBlockOutside);
  EXPECT_EQ(says(KernelStatus::stepLimit), kCStepLimit);
}

TEST(CEntry, AnAliasedResultStartsAsItsOperand) {
  CEntry entry = entryOf("update", 64);
  entry.aliases = {{.output = 0, .operand = 0}};
  const auto code = load(entry);
  float in[2] = {7, 8}, out[2] = {0, 0};
  const int32_t zero = 0;
  EXPECT_EQ(code->function<Function>("update")(in, &zero, out), kCOk);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(out[1], 7);
  EXPECT_EQ(in[1], 8) << "the operand is not written to";
  EXPECT_EQ(code->function<Function>("update")(in, &zero, in), kCOk);
  EXPECT_EQ(in[1], 7);
}

TEST(CEntry, AGridWithMoreStepsThanTheLimitIsRefused) {
  CEntry entry = entryOf("f", 4);
  entry.operands[0] = {DType::i32, {}};
  entry.stepLimit = 1000;
  const auto call = [&](std::vector<int64_t> grid, int32_t bound) {
    entry.grid = std::move(grid);
    const int32_t done = 0;
    float out[2];
    return load(entry)->function<int(const int32_t*, const int32_t*, float*)>("f")(&bound, &done, out);
  };
  constexpr int64_t kMost = INT32_MAX;
  EXPECT_EQ(call({kDynamicBound}, 1000), kCOk);
  EXPECT_EQ(call({kDynamicBound}, 1001), kCStepLimit);
  EXPECT_EQ(call({10, kDynamicBound}, 101), kCStepLimit);
  EXPECT_EQ(call({kMost, kMost, kMost, kDynamicBound}, INT32_MAX), kCStepLimit) << "more than 64 bits count";
  EXPECT_EQ(call({kMost, kMost, kMost, kDynamicBound}, 0), kCOk) << "no step at all";
  EXPECT_EQ(call({1001}, 0), kCStepLimit);
  entry.stepLimit = 0;
  EXPECT_EQ(call({kDynamicBound}, 1001), kCOk);
}

TEST(CEntry, TheKernelsNameMayBeTaken) {
  const auto code = load(entryOf(kKernelSymbol, 64));
  const float in[2] = {7, 8};
  float out[2];
  const int32_t zero = 0;
  EXPECT_EQ(code->function<Function>(kKernelSymbol)(in, &zero, out), kCOk);
}

TEST(CEntry, AProcessorWithoutTheInstructionsIsRefused) {
  // The code itself is this processor's: only what it asks for differs.
  const auto answer = [](const char* name) {
    const auto processor = processorNamed(name);
    EXPECT_TRUE(processor) << processor.error().str();
    const auto code = load(entryOf("copy", 1 << 20), *processor);
    const float in[2] = {7, 8};
    float out[2] = {0, 0};
    const int32_t zero = 0;
    auto* copy = code->function<Function>("copy");
    const int first = copy(in, &zero, out);
    EXPECT_EQ(copy(in, &zero, out), first) << "remembered";
    EXPECT_EQ(copy(nullptr, &zero, out), first == kCOk ? kCBadPointer : first);
    EXPECT_EQ(out[1], first == kCOk ? 7 : 0);
    return first;
  };
  if (llvm::Triple(hostProcessor().triple).getArch() != llvm::Triple::x86_64)
    GTEST_SKIP() << "asked for on x86-64 only";
  EXPECT_EQ(answer("host"), kCOk);
  EXPECT_EQ(answer("x86-64"), kCOk);
  // No processor has the one's FMA4 and the other's AVX-512.
  const int amd2015 = answer("bdver4"), intel2023 = answer("sapphirerapids");
  EXPECT_TRUE(amd2015 == kCWrongProcessor || intel2023 == kCWrongProcessor);
}

TEST(CHeader, DescribesEveryArray) {
  CEntry entry = entryOf("copy", 128);
  entry.operands.push_back({DType::bf16, {8, 128}});
  entry.aliases = {{.output = 0, .operand = 0}};
  const std::string header = cHeader(entry, "copy_kernel", *processorNamed("x86_64-linux-gnu/znver5"));
  EXPECT_THAT(header, HasSubstr("The kernel 'copy_kernel', compiled by smalti for znver5 (x86_64-unknown-linux-gnu)."));
  EXPECT_THAT(header, HasSubstr(" *   4: this processor lacks instructions of that one\n *   5: "));
  EXPECT_THAT(header, Not(HasSubstr("6: ")));
  entry.stepLimit = 1000;
  EXPECT_THAT(cHeader(entry, "copy_kernel", hostProcessor()),
              HasSubstr(" *   6: more than about 1000 grid steps, or iterations of its loops\n * and then the results "
                        "are not valid."));
  EXPECT_THAT(cHeader(entry, "copy_kernel", *processorNamed("aarch64-linux-gnu/neoverse-n1")), Not(HasSubstr("4: ")));
  EXPECT_THAT(header, HasSubstr(" *   in0    f32[2]\n *   in1    i32[]\n *   in2    bf16[8,128]: the bits\n"
                                " *   out0   f32[2]; starts as in0, and may be the same array\n"));
  EXPECT_THAT(header, HasSubstr("int copy(const float *in0, const int32_t *in1, const uint16_t *in2, float *out0);"));
  EXPECT_THAT(header, HasSubstr("int copy_in(void *workspace, const float *in0, "));
  EXPECT_THAT(header, HasSubstr("#ifndef COPY_H\n#define COPY_H\n"));
  // Names come from modules: they cannot end the comment.
  EXPECT_THAT(cHeader(entry, "k*/\nint evil(void);\n/*/", *processorNamed("x86_64-linux-gnu/znver5")),
              HasSubstr("/* The kernel 'k* /\\x0aint evil(void);\\x0a/ * /', compiled by smalti"));
}

TEST(CHeader, DescribesUnwrittenBytesAndTheStorageOfSmallIntegers) {
  CEntry entry{.name = "pack",
               .operands = {{DType::i4, {8}}, {DType::u4, {8}}},
               .results = {{DType::f32, {8}}, {DType::f32, {8}}},
               .aliases = {},
               .workspaceBytes = 0,
               .written = {false, true}};
  EXPECT_THAT(cHeader(entry, "pack", hostProcessor()),
              HasSubstr(" *   in0    i4[8]: one element per byte, sign-extended\n"
                        " *   in1    u4[8]: one element per byte, zero-extended\n"
                        " *   out0   f32[8]; what the kernel does not write to stays as it is\n"
                        " *   out1   f32[8]\n"));
}

TEST(CHeader, NamesAreCIdentifiers) {
  EXPECT_EQ(cIdentifier("flash-attention.v2"), "flash_attention_v2");
  EXPECT_EQ(cIdentifier("2d"), "kernel_2d");
  EXPECT_EQ(cIdentifier(""), "kernel_");
  EXPECT_EQ(cIdentifier("_add"), "kernel_add");
  EXPECT_TRUE(isCIdentifier("a_1"));
  EXPECT_FALSE(isCIdentifier("a-1") || isCIdentifier("") || isCIdentifier("1a"));
  for (const char* taken :
       {"int",          "_Bool", "wchar_t", "and",    "class",    "char8_t",  "static_assert", "co_await",
        "thread_local", "__asm", "int64_t", "size_t", "INT8_MAX", "UINT64_C", "free",          "malloc",
        "main",         "exp",   "expf",    "y0",     "index",    "memset"})
    EXPECT_FALSE(isCIdentifier(taken)) << taken;
  for (const char* free : {"softmax", "exp_rows", "INT8_MATMUL", "matmul_t", "add", "SOFT_MAX"})
    EXPECT_TRUE(isCIdentifier(free)) << free;
}

}  // namespace
}  // namespace smalti::cpu
