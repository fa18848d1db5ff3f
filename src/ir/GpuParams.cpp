#include "ir/GpuParams.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace smalti {
namespace {

/// A member as text.
struct Param {
  std::string_view name, values;  ///< what it may be
  bool (*set)(GpuParams&, std::string_view);
  std::string (*text)(const GpuParams&);  ///< empty: absent
};

std::optional<int64_t> number(std::string_view text) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

bool setWarps(GpuParams& p, std::string_view text) {
  p.num_warps = number(text);
  return p.num_warps == 1 || p.num_warps == 2 || p.num_warps == 4 || p.num_warps == 8 || p.num_warps == 16;
}
bool setStages(GpuParams& p, std::string_view text) {
  p.num_stages = number(text);
  return p.num_stages >= 2 && p.num_stages <= 8;
}
bool setCopies(GpuParams& p, std::string_view text) {
  p.copies = text == "boxes" ? GpuCopies::boxes : GpuCopies::threads;
  return text == "boxes" || text == "threads";
}
bool setTurns(GpuParams& p, std::string_view text) {
  p.turns = text == "on";
  return text == "on" || text == "off";
}

std::string numberText(const std::optional<int64_t>& n) { return n ? std::to_string(*n) : std::string(); }

constexpr std::array<Param, 4> kParams{{
    {"num_warps", "1, 2, 4, 8 or 16", setWarps, [](const GpuParams& p) { return numberText(p.num_warps); }},
    {"num_stages", "2 to 8", setStages, [](const GpuParams& p) { return numberText(p.num_stages); }},
    {"copies", "boxes or threads", setCopies,
     [](const GpuParams& p) {
       return std::string(!p.copies ? "" : *p.copies == GpuCopies::boxes ? "boxes" : "threads");
     }},
    {"turns", "on or off", setTurns,
     [](const GpuParams& p) { return std::string(!p.turns   ? ""
                                                 : *p.turns ? "on"
                                                            : "off"); }},
}};

tl::unexpected<Diagnostic> malformed(std::string message, std::string need, std::string_view have) {
  return fail({.code = "SM7209",
               .message = std::move(message),
               .place = {},
               .need = std::move(need),
               .have = std::string(have.substr(0, 100)),
               .help = "for example: num_warps=8 num_stages=4 copies=boxes turns=off"});
}

}  // namespace

std::string gpuParamsText(const GpuParams& params) {
  std::vector<std::string> parts;
  for (const Param& p : kParams)
    if (std::string value = p.text(params); !value.empty()) parts.push_back(fmt::format("{}={}", p.name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

Result<GpuParams> readGpuParams(std::string_view text) {
  GpuParams params;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find_first_of(" ,"));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
    const auto* const known = std::ranges::find(kParams, name, &Param::name);
    if (known == kParams.end()) {
      std::vector<std::string_view> names;
      for (const Param& p : kParams) names.push_back(p.name);
      return malformed("an unknown parameter for GPUs", fmt::format("{}", fmt::join(names, ", ")), part);
    }
    if (!known->text(params).empty())
      return malformed("a parameter for GPUs is given twice", fmt::format("{} once", name), part);
    if (!known->set(params, value))
      return malformed("a parameter for GPUs has an impossible value", fmt::format("{}={}", name, known->values), part);
  }
  return params;
}

Result<GpuParams> gpuParamsOf(const KernelPackage& kernel) {
  const auto& attributes = kernel.frontendAttributes;
  if (const auto own = attributes.find(kGpuParams); own != attributes.end()) return readGpuParams(own->second);
  const auto metadata = attributes.find("kernel_metadata");
  if (metadata == attributes.end()) return GpuParams();
  const auto json = nlohmann::json::parse(metadata->second, nullptr, false);
  const auto value = json.is_object() ? json.find(kGpuParams) : json.end();
  return value != json.end() && value->is_string() ? readGpuParams(value->get<std::string>()) : GpuParams();
}

}  // namespace smalti
