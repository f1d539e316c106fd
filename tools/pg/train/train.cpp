// pg train: trains a GPT-2 or a masked denoiser on a text.
#include "tools/pg/train/train.h"

#include "nn/files/pretrained.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/objective.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {

namespace {

// The architecture of a model, which --init decides.
std::vector<Field> architecture_fields(TransformerConfig& model) {
  return titled(
      "Model",
      joined(
          {size_fields(model),
           {{"objective", objective_field(model), "what is learned: to predict the next token, or masked ones"},
            {"context", &model.block_size, "tokens the model sees at once", whole_from(1, 1000000)},
            {"in-proj-std", &model.in_proj_std,
             "standard deviation of the initial weights of what reads the residual stream; 0: 1/sqrt(width)",
             kNotNegative},
            {"bias", &model.bias, "linear layers and layer norms have biases"},
            {"dtype", float_type(model.dtype), "type of weights and activations; bf16 has f32 masters of the weights"}},
           family_fields(model)}));
}

// The configuration of the model of --init.
TransformerConfig config_of_init(const std::string& init) {
  const std::string pretrained = pretrained_path(init);
  if (pretrained.empty()) return load_checkpoint(checkpoint_of(init)).model_config();
  return pretrained_config(pretrained, open_tensors(pretrained));
}

// With --init the architecture is that of its model. Throws Error for an option that says otherwise, except --dtype of
// a pretrained model, and a --context that is shorter than that of rotary positions.
void take_architecture_of_init(TrainOptions& o, const Given& given) {
  TransformerConfig model = config_of_init(o.init);
  if (!pretrained_path(o.init).empty()) model.dtype = o.model.dtype;
  if (model.positions == Positions::rope && given.has("context")) {
    model.block_size = std::min(model.block_size, o.model.block_size);
  }
  const std::vector<Field> mine = architecture_fields(o.model), its = architecture_fields(model);
  for (size_t i = 0; i < mine.size(); ++i) {
    const std::string name = mine[i].name, text = its[i].text();
    check(!given.has(name) || mine[i].text() == text,
          "train: --{} {} differs from the {} of the model in {}; leave it out", name, mine[i].text(), text, o.init);
    mine[i].set(text);
  }
}

}  // namespace

std::vector<Field> fields(TrainOptions& o) {
  const std::vector<Field> data = {
      {"data", &o.data, "tinyshakespeare, stories, any text file, or token files: one or a folder of them"},
      {"val", &o.val,
       "text, token file or folder to validate on; empty: the token files val*, else the last tenth of the data"},
      {"tokenizer", &o.tokenizer,
       "a tokenizer.json, another file or a folder that pg tokenize reads; empty: the characters of the texts"}};
  const std::vector<Field> model = {
      {"init", &o.init,
       "a run, checkpoint, Hugging Face folder or GGUF file whose model is trained on: it decides sizes and "
       "vocabulary"},
      flag("checkpoint-blocks", o.checkpoint_blocks,
           "keep only the inputs of the blocks, compute the rest again: less memory, more time"),
      {"dropout", &o.model.dropout, "probability of setting an activation to zero", kBelowOne}};
  const std::vector<Field> training = {
      {"batch", &o.batch, "sequences per batch", whole_from(1, 1000000)},
      flag("stochastic-rounding", o.train.adamw.stochastic_rounding,
           "with bf16: weights are rounded up or down with the probabilities that keep their mean"),
      {"eval-batches", &o.eval_batches, "batches of an evaluation; the last one reads the whole text", whole_from(1)},
      {"sample-every", &o.sample_every, "steps between short samples on standard error; 0: none", whole_from(0)},
      {"minutes", &o.minutes, "minutes of training, after which it is saved and stopped; 0: no limit", kNotNegative}};
  const std::vector<Field> train =
      annotated(fields(o.train), {{"min-lr", "unless given, a tenth of --lr"},
                                  {"accumulate", kOneForEachRank},
                                  {"warmup", "unless given, a tenth of --steps in a run of 100 steps or fewer"}});
  return joined({fields(o.run),
                 {profile_field(o.profile),
                  json_field(o.json, "end with a JSON object, and write nothing else to standard output"),
                  device_field(o.device), exact_field(o.exact)},
                 titled("Data", data),
                 titled("Model", model),
                 architecture_fields(o.model),
                 titled("Training", joined({training, train})),
                 fields(o.ranks),
                 {zero_field(o.ranks)}});
}

Command train_command() {
  const auto o = std::make_shared<TrainOptions>();
  const auto run = [o](Given& given) {
    check(o->init.empty() || o->run.resume.empty(),
          "train: --init begins a run and --resume continues one; leave one of them out");
    read_files(given, o->run);
    check(o->init.empty() || o->tokenizer.empty(),
          "train: the model of --init has a tokenizer of its own; leave --tokenizer out");
    if (!o->init.empty() && o->run.resume.empty()) take_architecture_of_init(*o, given);
    TrainConfig& train = o->train;
    if (!given.has("warmup") && train.max_steps <= train.schedule.warmup_steps)
      train.schedule.warmup_steps = train.max_steps / 10;
    settle(train.schedule, train.max_steps, given);
    train.adamw.seed = train.seed;
    settle_batches(train, o->ranks, given);
    o->run.config = given.yaml(fields(*o));
    return run_on_ranks(o->ranks, o->device, o->run, [&](Comm& comm) { return train_on_text(*o, comm); });
  };
  return {.name = "train",
          .about = "a GPT-2 or a masked denoiser learns a text, its characters or tokens",
          .fields = fields(*o),
          .run = run,
          .usual = {"config", "name", "resume", "device", "data", "tokenizer", "init", "layers", "heads", "width",
                    "context", "dtype", "batch", "steps", "minutes", "lr", "seed", "ranks"}};
}

}  // namespace pg::tools
