// The user's source in messages.
#pragma once

#include "smalti/diagnostic.h"

namespace smalti {

/// Fills in the text of the diagnostic's line, when its file is there.
void showSource(Diagnostic&);

}  // namespace smalti
