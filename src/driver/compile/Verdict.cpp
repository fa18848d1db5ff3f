#include "driver/compile/Verdict.h"

namespace smalti::driver {
namespace {

Json orNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json orNull(const std::optional<Diagnostic>& d) { return d ? toJson(*d) : Json(nullptr); }

std::string text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Diagnostic> diagnostic(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object()) return std::nullopt;
  return diagnosticFromJson(*found);
}

}  // namespace

Json toJson(const CompilerVerdict& v) {
  return {{"accepted", v.accepted},
          {"fits", v.fits},
          {"code", v.diagnostic ? Json(v.diagnostic->code) : Json(nullptr)},
          {"reason", orNull(v.reason)},
          {"vmem_bytes", v.accepted ? Json(v.vmemBytes) : Json(nullptr)},
          {"xla_vmem_operands", v.accepted ? Json(v.xlaVmemOperands) : Json(nullptr)},
          {"code_bytes", v.accepted ? Json(v.codeBytes) : Json(nullptr)},
          {"compile_seconds", v.seconds},
          {"executable", orNull(v.executable)},
          {"compiler", orNull(v.pluginVersion)},
          {"diagnostic", orNull(v.diagnostic)},
          {"error", orNull(v.error)}};
}

CompilerVerdict verdictFromJson(const Json& json) {
  const auto number = [&](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<int64_t>() : 0;
  };
  CompilerVerdict v;
  v.accepted = json.value("accepted", false);
  v.fits = json.value("fits", "uncertain");
  v.reason = text(json, "reason");
  v.vmemBytes = number("vmem_bytes");
  v.xlaVmemOperands = static_cast<int>(number("xla_vmem_operands"));
  v.codeBytes = number("code_bytes");
  v.seconds = json.value("compile_seconds", 0.0);
  v.executable = text(json, "executable");
  v.pluginVersion = text(json, "compiler");
  v.diagnostic = diagnostic(json, "diagnostic");
  v.error = diagnostic(json, "error");
  return v;
}

}  // namespace smalti::driver
