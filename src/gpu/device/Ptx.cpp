// The bodies of the primitives on a GPU.
#include "gpu/device/PtxBodies.h"

#include <fmt/format.h>

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

constexpr int kMostGroups = 8;

Reg doIntrinsic(Builder& b, llvm::Intrinsic::ID id) {
  b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Reg>());
  return nullptr;
}

auto special(llvm::Intrinsic::ID id) {
  return [id](Builder& b, llvm::Function*) -> Reg {
    return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Reg>());
  };
}

Reg mma(Builder& b, llvm::Function* f) {
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
}

Reg loadMatrices(Builder& b, llvm::Function* f) {
  auto* type = llvm::ArrayType::get(b.getInt32Ty(), 4);
  auto* transposed = llvm::BasicBlock::Create(b.getContext(), "transposed", f);
  auto* straight = llvm::BasicBlock::Create(b.getContext(), "straight", f);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", f);
  Reg row = b.CreateAddrSpaceCast(f->getArg(1), b.getPtrTy(kSharedSpace));
  b.CreateCondBr(b.CreateICmpNE(f->getArg(2), b.getInt32(0)), transposed, straight);
  for (auto* block : {transposed, straight}) {
    b.SetInsertPoint(block);
    Reg made = b.CreateIntrinsic(block == transposed ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                                                     : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16,
                                 {row->getType()}, {row});
    for (unsigned i = 0; i < 4; ++i)
      b.CreateStore(b.CreateExtractValue(made, i), b.CreateConstInBoundsGEP2_32(type, f->getArg(0), 0, i));
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  return nullptr;
}

/// The matrix descriptor of what lies at an address (PTX ISA, "Matrix Descriptor Format"): the address, the bytes from
/// 64 elements along a row to the next (of operands whose depth is not inner), those from 8 rows to the next 8, each
/// without its low four bits, and how addresses are swizzled.
Reg descriptor(Builder& b, Reg at, int stride) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kEightRows = 8 * 128;
  constexpr unsigned kAddressBits = 18, kStrideAt = 16, kRowsAt = 32;
  Reg address = b.CreatePtrToInt(b.CreateAddrSpaceCast(at, b.getPtrTy(kSharedSpace)), b.getInt32Ty());
  Reg low = b.CreateLShr(b.CreateAnd(address, b.getInt32((1u << kAddressBits) - 1)), 4);
  const uint64_t constant =
      kSwizzle128 | (kEightRows >> 4) << kRowsAt | static_cast<uint64_t>(stride >> 4) << kStrideAt;
  return b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.getInt64(constant));
}

/// LLVM has no intrinsic for it: inline assembly, whose results are tied to what they are added to.
Reg groupMma(Builder& b, llvm::Function* f, const GroupProduct& p) {
  const auto count = static_cast<unsigned>(p.columns / 2);
  auto* type = llvm::ArrayType::get(b.getFloatTy(), count);
  std::vector<Reg> arguments{descriptor(b, f->getArg(1), p.lhsStride), descriptor(b, f->getArg(2), p.rhsStride)};
  std::vector<llvm::Type*> results(count, b.getFloatTy()), types{b.getInt64Ty(), b.getInt64Ty()};
  std::string sums, outputs, tied;
  for (unsigned i = 0; i < count; ++i) {
    arguments.push_back(b.CreateLoad(b.getFloatTy(), b.CreateConstInBoundsGEP2_32(type, f->getArg(0), 0, i)));
    types.push_back(b.getFloatTy());
    sums += fmt::format("{}${}", i ? ", " : "", i);
    outputs += i ? ",=f" : "=f";
    tied += fmt::format(",{}", i);
  }
  const std::string_view in = p.isF16 ? "f16" : "bf16";
  const std::string text = fmt::format(
      "{{\n\t.reg .pred adds;\n\tsetp.eq.u32 adds, 0, 0;\n\twgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} "
      "{{{}}}, ${}, ${}, adds, 1, 1, {}, {};\n\t}}",
      p.columns, in, in, sums, count, count + 1, p.lhsDepthInner ? 0 : 1, p.rhsDepthInner ? 0 : 1);
  auto* assembly =
      llvm::InlineAsm::get(llvm::FunctionType::get(llvm::StructType::get(b.getContext(), results), types, false), text,
                           outputs + ",l,l" + tied, true);
  auto* made = b.CreateCall(assembly, arguments);
  made->setConvergent();
  for (unsigned i = 0; i < count; ++i)
    b.CreateStore(b.CreateExtractValue(made, i), b.CreateConstInBoundsGEP2_32(type, f->getArg(0), 0, i));
  return nullptr;
}

/// The sums are read after the wait, not before: LLVM knows of no other reason to do so.
Reg groupWait(Builder& b, llvm::Function* f, int groups, int count) {
  b.CreateIntrinsic(llvm::Intrinsic::nvvm_wgmma_wait_group_sync_aligned, {},
                    {b.getInt64(static_cast<uint64_t>(groups))});
  if (count == 0) return nullptr;
  auto* type = llvm::ArrayType::get(b.getFloatTy(), static_cast<uint64_t>(count));
  const auto at = [&](unsigned i) { return b.CreateConstInBoundsGEP2_32(type, f->getArg(0), 0, i); };
  std::vector<Reg> arguments;
  std::vector<llvm::Type*> types(static_cast<size_t>(count), b.getFloatTy());
  std::string outputs, tied;
  for (unsigned i = 0; i < types.size(); ++i) {
    arguments.push_back(b.CreateLoad(b.getFloatTy(), at(i)));
    outputs += i ? ",=f" : "=f";
    tied += fmt::format(",{}", i);
  }
  auto* result = llvm::StructType::get(b.getContext(), types);
  Reg made = b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), "", outputs + tied, true),
                          arguments);
  for (unsigned i = 0; i < types.size(); ++i) b.CreateStore(b.CreateExtractValue(made, i), at(i));
  return nullptr;
}

}  // namespace

void definePtxBody(llvm::Module& module, llvm::StringRef name,
                   const std::function<Reg(Builder&, llvm::Function*)>& body) {
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

void definePtxBodies(llvm::Module& module) {
  definePtxBody(module, kThreadSymbol, special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
  definePtxBody(module, kBlockSymbol, special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x));
  definePtxBody(module, kBlocksSymbol, special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x));
  definePtxBody(module, kBarrierSymbol, [](Builder& b, llvm::Function*) -> Reg {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {}, {b.getInt32(0)});
    return nullptr;
  });
  definePtxBody(module, kShuffleSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    constexpr uint32_t kAllLanes = 0xffffffff, kWholeWarp = 0x1f;
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                             {b.getInt32(kAllLanes), f->getArg(0), f->getArg(1), b.getInt32(kWholeWarp)});
  });
  definePtxBody(module, kMmaSymbol, mma);
  definePtxBody(module, kLoadMatricesSymbol, loadMatrices);
  definePtxBody(module, kCopySymbol, [](Builder& b, llvm::Function* f) -> Reg {
    Reg to = b.CreateAddrSpaceCast(f->getArg(0), b.getPtrTy(kSharedSpace)),
        from = b.CreateAddrSpaceCast(f->getArg(1), b.getPtrTy(kGlobalSpace));
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s, {}, {to, from, f->getArg(2)}),
           nullptr;
  });
  definePtxBody(module, kCommitSymbol, [](Builder& b, llvm::Function*) -> Reg {
    return doIntrinsic(b, llvm::Intrinsic::nvvm_cp_async_commit_group);
  });
  for (int groups = 0; groups < kMostGroups; ++groups)
    definePtxBody(module, waitName(groups), [groups](Builder& b, llvm::Function*) -> Reg {
      return b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                               {b.getInt32(static_cast<uint32_t>(groups))}),
             nullptr;
    });
  definePtxBody(module, kPublishSymbol, [](Builder& b, llvm::Function*) -> Reg {
    return doIntrinsic(b, llvm::Intrinsic::nvvm_fence_proxy_async_shared_cta);
  });
  definePtxBody(module, kGroupBeginSymbol, [](Builder& b, llvm::Function*) -> Reg {
    return doIntrinsic(b, llvm::Intrinsic::nvvm_wgmma_fence_sync_aligned);
  });
  definePtxBody(module, kGroupCommitSymbol, [](Builder& b, llvm::Function*) -> Reg {
    return doIntrinsic(b, llvm::Intrinsic::nvvm_wgmma_commit_group_sync_aligned);
  });
  definePtxBulkBodies(module);
  std::vector<std::string> waits;
  for (const llvm::Function& f : module)
    if (f.getName().starts_with(kGroupWaitSymbol)) waits.push_back(f.getName().str());
  for (const std::string& name : waits)
    definePtxBody(module, name, [parts = groupWaitNamed(name)](Builder& b, llvm::Function* f) {
      return groupWait(b, f, parts[0], parts[1]);
    });
  std::vector<std::string> products;
  for (const llvm::Function& f : module)
    if (f.getName().starts_with(kGroupMmaSymbol)) products.push_back(f.getName().str());
  for (const std::string& name : products)
    definePtxBody(module, name, [product = groupProductNamed(name)](Builder& b, llvm::Function* f) {
      return groupMma(b, f, product);
    });
  definePtxBody(module, kSharedSymbol, [&](Builder& b, llvm::Function*) -> Reg {
    auto* memory = new llvm::GlobalVariable(module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                            llvm::GlobalValue::ExternalLinkage, nullptr, "smalti_shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(1024));  // in which swizzled addresses repeat
    return b.CreateAddrSpaceCast(memory, b.getPtrTy());
  });
  // Nobody outside can speak to a kernel that runs: its rounds are counted.
  definePtxBody(module, kStoppedSymbol, [](Builder& b, llvm::Function*) -> Reg { return b.getInt32(0); });
}

}  // namespace smalti::gpu
