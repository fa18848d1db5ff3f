// Ops of several devices: the op's name → the function that computes what devices receive from what others send.
// src/ir/program/Exchange.h defines senders and receivers. Adding an op: its row there, in src/ir/program/PlainOps.cpp,
// and one here.
#pragma once

#include "eval/Elementwise.h"
#include "plain/Moves.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {

/// The arrays that one list of devices sends.
struct CollectiveCall {
  const Op& op;
  const Function& function;
  std::vector<std::vector<Array>>& sent;  ///< [sender][operand]
  std::span<const ArrayType> results;
  Numerics numerics = Numerics::f32;
  std::function<const Array&(ValueId)> outer = {};  ///< as PlainCall's
  ShareWork share = {};                             ///< empty: on the caller alone
  eval::BinaryKernel reducer = nullptr;             ///< reducerOf, where it is known
  const Program* program = nullptr;                 ///< as PlainCall's

  TypedOp typed() const { return {op, function}; }
};
/// [receiver][result]: one receiver's results stand for all, else there are those of each sender in its place.
using CollectiveResults = Result<std::vector<std::vector<Array>>>;
using CollectiveEvaluator = CollectiveResults (*)(CollectiveCall&);

/// The reducer of elements of that type as one function of two arrays, if it is one op of its two arguments; null if it
/// is more.
eval::BinaryKernel reducerOf(const Block&, DType);

/// nullptr: no such op.
CollectiveEvaluator findCollective(std::string_view op);

}  // namespace smalti::plain
