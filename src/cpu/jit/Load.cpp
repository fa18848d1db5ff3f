// Loads object code into this process with LLVM's JITLink alone: one object, one set of symbols, one mapping.
#include <chrono>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "cpu/jit/Guard.h"
#include "cpu/jit/Jit.h"
#include "cpu/runtime/CopyBytes.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {
namespace {

namespace jitlink = llvm::jitlink;
using llvm::orc::ExecutorAddr;
using Addresses = std::unordered_map<std::string, ExecutorAddr>;

jitlink::JITLinkMemoryManager& memoryManager() {
  static auto& manager =
      *new jitlink::InProcessMemoryManager(llvm::sys::Process::getPageSizeEstimate());  // outlives every kernel
  return manager;
}

class Loaded : public LoadedCode {
 public:
  Loaded(Addresses symbols, jitlink::JITLinkMemoryManager::FinalizedAlloc memory)
      : symbols_(std::move(symbols)), memory_(std::move(memory)) {}
  ~Loaded() override { llvm::consumeError(memoryManager().deallocate(std::move(memory_))); }
  void* symbol(std::string_view name) const override {
    const auto found = symbols_.find(std::string(name));
    return found == symbols_.end() ? nullptr : found->second.toPtr<void*>();
  }

 private:
  Addresses symbols_;
  jitlink::JITLinkMemoryManager::FinalizedAlloc memory_;
};

/// The outcome of a link; JITLink reports it through the context, before `link` returns: the memory manager is in
/// process.
struct Outcome {
  Addresses defined;
  std::optional<jitlink::JITLinkMemoryManager::FinalizedAlloc> memory;
  llvm::Error error = llvm::Error::success();
  ~Outcome() { llvm::consumeError(std::move(error)); }
};

class Context : public jitlink::JITLinkContext {
 public:
  Context(const Addresses& known, Outcome& outcome) : JITLinkContext(nullptr), known_(known), outcome_(outcome) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return memoryManager(); }
  void notifyFailed(llvm::Error error) override {
    outcome_.error = llvm::joinErrors(std::move(outcome_.error), std::move(error));
  }
  void lookup(const LookupMap& wanted, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> resume) override {
    jitlink::AsyncLookupResult found;
    for (const auto& [name, flags] : wanted) {
      const auto at = known_.find((*name).str());
      if (at != known_.end())
        found[name] = {at->second, llvm::JITSymbolFlags::Exported};
      else if (flags == jitlink::SymbolLookupFlags::RequiredSymbol)
        return resume->run(llvm::createStringError("it calls %s, which is not allowed", (*name).str().c_str()));
      else
        found[name] = {};
    }
    resume->run(std::move(found));
  }
  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (jitlink::Symbol* symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getScope() == jitlink::Scope::Default)
        outcome_.defined[(*symbol->getName()).str()] = symbol->getAddress();
    return llvm::Error::success();
  }
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc memory) override {
    outcome_.memory = std::move(memory);
  }

 private:
  const Addresses& known_;
  Outcome& outcome_;
};

llvm::Expected<std::shared_ptr<const LoadedCode>> load(std::string_view object,
                                                       std::span<const RuntimeSymbol> symbols) {
  Addresses known{{"memcpy", ExecutorAddr::fromPtr(&copyBytes)},
                  {"memset", ExecutorAddr::fromPtr(&std::memset)},
                  {"memmove", ExecutorAddr::fromPtr(&moveBytes)}};
  for (const RuntimeSymbol& s : symbols) known[std::string(s.name)] = ExecutorAddr::fromPtr(s.address);
  const auto buffer = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(object.data(), object.size()), "kernel",
                                                       /*RequiresNullTerminator=*/false);
  // The pool of symbol names lives as long as the process, since a destroyed graph does not release all of them, and a
  // pool that ends before them fails an assertion of LLVM's headers.
  static const auto& names = *new auto(std::make_shared<llvm::orc::SymbolStringPool>());
  auto graph = jitlink::createLinkGraphFromObject(buffer->getMemBufferRef(), names);
  if (!graph) return graph.takeError();
  const llvm::Triple host(hostProcessor().triple);
  if ((*graph)->getTargetTriple().getArch() != host.getArch())
    return llvm::createStringError("it is for %s", (*graph)->getTargetTriple().str().c_str());
  Outcome outcome;
  jitlink::link(std::move(*graph), std::make_unique<Context>(known, outcome));
  if (outcome.error) return std::move(outcome.error);
  if (!outcome.memory) return llvm::createStringError("it has no code");
  return std::make_shared<Loaded>(std::move(outcome.defined), std::move(*outcome.memory));
}

}  // namespace

Result<std::shared_ptr<const LoadedCode>> loadObject(std::string_view object, std::span<const RuntimeSymbol> symbols,
                                                     CompileReport* report) {
  const auto begin = std::chrono::steady_clock::now();
  auto loaded = load(object, symbols);
  if (!loaded)
    return fail({.code = "SM9001",
                 .message = fmt::format("generated code cannot be loaded: {}", llvm::toString(loaded.takeError())),
                 .place = {},
                 .help = "this is a bug in Smalti, not in the kernel: please report it with the module"});
  if (report)
    report->linkMs += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return std::move(*loaded);
}

}  // namespace smalti::cpu
