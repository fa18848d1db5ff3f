// Diagnostics, findings and types as JSON; the schema of every `--json` (docs/command_line.md).
#pragma once

#include <nlohmann/json.hpp>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti::machine {
struct Finding;
struct RunStatistics;
}  // namespace smalti::machine

namespace smalti::driver {

using Json = nlohmann::ordered_json;

Json toJson(const Diagnostic&);
Json toJson(const machine::Finding&);
Json toJson(const std::vector<machine::Finding>&);
Json toJson(const ArrayType&);
Json toJson(const machine::RunStatistics&);
/// Infinities and NaN have no JSON form: null.
Json numberOrNull(double);

/// Inverse of `toJson`; missing members stay empty.
Diagnostic diagnosticFromJson(const Json&);
machine::RunStatistics statisticsFromJson(const Json&);
std::vector<machine::Finding> findingsFromJson(const Json&);

/// Text of any bytes: what is not UTF-8 is replaced.
std::string dump(const Json&, int indent = -1);

}  // namespace smalti::driver
