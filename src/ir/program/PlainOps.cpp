#include "ir/program/PlainOps.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/program/TypeRules.h"

namespace smalti {

std::span<const int64_t> TypedOp::integers(std::string_view attribute) const {
  const Attribute* a = op.find(attribute);
  const auto* list = a ? std::get_if<std::vector<int64_t>>(a) : nullptr;
  return list ? std::span<const int64_t>(*list) : std::span<const int64_t>();
}

Shape TypedOp::entries(std::string_view attribute, size_t count, int64_t absent) const {
  const auto given = integers(attribute);
  return given.empty() ? Shape(count, absent) : Shape(given.begin(), given.end());
}

int64_t TypedOp::integer(std::string_view attribute, int64_t absent) const {
  const Attribute* a = op.find(attribute);
  const auto* value = a ? std::get_if<int64_t>(a) : nullptr;
  return value ? *value : absent;
}

bool TypedOp::boolean(std::string_view attribute) const {
  const Attribute* a = op.find(attribute);
  const auto* value = a ? std::get_if<bool>(a) : nullptr;
  return value && *value;
}

std::string_view TypedOp::text(std::string_view attribute) const {
  const Attribute* a = op.find(attribute);
  const auto* value = a ? std::get_if<std::string>(a) : nullptr;
  return value ? std::string_view(*value) : std::string_view();
}

void TypedOp::infer(int i, const Shape& shape) const {
  if (!inferring) return;
  Shape& have = inferring->values[static_cast<size_t>(op.results[static_cast<size_t>(i)])].shape;
  for (size_t d = 0; d < have.size() && have.size() == shape.size(); ++d)
    if (have[d] == kUnknownDim) have[d] = shape[d];
}

bool hasUnknownDims(const ArrayType& type) {
  return std::find(type.shape.begin(), type.shape.end(), kUnknownDim) != type.shape.end();
}

namespace {

using enum AttributeKind;
constexpr std::string_view kDot = "dot_dimension_numbers";

constexpr std::array kConstant{AttributeRule{"value", elements}};
constexpr std::array kCompare{
    AttributeRule{"comparison_direction", text, true, "comparison_direction"},
    AttributeRule{"compare_type", text, false, "comparison_type"},
};
constexpr std::array kReducePrecision{AttributeRule{"exponent_bits", integer}, AttributeRule{"mantissa_bits", integer}};
constexpr std::array kIota{AttributeRule{"iota_dimension", integer}};
constexpr std::array kBroadcastInDim{AttributeRule{"broadcast_dimensions", integers}};
constexpr std::array kTranspose{AttributeRule{"permutation", integers}};
constexpr std::array kSlice{AttributeRule{"start_indices", integers}, AttributeRule{"limit_indices", integers},
                            AttributeRule{"strides", integers}};
constexpr std::array kDynamicSlice{AttributeRule{"slice_sizes", integers}};
constexpr std::array kConcatenate{AttributeRule{"dimension", integer}};
constexpr std::array kPad{AttributeRule{"edge_padding_low", integers}, AttributeRule{"edge_padding_high", integers},
                          AttributeRule{"interior_padding", integers}};
constexpr std::array kDimensions{AttributeRule{"dimensions", integers}};
constexpr std::array kDotGeneral{
    AttributeRule{"lhs_batching_dimensions", integers, false, "", kDot},
    AttributeRule{"rhs_batching_dimensions", integers, false, "", kDot},
    AttributeRule{"lhs_contracting_dimensions", integers, false, "", kDot},
    AttributeRule{"rhs_contracting_dimensions", integers, false, "", kDot},
    AttributeRule{"precision_config", texts, false, "precision"},
    AttributeRule{"algorithm", text, false},
};

constexpr std::string_view kConvNumbers = "dimension_numbers";
constexpr std::array kConvolution{
    AttributeRule{"input_batch_dimension", integer, true, "", kConvNumbers},
    AttributeRule{"input_feature_dimension", integer, true, "", kConvNumbers},
    AttributeRule{"input_spatial_dimensions", integers, true, "", kConvNumbers},
    AttributeRule{"kernel_input_feature_dimension", integer, true, "", kConvNumbers},
    AttributeRule{"kernel_output_feature_dimension", integer, true, "", kConvNumbers},
    AttributeRule{"kernel_spatial_dimensions", integers, true, "", kConvNumbers},
    AttributeRule{"output_batch_dimension", integer, true, "", kConvNumbers},
    AttributeRule{"output_feature_dimension", integer, true, "", kConvNumbers},
    AttributeRule{"output_spatial_dimensions", integers, true, "", kConvNumbers},
    AttributeRule{"window_strides", integers, false},
    AttributeRule{"padding", pairs, false},
    AttributeRule{"lhs_dilation", integers, false},
    AttributeRule{"rhs_dilation", integers, false},
    AttributeRule{"window_reversal", booleans, false},
    AttributeRule{"feature_group_count", integer},
    AttributeRule{"batch_group_count", integer},
    AttributeRule{"precision_config", texts, false, "precision"},
};
constexpr std::array kCholesky{AttributeRule{"lower", boolean, false}};
constexpr std::array kFft{AttributeRule{"fft_type", text, true, "fft_type"}, AttributeRule{"fft_length", integers}};
constexpr std::array kRng{AttributeRule{"rng_algorithm", text, true, "rng_algorithm"}};
constexpr std::array kTriangularSolve{
    AttributeRule{"left_side", boolean},
    AttributeRule{"lower", boolean},
    AttributeRule{"unit_diagonal", boolean},
    AttributeRule{"transpose_a", text, true, "transpose"},
};

constexpr std::string_view kGatherNumbers = "dimension_numbers", kScatterNumbers = "scatter_dimension_numbers";
constexpr std::array kGather{
    AttributeRule{"offset_dims", integers, false, "", kGatherNumbers},
    AttributeRule{"collapsed_slice_dims", integers, false, "", kGatherNumbers},
    AttributeRule{"operand_batching_dims", integers, false, "", kGatherNumbers},
    AttributeRule{"start_indices_batching_dims", integers, false, "", kGatherNumbers},
    AttributeRule{"start_index_map", integers, false, "", kGatherNumbers},
    AttributeRule{"index_vector_dim", integer, false, "", kGatherNumbers},
    AttributeRule{"slice_sizes", integers},
    AttributeRule{"indices_are_sorted", boolean, false},
};
constexpr std::array kScatter{
    AttributeRule{"update_window_dims", integers, false, "", kScatterNumbers},
    AttributeRule{"inserted_window_dims", integers, false, "", kScatterNumbers},
    AttributeRule{"input_batching_dims", integers, false, "", kScatterNumbers},
    AttributeRule{"scatter_indices_batching_dims", integers, false, "", kScatterNumbers},
    AttributeRule{"scatter_dims_to_operand_dims", integers, false, "", kScatterNumbers},
    AttributeRule{"index_vector_dim", integer, false, "", kScatterNumbers},
    AttributeRule{"indices_are_sorted", boolean, false},
    AttributeRule{"unique_indices", boolean, false},
};
constexpr std::array kReduceWindow{
    AttributeRule{"window_dimensions", integers},     AttributeRule{"window_strides", integers, false},
    AttributeRule{"base_dilations", integers, false}, AttributeRule{"window_dilations", integers, false},
    AttributeRule{"padding", pairs, false},
};
constexpr std::array kSelectAndScatter{
    AttributeRule{"window_dimensions", integers, false},
    AttributeRule{"window_strides", integers, false},
    AttributeRule{"padding", pairs, false},
};
constexpr std::string_view kChannel = "channel_handle";
constexpr AttributeRule kHandle{"handle", integer, false, "", kChannel},
    kHandleType{"type", integer, false, "", kChannel};
constexpr AttributeRule kGroups{"replica_groups", matrix}, kGlobalIds{"use_global_device_ids", unit, false};
constexpr std::array kAllReduce{kHandle, kHandleType, kGroups, kGlobalIds};
constexpr std::array kAllGather{AttributeRule{"all_gather_dim", integer}, kHandle, kHandleType, kGroups, kGlobalIds};
constexpr std::array kReduceScatter{kHandle, kHandleType, kGroups, AttributeRule{"scatter_dimension", integer},
                                    kGlobalIds};
constexpr std::array kAllToAll{
    AttributeRule{"concat_dimension", integer}, kHandle, kHandleType, kGroups, AttributeRule{"split_count", integer},
    AttributeRule{"split_dimension", integer}};
constexpr std::array kCollectiveBroadcast{kHandle, kHandleType, kGroups};
constexpr std::array kCollectivePermute{kHandle, kHandleType, AttributeRule{"source_target_pairs", pairs}};
constexpr std::string_view kConfiguration = "mhlo.backend_config";
constexpr std::array kApproxTopK{
    AttributeRule{"aggregate_to_topk", boolean, true, "", kConfiguration},
    AttributeRule{"recall_target", number, true, "", kConfiguration},
    AttributeRule{"reduction_dim", integer, true, "", kConfiguration},
    AttributeRule{"reduction_input_size_override", integer, true, "", kConfiguration},
    AttributeRule{"top_k", integer, true, "", kConfiguration},
};
constexpr std::array kEigh{AttributeRule{"backend_config", text}};
constexpr std::array kTopK{AttributeRule{"k", integer}};
constexpr std::array kSort{AttributeRule{"dimension", integer, false}, AttributeRule{"is_stable", boolean, false}};

constexpr std::array kOps{
    // Element by element.
    PlainOp{"abs", 1, 0, {}, rules::absolute},
    PlainOp{"acos", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"acosh", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"add", 2, 0, {}, rules::sameType},
    PlainOp{"and", 2, 0, {}, rules::sameLogical},
    PlainOp{"asin", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"asinh", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"atan", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"atan2", 2, 0, {}, rules::sameFloat},
    PlainOp{"atanh", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"bessel_i1e", 1, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"bitcast_convert", 1, 0, {}, rules::bitcastConvert},
    PlainOp{"cbrt", 1, 0, {}, rules::sameFloat},
    PlainOp{"ceil", 1, 0, {}, rules::sameFloat},
    PlainOp{"clamp", 3, 0, {}, rules::clamp},
    PlainOp{"compare", 2, 0, kCompare, rules::compare},
    PlainOp{"complex", 2, 0, {}, rules::makeComplex},
    PlainOp{"convert", 1, 0, {}, rules::convert},
    PlainOp{"cosh", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"cosine", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"count_leading_zeros", 1, 0, {}, rules::sameInteger},
    PlainOp{"digamma", 1, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"divide", 2, 0, {}, rules::sameType},
    PlainOp{"erf", 1, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"erf_inv", 1, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"erfc", 1, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"exponential", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"exponential_minus_one", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"floor", 1, 0, {}, rules::sameFloat},
    PlainOp{"imag", 1, 0, {}, rules::partOf},
    PlainOp{"is_finite", 1, 0, {}, rules::isFinite},
    PlainOp{"lgamma", 1, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"log", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"log_plus_one", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"logistic", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"maximum", 2, 0, {}, rules::sameType},
    PlainOp{"minimum", 2, 0, {}, rules::sameType},
    PlainOp{"multiply", 2, 0, {}, rules::sameType},
    PlainOp{"negate", 1, 0, {}, rules::sameSigned},
    PlainOp{"next_after", 2, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"not", 1, 0, {}, rules::sameLogical},
    PlainOp{"optimization_barrier", kVariadic, 0, {}, rules::barrier, kVariadic},
    PlainOp{"or", 2, 0, {}, rules::sameLogical},
    PlainOp{"polygamma", 2, 0, {}, rules::sameFloat, 1, "chlo"},
    PlainOp{"popcnt", 1, 0, {}, rules::sameInteger},
    PlainOp{"power", 2, 0, {}, rules::sameType},
    PlainOp{"real", 1, 0, {}, rules::partOf},
    PlainOp{"reduce_precision", 1, 0, kReducePrecision, rules::reducePrecision},
    PlainOp{"remainder", 2, 0, {}, rules::sameType},
    PlainOp{"round_nearest_afz", 1, 0, {}, rules::sameFloat},
    PlainOp{"round_nearest_even", 1, 0, {}, rules::sameFloat},
    PlainOp{"rsqrt", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"select", 3, 0, {}, rules::select},
    PlainOp{"shift_left", 2, 0, {}, rules::sameInteger},
    PlainOp{"shift_right_arithmetic", 2, 0, {}, rules::sameInteger},
    PlainOp{"shift_right_logical", 2, 0, {}, rules::sameInteger},
    PlainOp{"sign", 1, 0, {}, rules::sameSigned},
    PlainOp{"sine", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"sinh", 1, 0, {}, rules::sameFloatOrComplex, 1, "chlo"},
    PlainOp{"sqrt", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"square", 1, 0, {}, rules::sameSigned, 1, "chlo"},
    PlainOp{"subtract", 2, 0, {}, rules::sameType},
    PlainOp{"tan", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"tanh", 1, 0, {}, rules::sameFloatOrComplex},
    PlainOp{"xor", 2, 0, {}, rules::sameLogical},
    PlainOp{"zeta", 2, 0, {}, rules::sameFloat, 1, "chlo"},
    // Shapes.
    PlainOp{"broadcast_in_dim", 1, 0, kBroadcastInDim, rules::broadcastInDim},
    PlainOp{"concatenate", kVariadic, 0, kConcatenate, rules::concatenate},
    PlainOp{"constant", 0, 0, kConstant, rules::constant},
    PlainOp{"dynamic_slice", kVariadic, 0, kDynamicSlice, rules::dynamicSlice},
    PlainOp{"dynamic_update_slice", kVariadic, 0, {}, rules::dynamicUpdateSlice},
    PlainOp{"iota", 0, 0, kIota, rules::iota},
    PlainOp{"pad", 2, 0, kPad, rules::pad},
    PlainOp{"partition_id", 0, 0, {}, rules::deviceId},
    PlainOp{"replica_id", 0, 0, {}, rules::deviceId},
    PlainOp{"reshape", 1, 0, {}, rules::reshape},
    PlainOp{"reverse", 1, 0, kDimensions, rules::reverse},
    PlainOp{"slice", 1, 0, kSlice, rules::slice},
    PlainOp{"transpose", 1, 0, kTranspose, rules::transpose},
    // Over several devices (Exchange.h).
    PlainOp{"all_gather", kVariadic, 0, kAllGather, rules::allGather, kVariadic},
    PlainOp{"all_reduce", kVariadic, 1, kAllReduce, rules::allReduce, kVariadic},
    PlainOp{"all_to_all", kVariadic, 0, kAllToAll, rules::allToAll, kVariadic},
    PlainOp{"collective_broadcast", 1, 0, kCollectiveBroadcast, rules::collectiveBroadcast},
    PlainOp{"collective_permute", 1, 0, kCollectivePermute, rules::collectivePermute},
    PlainOp{"reduce_scatter", 1, 1, kReduceScatter, rules::reduceScatter},
    // Over several elements, and control.
    PlainOp{"case", 1, kVariadic, {}, rules::caseOf, kVariadic},
    PlainOp{"cholesky", 1, 0, kCholesky, rules::cholesky},
    PlainOp{"convolution", 2, 0, kConvolution, rules::convolution},
    PlainOp{"dot_general", 2, 0, kDotGeneral, rules::dotGeneral},
    PlainOp{"fft", 1, 0, kFft, rules::fft},
    PlainOp{"gather", 2, 0, kGather, rules::gather},
    PlainOp{"if", 1, 2, {}, rules::ifElse, kVariadic},
    PlainOp{"reduce", kVariadic, 1, kDimensions, rules::reduce, kVariadic},
    PlainOp{"reduce_window", kVariadic, 1, kReduceWindow, rules::reduceWindow, kVariadic},
    PlainOp{"rng_bit_generator", 1, 0, kRng, rules::rngBitGenerator, 2},
    PlainOp{"scatter", kVariadic, 1, kScatter, rules::scatter, kVariadic},
    PlainOp{"select_and_scatter", 3, 2, kSelectAndScatter, rules::selectAndScatter},
    PlainOp{"sort", kVariadic, 1, kSort, rules::sort, kVariadic},
    PlainOp{"top_k", 1, 0, kTopK, rules::topK, 2, "chlo"},
    PlainOp{"triangular_solve", 2, 0, kTriangularSolve, rules::triangularSolve},
    PlainOp{"while", kVariadic, 2, {}, rules::whileLoop, kVariadic},
    // Custom calls, by their targets.
    PlainOp{"AllocateBuffer", 0, 0, {}, rules::allocateBuffer, 1, "custom_call"},
    PlainOp{"ApproxTopK", kVariadic, 1, kApproxTopK, rules::approxTopK, kVariadic, "custom_call"},
    PlainOp{"Eigh", 1, 0, kEigh, rules::eigh, 2, "custom_call"},
    PlainOp{"LuDecomposition", 1, 0, {}, rules::luDecomposition, 3, "custom_call"},
    PlainOp{"ProductOfElementaryHouseholderReflectors", 2, 0, {}, rules::householderProduct, 1, "custom_call"},
    PlainOp{"Qr", 1, 0, {}, rules::qr, 2, "custom_call"},
};

constexpr size_t kGatherHints = 2;  // slice_sizes, which is an operand, and indices_are_sorted
constexpr std::array kDimension{AttributeRule{"dimension", integer}};
constexpr std::array kAssertion{AttributeRule{"error_message", text}};
/// Of ops of symbolic shapes: no rules, as they are turned into plain ops first.
constexpr std::array kSymbolicOps{
    PlainOp{"dynamic_broadcast_in_dim", 2, 0, kBroadcastInDim, nullptr},
    PlainOp{"dynamic_conv", 3, 0, kConvolution, nullptr},
    PlainOp{"dynamic_gather", 3, 0, std::span(kGather).first(kGather.size() - kGatherHints), nullptr},
    PlainOp{"dynamic_iota", 1, 0, kIota, nullptr},
    PlainOp{"dynamic_pad", 5, 0, {}, nullptr},
    PlainOp{"dynamic_reshape", 2, 0, {}, nullptr},
    PlainOp{"get_dimension_size", 1, 0, kDimension, nullptr},
    PlainOp{"real_dynamic_slice", 4, 0, {}, nullptr},
    PlainOp{"shape_assertion", kVariadic, 0, kAssertion, nullptr, 0, "custom_call"},
    PlainOp{"stablehlo.dynamic_approx_top_k", kVariadic, 1, std::span(kApproxTopK).first(kApproxTopK.size() - 1),
            nullptr, kVariadic, "custom_call"},
    PlainOp{"stablehlo.dynamic_reduce_window", kVariadic, 1, {}, nullptr, kVariadic, "custom_call"},
    PlainOp{"stablehlo.dynamic_rng_bit_generator", 2, 0, kRng, nullptr, 2, "custom_call"},
    PlainOp{"stablehlo.dynamic_top_k", 2, 0, {}, nullptr, 2, "custom_call"},
};

const PlainOp* find(std::span<const PlainOp> ops, std::string_view name) {
  const auto row = std::find_if(ops.begin(), ops.end(), [&](const PlainOp& op) { return op.name == name; });
  return row == ops.end() ? nullptr : &*row;
}

bool anySymbolic(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& op) {
    return findSymbolicOp(op.name) || op.find(kShapeOperands) ||
           std::ranges::any_of(op.regions, [](const Block& block) { return anySymbolic(block.ops); });
  });
}

}  // namespace

std::span<const PlainOp> plainOps() { return kOps; }

const PlainOp* findPlainOp(std::string_view name) { return find(kOps, name); }
const PlainOp* findSymbolicOp(std::string_view name) { return find(kSymbolicOps, name); }

bool hasSymbolicShapes(const Program& program) {
  return std::ranges::any_of(program.functions, [](const Function& f) {
    return std::ranges::any_of(f.values, hasUnknownDims) || std::ranges::any_of(f.resultTypes, hasUnknownDims) ||
           anySymbolic(f.ops);
  });
}

std::string miscounted(const PlainOp& plain, const Op& op) {
  const auto wrongCount = [](int want, size_t have) { return want != kVariadic && want != static_cast<int>(have); };
  if (!wrongCount(plain.numOperands, op.operands.size()) && !wrongCount(plain.numResults, op.results.size()) &&
      !wrongCount(plain.numRegions, op.regions.size()))
    return "";
  return fmt::format("has {} operands, {} results and {} regions", op.operands.size(), op.results.size(),
                     op.regions.size());
}

std::string misuse(const PlainOp& plain, const TypedOp& typed) {
  std::string wrong = miscounted(plain, typed.op);
  return wrong.empty() ? plain.rule(typed) : wrong;
}

}  // namespace smalti
