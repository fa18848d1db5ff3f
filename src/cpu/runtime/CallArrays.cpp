#include "cpu/runtime/CallArrays.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/ArrayPiece.h"
#include "base/Success.h"
#include "base/memory/KernelStorage.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/OpFamilies.h"

namespace smalti::cpu {
namespace {

/// Whether the memory begins at a cache line, as `lowerKernel` requires of results and Array::allocate provides.
bool beginsCacheLine(const std::byte* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

}  // namespace

std::vector<bool> overwrittenOperands(const KernelPackage& package) {
  const KernelArguments arguments(package);
  std::vector<bool> overwritten(package.operands.size(), false);
  const auto look = [&](size_t operand, mlir::Value ref) {
    const auto isIt = [&](const Alias& a) { return a.operand == static_cast<int>(operand); };
    overwritten[operand] = llvm::none_of(package.aliases, isIt) && mayBeWritten(ref);
  };
  for (size_t i = 0; i < arguments.numScalarPrefetch(); ++i)
    look(arguments.prefetchOperand(i), arguments.scalarPrefetch(i));
  for (size_t i = 0; i < arguments.numInputs(); ++i)
    if (!arguments.windowOf(i)) look(arguments.inputOperand(i), arguments.input(i));
  return overwritten;
}

KernelArrays::KernelArrays(const KernelPackage& package, eval::Poison poison, std::vector<bool> written)
    : operandTypes_(package.operands),
      resultTypes_(package.results),
      overwritten_(overwrittenOperands(package)),
      aliases_(package.aliases),
      written_(std::move(written)),
      poison_(poison) {
  const KernelArguments arguments(package);
  inside_.assign(static_cast<size_t>(package.signature.numDynamicBounds()), DType::i32);
  const auto add = [&](mlir::Value ref) { inside_.push_back(elementDType(ref.getType())); };
  for (size_t i = 0; i < arguments.numScalarPrefetch(); ++i) add(arguments.scalarPrefetch(i));
  for (size_t i = 0; i < arguments.numBlocks(); ++i) add(arguments.block(i));
  for (const ArrayType& type : operandTypes_) bytes_ += type.bytes();
  for (const ArrayType& type : resultTypes_) bytes_ += type.bytes();
  for (size_t i = 0; i < operandTypes_.size(); ++i) allotted_.push_back(fmt::format("a copy of operand {}", i));
  for (size_t i = 0; i < resultTypes_.size(); ++i) allotted_.push_back(fmt::format("output {}", i));
}

bool KernelArrays::resultDiffers(size_t i) const { return storageDiffers(resultTypes_[i].dtype, insideResult(i)); }

int KernelArrays::aliasOf(size_t operand) const {
  for (const Alias& a : aliases_)
    if (a.operand == static_cast<int>(operand)) return a.output;
  return -1;
}

Status KernelArrays::prepare(std::span<const Array> operands, std::span<Array> into, MemoryAccount& memory,
                             CallArrays& to) const {
  to.results.reserve(resultTypes_.size());
  for (const Array& a : operands) {
    const size_t i = to.pointers.size();
    to.pointers.push_back(const_cast<std::byte*>(a.data()));
    const bool differs = storageDiffers(a.dtype(), inside_[i]);
    if (!differs && !overwritten_[i]) continue;
    if (Status ok = memory.take(bytesInside(a.type(), inside_[i]), allotted_[i]); !ok) return ok;
    auto copy = differs ? toKernelStorage(a, inside_[i]) : a.clone();
    if (!copy) return fail(std::move(copy.error()));
    to.copies.push_back(std::move(*copy));
    to.pointers.back() = to.copies.back().data();
  }
  for (size_t i = 0; i < resultTypes_.size(); ++i) {
    auto result = makeResult(i, operands, into, memory);
    if (!result) return fail(std::move(result.error()));
    for (const Alias& alias : aliases_)
      if (alias.output == static_cast<int>(i)) to.pointers[static_cast<size_t>(alias.operand)] = result->data();
    to.results.push_back(std::move(*result));
  }
  for (Array& r : to.results) to.pointers.push_back(r.data());
  return success();
}

Result<std::vector<Array>> KernelArrays::outside(std::vector<Array> results, MemoryAccount& memory) const {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!resultDiffers(i)) continue;
    if (Status ok = memory.take(resultTypes_[i].bytes(), allotted_[operandTypes_.size() + i]); !ok)
      return fail(std::move(ok.error()));
    auto left = fromKernelStorage(results[i], resultTypes_[i]);
    if (!left) return fail(std::move(left.error()));
    results[i] = std::move(*left);
  }
  return results;
}

int64_t KernelArrays::bytesInside(const ArrayType& type, DType inside) {
  return storageDiffers(type.dtype, inside) ? ArrayType{inside, type.shape}.bytes() : type.bytes();
}

const Array* KernelArrays::takenOperand(size_t i, std::span<const Array> operands) const {
  if (resultDiffers(i)) return nullptr;
  for (const Alias& alias : aliases_)
    if (const Array& operand = operands[static_cast<size_t>(alias.operand)];
        alias.output == static_cast<int>(i) && operand.unique() && ownerOf(operand).get() == operand.data() &&
        beginsCacheLine(operand.data()))
      return &operand;
  return nullptr;
}

bool KernelArrays::overwritesOperands(std::span<const Array> operands, std::span<const Array> into) const {
  for (size_t i = 0; i < resultTypes_.size(); ++i)
    if (into.empty() && takenOperand(i, operands)) return true;
  return std::ranges::any_of(operands, [&](const Array& operand) {
    return operand.bytes() > 0 &&
           std::ranges::any_of(into, [&](const Array& output) { return output.data() == operand.data(); });
  });
}

Result<Array> KernelArrays::makeResult(size_t i, std::span<const Array> operands, std::span<Array> into,
                                       MemoryAccount& memory) const {
  ArrayType type = resultDiffers(i) ? ArrayType{insideResult(i), resultTypes_[i].shape} : resultTypes_[i];
  const bool given = !into.empty() && !resultDiffers(i) && beginsCacheLine(into[i].data());
  if (const Array* taken = into.empty() ? takenOperand(i, operands) : nullptr) return retyped(*taken, type);
  if (!given)
    if (Status ok = memory.take(type.bytes(), allotted_[operandTypes_.size() + i]); !ok)
      return fail(std::move(ok.error()));
  for (const Alias& alias : aliases_)
    if (alias.output == static_cast<int>(i)) {
      const Array& operand = operands[static_cast<size_t>(alias.operand)];
      if (given) {
        if (operand.bytes() > 0 && operand.data() != into[i].data())
          std::memcpy(into[i].data(), operand.data(), static_cast<size_t>(operand.bytes()));
        return into[i];
      }
      auto copy = resultDiffers(i) ? toKernelStorage(operand, type.dtype) : operand.clone();
      if (!copy) return copy;
      return retyped(*copy, type);
    }
  auto made = given ? into[i] : Array::allocate(std::move(type));
  if (made && !written_[i]) makeUndefined(*made, resultTypes_[i].dtype);
  return made;
}

std::string KernelArrays::describeConversion() const {
  for (size_t i = 0; i < operandTypes_.size(); ++i)
    if (storageDiffers(operandTypes_[i].dtype, inside_[i]))
      return fmt::format("operand {}, {}", i, operandTypes_[i].str());
  for (size_t i = 0; i < resultTypes_.size(); ++i)
    if (resultDiffers(i)) return fmt::format("result {}, {}", i, resultTypes_[i].str());
  return "";
}

std::optional<KernelArrays::Fill> KernelArrays::fillOf(size_t result) const {
  const bool aliased =
      std::ranges::any_of(aliases_, [&](const Alias& a) { return a.output == static_cast<int>(result); });
  if (aliased || written_[result]) return std::nullopt;
  const ArrayType& type = resultTypes_[result];
  auto one = Array::allocate({type.dtype, {1}});
  if (!one) return std::nullopt;
  makeUndefined(*one, type.dtype);
  Fill fill{.elements = type.elements(), .elementBytes = static_cast<int>(storage_bytes(type.dtype))};
  std::memcpy(&fill.bits, one->data(), std::min<size_t>(sizeof(fill.bits), static_cast<size_t>(one->bytes())));
  return fill;
}

/// Unsigned integers have their own minimum and maximum.
void KernelArrays::makeUndefined(Array& a, DType outside) const {
  if (is_unsigned_integer(outside))
    std::memset(a.data(), poison_ == eval::Poison::intMax ? 0xff : 0, static_cast<size_t>(a.bytes()));
  else
    eval::poison(a.dtype(), poison_, a.data(), a.elements());
}

}  // namespace smalti::cpu
