// minilm: sentence embeddings with all-MiniLM-L6-v2 (docs/minilm.md).
#include <array>

#include "Commands.h"

int main(int argc, char** argv) {
  using smalti::cli::Verb;
  static constexpr std::array kVerbs{
      Verb{"tokenize", "show the tokens that the model reads of a text",
           "  minilm tokenize --model model 'Blocks are copied ahead.'\n"
           "  minilm tokenize --model model --json sentences.json --ids ids.json",
           smalti::minilm::declareTokenize},
      Verb{"embed", "turn texts into vectors of like length: near where they mean the like",
           "  minilm embed --model model --json sentences.json --out embeddings.npy", smalti::minilm::declareEmbed},
      Verb{"search", "find the lines of a text file that are nearest in meaning to a query",
           "  minilm search --model model README.md 'which mistakes are found?'", smalti::minilm::declareSearch},
  };
  return smalti::cli::main(
      {.name = "minilm",
       .summary = "Sentence embeddings and search by meaning: all-MiniLM-L6-v2, computed by Smalti's kernels.",
       .footer = "The model: examples/minilm/get_model.sh model\n"
                 "Exit codes: 0 ok, 2 usage, 3 refused, 4 internal error.",
       .verbs = kVerbs},
      argc, argv);
}
