// A program on a foreign target (Target::foreign), in a child process that its crash or hang takes instead of this one.
#pragma once

#include "driver/case/Children.h"
#include "driver/program/RunProgram.h"

namespace smalti::driver {

/// Whether the target runs code of others, all of it: with checks that it lacks, the machine runs.
bool isForeignCode(const CompileOptions&);

/// Called in the child before it runs a foreign target: sets the variables that its plugin needs without a TPU.
void prepareChild(const CompileOptions&);

/// As runProgram, from a process with one thread. SM6810: the plugin crashed; SM6811: not within the time limit of the
/// settings.
Result<RunOutcome> runInChild(const Program&, std::span<const Array> arguments, const RunSettings&);

/// A plugin's last line may be followed by the stack.
inline constexpr int64_t kPluginErrorBytes = 1 << 16;

/// The diagnostic of a child in which a foreign target did not finish: SM6810, SM6811.
Diagnostic foreignCodeFailure(const ChildResult&, const CompileOptions&, double limitSeconds, std::string_view work);

/// The line in which a plugin gave the reason for its abort ("F0000 00:00:17… file.cc:719] Operation not supported"),
/// without time and thread; empty: there is none.
std::string fatalLine(const std::string& standardError);
/// "signal 6 (Aborted): file.cc:719] Operation not supported".
std::string endOf(const ChildResult&);

}  // namespace smalti::driver
