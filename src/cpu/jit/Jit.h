// From an LLVM module to code in this process or in an object file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/Processor.h"
#include "cpu/Report.h"
#include "smalti/diagnostic.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace smalti::cpu {

/// A module under construction and its context (one per compilation: contexts are not shared between threads).
struct ModuleBuilder {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  explicit ModuleBuilder(const Processor&, std::string_view name);
  ~ModuleBuilder();
  ModuleBuilder(ModuleBuilder&&) noexcept;
};

/// full: the lean pipeline (sroa, early-cse, instcombine, licm, simplifycfg), scheduling and register allocation.
/// least: sroa and early-cse, and code as for debugging, in a tenth of the time for functions of 10^5 instructions,
/// where the others take more than linear time.
enum class Effort : uint8_t { full, least };

/// Optimises and generates an object file's bytes. Every function gets the processor's cpu and features. The module is
/// consumed. SM9001 when it does not verify.
Result<std::string> generateObject(ModuleBuilder&&, const Processor&, CompileReport* report = nullptr,
                                   Effort = Effort::full);
/// The assembly text of the same code.
Result<std::string> generateAssembly(ModuleBuilder&&, const Processor&);

/// Machine code in this process. Thread-safe; lives as long as this.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  /// Address of a function; null if there is none of that name.
  virtual void* symbol(std::string_view name) const = 0;
  template <class Function>
  Function* function(std::string_view name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
};

/// A function of this process that generated code may call.
struct RuntimeSymbol {
  std::string_view name;
  void* address;
};
/// Loads an object file's bytes; only `symbols` (and memcpy, memset, memmove) can be called from it. SM9001.
Result<std::shared_ptr<const LoadedCode>> loadObject(std::string_view object, std::span<const RuntimeSymbol> symbols,
                                                     CompileReport* report = nullptr);

}  // namespace smalti::cpu
