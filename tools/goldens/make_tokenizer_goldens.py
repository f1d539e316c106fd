#!/usr/bin/env python3
"""Writes the ids that Hugging Face's tokenizers and tiktoken give to texts: tests/goldens/tokenizers/cases.json.

    pip install tokenizers==0.23.3 tiktoken==0.14.0
    POLICYGRAD_DATA=data python3 tools/goldens/make_tokenizer_goldens.py [--out tests/goldens/tokenizers/cases.json]

  texts            what is encoded
  model            a byte-level BPE model that tokenizers' BpeTrainer learned from the texts
                   from first_learned on, joined by newlines
  kinds.NAME       the other parts of a tokenizer.json of that kind; ids of the texts, and the texts of these ids
  gpt2             ids of GPT-2's own vocabulary, which is not in the file (tiktoken)
  tiktoken.NAME    ids with the patterns of GPT-4 and GPT-4o and the tokens of `model`; `ranks` is their .tiktoken file

The generator of the texts is that of tools/compare/compare_tokenizers.py.
"""

import argparse
import base64
import json
import pathlib
import random
import sys

import tiktoken
import tiktoken_ext.openai_public as public
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "compare"))
import compare_tokenizers as compare  # noqa: E402

NOT_LEARNED = ["zig zigzag (zig) _zig zig", "caf\u00e9 cafe\u0301"]  # the model must not have ADDED's words as tokens
WRITTEN = [
    "", " ", "Hello world", "hello  world!!!? (\uc548\ub155\ud558\uc138\uc694!) lol123 \U0001f609",
    "  leading and trailing  ", "don't DON'T we'LL I'\u017f",
    "a\u0085b\x1cc\u200bd\u180ee\u00a0f", "1234567 3.14 \u0661\u0662\u0663",
    "line\r\nline\n\n  indented\n\t\ttabs \n", "e\u0301 \u00e9 \u1100\u1161\u11a8 \u212b \ufb01 q\u0323\u0307",
    "<|one|>", "a<|one|>b <|one|> <|one|><|onetwo|>", " <strip> x",
    "a" * 300, " " * 40 + "x", "\n" * 20, "aAbB\u01c5XyZ \u0130i", "x=1;//y\n/z",
]
ADDED = [  # content, single_word, lstrip, rstrip, normalized, special
    ("<|one|>", False, False, False, False, True),
    ("<|onetwo|>", False, False, False, False, True),
    ("<strip>", False, True, True, False, True),
    ("zig", True, False, False, True, False),
    ("caf\u00e9", False, False, False, True, False),
]


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def byte_level(use_regex, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def kinds(first):
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<|one|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<|one|>": {"id": "<|one|>", "ids": [first], "tokens": ["<|one|>"]}}}
    return {
        "gpt2": {"pre_tokenizer": byte_level(True), "normalizer": None, "post_processor": byte_level(True)},
        "prefix": {"pre_tokenizer": byte_level(True, add_prefix_space=True), "normalizer": None,
                   "post_processor": None},
        "smollm": {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, byte_level(True)),
                   "normalizer": None, "post_processor": None},
        "digits": {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": False}, byte_level(True)),
                   "normalizer": None, "post_processor": None},
        "llama3": {"pre_tokenizer": sequence(split(compare.LLAMA3), byte_level(False)), "normalizer": None,
                   "post_processor": {"type": "Sequence", "processors": [byte_level(False), template]}},
        "qwen2": {"pre_tokenizer": sequence(split(compare.QWEN2), byte_level(False)), "normalizer": {"type": "NFC"},
                  "post_processor": byte_level(False)},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="tests/goldens/tokenizers/cases.json")
    options = parser.parse_args()
    rng = random.Random(11)
    words = (compare.DATA / "tinyshakespeare.txt").read_text(encoding="utf-8")[:20000].split() + ["<|one|>", "<strip>"]
    learned = WRITTEN + [compare.random_text(rng, words, False) for _ in range(40)]

    texts = NOT_LEARNED + learned

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=[], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["\n".join(learned)], trainer)
    base = json.loads(tokenizer.to_str())
    base["decoder"] = byte_level(True)
    size = len(base["model"]["vocab"])
    assert not any(content in base["model"]["vocab"] for content, *_ in ADDED)
    base["added_tokens"] = [
        {"id": size + i, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip,
         "normalized": normalized, "special": special}
        for i, (content, single_word, lstrip, rstrip, normalized, special) in enumerate(ADDED)]

    golden = {"texts": texts, "first_learned": len(NOT_LEARNED), "model": base["model"],
              "added_tokens": base["added_tokens"], "kinds": {}, "tiktoken": {}}
    for name, parts in kinds(size).items():
        whole = {**base, **parts, "model": {**base["model"], "ignore_merges": name == "llama3"}}
        tokenizer = Tokenizer.from_str(json.dumps(whole))
        ids = [tokenizer.encode(text).ids for text in texts]
        # tokenizers takes the characters of an added token for bytes where they are in the byte alphabet, as those of
        # the token with an accent; the engine never does.
        decoded = [None if size + len(ADDED) - 1 in row else tokenizer.decode(row, skip_special_tokens=False)
                   for row in ids]
        golden["kinds"][name] = {**parts, "ignore_merges": name == "llama3", "ids": ids, "decoded": decoded}
    golden["gpt2"] = [compare.gpt2_tiktoken().encode_ordinary(text) for text in texts]

    symbols = compare.byte_symbols()
    tokens = sorted((i, bytes(symbols[c] for c in token)) for token, i in base["model"]["vocab"].items())
    ranks = {token: rank for rank, token in tokens}
    golden["ranks"] = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    public.load_tiktoken_bpe = lambda *a, **k: {}
    for name in ["cl100k", "o200k"]:
        pattern = getattr(public, f"{name}_base")()["pat_str"]
        encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        golden["tiktoken"][name] = [encoding.encode_ordinary(text) for text in texts]

    out = pathlib.Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(golden, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
