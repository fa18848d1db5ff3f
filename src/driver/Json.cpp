#include "driver/Json.h"

#include <cmath>

#include "machine/Machine.h"

namespace smalti::driver {

Json toJson(const Diagnostic& d) {
  Json json{{"code", d.code}, {"message", d.message}};
  json["place"] = d.place.known() ? Json{{"file", d.place.file}, {"line", d.place.line}, {"column", d.place.column}}
                                  : Json(nullptr);
  json["where"] = d.where;
  json["need"] = d.need;
  json["have"] = d.have;
  json["help"] = d.help;
  json["related"] = Json::array();
  for (const Diagnostic& r : d.related) json["related"].push_back(toJson(r));
  return json;
}

Json toJson(const Finding& f) {
  Json json = toJson(f.diagnostic);
  json["severity"] = name(f.severity);
  json["count"] = f.count;
  return json;
}

Json toJson(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& f : findings) list.push_back(toJson(f));
  return list;
}

Json toJson(const ArrayType& type) { return {{"dtype", name(type.dtype)}, {"shape", type.shape}}; }

Json toJson(const machine::RunStatistics& s) {
  return {{"grid_steps", s.gridSteps},
          {"instructions", s.instructions},
          {"window_fetches", s.windowFetches},
          {"window_write_backs", s.windowWriteBacks},
          {"dma_transfers", s.dmaTransfers},
          {"dma_bytes", s.dmaBytes},
          {"peak_window_bytes", s.peakWindowBytes},
          {"value_bytes", s.valueBytes}};
}

machine::RunStatistics statisticsFromJson(const Json& json) {
  const auto number = [&](const char* name) { return json.value(name, int64_t{0}); };
  machine::RunStatistics s;
  s.gridSteps = number("grid_steps");
  s.instructions = number("instructions");
  s.windowFetches = number("window_fetches");
  s.windowWriteBacks = number("window_write_backs");
  s.dmaTransfers = number("dma_transfers");
  s.dmaBytes = number("dma_bytes");
  s.peakWindowBytes = number("peak_window_bytes");
  s.valueBytes = number("value_bytes");
  return s;
}

Json numberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Diagnostic diagnosticFromJson(const Json& json) {
  Diagnostic d;
  d.code = json.value("code", "");
  d.message = json.value("message", "");
  if (const auto place = json.find("place"); place != json.end() && place->is_object())
    d.place = {place->value("file", ""), place->value("line", 0), place->value("column", 0)};
  if (const auto where = json.find("where"); where != json.end())
    for (const Json& w : *where) d.where.push_back(w.get<std::string>());
  d.need = json.value("need", "");
  d.have = json.value("have", "");
  d.help = json.value("help", "");
  if (const auto related = json.find("related"); related != json.end())
    for (const Json& r : *related) d.related.push_back(diagnosticFromJson(r));
  return d;
}

std::vector<Finding> findingsFromJson(const Json& json) {
  std::vector<Finding> findings;
  for (const Json& f : json) {
    Finding& finding = findings.emplace_back(diagnosticFromJson(f), f.value("count", int64_t{1}));
    for (const Severity s : {Severity::warning, Severity::note})
      if (f.value("severity", "") == name(s)) finding.severity = s;
  }
  return findings;
}

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace smalti::driver
