// The plain array ops a Program may hold between its kernel calls: one table row each.
// The importer, the exporter and `verify` read this table; what an op computes stands in src/plain.
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

/// An op with the types its rule looks at.
struct TypedOp {
  const Op& op;
  const Function& function;
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

}  // namespace smalti
