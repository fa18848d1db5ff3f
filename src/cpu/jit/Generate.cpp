// Optimisation and code generation.
#include <chrono>

#include <fmt/format.h>

#include "base/process/ThreadLasting.h"
#include "cpu/emit/ops/ReadOutside.h"
#include "cpu/jit/Guard.h"
#include "cpu/jit/Jit.h"
#include "cpu/jit/LeanCodegen.h"
#include "cpu/jit/Optimised.h"
#include "cpu/jit/Passes.h"
#include "cpu/jit/SplitFunctions.h"
#include "cpu/jit/Targets.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace smalti::cpu {
namespace {

Diagnostic internal(std::string message) {
  return {.code = "SM9001",
          .message = std::move(message),
          .place = {},
          .help = "this is a bug in Smalti, not in the kernel: please report it with the module"};
}

double msSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const Processor& processor, llvm::CodeGenOptLevel level) {
  const llvm::Target* target = findLlvmTarget(processor.triple);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  options.MCOptions.AsmVerbose = true;  // assembly says which loads and stores are spills
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(llvm::Triple(processor.triple), processor.name, processor.features, options,
                                  llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
}

/// One per thread and processor, since making one takes longer than compiling a small kernel.
struct ThreadsTargetMachine {
  Processor of;
  std::unique_ptr<llvm::TargetMachine> machine;
};
ThreadsTargetMachine& threadsTargetMachine() {
  thread_local constinit ThreadLasting<ThreadsTargetMachine> shared;
  return shared.get();
}

llvm::TargetMachine* sharedTargetMachine(const Processor& processor) {
  ThreadsTargetMachine& shared = threadsTargetMachine();
  if (!shared.machine || !(shared.of == processor)) {
    // Less: without post-RA scheduling. The code is as fast, and code generation takes a tenth less time.
    shared.machine = targetMachine(processor, llvm::CodeGenOptLevel::Less);
    shared.of = processor;
  }
  return shared.machine.get();
}

/// Abandons the thread's target machine, which a fatal error may have left inconsistent.
void forgetTargetMachine() { threadsTargetMachine().machine.release(); }

void setAttributes(llvm::Module& module, const Processor& processor) {
  const std::string width = std::to_string(8 * processor.vectorBytes);
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || f.hasFnAttribute("target-cpu")) continue;  // some are limited to baseline instructions
    f.addFnAttr("target-cpu", processor.name);
    f.addFnAttr("target-features", processor.features);
    f.addFnAttr("prefer-vector-width", width);
    f.addFnAttr("min-legal-vector-width", width);
    f.addFnAttr("warn-stack-size", "0");  // tells the size of the frame
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// sroa, early-cse, instcombine, licm: all that code emitted in its final shape needs; the standard O3 pipeline takes
/// ten times as long and gives the same speed.
void optimise(llvm::Module& module, llvm::TargetMachine& machine, Effort effort) {
  Passes passes(machine);
  if (effort == Effort::least) return passes.run(module, "function(sroa,early-cse<memssa>)");
  passes.run(module, "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>)");
  if (inlineInsideLoads(module)) {
    passes.forgetAnalyses();
    passes.run(module, "function(simplifycfg)");
  }
  passes.run(module, "function(loop-mssa(licm),simplifycfg)");
}

/// The input and output of one run of LLVM. On the heap: after a fatal error its objects may be inconsistent, so that
/// it is left alone (leaked) rather than destroyed.
struct Generation {
  ModuleBuilder built;
  llvm::TargetMachine* machine;
  Effort effort;
  std::unique_ptr<llvm::TargetMachine> withLeastEffort;  ///< generates the code instead; null: `machine` does
  std::optional<llvm::CodeGenFileType> type;             ///< absent: LLVM IR as text
  std::string errors{};
  llvm::SmallString<0> bytes{};
  double optimiseMs = 0, codegenMs = 0;
  int64_t frameBytes = 0;
};

/// Fills `bytes`, or `errors`.
void generateInto(Generation& g) {
  auto begin = std::chrono::steady_clock::now();
  optimise(*g.built.module, *g.machine, g.effort);
  splitLargeFunctions(*g.built.module);
  g.optimiseMs = msSince(begin);
  begin = std::chrono::steady_clock::now();
  llvm::raw_svector_ostream stream(g.bytes);
  if (!g.type) return g.built.module->print(stream, nullptr);
  g.built.module->getContext().setOptPassGate(leanGate());
  LeanPassManager passes;
  llvm::TargetMachine& machine = g.withLeastEffort ? *g.withLeastEffort : *g.machine;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, *g.type)) {
    g.errors = "LLVM cannot write this kind of file";
    return;
  }
  passes.run(*g.built.module);
  g.codegenMs = msSince(begin);
}

Result<std::string> generate(ModuleBuilder&& built, const Processor& processor,
                             std::optional<llvm::CodeGenFileType> type, CompileReport* report,
                             Effort effort = Effort::full) {
  llvm::TargetMachine* machine = sharedTargetMachine(processor);
  if (!machine) return fail(internal(fmt::format("LLVM has no code generator for {}", processor.triple)));
  auto generation = std::make_unique<Generation>(Generation{std::move(built), machine, effort, nullptr, type});
  if (effort == Effort::least) generation->withLeastEffort = targetMachine(processor, llvm::CodeGenOptLevel::None);
  llvm::Module& module = *generation->built.module;
  setAttributes(module, processor);
  module.setDataLayout(machine->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream problemStream(problem);
  if (llvm::verifyModule(module, &problemStream))
    return fail(internal(fmt::format("the generated code is malformed: {}", problem)));
  collectErrors(module.getContext(), generation->errors, &generation->frameBytes);
  if (const auto fatal = guardedFromFatalErrors([&] { generateInto(*generation); })) {
    generation.release();
    forgetTargetMachine();
    return fail(internal(fmt::format("LLVM gave up: {}", *fatal)));
  }
  if (!generation->errors.empty()) return fail(internal(fmt::format("LLVM refused: {}", generation->errors)));
  if (report) {
    report->optimiseMs += generation->optimiseMs;
    report->codegenMs += generation->codegenMs;
    report->frameBytes += generation->frameBytes;
    report->objectBytes = static_cast<int64_t>(generation->bytes.size());
  }
  return std::string(generation->bytes.data(), generation->bytes.size());
}

}  // namespace

ModuleBuilder::ModuleBuilder(const Processor& processor, std::string_view name)
    : context(std::make_unique<llvm::LLVMContext>()),
      module(std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), *context)) {
  module->setTargetTriple(llvm::Triple(processor.triple));
}
ModuleBuilder::~ModuleBuilder() = default;
ModuleBuilder::ModuleBuilder(ModuleBuilder&&) noexcept = default;

Result<std::string> generateObject(ModuleBuilder&& built, const Processor& processor, CompileReport* report,
                                   Effort effort) {
  return generate(std::move(built), processor, llvm::CodeGenFileType::ObjectFile, report, effort);
}

Result<std::string> generateAssembly(ModuleBuilder&& built, const Processor& processor) {
  return generate(std::move(built), processor, llvm::CodeGenFileType::AssemblyFile, nullptr);
}

Result<std::string> generateOptimised(ModuleBuilder&& built, const Processor& processor) {
  return generate(std::move(built), processor, std::nullopt, nullptr);
}

}  // namespace smalti::cpu
