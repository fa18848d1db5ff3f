// The bodies, on a GPU, of the primitives that copy boxes of arrays and count their bytes. They are inline assembly,
// since LLVM's intrinsics for them differ from version to version.
#include "gpu/device/PtxBodies.h"

#include <fmt/format.h>

#include "llvm/IR/InlineAsm.h"

namespace smalti::gpu {
namespace {

Reg assembly(Builder& b, llvm::Type* result, const std::string& text, const std::string& constraints,
             llvm::ArrayRef<Reg> arguments) {
  std::vector<llvm::Type*> types;
  for (Reg a : arguments) types.push_back(a->getType());
  auto* function = llvm::FunctionType::get(result, types, false);
  auto* call = b.CreateCall(
      llvm::InlineAsm::get(function, text, constraints + (constraints.empty() ? "" : ",") + "~{memory}", true),
      arguments);
  call->setConvergent();
  return call;
}
Reg inShared(Builder& b, Reg pointer) {
  return b.CreatePtrToInt(b.CreateAddrSpaceCast(pointer, b.getPtrTy(kSharedSpace)), b.getInt32Ty());
}

}  // namespace

void definePtxBulkBodies(llvm::Module& module) {
  definePtxBody(module, kNamedBarrierSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    return assembly(b, b.getVoidTy(), "bar.sync 1, $0;", "r", {f->getArg(1)}), nullptr;
  });
  definePtxBody(module, kWarpBarrierSymbol, [](Builder& b, llvm::Function*) -> Reg {
    return assembly(b, b.getVoidTy(), "bar.warp.sync 0xffffffff;", "", {}), nullptr;
  });
  for (const std::string& name : declaredAs(module, kRegisterLimitSymbol))
    definePtxBody(module, name, [change = registerLimitNamed(name)](Builder& b, llvm::Function*) -> Reg {
      const std::string text =
          fmt::format("setmaxnreg.{}.sync.aligned.u32 {};", change.raises ? "inc" : "dec", change.count);
      return assembly(b, b.getVoidTy(), text, "", {}), nullptr;
    });
  definePtxBody(module, kOpaqueCopySymbol, [](Builder& b, llvm::Function* f) -> Reg {
    return assembly(b, b.getInt32Ty(), "mov.b32 $0, $1;", "=r,r", {f->getArg(0)});
  });
  definePtxBody(module, kMbarrierInitSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    return assembly(b, b.getVoidTy(), "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
                    {inShared(b, f->getArg(0)), f->getArg(1)}),
           nullptr;
  });
  definePtxBody(module, kMbarrierExpectSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    return assembly(b, b.getVoidTy(), "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r",
                    {inShared(b, f->getArg(0)), f->getArg(1)}),
           nullptr;
  });
  definePtxBody(module, kMbarrierArriveSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    return assembly(
               b, b.getVoidTy(),
               "{\n\t.reg .pred first;\n\t.reg .b32 lane;\n\tbar.warp.sync 0xffffffff;\n\tmov.u32 lane, %laneid;\n\t"
               "setp.eq.u32 first, lane, 0;\n\t@first mbarrier.arrive.shared::cta.b64 _, [$0];\n\t}",
               "r", {inShared(b, f->getArg(0))}),
           nullptr;
  });
  definePtxBody(module, kMbarrierTestSymbol, [](Builder& b, llvm::Function* f) -> Reg {
    return assembly(b, b.getInt32Ty(),
                    "{\n\t.reg .pred ended;\n\tmbarrier.try_wait.parity.shared::cta.b64 ended, [$1], $2;\n\t"
                    "selp.u32 $0, 1, 0, ended;\n\t}",
                    "=r,r,r", {inShared(b, f->getArg(0)), f->getArg(1)});
  });
  for (size_t rank = 1; rank <= TensorMap::kMaxDimensions; ++rank)
    definePtxBody(module, copyBoxName(rank), [rank](Builder& b, llvm::Function* f) -> Reg {
      std::vector<Reg> arguments{inShared(b, f->getArg(0)), b.CreatePtrToInt(f->getArg(1), b.getInt64Ty()),
                                 inShared(b, f->getArg(2))};
      std::string at, constraints = "r,l,r";
      for (unsigned d = 0; d < rank; ++d) {
        arguments.push_back(f->getArg(3 + d));
        at += fmt::format("{}${}", d ? ", " : "", 3 + d);
        constraints += ",r";
      }
      const std::string text = fmt::format(
          "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {{{}}}], [$2];",
          rank, at);
      return assembly(b, b.getVoidTy(), text, constraints, arguments), nullptr;
    });
}

}  // namespace smalti::gpu
