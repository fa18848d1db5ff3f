#include "cpu/aot/CEntry.h"

#include <algorithm>

#include "cpu/aot/Aot.h"
#include "cpu/lower/Kernel.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

/// Workspaces of up to so many bytes are on the stack.
constexpr int64_t kStackBytes = 16 << 10;

class CEntryBuilder {
 public:
  CEntryBuilder(llvm::Module& module, const CEntry& entry) : module_(module), entry_(entry), b_(module.getContext()) {}

  void build() {
    for (llvm::Function& f : module_)
      if (!f.isDeclaration()) f.setLinkage(llvm::GlobalValue::InternalLinkage);
    kernel_ = module_.getFunction(kKernelSymbol);
    kernel_->setName("kernel.native");  // no C name: it leaves them all to the caller
    auto* bytes = new llvm::GlobalVariable(module_, b_.getInt64Ty(), true, llvm::GlobalValue::ExternalLinkage,
                                           b_.getInt64(static_cast<uint64_t>(entry_.workspaceBytes)),
                                           entry_.name + "_workspace_bytes");
    bytes->setAlignment(llvm::Align(8));
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
    return f;
  }
  llvm::BasicBlock* block(llvm::Function* f) { return llvm::BasicBlock::Create(module_.getContext(), "", f); }

  /// Returns `code` where `condition` holds; goes on where it does not.
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

  /// Two arrays share memory, other than as one array where `mayBeOne`.
  llvm::Value* overlap(llvm::Value* a, int64_t aBytes, llvm::Value* b, int64_t bBytes, bool mayBeOne) {
    if (aBytes == 0 || bBytes == 0) return b_.getFalse();
    const auto end = [&](llvm::Value* p, int64_t bytes) {
      return b_.CreateAdd(b_.CreatePtrToInt(p, b_.getInt64Ty()), b_.getInt64(static_cast<uint64_t>(bytes)));
    };
    const auto begin = [&](llvm::Value* p) { return b_.CreatePtrToInt(p, b_.getInt64Ty()); };
    llvm::Value* shared =
        b_.CreateAnd(b_.CreateICmpULT(begin(a), end(b, bBytes)), b_.CreateICmpULT(begin(b), end(a, aBytes)));
    return mayBeOne ? b_.CreateAnd(shared, b_.CreateICmpNE(a, b)) : shared;
  }

  bool aliased(size_t operand, size_t result) const {
    const Alias alias{static_cast<int>(result), static_cast<int>(operand)};
    return std::find(entry_.aliases.begin(), entry_.aliases.end(), alias) != entry_.aliases.end();
  }

  /// A result shares memory with another array.
  llvm::Value* anyOverlap(const std::vector<llvm::Value*>& arrays) {
    llvm::Value* any = b_.getFalse();
    const size_t operands = entry_.operands.size();
    for (size_t r = operands; r < numArrays(); ++r)
      for (size_t i = 0; i < r; ++i)
        any = b_.CreateOr(any, overlap(arrays[i], type(i).bytes(), arrays[r], type(r).bytes(),
                                       i < operands && aliased(i, r - operands)));
    return any;
  }

  llvm::Function* buildWithin() {
    llvm::Function* f = function(entry_.name + "_in", numArrays() + 1);
    std::vector<llvm::Value*> arrays;
    for (size_t i = 0; i < numArrays(); ++i) arrays.push_back(f->getArg(static_cast<unsigned>(i + 1)));
    llvm::Value* bad = b_.getFalse();
    for (size_t i = 0; i < numArrays(); ++i)
      if (type(i).elements() > 0) bad = b_.CreateOr(bad, isBad(arrays[i], storage_bytes(type(i).dtype)));
    if (entry_.workspaceBytes > 0) bad = b_.CreateOr(bad, isBad(f->getArg(0), kWorkspaceAlignment));
    returnIf(b_.CreateOr(bad, anyOverlap(arrays)), kCBadPointer);
    // An aliased operand and its result are one array to the kernel: the result's, which starts as the operand.
    for (const Alias& alias : entry_.aliases) {
      auto& operand = arrays[static_cast<size_t>(alias.operand)];
      llvm::Value* result = arrays[entry_.operands.size() + static_cast<size_t>(alias.output)];
      b_.CreateMemMove(result, llvm::MaybeAlign(), operand, llvm::MaybeAlign(),
                       static_cast<uint64_t>(type(static_cast<size_t>(alias.operand)).bytes()));
      operand = result;
    }
    auto* pointers = llvm::ArrayType::get(b_.getPtrTy(), numArrays());
    llvm::Value* list = b_.CreateAlloca(pointers);
    for (size_t i = 0; i < numArrays(); ++i)
      b_.CreateStore(arrays[i], b_.CreateConstInBoundsGEP2_64(pointers, list, 0, i));
    llvm::Value* none = llvm::ConstantPointerNull::get(b_.getPtrTy());
    llvm::Value* fault = b_.CreateCall(kernel_, {none, list, f->getArg(0), b_.getInt64(0), b_.getInt64(1)});
    b_.CreateRet(b_.CreateSelect(b_.CreateICmpEQ(fault, b_.getInt32(0)), b_.getInt32(kCOk), b_.getInt32(kCFault)));
    return f;
  }

  void buildWhole(llvm::Function* within) {
    llvm::Function* f = function(entry_.name, numArrays());
    const int64_t bytes = (entry_.workspaceBytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
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
  llvm::IRBuilder<> b_;
  llvm::Function* kernel_ = nullptr;
};

}  // namespace

void addCEntry(llvm::Module& module, const CEntry& entry) { CEntryBuilder(module, entry).build(); }

}  // namespace smalti::cpu
