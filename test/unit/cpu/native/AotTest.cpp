// Kernels as objects: for which processors, and what is said of those that are refused.
#include "cpu/aot/Aot.h"

#include <gtest/gtest.h>

#include "Native.h"

namespace smalti::cpu::testing {
namespace {

/// out = in + in, through the heap.
KernelPackage plainKernel() {
  TextKernel k;
  const Val in = k.input({.array = {64, 256}}), out = k.output({.array = {64, 256}});
  const Val v = k.load(in);
  k.store(k.binary("arith.addf", v, v), out);
  return k.package();
}

std::string refusal(const KernelPackage& package, const std::string& processor) {
  const auto target = processorNamed(processor);
  EXPECT_TRUE(target) << processor;
  if (!target) return "";
  const auto made = compileAheadOfTime(package, *target, "kernel", /*stepLimit=*/1000);
  return made ? "" : made.error().str();
}

TEST(AheadOfTime, AddressesHave64BitsAndBytesComeLowestFirst) {
  const auto refused = [](const std::string& triple, const std::string& have) {
    return "error[SM7005]: there is no native code for " + triple +
           "\n  need: a little-endian machine with addresses of 64 bits\n  have: " + have +
           "\n  help: name a processor such as haswell, or aarch64-linux-gnu/neoverse-n1\n";
  };
  const KernelPackage package = plainKernel();
  EXPECT_EQ(refusal(package, "i686-linux-gnu/haswell"), refused("i686-unknown-linux-gnu", "little-endian, 32 bits"));
  EXPECT_EQ(refusal(package, "x86_64-linux-gnux32/haswell"),
            refused("x86_64-unknown-linux-gnux32", "little-endian, 32 bits"));
  EXPECT_EQ(refusal(package, "aarch64_be-linux-gnu/neoverse-n1"),
            refused("aarch64_be-unknown-linux-gnu", "big-endian, 64 bits"));
  EXPECT_EQ(refusal(package, "s390x-linux-gnu/z15"), refused("s390x-unknown-linux-gnu", "big-endian, 64 bits"));
}

TEST(AheadOfTime, NamesOfMachOBeginWithAnUnderscore) {
  EXPECT_EQ(refusal(plainKernel(), "arm64-apple-darwin/apple-m1"), "");
  EXPECT_EQ(refusal(plainKernel(), "x86_64-apple-darwin/haswell"), "");
}

TEST(AheadOfTime, InterpretedOpsAreReported) {
  TextKernel k;
  const Val in = k.input({.array = {8, 128}, .space = "any"}), out = k.output({.array = {8, 128}, .space = "any"});
  const Val sent = k.dmaSemaphore(), received = k.dmaSemaphore();
  k.remoteDma(in, sent, out, received, k.constant(1));
  k.waitSend(in, sent, out, received, k.constant(1));
  const std::string said = refusal(k.package(), "x86_64-linux-gnu/haswell");
  EXPECT_EQ(said.substr(said.find("\n  need")),
            "\n  need: native code for the whole kernel\n"
            "  have: it copies to another device or core, or signals it\n"
            "  help: run it by smalti run, or from a program that links Smalti\n");
}

}  // namespace
}  // namespace smalti::cpu::testing
