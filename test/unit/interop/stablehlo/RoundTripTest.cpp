// Random Programs: what is written is read as the same Program.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "TestText.h"

namespace smalti::interop {
namespace {

using namespace testing;

constexpr DType kTypes[] = {
    DType::pred, DType::i4,     DType::i8,       DType::i32,           DType::i64,       DType::u4,       DType::u8,
    DType::u32,  DType::f8e5m2, DType::f8e4m3fn, DType::f8e4m3b11fnuz, DType::f8e8m0fnu, DType::f4e2m1fn, DType::bf16,
    DType::f16,  DType::f32,    DType::f64,      DType::u64,           DType::i2,        DType::c64,      DType::c128};

/// Adds random ops to a function, each on values that are there.
class RandomProgram {
 public:
  Program make() {
    program_.name = "random";
    Function f;
    f.name = "main";
    function_ = &f;
    f.arguments = {value({DType::f32, {2, 3}}), value({DType::i32, {}})};
    const int n = *rc::gen::inRange(1, 12);
    for (int i = 0; i < n; ++i) op(f.ops);
    f.ops.push_back({.name = "return", .operands = {f.arguments[0]}});
    f.resultTypes = {f.values[f.arguments[0]]};
    program_.functions.push_back(std::move(f));
    return std::move(program_);
  }

 private:
  ValueId value(ArrayType type) {
    function_->values.push_back(std::move(type));
    return static_cast<ValueId>(function_->values.size() - 1);
  }
  Op& add(std::vector<Op>& ops, Op op, ArrayType type) {
    op.results = {value(std::move(type))};
    ops.push_back(std::move(op));
    known_.push_back(ops.back().results[0]);
    return ops.back();
  }
  void constant(std::vector<Op>& ops) {
    const ArrayType type{kTypes[*rc::gen::inRange<size_t>(0, std::size(kTypes))],
                         *rc::gen::element(Shape{}, Shape{1}, Shape{2, 3}, Shape{0, 4}, Shape{129})};
    Array array =
        Array::allocate(*rc::gen::arbitrary<bool>() || type.elements() == 0 ? type : ArrayType{type.dtype, {}}).value();
    for (int64_t i = 0; i < array.elements(); ++i) {
      uint64_t bits = *rc::gen::arbitrary<uint64_t>();
      const int width = bit_width(type.dtype);
      if (width < 8) {
        bits &= (uint64_t{1} << width) - 1;
        if (is_signed_integer(type.dtype) && bits >> (width - 1)) bits |= ~uint64_t{0} << width;
      }
      const uint64_t words[] = {bits, ~bits};
      std::memcpy(array.data() + i * storage_bytes(type.dtype), words, storage_bytes(type.dtype));
    }
    // One element is always written as a splat.
    if (array.elements() == 1 && !array.shape().empty()) array = array.reshaped({}).value();
    add(ops, {.name = "constant", .attributes = {{"value", array}}}, type);
  }
  void op(std::vector<Op>& ops) {
    const ValueId x = function_->arguments[0], i = function_->arguments[1];
    const ArrayType type = function_->values[x];
    switch (*rc::gen::inRange(0, 10)) {
      case 9:
        return void(add(ops, {.name = "AllocateBuffer"}, type));
      case 0:
        return constant(ops);
      case 1:
        return void(add(ops, {.name = "add", .operands = {x, x}}, type));
      case 2:
        return void(add(
            ops, {.name = "transpose", .operands = {x}, .attributes = {{"permutation", std::vector<int64_t>{1, 0}}}},
            {DType::f32, {3, 2}}));
      case 3:
        return void(
            add(ops,
                {.name = "compare",
                 .operands = {x, x},
                 .attributes = {{"comparison_direction", std::string("LT")}, {"compare_type", std::string("FLOAT")}}},
                {DType::pred, {2, 3}}));
      case 4:
        return void(add(ops,
                        {.name = "slice",
                         .operands = {x},
                         .attributes = {{"start_indices", std::vector<int64_t>{0, 1}},
                                        {"limit_indices", std::vector<int64_t>{2, 3}},
                                        {"strides", std::vector<int64_t>{1, 2}}}},
                        {DType::f32, {2, 1}}));
      case 5:
        return void(add(ops,
                        {.name = "dot_general",
                         .operands = {x, x},
                         .attributes = {{"lhs_contracting_dimensions", std::vector<int64_t>{1}},
                                        {"rhs_contracting_dimensions", std::vector<int64_t>{1}},
                                        {"precision_config", std::vector<std::string>{"HIGHEST", "DEFAULT"}}}},
                        {DType::f32, {2, 2}}));
      case 6: {  // a reduce with a region
        const ArrayType scalar{DType::f32, {}};
        Array zero = Array::allocate(scalar).value();
        *zero.as<float>() = 0;
        add(ops, {.name = "constant", .attributes = {{"value", zero}}}, scalar);
        const ValueId init = ops.back().results[0];
        Block block{.arguments = {value(scalar), value(scalar)}};
        block.ops.push_back({.name = "maximum", .operands = block.arguments, .results = {value(scalar)}});
        block.ops.push_back({.name = "return", .operands = block.ops[0].results});
        return void(add(ops,
                        {.name = "reduce",
                         .operands = {x, init},
                         .attributes = {{"dimensions", std::vector<int64_t>{0}}},
                         .regions = {std::move(block)}},
                        {DType::f32, {3}}));
      }
      case 7: {  // a case with branches that make values of their own
        Op branches{.name = "case", .operands = {i}};
        for (int b = 0; b < 2; ++b) {
          Block block;
          block.ops.push_back({.name = "negate", .operands = {x}, .results = {value(type)}});
          block.ops.push_back({.name = "return", .operands = block.ops[0].results});
          branches.regions.push_back(std::move(block));
        }
        return void(add(ops, std::move(branches), type));
      }
      default:
        return void(add(ops,
                        {.name = "dynamic_slice",
                         .operands = {x, i, i},
                         .attributes = {{"slice_sizes", std::vector<int64_t>{1, 3}}}},
                        {DType::f32, {1, 3}}));
    }
  }

  Program program_;
  Function* function_ = nullptr;
  std::vector<ValueId> known_;
};

RC_GTEST_PROP(RoundTrip, WrittenProgramsAreReadAsTheSame, ()) {
  const Program program = RandomProgram().make();
  const auto text = exportStableHlo(program);
  RC_ASSERT(text.has_value());
  const auto again = importStableHlo(*text, "t.mlir");
  if (!again) RC_FAIL(again.error().str() + *text);
  if (!samePrograms(program, *again)) RC_FAIL(*text);
}

}  // namespace
}  // namespace smalti::interop
