// bin/train TEXT [STEPS [DEVICES [BATCH]]]: trains the model on a text, its batch over DEVICES, and prints the loss of
// every step. Twins: twin.py, in JAX; twin_torch.py.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include <fmt/format.h>

#include "AdamW.h"
#include "Devices.h"
#include "Model.h"
#include "base/io/File.h"
#include "driver/cli/Output.h"

namespace {

using namespace train;
using pl::Array;

/// The characters of a text as numbers from 0.
struct Text {
  std::vector<int32_t> tokens;
  int64_t vocabulary = 0;

  explicit Text(const std::string& text) {
    const std::set<char> all(text.begin(), text.end());
    const std::string alphabet(all.begin(), all.end());
    vocabulary = static_cast<int64_t>(alphabet.size());
    for (const char c : text) tokens.push_back(static_cast<int32_t>(alphabet.find(c)));
  }
  /// Pieces of the text from places that the step decides, moved on by `offset`.
  Array piece(const Config& c, int64_t step, int64_t offset) const {
    std::vector<int32_t> out;
    const int64_t last = static_cast<int64_t>(tokens.size()) - c.context - 1;
    for (int64_t b = 0; b < c.batch; ++b) {
      const int64_t start = (step * c.batch + b) * 7919 % last + offset;
      out.insert(out.end(), tokens.begin() + start, tokens.begin() + start + c.context);
    }
    return pl::array(out, {c.batch, c.context});
  }
};

/// The most of each argument: a larger number is a mistake, and would take the memory or the time of a year.
constexpr int64_t kMaxSteps = 1'000'000, kMaxDevices = pl::Mesh::most_devices, kMaxBatch = 4096;
constexpr int64_t kMaxTextBytes = int64_t{256} << 20;

int run(const std::string& path, int64_t steps, int64_t devices, int64_t batch) {
  pl::Settings settings;  // native code, unless SMALTI_… variables say otherwise
  pl::unwrap(settings.set("target", "cpu"));
  pl::unwrap(settings.read_environment());
  pl::use_settings(settings);
  const Text text(pl::unwrap(pl::readFile(path, kMaxTextBytes)));
  Config c;
  c.vocabulary = text.vocabulary;
  c.batch = batch;
  if (static_cast<int64_t>(text.tokens.size()) < c.context + 2) {
    std::fprintf(stderr, "train: '%s' is shorter than %lld characters\n", path.c_str(),
                 static_cast<long long>(c.context + 2));
    return 1;
  }
  if (devices < 1 || c.batch % devices != 0) {
    std::fprintf(stderr, "train: a batch of %lld does not divide over %lld devices\n", static_cast<long long>(c.batch),
                 static_cast<long long>(devices));
    return 1;
  }
  Model model = random_model(c, 0);
  Moments<Model> moments = zero_moments(model);
  const auto step =
      pl::jit([=](Model model, Moments<Model> moments, const Array& tokens, const Array& targets, const Array& count) {
        const auto [value, gradients] = value_and_gradients(model, tokens, targets, c, devices);
        update(AdamW{}, model, moments, gradients, count);
        return std::tuple{model, moments, value};
      });
  pl::cli::Output output;
  double seconds = 0;
  for (int64_t i = 0; i < steps; ++i) {
    const auto from = std::chrono::steady_clock::now();
    Array value;
    std::tie(model, moments, value) = step(std::move(model), std::move(moments), text.piece(c, i, 0),
                                           text.piece(c, i, 1), pl::full({}, static_cast<float>(i + 1), pl::f32));
    output.write(fmt::format("{} {:.6f}\n", i, *value.as<float>()));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
    if (i >= 10) seconds += took.count();  // the first one compiles
  }
  if (auto printed = output.finish(false); !printed) {
    printed.error().help = "";  // that of the tools with -o
    pl::raise(std::move(printed.error()));
  }
  if (steps > 10) std::fprintf(stderr, "%.2f ms a step\n", seconds / static_cast<double>(steps - 10) * 1e3);
  return 0;
}

/// The argument as a number from 1 to `most`, `standard` where there is none; 0 for other text.
int64_t count(int argc, char** argv, int index, int64_t standard, int64_t most) {
  if (index >= argc) return standard;
  int64_t value = 0;
  const char* end = argv[index] + std::strlen(argv[index]);
  const auto [at, error] = std::from_chars(argv[index], end, value);
  return error == std::errc() && at == end && value > 0 && value <= most ? value : 0;
}

}  // namespace

int main(int argc, char** argv) {
  pl::cli::holdStandardDescriptors();
  const int64_t steps = count(argc, argv, 2, 200, kMaxSteps), devices = count(argc, argv, 3, 1, kMaxDevices);
  const int64_t batch = count(argc, argv, 4, Config().batch, kMaxBatch);
  if (argc < 2 || argc > 5 || steps == 0 || devices == 0 || batch == 0) {
    std::fputs(fmt::format("usage: train TEXT [STEPS [DEVICES [BATCH]]]\n"
                           "STEPS is at most {}, DEVICES {}, BATCH {}\n",
                           kMaxSteps, kMaxDevices, kMaxBatch)
                   .c_str(),
               stderr);
    return 2;
  }
  const auto done = pl::attempt([&] { return run(argv[1], steps, devices, batch); });
  if (done) return *done;
  std::fprintf(stderr, "%s\n", done.error().str().c_str());
  return 1;
}
