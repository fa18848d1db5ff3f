// One record per op of the language: everything that is known of an op stands in its row.
//
// A family of ops has a table of records in the file that defines these ops (`constexpr OpTable kMathOps{…}`), and
// registers it there (`const OpFamily`). The functions of the language name a record at compile time,
// `kMathOps["exp2"]`; the records of a traced function are found by the names of its ops (`findOp`). Nothing else
// lists ops: lowering, evaluation, printing and cost read the records.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/program/PlainOps.h"
#include "plain/PlainEvaluators.h"
#include "smalti/specs.h"

namespace smalti::lang {

class CostCounter;
class DialectLowering;
struct OpCall;

/// Emits what a TPU's kernel has for the op.
using LowerRule = void (*)(DialectLowering&, const Op&);
/// The cost of one execution.
using CostRule = CostEstimate (*)(CostCounter&, const Op&);
/// Computes an op from other ops of the language, or runs its regions.
using CallRule = std::vector<Array> (*)(const OpCall&);

// Rules of transformations. They are written with the ops of the language and run under the tracer below the one that
// transforms, so that a rule may be differentiated or batched in turn.

/// An array, or nothing where it is zero.
using MaybeZero = std::optional<Array>;
/// One flag per operand, argument or result.
using Mask = std::vector<bool>;
struct Differentiated {
  std::vector<Array> results;
  std::vector<MaybeZero> tangents;  ///< one per result
};
/// Forward mode: the results of the call (its operands are the primals), and their tangents for those of the operands.
using JvpRule = Differentiated (*)(const OpCall&, std::span<const MaybeZero> tangents);
/// Reverse mode of an op that is linear in some of its operands. Those (`isLinear`) are traced arrays without a value
/// in the call: only their types may be used. Returns a cotangent for each of them, nothing for the others.
using TransposeRule = std::vector<MaybeZero> (*)(const OpCall&, const Mask& isLinear,
                                                 std::span<const MaybeZero> cotangents);
/// The op on `size` examples at once: operands that are batched have them along axis 0, and so have all results. The
/// types of the call's results are those of one example.
using BatchRule = std::vector<Array> (*)(const OpCall&, const Mask& isBatched, int64_t size);
/// Rules of an op with regions (transform/ControlFlow.h).
struct ControlRules;

struct OpRecord {
  std::string_view name;          ///< in a Function: StableHLO's where it has the op
  std::string_view jaxName = {};  ///< JAX's name, in a jaxpr and in messages; empty: the same
  /// The error in an op's types; null: the rule of the plain op of this name (ir/program/PlainOps.h).
  TypeRule types = nullptr;
  /// The value on arrays; null: that of the plain op of this name (src/plain), or the op exists in kernels only.
  plain::PlainEvaluator evaluate = nullptr;
  /// The value of an op with regions, which are functions of arrays here.
  CallRule run = nullptr;
  /// The op made of plain ops, for programs: null where it is a plain op, or cannot be in a program.
  CallRule expand = nullptr;
  LowerRule lower = nullptr;  ///< null: the op cannot be in a kernel
  CostRule cost = nullptr;    ///< null: what its regions cost; nothing without
  bool effect = false;        ///< has side effects: stays even if its results are unused
  bool inPrograms = false;    ///< programs have it, although it is not a plain op of one device's values
  JvpRule jvp = nullptr;
  TransposeRule transpose = nullptr;  ///< null: not linear in any operand
  BatchRule batch = nullptr;
  const ControlRules* control = nullptr;  ///< instead of these, of an op with regions
  /// Why it has no rule for derivatives, or for batches: the end of "it cannot be differentiated: …".
  std::string_view noJvp = {}, noBatch = {};

  std::string_view shownName() const { return jaxName.empty() ? name : jaxName; }
};

/// The records of a family.
template <size_t N>
struct OpTable {
  OpRecord rows[N];

  /// Found when the program is compiled; a name that is not in the table does not compile.
  consteval const OpRecord& operator[](std::string_view name) const {
    for (const OpRecord& row : rows)
      if (row.name == name) return row;
    throw "no op of this name in the table";
  }
};
template <class... Row>
OpTable(Row...) -> OpTable<sizeof...(Row)>;

/// Makes a table known to `findOp`. One per table, in the same file.
class OpFamily {
 public:
  template <size_t N>
  explicit OpFamily(const OpTable<N>& table) : OpFamily(std::span<const OpRecord>(table.rows)) {}

 private:
  explicit OpFamily(std::span<const OpRecord>);
  friend struct OpRegistry;
  std::span<const OpRecord> rows_;
  const OpFamily* next_;
};

/// The record of an op in a traced function; null for a name that is not an op's.
const OpRecord* findOp(std::string_view name);
/// Every record, in no order.
std::vector<const OpRecord*> allOps();

/// Fields that a record leaves to the plain op of its name are filled in.
TypeRule typeRuleOf(const OpRecord&);
/// Null: the op exists in kernels only, or has regions.
plain::PlainEvaluator evaluatorOf(const OpRecord&);
/// Whether plain programs have an op of its name: StableHLO's or chlo's.
bool isPlainOp(const OpRecord&);

// Type rules of ops that plain programs do not have.
std::string noResults(const TypedOp&);
std::string oneResult(const TypedOp&);    ///< one result, of a type that other things decide
std::string i32Result(const TypedOp&);    ///< i32[]
std::string anyResults(const TypedOp&);   ///< the results of its regions
std::string likeOperand(const TypedOp&);  ///< one result, of the type of operand 0

}  // namespace smalti::lang
