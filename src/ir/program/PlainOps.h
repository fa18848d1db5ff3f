// The plain array ops a Program may hold between its kernel calls: one table row each.
// The importer, the exporter and `verify` read this table; what an op computes stands in src/plain. A second table
// lists ops that only programs with symbolic shapes contain.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/program/Program.h"

namespace smalti {

/// `pairs`: two integers a row of a matrix (padding), one after the other. `booleans`: integers 0 and 1. `matrix`: an
/// Array of i64. `unit`: true, or absent.
enum class AttributeKind { boolean, booleans, integer, integers, number, pairs, text, texts, elements, matrix, unit };

struct AttributeRule {
  std::string_view name;  ///< StableHLO's
  AttributeKind kind;
  bool required = true;
  std::string_view enumName = "";  ///< text, texts: the enum it is printed as (#stablehlo<enumName VALUE>)
  std::string_view group = "";     ///< printed inside one attribute of this name ("dot_dimension_numbers")
};

/// The size of a dimension of a program with symbolic shapes (jax.export) until the arguments' shapes are known.
inline constexpr int64_t kUnknownDim = -1;
bool hasUnknownDims(const ArrayType&);

/// An op with the types its rule looks at.
struct TypedOp {
  const Op& op;
  const Function& function;
  /// `function`, if unknown sizes of results are to be replaced by those that follow from the operands.
  Function* inferring = nullptr;
  const ArrayType& operand(int i) const { return function.values[op.operands[i]]; }
  const ArrayType& result(int i = 0) const { return function.values[op.results[i]]; }
  int numOperands() const { return static_cast<int>(op.operands.size()); }
  int numResults() const { return static_cast<int>(op.results.size()); }
  /// Empty when the attribute is absent.
  std::span<const int64_t> integers(std::string_view attribute) const;
  /// `count` times `absent` then.
  Shape entries(std::string_view attribute, size_t count, int64_t absent) const;
  int64_t integer(std::string_view attribute, int64_t absent = 0) const;
  bool boolean(std::string_view attribute) const;  ///< false when it is absent
  std::string_view text(std::string_view attribute) const;
  /// What the operands say of the shape of result `i`: sets its unknown sizes if `inferring`.
  void infer(int i, const Shape&) const;
};

/// The error in the op's types and attributes, with numbers; empty: none.
using TypeRule = std::string (*)(const TypedOp&);

inline constexpr int kVariadic = -1;

struct PlainOp {
  std::string_view name;
  int numOperands;  ///< or kVariadic
  int numRegions;   ///< or kVariadic
  std::span<const AttributeRule> attributes;
  TypeRule rule;
  int numResults = 1;  ///< or kVariadic
  /// "custom_call": a call of that target, whose region is the function that it is given.
  std::string_view dialect = "stablehlo";
  bool isCustomCall() const { return dialect == "custom_call"; }
};

/// nullptr: no such op. Without dialect: "add".
const PlainOp* findPlainOp(std::string_view name);
std::span<const PlainOp> plainOps();
/// Ops that only programs with symbolic shapes contain, which have no rules: `driver/symbolic/Specialise.h` turns them
/// into plain ops. nullptr: no such op.
const PlainOp* findSymbolicOp(std::string_view name);
/// Of any op: operands that hold the shapes of its results. They follow the others.
inline constexpr std::string_view kShapeOperands = "indices_of_shape_operands";
/// A dimension of a value is unknown, or an op is one that only such programs contain.
bool hasSymbolicShapes(const Program&);

/// What is wrong with the numbers of operands, results and regions; empty: nothing.
std::string miscounted(const PlainOp&, const Op&);
/// The same, and by the op's rule.
std::string misuse(const PlainOp&, const TypedOp&);

}  // namespace smalti
