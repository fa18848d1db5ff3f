#include "driver/target/Describe.h"

#include <fmt/format.h>

#include "driver/target/Target.h"

namespace smalti::driver {

std::string describeTargets() {
  std::string text;
  for (const Target* t : targets()) {
    text += fmt::format("  {}: {}\n", t->spelling(), t->summary);
    if (const Status available = t->available(""); !available)
      text += fmt::format("    not available: {}\n", available.error().message);
  }
  return text;
}

Json targetsJson() {
  Json rows = Json::array();
  for (const Target* t : targets()) {
    const Status available = t->available("");
    rows.push_back({{"name", t->name},
                    {"argument", t->argument},
                    {"summary", t->summary},
                    {"ahead_of_time", t->aheadOfTime},
                    {"available", available.has_value()},
                    {"unavailable_because", available ? Json(nullptr) : Json(available.error().message)}});
  }
  return rows;
}

}  // namespace smalti::driver
