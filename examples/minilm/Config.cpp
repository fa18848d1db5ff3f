#include "Config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/io/File.h"

namespace smalti::minilm {
namespace {

using nlohmann::json;

constexpr int64_t kMaxConfigBytes = 1 << 20;
constexpr int64_t kMaxSize = 1 << 24;  // of a model's dimension; products of two stay far from overflow

tl::unexpected<Diagnostic> notRun(const std::string& name, std::string what, std::string need, std::string have) {
  return fail({.code = "SM6006",
               .message = fmt::format("'{}' is not the configuration of a model that runs here: {}", name, what),
               .place = {},
               .need = std::move(need),
               .have = std::move(have)});
}

std::string shown(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60);
}

struct SizeField {
  const char* key;
  int64_t Config::* member;
};
constexpr SizeField kSizes[] = {
    {"hidden_size", &Config::hidden},
    {"num_hidden_layers", &Config::layers},
    {"num_attention_heads", &Config::heads},
    {"intermediate_size", &Config::intermediate},
    {"max_position_embeddings", &Config::positions},
    {"type_vocab_size", &Config::types},
    {"vocab_size", &Config::words},
};

/// How the model must be computed; what is absent is BERT's own choice, which is the same.
struct FixedField {
  const char* key;
  const char* value;
};
constexpr FixedField kFixed[] = {
    {"model_type", "bert"}, {"hidden_act", "gelu"}, {"position_embedding_type", "absolute"}};

}  // namespace

Result<Config> readConfig(const std::string& path) {
  const auto text = readFile(path, kMaxConfigBytes);
  if (!text) return fail(text.error());
  return parseConfig(*text, path);
}

Result<Config> parseConfig(std::string_view text, const std::string& name) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return notRun(name, "it is not a JSON object", {}, {});
  Config config;
  for (const auto& [key, member] : kSizes) {
    const auto found = object.find(key);
    const bool whole = found != object.end() && found->is_number_unsigned();
    if (!whole || found->get<uint64_t>() < 1 || found->get<uint64_t>() > static_cast<uint64_t>(kMaxSize))
      return notRun(name, fmt::format("'{}' must be a size", key), fmt::format("a whole number from 1 to {}", kMaxSize),
                    found == object.end() ? "nothing" : shown(*found));
    config.*member = found->get<int64_t>();
  }
  for (const auto& [key, value] : kFixed) {
    const auto found = object.find(key);
    if (found != object.end() && *found != value)
      return notRun(name, fmt::format("'{}' is another", key), fmt::format("\"{}\"", value), shown(*found));
  }
  if (config.hidden % config.heads != 0)
    return notRun(name, "the heads do not divide 'hidden_size'", fmt::format("a multiple of {} heads", config.heads),
                  fmt::format("{}", config.hidden));
  const auto epsilon = object.find("layer_norm_eps");
  config.normEpsilon = epsilon != object.end() && epsilon->is_number() ? epsilon->get<double>() : -1;
  if (!(config.normEpsilon >= 0 && config.normEpsilon < 1))
    return notRun(name, "'layer_norm_eps' must be a small number", "from 0 to 1",
                  epsilon == object.end() ? "nothing" : shown(*epsilon));
  return config;
}

}  // namespace smalti::minilm
