// Modules in one of several forms, told apart by content.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/KernelPackage.h"
#include "ir/program/Program.h"

namespace smalti::driver {

enum class ModuleKind : uint8_t { stableHlo, portableArtifact, mosaicText, bytecode };
std::string_view name(ModuleKind);

struct LoadedModule {
  std::string path;  ///< of the module file
  ModuleKind kind = ModuleKind::stableHlo;
  std::optional<Program> program;     ///< absent: the shapes of its arrays are not known yet
  std::optional<KernelPackage> bare;  ///< present then for a bare kernel
  std::optional<Program> symbolic;    ///< present then for a program with symbolic shapes, which is not verified
  const KernelPackage* kernel(size_t index) const;
  size_t numKernels() const { return bare ? 1 : (program ? *program : *symbolic).kernels.size(); }
};

/// SM1001, SM1013, SM1015, and errors of the importers.
Result<LoadedModule> loadModule(const std::string& path);
/// The same from memory; `name` stands in messages.
Result<LoadedModule> parseModule(std::string_view content, const std::string& name);

/// Gives a bare kernel its array shapes, or a program with symbolic shapes those of its arguments (`results` may be
/// empty), which makes it a Program. SM30xx, and the codes of `specialise`.
Status setShapes(LoadedModule&, std::span<const ArrayType> operands, std::span<const ArrayType> results);
/// Refuses a bare kernel with SM1012, a program with symbolic shapes with SM1021.
Status requireShapes(const LoadedModule&);
/// The same where the user cannot give them.
Status requireCalls(const LoadedModule&);

/// Types of main's arguments and results, which of a program with symbolic shapes have unknown dimensions.
std::vector<ArrayType> argumentTypes(const Program&);
const std::vector<ArrayType>& resultTypes(const Program&);

/// "f32[8,128]", "i32[]"; numpy's names of element types too. SM1014.
Result<ArrayType> parseArrayType(std::string_view text);

}  // namespace smalti::driver
