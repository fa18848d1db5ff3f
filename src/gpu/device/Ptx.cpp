// The bodies of the primitives on a GPU.
#include "gpu/device/PtxBodies.h"

#include <fmt/format.h>

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

/// Waits for copies are defined for up to this many groups in flight, more than a product has stages (kMaxStages).
constexpr int kMaxGroups = 8;

Reg doIntrinsic(Builder& b, llvm::Intrinsic::ID id) {
  b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Reg>());
  return nullptr;
}

auto special(llvm::Intrinsic::ID id) {
  return [id](Builder& b, llvm::Function*) -> Reg {
    return b.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Reg>());
  };
}

/// The name of an operand type in multiply instructions.
std::string_view typeName(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return "s8";
    case DType::i32:
      return "s32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f8e4m3fn:
      return "e4m3";
    case DType::f8e5m2:
      return "e5m2";
    default:
      return "tf32";
  }
}
std::string_view sumName(DType operands) { return operands == DType::i8 ? "s32" : "f32"; }
int64_t depthOf(DType dtype) { return 32 / storage_bytes(dtype); }

/// Inline assembly that updates `count` values in memory at `sums`: each is loaded, tied to a result, and stored. In
/// the text, operand i is value i; `arguments` follow, with these constraints.
void tiedAssembly(Builder& b, Reg sums, unsigned count, DType sum, const std::string& text,
                  const std::string& constraints, std::vector<Reg> arguments) {
  llvm::Type* type = cpu::storageType(b.getContext(), sum);
  const auto at = [&](unsigned i) { return b.CreateConstInBoundsGEP1_64(type, sums, i); };
  const char* output = sum == DType::f32 ? "=f" : "=r";
  std::vector<llvm::Type*> types;
  for (Reg a : arguments) types.push_back(a->getType());
  std::string outputs, tied;
  for (unsigned i = 0; i < count; ++i) {
    arguments.push_back(b.CreateLoad(type, at(i)));
    types.push_back(type);
    outputs += fmt::format("{}{}", i ? "," : "", output);
    tied += fmt::format(",{}", i);
  }
  auto* results = llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(count, type));
  auto* made = b.CreateCall(
      llvm::InlineAsm::get(llvm::FunctionType::get(results, types, false), text, outputs + constraints + tied, true),
      arguments);
  made->setConvergent();
  for (unsigned i = 0; i < count; ++i) b.CreateStore(b.CreateExtractValue(made, i), at(i));
}

Reg mma(Builder& b, llvm::Function* f, DType dtype) {
  std::vector<Reg> words;
  for (unsigned i = 1; i < 7; ++i) words.push_back(f->getArg(i));
  const std::string text = fmt::format(
      "mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{} {{$0, $1, $2, $3}}, {{$4, $5, $6, $7}}, {{$8, $9}}, "
      "{{$0, $1, $2, $3}};",
      depthOf(dtype), sumName(dtype), typeName(dtype), typeName(dtype), sumName(dtype));
  tiedAssembly(b, f->getArg(0), 4, sumOf(dtype), text, ",r,r,r,r,r,r", std::move(words));
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

/// The matrix descriptor of the matrix at an address (PTX ISA, "Matrix Descriptor Format"): the address, the bytes from
/// 64 elements along a row to the next 64 (if K is not the inner dimension), the bytes from 8 rows to the next 8, each
/// without its low four bits, and the swizzling mode.
Reg descriptor(Builder& b, Reg base, Reg offset, int stride) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kEightRows = 8 * 128;
  constexpr unsigned kAddressBits = 18, kStrideAt = 16, kRowsAt = 32;
  Reg address = b.CreatePtrToInt(b.CreateAddrSpaceCast(base, b.getPtrTy(kSharedSpace)), b.getInt32Ty());
  Reg low = b.CreateLShr(b.CreateAnd(address, b.getInt32((1u << kAddressBits) - 1)), 4);
  // One addition of a constant, which does not carry into the next field.
  low = b.CreateAdd(low,
                    b.CreateAdd(b.CreateLShr(offset, 4), b.getInt32(static_cast<uint32_t>(stride >> 4) << kStrideAt)));
  return b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.getInt64(kSwizzle128 | (kEightRows >> 4) << kRowsAt));
}

/// Inline assembly, since LLVM has no intrinsic for wgmma.mma_async.
Reg groupMma(Builder& b, llvm::Function* f, const GroupProduct& p) {
  const auto count = static_cast<unsigned>(p.columns / 2);
  std::string sums;
  for (unsigned i = 0; i < count; ++i) sums += fmt::format("{}${}", i ? ", " : "", i);
  // Only products of floats have immediates for negation, and only 16-bit operands in memory those for transposition.
  const std::string_view more = p.lhsInRegisters              ? (p.rhsDepthInner ? ", 1, 1, 0" : ", 1, 1, 1")
                                : p.dtype == DType::i8        ? ""
                                : storage_bytes(p.dtype) != 2 ? ", 1, 1"
                                : p.lhsDepthInner             ? (p.rhsDepthInner ? ", 1, 1, 0, 0" : ", 1, 1, 0, 1")
                                : p.rhsDepthInner             ? ", 1, 1, 1, 0"
                                                              : ", 1, 1, 1, 1";
  const unsigned words = p.lhsInRegisters ? 4 : 1;
  const std::string left = p.lhsInRegisters
                               ? fmt::format("{{${}, ${}, ${}, ${}}}", count, count + 1, count + 2, count + 3)
                               : fmt::format("${}", count);
  const std::string text = fmt::format(
      "{{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, ${}, 0;\n\twgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} "
      "{{{}}}, {}, ${}, adds{};\n\t}}",
      count + words + 1, p.columns, depthOf(p.dtype), sumName(p.dtype), typeName(p.dtype), typeName(p.dtype), sums,
      left, count + words, more);
  std::vector<Reg> operands;
  unsigned next = 1;
  const auto inMemory = [&](int stride) {
    next += 2;
    return descriptor(b, f->getArg(next - 2), f->getArg(next - 1), stride);
  };
  if (p.lhsInRegisters)
    while (next <= words) operands.push_back(f->getArg(next++));
  else
    operands.push_back(inMemory(p.lhsStride));
  operands.push_back(inMemory(p.rhsStride));
  operands.push_back(f->getArg(next));
  tiedAssembly(b, f->getArg(0), count, sumOf(p.dtype), text, p.lhsInRegisters ? ",r,r,r,r,l,r" : ",l,l,r",
               std::move(operands));
  return nullptr;
}

/// The empty assembly keeps LLVM from reading the sums before the wait, on which they do not depend otherwise.
Reg groupWait(Builder& b, llvm::Function* f, const GroupWait& w) {
  b.CreateIntrinsic(llvm::Intrinsic::nvvm_wgmma_wait_group_sync_aligned, {},
                    {b.getInt64(static_cast<uint64_t>(w.groups))});
  if (w.sums > 0) tiedAssembly(b, f->getArg(0), static_cast<unsigned>(w.sums), w.sum, "", "", {});
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

std::vector<std::string> declaredAs(const llvm::Module& module, llvm::StringRef prefix) {
  std::vector<std::string> names;
  for (const llvm::Function& f : module)
    if (f.isDeclaration() && f.getName().starts_with(prefix)) names.push_back(f.getName().str());
  return names;
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
  definePtxBody(module, kQuadSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    constexpr uint32_t kAllLanes = 0xffffffff, kQuads = 0x1c1f;  // lanes of four: mask of their number, last lane
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                             {b.getInt32(kAllLanes), f->getArg(0), f->getArg(1), b.getInt32(kQuads)});
  });
  definePtxBody(module, kSameSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    constexpr uint32_t kAllLanes = 0xffffffff, kWholeWarp = 0x1f, kFirst = 0;
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                             {b.getInt32(kAllLanes), f->getArg(0), b.getInt32(kFirst), b.getInt32(kWholeWarp)});
  });
  for (const DType dtype : {DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2, DType::i8, DType::f32})
    definePtxBody(module, mmaName(dtype), [dtype](Builder& b, llvm::Function* f) { return mma(b, f, dtype); });
  for (const auto& [dtype, id] : {std::pair{DType::bf16, llvm::Intrinsic::nvvm_ff2bf16x2_rn},
                                  std::pair{DType::f16, llvm::Intrinsic::nvvm_ff2f16x2_rn}})
    definePtxBody(module, fmt::format("{}.{}", kPackSymbol, name(dtype)), [id](Builder& b, llvm::Function* f) -> Reg {
      return b.CreateBitCast(b.CreateIntrinsic(id, {}, {f->getArg(1), f->getArg(0)}), b.getInt32Ty());
    });
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
  for (int groups = 0; groups < kMaxGroups; ++groups)
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
  for (const std::string& name : declaredAs(module, kGroupWaitSymbol))
    definePtxBody(module, name,
                  [parts = groupWaitNamed(name)](Builder& b, llvm::Function* f) { return groupWait(b, f, parts); });
  for (const std::string& name : declaredAs(module, kGroupMmaSymbol))
    definePtxBody(module, name, [product = groupProductNamed(name)](Builder& b, llvm::Function* f) {
      return groupMma(b, f, product);
    });
  definePtxBody(module, kSharedSymbol, [&](Builder& b, llvm::Function*) -> Reg {
    auto* memory = new llvm::GlobalVariable(module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                            llvm::GlobalValue::ExternalLinkage, nullptr, "smalti_shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(1024));  // the period of the 128-byte swizzle
    return b.CreateAddrSpaceCast(memory, b.getPtrTy());
  });
  // The caller cannot stop a kernel that runs on a GPU; the iteration limit ends it.
  definePtxBody(module, kStoppedSymbol, [](Builder& b, llvm::Function*) -> Reg { return b.getInt32(0); });
}

}  // namespace smalti::gpu
