"""What `pg bench --device cuda` times, in PyTorch on the same card. bench_gpu.py starts this file as a process of its own
and asks it over a pipe, as compare_torch.py does with torch_cases.py.

Training is nanoGPT's way: f32 weights, autocast to bf16, fused AdamW, clipped, the faster of cuDNN's and flash attention;
compiled: model and loss together. Decoding is all in bf16.
"""
import contextlib
import gc
import math
import os
import re
import statistics

import torch
import torch.nn.functional as F
from torch import nn
from torch_cases import CHECKED, Generate, Train, serve
from torch_cuda_kernels import ATTENTION, BF16, DEVICE, attention, seconds_between, stamp, time_cold, time_entry
from torch_gpt import Config, loss_of


def free():
    gc.collect()
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def median_of_steps(step, repeat):
    """As pg's time_steps: whatever the host does between is in it."""
    step()
    step()
    stamps = [stamp()]
    for _ in range(repeat):
        step()
        stamps.append(stamp())
    return statistics.median(seconds_between(*pair) for pair in zip(stamps, stamps[1:]))


def products(q, k, v, attn_mask):
    """scaled_dot_product_attention as two batched products, which read the keys and values of one query faster."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return scores.masked_fill(~attn_mask, -torch.inf).softmax(-1) @ v


def fastest_for_a_token(cache):
    """Of the ways to attend to a cache [2, B, H, T, D] of fixed size with a mask."""
    _, rows, heads, room, width = cache.shape
    q = torch.randn(rows, heads, 1, width, dtype=BF16, device=DEVICE)
    seen = (torch.arange(room, device=DEVICE) < room - 1)[None, None, None]
    ways = {"sdpa": F.scaled_dot_product_attention, "products": products}
    seconds = {name: time_cold(lambda way=way: way(q, *cache, attn_mask=seen), 5) for name, way in ways.items()}
    best = min(seconds, key=seconds.get)
    return best, ways[best]


def use_fastest_attention(sizes):
    """Backward decides: it is most of the time."""
    if DEVICE == "cpu":
        return "math"
    seconds = {}
    for name, way in attention(sizes, "backward").items():
        with contextlib.suppress(RuntimeError):
            seconds[name] = time_cold(way, 5)
    best = min(seconds, key=seconds.get, default="flash")
    torch.backends.cuda.enable_cudnn_sdp(best == "cuDNN")
    torch.backends.cuda.enable_flash_sdp(best == "flash")
    return best


class CudaTrain(Train):
    def build(self, mode, dtype):
        plain, x, y = self.parts()
        plain, x, y = plain.to(DEVICE), x.to(DEVICE), y.to(DEVICE)
        c = self.config
        chosen = use_fastest_attention((self.rows, c.heads, c.context, c.width // c.heads))
        loss_now = loss_of if mode == "eager" else torch.compile(loss_of, mode=None if mode == "compile" else mode)
        adamw = plain.adamw(1e-3, betas=(0.9, 0.99))

        def step():
            with torch.autocast(DEVICE, BF16):
                loss = loss_now(plain, x, y)
            loss.backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
            adamw.step()
            adamw.zero_grad(set_to_none=True)
            return loss.detach()

        return (lambda: [step().item() for _ in range(CHECKED)], lambda repeat: median_of_steps(step, repeat),
                f"{chosen} attention")


class CudaGenerate(Generate):
    """After the prompts; tokens are drawn, but for the check."""

    def build(self, mode, dtype):
        model, ids = self.parts()
        model, ids = model.to(DEVICE, BF16), ids.to(DEVICE)
        how = "sdpa"
        if mode == "static-graph":
            how, run = self.static(model, ids)
        else:
            run = {"loop": self.growing, "transformers": self.generate}[mode](model, ids)

        @torch.no_grad()
        def check():
            return [F.log_softmax(logits.float(), -1).amax(-1).mean().item() for logits in run(True, [])[:CHECKED]]

        @torch.no_grad()
        def seconds(repeat):
            samples = []
            for _ in range(repeat):
                stamps = []
                run(False, stamps)
                samples.append(seconds_between(stamps[0], stamps[-1]) / (len(stamps) - 1))
            return statistics.median(samples)

        return check, seconds, f"{how} attention"

    def caches(self, model):
        c = self.config
        room = (self.prompt + self.tokens + 7) // 8 * 8  # a mask of such a length needs no copy
        shape = (2, self.rows, c.heads, room, c.width // c.heads)
        return [torch.zeros(shape, dtype=BF16, device=DEVICE) for _ in model.blocks]

    @staticmethod
    def chosen(logits, greedy):
        if greedy:
            return logits.argmax(-1, keepdim=True)
        noise = torch.empty_like(logits, dtype=torch.float32).exponential_().log()
        return (logits.float() - noise).argmax(-1, keepdim=True)  # Gumbel: a draw from softmax(logits)

    def growing(self, model, ids):
        """Eager; the cache is read as far as it is filled."""
        caches = self.caches(model)

        def run(greedy, stamps):
            kept, last, at = [], ids, 0
            for _ in range(self.tokens):
                logits = model(last, caches, at)[:, -1]
                at += last.shape[1]
                last = self.chosen(logits, greedy)
                stamps.append(stamp())
                if greedy and len(kept) < CHECKED:
                    kept.append(logits)
            return kept

        return run

    def static(self, model, ids):
        """Compiled, a cache of fixed size, one token with its draw a CUDA graph; how it attends, and what runs it."""
        c, caches = self.config, self.caches(model)
        how, attend = fastest_for_a_token(caches[0])
        token = torch.zeros(self.rows, 1, dtype=torch.long, device=DEVICE)
        at = torch.zeros(1, dtype=torch.long, device=DEVICE)
        places = torch.arange(caches[0].shape[3], device=DEVICE)

        def forward(token, at, greedy):
            seen = (places <= at)[None, None, None]
            h = model.wte(token) + model.wpe.weight[at]
            for block, cache in zip(model.blocks, caches):
                q, k, v = (z.view(self.rows, 1, c.heads, -1).transpose(1, 2)
                           for z in block.qkv(block.ln1(h)).split(c.width, dim=2))
                cache[0].index_copy_(2, at, k)
                cache[1].index_copy_(2, at, v)
                y = attend(q, cache[0], cache[1], attn_mask=seen)
                h = h + block.proj(y.transpose(1, 2).reshape(self.rows, 1, c.width))
                h = h + block.down(F.gelu(block.up(block.ln2(h)), approximate="tanh"))
            logits = F.linear(model.ln(h), model.wte.weight)[:, 0]
            return logits, self.chosen(logits, greedy)

        compiled = torch.compile(forward)

        def captured(greedy):
            out = {}

            def one():
                out["logits"], following = compiled(token, at, greedy)
                token.copy_(following)
                at.add_(1)

            at.fill_(self.prompt)
            if DEVICE == "cpu":
                one()
                return one, out
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    one()
            torch.cuda.current_stream().wait_stream(side)
            at.fill_(self.prompt)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                one()
            return graph.replay, out

        with torch.no_grad():
            graphs = {greedy: captured(greedy) for greedy in (True, False)}
            first = model(ids, caches, 0)[:, -1]

        def run(greedy, stamps):
            replay, out = graphs[greedy]
            token.copy_(self.chosen(first, greedy))
            at.fill_(self.prompt)
            kept = [first]
            stamps.append(stamp())
            for _ in range(self.tokens - 1):
                replay()
                stamps.append(stamp())
                if greedy and len(kept) < CHECKED:
                    kept.append(out["logits"].clone())
            return kept

        return how, run

    def generate(self, model, ids):
        """transformers' generate() with the cache it takes by itself."""
        from transformers import StoppingCriteria

        theirs = model.to_transformers().to(DEVICE, BF16)

        class Stamp(StoppingCriteria):
            def __init__(self, stamps):
                self.stamps = stamps

            def __call__(self, input_ids, scores, **rest):
                self.stamps.append(stamp())
                return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

        def run(greedy, stamps):
            options = {"output_scores": True, "return_dict_in_generate": True} if greedy else {"top_k": 0}
            out = theirs.generate(ids, attention_mask=torch.ones_like(ids), stopping_criteria=[Stamp(stamps)],
                                  do_sample=not greedy, max_new_tokens=self.tokens, **options)
            return out.scores if greedy else None

        return run


def case_of(name):
    """"train 124M, 64 x 1024" or "decode 124M, 64 x 512"."""
    rows, length = map(int, re.fullmatch(r"\w+ 124M, (\d+) x (\d+)", name).groups())
    sizes = {"vocab": 50304, "layers": 12, "heads": 12, "width": 768}
    if name.startswith("train"):
        return CudaTrain(Config(context=length, **sizes), rows)
    return CudaGenerate(Config(context=1024, **sizes), rows, length, tokens=129)  # as tools/pg/bench/generate.cpp


def answer(request, built):
    if request["do"] == "kernels":
        entries = []
        for entry in request["entries"]:
            entries.append(entry | time_entry(entry, request["repeat"]))
            torch._dynamo.reset()
            free()
        return {"entries": entries}
    case = case_of(request["case"])
    if request["do"] == "export":
        from safetensors.torch import save_file

        save_file({name: w.detach().contiguous() for name, w in case.export().items()}, request["path"])
        return {}
    if request["do"] == "build":
        built.clear()
        free()
        built["check"], built["time"], how = case.build(request["mode"], "bf16")
        return {"check": built["check"](), "how": how}
    seconds = built["time"](request["repeat"])
    if isinstance(case, CudaTrain):
        free()  # the other side needs the memory now; recorded graphs need it further on
    return {"seconds": seconds}


def main():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_float32_matmul_precision("high")
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"
    serve({"torch": torch.__version__, "device": name, "cudnn": torch.backends.cudnn.version()}, answer)


if __name__ == "__main__":
    main()
