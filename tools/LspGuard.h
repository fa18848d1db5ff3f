// Stands between an editor and MLIR's language server, whose parser recurses: text beyond the limits of modules does
// not reach it (interop/text/TextLimits.h).
#pragma once

#include <functional>

namespace smalti {

/// Runs `server`, which speaks the language server protocol on stdin and stdout, and returns what it returns. Text
/// beyond a limit is empty for the server, and has the diagnostic SM2201 for the editor.
int runGuarded(const std::function<int()>& server);

}  // namespace smalti
