// The custom call's backend_config: JSON → KernelConfig and body, and back in JAX's order and spelling.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "interop/Base64.h"
#include "interop/Interop.h"
#include "interop/config/JsonNesting.h"

namespace smalti::interop {
namespace {

using Json = nlohmann::ordered_json;

Diagnostic malformed(std::string what, std::string help = "export the kernel again with JAX") {
  return {.code = "SM2010",
          .message = fmt::format("the kernel's configuration (backend_config) is malformed: {}", what),
          .place = {},
          .help = std::move(help)};
}

/// Reads one key of an object at a time; the first wrong type sticks.
class Reader {
 public:
  bool failed() const { return !error_.empty(); }
  std::string takeError() { return std::move(error_); }
  bool wrong(std::string_view key, std::string_view need) {
    if (error_.empty()) error_ = fmt::format("'{}' must be {}", key, need);
    return false;
  }
  void read(const Json& value, std::string_view key, std::optional<bool>& out) {
    if (!value.is_boolean()) return void(wrong(key, "true or false"));
    out = value.get<bool>();
  }
  void read(const Json& value, std::string_view key, std::optional<int64_t>& out) {
    int64_t number = 0;
    read(value, key, number);
    out = number;
  }
  void read(const Json& value, std::string_view key, int64_t& out) {
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
      return void(wrong(key, "an integer"));
    out = value.get<int64_t>();
  }
  void read(const Json& value, std::string_view key, std::vector<bool>& out) {
    if (!value.is_array()) return void(wrong(key, "a list"));
    for (const Json& item : value) {
      if (!item.is_boolean()) return void(wrong(key, "a list of true or false"));
      out.push_back(item.get<bool>());
    }
  }
  void read(const Json& value, std::string_view key, std::optional<CostEstimate>& out) {
    if (!value.is_object()) return void(wrong(key, "an object"));
    CostEstimate cost;
    for (const auto& [name, number] : value.items()) {
      if (name == "flops") read(number, name, cost.flops);
      if (name == "transcendentals") read(number, name, cost.transcendentals);
      if (name == "bytes_accessed") read(number, name, cost.bytes_accessed);
      if (name == "remote_bytes_transferred") read(number, name, cost.remote_bytes_transferred);
    }
    out = cost;
  }
  void read(const Json& value, std::string_view key, std::vector<KernelConfig::MemorySpaceColor>& out) {
    if (!value.is_array()) return void(wrong(key, "a list"));
    for (const Json& item : value) {
      if (!item.is_object()) return void(wrong(key, "a list of objects"));
      KernelConfig::MemorySpaceColor color;
      for (const auto& [name, number] : item.items()) {
        if (name == "color") read(number, name, color.color);
        if (name == "operand_index") read(number, name, color.index);
        if (name == "shape_index") {
          if (!number.is_array() || number.size() != 1) return void(wrong(key, "colours of whole results"));
          read(number[0], name, color.index);
        }
      }
      out.push_back(color);
    }
  }
  void read(const Json& value, std::string_view key, std::vector<KernelConfig::ScopedMemory>& out) {
    if (!value.is_array()) return void(wrong(key, "a list"));
    for (const Json& item : value) {
      if (!item.is_object()) return void(wrong(key, "a list of objects"));
      KernelConfig::ScopedMemory memory;
      for (const auto& [name, number] : item.items()) {
        if (name == "memory_space") read(number, name, memory.memorySpace);
        if (name == "offset") read(number, name, memory.offset);
        if (name == "size") read(number, name, memory.size);
      }
      out.push_back(memory);
    }
  }
  void read(const Json& value, std::string_view key, std::vector<KernelConfig::Flag>& out) {
    if (!value.is_array()) return void(wrong(key, "a list"));
    for (const Json& item : value) {
      const auto type = item.is_object() ? item.find("flag_type") : item.end();
      const auto held = item.is_object() ? item.find("value") : item.end();
      if (!item.is_object() || type == item.end() || !type->is_string() || held == item.end() || !held->is_object() ||
          held->size() != 1)
        return void(wrong(key, "a list of {flag_type, value}"));
      out.push_back({type->get<std::string>(), held->begin().key(), held->begin().value().dump()});
    }
  }

 private:
  std::string error_;
};

/// Keys of custom_call_config, in JAX's order; `body` stands before them.
struct Key {
  std::string_view name;
  void (*read)(Reader&, const Json&, std::string_view, KernelConfig&);
  /// Text after `"name": `; empty: the key is absent.
  std::string (*print)(const KernelConfig&);
};

std::string text(const std::optional<bool>& value) { return value ? (*value ? "true" : "false") : ""; }
std::string text(const std::optional<int64_t>& value) { return value ? std::to_string(*value) : ""; }
std::string text(const std::optional<CostEstimate>& cost) {
  if (!cost) return "";
  return fmt::format(
      "{{\n\"bytes_accessed\":{},\n\"flops\":{},\n\"remote_bytes_transferred\":{},\n\"transcendentals\":{}\n}}",
      cost->bytes_accessed, cost->flops, cost->remote_bytes_transferred, cost->transcendentals);
}
std::string text(const std::vector<bool>& values) {
  if (values.empty()) return "";
  std::string list;
  for (const bool v : values) list += fmt::format("{}{}", list.empty() ? "" : ",", v ? "true" : "false");
  return "[" + list + "]";
}
std::string outputColors(const std::vector<KernelConfig::MemorySpaceColor>& colors) {
  std::vector<std::string> items;
  for (const auto& c : colors)
    items.push_back(c.index ? fmt::format("{{\"color\":{},\"shape_index\":[{}]}}", c.color, *c.index)
                            : fmt::format("{{\"color\":{}}}", c.color));
  return items.empty() ? "" : fmt::format("[{}]", fmt::join(items, ","));
}
std::string inputColors(const std::vector<KernelConfig::MemorySpaceColor>& colors) {
  std::vector<std::string> items;
  for (const auto& c : colors)
    items.push_back(fmt::format("{{\"operand_index\":{},\"color\":{}}}", c.index.value_or(0), c.color));
  return items.empty() ? "" : fmt::format("[{}]", fmt::join(items, ","));
}

template <auto Member>
void readMember(Reader& reader, const Json& value, std::string_view key, KernelConfig& config) {
  reader.read(value, key, config.*Member);
}
template <auto Member>
std::string printMember(const KernelConfig& config) {
  return text(config.*Member);
}
template <auto Member>
constexpr Key key(std::string_view name) {
  return {name, readMember<Member>, printMember<Member>};
}

constexpr std::array kKeys{
    key<&KernelConfig::hasCommunication>("has_communication"),
    key<&KernelConfig::collectiveId>("collective_id"),
    key<&KernelConfig::costEstimate>("cost_estimate"),
    key<&KernelConfig::needsHloPasses>("needs_hlo_passes"),
    key<&KernelConfig::serializationFormat>("serialization_format"),
    key<&KernelConfig::needsLayoutPasses>("needs_layout_passes"),
    key<&KernelConfig::shapeInvariantNumerics>("shape_invariant_numerics"),
    key<&KernelConfig::allowInputFusion>("allow_input_fusion"),
    key<&KernelConfig::internalScratchInBytes>("internal_scratch_in_bytes"),
    Key{"output_memory_space_colors", readMember<&KernelConfig::outputMemorySpaceColors>,
        [](const KernelConfig& c) { return outputColors(c.outputMemorySpaceColors); }},
    Key{"input_memory_space_colors", readMember<&KernelConfig::inputMemorySpaceColors>,
        [](const KernelConfig& c) { return inputColors(c.inputMemorySpaceColors); }},
    key<&KernelConfig::disableBoundsChecks>("disable_bounds_checks"),
    key<&KernelConfig::disableSemaphoreChecks>("disable_semaphore_checks"),
    key<&KernelConfig::skipDeviceBarrier>("skip_device_barrier"),
};

constexpr std::string_view kInner = "custom_call_config.";

}  // namespace

Result<ParsedConfig> parseBackendConfig(std::string_view json) {
  if (jsonNestedTooDeep(json)) return fail(malformed("it is nested too deeply"));
  const Json root = Json::parse(json, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return fail(malformed("it is not a JSON object"));
  const auto inner = root.find("custom_call_config");
  if (inner == root.end() || !inner->is_object()) return fail(malformed("'custom_call_config' is missing"));

  ParsedConfig parsed;
  KernelConfig& config = parsed.config;
  Reader reader;
  bool hasBody = false;
  for (const auto& [name, value] : inner->items()) {
    if (name == "body") {
      if (!value.is_string()) return fail(malformed("'body' must be a string"));
      auto body = decodeBase64(value.get_ref<const std::string&>());
      if (!body)
        return fail({.code = "SM2011",
                     .message = "the kernel's body is not base64",
                     .place = {},
                     .help = "export the kernel again; the text was truncated or corrupted"});
      parsed.body = std::move(*body);
      hasBody = true;
      continue;
    }
    const auto known = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& k) { return k.name == name; });
    if (known != kKeys.end())
      known->read(reader, value, name, config);
    else
      config.unknown.emplace_back(std::string(kInner) + name,
                                  value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  for (const auto& [name, value] : root.items()) {
    if (name == "custom_call_config") continue;
    if (name == "scoped_memory_configs")
      reader.read(value, name, config.scopedMemory);
    else if (name == "flag_configs")
      reader.read(value, name, config.flags);
    else
      config.unknown.emplace_back(name, value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (reader.failed()) return fail(malformed(reader.takeError()));
  if (!hasBody) return fail(malformed("'body' is missing"));
  return parsed;
}

std::string printBackendConfig(const KernelConfig& config, std::string_view body) {
  std::string out = fmt::format("{{\"custom_call_config\": {{\"body\": \"{}\"", encodeBase64(body));
  for (const Key& k : kKeys)
    if (const std::string value = k.print(config); !value.empty()) out += fmt::format(", \"{}\": {}", k.name, value);
  for (const auto& [path, json] : config.unknown)
    if (path.starts_with(kInner)) out += fmt::format(", {}: {}", Json(path.substr(kInner.size())).dump(), json);
  out += "}";
  for (const auto& [path, json] : config.unknown)
    if (!path.starts_with(kInner)) out += fmt::format(", {}: {}", Json(path).dump(), json);
  std::vector<std::string> scoped, flags;
  for (const auto& s : config.scopedMemory)
    scoped.push_back(
        fmt::format("{{\"memory_space\":{}, \"offset\": {}, \"size\": {}}}", s.memorySpace, s.offset, s.size));
  for (const auto& f : config.flags)
    flags.push_back(fmt::format("{{\"flag_type\": {}, \"value\": {{{}: {}}}}}", Json(f.type).dump(),
                                Json(f.valueKey).dump(), f.valueJson));
  if (!scoped.empty()) out += fmt::format(", \"scoped_memory_configs\": [{}]", fmt::join(scoped, ", "));
  if (!flags.empty()) out += fmt::format(", \"flag_configs\": [{}]", fmt::join(flags, ","));
  return out + "}";
}

}  // namespace smalti::interop
