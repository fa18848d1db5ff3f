#include "driver/Json.h"
#include "driver/case/RunCase.h"

namespace smalti::driver {

std::string toText(const CaseOutcome& o) {
  Json json{{"verdict", static_cast<int>(o.verdict)},
            {"maxErrorAt", o.maxErrorAt},
            {"wrong", o.wrong},
            {"seconds", o.seconds},
            {"findings", toJson(o.findings)}};
  if (o.diagnostic) json["diagnostic"] = toJson(*o.diagnostic);
  if (o.maxError) json["maxError"] = *o.maxError;
  return dump(json);
}

std::optional<CaseOutcome> outcomeFromText(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  // A child that was overwritten by a hostile module may write anything.
  try {
    if (!json.is_object()) return std::nullopt;
    CaseOutcome o;
    const int verdict = json.at("verdict").get<int>();
    if (verdict < 0 || verdict > static_cast<int>(Verdict::ran)) return std::nullopt;
    o.verdict = static_cast<Verdict>(verdict);
    o.maxErrorAt = json.at("maxErrorAt").get<std::string>();
    o.wrong = json.at("wrong").get<std::string>();
    o.seconds = json.at("seconds").get<double>();
    o.findings = findingsFromJson(json.at("findings"));
    if (json.contains("diagnostic")) o.diagnostic = diagnosticFromJson(json["diagnostic"]);
    if (json.contains("maxError")) o.maxError = json["maxError"].get<double>();
    return o;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace smalti::driver
