// Helpers that emit LLVM IR for matrix products: loops, conditions and masked vectors.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/plan/product/Layout.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

namespace smalti::cpu {

using Values = llvm::SmallVector<llvm::Value*, 32>;

/// <lanes x i1>: the first `valid` are true.
llvm::Value* firstLanes(llvm::IRBuilderBase&, int lanes, int valid);

/// Prefetches the cache line at `address` for reading.
void prefetchLine(llvm::IRBuilderBase&, llvm::Value* address, CacheLevel into);
/// Prefetches every line of `bytes` bytes from `first` on, which is aligned to a line.
void prefetchLines(llvm::IRBuilderBase&, llvm::Value* first, int64_t bytes, CacheLevel into);

/// Calls an intrinsic whose operands are vectors of the same width, bitcast to its element types.
llvm::Value* callOnBits(llvm::IRBuilderBase&, llvm::Intrinsic::ID, llvm::ArrayRef<llvm::Value*> operands);
/// sum + the products of the pairs of bf16 in sixteen lanes of 32 bits (Processor::bf16Dot).
llvm::Value* addPairs(llvm::IRBuilderBase&, llvm::Value* sum, llvm::Value* a, llvm::Value* b);

using LoopBody = llvm::function_ref<Values(llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried)>;
/// for (index = begin; index < end; index += step) carried = body(index, carried); gives the last `carried`. Bounds are
/// i64; if both are constants, or there are `some` iterations, there is no check before the first one, and no
/// code if there are no iterations.
Values countedLoop(llvm::IRBuilderBase&, llvm::Value* begin, llvm::Value* end, int64_t step,
                   llvm::ArrayRef<llvm::Value*> carried, LoopBody body, bool some = false);
void countedLoop(llvm::IRBuilderBase&, llvm::Value* begin, llvm::Value* end, int64_t step,
                 llvm::function_ref<void(llvm::Value* index)> body);

/// Builds one function.
class Ir {
 public:
  /// Begins an internal function of this name that returns nothing.
  Ir(llvm::Module&, const std::string& name, llvm::ArrayRef<llvm::Type*> parameters);

  llvm::IRBuilder<> b;
  llvm::Function* function;

  llvm::Argument* argument(int i) const { return function->getArg(i); }
  llvm::Value* i64(int64_t value) { return b.getInt64(value); }
  llvm::Value* at(llvm::Value* pointer, llvm::Value* bytes) { return b.CreatePtrAdd(pointer, bytes); }
  llvm::Value* at(llvm::Value* pointer, int64_t bytes) { return bytes ? b.CreatePtrAdd(pointer, i64(bytes)) : pointer; }

  Values loop(llvm::Value* begin, llvm::Value* end, int64_t step, llvm::ArrayRef<llvm::Value*> carried, LoopBody body,
              bool some = false) {
    return countedLoop(b, begin, end, step, carried, body, some);
  }
  void loop(llvm::Value* begin, llvm::Value* end, int64_t step, llvm::function_ref<void(llvm::Value*)> body) {
    countedLoop(b, begin, end, step, body);
  }
  /// Calls body(start, size) for blocks of [0, total), the last one smaller.
  void blocks(int64_t total, int64_t block, llvm::function_ref<void(llvm::Value* start, llvm::Value* size)> body);
  void when(llvm::Value* condition, llvm::function_ref<void()> then);

  llvm::FixedVectorType* vectorOf(llvm::Type* element, int lanes) { return llvm::FixedVectorType::get(element, lanes); }
  /// Loads the first `valid` lanes, the others are zero; no memory past them is accessed.
  llvm::Value* load(llvm::Type* element, int lanes, int valid, llvm::Value* pointer);
  void store(llvm::Value* vector, int valid, llvm::Value* pointer);
  /// Converts a vector of source elements to elements of words.
  llvm::Value* convert(llvm::Value* vector, DType from, PackedElement to, bool nativeHalf);
  /// The type in which elements of this type are loaded: bf16 as i16.
  llvm::Type* memoryType(DType);

 private:
  llvm::Value* toFloat(llvm::Value* vector, DType from, bool nativeHalf);
};

}  // namespace smalti::cpu
