#include "cpu/math/Loop.h"

#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

constexpr const char* kName = "loop";

ModuleBuilder emitLoop(const LaneFunction& f, int arity, int lanes, const Processor& processor) {
  ModuleBuilder built(processor, "loop");
  llvm::LLVMContext& context = *built.context;
  llvm::IRBuilder<> code(context);
  llvm::Type* pointer = code.getPtrTy();
  llvm::Type* count = code.getInt64Ty();
  auto* type = llvm::FunctionType::get(code.getVoidTy(), {pointer, pointer, pointer, count}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kName, *built.module);
  function->addFnAttr("target-features", processor.features);
  for (unsigned i = 0; i < 3; ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  llvm::Type* element = code.getFloatTy();
  llvm::Type* value = lanes == 0 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  const llvm::Align align(4);

  auto* entry = llvm::BasicBlock::Create(context, "", function);
  auto* head = llvm::BasicBlock::Create(context, "", function);
  auto* body = llvm::BasicBlock::Create(context, "", function);
  auto* exit = llvm::BasicBlock::Create(context, "", function);
  code.SetInsertPoint(entry);
  code.CreateBr(head);
  code.SetInsertPoint(head);
  llvm::PHINode* i = code.CreatePHI(count, 2);
  i->addIncoming(code.getInt64(0), entry);
  code.CreateCondBr(code.CreateICmpSLT(i, function->getArg(3)), body, exit);

  code.SetInsertPoint(body);
  llvm::Value* operands[2] = {};
  for (int k = 0; k < arity; ++k)
    operands[k] =
        code.CreateAlignedLoad(value, code.CreateGEP(element, function->getArg(static_cast<unsigned>(k)), i), align);
  llvm::Value* result = f(code, std::span(operands, static_cast<size_t>(arity)));
  code.CreateAlignedStore(result, code.CreateGEP(element, function->getArg(2), i), align);
  i->addIncoming(code.CreateAdd(i, code.getInt64(lanes == 0 ? 1 : lanes)), code.GetInsertBlock());
  code.CreateBr(head);
  code.SetInsertPoint(exit);
  code.CreateRetVoid();
  return built;
}

}  // namespace

Result<Loop> compileLoop(const LaneFunction& f, int arity, int lanes, const Processor& processor) {
  Result<std::string> object = generateObject(emitLoop(f, arity, lanes, processor), processor);
  if (!object) return tl::unexpected(object.error());
  auto code = loadObject(*object, {});
  if (!code) return tl::unexpected(code.error());
  return Loop{*code, (*code)->function<LoopFunction>(kName)};
}

Result<std::string> loopAssembly(const LaneFunction& f, int arity, int lanes, const Processor& processor) {
  return generateAssembly(emitLoop(f, arity, lanes, processor), processor);
}

}  // namespace smalti::cpu
