#include "JitModules.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

llvm::Function* function(llvm::Module& module, const char* name, llvm::Type* result,
                         llvm::ArrayRef<llvm::Type*> parameters) {
  auto* f = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false), llvm::Function::ExternalLinkage,
                                   name, module);
  return f;
}

}  // namespace

ModuleBuilder addModule(const Processor& processor) {
  ModuleBuilder built(processor, "add");
  llvm::IRBuilder<> b(*built.context);
  auto* f = function(*built.module, "add", b.getInt64Ty(), {b.getInt64Ty(), b.getInt64Ty()});
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "", f));
  b.CreateRet(b.CreateAdd(f->getArg(0), f->getArg(1)));
  return built;
}

ModuleBuilder callingModule(const Processor& processor, const char* callee) {
  ModuleBuilder built(processor, "ask");
  llvm::IRBuilder<> b(*built.context);
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
  auto* f = function(*built.module, "ask", b.getInt64Ty(), {b.getInt64Ty()});
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "", f));
  auto* answer = b.CreateCall(built.module->getOrInsertFunction(callee, type), {f->getArg(0)});
  b.CreateRet(b.CreateAdd(answer, b.getInt64(1)));
  return built;
}

ModuleBuilder vectorModule(const Processor& processor, int lanes) {
  ModuleBuilder built(processor, "vadd");
  llvm::IRBuilder<> b(*built.context);
  auto* pointer = b.getPtrTy();
  auto* f = function(*built.module, "vadd", b.getVoidTy(), {pointer, pointer, pointer});
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "", f));
  auto* type = llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(lanes));
  const auto load = [&](unsigned argument) { return b.CreateAlignedLoad(type, f->getArg(argument), llvm::Align(4)); };
  b.CreateAlignedStore(b.CreateFAdd(load(1), load(2)), f->getArg(0), llvm::Align(4));
  b.CreateRetVoid();
  return built;
}

ModuleBuilder matmulModule(const Processor& processor, int rows, int columns, int unroll) {
  ModuleBuilder built(processor, "tile");
  llvm::IRBuilder<> b(*built.context);
  auto* pointer = b.getPtrTy();
  auto* f = function(*built.module, "tile", b.getVoidTy(), {pointer, pointer, pointer, b.getInt64Ty()});
  const int lanes = processor.lanes(4);
  auto* vector = llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(lanes));
  auto* entry = llvm::BasicBlock::Create(*built.context, "entry", f);
  auto* loop = llvm::BasicBlock::Create(*built.context, "loop", f);
  auto* exit = llvm::BasicBlock::Create(*built.context, "exit", f);
  b.SetInsertPoint(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* k = b.CreatePHI(b.getInt64Ty(), 2);
  k->addIncoming(b.getInt64(0), entry);
  std::vector<llvm::PHINode*> accumulators;
  std::vector<llvm::Value*> sums;
  for (int i = 0; i < rows * columns; ++i) {
    accumulators.push_back(b.CreatePHI(vector, 2));
    accumulators.back()->addIncoming(llvm::Constant::getNullValue(vector), entry);
    sums.push_back(accumulators.back());
  }
  const auto at = [&](llvm::Value* base, llvm::Value* row, int perRow, int64_t column) {
    auto* index = b.CreateAdd(b.CreateMul(row, b.getInt64(static_cast<uint64_t>(perRow))),
                              b.getInt64(static_cast<uint64_t>(column)));
    return b.CreateInBoundsGEP(b.getFloatTy(), base, index);
  };
  for (int u = 0; u < unroll; ++u) {
    auto* row = b.CreateAdd(k, b.getInt64(static_cast<uint64_t>(u)));
    std::vector<llvm::Value*> right;
    for (int c = 0; c < columns; ++c)
      right.push_back(b.CreateAlignedLoad(vector, at(f->getArg(2), row, columns * lanes, c * lanes), llvm::Align(4)));
    for (int r = 0; r < rows; ++r) {
      auto* element = b.CreateAlignedLoad(b.getFloatTy(), at(f->getArg(1), row, rows, r), llvm::Align(4));
      auto* left = b.CreateVectorSplat(static_cast<unsigned>(lanes), element);
      for (int c = 0; c < columns; ++c) {
        auto& sum = sums[static_cast<size_t>(r * columns + c)];
        sum = b.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {left, right[static_cast<size_t>(c)], sum});
      }
    }
  }
  auto* next = b.CreateAdd(k, b.getInt64(static_cast<uint64_t>(unroll)));
  k->addIncoming(next, loop);
  for (size_t i = 0; i < sums.size(); ++i) accumulators[i]->addIncoming(sums[i], loop);
  b.CreateCondBr(b.CreateICmpSLT(next, f->getArg(3)), loop, exit);
  b.SetInsertPoint(exit);
  for (int i = 0; i < rows * columns; ++i)
    b.CreateAlignedStore(sums[static_cast<size_t>(i)], at(f->getArg(0), b.getInt64(0), 0, i * lanes), llvm::Align(4));
  b.CreateRetVoid();
  return built;
}

}  // namespace smalti::cpu
