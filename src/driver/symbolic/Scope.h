// The function that is being specialised, and what is known about its values.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ir/program/PlainOps.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver::symbolic {

/// Arrays with more elements are not shapes: they are not computed before the program runs.
inline constexpr int64_t kMostKnownElements = 1024;

struct Scope {
  Function& function;
  std::unordered_map<ValueId, Array> known{};                  ///< small arrays of integers and bool
  std::unordered_map<ValueId, std::array<ValueId, 2>> sums{};  ///< operands of additions of integers

  ArrayType& type(ValueId v) { return function.values[static_cast<size_t>(v)]; }
  const Array* find(ValueId v) const {
    const auto found = known.find(v);
    return found == known.end() ? nullptr : &found->second;
  }
  std::optional<std::vector<int64_t>> integers(ValueId v) const {
    const Array* array = find(v);
    if (!array || !is_integer(array->dtype())) return std::nullopt;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < array->elements(); ++i) values.push_back(plain::indexAt(*array, i));
    return values;
  }
  ValueId newValue(ArrayType t) {
    function.values.push_back(std::move(t));
    return static_cast<ValueId>(function.values.size() - 1);
  }
};

inline Diagnostic wrongOp(const Op& op, std::string code, std::string message, std::string help) {
  return {.code = std::move(code), .message = std::move(message), .place = op.place, .help = std::move(help)};
}

/// Replaces an op of symbolic shapes by plain ops, which are appended to `made` (the last of them takes its place in
/// `op`). Gives the results of `op` the shapes that it states.
Status makeStatic(Op& op, Scope&, std::vector<Op>& made);

}  // namespace smalti::driver::symbolic
