// The rule of rng_bit_generator.
#include <fmt/format.h>

#include "ir/program/TypeRules.h"

namespace smalti::rules {

/// The state is a key and a counter, of 64 bits each; Philox may have a counter of 128 bits.
std::string rngBitGenerator(const TypedOp& op) {
  const std::string_view algorithm = op.text("rng_algorithm");
  if (algorithm != "DEFAULT" && algorithm != "PHILOX" && algorithm != "THREE_FRY")
    return fmt::format("rng_algorithm is {}, not one of DEFAULT, PHILOX, THREE_FRY", algorithm);
  const ArrayType &state = op.operand(0), &bits = op.result(1);
  op.infer(0, state.shape);
  const bool hasState =
      state.dtype == DType::u64 && (state.shape == Shape{2} || (state.shape == Shape{3} && algorithm != "THREE_FRY"));
  if (!hasState || op.result(0) != state)
    return fmt::format("turns the state {} into {}: it must be u64[2]{}", state.str(), op.result(0).str(),
                       algorithm == "THREE_FRY" ? "" : " or u64[3]");
  constexpr int kByte = 8;
  if (!is_integer(bits.dtype) || bit_width(bits.dtype) < kByte)
    return fmt::format("draws {}: they must be integers of 8 to 64 bits", bits.str());
  return "";
}

}  // namespace smalti::rules
