// Optimisation and code generation.
#include <chrono>

#include <fmt/format.h>

#include "cpu/jit/Jit.h"
#include "cpu/jit/Targets.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace smalti::cpu {
namespace {

Diagnostic internal(std::string message) {
  return {.code = "SM9001",
          .message = std::move(message),
          .place = {},
          .help = "this is a mistake of smalti, not of the kernel: please report it with the module"};
}

double msSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const Processor& processor) {
  const llvm::Target* target = findLlvmTarget(processor.triple);
  if (!target) return nullptr;
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(llvm::Triple(processor.triple), processor.name, processor.features, options,
                                  llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// One per thread and processor: making one takes longer than compiling a small kernel.
llvm::TargetMachine* sharedTargetMachine(const Processor& processor) {
  thread_local Processor of;
  thread_local std::unique_ptr<llvm::TargetMachine> machine;
  if (!machine || !(of == processor)) {
    machine = targetMachine(processor);
    of = processor;
  }
  return machine.get();
}

void setAttributes(llvm::Module& module, const Processor& processor) {
  const std::string width = std::to_string(8 * processor.vectorBytes);
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", processor.name);
    f.addFnAttr("target-features", processor.features);
    f.addFnAttr("prefer-vector-width", width);
    f.addFnAttr("min-legal-vector-width", width);
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// sroa, early-cse, instcombine, licm: all that code emitted in its final shape needs; the standard O3 pipeline takes
/// ten times as long and gives the same speed.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(
      passes, "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)"));
  passes.run(module, modules);
}

Result<std::string> generate(ModuleBuilder&& built, const Processor& processor, llvm::CodeGenFileType type,
                             CompileReport* report) {
  llvm::TargetMachine* machine = sharedTargetMachine(processor);
  if (!machine) return fail(internal(fmt::format("LLVM has no code generator for {}", processor.triple)));
  llvm::Module& module = *built.module;
  setAttributes(module, processor);
  module.setDataLayout(machine->createDataLayout());
  std::string problem;
  llvm::raw_string_ostream problemStream(problem);
  if (llvm::verifyModule(module, &problemStream))
    return fail(internal(fmt::format("the generated code is malformed: {}", problem)));
  auto begin = std::chrono::steady_clock::now();
  optimise(module, *machine);
  const double optimiseMs = msSince(begin);

  begin = std::chrono::steady_clock::now();
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return fail(internal("LLVM cannot write this kind of file"));
  passes.run(module);
  if (report) {
    report->optimiseMs += optimiseMs;
    report->codegenMs += msSince(begin);
    report->codeBytes = static_cast<int64_t>(bytes.size());
  }
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

ModuleBuilder::ModuleBuilder(const Processor& processor, std::string_view name)
    : context(std::make_unique<llvm::LLVMContext>()),
      module(std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), *context)) {
  module->setTargetTriple(llvm::Triple(processor.triple));
}
ModuleBuilder::~ModuleBuilder() = default;
ModuleBuilder::ModuleBuilder(ModuleBuilder&&) noexcept = default;

Result<std::string> generateObject(ModuleBuilder&& built, const Processor& processor, CompileReport* report) {
  return generate(std::move(built), processor, llvm::CodeGenFileType::ObjectFile, report);
}

Result<std::string> generateAssembly(ModuleBuilder&& built, const Processor& processor) {
  return generate(std::move(built), processor, llvm::CodeGenFileType::AssemblyFile, nullptr);
}

}  // namespace smalti::cpu
