// The encoder of all-MiniLM-L6-v2 (examples/minilm) with made-up weights: its time does not depend on them.
#include "Encoder.h"
#include "ours/Ours.h"

namespace smalti::bench {
namespace {

using namespace minilm;

constexpr Config kConfig{.hidden = 384,
                         .layers = 6,
                         .heads = 12,
                         .intermediate = 1536,
                         .positions = 512,
                         .types = 2,
                         .words = 30522,
                         .normEpsilon = 1e-12};

/// peers/peer_torch.py makes the same weights in the same order.
class Maker {
 public:
  Array weights(Shape shape, float about = 0) {
    Array a = operand(std::move(shape), f32, ++seed_);
    for (int64_t i = 0; i < a.elements(); ++i) a.as<float>()[i] = about + a.as<float>()[i] * .1f;
    return a;
  }
  /// `parts` layers side by side.
  Linear linear(int64_t outputs, int64_t inputs, int parts = 1) {
    std::vector<Operand> all, biases;
    for (int part = 0; part < parts; ++part) {
      all.emplace_back(weights({outputs, inputs}));
      biases.emplace_back(weights({outputs}));
    }
    return {transpose(concatenate(all)), concatenate(biases)};
  }
  Norm norm() { return {weights({kConfig.hidden}, 1), weights({kConfig.hidden})}; }

 private:
  uint32_t seed_ = 0;
};

Weights allWeights() {
  constexpr int64_t hidden = kConfig.hidden, wide = kConfig.intermediate;
  Maker make;
  Weights w;
  w.words = make.weights({kConfig.words, hidden});
  w.positions = make.weights({kConfig.positions, hidden});
  w.types = make.weights({kConfig.types, hidden});
  w.norm = make.norm();
  for (int64_t i = 0; i < kConfig.layers; ++i) {
    Layer l;
    l.queryKeyValue = make.linear(hidden, hidden, 3);
    l.attended = make.linear(hidden, hidden);
    l.attendedNorm = make.norm();
    l.intermediate = make.linear(wide, hidden);
    l.output = make.linear(hidden, wide);
    l.outputNorm = make.norm();
    w.layers.push_back(l);
  }
  return w;
}

Work encode(const Spec& s) {
  auto weights = std::make_shared<Weights>(allWeights());
  std::vector<Tokens> texts(static_cast<size_t>(s["batch"]));
  int32_t id = 0;
  for (Tokens& text : texts)
    for (int64_t i = 0; i < s["tokens"]; ++i) text.ids.push_back(id++ * 7 % static_cast<int32_t>(kConfig.words));
  return work([=] { return unwrap(embeddings(*weights, kConfig, texts, 1, [](size_t) {})); });
}

}  // namespace

std::map<std::string, bench::Maker> miniLm() { return {{"minilm", encode}}; }

}  // namespace smalti::bench
