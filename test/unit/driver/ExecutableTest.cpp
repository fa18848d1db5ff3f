// Modules compiled once and executed many times: where inputs and results lie, which options are whose, many threads.
#include "smalti/executable.h"

#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/Module.h"
#include "driver/RunSettings.h"
#include "driver/program/Executables.h"
#include "smalti/smalti.h"

namespace smalti {
namespace {

constexpr const char* kSub = R"(module @sub {
  func.func public @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.subtract %x, %y : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
)";
const std::string kCase = std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/add_grid_1d";
const std::string kAliased = std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/alias_partial_update";

template <class T>
std::string messageOf(const Result<T>& result) {
  return result ? "" : result.error().str();
}

Settings with(std::initializer_list<std::pair<const char*, const char*>> options) {
  Settings settings;
  for (const auto& [name, value] : options) EXPECT_TRUE(settings.set(name, value));
  return settings;
}

Array array(std::vector<float> values) {
  Array a = *Array::allocate({DType::f32, {static_cast<int64_t>(values.size())}});
  std::copy(values.begin(), values.end(), a.as<float>());
  return a;
}

std::vector<Array> allocateAll(const std::vector<ArrayType>& types) {
  std::vector<Array> arrays;
  for (const ArrayType& t : types) arrays.push_back(*Array::allocate(t));
  return arrays;
}

void expectSame(const Array& a, const Array& b) {
  ASSERT_EQ(a.type(), b.type());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0);
}

TEST(Executable, ReportsItsInputAndResultTypes) {
  const Module module = Module::parse(kSub, "sub.mlir").value();
  const auto executable = module.compile(with({{"seed", "7"}, {"dma", "eager"}, {"step-limit", "12"}}));
  ASSERT_TRUE(executable) << executable.error().str();
  EXPECT_EQ(executable->arguments(), module.arguments());
  EXPECT_EQ(executable->results(), module.results());
  EXPECT_EQ(executable->options().seed, 7u);
  EXPECT_EQ(executable->options().dma, DmaTiming::eager);
  EXPECT_EQ(executable->options().step_limit, 12);
}

TEST(Executable, OptionsOfTheExecutionWinOverThoseOfTheSettings) {
  const Module module = Module::load(kCase).value();
  const auto executable = module.compile(with({{"step-limit", "3"}}));
  const auto inputs = module.recorded_inputs().value();
  EXPECT_EQ(executable->execute(inputs).error().code, "SM4104");
  ExecuteOptions options = executable->options();
  options.step_limit = 0;
  EXPECT_TRUE(executable->execute(inputs, options));
  const std::atomic<bool> stop{true};
  options.stop = &stop;
  EXPECT_EQ(executable->execute(inputs, options).error().code, "SM9006");
}

/// The first run names the index; later ones do not run the kernel on the machine, which names it.
TEST(Executable, ReadsOutsideAreExplainedOnce) {
  const Module module = Module::load(std::string(SMALTI_SOURCE_DIR) + "/examples/mistakes/out_of_bounds.mlir").value();
  const auto executable = module.compile(with({{"target", "cpu"}, {"cache", "off"}}));
  ASSERT_TRUE(executable) << executable.error().str();
  std::vector<Array> inputs = allocateAll(executable->arguments());
  for (Array& a : inputs) std::memset(a.data(), 0, static_cast<size_t>(a.bytes()));
  const auto first = executable->execute(inputs), second = executable->execute(inputs);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->findings.size(), 1u);
  ASSERT_EQ(second->findings.size(), 1u);
  EXPECT_EQ(first->findings[0].diagnostic.have, "8");
  EXPECT_EQ(second->findings[0].diagnostic.have, "");
  EXPECT_EQ(second->findings[0].diagnostic.place.str(), first->findings[0].diagnostic.place.str());
  EXPECT_EQ(first->statistics.instructions, 0) << "the results are those of native code";
  EXPECT_EQ(second->statistics.instructions, 0);
  expectSame(first->results[0], second->results[0]);
}

class OnTarget : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Executables, OnTarget, ::testing::Values("interpret", "cpu"));

TEST_P(OnTarget, ResultsGoWhereTheCallerWants) {
  for (const std::string& folder : {kCase, kAliased}) {
    const Module module = Module::load(folder).value();
    const auto executable = module.compile(with({{"target", GetParam()}, {"cache", "off"}}));
    ASSERT_TRUE(executable) << executable.error().str();
    const auto inputs = module.recorded_inputs().value();
    std::vector<Array> before;
    for (const Array& a : inputs) before.push_back(*a.clone());
    const auto wanted = executable->execute(inputs);
    ASSERT_TRUE(wanted) << wanted.error().str();
    auto outputs = allocateAll(executable->results());
    const auto report = executable->execute_into(inputs, outputs);
    ASSERT_TRUE(report) << report.error().str();
    for (size_t i = 0; i < outputs.size(); ++i) {
      expectSame(outputs[i], wanted->results[i]);
      EXPECT_EQ(report->results[i].data(), outputs[i].data());
    }
    for (size_t i = 0; i < inputs.size(); ++i) expectSame(inputs[i], before[i]);
  }
}

TEST_P(OnTarget, AnAliasedInputMayBeTheMemoryOfItsOutput) {
  const Module module = Module::load(kAliased).value();
  const auto executable = module.compile(with({{"target", GetParam()}, {"cache", "off"}}));
  ASSERT_TRUE(executable) << executable.error().str();
  auto inputs = module.recorded_inputs().value();
  const auto wanted = executable->execute(inputs).value();
  const auto [input, output] = executable->state()->aliases.at(0);
  auto outputs = allocateAll(executable->results());
  outputs[output] = inputs[input] = *inputs[input].clone();
  const auto report = executable->execute_into(inputs, outputs);
  ASSERT_TRUE(report) << report.error().str();
  for (size_t i = 0; i < outputs.size(); ++i) expectSame(outputs[i], wanted.results[i]);
}

TEST_P(OnTarget, CallerMemoryMayHaveAnyElementAlignment) {
  const Module module = Module::load(kCase).value();
  const auto executable = module.compile(with({{"target", GetParam()}, {"cache", "off"}}));
  const auto inputs = module.recorded_inputs().value();
  const auto wanted = executable->execute(inputs).value();
  std::vector<std::vector<std::byte>> memory;
  // One element past the start of a block of memory: not at a multiple of 64 bytes.
  const auto unalignedView = [&](const ArrayType& type) {
    auto& block = memory.emplace_back(static_cast<size_t>(type.bytes()) + 64);
    return Array::view(type, block.data() + 4);
  };
  std::vector<Array> views, outputs;
  for (const Array& a : inputs) {
    views.push_back(unalignedView(a.type()));
    std::memcpy(views.back().data(), a.data(), static_cast<size_t>(a.bytes()));
  }
  for (const ArrayType& t : executable->results()) outputs.push_back(unalignedView(t));
  ASSERT_TRUE(executable->execute_into(views, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) expectSame(outputs[i], wanted.results[i]);
}

TEST(Executable, NativeCodeWritesToTheCallersMemoryAndReadsFromIt) {
  const Module module = Module::load(kCase).value();
  const auto executable = module.compile(with({{"target", "cpu"}, {"cache", "off"}}));
  const auto inputs = module.recorded_inputs().value();
  auto outputs = allocateAll(executable->results());
  // What the target itself gives back, before anything is copied.
  const auto report = executable->state()->execute(inputs, outputs, executable->options());
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_EQ(report->results[0].data(), outputs[0].data());
}

TEST(Executable, SM1008_InputsOfAnotherTypeAreRefused) {
  const auto executable = Module::parse(kSub, "sub.mlir")->compile();
  EXPECT_EQ(messageOf(executable->execute({})), R"(error[SM1008]: wrong number of inputs
  need: 2 inputs
  have: 0
)");
  EXPECT_EQ(messageOf(executable->execute(std::vector<Array>{array({1, 2}), array({1, 2, 3})})),
            R"(error[SM1008]: input 1 is of the wrong type
  need: f32[2]
  have: f32[3]
)");
  alignas(4) std::byte bytes[12];
  EXPECT_EQ(
      messageOf(executable->execute(std::vector<Array>{array({1, 2}), Array::view({DType::f32, {2}}, bytes + 1)})),
      R"(error[SM1008]: input 1 is not aligned to its elements
  need: an address that is a multiple of 4 bytes
  have: 1 bytes past one
)");
  EXPECT_EQ(messageOf(executable->execute(std::vector<Array>{array({1, 2}), Array::view({DType::f32, {2}}, nullptr)})),
            R"(error[SM1008]: input 1 has no memory
  need: 8 bytes
  have: a null pointer
)");
}

TEST(Executable, SM1017_OutputsThatCannotBeWrittenToAreRefused) {
  const auto executable = Module::parse(kSub, "sub.mlir")->compile();
  std::vector<Array> inputs{array({1, 2}), array({3, 5})};
  std::vector<Array> none, other{array({1, 2, 3})}, input{inputs[1]};
  EXPECT_EQ(messageOf(executable->execute_into(inputs, none)), R"(error[SM1017]: wrong number of outputs
  need: 1 outputs
  have: 0
)");
  EXPECT_EQ(messageOf(executable->execute_into(inputs, other)), R"(error[SM1017]: output 0 is of the wrong type
  need: f32[2]
  have: f32[3]
)");
  EXPECT_EQ(messageOf(executable->execute_into(inputs, input)), R"(error[SM1017]: output 0 overlaps input 1
  need: 8 bytes that nothing else uses
  help: give it memory of its own, or take the results of execute()
)");
  float memory[3] = {1, 2, 0};
  inputs[0] = Array::view({DType::f32, {2}}, memory);
  std::vector<Array> half{Array::view({DType::f32, {2}}, memory + 1)};
  EXPECT_EQ(executable->execute_into(inputs, half).error().code, "SM1017");
  EXPECT_EQ(memory[1], 2);
  float result[2] = {};
  std::vector<Array> good{Array::view({DType::f32, {2}}, result)};
  ASSERT_TRUE(executable->execute_into(inputs, good));
  EXPECT_EQ(result[1], -3);
}

TEST(Executables, EqualOptionsAreCompiledOnce) {
  auto loaded = std::make_shared<driver::LoadedModule>(driver::loadModule(kCase + "/module.stablehlo.mlir").value());
  driver::Executables executables(std::shared_ptr<const Program>(loaded, &*loaded->program));
  Options options;
  const auto first = executables.compile(driver::compileOptions(options));
  ASSERT_TRUE(first);
  EXPECT_EQ(executables.compile(driver::compileOptions(options)).value(), *first);
  // What only a run looks at is no reason to compile again…
  options.seed = 3;
  options.threads = 1;
  options.dma = "eager";
  EXPECT_EQ(executables.compile(driver::compileOptions(options)).value(), *first);
  EXPECT_EQ(executables.numCompiled(), 1u);
  // …and what changes the code is.
  size_t compiled = 1;
  const auto expectAnother = [&] {
    ASSERT_TRUE(executables.compile(driver::compileOptions(options)));
    EXPECT_EQ(executables.numCompiled(), ++compiled);
  };
  options.numerics = "tpu", expectAnother();
  options.poison = "max", expectAnother();
  options.poison = "zero", expectAnother();
  options.semantics = "hlo", expectAnother();
  options.check = true, expectAnother();
  options.cores = 2, expectAnother();
  options.cache = "off", expectAnother();
  options.target = "cpu", expectAnother();
}

TEST(Executables, OutliveTheModuleThatTheyAreOf) {
  std::optional<Executable> executable;
  std::vector<Array> inputs;
  std::vector<Array> expected;
  {
    const Module module = Module::load(kCase).value();
    executable = module.compile().value();
    inputs = module.recorded_inputs().value();
    expected = module.expected_results().value();
  }
  expectSame(executable->execute(inputs)->results[0], expected[0]);
}

TEST(Executables, SeveralThreadsCompileAndRunTheSameModuleAtOnce) {
  const Module module = Module::load(kCase).value();
  const auto inputs = module.recorded_inputs().value();
  const auto expected = module.expected_results().value();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      // Two and two compile the same, and all read one module.
      const char* options[][2] = {{"interpret", "min"}, {"interpret", "max"}, {"cpu", "min"}, {"cpu", "max"}};
      const auto& [target, poison] = options[t % 4];
      const auto report = module.run(inputs, with({{"target", target}, {"poison", poison}, {"cache", "off"}}));
      if (report &&
          std::memcmp(report->results[0].data(), expected[0].data(), static_cast<size_t>(expected[0].bytes())) == 0)
        ++right;
      if (module.export_stablehlo()) ++right;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 16);
}

}  // namespace
}  // namespace smalti
