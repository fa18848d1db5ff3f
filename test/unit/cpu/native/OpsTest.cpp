// Ops that are not element-wise give natively what they give on the machine, bit by bit, in every dtype and form.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "../../LongTest.h"
#include "OpSamples.h"
#include "cpu/aot/Aot.h"

namespace smalti::cpu::testing {
namespace {

/// Samples of one op and dtype are one kernel.
std::map<std::pair<std::string, std::string>, std::vector<const OpSample*>> groups() {
  std::map<std::pair<std::string, std::string>, std::vector<const OpSample*>> all;
  for (const OpSample& s : opSamples()) {
    TextKernel alone;
    addSample(alone, s, addOperands(alone, s));
    // Not every op has every dtype.
    if (accepted(alone.text())) all[{s.op, s.of}].push_back(&s);
  }
  std::set<std::string> known, named;
  for (const OpSample& s : opSamples()) named.insert(s.op);
  for (const auto& [of, samples] : all) known.insert(of.first);
  EXPECT_EQ(known, named);
  return all;
}

TEST(NativeOps, GiveWhatTheMachineGives) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  uint64_t seed = 0;
  for (const auto& [of, samples] : groups()) {
    TextKernel k;
    std::vector<Array> operands;
    std::vector<std::vector<Val>> refs;
    for (const OpSample* s : samples) {
      refs.push_back(addOperands(k, *s));
      for (const SampleValue& in : s->in)
        operands.push_back(sampleNumbers(dtype_from_name(in.dtype).value(), in.shape, ++seed, s->mild));
    }
    for (size_t i = 0; i < samples.size(); ++i) addSample(k, *samples[i], refs[i]);
    const auto code = native(k);
    ASSERT_TRUE(code) << of.first << " " << of.second;
    bool fault = false;
    auto ours = code->call(operands, 1, fault);
    ASSERT_TRUE(ours && !fault) << of.first << " " << of.second;
    const auto theirs = results(k, operands);
    ASSERT_EQ(ours->size(), samples.size());
    ASSERT_EQ(theirs.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      EXPECT_EQ(apart((*ours)[i], theirs[i], 0), "") << of.first << " " << of.second << "\n" << samples[i]->lines;
    for (const std::string& name : code->report().interpreted)
      EXPECT_NE(name, of.first) << of.second << " is computed by the machine's code";
  }
}

/// Objects that call nothing but libc: no fused multiply-add or conversion of a library.
TEST(NativeOps, CompileAheadOfTimeForOtherProcessors) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  for (const char* name : {"x86_64-linux-gnu/haswell", "aarch64-linux-gnu/neoverse-n1"}) {
    const auto processor = processorNamed(name);
    ASSERT_TRUE(processor) << name;
    for (const auto& [of, samples] : groups()) {
      if (of.second != "f16" && of.second != "bf16" && of.second != "i8" && of.second.find(' ') == std::string::npos)
        continue;
      TextKernel k;
      std::vector<std::vector<Val>> refs;
      for (const OpSample* s : samples) refs.push_back(addOperands(k, *s));
      for (size_t i = 0; i < samples.size(); ++i) addSample(k, *samples[i], refs[i]);
      const auto made = compileAheadOfTime(k.package(), *processor, "kernel", /*stepLimit=*/0);
      // Random rounding to integers is src/eval's.
      if (!made && of.first == "tpu.stochastic_convert") continue;
      EXPECT_TRUE(made) << name << " " << of.first << " " << of.second << "\n" << made.error().str();
    }
  }
}

TEST(NativeOps, AProcessorWithoutFusedMultiplyAddIsRefused) {
  const auto processor = processorNamed("x86_64-linux-gnu/x86-64");
  ASSERT_TRUE(processor);
  TextKernel k;
  const Val in = k.input({.array = {8, 128}}), out = k.output({.array = {8, 128}});
  k.store(k.load(in), out);
  const auto object = compileAheadOfTime(k.package(), *processor, "kernel", /*stepLimit=*/0);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, "SM7005");
  const auto here = compileNative(k.package(), {.processor = *processor});
  ASSERT_TRUE(here);
  EXPECT_FALSE(here->kernel);
  EXPECT_EQ(here->why.reason, "processor x86-64 lacks AVX2, FMA or F16C");
}

TEST(Processor, Arm64HasThirtyTwoRegisters) {
  const auto arm = processorNamed("aarch64-linux-gnu/neoverse-n1");
  ASSERT_TRUE(arm);
  EXPECT_EQ(arm->vectorRegisters, 32);
  EXPECT_EQ(arm->vectorBytes, 16);
}

}  // namespace
}  // namespace smalti::cpu::testing
