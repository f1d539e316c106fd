// A trainer's checkpoints: what Trainer::save() writes, Trainer::resume() reads.
#include "nn/files/checkpoint.h"
#include "nn/train/trainer.h"
#include "tensor/format.h"

namespace pg {

void Trainer::save(const std::string& path, std::map<std::string, std::string> metadata) {
  if (comm_.rank() != 0 && slab_.zero() == 0) return;
  metadata["model"] = to_json(model_.config);
  with_all_weights([&] {
    save_checkpoint(path, model_, &optimizer_, {steps(), {{"data", data_}}, std::move(metadata)});
  });
}

void Trainer::resume(const Checkpoint& checkpoint) {
  checkpoint.check_model(model_.config);
  checkpoint.restore(model_);
  checkpoint.restore(optimizer_);
  weights_.complete();
  check(checkpoint.state.step == steps(), "{}: the checkpoint is of step {}, its optimizer of step {}",
        checkpoint.file.path, checkpoint.state.step, steps());
  data_ = checkpoint.generator("data");
  comm_.barrier();  // the next save() may delete files that another rank reads
}

}  // namespace pg
