// Programs and kernels from and to the outside: StableHLO (text and portable artifacts), Mosaic text, stable_mosaic
// bytecode.
// All input is untrusted: sizes, nesting and counts are bounded (Limits.h), nothing aborts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/KernelPackage.h"
#include "ir/program/Program.h"

namespace smalti::interop {

/// Whether programs with symbolic shapes are refused (SM2003), or read. These are not verified: they become programs
/// when they get the shapes of their arguments (`driver/symbolic/Specialise.h`).
enum class Shapes : uint8_t { known, symbolic };

/// StableHLO module text, pretty or generic, as JAX prints it. Codes SM20xx.
Result<Program> importStableHlo(std::string_view text, const std::string& fileName, Shapes = Shapes::known);
/// Makes shard_maps of what older modules have for them, then verifies: the last step of an import.
Status complete(Program&);

/// StableHLO's portable artifact (bytecode of VHLO), as jax.export writes it: recognised by its first bytes. Codes
/// SM20xx and SM21xx.
bool isPortableArtifact(std::string_view bytes);
Result<Program> importPortableArtifact(std::string_view bytes, const std::string& fileName, Shapes = Shapes::known);

/// The sharding in the attributes of an argument of main (Function::argumentAttributes), where it is in sdy's words.
std::optional<Sharding> shardingIn(std::string_view attributes);
/// Such attributes.
std::string attributesWith(const Sharding&);

/// A bare kernel module: Mosaic text (pretty or generic; `stable_mosaic.` names too) or bytecode, told apart by
/// content. Array shapes are not in it: operands and results stay empty until the caller fills them and calls `finish`.
Result<KernelPackage> importKernel(std::string_view content, const std::string& fileName);

/// A kernel's body as text or bytecode, as kernels are given to targets: reductions that start with an infinity that
/// their dtype lacks start with its least or greatest number.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readBody(std::string_view content, mlir::MLIRContext&,
                                                   const std::string& fileName);

/// Reads stable_mosaic bytecode (versions 1 to 18), upgrades it, returns verified IR. Codes SM21xx.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readBytecode(std::string_view bytes, mlir::MLIRContext&,
                                                       const std::string& fileName);
/// Writes stable_mosaic bytecode of `version` (8 to 18). SM21xx when the module uses what that version lacks.
Result<std::string> writeBytecode(mlir::ModuleOp, int version);

inline constexpr int kOldestReadableVersion = 1;
inline constexpr int kNewestReadableVersion = 18;
inline constexpr int kOldestWritableVersion = 8;
inline constexpr int kDefaultVersion = 13;

/// Mosaic text, pretty or generic. Codes SM22xx.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readMosaicText(std::string_view text, mlir::MLIRContext&,
                                                         const std::string& fileName);

/// backend_config JSON ↔ KernelConfig and the decoded body. Codes SM20xx.
struct ParsedConfig {
  KernelConfig config;
  std::string body;  ///< base64 decoded
};
Result<ParsedConfig> parseBackendConfig(std::string_view json);
std::string printBackendConfig(const KernelConfig&, std::string_view body);

/// StableHLO text with tpu_custom_calls whose bodies are bytecode of `version`.
Result<std::string> exportStableHlo(const Program&, int version = kDefaultVersion);
/// The kernel's module as Mosaic text.
std::string exportMosaicText(const KernelPackage&, bool generic);

}  // namespace smalti::interop
