#include <nlohmann/json.hpp>

#include "lang/lower/Lower.h"

namespace smalti::lang {

std::string metadataJson(const std::map<std::string, std::string>& metadata) {
  using Json = nlohmann::json;
  return Json(metadata).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace smalti::lang
