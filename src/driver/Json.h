// Diagnostics, findings and types as JSON; the schema of every `--json` (docs/command_line.md).
#pragma once

#include <nlohmann/json.hpp>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti {
struct Finding;
}
namespace smalti::machine {
struct RunStatistics;
}

namespace smalti::driver {

using Json = nlohmann::ordered_json;

Json toJson(const Diagnostic&);
Json toJson(const Finding&);
Json toJson(const std::vector<Finding>&);
Json toJson(const ArrayType&);
Json toJson(const machine::RunStatistics&);
/// Infinities and NaN have no JSON form: null.
Json numberOrNull(double);

/// Inverse of `toJson`; missing members stay empty.
Diagnostic diagnosticFromJson(const Json&);
machine::RunStatistics statisticsFromJson(const Json&);
std::vector<Finding> findingsFromJson(const Json&);

/// Text of any bytes: what is not UTF-8 is replaced.
std::string dump(const Json&, int indent = -1);

}  // namespace smalti::driver
