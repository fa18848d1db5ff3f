// StableHLO's portable artifacts as Programs.
#include "interop/Interop.h"
#include "interop/Limits.h"
#include "interop/bytecode/Model.h"
#include "interop/vhlo/ArtifactText.h"

namespace smalti::interop {

bool isPortableArtifact(std::string_view bytes) {
  constexpr size_t kProducerBytes = 64;
  return bytecode::isBytecode(bytes) && bytes.substr(0, kProducerBytes).find("StableHLO") != std::string_view::npos;
}

Result<Program> importPortableArtifact(std::string_view bytes, const std::string& fileName, Shapes shapes) {
  bytecode::ReadState state(fileName, "portable artifact");
  const bytecode::BodyModel model = bytecode::parseBody(
      bytes, state, {.newestVersion = bytecode::kNewestContainerVersion, .maxBytes = limits::kMaxTextBytes});
  if (!state.ok()) return fail(state.take());
  const std::string text = vhlo::artifactText(model, state);
  if (!state.ok()) return fail(state.take());
  return importStableHlo(text, fileName, shapes);
}

}  // namespace smalti::interop
