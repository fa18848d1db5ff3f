// Ten programs of plain ops under pl::jit on the target cpu: prints "name microseconds checksum" for each, the fastest
// of several rounds. jit.py has the same programs in JAX.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::Array;
using Arrays = std::vector<Array>;

namespace {

Array numbers(pl::Shape shape, int seed, float scale = 1) {
  return pl::normal(pl::random_key(seed), std::move(shape)) * scale;
}

Array layer_norm(const Array& x, const Array& scale, const Array& shift) {
  const Array centred = x - pl::mean(x, {.axes = {-1}, .keepdims = true});
  return centred * pl::rsqrt(pl::mean(pl::square(centred), {.axes = {-1}, .keepdims = true}) + 1e-5f) * scale + shift;
}

Array attention(const Array& q, const Array& k, const Array& v) {
  const Array s = pl::dot_general(q, k, {{2}, {2}, {0}, {0}}) * 0.125f;
  return pl::dot_general(pl::softmax(s), v, {{2}, {1}, {0}, {0}});
}

struct Program {
  std::string name;
  std::function<Arrays(const Arrays&)> f;
  Arrays inputs;
};

std::vector<Program> programs() {
  const Array x = numbers({512, 1024}, 0), y = numbers({512, 1024}, 1);
  return {
      {"chain",
       [](const Arrays& a) {
         return Arrays{pl::tanh(a[0] * 2 + a[1]) * pl::exp(-pl::square(a[0])) + pl::logistic(a[1])};
       },
       {x, y}},
      {"layer_norm",
       [](const Arrays& a) { return Arrays{layer_norm(a[0], a[1], a[2])}; },
       {x, numbers({1024}, 2), numbers({1024}, 3)}},
      {"cross_entropy",
       [](const Arrays& a) {
         return Arrays{-pl::mean(pl::take_along_axis(pl::log_softmax(a[0]), pl::reshape(a[1], {512, 1}), 1))};
       },
       {x, pl::mod(pl::arange(512) * 37, 1024)}},
      {"transformer_layer",
       [](const Arrays& a) {
         const auto heads = [](const Array& t) { return pl::transpose(pl::reshape(t, {128, 4, 64}), {1, 0, 2}); };
         const Array n = layer_norm(a[0], a[1], a[2]);
         const Array attended = attention(heads(pl::dot(n, a[3])), heads(pl::dot(n, a[4])), heads(pl::dot(n, a[5])));
         const Array r = a[0] + pl::dot(pl::reshape(pl::transpose(attended, {1, 0, 2}), {128, 256}), a[6]);
         return Arrays{r + pl::dot(pl::gelu(pl::dot(layer_norm(r, a[1], a[2]), a[7])), a[8])};
       },
       {numbers({128, 256}, 4), pl::ones({256}), pl::zeros({256}), numbers({256, 256}, 5, 0.05f),
        numbers({256, 256}, 6, 0.05f), numbers({256, 256}, 7, 0.05f), numbers({256, 256}, 8, 0.05f),
        numbers({256, 1024}, 9, 0.05f), numbers({1024, 256}, 10, 0.05f)}},
      {"attention",
       [](const Arrays& a) { return Arrays{attention(a[0], a[1], a[2])}; },
       {numbers({8, 256, 64}, 11), numbers({8, 256, 64}, 12), numbers({8, 256, 64}, 13)}},
      {"gathers",
       [](const Arrays& a) { return Arrays{pl::sum(pl::tanh(pl::take(a[0], a[1])), 1)}; },
       {numbers({4096, 128}, 14), pl::mod(pl::arange(2048) * 1009, 4096)}},
      {"scan",
       [](const Arrays& a) {
         const auto step = [&](const Array& h, const Array& x) {
           const Array next = pl::tanh(pl::dot(h, a[1]) + x);
           return std::pair{next, pl::sum(next, 1)};
         };
         const auto [last, sums] = pl::scan(step, pl::zeros({32, 128}), a[0]);
         return Arrays{last, sums};
       },
       {numbers({64, 32, 128}, 15), numbers({128, 128}, 16, 0.05f)}},
      {"adam",
       [](const Arrays& a) {
         const Array m = 0.9f * a[1] + 0.1f * a[3], v = 0.99f * a[2] + 0.01f * pl::square(a[3]);
         return Arrays{a[0] - 1e-3f * (m / 0.5f / (pl::sqrt(v / 0.25f) + 1e-8f) + 0.01f * a[0]), m, v};
       },
       {x, y, pl::square(x), numbers({512, 1024}, 17)}},
      {"convolution",  // of a signal, as shifted products
       [](const Arrays& a) {
         Array sum = pl::zeros({64, 4096 - 8});
         for (int64_t k = 0; k < 9; ++k)
           sum = sum + pl::slice(a[0], {0, k}, {64, 4096 - 8 + k}) * pl::slice(a[1], {k}, {k + 1});
         return Arrays{pl::relu(sum)};
       },
       {numbers({64, 4096}, 18), numbers({9}, 19)}},
      {"reduction_tree",
       [](const Arrays& a) {
         const Array rows = pl::sum(pl::square(a[0]), 1), top = pl::max(a[0], 1);
         return Arrays{pl::sum(rows) + pl::max(top), pl::sqrt(rows) / (pl::abs(top) + 1)};
       },
       {x}},
  };
}

double checksum(const Arrays& results) {
  double total = 0;
  for (const Array& r : results)
    for (int64_t i = 0; i < r.elements(); ++i) total += r.as<float>()[i];
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  pl::Settings settings;
  pl::unwrap(settings.set("target", "cpu"));
  pl::use_settings(settings);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  for (const Program& p : programs()) {
    if (!only.empty() && p.name != only) continue;
    const auto done = pl::attempt([&] {
      const auto call = pl::jit(p.f);
      const Arrays first = call(p.inputs);
      double best = 1e30, spent = 0;
      for (int round = 0; round < 1000 && (spent < 0.4 || round < 5); ++round) {
        const auto from = now();
        const Arrays results = call(p.inputs);
        const double took = std::chrono::duration<double>(now() - from).count();
        best = std::min(best, took);
        spent += took;
      }
      std::printf("%s %.2f %.9g\n", p.name.c_str(), best * 1e6, checksum(first));
    });
    if (!done) std::fprintf(stderr, "%s: %s\n", p.name.c_str(), done.error().str().c_str());
  }
}
