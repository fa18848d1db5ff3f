#include "cpu/inspect/Inspect.h"

#include <chrono>

#include "cpu/CompileSteps.h"
#include "cpu/jit/Optimised.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace smalti::cpu {
namespace {

/// Bytes of the sections that are loaded.
int64_t loadedBytes(const std::string& object) {
  const auto buffer = llvm::MemoryBuffer::getMemBuffer(object, "kernel", false);
  auto file = llvm::object::ObjectFile::createObjectFile(buffer->getMemBufferRef());
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  int64_t bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (section.isText() || section.isData()) bytes += static_cast<int64_t>(section.getSize());
  return bytes;
}

}  // namespace

Result<Inspection> inspectNative(const KernelPackage& package, const NativeOptions& options) {
  Inspection shown;
  if (auto why = unsuitableProcessor(options.processor)) {
    shown.reason = std::move(why->message);
    return shown;
  }
  // One lowering for each of the stages: a module is consumed by what is made from it.
  const auto lower = [&](NativeReport& report) -> tl::expected<ModuleBuilder, Unsupported> {
    FallbackOps interpreted;
    ModuleBuilder built(options.processor, package.name);
    const auto begin = std::chrono::steady_clock::now();
    auto lowered = planAndLower(package, options, *built.module, report, interpreted);
    if (!lowered) return tl::unexpected(lowered.error());
    report.compile.emitMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return built;
  };
  NativeReport ignored;
  auto first = lower(shown.report), second = lower(ignored), third = lower(ignored);
  for (const auto* lowered : {&first, &second, &third})
    if (!*lowered) {
      shown.reason = lowered->error().text();
      return shown;
    }
  llvm::raw_string_ostream stream(shown.llvm);
  first->module->print(stream, nullptr);
  auto object = generateObject(std::move(*first), options.processor, &shown.report.compile);
  if (!object) return fail(std::move(object.error()));
  auto optimised = generateOptimised(std::move(*second), options.processor);
  if (!optimised) return fail(std::move(optimised.error()));
  auto assembly = generateAssembly(std::move(*third), options.processor);
  if (!assembly) return fail(std::move(assembly.error()));
  shown.codeBytes = loadedBytes(*object);
  shown.optimised = std::move(*optimised);
  shown.assembly = std::move(*assembly);
  return shown;
}

}  // namespace smalti::cpu
