// Reverse mode: forward mode, then the transposition of what was computed with tangents.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ir/Place.h"
#include "lang/transform/Jvp.h"

namespace smalti::lang {

struct TracedFunction;

/// Gives a cotangent for each operand of what it transposes, from those of its results.
using Transposer = std::function<std::vector<MaybeZero>(std::span<const MaybeZero>)>;

/// A tracer over values of which some are unknown, and of which everything is a linear function. Ops on known values
/// run below at once; those on linear values are noted.
class Linearizer : public Tracer {
 public:
  /// An unknown.
  Array linear(ArrayType);
  bool isLinear(const Array&) const;
  std::vector<Array> bind(OpCall) override;
  bool linearizes() const override { return true; }
  /// Records results that are linear in the operands; the transposer returns a cotangent per operand.
  std::vector<Array> note(std::span<const Array> operands, std::span<const ArrayType> results, Transposer);
  /// The cotangents of the unknowns, given those of the results. What is computed runs under the tracer in force.
  std::vector<MaybeZero> pullback(std::span<const Array> results, std::span<const MaybeZero> cotangents,
                                  std::span<const Array> unknowns) const;

 private:
  struct Noted {
    std::vector<int> operands, results;
    SourcePlace place;
    Transposer transpose;
  };
  int idOf(const Array&) const;

  int count_ = 0;
  std::vector<Noted> noted_;
};

/// Cotangents of the arguments that are not known, of a function that is linear in these.
std::vector<MaybeZero> transposed(const TracedFunction&, std::span<const MaybeZero> known,
                                  std::span<const MaybeZero> cotangents);

struct Pullback {
  std::vector<Array> results;
  /// Cotangents of the primals from those of the results; nothing for integers.
  Transposer back;
};
Pullback vjp(const Functional&, std::span<const Array> primals);

/// The sum of two cotangents.
MaybeZero sumOf(const MaybeZero&, const MaybeZero&);

}  // namespace smalti::lang
