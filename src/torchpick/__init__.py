"""torchpick: the PyTorch build that really runs on this machine's GPUs."""

__version__ = "0.1.0"
