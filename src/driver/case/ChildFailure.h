// Diagnostics for a child process that did not finish.
#pragma once

#include <string_view>

#include "base/Options.h"
#include "driver/case/Children.h"
#include "smalti/diagnostic.h"

namespace smalti::driver {

/// `work`: "case", "module". SM9013 without memory.
Diagnostic outOfMemory(std::string_view work);
/// SM9012 after the time limit, SM9013 without memory, SM9011 after anything else.
Diagnostic failureOf(const ChildResult&, const Options&, std::string_view work);
/// The limits for work in child processes.
ChildLimits limitsOf(const Options&);
/// The options in such a process: without a time limit, since the parent ends the whole process in time.
Options optionsInChild(Options);

}  // namespace smalti::driver
