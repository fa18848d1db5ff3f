#include "cpu/aot/Aot.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpu/CompileSteps.h"
#include "cpu/aot/CEntry.h"
#include "cpu/emit/ops/ReadOutside.h"
#include "cpu/jit/Jit.h"
#include "cpu/product/gemm/Tiles.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace smalti::cpu {
namespace {

Diagnostic notAheadOfTime(const KernelPackage& package, std::string why, SourcePlace place, std::string help) {
  return {.code = "SM7003",
          .message = fmt::format("kernel '{}' cannot be compiled ahead of time", package.name),
          .place = std::move(place),
          .need = "native code for the whole kernel",
          .have = std::move(why),
          .help = std::move(help)};
}

constexpr const char* kRunsOnTheMachine = "run it by smalti run, or from a program that links Smalti";

/// The dialect's names of ops, and for prints that of the language.
std::string wordsOf(const std::vector<std::string>& ops) {
  std::vector<std::string> words;
  for (const std::string& op : ops) words.push_back(op.starts_with("tpu.log") ? op + " (debug_print)" : op);
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Undefined symbols of the object that libc does not define.
std::vector<std::string> foreignSymbols(const std::string& object) {
  const std::set<std::string, std::less<>> kLibc{"memcpy", "memset", "memmove", "aligned_alloc", "free"};
  std::vector<std::string> foreign;
  const auto buffer = llvm::MemoryBuffer::getMemBuffer(object, "kernel", false);
  auto file = llvm::object::ObjectFile::createObjectFile(buffer->getMemBufferRef());
  if (!file) {
    llvm::consumeError(file.takeError());
    return {"an object file that LLVM reads"};
  }
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    const bool undefined = flags && (*flags & llvm::object::SymbolRef::SF_Undefined);
    if (name && (*file)->isMachO()) name->consume_front("_");  // the prefix of every C symbol
    if (undefined && name && !name->empty() && !kLibc.contains(std::string_view(*name)) &&
        *name != "_GLOBAL_OFFSET_TABLE_")
      foreign.push_back(name->str());
    if (!flags) llvm::consumeError(flags.takeError());
    if (!name) llvm::consumeError(name.takeError());
  }
  return foreign;
}

}  // namespace

Result<AheadOfTimeKernel> compileAheadOfTime(const KernelPackage& package, const Processor& of, const std::string& name,
                                             int64_t stepLimit) {
  const Processor processor = withoutTiles(of);  // a C program does not request them from the system
  if (auto why = unsuitableProcessor(processor)) return fail(std::move(*why));
  if (auto why = unsuitableArrays(package))
    return fail(notAheadOfTime(package, std::move(why->reason), {}, kRunsOnTheMachine));
  AheadOfTimeKernel made;
  FallbackOps interpreted;
  ModuleBuilder built(processor, package.name);
  auto planned = planKernel(package, processor, {.sharesAxes = false, .streams = false});
  auto lowered = planned ? lowerKernel(*planned, *built.module, processor, made.report, interpreted,
                                       {.countIterations = stepLimit > 0})
                         : tl::unexpected(std::move(planned.error()));
  if (!lowered) return fail(notAheadOfTime(package, lowered.error().reason, lowered.error().place, kRunsOnTheMachine));
  if (!interpreted.all().empty())
    return fail(notAheadOfTime(package, "ops that are not native yet: " + wordsOf(made.report.interpreted),
                               interpreted.all().front().place,
                               "avoid them, or call the kernel from a program that links Smalti"));
  endAtOutsideReads(*built.module);
  const CEntry entry{.name = name,
                     .operands = package.operands,
                     .results = package.results,
                     .aliases = package.aliases,
                     .workspaceBytes = lowered->arenaBytes,
                     .written = lowered->written,
                     .stepLimit = stepLimit,
                     .grid = package.signature.grid};
  addCEntry(*built.module, entry, processor);
  auto object = generateObject(std::move(built), processor, &made.report.compile);
  if (!object) return fail(std::move(object.error()));
  if (const auto foreign = foreignSymbols(*object); !foreign.empty())
    return fail(notAheadOfTime(package, fmt::format("calls of {}", fmt::join(foreign, ", ")), {},
                               "name a processor that has instructions for them: --target-cpu"));
  made.object = std::move(*object);
  made.header = cHeader(entry, package.name, processor);
  return made;
}

}  // namespace smalti::cpu
