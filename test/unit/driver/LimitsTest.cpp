// Limits of executions: the targets say the same.
#include <chrono>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace smalti {
namespace {

/// A module whose body is `lines`, with an i32[1] in scalar memory as %o.
std::string scalarKernel(const std::string& lines) {
  return R"(func.func @kernel(%o: memref<1xi32, #tpu.memory_space<smem>>)
    attributes {iteration_bounds = array<i64>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                tpu.core_type = #tpu.core_type<tc>, dimension_semantics = []} {
)" + lines +
         "\n  return\n}\n";
}
const std::string kEndless = scalarKernel(R"(  %true = arith.constant true
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    scf.yield
  })");
const std::string kLong = scalarKernel(R"(  %zero = arith.constant 0 : index
  %from = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %most = arith.constant 2147483647 : i32
  scf.for %i = %from to %most step %one : i32 {
    scf.for %j = %from to %most step %one : i32 {
      memref.store %j, %o[%zero] : memref<1xi32, #tpu.memory_space<smem>>
    }
  })");

/// A bound with which the number of iterations is no i64.
const std::string kWidest = scalarKernel(R"(  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %most = arith.constant 9223372036854775807 : index
  scf.for %i = %zero to %most step %one {
    %k = arith.index_cast %i : index to i32
    memref.store %k, %o[%zero] : memref<1xi32, #tpu.memory_space<smem>>
  })");

/// Each loop alone has few iterations; together they have 8 to the power of `levels`.
std::string nestedLoops(int levels) {
  std::string text =
      "  %zero = arith.constant 0 : index\n  %one = arith.constant 1 : index\n  %eight = arith.constant 8 : index\n"
      "  %k = arith.constant 5 : i32\n";
  for (int i = 0; i < levels; ++i) text += "  scf.for %i" + std::to_string(i) + " = %zero to %eight step %one {\n";
  text += "  memref.store %k, %o[%zero] : memref<1xi32, #tpu.memory_space<smem>>\n";
  for (int i = 0; i < levels; ++i) text += "  }\n";
  return scalarKernel(text);
}

class LimitsOf : public ::testing::TestWithParam<const char*> {
 protected:
  Result<RunReport> execute(const std::string& text, const std::function<void(ExecuteOptions&)>& change) const {
    const std::vector<ArrayType> result{{DType::i32, {1}}};
    const auto module = Module::parse(text, "kernel.mlir", {}, result);
    EXPECT_TRUE(module) << module.error().str();
    Settings settings;
    EXPECT_TRUE(settings.set("target", GetParam()) && settings.set("cache", "off"));
    const auto executable = module->compile(settings);
    EXPECT_TRUE(executable) << executable.error().str();
    ExecuteOptions options = executable->options();
    change(options);
    return executable->execute({}, options);
  }
};
INSTANTIATE_TEST_SUITE_P(Limits, LimitsOf, ::testing::Values("interpret", "cpu"));

TEST_P(LimitsOf, SM4104_EndlessLoopsEndAtTheStepLimit) {
  const auto ran = execute(kEndless, [](ExecuteOptions& o) { o.step_limit = 100'000; });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().str(), R"(error[SM4104]: the kernel did not end within the step limit
  --> kernel.mlir:6:5
   in kernel 'kernel'
  need: at most 100000 instructions and grid steps
  have: no end after 100000
  help: look for a loop whose condition never becomes false, or raise the step limit
error[SM4104]: device 0 core 0 is running
  --> kernel.mlir:6:5
)");
  for (const std::string& kernel : {kLong, kWidest, nestedLoops(14)})
    EXPECT_EQ(execute(kernel, [](ExecuteOptions& o) { o.step_limit = 100'000; }).error().code, "SM4104");
  EXPECT_TRUE(execute(nestedLoops(3), [](ExecuteOptions& o) { o.step_limit = 100'000; }));
}

TEST_P(LimitsOf, SM9012_TheTimeOfARunIsLimited) {
  for (const std::string& kernel : {kEndless, kLong}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto ran = execute(kernel, [](ExecuteOptions& o) {
      o.step_limit = 0;
      o.time_limit_seconds = 0.25;
    });
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, "SM9012");
    EXPECT_EQ(ran.error().message, "the run timed out");
    EXPECT_EQ(ran.error().need, "at most 0.25 s");
    EXPECT_EQ(ran.error().where, std::vector<std::string>{"kernel 'kernel'"});
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(250));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  }
  const std::string ends = scalarKernel(R"(  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : i32
  memref.store %seven, %o[%zero] : memref<1xi32, #tpu.memory_space<smem>>)");
  const auto ran = execute(ends, [](ExecuteOptions& o) { o.time_limit_seconds = 600; });
  ASSERT_TRUE(ran) << ran.error().str();
  EXPECT_EQ(*ran->results[0].as<int32_t>(), 7);
}

TEST_P(LimitsOf, SM9006_TheCallersFlagStopsARunWithOrWithoutATimeLimit) {
  for (const double seconds : {0.0, 600.0}) {
    const std::atomic<bool> stop{true};
    const auto ran = execute(kEndless, [&](ExecuteOptions& o) {
      o.step_limit = 0;
      o.stop = &stop;
      o.time_limit_seconds = seconds;
    });
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, "SM9006");
    EXPECT_EQ(ran.error().message, "the run was stopped before its end");
  }
}

TEST_P(LimitsOf, SM9002_MemoryIsLimited) {
  const auto ran = execute(kEndless, [](ExecuteOptions& o) { o.memory_limit_bytes = 3; });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().str(), R"(error[SM9002]: the memory limit is reached by output 0
   in kernel 'kernel'
  need: 4 bytes on top of the 0 in use
  have: a limit of 3 bytes
  help: use smaller blocks, scratch or arrays, or raise the memory limit
)");
}

}  // namespace
}  // namespace smalti
