#!/usr/bin/env python3
"""One step of GRPO, rollout and update, here and in TRL's GRPOTrainer, in turns, from the same weights.

    python3 tools/compare/compare_trl.py tinyshakespeare.txt --pg ./pg            # needs torch, transformers, trl, datasets

The task: 64 prompts of 16 characters, 8 responses each of 64 characters, paid by the share of characters that are as in
the text; a GPT-2 of 6 layers, 6 heads, 384 channels; GRPO without KL, one optimizer step per rollout. TRL is measured
with several settings, and the fastest counts: the responses of one forward pass, and its two ways to generate. Beside
the times stand what both measured of the same policy, entropy and reward, which must agree up to sampling.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROMPTS, SAMPLES, CONTEXT, LENGTH = 64, 8, 16, 64
LAYERS, HEADS, WIDTH = 6, 6, 384


def make_model(vocab):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    config = GPT2Config(vocab_size=vocab, n_positions=CONTEXT + LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=None, eos_token_id=None)
    return GPT2LMHeadModel(config)


def write_checkpoint(model, path, characters):
    """The weights as policygrad's checkpoint: linear layers are [out, in] there, [in, out] in transformers' GPT-2."""
    from safetensors.torch import save_file

    tensors = {}
    for name, w in model.transformer.state_dict().items():
        linear = w.dim() == 2 and (".attn." in name or ".mlp." in name)
        tensors[name] = (w.t() if linear else w).contiguous().clone()
    config = {"vocab_size": len(characters), "block_size": CONTEXT + LENGTH, "n_layer": LAYERS, "n_head": HEADS,
              "n_embd": WIDTH, "dropout": 0.0, "bias": True, "in_proj_std": 0.02, "dtype": "f32"}
    texts = {"model": json.dumps(config), "tokenizer": json.dumps({"type": "char", "characters": "".join(characters)})}
    state = {"step": 0, "texts": texts, "generators": {}}
    save_file(tensors, path, {"format": "pt", "policygrad": json.dumps(state)})


def run_pg(args, checkpoint, corpus):
    with tempfile.TemporaryDirectory() as out:
        command = [args.pg, "rl", "--task", "imitate", "--corpus", corpus, "--context", str(CONTEXT), "--length",
                   str(LENGTH), "--init", checkpoint, "--algorithm", "grpo", "--kl", "none", "--reference", "none",
                   "--prompts", str(PROMPTS), "--samples", str(SAMPLES), "--micro-batch", str(args.micro_batch),
                   "--steps", str(args.steps), "--lr", "1e-5", "--eval-every", "0", "--eval-problems", "1",
                   "--save-every", "0", "--threads", str(args.threads), "--out", out]
        run = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        with open(glob.glob(out + "/*/metrics.jsonl")[0]) as lines:
            steps = [s for s in map(json.loads, lines) if "time/update_s" in s]
    return [{"rollout": s["time/rollout_s"], "update": s["time/update_s"], "entropy": s["entropy"],
             "reward": s["reward/mean"]} for s in steps]


def run_trl(args, text, vocab, setting):
    """Runs in a process of its own: see main()."""
    import torch
    from datasets import Dataset
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(args.threads)
    characters = sorted(set(text))
    ids = {c: i for i, c in enumerate(characters)}
    ids["<pad>"] = len(ids)  # never sampled: the model has no such token
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<pad>",
                                        padding_side="left",
                                        clean_up_tokenization_spaces=False)
    generator = torch.Generator().manual_seed(1)
    starts = torch.randint(int(0.9 * len(text)) - CONTEXT - LENGTH, (PROMPTS * (args.steps + 1),), generator=generator)
    rows = [{"prompt": text[a : a + CONTEXT], "answer": text[a + CONTEXT : a + CONTEXT + LENGTH]} for a in starts]

    def reward(completions, answer, **_):
        return [sum(x == y for x, y in zip(c, a)) / LENGTH for c, a in zip(completions, answer)]

    rows_per_pass, batching = setting
    responses = PROMPTS * SAMPLES
    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=out, use_cpu=True, bf16=False, per_device_train_batch_size=rows_per_pass,
            gradient_accumulation_steps=responses // rows_per_pass, num_generations=SAMPLES, max_steps=args.steps,
            max_completion_length=LENGTH, beta=0.0, num_iterations=1, learning_rate=1e-5, lr_scheduler_type="constant",
            max_grad_norm=1.0, temperature=1.0, logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True,
            gradient_checkpointing=False, use_transformers_continuous_batching=batching,
            generation_kwargs={"min_new_tokens": LENGTH}, dataloader_num_workers=0)
        model = make_model(vocab)
        model.generation_config.pad_token_id = ids["<pad>"]
        trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, train_dataset=Dataset.from_list(rows),
                              processing_class=tokenizer)
        rollouts, inner = [], trainer._generate_and_score_completions

        def timed(inputs):
            start = time.perf_counter()
            result = inner(inputs)
            rollouts.append(time.perf_counter() - start)
            return result

        trainer._generate_and_score_completions = timed
        trainer.train()
    log = [entry for entry in trainer.state.log_history if "step_time" in entry]
    return [{"rollout": r, "update": entry["step_time"] - r, "entropy": entry["entropy"],
             "reward": entry["reward"]} for r, entry in zip(rollouts, log)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--pg", default="./pg")
    parser.add_argument("--steps", type=int, default=3, help="of a turn; the first does not count")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--micro-batch", type=int, default=16)
    parser.add_argument("--rows", type=int, nargs="+", default=[16, 32, 64], help="responses a pass that TRL is tried with")
    parser.add_argument("--trl", help=argparse.SUPPRESS)  # a setting: be the rival's process
    args = parser.parse_args()
    for name in ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(name, None)
    text = open(args.text, encoding="utf-8").read()
    vocab = len(set(text))
    if args.trl:
        json.dump(run_trl(args, text, vocab, json.loads(args.trl)), sys.stdout)
        return

    def rival(setting):
        command = [sys.executable, __file__, args.text, "--trl", json.dumps(setting), "--steps", str(args.steps),
                   "--threads", str(args.threads)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            print(f"TRL does not run with {setting}: {run.stderr.strip().splitlines()[-1]}")
            return None
        return json.loads(run.stdout[run.stdout.index("[{"):])[1:]

    def whole(steps):
        return statistics.median(s["rollout"] + s["update"] for s in steps)

    def line(name, steps):
        middle = {key: statistics.median(s[key] for s in steps) for key in ("rollout", "update", "entropy", "reward")}
        print(f"{name:<44} rollout {middle['rollout']:7.2f} s  update {middle['update']:7.2f} s  "
              f"together {whole(steps):7.2f} s   entropy {middle['entropy']:.3f}  reward {middle['reward']:.4f}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = folder + "/start.safetensors"
        write_checkpoint(make_model(vocab), checkpoint, sorted(set(text)))
        tried = {}

        def attempt(setting):
            steps = rival(setting)
            if steps:
                tried[setting] = steps
                line(f"TRL, {setting[0]} responses a pass{', continuous batching' if setting[1] else ''}", steps)

        def best():
            return min(tried, key=lambda s: whole(tried[s]))

        for rows in args.rows:  # how many a pass has matters to the update, how they are generated to the rollout
            attempt((rows, False))
        attempt((best()[0], True))
        ours, theirs = [], []
        for _ in range(args.turns):
            ours += run_pg(args, checkpoint, args.text)[1:]
            theirs += rival(best())
        line("policygrad", ours)
        line("TRL at its best", theirs)
        print(f"policygrad is {whole(theirs) / whole(ours):.2f} times as fast")


if __name__ == "__main__":
    main()
