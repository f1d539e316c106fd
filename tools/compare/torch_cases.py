"""The steps of `pg bench` in PyTorch. compare_torch.py starts this file as a process of its own for each setting of the
environment and asks it over a pipe, one JSON object a line: export, build, time.
"""
import contextlib
import json
import math
import os
import sys
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch_gpt import Config, Gpt, adamw_of, loss_of

CHECKED = 3  # steps whose losses, and tokens whose log-probabilities, must agree


def time_of(f, repeat):
    """As pg's time_of: the fastest of `repeat` samples, each long enough to be measured well."""
    best, calls, sample = math.inf, 1, 0
    while sample < repeat:
        start = time.perf_counter()
        for _ in range(calls):
            f()
        seconds = time.perf_counter() - start
        best = min(best, seconds / calls)
        if seconds < 0.005:
            calls = max(calls + 1, int(0.01 / best))
        else:
            sample += 1
    return best


def compiled(model, mode):
    return torch.compile(model, mode="max-autotune" if mode.endswith("max-autotune") else None)


def autocast(dtype):
    return torch.autocast("cpu", torch.bfloat16) if dtype == "bf16" else contextlib.nullcontext()


@dataclass
class Train:
    config: Config
    rows: int

    def parts(self):
        torch.manual_seed(1)
        model = Gpt(self.config)
        return model, *torch.randint(self.config.vocab, (2, self.rows, self.config.context))

    def export(self):
        model, x, y = self.parts()
        return model.pg_weights() | {"ids": x.int(), "targets": y.int()}

    def build(self, mode, dtype):
        plain, x, y = self.parts()
        model = plain if mode == "eager" else compiled(plain, mode)
        adamw = plain.adamw(1e-3, betas=(0.9, 0.99))

        def step():
            adamw.zero_grad(set_to_none=True)
            with autocast(dtype):
                loss = loss_of(model, x, y)
            loss.backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
            adamw.step()
            return loss.detach()

        return lambda: [step().item() for _ in range(CHECKED)], lambda repeat: time_of(step, repeat)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(4, 64), nn.Linear(64, 64), nn.Linear(64, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


@dataclass
class MlpStep:
    update: bool  # else the logits of one row

    def parts(self):
        torch.manual_seed(1)
        return Mlp(), torch.randn(32, 4), torch.randint(2, (32,))

    def export(self):
        model, x, y = self.parts()
        return dict(model.state_dict()) | {"x": x, "targets": y.int()}

    def build(self, mode, dtype):
        plain, x, y = self.parts()
        if not self.update:
            one = x[:1].clone()
            if mode.endswith("max-autotune"):
                torch._inductor.config.freezing = True
            model = plain if mode == "eager" else compiled(plain, mode)

            def act():
                with torch.no_grad() if mode != "eager" else torch.inference_mode(), autocast(dtype):
                    return model(one)

            return lambda: act()[0].tolist(), lambda repeat: time_of(act, repeat)
        model = plain if mode == "eager" else compiled(plain, mode)
        adam = torch.optim.Adam(plain.parameters(), lr=1e-3, fused=True)

        def step():
            adam.zero_grad(set_to_none=True)
            with autocast(dtype):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            adam.step()
            return loss.detach()

        return lambda: [step().item() for _ in range(CHECKED)], lambda repeat: time_of(step, repeat)


class AdamW:
    def build(self, mode, dtype):
        p = torch.zeros(124439808, requires_grad=True)
        p.grad = torch.ones_like(p)
        optimizer = torch.optim.AdamW([p], fused=True)
        optimizer.step()
        return lambda: None, lambda repeat: time_of(optimizer.step, repeat)


def timed_generation(run, tokens):
    """The check and the timing of run(stamps), which gives the logits of the first tokens."""

    @torch.no_grad()  # an inference_mode of the loop cannot be compiled with frozen weights
    def check():
        return [F.log_softmax(logits.float(), -1).amax(-1).mean().item() for logits in run([])[:CHECKED]]

    @torch.no_grad()
    def seconds(repeat):
        best = math.inf
        for _ in range(repeat):
            stamps = [time.perf_counter()]
            run(stamps)
            best = min(best, stamps[1] - stamps[0] if tokens == 1 else (stamps[-1] - stamps[1]) / (tokens - 1))
        return best

    return check, seconds


def transformers_generate(model, ids, mode, tokens):
    from transformers import StoppingCriteria

    options = {"do_sample": False, "use_cache": True, "max_new_tokens": tokens, "eos_token_id": None,
               "pad_token_id": 0}
    if mode != "transformers":
        model.forward = compiled(model.forward, mode)
        options["cache_implementation"] = "static"

    class Stamp(StoppingCriteria):
        def __init__(self, stamps):
            self.stamps = stamps

        def __call__(self, input_ids, scores, **rest):
            self.stamps.append(time.perf_counter())
            return torch.zeros(len(input_ids), dtype=torch.bool)

    def run(stamps):
        keep = {} if stamps else {"output_scores": True, "return_dict_in_generate": True}
        out = model.generate(ids, attention_mask=torch.ones_like(ids), stopping_criteria=[Stamp(stamps)],
                             **options, **keep)
        return out.scores if keep else None

    return run


@dataclass
class Generate:
    """Greedy: the seconds of a token of all rows after the first or, for one token, of that with its prompt."""
    config: Config
    rows: int
    prompt: int
    tokens: int = 33

    def parts(self):
        torch.manual_seed(1)
        return Gpt(self.config).eval(), torch.randint(self.config.vocab, (self.rows, self.prompt))

    def export(self):
        model, ids = self.parts()
        return model.pg_weights() | {"ids": ids.int()}

    def build(self, mode, dtype):
        model, ids = self.parts()
        if dtype == "bf16":
            model = model.bfloat16()
        if mode.endswith("max-autotune"):
            torch._inductor.config.freezing = True
        run = self.transformers(model, ids, mode) if mode.startswith("transformers") else self.loop(model, ids, mode)

        return timed_generation(run, self.tokens)

    def loop(self, model, ids, mode):
        """Written for this: caches made beforehand, no bookkeeping."""
        c, dtype = self.config, model.wte.weight.dtype
        shape = (2, self.rows, c.heads, self.prompt + self.tokens, c.width // c.heads)
        caches = [torch.zeros(shape, dtype=dtype) for _ in model.blocks]
        forward = model if mode == "eager" else compiled(model, mode)

        def run(stamps):
            kept, last, at = [], ids, 0
            for _ in range(self.tokens):
                logits = forward(last, caches, at)[:, -1]
                at += last.shape[1]
                last = logits.argmax(-1, keepdim=True)
                stamps.append(time.perf_counter())
                if len(kept) < CHECKED:
                    kept.append(logits)
            return kept

        return run

    def transformers(self, model, ids, mode):
        theirs = model.to_transformers().to(model.wte.weight.dtype)
        return transformers_generate(theirs, ids, mode, self.tokens)


class Pretrained:
    """A model of transformers, from the folder that compare_torch.py's --model names; policygrad reads the same."""

    @staticmethod
    def load():
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM.from_pretrained(os.environ["COMPARE_MODEL"], dtype=torch.float32,
                                                    attn_implementation="sdpa")

    def ids(self, model):
        torch.manual_seed(1)
        return torch.randint(model.config.vocab_size, self.shape)


@dataclass
class PretrainedTrain(Pretrained):
    rows: int
    length: int

    @property
    def shape(self):
        return 2, self.rows, self.length

    def export(self):
        x, y = self.ids(self.load())
        return {"ids": x.int(), "targets": y.int()}

    def build(self, mode, dtype):
        plain = self.load().train()
        x, y = self.ids(plain)
        model = plain if mode == "eager" else compiled(plain, mode)
        adamw = adamw_of(plain, 1e-5, betas=(0.9, 0.99))

        def step():
            adamw.zero_grad(set_to_none=True)
            with autocast(dtype):
                logits = model(input_ids=x, use_cache=False).logits
                loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
            adamw.step()
            return loss.detach()

        return lambda: [step().item() for _ in range(CHECKED)], lambda repeat: time_of(step, repeat)


@dataclass
class PretrainedGenerate(Pretrained):
    rows: int
    prompt: int
    tokens: int = 33

    @property
    def shape(self):
        return self.rows, self.prompt

    def export(self):
        return {"ids": self.ids(self.load()).int()}

    def build(self, mode, dtype):
        model = self.load().eval()
        ids = self.ids(model)
        if dtype == "bf16":
            model = model.bfloat16()
        if mode.endswith("max-autotune"):
            torch._inductor.config.freezing = True
        return timed_generation(transformers_generate(model, ids, mode, self.tokens), self.tokens)


SMALL = Config()
MIDDLE = Config(layers=6, heads=6, width=384, context=256)


def large(context):
    return Config(vocab=50257, layers=12, heads=12, width=768, context=context)


CASES = {
    "lesson4": Train(SMALL, 12),
    "384": Train(MIDDLE, 4),
    "124M-64": Train(large(64), 4),
    "124M-256": Train(large(256), 4),
    "mlp-update": MlpStep(True),
    "mlp-act": MlpStep(False),
    "adamw": AdamW(),
    "decode-124M-1": Generate(large(1024), 1, 64),
    "decode-124M-32": Generate(large(1024), 32, 64),
    "decode-384-32": Generate(MIDDLE, 32, 64),
    "decode-384-256": Generate(MIDDLE, 256, 64),
    "prefill-124M": Generate(large(1024), 1, 512, tokens=1),
    "model-train": PretrainedTrain(4, 256),
    "model-decode-1": PretrainedGenerate(1, 64),
    "model-decode-32": PretrainedGenerate(32, 64),
    "model-prefill": PretrainedGenerate(1, 512, tokens=1),
}


def answer(request, built):
    case = CASES[request["case"]]
    if request["do"] == "export":
        from safetensors.torch import save_file

        save_file({name: w.detach().contiguous() for name, w in case.export().items()}, request["path"])
        return {}
    if request["do"] == "build":
        built.clear()  # before the next is made: two of 124M with their optimizers are too many
        torch._dynamo.reset()
        built["check"], built["time"] = case.build(request["mode"], request["dtype"])
        return {"check": built["check"]() if request["checked"] else None}
    built["time"](1)  # warm
    return {"seconds": built["time"](request["repeat"])}


def serve(about, answer):
    """Says `about` itself, then answers one request a line. What a request builds is kept for the next."""
    # Compilers print; the pipe is for answers.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    built = {}
    reply = about
    while True:
        print(json.dumps(reply), file=replies, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        try:
            reply = answer(json.loads(line), built)
        except Exception as error:  # a mode that fails shall not end the others
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def main():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_flush_denormal(os.environ.get("FLUSH_DENORMAL") == "1")
    serve({"torch": torch.__version__, "capability": torch.backends.cpu.get_cpu_capability()}, answer)


if __name__ == "__main__":
    main()
