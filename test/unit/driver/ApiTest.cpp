// The public API (smalti/smalti.h): what a program outside of Smalti gets for good and for wrong input.
#include "smalti/smalti.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "smalti/chips.h"
#include "smalti/device_array.h"

namespace smalti {
namespace {

namespace fs = std::filesystem;

const std::string kCase = std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/add_grid_1d";

constexpr const char* kAdd = R"(module @add {
  func.func public @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %y : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
)";

/// Doubles its input; has scratch that it does not use.
constexpr const char* kBare = R"(func.func @twice(%x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                 %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s: memref<8x128xf32, #tpu.memory_space<vmem>>)
    attributes {dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 1 : i64,
                tpu.core_type = #tpu.core_type<tc>} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  %w = arith.addf %v, %v : vector<8x128xf32>
  vector.store %w, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
  return
}
)";
const std::vector<ArrayType> kTile{{DType::f32, {8, 128}}};

Array array(std::vector<float> values) {
  Array a = *Array::allocate({DType::f32, {static_cast<int64_t>(values.size())}});
  std::copy(values.begin(), values.end(), a.as<float>());
  return a;
}

Module add() { return Module::parse(kAdd, "add.mlir").value(); }

template <class T>
std::string messageOf(const Result<T>& result) {
  return result ? "" : result.error().str();
}

/// A folder of this test's own.
class Api : public ::testing::Test {
 protected:
  fs::path folder = fs::temp_directory_path() / ("api_test." + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder / name) << content;
    return (folder / name).string();
  }
};

TEST_F(Api, AModuleDescribesItself) {
  const Module m = add();
  EXPECT_EQ(m.name(), "add");
  EXPECT_EQ(m.arguments(), (std::vector<ArrayType>{{DType::f32, {2}}, {DType::f32, {2}}}));
  EXPECT_EQ(m.results(), (std::vector<ArrayType>{{DType::f32, {2}}}));
  EXPECT_TRUE(m.kernels().empty());
  EXPECT_EQ(version().substr(0, 7), "smalti ");
}

TEST_F(Api, ACaseFolderReproducesTheRecordedResults) {
  const auto m = Module::load(kCase);
  ASSERT_TRUE(m) << m.error().str();
  EXPECT_EQ(m->kernels(), std::vector<std::string>{"add_k"});
  const auto inputs = m->recorded_inputs();
  const auto expected = m->expected_results();
  ASSERT_TRUE(inputs && expected);
  const auto run = m->run(*inputs);
  ASSERT_TRUE(run) << run.error().str();
  ASSERT_EQ(run->results.size(), 1u);
  for (int64_t i = 0; i < run->results[0].elements(); ++i)
    EXPECT_EQ(run->results[0].as<float>()[i], (*expected)[0].as<float>()[i]) << i;
  EXPECT_EQ(run->statistics.grid_steps, 4);
  EXPECT_GT(run->statistics.window_fetches, 0);
  const auto checked = m->check(*inputs);
  ASSERT_TRUE(checked) << checked.error().str();
  EXPECT_TRUE(checked->findings.empty());
}

TEST_F(Api, RunsAParsedModule) {
  const std::vector<Array> inputs{array({1, 2}), array({10, 20})};
  const auto run = add().run(inputs);
  ASSERT_TRUE(run) << run.error().str();
  EXPECT_EQ(run->results[0].as<float>()[1], 22);
}

TEST_F(Api, ABareKernelNeedsTheShapesOfItsArrays) {
  EXPECT_EQ(messageOf(Module::parse(kBare, "twice.mlir")),
            R"(error[SM1012]: 'twice.mlir' is a bare kernel: it does not say how large the arrays are
  need: the operands (--in) and the results (--out-shape)
  have: blocks only
  help: for example: --in x.npy --in 'f32[256,128]' --out-shape 'f32[256,128]'
)");
  const auto m = Module::parse(kBare, "twice.mlir", kTile, kTile);
  ASSERT_TRUE(m) << m.error().str();
  EXPECT_EQ(m->kernels(), std::vector<std::string>{"twice"});
  const auto run = m->run(*make_inputs(*m));
  ASSERT_TRUE(run) << run.error().str();
  EXPECT_EQ(run->results[0].as<float>()[1023], 2);
  const std::vector<ArrayType> other{{DType::i32, {8, 128}}};
  EXPECT_EQ(messageOf(Module::parse(kBare, "twice.mlir", other, kTile)),
            R"(error[SM3008]: the kernel sees other elements than the array has
  --> twice.mlir:1:18
   in kernel 'twice'
   in input 0
  need: i32 (of i32[8,128])
  have: f32
)");
}

TEST_F(Api, CheckReportsWhatATpuWouldHide) {
  std::string text = kBare;
  text.replace(text.find("vector.load %x"), 14, "vector.load %s");
  const auto m = Module::parse(text, "twice.mlir", kTile, kTile);
  ASSERT_TRUE(m) << m.error().str();
  const auto inputs = make_inputs(*m);
  const auto run = m->run(*inputs);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->findings.empty());
  const auto checked = m->check(*inputs);
  ASSERT_TRUE(checked) << checked.error().str();
  ASSERT_EQ(checked->findings.size(), 1u);
  EXPECT_EQ(checked->findings[0].count, 1);
  EXPECT_EQ(checked->findings[0].diagnostic.str(), R"(error[SM4102]: output 0 depends on uninitialised memory
  --> twice.mlir:6:8
   in kernel 'twice'
  need: all 1024 elements of f32[8,128] written from defined values
  have: 1024 undefined element(s), the first at [0, 0]; undefined elements were read from scratch 0 at twice.mlir:6:8
  help: visit every block of the output, and initialise windows and scratch at the first step that uses them, as under pl.when(k == 0)
)");
}

TEST_F(Api, ModulesThatCannotBeLoaded) {
  EXPECT_EQ(messageOf(Module::load("no_such_file.mlir")),
            R"(error[SM1001]: cannot read 'no_such_file.mlir': No such file or directory
)");
  EXPECT_EQ(messageOf(Module::parse("", "empty.mlir")), R"(error[SM1013]: 'empty.mlir' is not a module
  need: StableHLO text, Mosaic text, stable_mosaic bytecode
  have: an empty file
)");
  EXPECT_EQ(messageOf(Module::parse("module {", "cut.mlir")),
            R"(error[SM2202]: the text cannot be read: expected operation name in quotes
  --> cut.mlir:1:7
  help: a newer MLIR may print another syntax: give the generic form (print_generic_op_form=True)
)");
  EXPECT_EQ(messageOf(Module::parse("func.func @f(%i: tpu", "cut.mlir")),
            R"(error[SM2202]: the text cannot be read: expected non-function type
  --> cut.mlir:1:17
  help: a newer MLIR may print another syntax: give the generic form (print_generic_op_form=True)
)");
  EXPECT_EQ(messageOf(Module::parse("ML\xefR\x01", "cut.bc")),
            R"(error[SM2101]: the kernel body ends inside the producer's name
  --> cut.bc
   in byte 5 of a kernel body
  need: a zero byte at its end
)");
}

TEST_F(Api, InputsThatTheModuleDoesNotTake) {
  const Module m = add();
  EXPECT_EQ(messageOf(m.run({})), R"(error[SM1008]: wrong number of inputs
  need: 2 inputs
  have: 0
)");
  EXPECT_EQ(messageOf(m.run(std::vector<Array>{array({1, 2}), array({1, 2, 3})})),
            R"(error[SM1008]: input 1 is of the wrong type
  need: f32[2]
  have: f32[3]
)");
  EXPECT_EQ(messageOf(m.check(std::vector<Array>{array({1, 2})})),
            R"(error[SM1008]: wrong number of inputs
  need: 2 inputs
  have: 1
)");
}

TEST_F(Api, Settings) {
  Settings settings;
  EXPECT_TRUE(settings.set("semantics", "hlo"));
  EXPECT_TRUE(settings.set("step-limit", "3"));
  EXPECT_EQ(messageOf(settings.set("colour", "red")), R"(error[SM1011]: there is no option 'colour'
  help: smalti env lists them
)");
  EXPECT_EQ(messageOf(settings.set("poison", "one")), R"(error[SM1011]: poison cannot be 'one'
  need: auto|min|max|zero
  help: poison: undefined memory: NaN and the minimum or maximum of the integer type, or zero; auto: as the case was recorded
)");
  EXPECT_EQ(messageOf(settings.set("cores", "none")), R"(error[SM1011]: cores cannot be 'none'
  need: a number from 1 to 64
  help: cores: cores of a device that share parallel grid axes
)");
  // A copy is a copy; a refused value changes nothing.
  const Settings copy = settings;
  EXPECT_TRUE(settings.set("step-limit", "100000"));
  const auto m = Module::parse(kBare, "twice.mlir", kTile, kTile);
  const auto inputs = make_inputs(*m);
  EXPECT_TRUE(m->run(*inputs, settings));
  EXPECT_EQ(messageOf(m->run(*inputs, copy)), R"(error[SM4104]: the kernel did not end within the step limit
  --> twice.mlir:8:3
   in kernel 'twice'
  need: at most 3 instructions and grid steps
  have: no end after 3
  help: look for a loop whose condition never becomes false, or raise the step limit
error[SM4104]: device 0 core 0 is running
  --> twice.mlir:8:3
)");
}

TEST_F(Api, SM6609_ChipsThatDoNotExist) {
  Settings settings;
  ASSERT_TRUE(settings.set("chip", "v9"));
  const std::string refusal = R"(error[SM6609]: there is no chip 'v9'
  need: v4, v5e, v5p, v6e, v7x, or a chip's .toml file
  have: v9
  help: did you mean v4?
)";
  const Module module = Module::load(kCase).value();
  EXPECT_EQ(module.compile(settings).error().str(), refusal);
  EXPECT_EQ(module.run(module.recorded_inputs().value(), settings).error().str(), refusal);
  EXPECT_EQ(module.check(module.recorded_inputs().value(), settings).error().str(), refusal);
  const int line = __LINE__ + 1;
  auto twice = pallas_call([](Ref x, Ref o) { o[_] = x[_] + x[_]; }, {.out_shape = ShapeDtype{{8, 128}, DType::f32}});
  try {
    twice.with(settings)(ones({8, 128}));
    FAIL() << "the call ran";
  } catch (const Error& e) {
    Diagnostic d = e.diagnostic();
    EXPECT_EQ(d.place.line, line);
    d.place = {};
    EXPECT_EQ(d.str(), refusal);
  }
}

TEST_F(Api, Chips) {
  const auto all = chips();
  ASSERT_TRUE(all) << all.error().str();
  const auto v5p = std::ranges::find(*all, "v5p", &ChipDescription::name);
  ASSERT_NE(v5p, all->end());
  EXPECT_EQ(v5p->device_kind, "TPU v5");
  EXPECT_EQ(v5p->cores_per_device, 2);
}

TEST_F(Api, SettingsOfTheEnvironment) {
  ::setenv("SMALTI_STEP_LIMIT", "many", 1);
  Settings settings;
  EXPECT_EQ(messageOf(settings.read_environment()), R"(error[SM1011]: SMALTI_STEP_LIMIT cannot be 'many'
  need: a number from 0
  help: step-limit: instructions after which a kernel counts as livelocked (native code: grid steps, loop iterations); 0: no limit
)");
  ::setenv("SMALTI_STEP_LIMIT", "100000", 1);
  EXPECT_TRUE(settings.read_environment());
  ::unsetenv("SMALTI_STEP_LIMIT");
}

TEST_F(Api, InputsByFill) {
  const Module m = add();
  EXPECT_EQ((*make_inputs(m))[1].as<float>()[1], 1);
  EXPECT_EQ((*make_inputs(m, "iota"))[1].as<float>()[1], 1);
  EXPECT_EQ((*make_inputs(m, "iota"))[1].as<float>()[0], 0);
  const float a = (*make_inputs(m, "random", 1))[0].as<float>()[0];
  EXPECT_EQ((*make_inputs(m, "random", 1))[0].as<float>()[0], a);
  EXPECT_NE((*make_inputs(m, "random", 2))[0].as<float>()[0], a);
  EXPECT_EQ(messageOf(make_inputs(m, "twos")), R"(error[SM1011]: fill cannot be 'twos'
  need: ones|random|iota
  help: fill: values of inputs that are not given
)");
  // Without a recording, inputs are ones and nothing is expected.
  EXPECT_EQ((*m.recorded_inputs())[0].as<float>()[1], 1);
  EXPECT_TRUE(m.expected_results()->empty());
}

TEST_F(Api, NpyFiles) {
  const std::string path = (folder / "x.npy").string();
  ASSERT_TRUE(write_npy(path, array({1, 2.5f})));
  const auto back = read_npy(path);
  ASSERT_TRUE(back) << back.error().str();
  EXPECT_EQ(back->type(), (ArrayType{DType::f32, {2}}));
  EXPECT_EQ(back->as<float>()[1], 2.5f);
  Array bf16 = *Array::allocate({DType::bf16, {1}});
  *bf16.as<uint16_t>() = 0x3fc0;
  ASSERT_TRUE(write_npy(path, bf16));
  EXPECT_EQ(read_npy(path)->dtype(), DType::u16);
  EXPECT_EQ(read_npy(path, DType::bf16)->type(), bf16.type());

  fs::current_path(folder);
  file("text.npy", "1 2 3");
  EXPECT_EQ(messageOf(read_npy("none.npy")), R"(error[SM1001]: cannot read 'none.npy': No such file or directory
)");
  EXPECT_EQ(messageOf(read_npy("text.npy")),
            R"(error[SM1002]: 'text.npy' is not an .npy file that can be read: it does not begin as one
  help: write it again with numpy.save
)");
  EXPECT_EQ(messageOf(read_npy("x.npy", DType::f32)), R"(error[SM1005]: 'x.npy' holds elements of the wrong type
  need: float32
  have: uint16
  help: convert it: numpy.save(path, array.astype("float32"))
)");
  EXPECT_EQ(messageOf(write_npy("no/folder/x.npy", bf16)),
            R"(error[SM1006]: cannot write 'no/folder/x.npy': No such file or directory
  help: write to a folder that exists and that you may write to
)");
}

TEST_F(Api, ExportsThatCanBeReadAgain) {
  const auto m = Module::load(kCase);
  ASSERT_TRUE(m);
  for (int version : {8, 13, 18}) {
    const auto text = m->export_stablehlo(version);
    ASSERT_TRUE(text) << text.error().str();
    const auto again = Module::parse(*text, "again.mlir");
    ASSERT_TRUE(again) << again.error().str();
    EXPECT_EQ(again->kernels(), m->kernels());
    EXPECT_EQ(again->run(*m->recorded_inputs())->results[0].as<float>()[7], (*m->expected_results())[0].as<float>()[7]);
  }
  EXPECT_EQ(messageOf(m->export_stablehlo(7)), R"(error[SM2110]: kernels cannot be written in this stable_mosaic version
   in kernel 'add_k'
  need: 8 to 18
  have: 7
  help: 13 is a version that every recent JAX reads
)");
}

TEST_F(Api, BrokenCaseFolders) {
  fs::current_path(folder);
  fs::create_directories("case");
  file("case/case.json", "{");
  EXPECT_EQ(messageOf(Module::load("case")), R"(error[SM1007]: 'case/case.json' is not a case: no JSON object
)");
  file("case/case.json", "{}");
  EXPECT_EQ(messageOf(Module::load("case")),
            R"(error[SM1001]: cannot read 'case/module.stablehlo.mlir': No such file or directory
)");
}

TEST(DeviceArray, SM1009_ArraysThatNoMemoryHoldsAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const auto tooLarge = DeviceArray::allocate({DType::f32, {kHuge, kHuge}});
  ASSERT_FALSE(tooLarge);
  EXPECT_EQ(tooLarge.error().str(),
            R"(error[SM1009]: out of memory for an array of type f32[1099511627776,1099511627776]
  need: more bytes than 64 bits count
  help: use smaller arrays, or a machine with more memory
)");
  const auto negative = DeviceArray::allocate({DType::f32, {-4}});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().str(), R"(error[SM1009]: out of memory for an array of type f32[?]
  need: more bytes than 64 bits count
  help: use smaller arrays, or a machine with more memory
)");
}

TEST(DeviceProgram, ThereIsNoneWithoutAnExecutable) { static_assert(!std::is_default_constructible_v<DeviceProgram>); }

}  // namespace
}  // namespace smalti
