// Helpers: files, modules from a body, Programs compared without regard to places and value numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "interop/Interop.h"
#include "mlir/IR/BuiltinOps.h"

namespace smalti::interop::testing {

inline std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string dataCase(const std::string& name) {
  return readFile(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/" + name + "/module.stablehlo.mlir");
}

inline std::string moduleOf(const std::string& signature, const std::string& body) {
  return "module @test {\n  func.func public @main" + signature + " {\n" + body + "\n  }\n}\n";
}

/// The diagnostic's whole text; empty when the module is read.
inline std::string errorOf(const std::string& text) {
  const auto program = importStableHlo(text, "t.mlir");
  return program ? "" : program.error().str();
}

inline bool sameAttribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<Array>(&a)) {
    const auto& y = std::get<Array>(b);
    return x->type() == y.type() && std::memcmp(x->data(), y.data(), x->bytes()) == 0;
  }
  if (const auto* x = std::get_if<std::vector<Sharding>>(&a)) {
    const auto& y = std::get<std::vector<Sharding>>(b);
    if (x->size() != y.size()) return false;
    for (size_t i = 0; i < y.size(); ++i)
      if ((*x)[i].mesh != y[i].mesh || (*x)[i].dims != y[i].dims) return false;
    return true;
  }
  const auto equal = [&]<class T>(const T* x) { return x && *x == std::get<T>(b); };
  return equal(std::get_if<bool>(&a)) || equal(std::get_if<int64_t>(&a)) || equal(std::get_if<double>(&a)) ||
         equal(std::get_if<std::string>(&a)) || equal(std::get_if<std::vector<int64_t>>(&a)) ||
         equal(std::get_if<std::vector<std::string>>(&a));
}

class SameFunction {
 public:
  SameFunction(const Function& a, const Function& b) : a_(a), b_(b) {}
  bool run() {
    return a_.name == b_.name && a_.isPrivate == b_.isPrivate && a_.resultTypes == b_.resultTypes &&
           values(a_.arguments, b_.arguments) && ops(a_.ops, b_.ops);
  }

 private:
  bool values(const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (numbers_.emplace(a[i], b[i]).first->second != b[i] || a_.values[a[i]] != b_.values[b[i]]) return false;
    return true;
  }
  bool ops(const std::vector<Op>& a, const std::vector<Op>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].name != b[i].name || a[i].kernel != b[i].kernel || a[i].callee != b[i].callee ||
          a[i].attributes.size() != b[i].attributes.size() || a[i].regions.size() != b[i].regions.size() ||
          !values(a[i].operands, b[i].operands) || !values(a[i].results, b[i].results))
        return false;
      for (const auto& [key, value] : a[i].attributes)
        if (!b[i].find(key) || !sameAttribute(value, *b[i].find(key))) return false;
      for (size_t r = 0; r < a[i].regions.size(); ++r)
        if (!values(a[i].regions[r].arguments, b[i].regions[r].arguments) ||
            !ops(a[i].regions[r].ops, b[i].regions[r].ops))
          return false;
    }
    return true;
  }

  const Function &a_, &b_;
  std::map<ValueId, ValueId> numbers_;
};

/// Generic text of the kernel, without the version that it was serialised at.
inline std::string printed(const KernelPackage& kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const mlir::OwningOpRef<mlir::ModuleOp> module(mlir::cast<mlir::ModuleOp>(kernel.module.get()->clone()));
  (*module)->removeAttr("stable_mosaic.version");
  (*module)->print(stream, mlir::OpPrintingFlags().printGenericOpForm());
  return text;
}

inline bool sameKernel(const KernelPackage& a, const KernelPackage& b) {
  return a.name == b.name && a.operands == b.operands && a.results == b.results && a.aliases == b.aliases &&
         a.frontendAttributes == b.frontendAttributes && a.hasSideEffect == b.hasSideEffect &&
         printBackendConfig(a.config, "") == printBackendConfig(b.config, "") && printed(a) == printed(b);
}

inline bool samePrograms(const Program& a, const Program& b) {
  bool same = a.name == b.name && a.moduleAttributes == b.moduleAttributes && a.main == b.main &&
              a.functions.size() == b.functions.size() && a.kernels.size() == b.kernels.size() &&
              a.meshes.size() == b.meshes.size();
  for (size_t i = 0; same && i < a.functions.size(); ++i) same = SameFunction(a.functions[i], b.functions[i]).run();
  for (size_t i = 0; same && i < a.kernels.size(); ++i) same = sameKernel(a.kernels[i], b.kernels[i]);
  return same;
}

}  // namespace smalti::interop::testing
