// Recursive descent over a module: functions, regions, ops in pretty and in generic form, into a Program.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "interop/stablehlo/Locations.h"
#include "interop/stablehlo/Syntax.h"
#include "ir/program/PlainOps.h"

namespace smalti::interop::stablehlo {

/// An op as read, pretty and generic forms made equal: attribute names are those of the generic form.
struct RawOp {
  std::string name;  ///< with its dialect: "stablehlo.add", "func.call"
  std::vector<ValueId> operands;
  Entries attributes;
  std::vector<Block> regions;
  std::vector<ArrayType> operandTypes, resultTypes;
  std::vector<Sharding> inShardings, outShardings;  ///< sdy.manual_computation, sdy.sharding_constraint (in)
  std::vector<std::string> manualAxes;
  SourcePlace place;
  size_t at = 0;  ///< offset of its name

  const Attr* find(std::string_view attribute) const;
  void set(std::string attribute, Attr value) { attributes.emplace_back(std::move(attribute), std::move(value)); }
};

Attr integerAttr(int64_t);
Attr integersAttr(const std::vector<int64_t>&);
Attr textAttr(std::string);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` as attributes of a convolution.
bool convDimensionNumbers(Cursor&, Entries&);

/// An op of arrays (`findArrayOp`) whose pretty form is its operands and their types.
bool canBeElementwise(std::string_view name);
/// A plain op, or one of symbolic shapes; nullptr: no such op. Without dialect.
const PlainOp* findArrayOp(std::string_view name);

class Parser {
 public:
  /// `platform`: of programs exported for several platforms the number of the one whose branches are read.
  Parser(std::string_view text, const std::string& fileName, int64_t platform = 0);
  /// Programs with symbolic shapes are not verified.
  Result<Program> run();
  /// After `run`: of how many platforms a program has branches; 0: of none.
  int64_t platforms() const { return platforms_; }
  int64_t numOps() const { return numOps_; }

 private:
  // ParserModule.cpp: module, functions, meshes.
  bool module();
  bool topLevelOps(std::string_view closer);
  bool function();
  bool functionArguments(Function&);
  bool functionResults(Function&);
  bool genericTopLevelOp();
  bool meshOp();
  bool tooManyFunctions();
  // Parser.cpp: ops and regions.
  bool op(std::vector<Op>& into);
  bool ops(std::vector<Op>& into);
  bool region(Block&, const std::vector<std::pair<std::string, ArrayType>>* arguments = nullptr);
  bool blockArguments(Block&);
  bool genericOp(RawOp&);
  bool genericRegions(RawOp&);
  // Platforms.cpp: programs exported for several platforms.
  void notePlatform(const std::vector<ValueId>& arguments, const std::vector<std::string>& attributes);
  void noteKnown(const Op&);
  bool regionOfPlatform(RawOp&);
  void fixPlatform(Function& main);

  // PrettyOps.cpp: one form per family.
  bool prettyOp(RawOp&);
  bool prettyDims(RawOp&, std::string_view attribute);
  bool prettyDim(RawOp&, std::string_view attribute);
  bool prettySlice(RawOp&);
  bool prettyPad(RawOp&);
  bool prettyTopK(RawOp&);
  bool prettyRngBitGenerator(RawOp&);
  bool prettyDot(RawOp&);
  bool prettyPairs(RawOp&, std::string_view lhs, std::string_view rhs);
  bool prettyReduce(RawOp&);
  bool reducer(RawOp&, size_t inputs);
  bool prettyWhile(RawOp&);
  bool prettyManual(RawOp&);
  bool prettyConstant(RawOp&);
  bool prettyCall(RawOp&);
  bool keyed(std::string_view key);
  // PrettyLinear.cpp
  bool prettyConvolution(RawOp&);
  bool convWindow(RawOp&);
  bool prettyCholesky(RawOp&);
  bool prettyFft(RawOp&);

  // Pieces.
  bool operandList(RawOp&);  ///< %a, %b
  bool operand(ValueId&);
  bool attributeDictionary(Entries& out);
  /// `: …` behind a pretty op; `form` says what a plain list of types stands for.
  enum class Types { same, select, each, operandsOnly };
  bool types(RawOp&, Types form);
  bool arrayTypes(const std::vector<Type>&, std::vector<ArrayType>&, size_t at);
  bool operandTypesAgree(const RawOp&);
  bool loc(SourcePlace& place) { return locations_.trailing(cursor_, place); }
  bool define(const std::string& name, std::vector<ValueId> values, size_t at);
  ValueId newValue(ArrayType);

  // Lower.cpp, KernelCall.cpp, ArrayCall.cpp: from what is written to what it means.
  bool lower(RawOp&, Op&);
  bool lowerAttributes(const RawOp&, Op&);
  bool lowerCustomCall(RawOp&, Op&);
  bool kernelCall(RawOp&, Op&);
  bool shapeOperands(const RawOp&, Op&);
  bool arrayCall(RawOp&, Op&, std::string_view target);
  bool flatten(RawOp&);
  bool refuseByName(const RawOp&);
  bool refuse(const RawOp&, std::string code, std::string message, std::string help);

  SyntaxReader syntax() { return {cursor_, aliases_, budget_}; }

  Source source_;
  Cursor cursor_;
  Aliases aliases_;
  int64_t budget_;
  LocationReader locations_;
  Program program_;
  std::shared_ptr<mlir::MLIRContext> context_;  ///< of all kernels
  std::string kernelFile_;

  Function* function_ = nullptr;
  /// Names in scope, innermost region last.
  std::vector<std::map<std::string, std::vector<ValueId>, std::less<>>> scopes_;
  int64_t numOps_ = 0;
  int depth_ = 0;
  int64_t platform_, platforms_ = 0;
  /// Values of the function that are the platform's number, or follow from it, and constants that may.
  std::map<ValueId, int64_t> known_;
  std::set<ValueId> isPlatform_;
  std::vector<std::string> argumentAttributes_;  ///< of a function in generic form whose block has not been reached
};

/// Platforms.cpp: reads a module, whatever the number of platforms for which it was exported.
Result<Program> importForAnyPlatform(std::string_view text, const std::string& fileName);

}  // namespace smalti::interop::stablehlo
