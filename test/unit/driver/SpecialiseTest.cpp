// Programs with symbolic shapes: what is inferred agrees with what is declared, and each op that takes shapes as
// operands.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "../LongTest.h"
#include "RunText.h"
#include "driver/Module.h"
#include "driver/symbolic/Specialise.h"
#include "ir/program/PlainOps.h"

namespace smalti::driver {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr DType kF32 = DType::f32, kI32 = DType::i32;

Program symbolicOf(const std::string& text) {
  auto program = interop::importStableHlo(text, "t.mlir", interop::Shapes::symbolic);
  EXPECT_TRUE(program) << program.error().str() << text;
  return program ? std::move(*program) : Program();
}

/// The results for these arguments, or the diagnostic.
Result<std::vector<Array>> runSymbolic(const std::string& text, const std::vector<Array>& arguments) {
  const Program symbolic = symbolicOf(text);
  std::vector<ArrayType> types;
  for (const Array& a : arguments) types.push_back(a.type());
  auto program = specialise(symbolic, types);
  if (!program) return fail(std::move(program.error()));
  auto outcome = runProgram(*program, arguments, {});
  if (!outcome) return fail(std::move(outcome.error()));
  return std::move(outcome->results);
}

std::string whyNot(const std::string& signature, const std::string& body, const std::vector<Array>& arguments) {
  const auto results = runSymbolic(moduleOf(signature, body), arguments);
  return results ? "" : results.error().str();
}

void expectSymbolic(const std::string& signature, const std::string& body, const std::vector<Array>& arguments,
                    const ArrayType& type, const std::vector<double>& expected) {
  const auto results = runSymbolic(moduleOf(signature, body), arguments);
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ((*results)[0].type(), type);
  EXPECT_EQ(numbers((*results)[0]), expected);
}

// ---- inference against declared types

/// Ops whose results are known where they are written: nothing else says how large they are.
bool declaresItsShape(const Op& op) {
  for (const std::string_view name :
       {"constant", "iota", "reshape", "broadcast_in_dim", "rng_bit_generator", "AllocateBuffer", "kernel_call",
        "manual_computation", "all_gather", "reduce_scatter", "full_to_shard_shape", "shard_to_full_shape"})
    if (op.name == name) return true;
  return false;
}

void erase(Function& f, const std::vector<Op>& ops) {
  for (const Op& op : ops) {
    if (!declaresItsShape(op))
      for (const ValueId v : op.results) std::ranges::fill(f.values[static_cast<size_t>(v)].shape, kUnknownDim);
    for (const Block& block : op.regions) {
      if (op.name == "while")
        for (const ValueId v : block.arguments) std::ranges::fill(f.values[static_cast<size_t>(v)].shape, kUnknownDim);
      erase(f, block.ops);
    }
  }
}

/// Without the shapes that follow from those of the arguments.
void erase(Program& program) {
  for (size_t i = 0; i < program.functions.size(); ++i) {
    Function& f = program.functions[i];
    erase(f, f.ops);
    for (ArrayType& t : f.resultTypes) std::ranges::fill(t.shape, kUnknownDim);
    if (static_cast<int>(i) == program.main) continue;
    for (const ValueId v : f.arguments) std::ranges::fill(f.values[static_cast<size_t>(v)].shape, kUnknownDim);
  }
}

/// Results of ops that JAX's modules rarely have. One op each, its operands arguments of main.
const std::vector<std::pair<std::string, std::string>> kOneOp{
    {"(%a: tensor<2x3xf32>) -> tensor<3x2xf32>",
     "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n return %0 : tensor<3x2xf32>"},
    {"(%a: tensor<7x9xf32>) -> tensor<3x5xf32>",
     "%0 = stablehlo.slice %a [1:7:2, 0:9:2] : (tensor<7x9xf32>) -> tensor<3x5xf32>\n return %0 : tensor<3x5xf32>"},
    {"(%a: tensor<3x4xf32>, %v: tensor<f32>) -> tensor<8x3xf32>",
     "%0 = stablehlo.pad %a, %v, low = [1, -1], high = [2, 0], interior = [1, 0] : (tensor<3x4xf32>, tensor<f32>) -> "
     "tensor<8x3xf32>\n return %0 : tensor<8x3xf32>"},
    {"(%a: tensor<4xf32>) -> tensor<4x4xui8>",
     "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4x4xui8>\n return %0 : tensor<4x4xui8>"},
    {"(%a: tensor<4x6xf32>) -> tensor<4x4xcomplex<f32>>",
     "%0 = stablehlo.fft %a, type = RFFT, length = [6] : (tensor<4x6xf32>) -> tensor<4x4xcomplex<f32>>\n return %0 : "
     "tensor<4x4xcomplex<f32>>"},
    {"(%a: tensor<4x4xcomplex<f32>>) -> tensor<4x6xf32>",
     "%0 = stablehlo.fft %a, type = IRFFT, length = [6] : (tensor<4x4xcomplex<f32>>) -> tensor<4x6xf32>\n return %0 : "
     "tensor<4x6xf32>"},
    {"(%x: tensor<2x9x8x4xf32>, %w: tensor<3x3x4x6xf32>) -> tensor<2x5x3x6xf32>",
     "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, "
     "2], pad = [[1, 1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x4xf32>, "
     "tensor<3x3x4x6xf32>) -> tensor<2x5x3x6xf32>\n return %0 : tensor<2x5x3x6xf32>"},
    {"(%a: tensor<5x8xf32>, %i: tensor<2x3x1xi32>) -> tensor<2x8x3xf32>",
     "%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims "
     "= [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 8>}> : (tensor<5x8xf32>, "
     "tensor<2x3x1xi32>) -> tensor<2x8x3xf32>\n return %0 : tensor<2x8x3xf32>"},
    {"(%a: tensor<2x8xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)",
     "%0:2 = chlo.top_k(%a, k = 3) : tensor<2x8xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)\n return %0#0, %0#1 : "
     "tensor<2x3xf32>, tensor<2x3xi32>"},
    {"(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x3x5xf32>",
     "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
     "(tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>\n return %0 : tensor<2x3x5xf32>"},
    {"(%p: tensor<i1>, %a: tensor<2x3xf32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.if\"(%p) ({\n stablehlo.return %a : tensor<2x3xf32>\n}, {\n %1 = stablehlo.negate %a : "
     "tensor<2x3xf32>\n stablehlo.return %1 : tensor<2x3xf32>\n}) : (tensor<i1>) -> tensor<2x3xf32>\n return %0 : "
     "tensor<2x3xf32>"},
    {"(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>) -> tensor<2x4x3xf32>",
     "%0 = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a "
     "= #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>\n return %0 "
     ": tensor<2x4x3xf32>"},
};

void expectInferred(const std::string& text, const std::string& path) {
  Program declared = interop::importStableHlo(text, path).value();
  const std::vector<ArrayType> arguments = argumentTypes(declared), results = resultTypes(declared);
  erase(declared);
  const auto inferred = specialise(declared, arguments);
  ASSERT_TRUE(inferred) << path << "\n" << inferred.error().str() << text.substr(0, 2000);
  EXPECT_EQ(resultTypes(*inferred), results) << path;
}

TEST(Specialise, InfersTheDeclaredShapesOfOneOp) {
  for (const auto& [signature, body] : kOneOp) expectInferred(moduleOf(signature, body), "op.mlir");
}

TEST(Specialise, InfersTheDeclaredShapesOfRecordedModules) {
  SMALTI_LONG_TEST();
  namespace fs = std::filesystem;
  int count = 0;
  for (const char* root : {"/test/data/cases", "/../shared/corpus"}) {
    const std::string folder = std::string(SMALTI_SOURCE_DIR) + root;
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() != "module.stablehlo.mlir") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      if (!interop::importStableHlo(text.str(), entry.path())) continue;
      expectInferred(text.str(), entry.path());
      ++count;
    }
  }
  EXPECT_GE(count, 20);
}

// ---- ops that take shapes as operands

const std::string kSizes =
    "%n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>\n"
    "%m = stablehlo.get_dimension_size %a, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>\n"
    "%n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
    "%m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>\n"
    "%nm = stablehlo.concatenate %n1, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n";
const Array kTwoByThree = make({kF32, {2, 3}}, {1, 2, 3, 4, 5, 6});

TEST(Specialise, SizesAreNumbers) {
  expectSymbolic("(%a: tensor<?x?xf32>) -> tensor<2xi32>", kSizes + "return %nm : tensor<2xi32>", {kTwoByThree},
                 {kI32, {2}}, {2, 3});
}

TEST(Specialise, BroadcastsTakeTheirShapeAsOperand) {
  expectSymbolic("(%a: tensor<?x?xf32>, %s: tensor<f32>) -> tensor<?x?xf32>",
                 kSizes +
                     "%0 = stablehlo.dynamic_broadcast_in_dim %s, %nm, dims = [] : (tensor<f32>, tensor<2xi32>) -> "
                     "tensor<?x?xf32>\n%1 = stablehlo.add %a, %0 : tensor<?x?xf32>\nreturn %1 : tensor<?x?xf32>",
                 {kTwoByThree, make({kF32, {}}, {10})}, {kF32, {2, 3}}, {11, 12, 13, 14, 15, 16});
}

TEST(Specialise, ReshapesAndIotasTakeTheirShapeAsOperand) {
  expectSymbolic("(%a: tensor<?x?xf32>) -> tensor<?xf32>",
                 kSizes +
                     "%p = stablehlo.multiply %n1, %m1 : tensor<1xi32>\n"
                     "%0 = stablehlo.dynamic_reshape %a, %p : (tensor<?x?xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
                     "%1 = stablehlo.dynamic_iota %p, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
                     "%2 = stablehlo.subtract %0, %1 : tensor<?xf32>\nreturn %2 : tensor<?xf32>",
                 {kTwoByThree}, {kF32, {6}}, {1, 1, 1, 1, 1, 1});
}

TEST(Specialise, PaddingsAreOperands) {
  expectSymbolic("(%a: tensor<?x?xf32>, %s: tensor<f32>) -> tensor<?x?xf32>",
                 kSizes +
                     "%z = stablehlo.constant dense<0> : tensor<2xi32>\n"
                     "%0 = stablehlo.dynamic_pad %a, %s, %z, %nm, %z : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, "
                     "tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>",
                 {make({kF32, {1, 2}}, {1, 2}), make({kF32, {}}, {9})}, {kF32, {2, 4}}, {1, 2, 9, 9, 9, 9, 9, 9});
}

const std::string kSlice =
    "%one = stablehlo.constant dense<1> : tensor<2xi32>\n"
    "%0 = stablehlo.real_dynamic_slice %a, %start, %limit, %one : (tensor<?x?xf32>, tensor<2xi32>, tensor<2xi32>, "
    "tensor<2xi32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>";

TEST(Specialise, BoundsOfSlicesAreOperands) {
  expectSymbolic("(%a: tensor<?x?xf32>) -> tensor<?x?xf32>",
                 kSizes +
                     "%limit = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n"
                     "%start = stablehlo.constant dense<[1, 1]> : tensor<2xi32>\n" +
                     kSlice,
                 {kTwoByThree}, {kF32, {1, 2}}, {5, 6});
}

TEST(Specialise, SlicesBeginWhereOnlyARunKnows) {
  const std::string sizes = "%size = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n";
  for (const char* sum : {"%start, %size", "%size, %start"})
    expectSymbolic("(%a: tensor<?x?xf32>, %start: tensor<2xi32>) -> tensor<?x?xf32>",
                   sizes + "%limit = stablehlo.add " + sum + " : tensor<2xi32>\n" + kSlice,
                   {kTwoByThree, make({kI32, {2}}, {1, 1})}, {kF32, {1, 2}}, {5, 6});
  EXPECT_THAT(whyNot("(%a: tensor<?x?xf32>, %start: tensor<2xi32>, %limit: tensor<2xi32>) -> tensor<?x?xf32>", kSlice,
                     {kTwoByThree, make({kI32, {2}}, {1, 1}), make({kI32, {2}}, {2, 3})}),
              StartsWith("error[SM2003]: the shape of the result of real_dynamic_slice depends on elements of arrays\n"
                         "  --> t.mlir:4:6\n   in function 'main'\n"
                         "  help: compute it from the shapes of the arguments alone"));
}

TEST(Specialise, WindowsAreOperands) {
  const std::string reducer =
      "func.func private @sum(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {\n%0 = stablehlo.add %x, %y : "
      "tensor<f32>\nreturn %0 : tensor<f32>\n}\n";
  const auto results = runSymbolic(
      "module {\n" + reducer +
          "func.func public @main(%a: tensor<?xf32>, %z: tensor<f32>) -> tensor<?xf32> {\n"
          "%n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
          "%w = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
          "%o = stablehlo.constant dense<1> : tensor<1xi32>\n"
          "%l = stablehlo.subtract %w, %o : tensor<1xi32>\n"
          "%c = stablehlo.constant dense<0> : tensor<1xi32>\n"
          "%p = stablehlo.concatenate %l, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
          "%pad = stablehlo.reshape %p : (tensor<2xi32>) -> tensor<1x2xi32>\n"
          "%0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%a, %z, %w, %o, %o, %o, %pad) "
          "{called_computations = [@sum]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, "
          "tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>\nreturn %0 : tensor<?xf32>\n}\n}",
      {make({kF32, {4}}, {1, 2, 3, 4}), make({kF32, {}}, {0})});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{1, 3, 6, 10}));  // a cumulative sum
}

TEST(Specialise, NumbersOfElementsAndRandomBitsAreOperands) {
  expectSymbolic("(%a: tensor<?x?xf32>) -> tensor<?x?xf32>",
                 kSizes +
                     "%k:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%a, %n) : (tensor<?x?xf32>, tensor<i32>) "
                     "-> (tensor<?x?xf32>, tensor<?x?xi32>)\nreturn %k#0 : tensor<?x?xf32>",
                 {kTwoByThree}, {kF32, {2, 2}}, {3, 2, 6, 5});
  const auto bits = runSymbolic(
      moduleOf("(%a: tensor<?x?xf32>, %s: tensor<2xui64>) -> tensor<?x?xui32>",
               kSizes + "%r:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %nm) {rng_algorithm = "
                        "#stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>, tensor<2xi32>) -> (tensor<2xui64>, "
                        "tensor<?x?xui32>)\nreturn %r#1 : tensor<?x?xui32>"),
      {kTwoByThree, make({DType::u64, {2}}, {1, 2})});
  ASSERT_TRUE(bits) << bits.error().str();
  EXPECT_EQ((*bits)[0].type(), (ArrayType{DType::u32, {2, 3}}));
}

TEST(Specialise, FunctionsAreCopiedForEachSignature) {
  const std::string text =
      "module {\nfunc.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {\n%0 = stablehlo.add %x, %x : "
      "tensor<?xf32>\nreturn %0 : tensor<?xf32>\n}\n"
      "func.func public @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) "
      "{\n"
      "%0 = call @twice(%a) : (tensor<?xf32>) -> tensor<?xf32>\n%1 = call @twice(%b) : (tensor<?xf32>) -> "
      "tensor<?xf32>\n"
      "%2 = call @twice(%0) : (tensor<?xf32>) -> tensor<?xf32>\n"
      "return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>\n}\n}";
  const auto program = specialise(symbolicOf(text), std::vector<ArrayType>{{kF32, {2}}, {kF32, {3}}});
  ASSERT_TRUE(program) << program.error().str();
  EXPECT_EQ(program->functions.size(), 3u);  // main, and twice for each length
  EXPECT_EQ(resultTypes(*program), (std::vector<ArrayType>{{kF32, {2}}, {kF32, {3}}, {kF32, {2}}}));
  EXPECT_NE(program->find("twice"), nullptr);
  EXPECT_NE(program->find("twice_1"), nullptr);
}

// ---- what is refused

TEST(Specialise, ConstraintsOfTheModuleAreChecked) {
  const std::string body =
      kSizes +
      "%two = stablehlo.constant dense<2> : tensor<i32>\n"
      "%even = stablehlo.compare EQ, %n, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "stablehlo.custom_call @shape_assertion(%even, %n, %m) {error_message = \"Expected 2 rows, found {0} of {1}. "
      "Please see https://x.y\", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()\n"
      "return %a : tensor<?x?xf32>";
  const std::string signature = "(%a: tensor<?x?xf32>) -> tensor<?x?xf32>";
  expectSymbolic(signature, body, {kTwoByThree}, {kF32, {2, 3}}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(whyNot(signature, body, {make({kF32, {3, 5}}, {0})}),
            "error[SM2015]: the shapes of the arguments violate a constraint of the module\n  --> t.mlir:10:1\n"
            "   in function 'main'\n  have: Expected 2 rows, found 3 of 5.\n"
            "  help: give arguments whose shapes satisfy it\n");
}

TEST(Specialise, ArgumentsMustFitWhatMainDeclares) {
  const Program program =
      symbolicOf(moduleOf("(%a: tensor<?x4xf32>) -> tensor<?x4xf32>", "return %a : tensor<?x4xf32>"));
  const auto why = [&](const std::vector<ArrayType>& types) {
    const auto made = specialise(program, types);
    return made ? "" : made.error().str();
  };
  EXPECT_EQ(why({{kF32, {7, 4}}}), "");
  EXPECT_EQ(why({{kF32, {0, 4}}}), "");
  EXPECT_EQ(why({}),
            "error[SM1008]: 'test' was given the wrong number of inputs\n  need: 1 input\n  have: 0 inputs\n"
            "  help: smalti describe lists them\n");
  const std::string misfit = "error[SM1008]: input 0 does not match the module's parameter\n  need: f32[?,4]\n";
  EXPECT_EQ(why({{kF32, {7, 5}}}), misfit + "  have: f32[7,5]\n");
  EXPECT_EQ(why({{kF32, {4}}}), misfit + "  have: f32[4]\n");
  EXPECT_EQ(why({{kI32, {7, 4}}}), misfit + "  have: i32[7,4]\n");
  EXPECT_EQ(why({{kF32, {-1, 4}}}), misfit + "  have: f32[?,4]\n");
}

TEST(Specialise, MalformedModulesAreRefused) {
  const std::string signature = "(%a: tensor<?x?xf32>) -> tensor<?x?xf32>";
  const auto why = [&](const std::string& body) { return whyNot(signature, body, {kTwoByThree}); };
  EXPECT_THAT(why("%0 = call @gone(%a) : (tensor<?x?xf32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>"),
              HasSubstr("error[SM2005]: function 'gone' is called but not defined"));
  EXPECT_THAT(why("%0 = call @main(%a) : (tensor<?x?xf32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>"),
              HasSubstr("error[SM2007]: function 'main' calls itself"));
  EXPECT_THAT(why("%0 = stablehlo.get_dimension_size %a, dim = 2 : (tensor<?x?xf32>) -> tensor<i32>\n"
                  "return %a : tensor<?x?xf32>"),
              HasSubstr("error[SM2006]: types do not fit: get_dimension_size has no such dimension"));
  EXPECT_THAT(
      why("%s = stablehlo.constant dense<[2, -3]> : tensor<2xi32>\n%0 = stablehlo.dynamic_reshape %a, %s : "
          "(tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>"),
      HasSubstr("error[SM2006]: types do not fit: dimension 1 of the result of dynamic_reshape is -3, not a size"));
  EXPECT_THAT(why("%s = stablehlo.constant dense<[2, 4]> : tensor<2xi32>\n%0 = stablehlo.dynamic_reshape %a, %s : "
                  "(tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>"),
              HasSubstr("error[SM2006]: types do not fit: reshape f32[2,3] has 6 elements, f32[2,4] has 8"));
  EXPECT_THAT(why("%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x?xf32>) -> tensor<?x?xf32>\n"
                  "%1 = stablehlo.add %a, %0 : tensor<?x?xf32>\nreturn %1 : tensor<?x?xf32>"),
              HasSubstr("error[SM2006]: types do not fit: add operand 1 is f32[3,2], the result f32[2,3]"));
  EXPECT_THAT(why("%0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : "
                  "tensor<1x1xi64>}> : (tensor<?x?xf32>) -> tensor<?x?xf32>\nreturn %0 : tensor<?x?xf32>"),
              HasSubstr("error[SM2003]: the shape of result 0 of all_gather is not known"));
}

TEST(Specialise, ArraysHaveSizesThat64BitsCount) {
  EXPECT_THAT(
      whyNot("(%a: tensor<?xf32>) -> tensor<?x?x?xf32>",
             "%s = stablehlo.constant dense<2147483647> : tensor<3xi32>\n"
             "%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<3xi32>) -> tensor<?x?x?xf32>\n"
             "return %0 : tensor<?x?x?xf32>",
             {kTwoByThree.reshaped({6}).value()}),
      HasSubstr("error[SM2009]: result 0 of iota is f32[2147483647,2147483647,2147483647]: its bytes do not fit"));
  const Program program =
      symbolicOf(moduleOf("(%a: tensor<?x?xf32>) -> tensor<?x?xf32>", "return %a : tensor<?x?xf32>"));
  const auto made = specialise(program, std::vector<ArrayType>{{kF32, {int64_t{1} << 40, int64_t{1} << 40}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().str(), HasSubstr("error[SM2009]: input 0 is f32[1099511627776,1099511627776]: its bytes"));
}

/// Each of these calls the next twice for arrays of other lengths.
TEST(Specialise, ModulesThatGrowWithoutEndAreRefused) {
  std::string text = "module {\n";
  constexpr int kFunctions = 40;
  for (int i = 0; i < kFunctions; ++i) {
    const std::string next = "@f" + std::to_string(i + 1);
    text += "func.func private @f" + std::to_string(i) + "(%x: tensor<?xf32>) -> tensor<?xf32> {\n";
    text += "%0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n";
    text += "%p = stablehlo.constant dense<0.0> : tensor<1xf32>\n";
    text += "%1 = stablehlo.concatenate %0, %p, dim = 0 : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>\n";
    if (i + 1 < kFunctions)
      text += "%2 = call " + next + "(%0) : (tensor<?xf32>) -> tensor<?xf32>\n%3 = call " + next +
              "(%1) : (tensor<?xf32>) -> tensor<?xf32>\n";
    text += "return %x : tensor<?xf32>\n}\n";
  }
  text +=
      "func.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n%0 = call @f0(%a) : (tensor<?xf32>) -> "
      "tensor<?xf32>\nreturn %0 : tensor<?xf32>\n}\n}";
  const auto made = specialise(symbolicOf(text), std::vector<ArrayType>{{kF32, {1}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().str(), HasSubstr("error[SM2009]: the module has too many ops for these shapes"));
}

TEST(Specialise, ProgramsOfKnownShapesMayComputeShapes) {
  const auto module =
      parseModule(moduleOf("(%a: tensor<2x3xf32>) -> tensor<6xf32>",
                           "%s = stablehlo.constant dense<6> : tensor<1xi32>\n%0 = stablehlo.dynamic_reshape %a, %s : "
                           "(tensor<2x3xf32>, tensor<1xi32>) -> tensor<6xf32>\nreturn %0 : tensor<6xf32>"),
                  "t.mlir");
  ASSERT_TRUE(module) << module.error().str();
  ASSERT_TRUE(module->program);
  EXPECT_EQ(numbers(runProgram(*module->program, std::vector{kTwoByThree}, {})->results[0]), numbers(kTwoByThree));
}

TEST(Specialise, ShapesAreRequiredBeforeAModuleIsUsed) {
  const auto module =
      parseModule(moduleOf("(%a: tensor<?x4xf32>) -> tensor<?x4xf32>", "return %a : tensor<?x4xf32>"), "t.mlir");
  ASSERT_TRUE(module) << module.error().str();
  EXPECT_FALSE(module->program);
  EXPECT_EQ(requireShapes(*module).error().str(),
            "error[SM1021]: 't.mlir' has symbolic shapes: its arguments say how large arrays are\n"
            "  need: the types of its arguments (--in; with_arguments in C++ and Python)\n  have: (f32[?,4])\n"
            "  help: for example: --in x.npy --in 'f32[256,128]'\n");
}

}  // namespace
}  // namespace smalti::driver
