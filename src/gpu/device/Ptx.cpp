// The bodies of the primitives on a GPU.
#include "gpu/device/Primitives.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

constexpr unsigned kSharedSpace = 3;  // of NVPTX's address spaces

/// Adds a body to the function if the module declares it; `body` gives what it returns, null for nothing.
template <class Body>
void define(llvm::Module& module, const char* name, Body&& body) {
  llvm::Function* function = module.getFunction(name);
  if (!function || !function->isDeclaration()) return;
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  Builder b(llvm::BasicBlock::Create(module.getContext(), "", function));
  if (Reg result = body(b, function))
    b.CreateRet(result);
  else
    b.CreateRetVoid();
}

auto special(llvm::Intrinsic::ID id) {
  return [id](Builder& b, llvm::Function*) -> Reg {
    return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Reg>());
  };
}

}  // namespace

void definePtxBodies(llvm::Module& module) {
  define(module, kThreadSymbol, special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
  define(module, kBlockSymbol, special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x));
  define(module, kBlocksSymbol, special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x));
  define(module, kBarrierSymbol, [](Builder& b, llvm::Function*) -> Reg {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {}, {b.getInt32(0)});
    return nullptr;
  });
  define(module, kShuffleSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    constexpr uint32_t kAllLanes = 0xffffffff, kWholeWarp = 0x1f;
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                             {b.getInt32(kAllLanes), f->getArg(0), f->getArg(1), b.getInt32(kWholeWarp)});
  });
  define(module, kMmaSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    auto* type = llvm::ArrayType::get(b.getFloatTy(), 4);
    auto* half = llvm::FixedVectorType::get(b.getHalfTy(), 2);
    std::vector<Reg> words, halves, sums;
    for (unsigned i = 2; i < 8; ++i) {
      words.push_back(f->getArg(i));
      halves.push_back(b.CreateBitCast(f->getArg(i), half));
    }
    for (unsigned i = 0; i < 4; ++i)
      sums.push_back(b.CreateLoad(b.getFloatTy(), b.CreateConstInBoundsGEP2_32(type, f->getArg(0), 0, i)));
    auto* asF16 = llvm::BasicBlock::Create(b.getContext(), "f16", f);
    auto* asBf16 = llvm::BasicBlock::Create(b.getContext(), "bf16", f);
    auto* done = llvm::BasicBlock::Create(b.getContext(), "done", f);
    b.CreateCondBr(b.CreateICmpNE(f->getArg(1), b.getInt32(0)), asF16, asBf16);
    for (auto* block : {asF16, asBf16}) {
      b.SetInsertPoint(block);
      std::vector<Reg> arguments = block == asF16 ? halves : words;
      arguments.insert(arguments.end(), sums.begin(), sums.end());
      Reg made = b.CreateIntrinsic(block == asF16 ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                                  : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16,
                                   llvm::ArrayRef<llvm::Type*>(), arguments);
      for (unsigned i = 0; i < 4; ++i)
        b.CreateStore(b.CreateExtractValue(made, i), b.CreateConstInBoundsGEP2_32(type, f->getArg(0), 0, i));
      b.CreateBr(done);
    }
    b.SetInsertPoint(done);
    return nullptr;
  });
  define(module, kSharedSymbol, [&](Builder& b, llvm::Function*) -> Reg {
    auto* memory = new llvm::GlobalVariable(module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                            llvm::GlobalValue::ExternalLinkage, nullptr, "smalti_shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(128));
    return b.CreateAddrSpaceCast(memory, b.getPtrTy());
  });
  // Nobody outside can speak to a kernel that runs: its rounds are counted.
  define(module, kStoppedSymbol, [](Builder& b, llvm::Function*) -> Reg { return b.getInt32(0); });
}

}  // namespace smalti::gpu
