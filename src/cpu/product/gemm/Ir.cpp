#include "cpu/product/gemm/Ir.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {

using llvm::Value;

Ir::Ir(llvm::Module& module, const std::string& name, llvm::ArrayRef<llvm::Type*> parameters)
    : b(module.getContext()),
      function(llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), parameters, false),
                                      llvm::GlobalValue::InternalLinkage, name, module)) {
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
}

void prefetchLine(llvm::IRBuilderBase& b, Value* address, CacheLevel into) {
  constexpr int kRead = 0, kData = 1;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                    {address, b.getInt32(kRead), b.getInt32(static_cast<uint32_t>(into)), b.getInt32(kData)});
}

void prefetchLines(llvm::IRBuilderBase& b, Value* first, int64_t bytes, CacheLevel into) {
  for (int64_t at = 0; at < bytes; at += kLineBytes)
    prefetchLine(b, b.CreateConstGEP1_64(b.getInt8Ty(), first, static_cast<uint64_t>(at)), into);
}

Value* callOnBits(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> operands) {
  llvm::Function* f = llvm::Intrinsic::getOrInsertDeclaration(b.GetInsertBlock()->getModule(), id);
  Values casted;
  for (size_t i = 0; i < operands.size(); ++i)
    casted.push_back(b.CreateBitCast(operands[i], f->getFunctionType()->getParamType(i)));
  return b.CreateCall(f, casted);
}

Value* addPairs(llvm::IRBuilderBase& b, Value* sum, Value* x, Value* y) {
  return callOnBits(b, llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {sum, x, y});
}

Values countedLoop(llvm::IRBuilderBase& b, Value* begin, Value* end, int64_t step, llvm::ArrayRef<Value*> carried,
                   LoopBody body, bool some) {
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *bound = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool known = some || (first && bound);
  if (first && bound && first->getSExtValue() >= bound->getSExtValue()) return Values(carried.begin(), carried.end());
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "loop", before->getParent());
  auto* after = llvm::BasicBlock::Create(b.getContext(), "after", before->getParent());
  if (known)
    b.CreateBr(inside);
  else
    b.CreateCondBr(b.CreateICmpSLT(begin, end), inside, after);

  b.SetInsertPoint(inside);
  llvm::PHINode* index = b.CreatePHI(begin->getType(), 2);
  index->addIncoming(begin, before);
  llvm::SmallVector<llvm::PHINode*, 32> phis;
  for (Value* v : carried) {
    phis.push_back(b.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
  }
  const Values now(phis.begin(), phis.end());
  const Values next = body(index, now);
  Value* following = b.CreateAdd(index, b.getInt64(static_cast<uint64_t>(step)), "", true, true);
  llvm::BasicBlock* latch = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpSLT(following, end), inside, after);
  index->addIncoming(following, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);

  b.SetInsertPoint(after);
  if (known) return next;
  Values results;
  for (size_t i = 0; i < phis.size(); ++i) {
    llvm::PHINode* result = b.CreatePHI(phis[i]->getType(), 2);
    result->addIncoming(carried[i], before);
    result->addIncoming(next[i], latch);
    results.push_back(result);
  }
  return results;
}

void countedLoop(llvm::IRBuilderBase& b, Value* begin, Value* end, int64_t step,
                 llvm::function_ref<void(Value*)> body) {
  countedLoop(b, begin, end, step, {}, [&](Value* index, llvm::ArrayRef<Value*>) {
    body(index);
    return Values();
  });
}

void Ir::blocks(int64_t total, int64_t block, llvm::function_ref<void(Value*, Value*)> body) {
  if (total <= block) return body(i64(0), i64(total));
  loop(i64(0), i64(total), block, [&](Value* start) {
    Value* size = i64(block);
    if (total % block) size = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, size, b.CreateSub(i64(total), start));
    body(start, size);
  });
}

void Ir::when(Value* condition, llvm::function_ref<void()> then) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) then();
    return;
  }
  auto* yes = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.CreateCondBr(condition, yes, after);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

Value* firstLanes(llvm::IRBuilderBase& b, int lanes, int valid) {
  llvm::SmallVector<llvm::Constant*, 64> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(b.getInt1(i < valid));
  return llvm::ConstantVector::get(bits);
}

Value* Ir::load(llvm::Type* element, int lanes, int valid, Value* pointer) {
  auto* type = vectorOf(element, lanes);
  if (valid <= 0) return llvm::Constant::getNullValue(type);
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  if (valid >= lanes) return b.CreateAlignedLoad(type, pointer, align);
  return b.CreateMaskedLoad(type, pointer, align, firstLanes(b, lanes, valid), llvm::Constant::getNullValue(type));
}

void Ir::store(Value* vector, int valid, Value* pointer) {
  auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  const llvm::Align align(type->getScalarSizeInBits() / 8);
  const int lanes = static_cast<int>(type->getNumElements());
  if (valid >= lanes)
    b.CreateAlignedStore(vector, pointer, align);
  else
    b.CreateMaskedStore(vector, pointer, align, firstLanes(b, lanes, valid));
}

llvm::Type* Ir::memoryType(DType type) {
  if (type == DType::f32) return b.getFloatTy();
  if (type == DType::f16) return b.getHalfTy();
  return b.getIntNTy(8 * storage_bytes(type));
}

Value* Ir::toFloat(Value* vector, DType from, bool nativeHalf) {
  if (from == DType::f32) return vector;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  auto* floats = vectorOf(b.getFloatTy(), lanes);
  auto* words = vectorOf(b.getInt32Ty(), lanes);
  if (from == DType::bf16) return b.CreateBitCast(b.CreateShl(b.CreateZExt(vector, words), 16), floats);
  if (from == DType::f16 && nativeHalf) return b.CreateFPExt(vector, floats);
  if (from == DType::f16) {  // exponents are rebiased by a multiplication, which also makes denormals right
    Value* bits = b.CreateZExt(b.CreateBitCast(vector, vectorOf(b.getInt16Ty(), lanes)), words);
    Value* magnitude = b.CreateAnd(bits, 0x7fff);
    Value* scaled =
        b.CreateFMul(b.CreateBitCast(b.CreateShl(magnitude, 13), floats), llvm::ConstantFP::get(floats, 0x1p112));
    Value* special = b.CreateOr(b.CreateShl(magnitude, 13), 0x7f800000);
    Value* isSpecial = b.CreateICmpUGE(magnitude, llvm::ConstantInt::get(words, 0x7c00));
    Value* value = b.CreateSelect(isSpecial, special, b.CreateBitCast(scaled, words));
    return b.CreateBitCast(b.CreateOr(value, b.CreateShl(b.CreateAnd(bits, 0x8000), 16)), floats);
  }
  return is_unsigned_integer(from) ? b.CreateUIToFP(vector, floats) : b.CreateSIToFP(vector, floats);
}

Value* Ir::convert(Value* vector, DType from, PackedElement to, bool nativeHalf) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  switch (to) {
    case PackedElement::f32:
      return toFloat(vector, from, nativeHalf);
    case PackedElement::i32:
      return b.CreateIntCast(vector, vectorOf(b.getInt32Ty(), lanes), !is_unsigned_integer(from));
    case PackedElement::i16:
      return b.CreateIntCast(vector, vectorOf(b.getInt16Ty(), lanes), !is_unsigned_integer(from));
    case PackedElement::i8Biased:
      return b.CreateXor(vector, llvm::ConstantInt::get(vector->getType(), 0x80));
    case PackedElement::bf16:
    case PackedElement::i8:
      return vector;
  }
  return vector;
}

}  // namespace smalti::cpu
