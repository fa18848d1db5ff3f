// Object code into this process.
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "cpu/jit/Jit.h"
#include "cpu/jit/Targets.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

namespace smalti::cpu {
namespace {

Diagnostic loadFailure(llvm::Error error) {
  return {.code = "SM9001",
          .message = fmt::format("generated code cannot be loaded: {}", llvm::toString(std::move(error))),
          .place = {},
          .help = "this is a mistake of smalti, not of the kernel: please report it with the module"};
}

/// One linker for the process; every object gets a library of its own in it, removed with the LoadedCode.
llvm::Expected<llvm::orc::LLJIT*> linker() {
  static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>& jit = *[] {
    findLlvmTarget(hostProcessor().triple);
    return new llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>(llvm::orc::LLJITBuilder().create());
  }();
  if (jit) return jit->get();
  return llvm::createStringError("LLVM's linker does not start on this machine");
}

class Loaded : public LoadedCode {
 public:
  Loaded(llvm::orc::LLJIT& jit, llvm::orc::JITDylib& library) : jit_(jit), library_(library) {}
  ~Loaded() override { llvm::consumeError(jit_.getExecutionSession().removeJITDylib(library_)); }
  void* symbol(std::string_view name) const override {
    auto found = jit_.lookup(library_, llvm::StringRef(name.data(), name.size()));
    if (!found) {
      llvm::consumeError(found.takeError());
      return nullptr;
    }
    return found->toPtr<void*>();
  }

 private:
  llvm::orc::LLJIT& jit_;
  llvm::orc::JITDylib& library_;
};

llvm::Expected<std::shared_ptr<const LoadedCode>> load(std::string_view object,
                                                       std::span<const RuntimeSymbol> symbols) {
  auto jit = linker();
  if (!jit) return jit.takeError();
  llvm::orc::LLJIT& j = **jit;
  static std::atomic<uint64_t> serial{0};
  auto library = j.getExecutionSession().createJITDylib(fmt::format("kernel {}", ++serial));
  if (!library) return library.takeError();
  auto loaded = std::make_shared<Loaded>(j, *library);

  llvm::orc::SymbolMap map;
  const auto add = [&](std::string_view name, void* address) {
    map[j.mangleAndIntern(llvm::StringRef(name.data(), name.size()))] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                                                         llvm::JITSymbolFlags::Exported};
  };
  add("memcpy", reinterpret_cast<void*>(&std::memcpy));
  add("memset", reinterpret_cast<void*>(&std::memset));
  add("memmove", reinterpret_cast<void*>(&std::memmove));
  for (const RuntimeSymbol& s : symbols) add(s.name, s.address);
  if (auto error = library->define(llvm::orc::absoluteSymbols(std::move(map)))) return error;
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()));
  if (auto error = j.addObjectFile(*library, std::move(buffer))) return error;
  return loaded;
}

}  // namespace

Result<std::shared_ptr<const LoadedCode>> loadObject(std::string_view object, std::span<const RuntimeSymbol> symbols,
                                                     CompileReport* report) {
  const auto begin = std::chrono::steady_clock::now();
  auto loaded = load(object, symbols);
  if (!loaded) return fail(loadFailure(loaded.takeError()));
  if (report)
    report->linkMs += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return std::move(*loaded);
}

}  // namespace smalti::cpu
