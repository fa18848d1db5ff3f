#include "Weights.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "SafetensorsFile.h"

namespace smalti::minilm {
namespace {

const Config kTiny{.hidden = 4, .layers = 1, .heads = 2, .intermediate = 8, .positions = 3, .types = 2, .words = 5};

/// Every tensor of `kTiny` with its shape in JSON.
std::map<std::string, Shape> tinyShapes() {
  std::map<std::string, Shape> shapes{{"embeddings.word_embeddings.weight", {5, 4}},
                                      {"embeddings.position_embeddings.weight", {3, 4}},
                                      {"embeddings.token_type_embeddings.weight", {2, 4}}};
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs) {
    shapes[name + ".weight"] = {outputs, inputs};
    shapes[name + ".bias"] = {outputs};
  };
  const std::string at = "encoder.layer.0.";
  for (const char* name :
       {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"})
    linear(at + name, 4, 4);
  linear(at + "intermediate.dense", 8, 4);
  linear(at + "output.dense", 4, 8);
  for (const std::string& name :
       {std::string("embeddings.LayerNorm"), at + "attention.output.LayerNorm", at + "output.LayerNorm"})
    shapes[name + ".weight"] = shapes[name + ".bias"] = {4};
  return shapes;
}

Safetensors fileOf(const std::map<std::string, Shape>& shapes, const std::string& dtype = "F32", int64_t bytes = 4) {
  std::string header = "{";
  int64_t at = 0;
  for (const auto& [name, shape] : shapes) {
    const int64_t end = at + bytes * num_elements(shape);
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}{}],"data_offsets":[{},{}]}})", at ? "," : "", name,
                          dtype, shape[0], shape.size() > 1 ? fmt::format(",{}", shape[1]) : "", at, end);
    at = end;
  }
  auto file = Safetensors::parse(safetensorsFile(header + "}", static_cast<size_t>(at)), "m");
  EXPECT_TRUE(file) << file.error().str();
  return *file;
}

TEST(Weights, AllAreTaken) {
  const auto weights = readWeights(fileOf(tinyShapes()), kTiny);
  ASSERT_TRUE(weights) << weights.error().str();
  ASSERT_EQ(weights->layers.size(), 1u);
  EXPECT_EQ(weights->layers[0].intermediate.weight.type().str(), "f32[4,8]");
}

TEST(Weights, HalfPrecisionIsWidened) {
  for (const char* dtype : {"F16", "BF16"}) {
    const auto weights = readWeights(fileOf(tinyShapes(), dtype, 2), kTiny);
    ASSERT_TRUE(weights) << weights.error().str();
    EXPECT_EQ(weights->words.type().str(), "f32[5,4]");
  }
}

TEST(Weights, WhatDoesNotFitIsListed) {
  auto shapes = tinyShapes();
  shapes.erase("encoder.layer.0.output.dense.bias");
  shapes["embeddings.LayerNorm.bias"] = {5};
  EXPECT_EQ(readWeights(fileOf(shapes), kTiny).error().str(),
            "error[SM6005]: weight 'embeddings.LayerNorm.bias' of 'm' has another shape\n"
            "  need: f32[4] (or f16, bf16)\n  have: f32[5]\n"
            "  help: the file must belong to the config.json next to it\n");
  shapes = tinyShapes();
  shapes.erase("encoder.layer.0.output.dense.bias");
  shapes.erase("encoder.layer.0.output.dense.weight");
  EXPECT_EQ(readWeights(fileOf(shapes), kTiny).error().related.size(), 1u);
  EXPECT_EQ(readWeights(fileOf(tinyShapes(), "I32"), kTiny).error().message,
            "weight 'embeddings.word_embeddings.weight' of 'm' has elements that are not weights");
}

TEST(Config, TheModelsOwn) {
  const auto config = parseConfig(
      R"({"model_type":"bert","hidden_act":"gelu","hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,)"
      R"("intermediate_size":1536,"max_position_embeddings":512,"type_vocab_size":2,"vocab_size":30522,)"
      R"("layer_norm_eps":1e-12})",
      "c");
  ASSERT_TRUE(config) << config.error().str();
  EXPECT_EQ(config->headSize(), 32);
  EXPECT_EQ(config->normEpsilon, 1e-12);
}

TEST(Config, WhatDoesNotRunIsRefused) {
  const std::string good = R"({"hidden_size":4,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":8,)"
                           R"("max_position_embeddings":3,"type_vocab_size":2,"vocab_size":5,"layer_norm_eps":1e-12})";
  ASSERT_TRUE(parseConfig(good, "c"));
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto config = parseConfig(text, "c");
    return config ? "accepted" : config.error().str();
  };
  const std::string head = "error[SM6006]: 'c' is not the configuration of a model that runs here: ";
  EXPECT_EQ(refusal("{", "["), head + "it is not a JSON object\n");
  EXPECT_EQ(refusal("\"hidden_size\":4", "\"hidden_size\":-4"),
            head + "'hidden_size' must be a size\n  need: a whole number from 1 to 16777216\n  have: -4\n");
  EXPECT_EQ(refusal("vocab_size\":5", "vocab\":5"),
            head + "'vocab_size' must be a size\n  need: a whole number from 1 to 16777216\n  have: nothing\n");
  EXPECT_EQ(refusal("heads\":2", "heads\":3"),
            head + "the heads do not divide 'hidden_size'\n  need: a multiple of 3 heads\n  have: 4\n");
  EXPECT_EQ(refusal("{", R"({"hidden_act":"relu",)"),
            head + "'hidden_act' is another\n  need: \"gelu\"\n  have: \"relu\"\n");
  EXPECT_EQ(refusal("1e-12", "null"),
            head + "'layer_norm_eps' must be a small number\n  need: from 0 to 1\n  have: null\n");
}

}  // namespace
}  // namespace smalti::minilm
