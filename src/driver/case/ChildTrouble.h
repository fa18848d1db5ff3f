// What is said of a child process that did not finish.
#pragma once

#include <string_view>

#include "base/Options.h"
#include "driver/case/Children.h"
#include "smalti/diagnostic.h"

namespace smalti::driver {

/// `work`: "case", "module". SM9013 without memory.
Diagnostic outOfMemory(std::string_view work);
/// SM9012 after the time limit, SM9013 without memory, SM9011 after anything else.
Diagnostic troubleOf(const ChildResult&, const Options&, std::string_view work);
/// What many pieces of work in children are limited to.
ChildLimits limitsOf(const Options&);

}  // namespace smalti::driver
