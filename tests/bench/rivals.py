"""A training step of mha against other ways to write it, in turn in one run.

    python3 tests/bench/rivals.py --mha build/mha [--openblas PROGRAM] [--threads N] [--rounds R]
        [SHAPE...]

A step is forward, mean squared error, gradients of the four weights and the SGD update, in float; a
shape is B,T,S,D,h. Each round measures mha and then every rival that is installed: PyTorch with the
class as lessons write it and with nn.MultiheadAttention, NumPy with a hand-written backward pass (small
shapes), and the obvious C program on OpenBLAS. Medians over the rounds are printed, and the ratio:
how many times as long as mha the rival takes.
"""

import argparse
import math
import os

from table import median, median_seconds, output_of, print_row, run_mha

SHAPES = ["2,4,6,8,2", "1,6,6,64,4", "32,16,16,64,4", "32,64,64,128,8", "8,256,256,256,8",
          "4,512,512,512,8"]
NUMPY_LARGEST = 5e8  # operations of a step
LEARNING_RATE = 1e-3


def parse_arguments():
    parser = argparse.ArgumentParser(description="mha against its rivals, in turn")
    parser.add_argument("--mha", required=True)
    parser.add_argument("--openblas", help="the program that tests/bench/openblas.c makes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    return parser.parse_args()


def operations(B, T, S, D, h):
    return 10 * B * T * D * D + 8 * B * S * D * D + 12 * B * T * S * D


def draw(numpy, B, T, S, D):
    """Query, source (the query itself where T = S), target and weights."""
    rng = numpy.random.default_rng(0)
    query = rng.normal(size=(B, T, D)).astype("float32")
    source = query if T == S else rng.normal(size=(B, S, D)).astype("float32")
    target = rng.normal(size=(B, T, D)).astype("float32")
    weights = [(rng.normal(size=(D, D)) / math.sqrt(D)).astype("float32") for _ in range(4)]
    return query, source, target, weights


def numpy_gradients(numpy, query, source, target, weights, h):
    """Gradients of wq, wk, wv and wo."""
    B, T, D = query.shape
    wq, wk, wv, wo = weights
    scale = numpy.float32(1 / math.sqrt(D // h))

    def split(x):
        return x.reshape(B, -1, h, D // h).transpose(0, 2, 1, 3)

    def combine(x):
        return x.transpose(0, 2, 1, 3).reshape(B, -1, D)

    def weight_gradient(x, dy):
        return x.reshape(-1, D).T @ dy.reshape(-1, D)

    q, k, v = split(query @ wq), split(source @ wk), split(source @ wv)
    scores = q @ k.swapaxes(2, 3) * scale
    p = numpy.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    context = combine(p @ v)
    dy = (context @ wo - target) * numpy.float32(2 / target.size)
    dcontext = split(dy @ wo.T)
    dp = dcontext @ v.swapaxes(2, 3)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * scale
    return [weight_gradient(query, combine(ds @ k)),
            weight_gradient(source, combine(ds.swapaxes(2, 3) @ q)),
            weight_gradient(source, combine(p.swapaxes(2, 3) @ dcontext)),
            weight_gradient(context, dy)]


def numpy_step(numpy, B, T, S, D, h):
    query, source, target, weights = draw(numpy, B, T, S, D)

    def step():
        gradients = numpy_gradients(numpy, query, source, target, weights, h)
        for weight, gradient in zip(weights, gradients):
            weight -= numpy.float32(LEARNING_RATE) * gradient

    return step


def lesson_class(torch):
    """Multi-head attention as lessons write it."""

    class MultiHeadAttention(torch.nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.wq, self.wk, self.wv, self.wo = (
                torch.nn.Linear(width, width, bias=False) for _ in range(4))

        def split(self, x):
            return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

        def forward(self, query, source):
            q, k, v = self.split(self.wq(query)), self.split(self.wk(source)), self.split(
                self.wv(source))
            scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
            context = torch.matmul(torch.softmax(scores, dim=-1), v)
            context = context.transpose(1, 2).contiguous().view(query.shape)
            return self.wo(context)

    return MultiHeadAttention


def torch_step(torch, numpy, B, T, S, D, h, lesson):
    query, source, target, weights = draw(numpy, B, T, S, D)
    query_tensor = torch.from_numpy(query)
    source_tensor = query_tensor if source is query else torch.from_numpy(source)
    target_tensor = torch.from_numpy(target)
    if lesson:
        module = lesson_class(torch)(D, h)
        with torch.no_grad():
            for layer, weight in zip([module.wq, module.wk, module.wv, module.wo], weights):
                layer.weight.copy_(torch.from_numpy(weight.T))
    else:
        module = torch.nn.MultiheadAttention(D, h, bias=False, batch_first=True)
    optimizer = torch.optim.SGD(module.parameters(), lr=LEARNING_RATE)

    def step():
        optimizer.zero_grad()
        if lesson:
            output = module(query_tensor, source_tensor)
        else:
            output, _ = module(query_tensor, source_tensor, source_tensor, need_weights=False)
        torch.nn.functional.mse_loss(output, target_tensor).backward()
        optimizer.step()

    step.module = module
    return step


def check_numpy(torch, numpy):
    """NumPy's gradients are those of autograd: what is measured is the right thing."""
    shape = (2, 5, 7, 12, 3)
    query, source, target, weights = draw(numpy, *shape[:4])
    gradients = numpy_gradients(numpy, query, source, target, weights, shape[4])
    step = torch_step(torch, numpy, *shape, lesson=True)
    step()
    module = step.module
    for layer, gradient in zip([module.wq, module.wk, module.wv, module.wo], gradients):
        difference = abs(layer.weight.grad.numpy().T - gradient).max()
        assert difference <= 1e-5 * abs(gradient).max(), f"NumPy's gradient is off by {difference}"


def openblas_seconds(program, shape, threads):
    return 1e-6 * float(output_of([program, shape, str(threads)]))


def rivals_of(arguments, shape, torch, numpy):
    """{name: function that returns median seconds}"""
    sizes = [int(size) for size in shape.split(",")]
    rivals = {}
    if torch is not None:
        for name, lesson in [("lesson's class", True), ("nn.MultiheadAttention", False)]:
            step = torch_step(torch, numpy, *sizes, lesson=lesson)
            rivals[f"torch {name}"] = lambda step=step: median_seconds(step)
    if numpy is not None and operations(*sizes) <= NUMPY_LARGEST:
        step = numpy_step(numpy, *sizes)
        rivals["numpy"] = lambda: median_seconds(step)
    if arguments.openblas:
        rivals["C on OpenBLAS"] = lambda: openblas_seconds(
            arguments.openblas, shape, arguments.threads)
    return rivals


def measure(arguments, shape, torch, numpy):
    rivals = rivals_of(arguments, shape, torch, numpy)
    mha, others, ratios = [], {name: [] for name in rivals}, {name: [] for name in rivals}
    for _ in range(arguments.rounds):
        rows, _ = run_mha(arguments.mha, shape, arguments.threads)
        mha.append(1e-6 * float(rows["step"]["median_us"]))
        for name, seconds_of in rivals.items():
            others[name].append(seconds_of())
            ratios[name].append(others[name][-1] / mha[-1])
    print_row(shape, "mha", arguments.threads, f"{1e6 * median(mha):.2f}", "")
    for name in rivals:
        print_row(shape, name, arguments.threads, f"{1e6 * median(others[name]):.2f}",
                  f"{median(ratios[name]):.2f}")


def load(name):
    """The module, or None where it is not installed."""
    try:
        return __import__(name)
    except ImportError:
        print(f"{name} is not installed: left out")
        return None


def main():
    arguments = parse_arguments()
    for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
        os.environ[variable] = str(arguments.threads)  # read when the modules load
    _, machine = run_mha(arguments.mha, "2,4,6,8,2", arguments.threads)
    print(f"training step of mha and its rivals in turn, {arguments.rounds} rounds; processor: "
          f"{machine['processor']}, instruction set {machine['instruction set']}")
    numpy = load("numpy")
    torch = load("torch") if numpy is not None else None
    if torch is not None:
        torch.manual_seed(0)
        torch.set_num_threads(arguments.threads)
        check_numpy(torch, numpy)
        print(f"torch {torch.__version__}, numpy {numpy.__version__}")
    if "OPENBLAS_CORETYPE" in os.environ:
        print(f"OpenBLAS is told to be {os.environ['OPENBLAS_CORETYPE']} (OPENBLAS_CORETYPE)")
    print_row("shape", "library", "threads", "median_us", "ratio")
    for shape in arguments.shapes:
        measure(arguments, shape, torch, numpy)


if __name__ == "__main__":
    main()
