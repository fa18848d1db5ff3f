#include "Texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "Encoder.h"
#include "Model.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "smalti/mesh.h"
#include "smalti/module.h"

namespace smalti::minilm {

void TextArguments::declareModel(CLI::App& app) {
  app.add_option("--model", model, "the folder with config.json, vocab.txt and model.safetensors")
      ->required()
      ->type_name("FOLDER");
}

void TextArguments::declareDevices(CLI::App& app) {
  app.add_option("--devices", devices, "divide each batch of texts over this many devices")
      ->check(CLI::Range(int64_t{1}, Mesh::most_devices))
      ->type_name("N");
}

void TextArguments::declareFiles(CLI::App& app) {
  app.add_option("--json", jsonFile, R"(texts: ["…", "…"], or {"sentences": ["…", "…"]})")->type_name("FILE");
  app.add_option("--ids", idsFile, "write the token ids of every text there, as a JSON list of lists")
      ->type_name("FILE");
}

std::vector<Tokens> encodeAll(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                              const cli::Session& session) {
  constexpr size_t kMaxNotices = 5;
  std::vector<Tokens> all;
  size_t cut = 0;
  for (const std::string& text : texts) {
    all.push_back(tokenizer.encode(text));
    if (all.back().truncated && ++cut <= kMaxNotices)
      session.note(fmt::format("note: text {} is cut after {} tokens\n", all.size() - 1, tokenizer.maxTokens()));
  }
  if (cut > kMaxNotices) session.note(fmt::format("note: {} more texts are cut\n", cut - kMaxNotices));
  return all;
}

Result<Array> embedAll(const TextArguments& arguments, const Config& config, const std::vector<Tokens>& texts,
                       const cli::Session& session) {
  Settings settings;
  for (const OptionRow& row : optionRows())
    if (row.group == OptionGroup::run)
      if (Status status = settings.set(row.name, session.options.text(row)); !status) return fail(status.error());
  use_settings(settings);
  const auto weights = readModelWeights(arguments.model, config);
  if (!weights) return fail(weights.error());
  term::Progress progress;
  auto vectors = embeddings(*weights, config, texts, arguments.devices, [&](size_t done) {
    progress.update(fmt::format("{} of {} texts in {}", done, texts.size(), term::humanSeconds(progress.seconds())));
  });
  if (!vectors && vectors.error().code.starts_with("SM10")) vectors.error().place = {};  // an option, not a kernel
  return vectors;
}

std::string idsJson(const std::vector<Tokens>& all) {
  std::string text = "[";
  for (size_t i = 0; i < all.size(); ++i) text += fmt::format("{}[{}]", i ? ",\n " : "", fmt::join(all[i].ids, ", "));
  return text + "]\n";
}

}  // namespace smalti::minilm
