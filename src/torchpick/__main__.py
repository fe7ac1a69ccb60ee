"""`python -m torchpick` is the same program as `torchpick`."""

from torchpick.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
