"""Examples at the end of `netpart VERB --help`: command lines that work unchanged in a clone."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "netpart run graphs/mnist/conv.conf --workers 3",
        "netpart run graphs/mnist/conv.conf --workers 3 --resume --steps 400",
        "netpart run graphs/gpt/tiny.conf --set updater.learning_rate.base_lr=0.001 --steps 50",
    ),
    "evaluate": (
        "netpart evaluate graphs/mnist/conv.conf",
        "netpart evaluate graphs/mnist/conv.conf --workers 3 --checkpoint out/conv/checkpoint/step00000400.safetensors",
    ),
    "predict": (
        "netpart predict graphs/mnist/conv.conf -o out/predictions.csv",
        "netpart predict graphs/mnist/conv.conf --workers 3 --input rows.npy --all -o out/probabilities.npy",
    ),
    "sample": ('netpart sample graphs/gpt/tiny.conf --prompt "def " --bytes 200',),
    "gradcam": ("netpart gradcam graphs/mnist/conv.conf --sample 3 -o out/map.png",),
    "worker": (
        "netpart worker --join tcp://10.0.0.1:5555",
        "netpart worker --join tcp://10.0.0.1:5555 --rank 2 --token-file token",
    ),
    "check": (
        "netpart check graphs/mnist/conv.conf --workers 3",
        "netpart check graphs/gpt/tiny.conf --scheme data --workers 4 --json",
    ),
    "draw": (
        "netpart draw graphs/mnist/conv.conf --workers 3 -o out/conv.svg",
        "netpart draw graphs/mnist/conv.conf --scheme pipeline --micro-batches 4 --turns -o out/turns.svg",
    ),
    "verify": (
        "netpart verify graphs/mnist/conv.conf --workers 3",
        "netpart verify graphs/mlp/column-row.conf --set fc2.partition_dim=0",
    ),
    "profile": ("netpart profile graphs/mnist/conv.conf --workers 2 -o out/trace.svg",),
    "plot": (
        "netpart plot out/conv -o out/curves.svg",
        "netpart plot out/one out/two --metric '*/loss' -o out/loss.svg",
    ),
    "simulate": ("netpart simulate graphs/mlp/column-row.conf --workers 8",),
    "partition": ("netpart partition graphs/mnist/conv.conf --workers 3 -o out/plan.conf",),
    "plan": (
        "netpart plan graphs/mnist/conv.conf --workers 3",
        "netpart plan graphs/mlp/column-row.conf --devices workers/two-speeds.conf -o out/plan.conf",
    ),
    "diff": ("netpart diff graphs/mnist/conv.conf graphs/mnist/ring.conf --workers 3",),
    "explain": ("netpart explain graphs/mnist/conv.conf conv2 --workers 3",),
    "expand": ("netpart expand graphs/gpt/gpt2.conf",),
    "fmt": ("netpart fmt --check graphs", "netpart fmt - < graphs/mnist/conv.conf"),
    "fields": ("netpart fields partition_dim", "netpart fields UpdaterProto", "netpart fields --json"),
    "data": (
        "netpart data look graphs/mnist/conv.conf -o out/rows.png",
        "netpart data digits data/digits",
        "netpart data phantom data/phantom --subjects 16 --spacing 8",
    ),
    "zoo": ("netpart zoo", "netpart zoo mnist/conv", "netpart zoo gpt jobs"),
}
"""Example command lines by verb."""
