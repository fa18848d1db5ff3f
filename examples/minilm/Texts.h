// What the verbs share: where the model and the texts come from, and the ids they write.
#pragma once

#include <string>
#include <vector>

#include "Config.h"
#include "Tokenizer.h"
#include "driver/cli/Session.h"
#include "smalti/array.h"

namespace smalti::minilm {

/// --model, --devices, --json and --ids of a command line.
struct TextArguments {
  std::string model, jsonFile, idsFile;
  int64_t devices = 1;
  void declareModel(CLI::App&);
  void declareDevices(CLI::App&);
  void declareFiles(CLI::App&);
};

/// Tokens of every text; says on standard error which were cut.
std::vector<Tokens> encodeAll(const Tokenizer&, const std::vector<std::string>& texts, const cli::Session&);

/// The embeddings of all, f32 [texts, hidden], with the weights of the model's folder and the options of the session.
Result<Array> embedAll(const TextArguments&, const Config&, const std::vector<Tokens>&, const cli::Session&);

/// [[101, …, 102], …]
std::string idsJson(const std::vector<Tokens>&);

}  // namespace smalti::minilm
