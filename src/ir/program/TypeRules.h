// Type rules of plain ops, by family. Each returns the violation, or an empty string.
#pragma once

#include "ir/program/PlainOps.h"

namespace smalti::rules {

// TypeRulesElementwise.cpp
std::string sameType(const TypedOp&);
std::string sameFloat(const TypedOp&);
std::string sameFloatOrComplex(const TypedOp&);
std::string makeComplex(const TypedOp&);
std::string partOf(const TypedOp&);
std::string absolute(const TypedOp&);
std::string sameInteger(const TypedOp&);
std::string sameLogical(const TypedOp&);  ///< integers or bool
std::string sameSigned(const TypedOp&);   ///< floats or signed integers
std::string convert(const TypedOp&);
std::string bitcastConvert(const TypedOp&);
std::string compare(const TypedOp&);
std::string isFinite(const TypedOp&);
std::string select(const TypedOp&);
std::string clamp(const TypedOp&);
std::string barrier(const TypedOp&);
std::string reducePrecision(const TypedOp&);

// TypeRulesShape.cpp
std::string constant(const TypedOp&);
std::string allocateBuffer(const TypedOp&);
std::string iota(const TypedOp&);
std::string reshape(const TypedOp&);
std::string broadcastInDim(const TypedOp&);
std::string transpose(const TypedOp&);
std::string slice(const TypedOp&);
std::string dynamicSlice(const TypedOp&);
std::string dynamicUpdateSlice(const TypedOp&);
std::string concatenate(const TypedOp&);
std::string pad(const TypedOp&);
std::string reverse(const TypedOp&);
std::string deviceId(const TypedOp&);

// TypeRulesRegion.cpp
std::string dotGeneral(const TypedOp&);
std::string reduce(const TypedOp&);
std::string whileLoop(const TypedOp&);
std::string caseOf(const TypedOp&);
std::string ifElse(const TypedOp&);

// TypeRulesIndexed.cpp
std::string gather(const TypedOp&);
std::string scatter(const TypedOp&);

// TypeRulesWindow.cpp
std::string reduceWindow(const TypedOp&);
std::string selectAndScatter(const TypedOp&);
std::string sort(const TypedOp&);
std::string topK(const TypedOp&);
std::string approxTopK(const TypedOp&);

// TypeRulesLinear.cpp
std::string convolution(const TypedOp&);
std::string cholesky(const TypedOp&);
std::string triangularSolve(const TypedOp&);
std::string fft(const TypedOp&);
std::string eigh(const TypedOp&);
std::string luDecomposition(const TypedOp&);
std::string qr(const TypedOp&);
std::string householderProduct(const TypedOp&);

// TypeRulesRandom.cpp
std::string rngBitGenerator(const TypedOp&);

// TypeRulesCollective.cpp
std::string allReduce(const TypedOp&);
std::string allGather(const TypedOp&);
std::string allToAll(const TypedOp&);
std::string collectiveBroadcast(const TypedOp&);
std::string collectivePermute(const TypedOp&);
std::string reduceScatter(const TypedOp&);

// Shared words.
std::string sameShape(const ArrayType& a, const ArrayType& b, std::string_view aName, std::string_view bName);
/// A block's arguments and what its return gives.
std::string blockTypes(const TypedOp& op, const Block& block, const std::vector<ArrayType>& arguments,
                       const std::vector<ArrayType>& returned, std::string_view what);
/// Every dim in [0, rank), none twice.
std::string dimsIn(std::span<const int64_t> dims, size_t rank, std::string_view what);

}  // namespace smalti::rules
