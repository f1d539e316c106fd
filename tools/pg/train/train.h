#pragma once
// pg train: its options, and its training data.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nn/files/checkpoint.h"
#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "tasks/data/text_data.h"
#include "tasks/data/token_windows.h"
#include "tasks/data/tokenizer.h"
#include "tools/pg/cli/options.h"
#include "tools/pg/run/ranks.h"

namespace pg::tools {

struct TrainOptions {
  RunOptions run = {.name = "gpt"};
  RankOptions ranks;
  std::string data = "tinyshakespeare", device = "cpu";
  std::string val;        // the validation text; "": the last tenth of data
  std::string tokenizer;  // a path (load_tokenizer); "": the characters of the texts
  std::string init;       // a run, a checkpoint or a pretrained model whose model is the starting point
  TransformerConfig model = {.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128, .in_proj_std = 0};
  TrainConfig train = {.schedule = {.warmup_steps = 100}};
  bool exact = false, checkpoint_blocks = false;
  int64_t batch = 12, eval_batches = 20, sample_every = 250;
  double minutes = 0;    // limit on the training time, which ends it like Ctrl-C; 0: none
  bool json = false;     // prints a JSON object at the end, and nothing else, on standard output
  bool profile = false;  // prints a table of the time per operation at the end, and the memory
};
std::vector<Field> fields(TrainOptions& options);

// The texts or token files, and their vocabulary.
struct TrainText {
  std::string name;  // of the training text
  std::unique_ptr<Tokenizer> tokenizer;
  int64_t tokens = 0;  // of training and validation
  // Batches [rows, --context]. Those of a text begin at random tokens. Those of token files are windows of
  // ShuffledWindows in training, and random ones in validation.
  std::function<Windows(int64_t rows, Generator&)> train_batch, val_batch;
  int64_t val_windows = 0;                                               // windows of the whole validation text
  std::function<Windows(int64_t first, int64_t rows)> val_window_batch;  // the windows [first, first + rows)
  std::shared_ptr<ShuffledWindows> shuffled = {};  // of token files: its `drawn` belongs to the state of the run
  double bits_per_nat = 0;                   // times the loss in nats per token: bits per byte of the validation text
  std::map<std::string, std::string> texts;  // checkpoint metadata: the tokenizer, names and checksums of the texts
};

// Reads --data and --val, both texts or both token files; without --val it splits off a part of --data. The tokenizer
// is that of `source`, the checkpoint of this run (`resumed`) or of --init, or that of the pretrained model of --init.
// Without them it is --tokenizer or has all characters of the texts. Notes are written to standard error. Throws Error
// if a text is too short for --context, differs from the text of a resumed run, or has characters that the tokenizer
// lacks, and if a token file was made with another tokenizer.
TrainText load_train_text(const TrainOptions& options, const Checkpoint* source, bool resumed);

// Trains, and returns the exit status. On several ranks each calls it (tools/pg/run/ranks.h).
int train_on_text(const TrainOptions& options, Comm& comm);

}  // namespace pg::tools
