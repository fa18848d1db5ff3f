#include "cpu/aot/CEntry.h"

#include "base/Arithmetic.h"
#include "cpu/aot/Aot.h"
#include "cpu/aot/ProcessorCheck.h"
#include "cpu/emit/Kernel.h"
#include "cpu/product/gemm/Ir.h"
#include "cpu/runtime/CallLimits.h"
#include "cpu/runtime/KernelStatus.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

/// Bytes up to which a workspace is on the stack.
constexpr int64_t kStackBytes = 16 << 10;

class CEntryBuilder {
 public:
  CEntryBuilder(llvm::Module& module, const CEntry& entry, const Processor& processor)
      : module_(module), entry_(entry), processor_(processor), b_(module.getContext()) {}

  void build() {
    for (llvm::Function& f : module_)
      if (!f.isDeclaration()) f.setLinkage(llvm::GlobalValue::InternalLinkage);
    kernel_ = module_.getFunction(kKernelSymbol);
    kernel_->setName("kernel.native");  // not a C identifier, so it cannot clash with one of the caller
    auto* bytes = new llvm::GlobalVariable(module_, b_.getInt64Ty(), true, llvm::GlobalValue::ExternalLinkage,
                                           b_.getInt64(static_cast<uint64_t>(entry_.workspaceBytes)),
                                           entry_.name + "_workspace_bytes");
    bytes->setAlignment(llvm::Align(8));
    runs_ = addProcessorCheck(module_, processor_);
    buildWhole(buildWithin());
  }

 private:
  size_t numArrays() const { return entry_.operands.size() + entry_.results.size(); }
  const ArrayType& type(size_t array) const {
    const size_t operands = entry_.operands.size();
    return array < operands ? entry_.operands[array] : entry_.results[array - operands];
  }

  llvm::Function* function(const std::string& name, size_t pointers) {
    const std::vector<llvm::Type*> parameters(pointers, b_.getPtrTy());
    auto* f = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), parameters, false),
                                     llvm::Function::ExternalLinkage, name, module_);
    b_.SetInsertPoint(block(f));
    if (runs_) useBaselineInstructions(*f);
    return f;
  }
  llvm::BasicBlock* block(llvm::Function* f) { return llvm::BasicBlock::Create(module_.getContext(), "", f); }

  /// Returns `code` if `condition` holds; otherwise falls through.
  void returnIf(llvm::Value* condition, CResult code) {
    llvm::Function* f = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock *leave = block(f), *stay = block(f);
    b_.CreateCondBr(condition, leave, stay);
    b_.SetInsertPoint(leave);
    b_.CreateRet(b_.getInt32(code));
    b_.SetInsertPoint(stay);
  }

  /// Null, or not a multiple of `alignment`.
  llvm::Value* isBad(llvm::Value* pointer, int64_t alignment) {
    llvm::Value* address = b_.CreatePtrToInt(pointer, b_.getInt64Ty());
    llvm::Value* rest = b_.CreateAnd(address, b_.getInt64(static_cast<uint64_t>(alignment - 1)));
    return b_.CreateOr(b_.CreateIsNull(pointer), b_.CreateICmpNE(rest, b_.getInt64(0)));
  }

  llvm::GlobalVariable* table(const std::vector<int64_t>& numbers) {
    const std::vector<uint64_t> words(numbers.begin(), numbers.end());
    auto* data = llvm::ConstantDataArray::get(module_.getContext(), words);
    return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data);
  }
  llvm::Value* entryOf(llvm::Value* array, llvm::Value* at) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), array, at));
  }

  /// i1: memory of both, which end before the end of the address space.
  llvm::Value* shareMemory(llvm::Value* a, llvm::Value* aSize, llvm::Value* b, llvm::Value* bSize) {
    llvm::Value* shared =
        b_.CreateAnd(b_.CreateICmpULT(a, b_.CreateAdd(b, bSize)), b_.CreateICmpULT(b, b_.CreateAdd(a, aSize)));
    llvm::Value* empty = b_.CreateOr(b_.CreateICmpEQ(aSize, b_.getInt64(0)), b_.CreateICmpEQ(bSize, b_.getInt64(0)));
    return b_.CreateAnd(shared, b_.CreateNot(empty));
  }

  /// Returns where a result shares memory with another array, other than as one array with the operand that it is
  /// aliased with, or the workspace with any. Emitted as a loop: the number of pairs is quadratic in that of arrays.
  /// `list`: their addresses.
  void returnIfOverlap(llvm::Value* list, llvm::Value* workspace) {
    const size_t operands = entry_.operands.size();
    std::vector<int64_t> bytes, partners(numArrays(), -1);
    for (size_t i = 0; i < numArrays(); ++i) bytes.push_back(type(i).bytes());
    for (const Alias& alias : entry_.aliases) partners[operands + static_cast<size_t>(alias.output)] = alias.operand;
    llvm::GlobalVariable *sizes = table(bytes), *partner = table(partners);
    countedLoop(b_, b_.getInt64(operands), b_.getInt64(numArrays()), 1, [&](llvm::Value* r) {
      llvm::Value *from = entryOf(list, r), *size = entryOf(sizes, r), *aliased = entryOf(partner, r);
      countedLoop(b_, b_.getInt64(0), r, 1, [&](llvm::Value* i) {
        llvm::Value *otherFrom = entryOf(list, i), *otherSize = entryOf(sizes, i);
        llvm::Value* one = b_.CreateAnd(b_.CreateICmpEQ(aliased, i), b_.CreateICmpEQ(from, otherFrom));
        returnIf(b_.CreateAnd(shareMemory(from, size, otherFrom, otherSize), b_.CreateNot(one)), kCBadPointer);
      });
    });
    if (entry_.workspaceBytes == 0) return;
    llvm::Value *from = b_.CreatePtrToInt(workspace, b_.getInt64Ty()),
                *size = b_.getInt64(static_cast<uint64_t>(entry_.workspaceBytes));
    countedLoop(b_, b_.getInt64(0), b_.getInt64(numArrays()), 1, [&](llvm::Value* i) {
      returnIf(shareMemory(from, size, entryOf(list, i), entryOf(sizes, i)), kCBadPointer);
    });
  }

  /// The limits that the kernel checks in its loops; null if it checks none.
  llvm::Value* limits() {
    if (kernel_->getArg(0)->use_empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    llvm::Value *memory = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(CallLimits) / sizeof(int64_t))),
                *never = b_.CreateAlloca(b_.getInt8Ty());
    b_.CreateStore(b_.getInt64(static_cast<uint64_t>(entry_.stepLimit)), memory);
    b_.CreateStore(never, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, offsetof(CallLimits, stop)));
    b_.CreateStore(b_.getInt8(0), never);
    return memory;
  }

  /// The result for the C program.
  llvm::Value* resultOf(llvm::Value* status) {
    llvm::Value* result = b_.getInt32(kCFault);
    const auto is = [&](KernelStatus s, CResult code) {
      result =
          b_.CreateSelect(b_.CreateICmpEQ(status, b_.getInt32(static_cast<uint32_t>(s))), b_.getInt32(code), result);
    };
    is(KernelStatus::done, kCOk);
    is(KernelStatus::outside, kCBlockOutside);
    is(KernelStatus::stepLimit, kCStepLimit);
    return result;
  }

  /// Returns where the grid has more steps than the limit.
  void returnIfTooManySteps(const std::vector<llvm::Value*>& operands) {
    llvm::Value *steps = b_.getInt64(1), *tooMany = b_.getFalse(), *none = b_.getFalse();
    size_t operand = 0;
    for (const int64_t bound : entry_.grid) {
      llvm::Value* n = bound != kDynamicBound
                           ? static_cast<llvm::Value*>(b_.getInt64(static_cast<uint64_t>(bound)))
                           : b_.CreateSExt(b_.CreateLoad(b_.getInt32Ty(), operands[operand++]), b_.getInt64Ty());
      none = b_.CreateOr(none, b_.CreateICmpSLE(n, b_.getInt64(0)));
      llvm::Value* product = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, steps, n);
      steps = b_.CreateExtractValue(product, 0);
      tooMany = b_.CreateOr(tooMany, b_.CreateExtractValue(product, 1));
    }
    tooMany = b_.CreateOr(tooMany, b_.CreateICmpSGT(steps, b_.getInt64(static_cast<uint64_t>(entry_.stepLimit))));
    returnIf(b_.CreateAnd(tooMany, b_.CreateNot(none)), kCStepLimit);
  }

  llvm::Function* buildWithin() {
    llvm::Function* f = function(entry_.name + "_in", numArrays() + 1);
    if (runs_) returnIf(b_.CreateNot(b_.CreateCall(runs_)), kCWrongProcessor);
    std::vector<llvm::Value*> arrays;
    for (size_t i = 0; i < numArrays(); ++i) arrays.push_back(f->getArg(static_cast<unsigned>(i + 1)));
    llvm::Value* bad = b_.getFalse();
    for (size_t i = 0; i < numArrays(); ++i)
      if (type(i).elements() > 0) bad = b_.CreateOr(bad, isBad(arrays[i], storage_bytes(type(i).dtype)));
    if (entry_.workspaceBytes > 0) bad = b_.CreateOr(bad, isBad(f->getArg(0), kWorkspaceAlignment));
    returnIf(bad, kCBadPointer);
    auto* pointers = llvm::ArrayType::get(b_.getPtrTy(), numArrays());
    llvm::Value* list = b_.CreateAlloca(pointers);
    const auto keep = [&](size_t i, llvm::Value* array) {
      b_.CreateStore(array, b_.CreateConstInBoundsGEP2_64(pointers, list, 0, i));
    };
    for (size_t i = 0; i < numArrays(); ++i) keep(i, arrays[i]);
    returnIfOverlap(list, f->getArg(0));
    if (entry_.stepLimit > 0) returnIfTooManySteps(arrays);
    // An aliased operand and its result are one array to the kernel: the result's, which starts as the operand.
    for (const Alias& alias : entry_.aliases) {
      const auto operand = static_cast<size_t>(alias.operand);
      llvm::Value* result = arrays[entry_.operands.size() + static_cast<size_t>(alias.output)];
      b_.CreateMemMove(result, llvm::MaybeAlign(), arrays[operand], llvm::MaybeAlign(),
                       static_cast<uint64_t>(type(operand).bytes()));
      keep(operand, result);
    }
    b_.CreateRet(resultOf(b_.CreateCall(kernel_, {limits(), list, f->getArg(0), b_.getInt64(0), b_.getInt64(1)})));
    return f;
  }

  void buildWhole(llvm::Function* within) {
    llvm::Function* f = function(entry_.name, numArrays());
    const int64_t bytes = roundUp(entry_.workspaceBytes, kWorkspaceAlignment);
    const bool fromHeap = bytes > kStackBytes;
    llvm::Value* workspace = llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (fromHeap) {
      auto allocate = module_.getOrInsertFunction("aligned_alloc", b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty());
      workspace =
          b_.CreateCall(allocate, {b_.getInt64(kWorkspaceAlignment), b_.getInt64(static_cast<uint64_t>(bytes))});
      returnIf(b_.CreateIsNull(workspace), kCNoMemory);
    } else if (bytes > 0) {
      auto* slot = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(bytes)));
      slot->setAlignment(llvm::Align(kWorkspaceAlignment));
      workspace = slot;
    }
    std::vector<llvm::Value*> arguments{workspace};
    for (llvm::Argument& a : f->args()) arguments.push_back(&a);
    llvm::Value* result = b_.CreateCall(within, arguments);
    if (fromHeap) b_.CreateCall(module_.getOrInsertFunction("free", b_.getVoidTy(), b_.getPtrTy()), {workspace});
    b_.CreateRet(result);
  }

  llvm::Module& module_;
  const CEntry& entry_;
  const Processor& processor_;
  llvm::IRBuilder<> b_;
  llvm::Function* kernel_ = nullptr;
  llvm::Function* runs_ = nullptr;  ///< whether this processor can run it; null: not checked
};

}  // namespace

void addCEntry(llvm::Module& module, const CEntry& entry, const Processor& compiledFor) {
  CEntryBuilder(module, entry, compiledFor).build();
}

}  // namespace smalti::cpu
