#!/usr/bin/env python3
"""`pg tokenize` beside Hugging Face's tokenizers and tiktoken: equal ids, and speed.

    pip install tokenizers tiktoken gguf
    export POLICYGRAD_DATA=data
    python3 tools/compare/compare_tokenizers.py ids --pg ./pg [--strings 100000] [--gguf MODEL.gguf]
    python3 tools/compare/compare_tokenizers.py speed --pg ./pg [--megabytes 100] [--rounds 5]

ids: generated strings of many scripts with each vocabulary; a difference is printed and counted. GPT-2's vocabulary is
read from POLICYGRAD_DATA (gpt2_encoder.json, gpt2_vocab.bpe), SmolLM2's from --gguf; those of the kinds Llama 3, Qwen
2, cl100k and o200k are trained here with tokenizers, on tiny Shakespeare and generated text. Characters that Python's
unicodedata does not know are in the strings with --newest only: the libraries differ in their version of Unicode.
tokenizers orders some newer combining marks otherwise in NFC, which a few strings with Qwen 2 show.

speed: encoding with one thread, and training, in turns A B A B; the median of the rounds is printed, and the ratio
above 1 where pg is faster. Rivals run in processes of their own, with one thread for encoding and all cores for
training.
"""

import argparse
import base64
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST
DATA = pathlib.Path(os.environ.get("POLICYGRAD_DATA", "data"))
SPECIAL = {
    "llama3": ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"],
    "qwen2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
}
RANGES = [  # of scripts and symbols
    (0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x587), (0x5D0, 0x5EA), (0x621, 0x669),
    (0x900, 0x97F), (0x980, 0x9FE), (0xB85, 0xBF2), (0xE01, 0xE5B), (0xF00, 0xF47), (0x10A0, 0x10FF), (0x1100, 0x11FF),
    (0x1200, 0x1248), (0x1780, 0x17E9), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2150, 0x218B),
    (0x2190, 0x21FF), (0x2460, 0x24FF), (0x2600, 0x27BF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xF900, 0xFA6D), (0xFB00, 0xFB4F), (0xFE00, 0xFE0F), (0xFF01, 0xFFEF), (0x1D400, 0x1D7FF), (0x1F300, 0x1F6FF),
    (0x1F900, 0x1FAFF), (0x20000, 0x200FF), (0x0300, 0x036F), (0x10000, 0x100FA), (0x104A0, 0x104A9),
]
SPACES = ["\t", "\n", "\v", "\f", "\r", "\r\n", " ", "  ", "\u0085", "\u00a0", "\u1680", "\u180e", "\u2003", "\u200b",
          "\u2028", "\u202f", "\u3000", "\x1c", "\x1f", "\ufeff", "\n\n", " \n", "\n "]
PIECES = ["'s", "'S", "'\u017f", "'re", "'LL", "don't", "WE'VE", "\u2019s", "12", "1234567", "3.14", "\u0661\u0662",
          "\u00bd", "\u2163", "...", "!?", "/*", "<|", "|>", "e\u0301", "\u1100\u1161\u11a8", "\u212b", "\ufb01",
          "\U0001f469\u200d\U0001f4bb", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd", "_", "\u203f", "a_b", "\x00"]


def random_text(rng, words, newest):
    """A short text; without NUL, which separates the texts."""
    parts = []
    for _ in range(rng.randrange(1, 12)):
        kind = rng.randrange(8)
        if kind < 2:
            parts.append(rng.choice(words))
        elif kind == 2:
            parts.append(rng.choice(SPACES) * rng.choice([1, 1, 1, 2, 5]))
        elif kind == 3:
            parts.append(rng.choice(PIECES))
        elif kind == 4:
            parts.append(" " * rng.randrange(1, 4))
        elif kind == 5:
            parts.append("".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 8))))
        elif kind == 6:
            low, high = rng.choice(RANGES)
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randrange(1, 9))))
        else:
            parts.append("".join(chr(rng.choice([rng.randrange(0x250, 0xD800), rng.randrange(0xE000, 0x20000)]))
                                 for _ in range(rng.randrange(1, 4))))
    text = "".join(parts).replace("\0", "")
    return text if newest else "".join(c for c in text if unicodedata.category(c) != "Cn")


def texts_of(options, specials):
    rng = random.Random(options.seed)
    words = (DATA / "tinyshakespeare.txt").read_text(encoding="utf-8")[:200000].split() + specials
    return [random_text(rng, words, options.newest) for _ in range(options.strings)]


def gpt2(folder):
    from tokenizers import models, pre_tokenizers

    vocab = json.loads((DATA / "gpt2_encoder.json").read_text(encoding="utf-8"))
    lines = (DATA / "gpt2_vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    merges = [tuple(line.split(" ")) for line in lines if line]
    return byte_level(models.BPE(vocab=vocab, merges=merges), pre_tokenizers.ByteLevel(add_prefix_space=False),
                      ["<|endoftext|>"], folder / "gpt2.json")


def byte_level(model, pre_tokenizer, specials, path, normalizer=None):
    from tokenizers import AddedToken, Tokenizer, decoders

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    tokenizer.save(str(path))
    return tokenizer, path


def smollm2(folder, gguf_path):
    import gguf
    from tokenizers import models, pre_tokenizers

    fields = gguf.GGUFReader(gguf_path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    types = fields["tokenizer.ggml.token_type"].contents()
    model = models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges)
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    specials = [token for token, kind in zip(tokens, types) if kind == 3]
    return byte_level(model, pre_tokenizers.Sequence(steps), specials, folder / "smollm2.json")


def training_text(options):
    rng = random.Random(7)
    words = (DATA / "tinyshakespeare.txt").read_text(encoding="utf-8")
    generated = "\n".join(random_text(rng, words[:100000].split(), False) for _ in range(3000))
    return words + "\n" + generated


def trained(folder, name, options, size=4000):
    """A tokenizer of the kind of Llama 3 or Qwen 2."""
    from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                            trainers)

    pattern = {"llama3": LLAMA3, "qwen2": QWEN2}[name]
    tokenizer = Tokenizer(models.BPE(ignore_merges=name == "llama3"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated", invert=False),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  show_progress=False)
    tokenizer.train_from_iterator([training_text(options)], trainer)
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIAL[name]])
    if name == "llama3":
        first = SPECIAL[name][0]
        tokenizer.post_processor = processors.Sequence(
            [processors.ByteLevel(trim_offsets=False),
             processors.TemplateProcessing(single=f"{first} $A", pair=f"{first} $A {first}:1 $B:1",
                                           special_tokens=[(first, tokenizer.token_to_id(first))])])
    path = folder / f"{name}.json"
    tokenizer.save(str(path))
    return tokenizer, path


def byte_symbols():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {**{chr(b): b for b in printable}, **{chr(256 + i): b for i, b in enumerate(others)}}


def tiktoken_of(folder, name, hugging_face):
    """The merges of a tokenizer as a .tiktoken file with another pattern."""
    import tiktoken
    import tiktoken_ext.openai_public as public

    symbols = byte_symbols()
    vocab = json.loads(hugging_face.to_str())["model"]["vocab"]
    tokens = sorted((i, bytes(symbols[c] for c in token)) for token, i in vocab.items() if not token.startswith("<|"))
    ranks = {token: rank for rank, (_, token) in enumerate(tokens)}
    load, public.load_tiktoken_bpe = public.load_tiktoken_bpe, lambda *a, **k: {}
    public_name = {"cl100k": "cl100k_base", "o200k": "o200k_base"}[name]
    pattern = getattr(public, public_name)()["pat_str"]
    public.load_tiktoken_bpe = load
    path = folder / f"{name}.tiktoken"
    path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}), path


def gpt2_tiktoken():
    import tiktoken
    import tiktoken_ext.openai_public as public
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    ranks = data_gym_to_mergeable_bpe_ranks(str(DATA / "gpt2_vocab.bpe"), str(DATA / "gpt2_encoder.json"))
    return tiktoken.Encoding("gpt2", pat_str=public.r50k_pat_str, mergeable_ranks=ranks,
                             special_tokens={"<|endoftext|>": 50256})


def pg_encode(pg, path, texts, *options):
    joined = "".join(text + "\0" for text in texts).encode()
    out = subprocess.run([pg, "tokenize", "encode", "--tokenizer", path, "--separator", "nul", *options], input=joined,
                         check=True, capture_output=True).stdout.decode()
    return [[int(i) for i in line.split()] for line in out.split("\n")[:-1]]


def pg_decode(pg, path, ids):
    lines = "".join(" ".join(map(str, row)) + "\n" for row in ids).encode()
    out = subprocess.run([pg, "tokenize", "decode", "--tokenizer", path, "--separator", "nul"], input=lines, check=True,
                         capture_output=True).stdout.decode()
    return out.split("\0")[:-1]


def report(name, texts, ours, theirs, show):
    wrong = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    print(f"{name}: {len(texts)} strings, {sum(map(len, theirs))} ids, {len(wrong)} differ", flush=True)
    for i in wrong[:show]:
        print(f"  {texts[i]!r}\n    pg    {ours[i]}\n    other {theirs[i]}")
    return len(wrong)


def compare_ids(options):
    folder = pathlib.Path(tempfile.mkdtemp())
    cases = {"gpt2": gpt2(folder)}
    for name in SPECIAL:
        cases[name] = trained(folder, name, options)
    if options.gguf:
        cases["smollm2"] = smollm2(folder, options.gguf)
    wrong = 0
    for name, (tokenizer, path) in cases.items():
        specials = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
        texts = texts_of(options, specials) + ["", "a" * 100000, " " * 100000 + "x", *specials]
        ours, theirs = pg_encode(options.pg, path, texts), [e.ids for e in tokenizer.encode_batch(texts)]
        wrong += report(f"tokenizers {name}", texts, ours, theirs, options.show)
        decoded = [tokenizer.decode(ids, skip_special_tokens=False) for ids in theirs]
        ours = pg_decode(options.pg, path, theirs)
        wrong += report(f"tokenizers {name}, decoded", theirs, ours, decoded, options.show)
    texts = texts_of(options, ["<|endoftext|>"]) + ["", " " * 100000 + "x"]
    for name in ["gpt2", "cl100k", "o200k"]:
        pattern = [] if name == "gpt2" else ["--pattern", name]
        if name == "gpt2":
            encoding, path = gpt2_tiktoken(), DATA / "gpt2_encoder.json"
        else:
            encoding, path = tiktoken_of(folder, name, cases["qwen2"][0])
        allowed = "all" if name == "gpt2" else set()
        theirs = [encoding.encode(text, allowed_special=allowed, disallowed_special=()) for text in texts]
        wrong += report(f"tiktoken {name}", texts, pg_encode(options.pg, path, texts, *pattern), theirs, options.show)
    return wrong


RIVAL = """
import json, sys, time
what, path, text_path, size = sys.argv[1:5]
text = open(text_path, encoding="utf-8", newline="").read()
if what == "tiktoken":
    import compare_tokenizers
    tokenizer = compare_tokenizers.gpt2_tiktoken()
    run = lambda: len(tokenizer.encode_ordinary(text))
elif what == "tokenizers":
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(path)
    lines = text.splitlines(keepends=True)
    documents = ["".join(lines[i:i + 100]) for i in range(0, len(lines), 100)]
    run = lambda: sum(len(e.ids) for e in tokenizer.encode_batch_fast(documents))
else:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=int(size), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<|endoftext|>"], show_progress=False)
    lines = text.splitlines(keepends=True)
    documents = ["".join(lines[i:i + 1000]) for i in range(0, len(lines), 1000)]
    run = lambda: tokenizer.train_from_iterator(documents, trainer)
if what != "train":
    run()
begin = time.perf_counter()
result = run()
print(json.dumps({"tokens": result, "seconds": time.perf_counter() - begin}))
"""


def rival(what, path, text, size=0, threads=1):
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "PYTHONPATH": str(pathlib.Path(__file__).parent),
                   "TOKENIZERS_PARALLELISM": "false" if threads == 1 else "true"}
    out = subprocess.run([sys.executable, "-c", RIVAL, what, path, text, str(size)], check=True, capture_output=True,
                         env=environment).stdout
    return json.loads(out)


def pg_count(pg, path, text):
    out = subprocess.run([pg, "tokenize", "count", "--tokenizer", path, "--file", text, "--threads", "1", "--json"],
                         check=True, capture_output=True).stdout
    return json.loads(out)


def pg_train(pg, text, size, threads, out):
    begin = time.perf_counter()
    subprocess.run([pg, "tokenize", "train", text, "--vocab-size", str(size), "--special", "<|endoftext|>", "--threads",
                    str(threads), "--out", out], check=True, capture_output=True)
    return {"tokens": 0, "seconds": time.perf_counter() - begin}


def rounds(title, megabytes, count, runs):
    """Runs the programs in turns and prints the medians; the first is pg."""
    seconds = {name: [] for name in runs}
    for _ in range(count):
        for name, run in runs.items():
            seconds[name].append(run()["seconds"])
    ours = statistics.median(seconds["pg"])
    for name, values in seconds.items():
        middle = statistics.median(values)
        print(f"{title}  {name:10}  {middle:8.3f} s  ({min(values):.3f} to {max(values):.3f})  "
              f"{megabytes / middle:8.1f} MB/s  {middle / ours:.2f} x pg's time", flush=True)


def text_file(path, kind, megabytes, options):
    if kind == "shakespeare":
        unit = (DATA / "tinyshakespeare.txt").read_text(encoding="utf-8")
        unit *= max(1, round(megabytes * 1e6 / len(unit)))
    else:
        rng = random.Random(3)
        words = (DATA / "tinyshakespeare.txt").read_text(encoding="utf-8").split()
        lines, size = [], 0
        while size < megabytes * 1e6:
            lines.append(random_text(rng, words, False))
            size += len(lines[-1].encode()) + 1
        unit = "\n".join(lines)
    path.write_text(unit, encoding="utf-8", newline="")
    return path.stat().st_size / 1e6


def compare_speed(options):
    folder = pathlib.Path(tempfile.mkdtemp())
    _, tokenizer = gpt2(folder)
    cores = len(os.sched_getaffinity(0))
    for kind in ["shakespeare", "multilingual"]:
        text = folder / f"{kind}.txt"
        size = text_file(text, kind, min(options.megabytes, 20), options)
        rounds(f"encode {kind} {size:.1f} MB, 1 thread", size, options.rounds, {
            "pg": lambda: pg_count(options.pg, tokenizer, text),
            "tiktoken": lambda: rival("tiktoken", tokenizer, text),
            "tokenizers": lambda: rival("tokenizers", tokenizer, text)})
        size = text_file(text, kind, options.megabytes, options)
        rounds(f"train {kind} {size:.1f} MB to {options.vocab_size}, {cores} threads", size, options.rounds, {
            "pg": lambda: pg_train(options.pg, text, options.vocab_size, cores, folder / "ours.json"),
            "tokenizers": lambda: rival("train", tokenizer, text, options.vocab_size, cores)})
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ids", "speed"])
    parser.add_argument("--pg", default="./pg")
    parser.add_argument("--gguf", help="a GGUF file with SmolLM2's vocabulary")
    parser.add_argument("--strings", type=int, default=100000)
    parser.add_argument("--newest", action="store_true", help="characters of any version of Unicode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="differences to print for each vocabulary")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    return 1 if (compare_ids if options.what == "ids" else compare_speed)(options) else 0


if __name__ == "__main__":
    raise SystemExit(main())
