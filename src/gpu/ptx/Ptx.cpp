#include "gpu/ptx/Ptx.h"

#include <fmt/format.h>

#include "cpu/jit/Guard.h"
#include "cpu/jit/Jit.h"
#include "cpu/jit/Passes.h"
#include "cpu/jit/Targets.h"
#include "gpu/NoDeviceCode.h"
#include "gpu/ptx/Selectable.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace smalti::gpu {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
/// Address space of arrays, and of constants, which may have any size.
constexpr unsigned kGlobalSpace = 1;

Diagnostic internal(std::string message) {
  return {.code = "SM9001",
          .message = std::move(message),
          .place = {},
          .help = "this is a bug in Smalti, not in the kernel: please report it with the module"};
}

/// The passes of cpu/jit after the primitives have been inlined, then passes that infer address spaces and share what
/// several elements have in common.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  cpu::Passes(machine).run(
      module,
      "always-inline,globaldce,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,infer-address-spaces,"
      "loop-mssa(licm),simplifycfg,gvn,instcombine<no-verify-fixpoint>,infer-alignment,load-store-vectorizer,"
      "instcombine<no-verify-fixpoint>)");
}

/// The input and output of one run of LLVM: leaked after a fatal error, as in cpu/jit/Generate.cpp.
struct Generation {
  cpu::ModuleBuilder built;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string errors{}, llvm{};
  llvm::SmallString<0> ptx{};
};

void generateInto(Generation& g) {
  optimise(*g.built.module, *g.machine);
  llvm::raw_string_ostream text(g.llvm);
  g.built.module->print(text, nullptr);
  llvm::raw_svector_ostream stream(g.ptx);
  llvm::legacy::PassManager passes;
  if (g.machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    g.errors = "LLVM cannot write PTX";
    return;
  }
  passes.run(*g.built.module);
}

}  // namespace

Result<PtxKernel> compileToPtx(const KernelPackage& package, const Architecture& architecture, eval::Poison poison,
                               bool checkBlocks) {
  const llvm::Target* target = cpu::findLlvmTarget(kTriple);
  if (!target) return fail(internal("LLVM has no code generator for NVIDIA GPUs"));
  cpu::Processor processor;
  processor.triple = kTriple;
  processor.name = architecture.name;
  auto g = std::make_unique<Generation>(Generation{
      cpu::ModuleBuilder(processor, package.name),
      std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
          llvm::Triple(kTriple), architecture.name, architecture.ptx, llvm::TargetOptions(), llvm::Reloc::PIC_))});
  llvm::Module& module = *g->built.module;
  module.setDataLayout(g->machine->createDataLayout());
  auto lowered = lowerKernel(package, module,
                             {.architecture = architecture,
                              .poison = poison,
                              .checkBlocks = checkBlocks,
                              .globalSpace = kGlobalSpace,
                              .mapsByValue = true});
  if (!lowered) return fail(std::move(lowered.error()));
  definePtxBodies(module);
  llvm::Function* kernel = module.getFunction(kKernelSymbol);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  // The number of threads per block, from which ptxas derives the limit of registers per thread.
  kernel->addFnAttr("nvvm.maxntid", std::to_string(lowered->allThreads()));
  // Otherwise ptxas may spill registers to make room for more blocks.
  if (!kernel->hasFnAttribute(kMinBlocks)) kernel->addFnAttr(kMinBlocks, "1");
  std::string problem;
  llvm::raw_string_ostream problemStream(problem);
  if (llvm::verifyModule(module, &problemStream))
    return fail(internal(fmt::format("the generated code is malformed: {}", problem)));
  if (auto why = notSelectable(module, architecture)) return fail(noDeviceCode(std::move(*why)));
  cpu::collectErrors(module.getContext(), g->errors);
  if (const auto fatal = cpu::guardedFromFatalErrors([&] { generateInto(*g); })) {
    static_cast<void>(g.release());
    return fail(internal(fmt::format("LLVM gave up: {}", *fatal)));
  }
  if (!g->errors.empty()) return fail(internal(fmt::format("LLVM refused: {}", g->errors)));
  return PtxKernel{std::move(*lowered), std::move(g->llvm), std::string(g->ptx.data(), g->ptx.size())};
}

}  // namespace smalti::gpu
