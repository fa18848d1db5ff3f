// minilm embed: a vector for every text, as one .npy array.
#include <fmt/format.h>

#include "Commands.h"
#include "Model.h"
#include "Sentences.h"
#include "Texts.h"
#include "base/io/File.h"
#include "smalti/module.h"

namespace smalti::minilm {
namespace {

struct EmbedArguments {
  TextArguments texts;
  std::string out;
};

int embed(const cli::Session& session, const EmbedArguments& arguments) {
  const auto texts = readJsonSentences(arguments.texts.jsonFile);
  if (!texts) return session.refuse(texts.error());
  const auto model = readTextModel(arguments.texts.model);
  if (!model) return session.refuse(model.error());
  const std::vector<Tokens> tokens = encodeAll(model->tokenizer, *texts, session);
  const auto embeddings = embedAll(arguments.texts, model->config, tokens, session);
  if (!embeddings) return session.refuse(embeddings.error());
  if (Status status = write_npy(arguments.out, *embeddings); !status) return session.refuse(status.error());
  if (!arguments.texts.idsFile.empty())
    if (Status status = writeFile(arguments.texts.idsFile, {idsJson(tokens)}); !status)
      return session.refuse(status.error());
  session.print(fmt::format("{}: {}, one row for each text\n", arguments.out, embeddings->type().str()));
  return cli::kOk;
}

}  // namespace

void declareEmbed(CLI::App& app, cli::Session& session) {
  auto arguments = std::make_shared<EmbedArguments>();
  arguments->texts.declareModel(app);
  arguments->texts.declareDevices(app);
  arguments->texts.declareFiles(app);
  app.get_option("--json")->required();
  app.add_option("--out", arguments->out, "write the embeddings there, f32 [texts, width]")
      ->required()
      ->type_name("FILE.npy");
  session.addOptions(app, {OptionGroup::run, OptionGroup::output}, {"json"});
  app.callback(
      [&session, arguments] { session.action = [&session, arguments] { return embed(session, *arguments); }; });
}

}  // namespace smalti::minilm
